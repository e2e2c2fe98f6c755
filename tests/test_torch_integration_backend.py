"""torch.compile(backend="dnnmove"): the same results, what becomes a chain and what does not, aliases and mutation."""

import math
import shutil
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch._inductor import config as inductor_config  # noqa: E402
from torch.nn.functional import pad  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

import dnnmove.torch as dt  # noqa: E402
from dnnmove.torch import _backend, _fold  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
COMPILERS = ["none"] + ["inductor"] * (shutil.which("g++") is not None)


@pytest.fixture(params=COMPILERS)
def compiler(request, monkeypatch):
    """With and without a C++ compiler."""
    if request.param == "none":
        monkeypatch.setattr(_backend.shutil, "which", lambda name: None)
    return request.param


@pytest.fixture(autouse=True)
def counts(monkeypatch):
    """How many chains each compiled graph got; copies of any size are worth one."""
    found = []
    fold = _fold.fold

    def counted(graph, *, fuses):
        found.append(fold(graph, fuses=fuses))
        return found[-1]

    monkeypatch.setattr(_fold, "fold", counted)
    monkeypatch.setattr(_fold, "LEAST_BESIDE_INDUCTOR", 0)
    monkeypatch.setattr(_fold, "LEAST_IN_EAGER_GRAPHS", 0)
    torch._dynamo.reset()
    with inductor_config.patch(force_disable_caches=True):
        yield found
    torch._dynamo.reset()


def compiled(function, **options):
    return torch.compile(function, backend=dt.backend, **{"dynamic": False, **options})


def some(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def windows(x):
    y = torch.roll(x, (-4, 2), (2, 3)).view(2, 56, 2, 4, 2, 4)
    return y.permute(0, 2, 4, 1, 3, 5).contiguous().flip(1)


def chunked_shuffle(x):
    return x.view(2, 2, 28, 8, 8).transpose(1, 2).reshape(2, 56, 8, 8)


def padded_windows(x):
    """As Swin has them where the image is no multiple of the window."""
    y = torch.roll(pad(x.permute(0, 2, 3, 1), (0, 0, 0, 4, 2, 2)), (-3, -3), (1, 2))
    return y.view(2, 3, 4, 3, 4, 56).permute(0, 1, 3, 2, 4, 5).contiguous()


# Function, and how many chains it becomes.
MOVEMENT = {
    "channel_shuffle": (lambda x: torch.channel_shuffle(x, 2), 1),
    "shuffle by views": (chunked_shuffle, 1),
    "roll and flip": (lambda x: torch.roll(x, (-3, 5), (1, 2)).flip(1), 1),
    "flat roll": (lambda x: x.permute(3, 1, 0, 2).contiguous().view(-1).roll(5), 1),
    "windows": (windows, 1),
    "pixel shuffle": (lambda x: torch.nn.functional.pixel_shuffle(x, 2), 1),
    "pixel unshuffle": (lambda x: torch.nn.functional.pixel_unshuffle(x, 2), 1),
    "query, key and value": (
        lambda x: [part.contiguous() for part in x.reshape(2, 4, 7, 2, 64).permute(2, 0, 1, 3, 4).unbind(0)],
        7,
    ),
    "to channels_last": (lambda x: x.transpose(1, 2).contiguous(memory_format=torch.channels_last), 1),
    "every second": (lambda x: x[:, ::2].contiguous(), 1),
    "squeezed": (lambda x: x.unflatten(1, (2, 28))[:, 0].movedim(1, -1)[:1].contiguous().squeeze(0), 1),
    "expanded": (lambda x: x.expand(3, 2, 56, 8, 8).contiguous(), 1),
    "repeated": (lambda x: x.repeat(1, 2, 1, 1), 1),
    "split": (lambda x: [part.clone() for part in x.split([5, 51], 1)], 2),
    "a gather": (lambda x: x[:, torch.tensor([5, 3, 3, 55])], None),
    "padded": (lambda x: pad(x, (1, 2, 0, 3), value=0.1), 1),
    "padded and cropped": (lambda x: pad(x, (-1, 2, 3, -2)), 1),
    "cropped alone": (lambda x: pad(x, (-1, 0, -1, -1)), 1),
    "padded with nothing": (lambda x: pad(x, (0, 0)), 1),
    "padded with infinity": (lambda x: pad(x.mT, (1, 1), value=-math.inf).mT.contiguous(), 1),
    "padded at last": (lambda x: pad(x.permute(0, 2, 3, 1).contiguous(), (0, 1, 2, 0)), 1),
    "padded windows": (padded_windows, 1),
    "reflected": (lambda x: pad(x, (1, 2, 3, 0), mode="reflect").flip(1), 1),
    "replicated": (lambda x: pad(x.roll(1, 3), (1, 2, 3, 0), mode="replicate"), 1),
    "replicated along one axis": (lambda x: pad(x.flatten(1, 2), (9, 0), mode="replicate"), 1),
    "circular": (lambda x: pad(x, (1, 2, 3, 0), mode="circular").flip(1), None),
    "two uses of a copy": (lambda x: (y := x.permute(1, 0, 2, 3).contiguous(), y.flip(0)), 2),
}


@pytest.mark.parametrize("layout", ["contiguous", "channels_last", "strided"])
@pytest.mark.parametrize("name", MOVEMENT)
def test_movement_alone(name, layout, monkeypatch, counts):
    monkeypatch.setattr(_backend.shutil, "which", lambda name: None)
    function, chains = MOVEMENT[name]
    x = {
        "contiguous": some(2, 56, 8, 8),
        "channels_last": some(2, 56, 8, 8).contiguous(memory_format=torch.channels_last),
        "strided": some(2, 56, 8, 16)[..., ::2],
    }[layout]
    results, expected = tree_leaves(compiled(function)(x)), tree_leaves(function(x))
    for a, b in zip(results, expected, strict=True):
        assert torch.equal(a, b)
        assert a.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    assert chains is None or counts == [chains]


@pytest.mark.skipif("inductor" not in COMPILERS, reason="there is no C++ compiler")
def test_movement_alone_by_inductor(counts):
    functions = [function for function, _ in MOVEMENT.values()]
    x = some(2, 56, 8, 8)
    result = compiled(lambda x: [function(x) for function in functions])(x)
    for a, b in zip(tree_leaves(result), tree_leaves([function(x) for function in functions]), strict=True):
        assert torch.equal(a, b)
    (chains,) = counts
    assert chains >= sum(number for _, number in MOVEMENT.values() if number)


def shuffled_halves(x, y):
    return torch.cat([x, y], 1).view(2, 2, 4, 6, 5).transpose(1, 2).reshape(2, 8, 6, 5)


# Function of tensors of (2, 4, 6, 5), and how many chains it becomes.
JOINS = {
    "shuffle": (shuffled_halves, 1),
    "chunks": (lambda x, y: shuffled_halves(*torch.cat([x, y], 1).chunk(2, 1)[::-1]), 1),
    "negative axis": (lambda x, y: torch.cat([x, y[..., :3]], -1).flip(0), 1),
    "views": (lambda x, y: torch.cat([x.expand(2, 4, 6, 5)[::2], y.mT[1:].mT], 0).permute(3, 1, 2, 0).contiguous(), 1),
    "stack": (lambda x, y: torch.stack([x, y, x], 2).flatten(1, 2).transpose(0, 1).contiguous(), 1),
    "stack at the end": (lambda x, y: torch.stack([x, y], -1).roll(1, 0), 1),
    "one tensor": (lambda x, y: torch.cat([x]).mT.contiguous(), 1),
    "copies first": (lambda x, y: torch.stack([each.movedim(1, 3).contiguous() for each in (x, y, x)]), 1),
    "to channels_last": (lambda x, y: torch.cat([x, y], 1).contiguous(memory_format=torch.channels_last), 1),
    "an empty one": (lambda x, y: torch.cat([x, y[:, :0]], 1).flip(1), 1),
    "two uses": (lambda x, y: (joined := torch.cat([x, y], 1), joined.flip(1)), 1),
    "nothing but a join": (lambda x, y: torch.cat([x, y], 1), 0),
    "of one axis": (lambda x, y: torch.cat([x, torch.empty(0)], 1).flip(1), None),
    "two dtypes": (lambda x, y: torch.cat([x, y.double()], 1).mT.contiguous(), None),
}


@pytest.mark.parametrize("name", JOINS)
def test_joins(name, compiler, counts):
    function, chains = JOINS[name]
    x = some(2, 4, 6, 5)
    pairs = [(x, x + 1), (x.contiguous(memory_format=torch.channels_last), some(2, 4, 5, 6).mT)]
    for pair in pairs:
        counts.clear()
        torch._dynamo.reset()
        for a, b in zip(*(tree_leaves(call(*pair)) for call in (compiled(function), function)), strict=True):
            assert torch.equal(a, b)
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            assert a.stride() == b.stride() or compiler == "inductor"
        if pair is pairs[0] and chains is not None and (compiler == "none" or name in ("shuffle", "stack")):
            assert counts == [chains]  # inductor does some of these without a copy


def test_gradients_of_joins(compiler, counts):
    gradients = []
    for call in (shuffled_halves, compiled(shuffled_halves)):
        x, y = (some(2, 4, 6, 5).requires_grad_() for _ in range(2))
        (call(x, y) * some(2, 8, 6, 5)).sum().backward()
        gradients += [x.grad, y.grad]
    assert torch.equal(gradients[0], gradients[2])
    assert torch.equal(gradients[1], gradients[3])
    assert counts[0] == 1


def test_the_gradient_of_a_split_is_one_chain(compiler, counts):
    def function(x):
        return torch.channel_shuffle(x, 2).split([6, 2], 1)

    gradients = []
    for call in (function, compiled(function)):
        x = some(2, 8, 6, 5).requires_grad_()
        a, b = call(x)
        torch.autograd.backward([a, b], [some(2, 6, 6, 5), some(2, 2, 6, 5)])
        gradients.append(x.grad)
    assert torch.equal(*gradients)
    assert counts[1] == 1


def test_gradients_of_padding(compiler, counts):
    gradients = []
    for call in (padded_windows, compiled(padded_windows)):
        x = some(2, 56, 8, 8).requires_grad_()
        y = call(x)
        y.backward(some(*y.shape))
        gradients.append(x.grad)
    assert torch.equal(*gradients)
    assert counts == [1, 1]  # forward, and the crop of the backward


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (torch.float32, 0.1),
        (torch.float32, math.nan),
        (torch.float32, -0.0),
        (torch.bfloat16, 0.1),
        (torch.float16, 1e-9),
        (torch.float8_e5m2, 0.3),
        (torch.uint8, 200),
        (torch.int64, 2.7),
        (torch.int64, -(2**62) - 1),
        (torch.bool, 1.0),
        (torch.complex64, 0.1),
    ],
)
def test_constants_of_padding(dtype, value, monkeypatch, counts):
    """The number that the dtype holds, whatever was asked for, bit for bit."""
    monkeypatch.setattr(_backend.shutil, "which", lambda name: None)

    def function(x):
        return pad(x, (1, 2), value=value)

    x = torch.randint(0, 2, (3, 4), generator=torch.Generator().manual_seed(1)).to(dtype)
    expected, result = function(x), compiled(function)(x)
    assert torch.equal(result.view(torch.uint8), expected.view(torch.uint8))
    assert counts == [1]


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="what counts copies lies with the benchmarks")
def test_a_pad_costs_no_copy_of_its_own(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setattr(_backend.shutil, "which", lambda name: None)
    from benchmarks.torch_models import counting

    found = []
    with counting(found):
        compiled(padded_windows)(some(2, 56, 8, 8))
    assert found == [(3, 1, 1)]  # pad, roll and windows: one chain


def test_gradients(compiler, counts):
    weights = some(896, 3)

    def function(x):
        return windows(x).view(8, 896) @ weights

    gradients = []
    for call in (function, compiled(function)):
        x = some(2, 56, 8, 8).requires_grad_()
        call(x).square().sum().backward()
        gradients.append(x.grad)
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)
    assert counts == [1, 1]  # forward and backward


def test_views_stay_views(compiler, counts):
    def function(x):
        return x.permute(0, 2, 1, 3), x.view(2, -1)

    x = some(2, 56, 8, 8)
    a, b = compiled(function)(x)
    assert sum(counts) == 0
    x.fill_(3)
    assert torch.equal(a, function(x)[0])
    assert torch.equal(b, function(x)[1])


def test_mutation(compiler, counts):
    def function(x, into):
        before = x.permute(1, 0, 2, 3).contiguous()
        x.mul_(2)
        after = x.permute(1, 0, 2, 3).contiguous()
        into.copy_(before.flip(0))
        before.add_(1)
        return before, after

    tensors = [[some(2, 56, 8, 8), torch.zeros(56, 2, 8, 8)] for _ in range(2)]
    expected = function(*tensors[0])
    results = compiled(function)(*tensors[1])
    for a, b in zip([*expected, *tensors[0]], [*results, *tensors[1]], strict=True):
        assert torch.equal(a, b)


def test_graph_breaks(compiler, counts):
    def function(x):
        y = windows(x)
        torch._dynamo.graph_break()
        return y.transpose(0, 1).contiguous()

    x = some(2, 56, 8, 8)
    assert torch.equal(compiled(function)(x), function(x))
    assert counts == [1, 1]


def test_dynamic_shapes(compiler, counts):
    def function(x):
        return torch.channel_shuffle(x, 2).flip(1)

    call = compiled(function, dynamic=None)
    for batch in (2, 3, 5, 7):
        x = some(batch, 56, 8, 8)
        assert torch.equal(call(x), function(x))
    assert counts == [1, 0]  # the first length is taken as fixed; from the second on it is dynamic


def test_no_movement(compiler, counts):
    x = some(3, 4)
    torch.testing.assert_close(compiled(lambda x: x.sin() + 1)(x), x.sin() + 1)
    assert counts == [0]


def test_dtypes_that_torch_casts_to(compiler, counts):
    x = some(4, 6)
    assert torch.equal(compiled(lambda x: x.t().contiguous().double())(x), x.t().double())
    mask = x > 0
    assert torch.equal(compiled(lambda x: x.t().contiguous())(mask), mask.t())
    assert sum(counts) >= 1


@pytest.mark.skipif("inductor" not in COMPILERS, reason="there is no C++ compiler")
def test_what_inductor_fuses_is_left_to_it(counts):
    def function(x):
        return torch.channel_shuffle(x.sin(), 2).cos(), torch.channel_shuffle(x, 2).cos()

    x = some(2, 56, 8, 8)
    for a, b in zip(compiled(function)(x), function(x), strict=True):
        torch.testing.assert_close(a, b)
    assert counts == [0]


def test_small_copies_are_left(compiler, monkeypatch, counts):
    monkeypatch.undo()
    found = []
    fold = _fold.fold
    monkeypatch.setattr(_fold, "fold", lambda graph, *, fuses: found.append(fold(graph, fuses=fuses)))
    if compiler == "none":
        monkeypatch.setattr(_backend.shutil, "which", lambda name: None)
    x = some(2, 12, 8, 8)
    call = compiled(lambda x: torch.channel_shuffle(x, 3))
    assert torch.equal(call(x), torch.channel_shuffle(x, 3))
    assert found == [0]


MODELS = ["ShuffleNet v2, 2 units", "Swin, 2 blocks", "ViT, 2 blocks", "shifted windows alone"]


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="the models lie with the benchmarks")
@pytest.mark.parametrize("name", MODELS)
def test_models(name, compiler, counts, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.torch_models import models

    model, x = models(1)[name]
    with torch.no_grad():
        expected = model(x)
        torch.testing.assert_close(compiled(model)(x), expected, rtol=1e-4, atol=1e-5)
    assert (sum(counts) > 0) == (name != MODELS[0] or compiler == "none")
    if compiler == "none" and isinstance(model, torch.nn.Module):
        gradients = []
        for call in (model, compiled(model)):
            model.zero_grad()
            call(x).square().mean().backward()
            gradients.append([parameter.grad.clone() for parameter in model.parameters()])
        for a, b in zip(*gradients, strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="the models lie with the benchmarks")
@pytest.mark.parametrize("name", MODELS)
def test_fewer_copies(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setattr(_backend.shutil, "which", lambda name: None)
    from benchmarks.torch_models import counting, models

    model, x = models(1)[name]
    found = []
    with torch.no_grad(), counting(found):
        compiled(model)(x)
    ((before, after, chains),) = found
    assert 0 < chains <= after
    assert after == before if name.startswith("ViT") else after < before  # what is one copy in torch stays one


@pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="the source tree is not here")
def test_the_entry_point():
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["torch_dynamo_backends"]
    assert list(table) == ["dnnmove"]
    assert EntryPoint("dnnmove", table["dnnmove"], "torch_dynamo_backends").load() is dt.backend

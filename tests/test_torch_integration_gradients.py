"""Gradients of dnnmove.torch: against finite differences, against torch's own, of any order, under torch.func."""

import gc
import weakref

import pytest

torch = pytest.importorskip("torch")

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402
from torch_cases import FUNCTIONS, assert_same, by_operator, parts, some  # noqa: E402

import dnnmove as dm  # noqa: E402
import dnnmove.torch as dt  # noqa: E402

# Forward mode has torch load its decompositions, which still use torch.jit.script.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
each = pytest.mark.parametrize("name", FUNCTIONS)


def total(function):
    """A number that depends on every element, not linearly."""
    return lambda x: sum(y.sin().square().sum() for y in parts(function(x)))


@each
def test_gradcheck(name):
    x = some((2, 6, 2, 2), requires_grad=True)
    ours = FUNCTIONS[name][0]
    assert gradcheck(ours, x, check_forward_ad=True)
    assert gradgradcheck(ours, x, check_fwd_over_rev=True, check_rev_over_rev=True)


@each
def test_gradcheck_of_the_operator(name):
    assert gradcheck(by_operator(name), some(requires_grad=True), check_forward_ad=True)
    assert gradgradcheck(by_operator(name), some(requires_grad=True))


@each
def test_the_same_gradients_as_torch(name):
    ours, torchs = FUNCTIONS[name]
    for memory_format in (torch.contiguous_format, torch.channels_last):
        gradients = []
        for function in (ours, torchs):
            x = some().contiguous(memory_format=memory_format).requires_grad_()
            total(function)(x * 1).backward()
            gradients.append(x.grad)
        torch.testing.assert_close(*gradients, rtol=1e-14, atol=1e-14)


@each
def test_gradients_of_any_strides(name):
    ours, torchs = FUNCTIONS[name]
    x = some(requires_grad=True)
    results, expected = parts(ours(x)), parts(torchs(x))
    for make in (
        torch.ones_like,
        lambda y: torch.ones(()).double().expand(y.shape),
        lambda y: some(y.shape[::-1], seed=2).permute(*range(y.ndim)[::-1]),
        lambda y: some((*y.shape, 2), seed=3)[..., 0],
    ):
        upstream = [make(y) for y in results]
        (a,) = torch.autograd.grad(results, x, upstream, retain_graph=True)
        (b,) = torch.autograd.grad(expected, x, upstream, retain_graph=True)
        torch.testing.assert_close(a, b, rtol=1e-14, atol=1e-14)


def test_a_part_without_gradient():
    for function in (FUNCTIONS["variadic_split"], FUNCTIONS["chain"]):
        gradients = []
        for call in function:
            x = some(requires_grad=True)
            call(x)[1].square().sum().backward()
            gradients.append(x.grad)
        assert torch.equal(*gradients)


def test_channel_shuffle_keeps_the_memory_format_of_gradients():
    x = some().contiguous(memory_format=torch.channels_last).requires_grad_()
    y = dt.channel_shuffle(x, 2)
    (gradient,) = torch.autograd.grad(y, x, torch.randn_like(y))
    assert gradient.is_contiguous(memory_format=torch.channels_last)


@pytest.fixture(params=[1, 2])
def threads(request):
    """How many threads torch has: on one, small shuffles take another way."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    "shape", [(1, 6, 7, 7), (1, 6, 1, 1), (3, 6, 5), (2, 6), (0, 6, 2, 2), (2, 0, 3, 3), (1, 6, 2, 3, 4)]
)
def test_small_shuffles(shape, threads):
    layouts = [
        lambda x: x,
        lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
        lambda x: torch.stack([x, x], -1)[..., 0],
    ]
    if len(shape) == 4:
        layouts.append(lambda x: x.contiguous(memory_format=torch.channels_last))
    for layout in layouts:
        x = layout(some(shape)).requires_grad_()
        plain = dt.channel_shuffle(x.detach(), 3)
        y = dt.channel_shuffle(x, 3)
        assert_same(y.detach(), plain)
        assert y._base is None
        assert y.requires_grad
        assert y.data_ptr() != x.data_ptr() or not x.numel()
        upstream = some(shape, seed=1)
        (gradient,) = torch.autograd.grad(y, x, upstream, create_graph=True)
        assert torch.equal(gradient, dt.channel_shuffle(upstream, 2) if shape[1] else upstream)
        if x.numel():
            assert gradgradcheck(lambda x: dt.channel_shuffle(x, 3), layout(some(shape)).requires_grad_())


def test_what_small_shuffles_refuse(threads, errors_name):
    x = some((1, 6, 2, 2), requires_grad=True)
    for groups, error in ((4, ValueError), (0, ValueError), (-3, ValueError), (2.0, TypeError), (True, TypeError)):
        for y in (x, x.detach()):
            errors_name(error, lambda y=y, groups=groups: dt.channel_shuffle(y, groups), "groups", f"{groups}")


@each
def test_lazily_negated_gradients(name):
    ours, torchs = FUNCTIONS[name]
    for create_graph in (False, True):
        gradients = []
        for function in (ours, torchs):
            x = some(requires_grad=True)
            results = parts(function(x))
            upstream = [torch.complex(y.detach(), y.detach() + 1).conj().imag for y in results]
            assert all(y.is_neg() for y in upstream)
            gradients += torch.autograd.grad(results, x, upstream, create_graph=create_graph)
        assert torch.equal(*gradients)


@each
def test_nodes_are_named_and_keep_nothing(name):
    x = some(requires_grad=True) * 1
    there = weakref.ref(x)
    results = parts(FUNCTIONS[name][0](x))
    assert name.replace("_", "") in type(results[0].grad_fn).__name__.lower()
    del x
    gc.collect()
    assert there() is None


@each
@pytest.mark.parametrize("direct", [True, False], ids=["function", "operator"])
def test_torch_func(name, direct):
    ours, torchs = FUNCTIONS[name]
    ours = ours if direct else by_operator(name)
    x, tangent, batch = some(), some(seed=1), some((3, 2, 6, 4, 3), seed=2)
    close = {"rtol": 1e-13, "atol": 1e-13}
    for transform in (torch.func.grad, torch.func.hessian, torch.func.jacfwd):
        torch.testing.assert_close(transform(total(ours))(x), transform(total(torchs))(x), **close)
    for a, b in zip(*(parts(torch.func.jacrev(f)(x)) for f in (ours, torchs)), strict=True):
        assert torch.equal(a, b)
    for transform in (
        lambda f: torch.func.jvp(f, (x,), (tangent,)),
        lambda f: torch.func.vmap(f)(batch),
        lambda f: torch.func.vmap(f, in_dims=2)(batch.movedim(0, 2)),
        lambda f: torch.func.vmap(torch.func.grad(total(f)))(batch),
        lambda f: torch.func.grad(total(torch.func.vmap(f)))(batch),
        lambda f: torch.func.vmap(lambda v: torch.func.jvp(f, (v,), (tangent,)))(batch),
        lambda f: torch.func.jvp(torch.func.vmap(f), (batch,), (batch + 1,)),
        lambda f: torch.func.vmap(torch.func.vmap(f))(batch[None]),
    ):
        flat = [torch.utils._pytree.tree_leaves(transform(f)) for f in (ours, torchs)]
        for a, b in zip(*flat, strict=True):
            torch.testing.assert_close(a, b, **close)


@pytest.mark.parametrize("value", [2.5, float("nan"), float("-inf")])
@pytest.mark.parametrize("direct", [True, False], ids=["function", "operator"])
def test_borders_of_a_constant_have_no_tangent(value, direct):
    built = dm.Chain(dm.MemoryDesc((2, 3), "float64")).pad((1, 0), constant_value=value).build()
    ours = dt.chain(built)
    if not direct:
        text = ours._text
        ours = lambda x: torch.ops.dnnmove.chain(x, text)[0]  # noqa: E731

    def torchs(x):
        return torch.nn.functional.pad(x, (1, 0, 1, 0), value=value)

    x, tangent = some((2, 3)), some((2, 3), seed=1)
    for transform in (
        lambda f: torch.func.jvp(f, (x,), (tangent,))[1],
        lambda f: torch.func.jacfwd(f)(x),
        lambda f: torch.func.hessian(lambda v: f(v)[1:, 1:].prod())(x),
    ):
        torch.testing.assert_close(transform(ours), transform(torchs), rtol=1e-13, atol=1e-13)
    assert gradcheck(lambda v: ours(v)[1:, 1:], x.requires_grad_(), check_forward_ad=True)


def test_vmap_over_nothing():
    empty = torch.zeros(0, 2, 6, 4, 3, dtype=torch.float64)
    for name, (ours, torchs) in FUNCTIONS.items():
        assert_same(torch.func.vmap(ours)(empty), torch.func.vmap(torchs)(empty)), name


@each
def test_forward_mode(name):
    ours, torchs = FUNCTIONS[name]
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(some(), some(seed=1))
        for a, b in zip(parts(ours(x)), parts(torchs(x)), strict=True):
            for one, other in zip(
                torch.autograd.forward_ad.unpack_dual(a), torch.autograd.forward_ad.unpack_dual(b), strict=True
            ):
                assert torch.equal(one, other)
        assert torch.autograd.forward_ad.unpack_dual(parts(ours(some()))[0]).tangent is None


def test_complex_gradients():
    for ours, _ in FUNCTIONS.values():
        x = torch.complex(some((1, 6, 2, 1)), some((1, 6, 2, 1), seed=1)).requires_grad_()
        assert gradcheck(ours, x)


@each
def test_gradients_accumulate(name):
    x = some(requires_grad=True)
    for _ in range(3):
        sum(y.sum() for y in parts(FUNCTIONS[name][0](x))).backward()
    once = sum(y.sum() for y in parts(FUNCTIONS[name][1](x)))
    assert torch.equal(x.grad, 3 * torch.autograd.grad(once, x)[0])


def test_training_is_the_same_bit_for_bit():
    losses = []
    for shuffle in (torch.nn.ChannelShuffle(2), dt.ChannelShuffle(2)):
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3),
            torch.nn.BatchNorm2d(8),
            shuffle,
            torch.nn.Conv2d(8, 4, 3, groups=2),
            torch.nn.Flatten(),
        )
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        x = torch.randn(4, 1, 8, 8)
        mine = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            mine.append(loss.item())
        losses.append(mine)
    assert losses[0] == losses[1]


def test_checkpointing_and_hooks():
    x = some(requires_grad=True)
    seen = []
    y = torch.utils.checkpoint.checkpoint(dt.channel_shuffle, x, 3, use_reentrant=False)
    y.register_hook(lambda gradient: seen.append(gradient.shape))
    y.square().sum().backward()
    assert torch.equal(x.grad, 2 * x)
    assert seen == [y.shape]

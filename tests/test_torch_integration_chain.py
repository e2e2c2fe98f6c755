"""dnnmove.torch.chain: random chains, their adjoints, layouts, batches, and chains that have no gradient."""

import copy
import os
import pickle
import random

import chains
import numpy as np
import pytest

import dnnmove as dm

torch = pytest.importorskip("torch")

from torch_cases import parts, some  # noqa: E402

import dnnmove.torch as dt  # noqa: E402
from dnnmove.torch import _adjoint  # noqa: E402
from dnnmove.torch._spec import read, spec_of  # noqa: E402

COUNT = {"quick": 150, "ci": 600, "full": 5000}.get(os.environ.get("DNNMOVE_TEST_PROFILE", "ci"), 600)
DTYPES = "bool uint8 int32 uint16 float16 bfloat16 float8_e4m3fn float8_e5m2 complex64"


@pytest.fixture
def numbers(monkeypatch):
    """Random chains of one dtype that has gradients."""
    monkeypatch.setattr(chains, "DTYPES", [np.dtype("f8")])


def test_random_chains_and_their_adjoints(numbers):
    """The adjoint adds each element of the gradient to where the forward took the element from."""
    for seed in range(COUNT):
        source, chain, _, splits = chains.random_chain(random.Random(seed), dm.Chain.of)
        f = dt.chain(chain.build())
        assert read(f._text) == spec_of(f.built)
        # Counted from 1: the zeros of a pad come from nowhere.
        places = torch.arange(1, source.size + 1, dtype=torch.float64).reshape(source.shape)
        x = some(source.shape, seed=seed, requires_grad=True)
        results = f(x)
        assert isinstance(results, tuple) == splits
        if not parts(results):
            continue
        upstream = [some(y.shape, seed=seed + 1) for y in parts(results)]
        known = torch.cat([torch.zeros(1, dtype=torch.float64), x.detach().reshape(-1)])
        expected = torch.zeros(source.size + 1, dtype=torch.float64)
        for y, place, gradient in zip(parts(results), parts(f(places)), upstream, strict=True):
            assert torch.equal(y, known[place.long()])
            expected.index_add_(0, place.reshape(-1).long(), gradient.reshape(-1))
        (gradient,) = torch.autograd.grad(parts(results), x, upstream)
        torch.testing.assert_close(gradient, expected[1:].reshape(source.shape), rtol=1e-12, atol=1e-12)


def test_every_step_has_an_adjoint():
    known = {*_adjoint._STAGES, *_adjoint._SPLITS, "branch"}
    lacking = set(dm._core._steps) - known - WITHOUT_GRADIENT
    assert not lacking, f"{lacking}: none of _STAGES in src/dnnmove/torch/_adjoint.py, nor of WITHOUT_GRADIENT below"


WITHOUT_GRADIENT = {"convert", "byteswap", "stack", "concat"}


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_other_batches(count):
    built = dm.Chain(dm.MemoryDesc((4, 6, 3), "float64")).shuffle_channels(1, 2).reshape((-1, 9)).split(1, 3).build()
    f = dt.chain(built)
    x = some((count, 6, 3), requires_grad=True)
    results = f(x)
    for y, right in zip(results, built(x.detach()), strict=True):
        assert torch.equal(y, right)
    sum(y.square().sum() for y in results).backward()
    assert torch.equal(x.grad, 2 * x)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_any_layout(requires_grad):
    f = dt.chain(
        dm.Chain(dm.MemoryDesc((2, 6, 4, 3), "float64")).shuffle_channels(1, 2).transpose((0, 2, 3, 1)).build()
    )
    whole = some((4, 6, 4, 6))
    for x in (
        some().contiguous(memory_format=torch.channels_last),
        whole[:2, :, :, ::2],
        whole[1:2, :, :, 3:].expand(2, 6, 4, 3),
        some((3, 4, 6, 2)).permute(3, 2, 1, 0)[:1],
    ):
        x = x.detach().requires_grad_(requires_grad)
        expected = torch.channel_shuffle(x, 2).permute(0, 2, 3, 1)
        y = f(x)
        assert torch.equal(y, expected)
        assert y.is_contiguous()
        if requires_grad:
            upstream = some(y.shape)
            for gradient, right in zip(
                torch.autograd.grad(y, x, upstream), torch.autograd.grad(expected, x, upstream), strict=True
            ):
                assert torch.equal(gradient, right)


def test_permutations_go_back_in_one_chain(monkeypatch):
    """The backward of a chain of permutations is one chain, which is one pass where the forward is."""
    made = []
    plain = dt._chain.chain
    monkeypatch.setattr(dt._chain, "chain", lambda built: made.append(built) or plain(built))
    _adjoint.adjoint_of.cache_clear()
    steps = dm.Chain(dm.MemoryDesc((2, 6, 4, 8), "float64")).shuffle_channels(1, 2).flip(3).transpose((0, 2, 3, 1))
    x = some((2, 6, 4, 8), requires_grad=True)
    dt.chain(steps.build())(x).sum().backward()
    assert [built.passes for built in made[-1:]] == [1]
    assert len(made) == 1
    _adjoint.adjoint_of.cache_clear()


@pytest.mark.parametrize("name", DTYPES.split())
def test_dtypes(name):
    dtype = getattr(torch, name)
    bits = torch.arange(24 * dtype.itemsize, dtype=torch.uint8).reshape(2, 3, 4 * dtype.itemsize)
    bits = bits.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize])
    y = dt.chain(dm.Chain(dm.MemoryDesc((2, 3, 4), name)).flip(1).transpose().build())(bits.view(dtype))
    assert y.dtype is dtype
    assert torch.equal(y.view(bits.dtype), bits.flip(1).permute(2, 1, 0))


def test_chains_that_torch_cannot_take(errors_name):
    for dtype in (">f4", "V3", "M8[s]", [("a", "u1")]):
        built = dm.Chain.of(np.zeros((2, 3), dtype)).transpose().build()
        errors_name(TypeError, lambda built=built: dt.chain(built), "built (", "which torch does not have")
    steps = dm.Chain(dm.MemoryDesc((2, 3), "float32")).transpose()
    for wrong in (steps, None, lambda x: x):
        errors_name(TypeError, lambda wrong=wrong: dt.chain(wrong), "built must be a BuiltChain", type(wrong).__name__)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_errors(requires_grad, errors_name):
    f = dt.chain(dm.Chain(dm.MemoryDesc((2, 6), "float32")).shuffle_channels(0, 2).build())
    for x, error, words in (
        (some((2, 7), torch.float32), ValueError, ["x", "(2, 7)", "(2, 6)"]),
        (some((2,), torch.float32), ValueError, ["x", "(2, 6)"]),
        (some((4, 6), torch.float32), ValueError, ["x", "(4, 6)"]),
        (some((2, 6)), ValueError, ["x", "float64", "float32"]),
    ):
        errors_name(error, lambda x=x: f(x.requires_grad_(requires_grad)), *words)
        if tuple(x.shape) != (4, 6):
            errors_name(error, lambda x=x: f(x.detach().to("meta")), *words)


def test_a_step_without_gradient_is_named_before_anything_runs(monkeypatch, errors_name):
    monkeypatch.delitem(_adjoint._STAGES, "roll")
    f = dt.chain(dm.Chain(dm.MemoryDesc((2, 6), "float64")).transpose().roll(1).build())
    x = some((2, 6), requires_grad=True)
    errors_name(ValueError, lambda: f(x), "x requires grad", "step 2 (roll)", "no_grad")
    assert f(x.detach()).shape == (6, 2)
    with torch.no_grad():
        assert f(x).shape == (6, 2)


def test_the_object():
    built = dm.Chain(dm.MemoryDesc((2, 6), "float64")).transpose().build()
    f = dt.chain(built)
    assert f.built is built
    assert repr(f) == f"dnnmove.torch.chain({built!r})"
    x = some((2, 6))
    for again in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert again.built == built
        assert torch.equal(again(x), x.t())


def test_the_gradient_of_a_split_is_one_pass():
    """The parts' gradients are joined on the way, where they lie as the parts do."""
    steps = dm.Chain(dm.MemoryDesc((2, 12, 4, 3), "float32")).shuffle_channels(1, 3).variadic_split(1, (3, 0, 9))
    function = dt.chain(steps.build())
    x = torch.randn(2, 12, 4, 3, requires_grad=True)
    results = function(x)
    upstream = [torch.randn_like(y) for y in results]
    for gradients in (upstream, [g.mT.contiguous().mT for g in upstream], [g.neg().resolve_neg() for g in upstream]):
        torch.autograd.grad(results, x, gradients, retain_graph=True)
        with dm.profile() as profile:
            (found,) = torch.autograd.grad(results, x, gradients, retain_graph=True)
        assert torch.equal(found, torch.channel_shuffle(torch.cat(gradients, 1), 4))
        if gradients is upstream:
            assert len(profile.records) == 1


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float32", 0.5),
        ("float32", np.float32(0.1)),
        ("float64", float("-inf")),
        ("float16", 1.5),
        ("bfloat16", -2.0),
        ("bfloat16", float("inf")),
        ("uint8", 255),
        ("int64", -(2**63)),
        ("bool", True),
        ("complex64", 1 - 2j),
        ("complex128", complex("inf")),
    ],
)
def test_constants_of_a_border(dtype, value, tmp_path):
    """Whatever dtype they are elements of, here and in an exported program."""
    torch_dtype = getattr(torch, dtype)
    built = dm.Chain(dm.MemoryDesc((2, 3), dtype)).pad({1: (1, 2)}, constant_value=value).build()
    x = torch.ones((2, 3), dtype=torch_dtype)
    expected = torch.full((2, 6), complex(value) if torch_dtype.is_complex else float(value)).to(torch_dtype)
    if dtype == "int64":
        expected.fill_(value)
    expected[:, 1:4] = 1
    unit = dt.chain(built)
    assert torch.equal(unit(x), expected)
    torch.export.save(torch.export.export(Wrapped(unit), (x,)), tmp_path / "unit.pt2")
    assert torch.equal(torch.export.load(tmp_path / "unit.pt2").module()(x), expected)
    if torch_dtype.is_floating_point or torch_dtype.is_complex:
        x.requires_grad_()
        unit(x).abs().nan_to_num(0, 0, 0).sum().backward()
        assert x.grad.shape == (2, 3)


class Wrapped(torch.nn.Module):
    def __init__(self, unit):
        super().__init__()
        self.unit = unit

    def forward(self, x):
        return self.unit(x)


@pytest.mark.parametrize("widths", [(), {}])
@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_a_border_of_no_axes_has_a_gradient(widths, mode):
    f = dt.chain(dm.Chain(dm.MemoryDesc((), "float64")).pad(widths, mode).build())
    x = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    f(x).mul(2).backward()
    assert x.grad == 2


@pytest.mark.parametrize(
    "steps",
    [
        lambda c: c.roll(-(2**63)).roll((2**63 - 1, -(2**63)), (0, 1)),
        lambda c: c.index(np.s_[:: 10**18, 5 :: -(10**18)]),
        lambda c: c.index(np.s_[3:1, :: 2**62]),
        lambda c: c.index(np.s_[1::2, -2::-3]),
    ],
)
def test_gradients_of_extreme_steps(steps):
    built = steps(dm.Chain(dm.MemoryDesc((5, 7), "float64"))).build()
    x = some((5, 7), requires_grad=True)
    y = dt.chain(built)(x)
    weights = torch.arange(1.0, y.numel() + 1, dtype=torch.float64).reshape(y.shape)
    (y * weights).sum().backward()
    places = built(torch.arange(1.0, 36.0, dtype=torch.float64).reshape(5, 7)).long().reshape(-1) - 1
    expected = torch.zeros(35, dtype=torch.float64)
    expected[places] = weights.reshape(-1)
    assert torch.equal(x.grad, expected.reshape(5, 7))

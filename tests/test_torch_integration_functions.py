"""dnnmove.torch, eager: what it computes, which tensors it takes, what it refuses and how it says so."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.exceptions import AxisError

import dnnmove as dm

torch = pytest.importorskip("torch")

from torch._subclasses import FakeTensor, FakeTensorMode  # noqa: E402
from torch_cases import FUNCTIONS, assert_same, built_for, parts, some  # noqa: E402

import dnnmove.torch as dt  # noqa: E402

each = pytest.mark.parametrize("name", FUNCTIONS)
DTYPES = """
    bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64
    complex64 complex128 float8_e4m3fn float8_e5m2
"""


def bits(x):
    return x.contiguous().view(torch.uint8) if x.dtype.itemsize > 1 else x.contiguous().view(torch.int8)


@each
@pytest.mark.parametrize("dtype", DTYPES.split())
def test_every_dtype(name, dtype):
    x = torch.arange(6 * 24, dtype=torch.uint8).reshape(2, 6, 4, 3).to(getattr(torch, dtype))
    ours, torchs = FUNCTIONS[name]
    for a, b in zip(parts(ours(x)), parts(torchs(x)), strict=True):
        assert a.dtype is x.dtype
        assert torch.equal(bits(a), bits(b))


@each
@pytest.mark.parametrize("requires_grad", [False, True])
def test_strides(name, requires_grad):
    whole = some((4, 12, 8, 6))
    for x in (whole[:2, :6, :4, :3], whole[::2, ::2, ::2, ::2], some((3, 4, 6, 2)).permute(3, 2, 1, 0)):
        x = x.detach().requires_grad_(requires_grad)
        ours, torchs = FUNCTIONS[name]
        for a, b in zip(parts(ours(x)), parts(torchs(x)), strict=True):
            assert torch.equal(a, b)
            assert a.requires_grad == requires_grad


@pytest.mark.parametrize("requires_grad", [False, True])
def test_channel_shuffle_keeps_the_memory_format(requires_grad):
    for shape, formats in (
        ((2, 6, 4, 3), [torch.contiguous_format, torch.channels_last]),
        ((2, 6, 4, 3, 5), [torch.contiguous_format, torch.channels_last_3d]),
    ):
        for memory_format in formats:
            x = some(shape).to(memory_format=memory_format).requires_grad_(requires_grad)
            y = dt.channel_shuffle(x, 2)
            assert y.is_contiguous(memory_format=memory_format)
            assert torch.equal(y, torch.channel_shuffle(x, 2))
            module = dt.ChannelShuffle(2)
            assert_same(module(x), y)


@given(
    st.lists(st.integers(0, 4), min_size=0, max_size=3),
    st.integers(1, 4),
    st.integers(0, 4),
    st.integers(0, 3),
    st.data(),
)
def test_channel_shuffle_of_any_shape(rest, groups, size, batch, data):
    x = torch.arange(int(batch * groups * size * np.prod(rest)), dtype=torch.float64)
    x = x.reshape(batch, groups * size, *rest)
    order = data.draw(st.permutations(range(x.ndim)))
    x = x.permute(order).contiguous().permute([order.index(axis) for axis in range(x.ndim)])
    expected = x.unflatten(1, (groups, size)).transpose(1, 2).flatten(1, 2) if x.numel() else x
    for source in (x, x.clone().requires_grad_()):
        y = dt.channel_shuffle(source, groups)
        assert torch.equal(y, expected)
        assert y.is_contiguous() or y.stride() == source.stride()


@each
def test_a_result_is_new_memory(name):
    x = some()
    before = x.clone()
    for y in parts(FUNCTIONS[name][0](x)):
        y.fill_(7)
    assert torch.equal(x, before)


@each
def test_no_grad_and_inference_mode(name):
    x = some(requires_grad=True)
    ours, torchs = FUNCTIONS[name]
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            results = ours(x)
            assert not any(y.requires_grad for y in parts(results))
            assert_same(results, torchs(x))
            assert all(y.is_inference() for y in parts(ours(x.clone()))) == (mode is torch.inference_mode)


@each
def test_autocast_changes_nothing(name):
    x = some(dtype=torch.float32, requires_grad=True)
    ours, torchs = FUNCTIONS[name]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_same(ours(x), torchs(x))


@each
def test_lazily_conjugated_and_negated_tensors(name):
    x = torch.complex(some(), some(seed=1))
    ours, torchs = FUNCTIONS[name]
    for lazy in (x.conj(), x.conj().imag, x.conj().requires_grad_()):
        expected = torchs(lazy.resolve_conj().resolve_neg())
        for a, b in zip(parts(ours(lazy)), parts(expected), strict=True):
            assert torch.equal(a, b)


class Marked(torch.Tensor):
    """A subclass without any methods of its own."""


class Logged(torch.Tensor):
    """A subclass that sees every function that is called on it."""

    calls = ()

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.calls = (*cls.calls, function)
        return super().__torch_function__(function, types, args, kwargs)


@each
def test_tensor_subclasses(name):
    ours, torchs = FUNCTIONS[name]
    for kind in (Marked, Logged, torch.nn.Parameter):
        x = some()
        view = torch.nn.Parameter(x) if kind is torch.nn.Parameter else x.as_subclass(kind)
        results = ours(view)
        for a, b in zip(parts(results), parts(torchs(x)), strict=True):
            assert torch.equal(a.as_subclass(torch.Tensor), b)
            assert type(a) is (torch.Tensor if kind is torch.nn.Parameter else kind)
    function = dt.ChainFunction.__call__ if name == "chain" else getattr(dt, name)
    assert function in Logged.calls


@each
def test_meta_tensors(name):
    x = some()
    ours, torchs = FUNCTIONS[name]
    for a, b in zip(parts(ours(x.to("meta"))), parts(torchs(x)), strict=True):
        assert a.device.type == "meta"
        assert (a.shape, a.stride(), a.dtype) == (b.shape, b.stride(), b.dtype)


@each
@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda x: x.numpy(), TypeError, ["x must be a torch.Tensor", "ndarray"]),
        (lambda x: x.tolist(), TypeError, ["x must be a torch.Tensor", "list"]),
        (lambda x: x.to_sparse(), TypeError, ["x (torch.sparse_coo)", "to_dense()"]),
        (
            lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8),
            TypeError,
            ["x (torch.qint8)", "int_repr()"],
        ),
        (lambda x: torch.nested.nested_tensor([x[0], x[1]]), TypeError, ["x (nested)"]),
    ],
    ids=["numpy", "list", "sparse", "quantized", "nested"],
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_what_is_no_dense_tensor(name, make, error, words, errors_name):
    calls = {
        "channel_shuffle": lambda x: dt.channel_shuffle(x, 3),
        "transpose": dt.transpose,
        "variadic_split": lambda x: dt.variadic_split(x, 1, [6]),
        "broadcast": lambda x: dt.broadcast(x, (2, 6, 4, 3)),
        "concat": lambda x: dt.concat([x]),
        "stack": lambda x: dt.stack([x]),
        "chain": dt.chain(built_for(some())),
    }
    words = [re.sub("^x ", "tensors[0] ", each) if name in ("concat", "stack") else each for each in words]
    errors_name(error, lambda: calls[name](make(some())), *words)


X = some()
EMPTY = some((2, 0, 3))
SPLIT = "split_lengths"


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: dt.channel_shuffle(x, 4), ValueError, ["groups (4) must divide x.shape[1] (6)"]),
        (lambda x: dt.channel_shuffle(x, 0), ValueError, ["groups (0) must be at least 1"]),
        (lambda x: dt.channel_shuffle(x, -3), ValueError, ["groups (-3) must be at least 1"]),
        (lambda x: dt.channel_shuffle(x, 2.0), TypeError, ["groups (2.0) must be an integer, not float"]),
        (lambda x: dt.channel_shuffle(x, True), TypeError, ["groups (True) must be an integer, not bool"]),
        (lambda x: dt.channel_shuffle(x, "2"), TypeError, ["groups ('2') must be an integer, not str"]),
        (lambda x: dt.channel_shuffle(x[0, 0, 0], 1), AxisError, ["x must have at least 2 dimensions", "has 1"]),
        (lambda x: dt.transpose(x, (0, 1)), ValueError, ["input_order (0, 1)", "[0, 4)", "(2, 6, 4, 3)"]),
        (lambda x: dt.transpose(x, (0, 1, 1, 2)), ValueError, ["input_order (0, 1, 1, 2)"]),
        (lambda x: dt.transpose(x, (0, 1, 2, 4)), ValueError, ["input_order (0, 1, 2, 4)"]),
        (lambda x: dt.transpose(x, 3), TypeError, ["input_order (3)", "sequence of integers"]),
        (lambda x: dt.transpose(x, (0, 1, 2, True)), TypeError, ["input_order[3] (True)", "integer"]),
        (lambda x: dt.transpose(x, np.zeros(4)), TypeError, ["input_order", "float64"]),
        (lambda x: dt.transpose(x, np.zeros((2, 2), int)), ValueError, ["input_order", "(2, 2)"]),
        (lambda x: dt.variadic_split(x, 1, [2, 3]), ValueError, [SPLIT, "(2, 3)", "x.shape[1] (6)", "sum to 5"]),
        (lambda x: dt.variadic_split(x, 1, [-1, -1]), ValueError, [SPLIT, "-1 occurs twice"]),
        (lambda x: dt.variadic_split(x, 1, [-2, 8]), ValueError, [SPLIT, "negative"]),
        (lambda x: dt.variadic_split(x, 1, [-1, 8]), ValueError, [SPLIT, "sum to 8"]),
        (lambda x: dt.variadic_split(x, 4, [2]), AxisError, ["axis (4) must lie in [-4, 4)"]),
        (lambda x: dt.variadic_split(x, 1.0, [2]), TypeError, ["axis (1.0) must be an integer"]),
        (lambda x: dt.variadic_split(x, True, [2, 4]), TypeError, ["axis (True) must be an integer"]),
        (lambda x: dt.variadic_split(x, 1, [2.0, 4.0]), TypeError, [f"{SPLIT}[0] (2.0)"]),
        (lambda x: dt.variadic_split(x, 1, "24"), TypeError, [f"{SPLIT} ('24')"]),
        (lambda x: dt.concat([x, x[:1]], 1), ValueError, ["tensors[1].shape (1, 6, 4, 3)", "except along axis 1"]),
        (lambda x: dt.concat([x, x[0]]), ValueError, ["tensors[1].shape (6, 4, 3)", "tensors[0].shape (2, 6, 4, 3)"]),
        (lambda x: dt.stack([x, x[:1]]), ValueError, ["tensors[1].shape (1, 6, 4, 3)", "(2, 6, 4, 3)"]),
        (lambda x: dt.concat([x, x.float()]), TypeError, ["tensors[1].dtype (torch.float32)", "torch.float64"]),
        (lambda x: dt.stack([x, 3]), TypeError, ["tensors[1] must be a torch.Tensor, not int"]),
        (lambda x: dt.concat(x), TypeError, ["tensors must be a list or tuple of tensors, not Tensor"]),
        (lambda x: dt.stack(x), TypeError, ["tensors must be a list or tuple of tensors, not Tensor"]),
        (lambda x: dt.concat([]), ValueError, ["tensors must hold at least one tensor"]),
        (lambda x: dt.concat([x], 4), AxisError, ["axis (4) must lie in [-4, 4)"]),
        (lambda x: dt.concat([x], -5), AxisError, ["axis (-5) must lie in [-4, 4)"]),
        (lambda x: dt.stack([x], 5), AxisError, ["axis (5) must lie in [-5, 5)"]),
        (lambda x: dt.concat([x], 1.0), TypeError, ["axis (1.0) must be an integer, not float"]),
        (lambda x: dt.stack([x], True), TypeError, ["axis (True) must be an integer, not bool"]),
        (lambda x: dt.concat([x[0, 0, 0, 0]]), AxisError, ["axis (0) must lie in [0, 0)"]),
        (lambda x: dt.broadcast(x, (2, 6, 4)), ValueError, ["target_shape (2, 6, 4)", "more dimensions (4)"]),
        (lambda x: dt.broadcast(x, (2, 6, 4, 7)), ValueError, ["target_shape", "length 3 cannot become 7"]),
        (lambda x: dt.broadcast(x, (-2, 6, 4, 3)), ValueError, ["target_shape (-2, 6, 4, 3)", "at least 0"]),
        (lambda x: dt.broadcast(x, X.shape, mode="odd"), ValueError, ["mode ('odd')", "'bidirectional'"]),
        (lambda x: dt.broadcast(x, X.shape, mode=3), TypeError, ["mode (3)", "int"]),
        (lambda x: dt.broadcast(x, X.shape, [0, 1, 2, 3]), ValueError, ["axes_mapping ([0, 1, 2, 3])", "explicit"]),
        (lambda x: dt.broadcast(x, X.shape, mode="explicit"), ValueError, ["axes_mapping (None)", "explicit"]),
        (lambda x: dt.broadcast(x, X.shape, [0, 1, 3, 2], "explicit"), ValueError, ["axes_mapping", "increasing"]),
        (lambda x: dt.broadcast(x, X.shape, [0, 1], "explicit"), ValueError, ["axes_mapping (0, 1)"]),
        (lambda x: dt.broadcast(x, (2.0,)), TypeError, ["target_shape[0] (2.0)"]),
    ],
)
def test_errors(call, error, words, requires_grad, errors_name):
    x = X.clone().requires_grad_(requires_grad)
    errors_name(error, lambda: call(x), *words)
    errors_name(error, lambda: call(x.to("meta")), *words)


def test_another_device_is_named(errors_name):
    # This machine may have no other device: a fake tensor says that it lies there.
    x = FakeTensor(FakeTensorMode(), torch.empty(2, 6, 4, 3, device="meta"), torch.device("cuda"))
    errors_name(ValueError, lambda: dt.channel_shuffle(x, 3), "x lies on device cuda:0", "x.cpu()")


@pytest.mark.parametrize("requires_grad", [False, True])
def test_all_forms_of_the_arguments(requires_grad):
    x = some(requires_grad=requires_grad)
    same = dt.transpose(x, (0, 2, 3, 1))
    for order in (
        [0, 2, 3, 1],
        [-4, -2, -1, 1],
        np.array([0, 2, 3, 1]),
        torch.tensor([0, 2, 3, 1]),
        np.int8([0, 2, 3, 1]),
    ):
        assert_same(dt.transpose(x, order), same)
    assert_same(dt.transpose(x), x.permute(3, 2, 1, 0).contiguous())
    assert_same(dt.transpose(x, []), dt.transpose(x))
    assert_same(dt.channel_shuffle(x, np.int64(3)), dt.channel_shuffle(x, 3))
    assert_same(dt.channel_shuffle(x=x, groups=3), dt.channel_shuffle(x, 3))
    halves = dt.variadic_split(x, 1, [3, 3])
    for axis, lengths in ((-3, (3, -1)), (np.int32(1), np.array([3, 3])), (1, torch.tensor([-1, 3]))):
        assert_same(dt.variadic_split(x, axis, lengths), halves)
    assert [y.shape[1] for y in dt.variadic_split(x, 1, [0, 6, -1])] == [0, 6, 0]
    wide = x.detach().expand(3, 2, 6, 4, 3)
    for arguments in (
        ((3, 2, 6, 4, 3),),
        (torch.Size((3, 2, 6, 4, 3)),),
        ([3, 1, 6, 1, 1], None, "bidirectional"),
        ((3, 2, 6, 4, 3), [1, 2, 3, 4], "EXPLICIT"),
    ):
        assert torch.equal(dt.broadcast(x, *arguments), wide)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_zero_sizes_and_scalars(requires_grad):
    empty = some((2, 0, 3), requires_grad=requires_grad)
    assert dt.channel_shuffle(empty, 7).shape == (2, 0, 3)
    assert dt.transpose(empty).shape == (3, 0, 2)
    assert dt.variadic_split(empty, 1, []) == ()
    assert dt.broadcast(empty, (4, 2, 0, 3)).shape == (4, 2, 0, 3)
    scalar = torch.tensor(3.0, requires_grad=requires_grad)
    assert dt.transpose(scalar) == 3
    assert torch.equal(dt.broadcast(scalar, (2, 2)), torch.full((2, 2), 3.0))
    assert torch.equal(dt.broadcast(scalar, (2, 2), [], "explicit"), torch.full((2, 2), 3.0))


def test_the_module():
    module = dt.ChannelShuffle(groups=3)
    assert repr(torch.nn.Sequential(module)) == "Sequential(\n  (0): ChannelShuffle(groups=3)\n)"
    assert pickle.loads(pickle.dumps(module)).groups == 3
    assert not list(module.parameters())
    for groups, error in ((0, ValueError), (2.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match=r"groups \("):
            dt.ChannelShuffle(groups)


def test_importing_dnnmove_does_not_import_torch(run_python):
    program = "import sys, dnnmove; assert 'torch' not in sys.modules and not hasattr(dnnmove, 'torch')"
    run_python(program)


def test_the_engine_points_here():
    x = some(requires_grad=True)
    with pytest.raises(TypeError, match=r"dnnmove\.torch has differentiable functions"):
        dm.transpose(x)

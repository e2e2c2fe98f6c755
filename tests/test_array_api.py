"""The array API's names: the same results under them, on arrays of the API's strict implementation too."""

import numpy as np
import oracle
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st
from numpy.exceptions import AxisError

import dnnmove as dm

strict = pytest.importorskip("array_api_strict")
torch = pytest.importorskip("torch")

X = some.dense((2, 3, 4), "f4")


@given(some.arrays(), st.data())
def test_permute_dims(data, draw):
    axes = draw.draw(st.permutations(range(data.array.ndim)))
    oracle.assert_same(dm.permute_dims(data.array, tuple(axes)), oracle.transpose(data.array, axes))


@given(some.arrays(), st.data())
def test_unstack(data, draw):
    x = data.array
    if x.ndim == 0:
        return
    axis = draw.draw(st.integers(-x.ndim, x.ndim - 1))
    parts = dm.unstack(x, axis)
    assert type(parts) is tuple
    assert len(parts) == x.shape[axis]
    for i, part in enumerate(parts):
        (expected,) = oracle.variadic_split(np.moveaxis(x, axis, 0)[i : i + 1], 0, [1])
        oracle.assert_same(part, expected.reshape(expected.shape[1:]))
        assert part.flags.owndata


def test_broadcast_to():
    for shape in ((2, 3, 4), (5, 2, 3, 4), (1, 2, 3, 4)):
        expected = np.ascontiguousarray(np.broadcast_to(X, shape))
        oracle.assert_same(dm.broadcast_to(X, shape), expected)
    out = np.empty((5, 2, 3, 4), "f4")
    assert dm.broadcast_to(X, (5, 2, 3, 4), out=out) is out
    assert dm.permute_dims(X, (0, 2, 1), out=np.empty((2, 4, 3), "f4")).shape == (2, 4, 3)


def test_axes_as_numpy_arrays():
    for axes in ((), [], range(0), np.array([], int), strict.asarray([], dtype=strict.int64)):
        with pytest.raises(ValueError, match=r"axes .* must name every axis of x once"):
            dm.permute_dims(X, axes)
    with pytest.raises(ValueError, match=r"axes must be one-dimensional, but has shape \(\)"):
        dm.permute_dims(X, np.array(1))
    assert dm.permute_dims(np.array(3.0), np.array([], int)).shape == ()
    oracle.assert_same(dm.permute_dims(X, np.array([2, 0, 1])), X.transpose(2, 0, 1).copy())
    for part, expected in zip(dm.unstack(X, np.array([1])), dm.unstack(X, 1), strict=True):
        oracle.assert_same(part, expected)


def test_strict_arrays_in_and_out():
    x = strict.reshape(strict.arange(24, dtype=strict.float32), (2, 3, 4))
    for ours, theirs in (
        (dm.permute_dims(x, (2, 0, 1)), strict.permute_dims(x, (2, 0, 1))),
        (dm.broadcast_to(x, (5, 2, 3, 4)), strict.broadcast_to(x, (5, 2, 3, 4))),
        (dm.concat([x, x], axis=1), strict.concat([x, x], axis=1)),
        (dm.concat([x, x]), strict.concat([x, x])),
        *zip(dm.unstack(x, axis=1), strict.unstack(x, axis=1), strict=True),
        (dm.moveaxis(x, 0, -1), strict.moveaxis(x, 0, -1)),
        (dm.moveaxis(x, (0, 1), (2, 0)), strict.moveaxis(x, (0, 1), (2, 0))),
        (dm.flip(x), strict.flip(x)),
        (dm.flip(x, axis=(0, 2)), strict.flip(x, axis=(0, 2))),
        (dm.roll(x, 5), strict.roll(x, 5)),
        (dm.roll(x, (1, -1), axis=(0, 2)), strict.roll(x, (1, -1), axis=(0, 2))),
        (dm.expand_dims(x, axis=1), strict.expand_dims(x, axis=1)),
        (dm.squeeze(dm.expand_dims(x, axis=1), axis=1), x),
        (dm.tile(x, (2, 1, 1, 2)), strict.tile(x, (2, 1, 1, 2))),
        (dm.take(x, np.array([2, 0]), axis=1), strict.take(x, strict.asarray([2, 0]), axis=1)),
    ):
        assert type(ours) is type(theirs)
        assert ours.shape == theirs.shape
        assert bool(strict.all(ours == theirs))


def test_indices_of_the_same_library():
    """The array API's take gets its indices as an array of the library."""
    x = strict.reshape(strict.arange(12), (3, 4))
    assert bool(
        strict.all(dm.take(x, strict.asarray([2, 0]), axis=1) == strict.take(x, strict.asarray([2, 0]), axis=1))
    )


def test_kinds():
    tensor = torch.arange(6).reshape(2, 3)
    assert [part.tolist() for part in dm.unstack(tensor, -1)] == [[0, 3], [1, 4], [2, 5]]
    assert torch.equal(dm.permute_dims(tensor, (1, 0)), tensor.T)
    memory = dm.Memory(dm.MemoryDesc((2, 3), "f4"))
    assert isinstance(dm.permute_dims(memory, (1, 0)), dm.Memory)
    assert [part.desc.dims for part in dm.unstack(memory)] == [(3,), (3,)]
    assert dm.unstack(np.empty((0, 3))) == ()
    assert len(dm.unstack(np.empty((3, 0)))) == 3


@pytest.mark.parametrize(
    ("kind", "call", "words"),
    [
        (ValueError, lambda: dm.permute_dims(X, (0, 0, 1)), ["axes (0, 0, 1)", "x.shape (2, 3, 4)"]),
        (ValueError, lambda: dm.permute_dims(X, ()), ["axes ()"]),
        (TypeError, lambda: dm.permute_dims(X, (0, 1.0, 2)), ["axes[1]", "float"]),
        (TypeError, lambda: dm.permute_dims([[1]], (0, 1)), ["x must be an array", "list"]),
        (TypeError, lambda: dm.permute_dims(X), ["axes"]),
        (ValueError, lambda: dm.broadcast_to(X, (2, 2)), ["shape (2, 2)", "x.shape (2, 3, 4)"]),
        (TypeError, lambda: dm.broadcast_to([1], (2,)), ["x must be an array", "list"]),
        (AxisError, lambda: dm.unstack(X, 3), ["axis (3)", "[-3, 3)"]),
        (AxisError, lambda: dm.unstack(np.array(1)), ["axis (0)"]),
        (TypeError, lambda: dm.unstack(X, 1.0), ["axis", "float"]),
        (TypeError, lambda: dm.unstack(X, True), ["axis", "bool"]),
        (TypeError, lambda: dm.unstack([[1]]), ["x must be an array", "list"]),
    ],
)
def test_errors_use_the_api_s_names(kind, call, words, errors_name):
    error = errors_name(kind, call, *words)
    for ours in ("input_order", "target_shape", "data", "step 1"):
        assert ours not in str(error).replace("the data has", "")

"""The eager functions over dask arrays that only move elements, against NumPy on random chunks, and their errors."""

import numpy as np
import oracle
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st

import dnnmove as dm

da = pytest.importorskip("dask.array")

from chunked_arrays import check, chunked, fewer_examples  # noqa: E402  (behind the skip)

from dnnmove import dask as dd  # noqa: E402


@fewer_examples
@given(chunked(min_dims=0), st.data())
def test_steps_that_arrange_axes(case, data):
    x, lazy, _ = case
    axes = st.integers(-x.ndim, x.ndim - 1)
    several = st.lists(st.integers(0, max(x.ndim - 1, 0)), unique=True, max_size=x.ndim)
    check(dd.squeeze(lazy), dm.squeeze(x))
    ones = tuple(axis for axis in data.draw(several) if x.shape[axis] == 1)
    check(dd.squeeze(lazy, ones), np.squeeze(x, ones))
    check(dd.expand_dims(lazy, (0, -1)), np.expand_dims(x, (0, -1)))
    flipped = tuple(data.draw(several)) if x.ndim else ()
    check(dd.flip(lazy, flipped), dm.flip(x, flipped))
    check(dd.flatten(lazy), x.reshape(-1))
    shift = data.draw(st.integers(-20, 20))
    check(dd.roll(lazy, shift), dm.roll(x, shift))
    if x.ndim:
        a, b = sorted(axis % x.ndim for axis in (data.draw(axes), data.draw(axes)))
        check(dd.swapaxes(lazy, a - x.ndim, b), np.swapaxes(x, a, b).copy())
        check(dd.moveaxis(lazy, a, b - x.ndim), np.moveaxis(x, a, b).copy())
        check(dd.roll(lazy, (shift, 3, -1), (a, b, a)), dm.roll(x, (shift, 3, -1), (a, b, a)))
        check(dd.roll(lazy, shift, b), dm.roll(x, shift, b))
        check(dd.flatten(lazy, a, b), dm.flatten(x, a, b))
        names = [f"n{axis}" for axis in range(x.ndim)]
        order = data.draw(st.permutations(names))
        merged = [
            " ".join(order),
            f"({order[0]}) {' '.join(order[1:])}",
            f"({' '.join(order)})",
            f"1 {' '.join(order)}",
        ]
        pattern = f"{' '.join(names)} -> {data.draw(st.sampled_from(merged))}"
        check(dd.rearrange(lazy, pattern, n0=x.shape[0]), dm.rearrange(x, pattern))
        check(dd.rearrange(lazy, f"{names[0]} ... -> ... {names[0]}"), dm.rearrange(x, "a ... -> ... a"))
        check(
            dd.repeat(lazy, f"{names[0]} ... -> r ({names[0]} s) ...", r=2, s=3), dm.repeat(x, "a ... -> 2 (a 3) ...")
        )


@fewer_examples
@given(chunked(divisible=True), st.data())
def test_steps_that_regroup_elements(case, data):
    x, lazy, axis = case
    length = x.shape[axis]
    at = axis - x.ndim * data.draw(st.integers(0, 1))
    size = data.draw(some.divisors(length))
    for sizes in ((size, -1), (-1, size), (length // size, size, 1)):
        if length or -1 not in sizes:
            check(dd.unflatten(lazy, at, sizes), dm.unflatten(x, axis, sizes))
    places = data.draw(st.lists(st.integers(-length, length - 1), max_size=9)) if length else []
    check(dd.take(lazy, places, at), dm.take(x, places, axis))
    each = data.draw(st.lists(st.integers(0, 3), min_size=length, max_size=length))
    check(dd.repeat_elements(lazy, each, at), dm.repeat_elements(x, each, axis))
    check(dd.repeat_elements(lazy, 3, at), dm.repeat_elements(x, 3, axis))
    reps = data.draw(st.lists(st.integers(0, 2), max_size=x.ndim + 1))
    check(dd.tile(lazy, reps), dm.tile(x, reps))
    if length:
        window = data.draw(st.integers(1, length))
        check(dd.unfold(lazy, at, window, 2), dm.unfold(x, axis, window, 2))


@fewer_examples
@given(st.sampled_from([1, 2, 3]), st.data())
def test_steps_on_images(block, data):
    n, c, h, w = (data.draw(st.integers(0, 3)) for _ in range(4))
    cut = st.integers(1, 5)

    def lazy(x):
        return da.from_array(x, chunks=tuple(data.draw(cut) for _ in x.shape))

    deep = some.dense((n, c * block**2, h, w), "i4")
    for name, arguments in (("pixel_shuffle", ()), ("depth_to_space", ("DCR",)), ("depth_to_space", ("CRD",))):
        check(getattr(dd, name)(lazy(deep), block, *arguments), getattr(dm, name)(deep, block, *arguments))
    wide = some.dense((n, c, h * block, w * block), "i4")
    for name in ("pixel_unshuffle", "space_to_depth"):
        check(getattr(dd, name)(lazy(wide), block), getattr(dm, name)(wide, block))


@fewer_examples
@given(chunked(divisible=True), st.data())
def test_shuffles(case, data):
    x, lazy, axis = case
    size = data.draw(some.divisors(x.shape[axis]))
    at = data.draw(st.sampled_from([axis, axis - x.ndim]))
    check(dd.shuffle(lazy, at, size), oracle.shuffle(x, axis, size))
    check(dd.shuffle_backward(lazy, at, size), oracle.shuffle_backward(x, axis, size))
    check(dd.shuffle_channels(lazy, at, size), oracle.shuffle_channels(x, axis, size))


@fewer_examples
@given(chunked(min_dims=0), st.data())
def test_transpose(case, data):
    x, lazy, _ = case
    order = data.draw(st.permutations(range(x.ndim)))
    result = dd.transpose(lazy, [axis - x.ndim * data.draw(st.integers(0, 1)) for axis in order])
    check(result, oracle.transpose(x, order))
    check(dd.transpose(lazy), oracle.transpose(x))
    assert result.chunks == tuple(lazy.chunks[axis] for axis in order)


@fewer_examples
@given(chunked(divisible=True), st.data())
def test_splits(case, data):
    x, lazy, axis = case
    lengths = data.draw(some.split_lengths(x.shape[axis]))
    at = data.draw(st.sampled_from([axis, np.array([axis - x.ndim])]))
    parts = dd.variadic_split(lazy, at, lengths)
    for part, expected in zip(parts, oracle.variadic_split(x, axis, lengths), strict=True):
        check(part, expected)
    count = data.draw(some.divisors(x.shape[axis]))
    for part, expected in zip(dd.split(lazy, at, count), oracle.split(x, axis, count), strict=True):
        check(part, expected)


@fewer_examples
@given(chunked(min_dims=0), st.data())
def test_broadcast(case, data):
    x, lazy, _ = case
    grow = st.integers(0, 4)
    keep = [data.draw(grow) if length == 1 else length for length in x.shape]
    target = [*data.draw(st.lists(grow, max_size=2)), *keep]
    check(dd.broadcast(lazy, target), oracle.broadcast(x, target))
    places = sorted(data.draw(st.permutations(range(x.ndim + 1)))[: x.ndim])
    target = [data.draw(grow) for _ in range(x.ndim + 1)]
    for axis, length in zip(places, keep, strict=True):
        target[axis] = length
    result = dd.broadcast(lazy, np.array(target, int), places, "EXPLICIT")
    check(result, oracle.broadcast(x, target, places, "explicit"))
    ones = [data.draw(st.sampled_from([1, length])) for length in x.shape]
    check(dd.broadcast(lazy, [2, *ones], mode="bidirectional"), oracle.broadcast(x, [2, *ones], mode="bidirectional"))


@fewer_examples
@given(chunked(min_dims=0), st.data())
def test_stack(case, data):
    x, lazy, _ = case
    axis = data.draw(st.integers(-x.ndim - 1, x.ndim))
    again = lazy.rechunk({0: -1}) if x.ndim and 0 not in x.shape else lazy
    check(dd.stack([lazy, again, lazy], axis), dm.stack([x, x, x], axis))
    check(dd.stack((lazy,), axis), dm.stack([x], axis))


@fewer_examples
@given(chunked(), st.data())
def test_concat(case, data):
    x, lazy, _ = case
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    again = lazy.rechunk({0: -1}) if 0 not in x.shape else lazy
    check(dd.concat([lazy, again, lazy], axis), oracle.concat([x, x, x], axis))
    check(dd.concat((lazy,), axis), x)


X = np.zeros((4, 6, 3), "f4")
LAZY = da.from_array(X, chunks=2)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("shuffle", (3, 2)),
        ("shuffle", (1, 4)),
        ("shuffle", (1.0, 2)),
        ("shuffle", (1, True)),
        ("shuffle_backward", (0, 3)),
        ("shuffle_channels", (1, 0)),
        ("shuffle_channels", (-4, 1)),
        ("transpose", ((0, 1),)),
        ("transpose", ((0, 1, 1),)),
        ("transpose", (1.5,)),
        ("variadic_split", (1, [1, 2])),
        ("variadic_split", (1, [-1, 8])),
        ("variadic_split", (1, [-1, -1])),
        ("variadic_split", (3, [1])),
        ("variadic_split", ([0, 1], [1])),
        ("variadic_split", (1, 6)),
        ("split", (1, 4)),
        ("split", (0, 0)),
        ("split", (0, 2.0)),
        ("broadcast", ((6, 3),)),
        ("broadcast", ((4, 6, 5),)),
        ("broadcast", ((4, 6, 3), (0, 1, 2))),
        ("broadcast", ((4, 6, 3), None, "explicit")),
        ("broadcast", ((4, 6, 3), (0, 2, 1), "explicit")),
        ("broadcast", ((4, 6, 3), None, "wrong")),
        ("broadcast", ((-1, 6, 3),)),
        ("squeeze", (0,)),
        ("squeeze", (3,)),
        ("expand_dims", ((0, 0),)),
        ("moveaxis", (0, (1, 2))),
        ("swapaxes", (0, 3)),
        ("flatten", (2, 1)),
        ("unflatten", (1, (4, -1))),
        ("flip", ((0, 0),)),
        ("roll", (1.5, 0)),
        ("roll", ((1, 2), (0, 1, 2))),
        ("rearrange", ("a b -> b a",)),
        ("repeat", ("a b c -> a b c d",)),
        ("tile", ((-1,),)),
        ("repeat_elements", ((1, 2), 0)),
        ("take", ((6,), 1)),
        ("unfold", (0, 5)),
        ("pixel_shuffle", (3,)),
        ("pixel_unshuffle", (2,)),
        ("space_to_depth", (0,)),
        ("depth_to_space", (2, "ABC")),
        ("pad", (-1,)),
        ("pad", (((1, 2), (3, 4)),)),
        ("pad", ({3: 1},)),
        ("pad", (1, "mean")),
        ("pad", (1, "edge", 3)),
        ("pad", (1, "constant", 0.1)),
        ("convert", ("float64",)),
        ("convert", ("uint8", 1, None, 3)),
        ("convert", ("uint8", [1, 2])),
        ("convert", ("uint8", [1, 2], None, 0)),
        ("convert", ("uint8", None, [[1, 2, 3]], 2)),
        ("convert", ("uint8", "two")),
        ("permute_dims", ((0, 1),)),
        ("permute_dims", (1.5,)),
        ("broadcast_to", ((6, 3),)),
        ("broadcast_to", ((-1, 6, 3),)),
        ("unstack", (3,)),
        ("unstack", (1.0,)),
    ],
)
def test_errors_are_those_of_the_eager_functions(name, arguments):
    with pytest.raises((TypeError, ValueError, IndexError)) as eager:
        getattr(dm, name)(X, *arguments)
    with pytest.raises(type(eager.value)) as lazy:
        getattr(dd, name)(LAZY, *arguments)
    assert str(lazy.value) == str(eager.value)
    assert type(lazy.value) is type(eager.value)


def test_other_errors(errors_name):
    for bad in ([X, X[:3]], [X, X.astype("f8")], [X, X[0]], []):
        with pytest.raises((TypeError, ValueError)) as eager:
            dm.concat(bad, 1)
        errors_name(type(eager.value), lambda bad=bad: dd.concat(list(map(da.from_array, bad)), 1), str(eager.value))
        with pytest.raises((TypeError, ValueError)) as eager:
            dm.stack(bad, 1)
        errors_name(type(eager.value), lambda bad=bad: dd.stack(list(map(da.from_array, bad)), 1), str(eager.value))
    errors_name(TypeError, lambda: dd.transpose(X), "data must be a dask array, not ndarray", "from_array")
    errors_name(TypeError, lambda: dd.shuffle_backward(X, 0, 2), "diff_dst must be a dask array")
    errors_name(TypeError, lambda: dd.concat(LAZY), "arrays must be a sequence")
    errors_name(TypeError, lambda: dd.stack(LAZY), "arrays must be a sequence")
    errors_name(np.exceptions.AxisError, lambda: dd.stack([LAZY], 5), "axis (5)")
    errors_name(TypeError, lambda: dd.concat([LAZY, X]), "arrays[1] must be a dask array")
    masked = da.ma.masked_array(LAZY)
    errors_name(TypeError, lambda: dd.transpose(masked), "NumPy arrays as its blocks, not MaskedArray")
    objects = da.from_array(np.array([{}]), chunks=1)
    errors_name(TypeError, lambda: dd.transpose(objects), "data has dtype object")

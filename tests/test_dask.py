"""dnnmove.dask against NumPy on random chunks; its errors, its graphs, and a cluster that loses a worker."""

import os
import signal
import time

import ml_dtypes
import numpy as np
import oracle
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_same

import dnnmove as dm

da = pytest.importorskip("dask.array")

import dask  # noqa: E402  (behind the skip)
from dask.base import key_split  # noqa: E402

from dnnmove import dask as dd  # noqa: E402

DTYPES = [
    np.dtype(t) for t in (some.NESTED, "?", "u1", "f2", "i4", "f8", "c16", "M8[ns]", "S5", ">i4", ml_dtypes.bfloat16)
]


@st.composite
def chunked(draw, min_dims=1, divisible=False):
    """An array, and the same as a dask array of any chunks, empty ones among them."""
    shape = draw(some.shapes(min_dims, 4, max_elements=300))
    axis = 0
    if divisible:
        shape, axis = draw(some.composite_axis(shape))
    x = some.dense(shape, draw(st.sampled_from(DTYPES)), draw(st.integers(0, 99)))
    chunks = []
    for length in shape:
        cuts = sorted(draw(st.lists(st.integers(0, length), max_size=3)))
        chunks.append(tuple(b - a for a, b in zip([0, *cuts], [*cuts, length], strict=True)))
    return x, da.from_array(x, chunks=tuple(chunks)), axis


def check(lazy, expected):
    """Dask's promises before it computes, and the bits after."""
    assert isinstance(lazy, da.Array)
    assert lazy.shape == expected.shape
    assert lazy.dtype == expected.dtype
    assert (type(lazy._meta), lazy._meta.ndim, lazy._meta.dtype) == (np.ndarray, expected.ndim, expected.dtype)
    for block, size in zip(lazy.to_delayed().ravel()[:1], [tuple(c[0] for c in lazy.chunks)], strict=False):
        assert block.compute(scheduler="sync").shape == size
    assert_same(np.asarray(lazy.compute(scheduler="threads", num_workers=2)), expected)


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


@given(chunked(divisible=True), st.data())
def test_shuffles(case, data):
    x, lazy, axis = case
    size = data.draw(some.divisors(x.shape[axis]))
    at = data.draw(st.sampled_from([axis, axis - x.ndim]))
    check(dd.shuffle(lazy, at, size), oracle.shuffle(x, axis, size))
    check(dd.shuffle_backward(lazy, at, size), oracle.shuffle_backward(x, axis, size))
    check(dd.shuffle_channels(lazy, at, size), oracle.shuffle_channels(x, axis, size))


@given(chunked(min_dims=0), st.data())
def test_transpose(case, data):
    x, lazy, _ = case
    order = data.draw(st.permutations(range(x.ndim)))
    result = dd.transpose(lazy, [axis - x.ndim * data.draw(st.integers(0, 1)) for axis in order])
    check(result, oracle.transpose(x, order))
    check(dd.transpose(lazy), oracle.transpose(x))
    assert result.chunks == tuple(lazy.chunks[axis] for axis in order)


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


@given(chunked(min_dims=0), st.data())
def test_stack(case, data):
    x, lazy, _ = case
    axis = data.draw(st.integers(-x.ndim - 1, x.ndim))
    again = lazy.rechunk({0: -1}) if x.ndim and 0 not in x.shape else lazy
    check(dd.stack([lazy, again, lazy], axis), dm.stack([x, x, x], axis))
    check(dd.stack((lazy,), axis), dm.stack([x], axis))


@given(chunked(), st.data())
def test_concat(case, data):
    x, lazy, _ = case
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    again = lazy.rechunk({0: -1}) if 0 not in x.shape else lazy
    check(dd.concat([lazy, again, lazy], axis), oracle.concat([x, x, x], axis))
    check(dd.concat((lazy,), axis), x)


CHAINS = {
    "movement": lambda c: c.shuffle_channels(1, 2).transpose((0, 2, 1)),
    "axis 0 moves": lambda c: c.transpose((2, 0, 1)),
    "split": lambda c: c.split(1, 2).branch(1).transpose(),
    "merged": lambda c: c.reshape((-1, 3)),
    "merged behind": lambda c: c.transpose((1, 0, 2)).reshape((6, -1)),
    "flipped": lambda c: c.flip(2).index((slice(None), 1)),
    "axis 0 flipped": lambda c: c.flip(0),
    "axis 0 shuffled": lambda c: c.shuffle(0, 2),
    "axis 0 split": lambda c: c.split(0, 2),
    "torn": lambda c: c.reshape((9, -1)),
    "repeated": lambda c: c.tile((2, 1, 1)),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("dtype", ["u1", "f4", ml_dtypes.bfloat16, "?"])
@pytest.mark.parametrize("chunks", [(4, 6, 3), (1, 2, 2), ((3, 0, 1), 5, 3)])
def test_chain(name, dtype, chunks):
    x = some.dense((4, 6, 3), "u1").astype(bool) if dtype == "?" else some.dense((4, 6, 3), dtype)
    steps = CHAINS[name](dm.Chain(dm.MemoryDesc.of(x)))
    mapped = dd.chain(steps if dtype == "u1" else steps.build())
    alone = name in ("movement", "axis 0 moves", "split", "merged", "merged behind", "flipped")
    assert mapped.blockwise == alone, mapped
    expected, result = steps.build()(x), mapped(da.from_array(x, chunks=chunks))
    assert isinstance(result, tuple) == isinstance(expected, tuple)
    parts = zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
    for lazy, right in parts:
        check(lazy, right)


def test_chain_of_another_batch():
    x = some.dense((9, 6, 3), "f4")
    mapped = dd.chain(dm.Chain(dm.MemoryDesc((2, 6, 3), "f4")).shuffle_channels(1, 2).transpose((1, 0, 2)))
    check(mapped(da.from_array(x, chunks=(4, 2, 3))), oracle.transpose(oracle.shuffle_channels(x, 1, 2), (1, 0, 2)))
    unknown = da.from_array(x, chunks=(4, 6, 3))
    unknown = unknown[da.from_array(np.arange(9), chunks=4) % 2 == 0]
    assert_same(mapped(unknown).compute(), mapped(da.from_array(x[::2])).compute())
    assert "block by block" in repr(mapped)


def test_chain_refuses(errors_name):
    md = dm.MemoryDesc((4, 6), "f4")
    mapped, fixed = dd.chain(dm.Chain(md).transpose()), dd.chain(dm.Chain(md).flip(0))
    x = da.zeros((4, 6), dtype="f4")
    errors_name(TypeError, lambda: dd.chain(dm.transpose), "chain must be a Chain")
    errors_name(ValueError, lambda: dd.chain(dm.Chain(dm.MemoryDesc((4, 6), "f4", (1, 4)))), "dense row-major")
    errors_name(TypeError, lambda: mapped(np.zeros((4, 6), "f4")), "x must be a dask array", "ndarray")
    errors_name(TypeError, lambda: mapped(x.astype("f8")), "x must have the dtype float32", "float64")
    errors_name(ValueError, lambda: mapped(x[:, :5]), "x must have the shape (4, 6)", "(4, 5)")
    errors_name(ValueError, lambda: mapped(x[0]), "must have 2 axes")
    errors_name(ValueError, lambda: fixed(x[:3]), "(4, 6)", "(3, 6)", "positions of axis 0")
    errors_name(ValueError, lambda: fixed(x[x[:, 0] == 0]), "x.shape[0] must be known", "compute_chunk_sizes")
    scalar = dd.chain(dm.Chain(dm.MemoryDesc((), "f4")).broadcast((2,)))
    check(scalar(da.from_array(np.array(3, "f4"))), np.array([3, 3], "f4"))


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


def test_unknown_chunks(errors_name):
    """They stay as they are along axes that nothing touches."""
    x = some.dense((6, 4, 2), "i4")
    unknown = da.from_array(x, chunks=(2, 3, 1))
    unknown = unknown[da.from_array(np.array([1, 0, 1, 1, 0, 0], bool), chunks=2)]
    kept = x[[0, 2, 3]]

    def same(lazy, expected):
        assert np.isnan(lazy.shape[lazy.ndim - 3 if lazy.ndim == 3 else 0]) or np.isnan(lazy.shape).any()
        assert_same(lazy.compute(), expected)

    same(dd.shuffle_channels(unknown, 1, 2), oracle.shuffle_channels(kept, 1, 2))
    same(dd.transpose(unknown, (1, 0, 2)), oracle.transpose(kept, (1, 0, 2)))
    for part, expected in zip(dd.split(unknown, 1, 2), oracle.split(kept, 1, 2), strict=True):
        same(part, expected)
    same(dd.variadic_split(unknown, -1, [1, -1])[1], kept[:, :, 1:].copy())
    same(dd.concat([unknown, unknown]), np.concatenate([kept, kept]))
    same(dd.concat([unknown], 1), kept)
    same(dd.flip(unknown), np.flip(kept).copy())
    same(dd.roll(unknown, 1, (1, 2)), dm.roll(kept, 1, (1, 2)))
    same(dd.take(unknown, [3, 0], 1), kept[:, [3, 0]])
    same(dd.repeat_elements(unknown, 2, 0), np.repeat(kept, 2, 0))
    same(dd.flatten(unknown), kept.reshape(-1))
    same(dd.rearrange(unknown, "n (a b) c -> n c b a", a=2), dm.rearrange(kept, "n (a b) c -> n c b a", a=2))
    for call in (
        lambda: dd.squeeze(unknown),
        lambda: dd.squeeze(unknown, 0),
        lambda: dd.roll(unknown, 1),
        lambda: dd.roll(unknown, 1, 0),
        lambda: dd.take(unknown, [2], 0),
        lambda: dd.unfold(unknown, 0, 2),
        lambda: dd.unflatten(unknown, 0, (3, -1)),
        lambda: dd.rearrange(unknown, "(n m) a b -> n m a b", m=3),
        lambda: dd.shuffle(unknown, 0, 1),
        lambda: dd.split(unknown, 0, 3),
        lambda: dd.variadic_split(unknown, 0, [3]),
        lambda: dd.broadcast(unknown, (3, 4, 2)),
    ):
        errors_name(ValueError, call, "data.shape[0] must be known", "compute_chunk_sizes()")
    errors_name(ValueError, lambda: dd.concat([unknown, unknown], 1), "arrays[0].shape[0] must be known")
    errors_name(ValueError, lambda: dd.concat([unknown, LAZY.astype("i4")[:, :4, :2]], 1), "arrays[0].shape[0] must")
    errors_name(np.exceptions.AxisError, lambda: dd.split(unknown, 5, 3), "axis (5)")
    errors_name(np.exceptions.AxisError, lambda: dd.flip(unknown, 5), "axis (5)")


def test_nothing_runs_before_it_is_asked_for():
    def explode(block):
        raise AssertionError("computed")

    x = LAZY.map_blocks(explode, dtype="f4", meta=np.empty((0, 0, 0), "f4"))
    for lazy in (
        dd.shuffle(x, 1, 2),
        dd.transpose(x),
        *dd.split(x, 0, 2),
        dd.broadcast(x, (2, 4, 6, 3)),
        dd.concat([x, x]),
        dd.flip(x),
        dd.roll(x, 1, 0),
        dd.rearrange(x, "a b c -> (c a) b"),
        dd.chain(dm.Chain(dm.MemoryDesc((4, 6, 3), "f4")).transpose())(x),
    ):
        assert isinstance(lazy, da.Array)


def test_only_the_axis_that_must_be_whole_is_rechunked():
    x = da.zeros((8, 12, 6), chunks=(2, 5, 4))
    assert dd.shuffle_channels(x, 1, 3).chunks == ((2, 2, 2, 2), (12,), (4, 2))
    assert dd.transpose(x).chunks == x.chunks[::-1]
    assert dd.variadic_split(x, 1, [4, 8])[1].chunks == ((2, 2, 2, 2), (1, 5, 2), (4, 2))
    assert dd.concat([x, x], 2).chunks == ((2, 2, 2, 2), (5, 5, 2), (4, 2, 4, 2))
    assert dd.broadcast(x, (3, 8, 12, 6)).chunks[1:] == x.chunks
    assert dd.flip(x, 1).chunks == ((2, 2, 2, 2), (2, 5, 5), (4, 2))
    assert dd.unflatten(x, 0, (4, 2)).chunks == ((1, 1, 1, 1), (2,), (5, 5, 2), (4, 2))
    assert dd.unflatten(x, 1, (3, 4)).chunks == ((2, 2, 2, 2), (3,), (4,), (4, 2))
    assert dd.flatten(x, 0, 1).chunks == ((24, 24, 24, 24), (4, 2))
    assert dd.rearrange(x, "a (b c) d -> d b (a c)", b=3).chunks == ((4, 2), (3,), (32,))
    assert dd.repeat_elements(x, 2, 1).chunks == ((2, 2, 2, 2), (10, 10, 4), (4, 2))
    assert dd.pixel_unshuffle(x, 2).chunks == ((32,), (6,), (2, 1))
    big = da.zeros((2000, 1), chunks=500)
    assert max(dd.broadcast(big, (2000, 10**6)).chunks[1]) < 10**6  # dask's limit for a chunk


def test_tasks_have_names():
    mapped = dd.chain(dm.Chain(dm.MemoryDesc((4, 6, 3), "f4")).transpose())
    for lazy, name in (
        (dd.shuffle(LAZY, 0, 2), "dnnmove-shuffle"),
        (dd.transpose(LAZY), "dnnmove-transpose"),
        (dd.split(LAZY, 0, 2)[0], "dnnmove-split"),
        (dd.broadcast(LAZY, (2, 4, 6, 3)), "dnnmove-broadcast"),
        (dd.concat([LAZY]), "dnnmove-concat"),
        (dd.flip(LAZY), "dnnmove-flip"),
        (dd.stack([LAZY]), "dnnmove-stack"),
        (dd.roll(LAZY, 1, 0), "dnnmove-roll"),
        (dd.rearrange(LAZY, "a b c -> c b a"), "dnnmove-rearrange"),
        (mapped(LAZY), "dnnmove-chain"),
    ):
        assert key_split(lazy.name) == name
    assert dd.transpose(LAZY).name == dd.transpose(LAZY).name != dd.transpose(LAZY, (0, 2, 1)).name
    assert mapped(LAZY).name == mapped(LAZY).name


def test_one_thread_a_task():
    seen = []

    def look(block):
        with dm.profile() as p:
            result = dd._blocks.moved(block, "transpose", {})
        seen.append(len(p.records))
        return result

    before = dm.get_num_threads()
    assert look(np.zeros((4, 5), "f4")).shape == (5, 4)
    assert seen == [1]
    assert dm.get_num_threads() == before


def test_results_may_be_written_to():
    x = np.arange(6)
    lazy = da.from_array(x, chunks=6)
    for result in (
        dd.concat([lazy]),
        *dd.split(lazy, 0, 1),
        dd.broadcast(lazy, (6,)),
        dd.transpose(lazy),
        dd.shuffle(lazy, 0, 1),
        dd.roll(lazy, 0, 0),
        dd.flip(lazy, ()),
        dd.squeeze(lazy),
        dd.tile(lazy, 1),
    ):
        result.compute(scheduler="sync")[:] = -1
    assert x.tolist() == list(range(6))


def test_without_dask(run_python):
    program = """
import sys
sys.modules["dask.array"] = None
try:
    import dnnmove.dask
except ImportError as error:
    print(error)
"""
    assert run_python(program) == "dnnmove.dask needs dask: pip install dnnmove[dask]\n"


def slow_rows(block, seconds):
    time.sleep(seconds)
    return block


def worker_pids(client):
    return client.run(os.getpid)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # distributed's own, about the worker that dies here
def test_a_cluster_that_loses_a_worker():
    """Two processes, one of which is killed while it works: dask computes what was lost anew."""
    distributed = pytest.importorskip("distributed")
    x = np.arange(48 * 12 * 5, dtype="f4").reshape(48, 12, 5)
    expected = oracle.transpose(oracle.shuffle_channels(x, 1, 3), (2, 0, 1))
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "20s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        lazy = da.from_array(x, chunks=(2, 5, 5)).map_blocks(slow_rows, 0.1, dtype="f4")
        future = client.compute(dd.transpose(dd.shuffle_channels(lazy, 1, 3), (2, 0, 1)))
        time.sleep(1.0)
        assert not future.done()
        os.kill(next(iter(worker_pids(client).values())), signal.SIGKILL)
        assert_same(future.result(timeout=25), expected)
        chain = dd.chain(dm.Chain(dm.MemoryDesc((2, 12, 5), "f4")).split(1, 2).transpose())
        for part, right in zip(
            client.gather(client.compute(chain(da.from_array(x, chunks=5)))), np.split(x, 2, 1), strict=True
        ):
            assert_same(part, right.T.copy())

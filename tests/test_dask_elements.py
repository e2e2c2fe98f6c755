"""pad, convert and byteswap over dask arrays, and the array API's names, against NumPy on random chunks."""

import pickle

import ml_dtypes
import numpy as np
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_same

import dnnmove as dm

da = pytest.importorskip("dask.array")

import dask  # noqa: E402  (behind the skip)
from chunked_arrays import check, chunked, fewer_examples  # noqa: E402
from dask.base import key_split  # noqa: E402

from dnnmove import dask as dd  # noqa: E402

NUMBERS = [np.dtype(t) for t in ("u1", "i1", "i4", "f4", "f2", ml_dtypes.bfloat16)]
MODES = ["constant", "edge", "reflect", "wrap"]
IMAGES = da.zeros((8, 12, 6), chunks=(2, 5, 4), dtype="f4")


def padded(x, widths, mode):
    """NumPy's answer by places, so that every dtype goes: -1 is a new element, of zero bytes."""
    places = np.arange(x.size).reshape(x.shape)
    moved = np.pad(places, widths, mode, **({"constant_values": -1} if mode == "constant" else {}))
    opaque = x.view(np.dtype((np.void, x.itemsize))).reshape(-1)
    return np.asarray(np.append(opaque, np.zeros(1, opaque.dtype))[moved]).view(x.dtype)


@fewer_examples
@given(chunked(min_dims=0), st.sampled_from(MODES), st.data())
def test_pad(case, mode, data):
    x, lazy, _ = case
    mode = mode if x.size else "constant"
    width = st.integers(0, 9 if x.ndim < 3 else 2)
    widths = [(data.draw(width), data.draw(width)) for _ in range(x.ndim)]
    with dask.config.set({"array.chunk-size": data.draw(st.sampled_from(["128MiB", "1B"]))}):
        check(dd.pad(lazy, widths or 3, mode), padded(x, widths or 3, mode))
        check(dd.pad(lazy, 2, mode), padded(x, 2, mode))
        check(dd.pad(lazy, (1, 3), mode), padded(x, (1, 3), mode))
        if x.ndim:
            one = [(0, 0)] * (x.ndim - 1) + [widths[-1]]
            check(dd.pad(lazy, {-1: widths[-1]}, mode), padded(x, one, mode))
        else:
            check(dd.pad(lazy, (), mode), x)


@pytest.mark.parametrize(("dtype", "value"), [("u1", 7), ("f4", -0.0), ("M8[s]", np.datetime64("2020-02-03T04:05:06"))])
def test_pad_with_a_constant(dtype, value):
    x = some.dense((5, 4), dtype)
    expected = np.full((10, 4), np.array(value, dtype), dtype)
    expected[2:7] = x
    for size in ("128MiB", "1B"):
        with dask.config.set({"array.chunk-size": size}):
            check(dd.pad(da.from_array(x, chunks=(2, 3)), {0: (2, 3)}, constant_value=value), expected)


def test_only_the_outer_chunks_of_a_pad_move():
    """The graph says what each block of the result reads: inner blocks are handed on, not copied."""
    for mode, reads in (("constant", 1), ("edge", 1), ("reflect", 1), ("wrap", 3)):
        y = dd.pad(IMAGES, {1: (3, 1)}, mode)
        assert y.chunks == ((2, 2, 2, 2), (8, 5, 3), (4, 2)), mode
        layer = y.dask.layers[y.name]
        for key, task in y.dask.to_dict().items():
            if key in layer and key[2] == 1:
                assert task == (IMAGES.name, *key[1:]), mode
        first = y.dask.cull({(y.name, 0, 0, 0)})
        assert sum(key[0] == IMAGES.name for key in first.to_dict()) == reads, mode


def test_a_pad_wider_than_the_outer_chunk():
    assert dd.pad(IMAGES, {1: (7, 0)}, "reflect").chunks[1] == (12, 5, 2)
    assert dd.pad(IMAGES, {1: (12, 0)}, "wrap").chunks == ((2, 2, 2, 2), (24,), (4, 2))  # needs the axis more than once
    with dask.config.set({"array.chunk-size": "1kB"}):
        assert dd.pad(IMAGES, {1: (40, 2)}).chunks[1] == (26, 14, 5, 5, 4)
        assert dd.pad(IMAGES, {2: (0, 4)}, "edge").chunks[2] == (4, 6)


def test_all_axes_of_a_pad_at_once():
    """Where images are whole in their chunks, each is one task and one trip through memory."""
    images = da.zeros((6, 5, 5, 3), chunks=(2, -1, -1, -1))
    for mode in MODES:
        y = dd.pad(images, ((0, 0), (2, 2), (2, 2), (0, 0)), mode)
        assert len(y.dask.layers[y.name]) == 3, mode
        assert set(y.dask.layers) == {y.name, *images.dask.layers}, mode


def ordinary(x):
    """Numbers of which no NaN comes, whose bits are open."""
    return np.where(np.isfinite(x.astype("f4")), x, x.dtype.type(1))


@fewer_examples
@given(chunked(), st.sampled_from(NUMBERS), st.sampled_from(NUMBERS), st.data())
def test_convert(case, source, target, data):
    _, lazy, _ = case
    x = ordinary(some.dense(lazy.shape, source, data.draw(st.integers(0, 99))))
    lazy = da.from_array(x, chunks=lazy.chunks)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    factors = np.linspace(-2, 3, x.shape[axis])
    check(dd.convert(lazy, target), dm.convert(x, target))
    check(dd.convert(lazy, target, 0.5, shift=-3), dm.convert(x, target, 0.5, -3))
    check(dd.convert(lazy, target, factors, axis=axis), dm.convert(x, target, factors, axis=axis))
    check(dd.convert(lazy, target, 2, list(factors), axis), dm.convert(x, target, 2, factors, axis))
    check(dd.convert(lazy, target, factors, -factors, axis), dm.convert(x, target, factors, -factors, axis))


@fewer_examples
@given(chunked(min_dims=0))
def test_byteswap(case):
    x, lazy, _ = case
    check(dd.byteswap(lazy), dm.byteswap(x))
    check(dd.byteswap(dd.byteswap(lazy)), x)


@fewer_examples
@given(chunked(), st.data())
def test_names_of_the_array_api(case, data):
    x, lazy, _ = case
    order = data.draw(st.permutations(range(x.ndim)))
    check(dd.permute_dims(lazy, order), dm.permute_dims(x, order))
    check(dd.broadcast_to(lazy, (2, *x.shape)), dm.broadcast_to(x, (2, *x.shape)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    for part, expected in zip(dd.unstack(lazy, axis), dm.unstack(x, axis), strict=True):
        check(part, expected)


CHAINS = {
    "pad": lambda c: c.transpose((0, 2, 1)).pad({1: (1, 2)}, "reflect"),
    "axis 0 padded": lambda c: c.pad(1, "edge"),
    "byteswap": lambda c: c.byteswap().transpose((2, 0, 1)),
    "convert": lambda c: c.shuffle_channels(1, 2).pad({2: 1}).convert("float16", 0.5, [1, 2, 3, 4, 5], axis=2),
    "both": lambda c: c.byteswap().split(1, 2).convert("bfloat16"),
    "axis 0 scaled": lambda c: c.convert("bfloat16", [1, 2, 3, 4], axis=0),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("chunks", [(4, 6, 3), (1, 2, 2), ((3, 0, 1), 5, 3)])
def test_chain(name, chunks):
    x = ordinary(some.dense((4, 6, 3), "f4")).astype(">f4" if name in ("byteswap", "both") else "f4")
    steps = CHAINS[name](dm.Chain.of(x))
    mapped = dd.chain(steps)
    assert mapped.blockwise == (not name.startswith("axis 0")), mapped
    expected, result = steps.build()(x), mapped(da.from_array(x, chunks=chunks))
    parts = zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
    for lazy, right in parts:
        check(lazy, right)


@pytest.mark.parametrize("target", NUMBERS, ids=str)
@pytest.mark.parametrize("source", NUMBERS, ids=str)
def test_a_chain_that_converts_stays_block_by_block(source, target):
    """Whatever numbers the chain is tried with: which NaN comes out is open, and no sign of another place."""
    for length in (1, 7, 33, 130):
        desc = dm.MemoryDesc((1, length), source)
        for factors in ({}, {"scale": 3.5}, {"scale": 1e38, "shift": -1e38}):
            assert dd.chain(dm.Chain(desc).convert(target, **factors)).blockwise


def test_unknown_chunks(errors_name):
    x = np.arange(24, dtype="f4").reshape(6, 4)
    unknown = da.from_array(x, chunks=(2, 3))
    unknown = unknown[da.from_array(np.array([1, 0, 1, 1, 0, 0], bool), chunks=2)]
    kept = x[[0, 2, 3]]
    assert_same(dd.byteswap(unknown).compute(), dm.byteswap(kept))
    assert_same(
        dd.convert(unknown, "uint8", [1, 2, 3, 4], axis=1).compute(), dm.convert(kept, "uint8", [1, 2, 3, 4], axis=1)
    )
    for widths, mode in ((2, "constant"), ({1: 2}, "edge"), ({1: 3}, "reflect"), ({1: 9}, "wrap")):
        assert_same(dd.pad(unknown, widths, mode).compute(), dm.pad(kept, widths, mode))
    assert_same(dd.unstack(unknown, 1)[2].compute(), kept[:, 2].copy())
    for call in (
        lambda: dd.pad(unknown, 1, "edge"),
        lambda: dd.pad(unknown, 1, "wrap"),
        lambda: dd.convert(unknown, "uint8", [1, 2, 3], axis=0),
    ):
        errors_name(ValueError, call, "data.shape[0] must be known", "compute_chunk_sizes()")
    errors_name(ValueError, lambda: dd.unstack(unknown), "x.shape[0] must be known")
    errors_name(ValueError, lambda: dd.broadcast_to(unknown, (3, 4)), "x.shape[0] must be known")


def test_refusals(errors_name):
    errors_name(TypeError, lambda: dd.pad(np.zeros(3), 1), "data must be a dask array, not ndarray")
    errors_name(TypeError, lambda: dd.unstack(np.zeros(3)), "x must be a dask array, not ndarray")
    factors = da.ones(6)
    errors_name(TypeError, lambda: dd.convert(IMAGES, "uint8", factors, axis=2), "scale must be", "not a dask array")
    errors_name(TypeError, lambda: dd.convert(IMAGES, "uint8", 1, factors, 2), "shift must be", "not a dask array")
    errors_name(ValueError, lambda: dd.pad(da.zeros((0, 3)), 1, "edge"), "cannot pad data.shape[0] (0) in mode 'edge'")


def test_graphs():
    """Lazy, with names that a dashboard can show, one thread to a task, and tasks that can be sent."""

    def explode(block):
        raise AssertionError("computed")

    x = da.from_array(np.arange(24, dtype="i4").reshape(4, 6), chunks=2)
    never = x.map_blocks(explode, dtype="i4", meta=np.empty((0, 0), "i4"))
    seen = []
    plain = dm.num_threads
    for name, call in (
        ("pad", lambda x: dd.pad(x, 1, "edge")),
        ("pad", lambda x: dd.pad(x, 1, "wrap")),
        ("pad", lambda x: dd.pad(x, 0)),
        ("byte-swap", dd.byteswap),
        ("convert", lambda x: dd.convert(x, "float32", [1, 2, 3, 4, 5, 6], axis=1)),
        ("squeeze", lambda x: dd.unstack(x, 1)[0]),
    ):
        assert call(never).dtype == call(x).dtype
        assert key_split(call(x).name) == f"dnnmove-{name}"  # as a dashboard shows it
        assert call(x).name == call(x).name
        assert pickle.loads(pickle.dumps(call(x))).compute().shape == call(x).shape
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dm, "num_threads", lambda count: (seen.append(count), plain(count))[1])
            call(x).compute(scheduler="sync")
        assert set(seen) == {1}, name
        seen.clear()


def test_results_may_be_written_to():
    x = np.arange(6)
    lazy = da.from_array(x, chunks=6)
    for result in (dd.pad(lazy, 0), dd.pad(lazy, 1), dd.pad(lazy, 1, "wrap"), dd.byteswap(lazy), *dd.unstack(lazy)):
        result.compute(scheduler="sync")[...] = -1
    numbers = x.astype("f4")
    dd.convert(da.from_array(numbers, chunks=6), "float32").compute(scheduler="sync")[:] = -1
    assert x.tolist() == numbers.tolist() == list(range(6))

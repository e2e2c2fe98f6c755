"""Shared bytes between `out` and the input: decided exactly, in both directions."""

import functools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import dnnmove as dm


def strided(buffer, start, shape, strides):
    return np.ndarray(shape, np.uint8, buffer, start, strides)


@some.composite
def views(draw):
    """A small view of a buffer of 200 bytes, with any strides that stay inside."""
    shape = draw(some.lists(some.integers(1, 4), min_size=1, max_size=3))
    strides = [draw(some.integers(-12, 12)) for _ in shape]
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    return draw(some.integers(-low, 199 - high)), tuple(shape), tuple(strides)


def bytes_of(view):
    """The offset of each element, by brute force."""
    start, shape, strides = view
    return [start + sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(*shape)]


@settings(max_examples=600, deadline=None)
@given(views(), views())
def test_agrees_with_brute_force(source, target):
    source = source[0], target[1], source[2][: len(target[1])] + (1,) * (len(target[1]) - len(source[2]))
    if not all(0 <= byte < 200 for byte in bytes_of(source)):
        return
    buffer = np.arange(200, dtype=np.uint8)
    data, out = strided(buffer, *source), strided(buffer, *target)
    own = bytes_of(target)
    clash = len(set(own)) < len(own) or bool(set(own) & set(bytes_of(source)))
    before, expected = buffer.copy(), data.copy()
    order = tuple(range(len(target[1])))
    if clash:
        with pytest.raises(ValueError, match="out"):
            dm.transpose(data, order, out=out)
        assert (buffer == before).all()
    else:
        assert dm.transpose(data, order, out=out) is out
        assert (out == expected).all()


def test_interleaved_views_share_nothing():
    buffer = np.arange(20)
    dm.transpose(buffer[::2], out=buffer[1::2])
    assert (buffer[1::2] == np.arange(0, 20, 2)).all()


def test_neighbouring_parts_of_one_array():
    x = np.arange(32).reshape(4, 8)
    whole = np.empty_like(x)
    dm.variadic_split(x, 1, [3, -1], out=(whole[:, :3], whole[:, 3:]))
    assert (whole == x).all()
    with pytest.raises(ValueError, match=r"out\[1\] shares memory with out\[0\]"):
        dm.variadic_split(x, 1, [3, -1], out=(whole[:, :3], whole[:, 2:7]))


def test_intricate_views_end_in_an_answer():
    buffer = np.zeros(10**6, np.uint8)
    shape = (7,) * 9
    strides = (11, 13, 17, 19, 23, 29, 31, 37, 41)
    x = np.lib.stride_tricks.as_strided(buffer, shape, strides)
    with pytest.raises(ValueError, match="out"):
        dm.transpose(np.zeros(shape, np.uint8), out=x)


COLUMNS = 4000


def columns(array):
    return [array[:, i] for i in range(array.shape[1])]


def test_thousands_of_interleaved_outputs():
    # Refused only where two share bytes, whatever their number: decided, not guessed.
    source = np.arange(3 * COLUMNS, dtype="i4").reshape(3, COLUMNS)
    parts = source.reshape(3, COLUMNS, 1)
    whole = np.zeros_like(source)
    outs = [column[:, None] for column in columns(whole)]
    dm.variadic_split(source, 1, [1] * COLUMNS, out=outs)
    assert (whole == source).all()
    prim = dm.VariadicSplit(dm.VariadicSplit.Desc(dm.MemoryDesc.of(source), 1, [1] * COLUMNS))
    apart = [np.empty((3, 1), "i4") for _ in range(COLUMNS)]
    prim(source, out=apart)
    assert all((part == parts[:, i]).all() for i, part in enumerate(apart))
    chain = dm.Chain(dm.MemoryDesc.of(source)).split(1, COLUMNS).build()
    whole[...] = 0
    chain(source, out=outs)
    assert (whole == source).all()


@pytest.mark.parametrize("twice", [(7, 3999), (0, 1)])
def test_one_of_thousands_of_interleaved_outputs_given_twice(twice):
    first, second = twice
    source = np.arange(3 * COLUMNS, dtype="i4").reshape(3, COLUMNS)
    whole = np.zeros_like(source)
    outs = [column[:, None] for column in columns(whole)]
    outs[second] = outs[first]
    with pytest.raises(ValueError, match=rf"out\[{second}\] shares memory with out\[{first}\]"):
        dm.variadic_split(source, 1, [1] * COLUMNS, out=outs)
    with pytest.raises(ValueError, match=rf"out\[{second}\] shares memory with out\[{first}\]"):
        dm.Chain(dm.MemoryDesc.of(source)).split(1, COLUMNS).build()(source, out=outs)
    assert not whole.any()
    outs = [np.zeros((3, 1), "i4") for _ in range(COLUMNS)]
    outs[second] = outs[first]
    prim = dm.VariadicSplit(dm.VariadicSplit.Desc(dm.MemoryDesc.of(source), 1, [1] * COLUMNS))
    with pytest.raises(ValueError, match=rf"out\[{second}\] shares memory with out\[{first}\]"):
        prim(source, out=outs)
    with pytest.raises(ValueError, match=rf"dst\[{second}\] shares memory with dst\[{first}\]"):
        prim.execute(None, {dm.ARG_SRC: source} | {dm.ARG_MULTIPLE_DST + i: out for i, out in enumerate(outs)})
    outs[second] = np.zeros((3, 1), "i4")
    outs[first] = np.lib.stride_tricks.as_strided(source[:, first:], (3, 1), (4, 4))
    with pytest.raises(ValueError, match=rf"out\[{first}\] shares memory with x"):
        prim(source, out=outs)


def test_a_primitive_of_thousands_of_outputs_takes_each_by_its_number():
    source = np.arange(16000, dtype="i4")
    prim = dm.VariadicSplit(dm.VariadicSplit.Desc(dm.MemoryDesc.of(source), 0, [1] * 16000))
    outs = list(np.empty((16000, 1), "i4"))
    prim.execute(None, {dm.ARG_SRC: source} | {dm.ARG_MULTIPLE_DST + i: out for i, out in enumerate(outs)})
    assert (np.concatenate(outs) == source).all()
    with pytest.raises(ValueError, match="unknown argument 18048"):
        prim.execute(None, {dm.ARG_SRC: source, dm.ARG_MULTIPLE_DST + 16000: outs[0]})


@pytest.mark.parametrize("kind", ["primitive", "eager", "chain"])
def test_many_outputs_cost_in_proportion(kind):
    # The thread's own time, at its best: what others do on the machine has little part in it. Comparing each with each
    # takes 64 times as long for eight times as many; what leaves a cache on the way, two or three times its share.
    def seconds(count):
        source = np.arange(3 * count, dtype="i4").reshape(3, count)
        desc = dm.MemoryDesc.of(source)
        if kind == "primitive":  # outputs apart
            call = dm.VariadicSplit(dm.VariadicSplit.Desc(desc, 1, [1] * count))
            outs = [np.empty((3, 1), "i4") for _ in range(count)]
        else:  # columns of one array
            outs = [column[:, None] for column in columns(np.empty_like(source))]
            call = dm.Chain(desc).split(1, count).build()
            if kind == "eager":
                call = functools.partial(dm.split, axis=1, num_splits=count)
        best = float("inf")
        for _ in range(5):
            start = time.thread_time()
            call(source, out=outs)
            best = min(best, time.thread_time() - start)
        return best

    with dm.num_threads(1):
        assert seconds(16000) < 32 * seconds(2000)

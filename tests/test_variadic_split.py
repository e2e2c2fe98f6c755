"""variadic_split and split, eager and as a primitive."""

import numpy as np
import oracle
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_new, assert_same

import dnnmove as dm


@st.composite
def problems(draw):
    data = draw(some.strided(draw(some.shapes(1)), draw(some.dtypes)))
    axis = draw(some.axes(data.array.ndim))
    return data, axis, draw(some.split_lengths(data.array.shape[axis]))


def assert_parts(parts, expected):
    assert type(parts) is tuple
    assert len(parts) == len(expected)
    for part, right in zip(parts, expected, strict=True):
        assert_same(part, right)


@given(problems(), st.data())
def test_any_array(problem, draw):
    data, axis, lengths = problem
    spelled = draw.draw(some.integers_as(lengths)) if lengths else []
    parts = dm.variadic_split(data.array, axis, spelled)
    assert_parts(parts, oracle.variadic_split(data.array, axis, lengths))
    for i, part in enumerate(parts):
        assert_new(part, data.array, *parts[:i])


@given(problems(), st.data())
def test_out_of_any_strides(problem, draw):
    data, axis, lengths = problem
    expected = oracle.variadic_split(data.array, axis, lengths)
    outs = [draw.draw(some.strided(part.shape, part.dtype, zeros=False)) for part in expected]
    buffers = [out.expected_after(part) for out, part in zip(outs, expected, strict=True)]
    given_outs = draw.draw(st.sampled_from([list, tuple]))(out.array for out in outs)
    parts = dm.variadic_split(data.array, axis, lengths, out=given_outs)
    assert all(part is out.array for part, out in zip(parts, outs, strict=True))
    assert [out.buffer.tobytes() for out in outs] == [buffer.tobytes() for buffer in buffers]


@given(problems())
def test_primitive(problem):
    data = np.array(oracle.blocks(problem[0].array), order="C").view(problem[0].array.dtype)
    _, axis, lengths = problem
    try:
        md = dm.MemoryDesc.of(data)
    except (TypeError, ValueError):
        return  # a dtype or rank that oneDNN's objects do not take
    desc = dm.VariadicSplit.Desc(md, axis, lengths)
    cut = dm.VariadicSplit(desc)
    expected = oracle.variadic_split(data, axis, lengths)
    assert [d.dims for d in desc.dst_descs] == [part.shape for part in expected]
    assert_parts(cut(data), expected)
    outs = [np.empty_like(part) for part in expected]
    cut.execute(dm.Stream(), {dm.ARG_SRC: data, **{dm.ARG_MULTIPLE_DST + i: out for i, out in enumerate(outs)}})
    assert_parts(tuple(outs), expected)


@given(problems())
def test_concat_inverts(problem):
    data, axis, lengths = problem
    parts = dm.variadic_split(data.array, axis, lengths)
    if parts:
        assert oracle.raw(dm.concat(parts, axis)) == oracle.raw(data.array)


@given(some.arrays(1), st.data())
def test_split(data, draw):
    axis = draw.draw(some.axes(data.array.ndim))
    count = draw.draw(some.divisors(data.array.shape[axis]))
    assert_parts(dm.split(data.array, axis, count), oracle.split(data.array, axis, count))


@pytest.mark.parametrize("axis", [1, -2, np.int32(1), np.array(1), np.array([1]), np.array([-2], np.int8)])
def test_spellings_of_the_axis(axis):
    data = some.dense((2, 6, 3), "i4")
    assert_parts(dm.variadic_split(data, axis, [1, 2, 3]), oracle.variadic_split(data, 1, [1, 2, 3]))
    cut = dm.VariadicSplit(dm.VariadicSplit.Desc(dm.MemoryDesc.of(data), axis, [1, 2, 3]))
    assert_parts(cut(data), oracle.variadic_split(data, 1, [1, 2, 3]))


@pytest.mark.parametrize(
    ("length", "lengths", "expected"),
    [
        (6, [-1, 2], [4, 2]),
        (6, [2, -1, 4], [2, 0, 4]),
        (6, [0, 6, 0], [0, 6, 0]),
        (6, [6], [6]),
        (6, [-1], [6]),
        (0, [], []),
        (0, [0, 0], [0, 0]),
        (0, [-1], [0]),
    ],
)
def test_lengths(length, lengths, expected):
    data = some.dense((length, 3), "f4")
    parts = dm.variadic_split(data, 0, lengths)
    assert [part.shape for part in parts] == [(n, 3) for n in expected]
    assert_parts(parts, oracle.variadic_split(data, 0, expected))


def test_one_buffer_may_hold_all_outputs():
    data = some.dense((5, 6, 7), "i2")
    buffer = np.zeros((5, 13, 7), "i2")
    outs = [buffer[:, 0:4:2], buffer[:, 1:9:2], buffer[:, 9:9]]
    dm.variadic_split(data, 1, [2, 4, 0], out=outs)
    expected = np.zeros_like(buffer)
    expected[:, 0:4:2], expected[:, 1:9:2] = data[:, :2], data[:, 2:]
    assert_same(buffer, expected)


def test_many_outputs():
    data = some.dense((3, 500, 2), "u2")
    assert_parts(dm.split(data, 1, 500), oracle.split(data, 1, 500))


@pytest.mark.parametrize("num_splits", [2**31, 2**40, 2**62])
def test_an_empty_axis_is_not_split_without_end(num_splits):
    with pytest.raises(ValueError, match=rf"num_splits \({num_splits}\) must be at most .*data.shape\[0\] \(0\)"):
        dm.split(np.empty((0, 3)), 0, num_splits)


@pytest.mark.parametrize(
    ("shape", "dtype", "axis", "lengths"),
    [
        ((8, 116, 56, 56), "f4", 1, [58, 58]),
        ((56, 56, 1001), "u1", 2, [333, 1, -1]),
        ((100, 100, 3, 40), "i2", 2, [1, 1, 1]),
        ((1 << 20, 3), "f4", 1, [1, 2]),
        ((2000, 300), "V5", 0, [1, 1234, -1]),
        ((32, 116, 56, 56), "f4", 1, [58, 58]),  # 46 MB
        ((64, 56, 56, 180), "u1", 3, [90, 30, 60]),  # 36 MB
    ],
)
def test_large(shape, dtype, axis, lengths):
    data = some.dense(shape, dtype)
    expected = oracle.variadic_split(data, axis, lengths)
    assert_parts(dm.variadic_split(data, axis, lengths), expected)
    outs = [np.zeros((*part.shape[:-1], 2 * part.shape[-1]), dtype)[..., ::2] for part in expected]
    dm.variadic_split(data, axis, lengths, out=outs)
    for out, part in zip(outs, expected, strict=True):
        assert oracle.raw(out) == oracle.raw(part)


MANY_PARTS = [
    ((5000, 3), "f4", (1, 1, 1)),
    ((5001, 3), "i1", (1, 1, 1)),
    ((3000, 4), "f4", (1, 2, 1)),
    ((3000, 8), "f4", (1, 1, 1, 5)),
    ((70, 64), "f4", (1,) * 64),
    ((1000, 64), "i1", (1,) * 64),
    ((500, 640), "i2", (10,) * 64),
    ((300, 100), "f4", (7, 0, 1, 1, 1, 1, 24, 0, 13, 16, 1, 35)),
    ((200, 310), "i1", (13, 19, 16, 31, 31, 60, 120, 0, 20)),
    ((65, 600), "c16", (1,) * 600),
]


@pytest.mark.parametrize(("shape", "dtype", "lengths"), MANY_PARTS)
@pytest.mark.parametrize("threads", [1, 2])
def test_narrow_parts_into_outputs_of_any_alignment(shape, dtype, lengths, threads):
    rows, itemsize = shape[0], np.dtype(dtype).itemsize
    data = some.dense(shape, dtype)
    expected = oracle.variadic_split(data, 1, lengths)
    for misaligned in (False, True):
        buffers, outs = [], []
        for k, length in enumerate(lengths):
            shift = itemsize * (5 * k % 7) if misaligned else 0
            buffers.append(np.full(rows * length * itemsize + 256, 0xAB, np.uint8))
            start = -buffers[-1].ctypes.data % 64 + 64 + shift
            outs.append(buffers[-1][start : start + rows * length * itemsize].view(dtype).reshape(rows, length))
        with dm.num_threads(threads):
            dm.variadic_split(data, 1, lengths, out=outs)
            back = dm.concat(outs, 1)
        for result, part, buffer in zip(outs, expected, buffers, strict=True):
            assert_same(result, part)
            assert np.count_nonzero(buffer != 0xAB) <= result.nbytes  # nothing around it was written
        assert_same(back, data)


def test_narrow_parts_into_outputs_of_different_strides():
    data = some.dense((400, 12), "f4")
    wide = np.zeros((400, 5), "f4")
    outs = [np.empty((400, 3), "f4"), wide[:, :3], np.empty((400, 3), "f4")[::-1], np.empty((3, 400), "f4").T]
    dm.variadic_split(data, 1, (3, 3, 3, 3), out=outs)
    for result, part in zip(outs, oracle.variadic_split(data, 1, (3, 3, 3, 3)), strict=True):
        np.testing.assert_array_equal(result.view("i4"), part.view("i4"))
    assert not wide[:, 3:].any()


@pytest.mark.parametrize("frames", [300, 3_000_000], ids=["cached", "far"])
@pytest.mark.parametrize("hop", [4, 19, 20])
def test_narrow_parts_of_records_that_overlap(frames, hop):
    x = np.resize(np.arange(251, dtype=np.uint8), hop * frames + 20)
    records = np.lib.stride_tricks.sliding_window_view(x, 20)[::hop][:frames]
    lengths = [2, 3, 1, 2, 3, 1, 2, 3, 1, 2]
    for part, begin in zip(dm.variadic_split(records, 1, lengths), np.cumsum([0, *lengths]), strict=False):
        np.testing.assert_array_equal(part, records[:, begin : begin + part.shape[1]])


def test_narrow_parts_that_overlap():
    x = np.resize(np.arange(251, dtype=np.uint8), (1000, 40))[:, :12]
    chain = dm.Chain(dm.MemoryDesc.of(x)).tile((1, 2)).variadic_split(1, [12, 12])
    whole, part = chain.branch(1).index(np.s_[:, 2:4]).branch(None).build()(x)
    np.testing.assert_array_equal(whole, x)
    np.testing.assert_array_equal(part, x[:, 2:4])


def test_narrow_parts_are_explained():
    desc = dm.MemoryDesc((5000, 3), "f4")
    assert "3 fields" in dm.VariadicSplit(dm.VariadicSplit.Desc(desc, 1, (1, 1, 1))).explain()

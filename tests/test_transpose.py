"""transpose, eager and as a primitive."""

import itertools

import numpy as np
import oracle
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_new, assert_same

import dnnmove as dm


@st.composite
def problems(draw, dtypes=some.dtypes):
    data = draw(some.strided(draw(some.shapes()), draw(dtypes)))
    order = draw(st.permutations(range(data.array.ndim)))
    return data, list(order)


@given(problems(), st.data())
def test_any_array(problem, draw):
    data, order = problem
    spelled = draw.draw(some.integers_as(order)) if order else ()
    result = dm.transpose(data.array, spelled)
    assert_same(result, oracle.transpose(data.array, order))
    assert_new(result, data.array)


@given(problems(), st.data())
def test_negative_entries_count_from_the_end(problem, draw):
    data, order = problem
    signs = draw.draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order)))
    spelled = [axis - len(order) if minus else axis for axis, minus in zip(order, signs, strict=True)]
    assert_same(dm.transpose(data.array, spelled or ()), oracle.transpose(data.array, order))


def test_negative_entries_in_every_spelling():
    x = some.dense((2, 3, 4), "f4")
    md = dm.MemoryDesc.of(x)
    expected = oracle.transpose(x, (0, 2, 1))
    for order in ((0, -1, -2), [-3, -1, -2], np.array([0, -1, 1])):
        assert_same(dm.transpose(x, order), expected)
        assert_same(dm.Transpose(dm.Transpose.Desc(md, order))(x), expected)
        assert_same(dm.Chain(md).transpose(order).build()(x), expected)
        assert_same(dm.chain(x).transpose(order).run(), expected)


@given(problems(), st.data())
def test_out_of_any_strides(problem, draw):
    data, order = problem
    expected = oracle.transpose(data.array, order)
    out = draw.draw(some.strided(expected.shape, expected.dtype, zeros=False))
    buffer = out.expected_after(expected)
    assert dm.transpose(data.array, order, out=out.array) is out.array
    assert out.buffer.tobytes() == buffer.tobytes()


@given(some.arrays())
def test_an_empty_order_reverses(data):
    expected = oracle.transpose(data.array)
    for empty in ((), [], np.empty(0, np.int64)):
        assert_same(dm.transpose(data.array, empty), expected)
    assert_same(dm.transpose(data.array), expected)


@given(problems())
def test_inverse(problem):
    data, order = problem
    there = dm.transpose(data.array, order)
    back = dm.transpose(there, np.argsort(order)) if order else dm.transpose(there)
    assert oracle.raw(back) == oracle.raw(data.array)


@given(problems())
def test_primitive(problem):
    data, order = np.array(oracle.blocks(problem[0].array), order="C").view(problem[0].array.dtype), problem[1]
    try:
        md = dm.MemoryDesc.of(data)
    except (TypeError, ValueError):
        return  # a dtype or rank that oneDNN's objects do not take
    desc = dm.Transpose.Desc(md, order)
    move = dm.Transpose(desc)
    expected = oracle.transpose(data, order)
    assert desc.src_desc.dims == data.shape
    assert desc.dst_desc.dims == expected.shape
    assert_same(move(data), expected)
    out = np.empty_like(expected)
    move.execute(dm.Stream(), {dm.ARG_SRC: data, dm.ARG_DST: out})
    assert_same(out, expected)


@pytest.mark.parametrize("ndim", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["u1", "f2", "V3", "f4", "f8", "c16"])
def test_every_order_of_sizes_around_the_vector_widths(ndim, dtype):
    for sides in ((17, 33, 3, 2), (16, 64, 2, 4), (31, 8, 5, 1), (1, 65, 4, 3)):
        data = some.dense(sides[:ndim], dtype)
        for order in itertools.permutations(range(ndim)):
            assert_same(dm.transpose(data, order), oracle.transpose(data, order))


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16", "V3"])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 65, 127, 128, 129])
def test_planes_of_every_width(dtype, columns):
    for rows in (1, 2, 3, 5, 8, 16, 33, 64, 100):
        data = some.dense((rows, columns), dtype)
        assert_same(dm.transpose(data), oracle.transpose(data))


def test_many_axes():
    rank = 32
    data = some.dense((2,) * 10 + (1,) * (rank - 10), "u2").transpose(*range(10, 32), *range(10))
    order = [*range(rank - 1, -1, -2), *range(0, rank, 2)]
    assert_same(dm.transpose(data, order), oracle.transpose(data, order))


@pytest.mark.parametrize(
    ("shape", "dtype", "order"),
    [
        ((1000, 1001), "f4", (1, 0)),
        ((2048, 2048), "u1", (1, 0)),
        ((777, 511), "f8", (1, 0)),
        ((8, 64, 56, 57), "f4", (0, 2, 3, 1)),
        ((8, 56, 57, 64), "i2", (0, 3, 1, 2)),
        ((16, 224, 224, 3), "u1", (0, 3, 1, 2)),
        ((16, 3, 224, 224), "u1", (0, 2, 3, 1)),
        ((8,) * 6, "f8", (5, 3, 1, 0, 2, 4)),
        ((2,) * 20, "u2", (*range(19, -1, -2), *range(0, 20, 2))),
        ((300, 500), "V7", (1, 0)),
        ((3000, 3001), "f4", (1, 0)),  # 36 MB
        ((6007, 6000), "u1", (1, 0)),  # 36 MB
        ((64, 224, 225, 3), "f4", (0, 3, 1, 2)),  # 39 MB
        ((32, 16, 65, 130), "f8", (2, 0, 3, 1)),  # 35 MB
        ((8, 64, 224, 225), "i1", (0, 2, 3, 1)),  # 26 MB, rows of one line each
        ((45, 255, 323), "f4", (0, 2, 1)),  # 15 MB, staged, source rows that start inside lines
        ((8, 64, 12, 10, 5, 32), "f4", (0, 2, 4, 1, 3, 5)),  # 39 MB, read in the source's order
    ],
)
def test_large(shape, dtype, order):
    data = some.dense(shape, dtype)
    expected = oracle.transpose(data, order)
    assert_same(dm.transpose(data, order), expected)
    out = np.zeros((expected.shape[0] + 1, *expected.shape[1:]), dtype)[:0:-1]
    dm.transpose(data, order, out=out)
    assert_same(out, expected)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "c16"])
@pytest.mark.parametrize("over", [-1, 0, 1, 3])
def test_rows_around_a_multiple_of_1024_bytes(dtype, over):
    itemsize = np.dtype(dtype).itemsize
    for columns in (7, 70, 600 // itemsize):
        data = some.dense((3072 // itemsize + over, columns), dtype)
        assert_same(dm.transpose(data, (1, 0)), oracle.transpose(data, (1, 0)))


@pytest.mark.parametrize("offset", [0, 16, 40])
@pytest.mark.parametrize(
    ("shape", "dtype", "order"),
    [
        ((32, 32, 32, 32), "f4", (3, 2, 1, 0)),
        ((32, 32, 32, 32), "u2", (3, 2, 1, 0)),
        ((32, 32, 32, 33), "u2", (3, 2, 1, 0)),
        ((16, 16, 16, 16, 16), "u1", (4, 3, 2, 1, 0)),
        ((8, 8, 8, 8, 8, 8), "f4", (5, 4, 3, 2, 1, 0)),
        ((32, 16, 32, 16), "f8", (3, 2, 1, 0)),
        ((512, 16, 512), "u1", (2, 1, 0)),
        ((192, 32, 128), "f4", (2, 1, 0)),
        ((192, 32, 8), "f4", (2, 1, 0)),
        ((2049, 1075), "u1", (1, 0)),
        ((805, 256), "c16", (1, 0)),
    ],
)
def test_lines_in_few_sets(shape, dtype, order, offset):
    """In the caches, lines of both sides at the same places of their pages: staged, or in short panels."""
    data = some.dense(shape, dtype)
    expected = oracle.transpose(data, order)
    buffer = np.zeros(data.nbytes + 128, "u1")
    start = -buffer.ctypes.data % 64 + offset // data.itemsize * data.itemsize
    out = buffer[start : start + data.nbytes].view(dtype).reshape(expected.shape)
    dm.transpose(data, order, out=out)
    assert_same(out, expected)
    assert not buffer[:start].any()
    assert not buffer[start + data.nbytes :].any()
    dm.transpose(data[..., ::-1], order, out=out)
    assert_same(out, oracle.transpose(data[..., ::-1], order))


@pytest.mark.parametrize("length", [65, 72, 80, 81, 96, 97, 127, 128])
@pytest.mark.parametrize("shape", [(3, 16, 700), (5, 12, 197)])
def test_short_rows(shape, length):
    """Rows of one line and some bytes: their order in the source may be the better one."""
    data = some.dense((*shape, length), "u1")
    expected = oracle.transpose(data, (0, 2, 1, 3))
    assert_same(dm.transpose(data, (0, 2, 1, 3)), expected)
    wide = np.zeros((*expected.shape[:-1], length + 3), "u1")  # bytes between the rows stay
    dm.transpose(data, (0, 2, 1, 3), out=wide[..., :length])
    assert_same(np.ascontiguousarray(wide[..., :length]), expected)
    assert not wide[..., length:].any()


@pytest.mark.parametrize("offset", [0, 8, 16, 40])
@pytest.mark.parametrize(("side", "dtype"), [(3008, "f4"), (6016, "u1")])  # 36 MB, rows of whole lines
def test_large_into_memory_that_starts_inside_a_line(side, dtype, offset):
    data = some.dense((side, side), dtype)
    buffer = np.zeros(data.nbytes + 128, "u1")
    start = -buffer.ctypes.data % 64 + offset
    out = buffer[start : start + data.nbytes].view(dtype).reshape(side, side)
    dm.transpose(data, (1, 0), out=out)
    assert_same(out, oracle.transpose(data, (1, 0)))
    assert not buffer[:start].any()
    assert not buffer[start + data.nbytes :].any()

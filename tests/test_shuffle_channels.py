"""shuffle_channels (OpenVINO's meaning: the number of groups), eager and as a primitive."""

import numpy as np
import oracle
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_same

import dnnmove as dm


@st.composite
def problems(draw):
    shape, _ = draw(some.composite_axis(draw(some.shapes(1))))
    data = draw(some.strided(shape, draw(some.dtypes)))
    axis = draw(some.axes(len(shape)))
    return data, axis, draw(some.divisors(shape[axis]))


@pytest.mark.parametrize(
    ("length", "group", "expected"),
    [(6, 2, [0, 3, 1, 4, 2, 5]), (6, 3, [0, 2, 4, 1, 3, 5]), (8, 4, [0, 2, 4, 6, 1, 3, 5, 7]), (5, 1, range(5))],
)
def test_worked_examples(length, group, expected):
    assert dm.shuffle_channels(np.arange(length), axis=0, group=group).tolist() == list(expected)


def test_defaults_are_axis_1_and_group_1():
    data = some.dense((3, 6, 2), "i4")
    assert_same(dm.shuffle_channels(data, group=3), oracle.shuffle_channels(data, 1, 3))
    assert_same(dm.shuffle_channels(data), data)
    assert_same(dm.shuffle_channels(data, 2), data)


@given(problems())
def test_any_array(problem):
    data, axis, group = problem
    result = dm.shuffle_channels(data.array, axis, group)
    assert_same(result, oracle.shuffle_channels(data.array, axis, group))
    assert result.flags.writeable
    assert not np.may_share_memory(result, data.array)


@given(problems(), st.data())
def test_out_of_any_strides(problem, draw):
    data, axis, group = problem
    out = draw.draw(some.strided(data.array.shape, data.array.dtype, zeros=False))
    expected = out.expected_after(oracle.shuffle_channels(data.array, axis, group))
    assert dm.shuffle_channels(data.array, axis=axis, group=group, out=out.array) is out.array
    assert out.buffer.tobytes() == expected.tobytes()


@given(problems())
def test_the_document_s_reshape_transpose_reshape(problem):
    data, axis, group = problem
    x = np.array(oracle.blocks(data.array), order="C")
    axis = int(axis) % x.ndim
    if x.shape[axis] == 0:
        return
    four = x.reshape(int(np.prod(x.shape[:axis], dtype=int)), group, x.shape[axis] // group, -1 if x.size else 0)
    y = four.transpose(0, 2, 1, 3).reshape(x.shape).view(data.array.dtype)
    assert_same(dm.shuffle_channels(data.array, axis, group), np.ascontiguousarray(y).reshape(y.shape))


@given(problems())
def test_the_other_factor_inverts(problem):
    data, axis, group = problem
    there = dm.shuffle_channels(data.array, axis, group)
    back = dm.shuffle_channels(there, axis, max(1, data.array.shape[axis] // group))
    assert oracle.raw(back) == oracle.raw(data.array)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (1, 0, 3, 2)])
def test_a_dense_input_keeps_its_memory_order(order):
    data = some.dense(np.take((2, 12, 5, 3), order), "f2").transpose(np.argsort(order))
    result = dm.shuffle_channels(data, 1, 4)
    assert_same(result, oracle.shuffle_channels(data, 1, 4))
    assert result.strides == data.strides


@pytest.mark.parametrize("group", [1, 2, 7, 10**9])
def test_a_length_of_zero_takes_any_group(group):
    assert dm.shuffle_channels(np.empty((2, 0, 3), "f4"), 1, group).shape == (2, 0, 3)


@given(problems())
def test_primitive(problem):
    data = np.array(oracle.blocks(problem[0].array), order="C").view(problem[0].array.dtype)
    _, axis, group = problem
    try:
        md = dm.MemoryDesc.of(data)
    except (TypeError, ValueError):
        return  # a dtype or rank that oneDNN's objects do not take
    shuffle = dm.ShuffleChannels(dm.ShuffleChannels.Desc(md, axis, group))
    expected = oracle.shuffle_channels(data, axis, group)
    assert_same(shuffle(data), expected)
    out = np.empty_like(data)
    shuffle.execute(dm.Stream(), {dm.ARG_SRC: data, dm.ARG_DST: out})
    assert_same(out, expected)


@pytest.mark.parametrize(
    ("shape", "dtype", "axis", "group"),
    [
        ((5, 12, 200, 400), "f4", 1, 3),
        ((4, 57, 57, 116), "u1", 3, 2),
        ((16, 48, 31, 31), "f2", 1, 16),
        ((9, 28, 28, 232), "f8", -1, 4),
        ((12, 40000), "V5", 0, 3),
        ((32, 116, 56, 56), "f4", 1, 2),  # 46 MB
        ((64, 56, 56, 174), "i1", 3, 3),  # 35 MB
    ],
)
def test_large(shape, dtype, axis, group):
    data = some.dense(shape, dtype)
    expected = oracle.shuffle_channels(data, axis, group)
    assert_same(dm.shuffle_channels(data, axis, group), expected)
    out = np.zeros((shape[0], *shape[:0:-1]), dtype).transpose(0, *range(len(shape) - 1, 0, -1))
    dm.shuffle_channels(data, axis, group, out=out)
    assert_same(out, expected)

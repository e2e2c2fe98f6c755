"""shuffle and shuffle_backward (oneDNN's meaning: the size of one group), eager and as primitives."""

import numpy as np
import oracle
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_same

import dnnmove as dm

BOTH = pytest.mark.parametrize("name", ["shuffle", "shuffle_backward"])


@st.composite
def problems(draw, zeros=True, max_dims=8):
    """An array, an axis and a group size that fit together."""
    shape, _ = draw(some.composite_axis(draw(some.shapes(1, max_dims))))
    data = draw(some.strided(shape, draw(some.dtypes), zeros))
    axis = draw(some.axes(len(shape)))
    return data, axis, draw(some.divisors(shape[axis]))


@pytest.mark.parametrize(
    ("length", "group_size", "forward"),
    [(6, 3, [0, 3, 1, 4, 2, 5]), (8, 2, [0, 2, 4, 6, 1, 3, 5, 7]), (6, 1, range(6)), (6, 6, range(6)), (1, 1, [0])],
)
def test_worked_examples_forward(length, group_size, forward):
    result = dm.shuffle(np.arange(length, dtype=np.float32), 0, group_size)
    assert result.tolist() == list(forward)


def test_worked_example_backward():
    assert dm.shuffle_backward(np.arange(6, dtype=np.float32), 0, 3).tolist() == [0, 2, 4, 1, 3, 5]


@BOTH
@given(problems())
def test_any_array(name, problem):
    data, axis, group_size = problem
    result = getattr(dm, name)(data.array, axis, group_size)
    assert_same(result, getattr(oracle, name)(data.array, axis, group_size))
    assert result.flags.writeable
    assert not np.may_share_memory(result, data.array)


@BOTH
@given(problems(), st.data())
def test_out_of_any_strides(name, problem, draw):
    data, axis, group_size = problem
    out = draw.draw(some.strided(data.array.shape, data.array.dtype, zeros=False))
    expected = out.expected_after(getattr(oracle, name)(data.array, axis, group_size))
    assert getattr(dm, name)(data.array, axis, group_size, out=out.array) is out.array
    assert out.buffer.tobytes() == expected.tobytes()


@given(problems())
def test_backward_inverts_forward(problem):
    data, axis, group_size = problem
    there = dm.shuffle(data.array, axis, group_size)
    assert_same(dm.shuffle_backward(there, axis, group_size), oracle.blocks(data.array).copy().view(data.array.dtype))


@given(problems())
def test_group_sizes_count_from_the_other_end_of_shuffle_channels(problem):
    data, axis, group_size = problem
    group = max(1, data.array.shape[axis] // group_size)
    assert_same(dm.shuffle(data.array, axis, group_size), dm.shuffle_channels(data.array, axis, group))


@BOTH
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_a_dense_input_keeps_its_memory_order(name, order):
    back = np.argsort(order)
    data = some.dense(np.take((2, 12, 5, 3), order), "f4").transpose(back)
    result = getattr(dm, name)(data, 1, 4)
    assert_same(result, getattr(oracle, name)(data, 1, 4))
    assert result.strides == data.strides


@BOTH
@pytest.mark.parametrize("index", [np.s_[:, :, ::2], np.s_[:, :, :, 1:], np.s_[:, :, ::-1]])
def test_an_input_that_is_not_dense_gives_row_major(name, index):
    data = some.dense((2, 12, 6, 4), "i2")[index]
    assert getattr(dm, name)(data, 1, 3).flags.c_contiguous


def test_a_length_of_zero_is_a_no_op():
    for group_size in (1, 3, 1000):
        for axis in (1, -2):
            result = dm.shuffle(np.empty((2, 0, 3), "f4"), axis, group_size)
            assert result.shape == (2, 0, 3)
            assert dm.shuffle_backward(np.empty((2, 0, 3), "f4"), axis, group_size).shape == (2, 0, 3)


# Primitives ----------------------------------------------------------------------------------------


def primitives(kind, desc):
    """The primitive under every implementation that the problem has."""
    first = kind.PrimitiveDesc(desc)
    made = {}
    for name in first.implementations:
        which = name.split(":")[0]
        made[name] = kind(kind.PrimitiveDesc(desc, implementation=which))
    return made


@given(problems(zeros=False, max_dims=6), st.sampled_from(["forward_training", "forward_inference"]), st.data())
def test_forward_primitive(problem, prop_kind, draw):
    data, axis, group_size = problem
    group_size = min(group_size, max(1, data.array.shape[axis]))
    try:
        md = dm.MemoryDesc.of(data.array)
    except (ValueError, TypeError):
        return  # negative or odd strides, 4-bit types, ...: test_shuffle_onednn_problems.py says which
    if data.array.shape[axis] == 0:
        return
    desc = dm.ShuffleForward.Desc(getattr(dm.PropKind, prop_kind), md, axis, group_size)
    expected = oracle.shuffle(data.array, axis, group_size)
    for fwd in primitives(dm.ShuffleForward, desc).values():
        assert_same(fwd(data.array), expected)


@given(problems(zeros=False, max_dims=6))
def test_backward_primitive(problem):
    data, axis, group_size = problem
    data = np.array(data.array, order="C", copy=True)
    if data.dtype.itemsize == 0 or data.shape[axis] == 0 or "int4" in str(data.dtype):
        return
    try:
        md = dm.MemoryDesc.of(data)
    except (ValueError, TypeError):
        return
    expected = oracle.shuffle_backward(data, axis, group_size)
    for bwd in primitives(dm.ShuffleBackward, dm.ShuffleBackward.Desc(md, axis, group_size)).values():
        out = np.empty_like(data)
        assert bwd(data, out=out) is out
        assert_same(out, expected)


# Sizes that take threads and non-temporal stores ---------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("shape", "dtype", "axis", "group_size"),
    [
        ((4, 60, 56, 56), "f4", 1, 20),
        ((4, 57, 57, 60), "u1", 3, 3),
        ((3, 51, 51, 116), "f4", 3, 58),
        ((8, 64, 33, 33), "i2", 1, 4),
        ((24, 7, 9000), "V3", 0, 8),
        ((3 * 2**19,), "f8", 0, 2**9),
        ((1 << 20,), ">u4", 0, 4),
        ((8, 240, 56, 56), "f8", 1, 80),  # 48 MB
        ((20, 56, 56, 600), "u1", 3, 200),  # 36 MB
    ],
)
def test_large(name, shape, dtype, axis, group_size):
    data = some.dense(shape, dtype)
    expected = getattr(oracle, name)(data, axis, group_size)
    assert_same(getattr(dm, name)(data, axis, group_size), expected)
    out = np.zeros((*shape[:-1], shape[-1] + 1), dtype)[..., :-1]
    getattr(dm, name)(data, axis, group_size, out=out)
    assert_same(out, expected)

"""concat, the inverse and the backward of variadic_split."""

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
    shape = draw(some.shapes(1, max_elements=200))
    dtype = draw(some.dtypes)
    axis = draw(some.axes(len(shape)))
    inputs = []
    for length in draw(st.lists(st.integers(0, 5), min_size=1, max_size=4)):
        part = list(shape)
        part[axis] = length
        inputs.append(draw(some.strided(tuple(part), dtype)))
    return inputs, axis


@given(problems(), st.sampled_from([list, tuple]))
def test_any_arrays(problem, kind):
    inputs, axis = problem
    arrays = kind(data.array for data in inputs)
    result = dm.concat(arrays, axis)
    assert_same(result, oracle.concat(arrays, axis))
    assert_new(result, *arrays)


@given(problems(), st.data())
def test_out_of_any_strides(problem, draw):
    inputs, axis = problem
    arrays = [data.array for data in inputs]
    expected = oracle.concat(arrays, axis)
    out = draw.draw(some.strided(expected.shape, expected.dtype, zeros=False))
    buffer = out.expected_after(expected)
    assert dm.concat(arrays, axis=axis, out=out.array) is out.array
    assert out.buffer.tobytes() == buffer.tobytes()


def test_the_default_axis_is_0():
    a, b = some.dense((2, 3), "i4"), some.dense((4, 3), "i4", seed=1)
    assert_same(dm.concat([a, b]), oracle.concat([a, b], 0))


def test_one_array_may_come_twice():
    data = some.dense((3, 4), "f4")
    assert_same(dm.concat([data, data, data[::-1]], 1), oracle.concat([data, data, data[::-1]], 1))


def test_many_inputs():
    arrays = [some.dense((2, i % 4, 3), "u2", seed=i) for i in range(300)]
    assert_same(dm.concat(arrays, 1), oracle.concat(arrays, 1))


@pytest.mark.parametrize(
    ("shapes", "dtype", "axis"),
    [
        ([(8, 58, 56, 57)] * 2, "f4", 1),
        ([(800, 700, 1), (800, 700, 2), (800, 700, 4)], "u1", 2),
        ([(3000, 7), (1, 7), (90001, 7)], "V5", 0),
        ([(30, 58, 56, 56)] * 2, "f4", 1),  # 44 MB
    ],
)
def test_large(shapes, dtype, axis):
    arrays = [some.dense(shape, dtype, seed=i) for i, shape in enumerate(shapes)]
    expected = oracle.concat(arrays, axis)
    assert_same(dm.concat(arrays, axis), expected)
    out = np.zeros((*expected.shape[:-1], expected.shape[-1] + 3), dtype)[..., 1:-2]
    dm.concat(arrays, axis, out=out)
    assert_same(out, expected)

"""broadcast in its three modes, eager and as a primitive."""

import numpy as np
import oracle
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_new, assert_same

import dnnmove as dm


def fits(draw, length):
    """A length that a target may have where the data has `length`."""
    return length if length != 1 else draw(st.sampled_from([1, 1, 2, 3, 5, 16, 0]))


@st.composite
def problems(draw, modes=("numpy", "explicit", "bidirectional")):
    """An array and arguments of broadcast that fit it; at most some thousand elements come out."""
    mode = draw(st.sampled_from(modes))
    data = draw(some.strided(draw(some.shapes(0, 5, max_elements=150)), draw(some.dtypes)))
    target, room = [fits(draw, n) for n in data.array.shape], 8000 // max(1, data.array.size)
    for i, n in enumerate(target):
        target[i] = n if n == data.array.shape[i] or n <= room else 1
        room //= max(1, target[i] // max(1, data.array.shape[i]))
    extra = draw(st.lists(st.sampled_from([1, 1, 2, 3, 4, 0]), max_size=3))
    if mode == "numpy":
        return data, [*extra, *target], {}
    if mode == "explicit":
        mapping, target = [], list(target)
        places = sorted(draw(st.lists(st.integers(0, len(target)), min_size=len(extra), max_size=len(extra))))
        full = []
        for i in range(len(target) + 1):
            full += [n for n, place in zip(extra, places, strict=True) if place == i]
            if i < len(target):
                mapping.append(len(full))
                full.append(target[i])
        return data, full, {"axes_mapping": mapping, "mode": mode}
    # Either side may be the shorter one, and either may hold the 1.
    target = [1 if draw(st.integers(0, 3)) == 0 else n for n in target]
    target = [*extra, *target] if draw(st.booleans()) else target[draw(st.integers(0, len(target))) :]
    return data, target, {"mode": mode}


@given(problems(), st.data())
def test_any_array(problem, draw):
    data, target, options = problem
    spelled = draw.draw(some.integers_as(target)) if target else []
    result = dm.broadcast(data.array, spelled, **options)
    assert_same(result, oracle.broadcast(data.array, target, **options))
    assert_new(result, data.array)


@given(problems(), st.data())
def test_out_of_any_strides(problem, draw):
    data, target, options = problem
    expected = oracle.broadcast(data.array, target, **options)
    out = draw.draw(some.strided(expected.shape, expected.dtype, zeros=False))
    buffer = out.expected_after(expected)
    assert dm.broadcast(data.array, target, **options, out=out.array) is out.array
    assert out.buffer.tobytes() == buffer.tobytes()


@given(problems())
def test_primitive(problem):
    data = np.array(oracle.blocks(problem[0].array), order="C").view(problem[0].array.dtype)
    _, target, options = problem
    expected = oracle.broadcast(data, target, **options)
    try:
        md = dm.MemoryDesc.of(data)
        dm.MemoryDesc.of(expected)
    except (TypeError, ValueError):
        return  # a dtype or rank that oneDNN's objects do not take
    desc = dm.Broadcast.Desc(md, target, **options)
    repeat = dm.Broadcast(desc)
    assert desc.dst_desc.dims == expected.shape
    assert_same(repeat(data), expected)
    out = np.empty_like(expected)
    repeat.execute(dm.Stream(), {dm.ARG_SRC: data, dm.ARG_DST: out})
    assert_same(out, expected)


@pytest.mark.parametrize("mode", ["NumPy", "NUMPY", "Explicit", "BiDirectional"])
def test_mode_in_any_case(mode):
    data = some.dense((3,), "f4")
    mapping = {"axes_mapping": [1]} if mode == "Explicit" else {}
    expected = oracle.broadcast(data, (2, 3), **mapping, mode=mode.lower())
    assert_same(dm.broadcast(data, (2, 3), **mapping, mode=mode), expected)


@pytest.mark.parametrize("target", [(), (1,), (2, 3), (0,), (4, 0, 2)])
def test_a_scalar(target):
    data = some.dense((), "f8")
    expected = oracle.broadcast(data, target)
    assert_same(dm.broadcast(data, target), expected)
    assert_same(dm.broadcast(data, target, mode="bidirectional"), expected)
    assert_same(dm.broadcast(data, target, [], "explicit"), expected)
    assert_same(dm.broadcast(data, target, np.empty(0, int), mode="explicit"), expected)


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((1,), (0,), (0,)),
        ((0,), (1,), (0,)),
        ((4, 1), (1, 5), (4, 5)),
        ((4, 1, 3), (2, 1), (4, 2, 3)),
        ((3,), (), (3,)),
        ((0, 1), (1, 0), (0, 0)),
        ((2, 3), (1,), (2, 3)),
    ],
)
def test_bidirectional_shapes(shape, target, expected):
    data = some.dense(shape, "i2")
    result = dm.broadcast(data, target, mode="bidirectional")
    assert result.shape == expected
    assert_same(result, oracle.broadcast(data, target, mode="bidirectional"))


@pytest.mark.parametrize(
    ("shape", "dtype", "target", "options"),
    [
        ((), "u1", (1500, 1501), {}),
        ((3,), "u1", (999, 1001, 3), {}),
        ((1001, 1), "f4", (1001, 1003), {}),
        ((64, 1, 1), "f4", (4, 64, 57, 57), {}),
        ((300, 7), "i2", (30, 300, 11, 7), {"axes_mapping": [1, 3], "mode": "explicit"}),
        ((1, 500, 1, 6), "f8", (40, 1, 9, 1), {"mode": "bidirectional"}),
        ((1000, 1), "V3", (1000, 800), {}),
        ((16, 1, 1), "f4", (5, 16, 700, 200), {}),  # 45 MB
        ((1, 5, 3), "u1", (2400001, 5, 3), {}),  # 36 MB
        ((70, 1), "f8", (70, 70000), {}),  # 39 MB
    ],
)
def test_large(shape, dtype, target, options):
    data = some.dense(shape, dtype)
    expected = oracle.broadcast(data, target, **options)
    assert_same(dm.broadcast(data, target, **options), expected)
    out = np.zeros(expected.shape, dtype, order="F")
    dm.broadcast(data, target, **options, out=out)
    assert_same(out, expected)

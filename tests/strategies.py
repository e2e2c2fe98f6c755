"""Hypothesis strategies: arrays of any dtype, shape and strides, and arguments that fit them."""

import math

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

PADDED = np.dtype({"names": ["a", "b"], "formats": ["u1", "<f8"], "offsets": [1, 5], "itemsize": 15})
NESTED = np.dtype([("a", "<u2"), ("b", "V1"), ("c", "f4", (2, 2))])
DTYPES = [
    *map(np.dtype, ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "g"]),
    *map(np.dtype, [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4]),
    *map(
        np.dtype, ["M8[ns]", "m8[s]", "S1", "S5", "U3", "V3", "V7", "S33", "V64", ">i2", ">f4", ">f8", ">c16", ">M8[s]"]
    ),
    PADDED,
    NESTED,
    np.dtype([("x", "i1"), ("y", ">i2")], align=True),
]
dtypes = st.sampled_from(DTYPES)
MAX_ELEMENTS = 600


def random_bytes(count, seed):
    return np.random.default_rng(seed).integers(0, 256, count, np.uint8)


def dense(shape, dtype="u1", seed=0):
    """A C-contiguous array of random bytes."""
    dtype = np.dtype(dtype)
    return random_bytes(math.prod(shape) * dtype.itemsize, seed).view(dtype).reshape(shape)


@st.composite
def shapes(draw, min_dims=0, max_dims=8, min_side=0, max_elements=MAX_ELEMENTS):
    """Mostly short axes; lengths 0 and 1 often, and now and then one long axis."""
    ndim = draw(st.integers(min_dims, max_dims))
    sides = [*range(1, 8), 1, 1, 9, 16, 17, 33]
    shape, room = [], max_elements
    for _ in range(ndim):
        side = draw(st.sampled_from(sides))
        side = max(1, min(side, room))
        room //= side
        shape.append(side)
    shape = draw(st.permutations(shape)) if ndim else []
    if ndim and min_side == 0 and draw(st.integers(0, 11)) == 0:
        shape[draw(st.integers(0, ndim - 1))] = 0
    return tuple(shape)


class Strided:
    """An array somewhere in a buffer of its own: `array`, and `buffer` with every byte around it."""

    def __init__(self, shape, dtype, order, steps, gaps, offset, seed):
        item = dtype.itemsize
        strides, pitch = [0] * len(shape), item
        for axis in order:  # innermost first
            step = steps[axis]
            strides[axis] = step * pitch
            if step:
                pitch = pitch * abs(step) * max(shape[axis], 1) + gaps[axis]
        low = sum(s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0 and n > 0)
        high = sum(s * (n - 1) for s, n in zip(strides, shape, strict=True) if s > 0 and n > 0)
        self.buffer = random_bytes(offset + high - low + item + 9, seed)
        self.array = np.ndarray(shape, dtype, self.buffer, offset - low, strides)

    def expected_after(self, value):
        """The whole buffer as it must be once `value` has been written through the array's strides."""
        buffer = self.buffer.copy()
        start = self.array.__array_interface__["data"][0] - self.buffer.__array_interface__["data"][0]
        block = np.dtype((np.void, self.array.dtype.itemsize))
        np.ndarray(self.array.shape, block, buffer, start, self.array.strides)[...] = value.view(block)
        return buffer

    def __repr__(self):
        a = self.array
        at = a.__array_interface__["data"][0] % 64
        return f"Strided(shape={a.shape}, strides={a.strides}, dtype={a.dtype!r}, address % 64={at})"


@st.composite
def strided(draw, shape, dtype, zeros=True):
    """An array in any memory order, stepped, reversed, pitched by odd bytes, unaligned, repeated (stride 0)."""
    ndim = len(shape)
    layout = draw(st.sampled_from(["C", "F", "last", "any", "any"]))
    order = list(range(ndim))[::-1]
    if layout == "F":
        order = order[::-1]
    elif layout == "last" and ndim >= 3:
        order = [1, *range(ndim - 1, 1, -1), 0]
    elif layout == "any" and ndim:
        order = list(draw(st.permutations(order)))
    plain = layout in "CF" or draw(st.booleans())
    if plain:
        steps, gaps = [1] * ndim, [0] * ndim
    else:
        choice = [1, 1, 1, -1, 2, -2, 3] + [0] * zeros
        steps = [draw(st.sampled_from(choice)) for _ in range(ndim)]
        if math.prod(max(abs(step), 1) for step in steps) > 12:  # keep the buffer small
            steps = [max(-1, min(step, 1)) for step in steps]
        gaps = [draw(st.sampled_from([0, 0, 0, 1, dtype.itemsize, 7])) for _ in range(ndim)]
    offset = draw(st.sampled_from([0, 0, 1, 3, 8, 64]))
    return Strided(shape, dtype, order, steps, gaps, offset, draw(st.integers(0, 2**16)))


@st.composite
def arrays(draw, min_dims=0, **options):
    return draw(strided(draw(shapes(min_dims, **options)), draw(dtypes)))


def axes(ndim):
    """Any spelling of an axis: from either end, a Python or a NumPy integer."""
    return st.builds(
        lambda axis, kind: kind(axis), st.integers(-ndim, ndim - 1), st.sampled_from([int, int, np.int64, np.int8])
    )


def divisors(length):
    return st.sampled_from([d for d in range(1, length + 1) if length % d == 0] or [1, 2, 7])


@st.composite
def composite_axis(draw, shape):
    """`shape` with one axis replaced by a length of many divisors, and that axis."""
    axis = draw(st.integers(0, len(shape) - 1))
    if shape[axis] and draw(st.booleans()):
        room = max(
            1, 4 * MAX_ELEMENTS // math.prod(n for i, n in enumerate(shape) if i != axis) if 0 not in shape else 24
        )
        fits = [n for n in (1, 2, 4, 6, 8, 12, 16, 24, 30, 36, 48, 64) if n <= room]
        shape = (*shape[:axis], draw(st.sampled_from(fits)), *shape[axis + 1 :])
    return shape, axis


@st.composite
def split_lengths(draw, total):
    """Lengths that sum to `total`, zeros among them; sometimes one of them as -1."""
    cuts = sorted(draw(st.lists(st.integers(0, total), max_size=4)))
    lengths = [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]
    if draw(st.booleans()):
        lengths[draw(st.integers(0, len(lengths) - 1))] = -1
    if total == 0 and draw(st.integers(0, 3)) == 0:
        return []
    return lengths


def integers_as(values):
    """The spellings of a list of integers that the operations take."""
    kinds = [
        list,
        tuple,
        lambda v: np.array(v, np.int64),
        lambda v: np.array(v, np.int32)[:],
        lambda v: [np.int16(x) for x in v],
    ]
    return st.sampled_from(kinds).map(lambda kind: kind(values))

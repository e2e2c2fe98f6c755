"""What every operation must give, in NumPy on plain bytes: the formulas of the documents, nothing faster.

Each function takes an array of any dtype and strides and returns a new C-contiguous array of the same
dtype. Elements travel as opaque blocks of `itemsize` bytes (dtype "V<itemsize>"), so that struct padding
and the payload of a NaN count like every other bit.
"""

import re

import numpy as np


def blocks(array):
    """`array` with its elements as opaque blocks of bytes; a view."""
    return array.view(np.dtype((np.void, array.dtype.itemsize)))


def raw(array):
    """The elements' bytes in row-major order, whatever the strides."""
    return blocks(array).tobytes()


def assert_same(result, expected):
    """Same kind, dtype (byte order included), shape and bits."""
    assert type(result) is np.ndarray
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert raw(result) == raw(expected)


def assert_new(result, *inputs):
    """An array that the caller may write to: its own memory, C-contiguous."""
    assert result.flags.writeable
    assert result.flags.c_contiguous
    for array in inputs:
        assert not np.may_share_memory(result, array)


def _new(source, moved):
    return np.array(moved, order="C", copy=True).view(source.dtype)


def _move(array, axis, destination_of):
    """Row i of `axis` goes to row destination_of[i]."""
    source = blocks(array)
    result = np.empty(source.shape, source.dtype)
    at = [slice(None)] * array.ndim
    where = list(at)
    for i, j in enumerate(destination_of):
        at[axis], where[axis] = i, j
        result[tuple(where)] = source[tuple(at)]
    return _new(array, result)


def shuffle(array, axis, group_size):
    """oneDNN: dst[u + v * C/G] = src[u * G + v], G the size of one group."""
    length = array.shape[axis]
    rows = length // group_size
    target = [0] * length
    for u in range(rows):  # none where the axis is empty
        for v in range(group_size):
            target[u * group_size + v] = u + v * rows
    return _move(array, axis, target)


def shuffle_backward(array, axis, group_size):
    """The same with G replaced by C/G."""
    length = array.shape[axis]
    return shuffle(array, axis, length // group_size) if length else shuffle(array, axis, group_size)


def shuffle_channels(array, axis=1, group=1):
    """OpenVINO: out[k * group + j] = in[j * (C/group) + k], `group` the number of groups."""
    length = array.shape[axis]
    size = length // group
    target = [0] * length
    for j in range(group if length else 0):
        for k in range(size):
            target[j * size + k] = k * group + j
    return _move(array, axis, target)


def transpose(array, input_order=()):
    order = tuple(input_order) if len(input_order) else tuple(reversed(range(array.ndim)))
    return _new(array, blocks(array).transpose(order))


def variadic_split(array, axis, split_lengths):
    lengths = [int(length) for length in split_lengths]
    if -1 in lengths:
        lengths[lengths.index(-1)] = array.shape[axis] - (sum(lengths) + 1)
    parts, start = [], 0
    for length in lengths:
        at = [slice(None)] * array.ndim
        at[axis] = slice(start, start + length)
        parts.append(_new(array, blocks(array)[tuple(at)]))
        start += length
    return tuple(parts)


def split(array, axis, num_splits):
    return variadic_split(array, axis, [array.shape[axis] // num_splits] * num_splits)


def broadcast(array, target_shape, axes_mapping=None, mode="numpy"):
    source, target = blocks(array), tuple(int(length) for length in target_shape)
    if mode == "explicit":
        laid = [1] * len(target)
        for i, axis in enumerate(axes_mapping):
            laid[axis] = source.shape[i]
        source = source.reshape(laid)
    elif mode == "bidirectional":
        target = np.broadcast_shapes(source.shape, target)
    return _new(array, np.broadcast_to(source, target))


def concat(arrays, axis=0):
    return _new(arrays[0], np.concatenate([blocks(array) for array in arrays], axis))


# Layouts of oneDNN ---------------------------------------------------------------------------------


def letters(tag, ndim):
    """A format tag in oneDNN's neutral letters: "nChw16c" -> "aBcd16b"."""
    spatial = {3: "w", 4: "hw", 5: "dhw"}.get(ndim, "")
    if "n" not in tag:
        return tag
    names = dict(zip("nc" + spatial, "abcdefghijkl", strict=False))
    return "".join(names.get(x, names[x.lower()].upper() if x.lower() in names else x) for x in tag)


def to_layout(array, tag):
    """The bytes of `array` as oneDNN lays them out under `tag`, padding zero; blocks nest left to right."""
    neutral = letters(tag, array.ndim)
    order = re.match("[A-Za-z]+", neutral).group().rstrip("0123456789")
    inner = [(int(n), "abcdefghijkl".index(x)) for n, x in re.findall(r"(\d+)([a-z])", neutral)]
    source = blocks(array)
    padded = list(source.shape)
    for axis in range(array.ndim):
        block = int(np.prod([n for n, a in inner if a == axis], dtype=int))
        padded[axis] = -(-padded[axis] // block) * block
    work = np.zeros(padded, source.dtype)
    work[tuple(slice(n) for n in source.shape)] = source
    # Cut every axis into its outer part and its blocks, outermost block first.
    shape, outer, position = [], {}, {}
    for axis in range(array.ndim):
        sizes = [(i, n) for i, (n, a) in enumerate(inner) if a == axis]
        outer[axis] = len(shape)
        shape.append(padded[axis] // int(np.prod([n for _, n in sizes], dtype=int)))
        for i, n in sizes:
            position[i] = len(shape)
            shape.append(n)
    axes = [outer["abcdefghijkl".index(x.lower())] for x in order] + [position[i] for i in range(len(inner))]
    return work.reshape(shape).transpose(axes).tobytes()

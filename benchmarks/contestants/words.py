"""A problem in the words a peer knows: elements of other sizes become one more, innermost axis."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.contestants.contestant import UnsupportedError
from benchmarks.operations import Pairs, Problem


@dataclass
class Worded:
    """A problem's arrays and parameters with a type that the peer has."""

    shape: tuple[int, ...]
    params: dict[str, Any]
    inputs: list[np.ndarray]
    parent: np.ndarray
    outs: list[np.ndarray]
    pairs: Pairs | None
    axes: int  # appended: 0 or 1


def as_words(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The same memory; each element becomes a row of words where it is wider than one."""
    count = array.itemsize // dtype.itemsize
    shape, strides = array.shape, array.strides
    reach = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    low = sum(min(0, r) for r in reach)
    high = sum(max(0, r) for r in reach) + array.itemsize
    if count > 1:
        shape, strides = (*shape, count), (*strides, dtype.itemsize)
    # The arenas outlive every contestant, so an address is enough to keep the memory.
    raw = (ctypes.c_uint8 * (high - low)).from_address(array.ctypes.data + low)
    return np.ndarray(shape, dtype, buffer=raw, offset=-low, strides=strides)


def in_words(problem: Problem, dtypes: dict[int, str]) -> Worded:
    """The problem with elements of the widest of `dtypes` (by itemsize) that divides its own."""
    case = problem.case
    fitting = [size for size in dtypes if case.itemsize % size == 0]
    if not fitting:
        raise UnsupportedError(f"no type of {case.itemsize} bytes")
    size = max(fitting)
    dtype = np.dtype(dtypes[size])
    count = case.itemsize // size
    params = dict(case.params)
    shape = case.shape
    if count > 1:
        shape = (*shape, count)
        if "order" in params:
            order = params["order"] or tuple(reversed(range(len(case.shape))))
            params["order"] = (*order, len(case.shape))
        if "target" in params:
            params["target"] = (*params["target"], count)
    if "axis" in params:
        params["axis"] %= max(1, len(case.shape))

    def convert(array: np.ndarray) -> np.ndarray:
        return as_words(array, dtype)

    pairs = [(convert(dst), convert(src)) for dst, src in problem.pairs] if problem.pairs is not None else None
    return Worded(
        shape,
        params,
        [convert(array) for array in problem.inputs],
        convert(problem.parent),
        [convert(out) for out in problem.outs],
        pairs,
        int(count > 1),
    )

"""A strided copy as a permutation of dense axes, which is how the libraries for tensor transposes take it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.contestants.contestant import UnsupportedError


@dataclass(frozen=True)
class Permutation:
    """The source dense in C order with these `sizes`; axis i of the result is its axis `order[i]`."""

    sizes: tuple[int, ...]
    order: tuple[int, ...]


def _dense_order(array: np.ndarray) -> list[int]:
    """The axes from the slowest to the fastest, those of length 1 left out."""
    axes = [axis for axis, length in enumerate(array.shape) if length != 1]
    axes.sort(key=lambda axis: -array.strides[axis])
    expected = array.itemsize
    for axis in reversed(axes):
        if array.strides[axis] != expected:
            raise UnsupportedError("takes dense arrays only")
        expected *= array.shape[axis]
    return axes


def permutation(dst: np.ndarray, src: np.ndarray) -> Permutation:
    """What turns the memory of `src` into that of `dst`, with axes that stay together merged."""
    source, result = _dense_order(src), _dense_order(dst)
    runs: list[list[int]] = []
    for axis in result:
        follows = runs and source.index(axis) == source.index(runs[-1][-1]) + 1
        if follows:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    by_source = sorted(runs, key=lambda run: source.index(run[0]))
    sizes = tuple(int(np.prod([src.shape[axis] for axis in run])) for run in by_source)
    return Permutation(sizes, tuple(by_source.index(run) for run in runs))

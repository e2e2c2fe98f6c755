"""What every function over dask arrays needs: checks before the graph is built, and the tasks that move a block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt

import dnnmove as dm

__all__ = [
    "all_known",
    "axis_of",
    "checked",
    "copied",
    "known",
    "label",
    "map_blocks",
    "meta_of",
    "moved",
    "placeholder",
    "viewed",
    "whole",
]


def moved(block: npt.NDArray[Any], call: str, arguments: dict[str, Any]) -> Any:
    """A task: an eager function on a block, on this one thread; the scheduler has threads of its own."""
    with dm.num_threads(1):
        return getattr(dm, call)(block, **arguments)


def viewed(block: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A task: the same bytes under another dtype of their size."""
    return np.asarray(block).view(dtype)


def copied(block: npt.NDArray[Any], dtype: np.dtype[Any] | None = None) -> Any:
    """A task: new C-contiguous memory, of views of any strides; a `dtype` of the same size names the bytes anew."""
    with dm.num_threads(1):
        result = dm.transpose(np.asarray(block), range(block.ndim))
    return result if dtype is None else result.view(dtype)


def meta_of(ndim: int, dtype: Any) -> npt.NDArray[Any]:
    """What dask takes for the kind of a block."""
    return np.empty((0,) * ndim, dtype)


def label(name: str) -> str:
    """How tasks are called, so that dask's dashboard shows all of it.

    It shows words of letters alone, and of these none of eight letters that begins as a hexadecimal number does.
    """
    return f"dnnmove-{name}".replace("_", "-").replace("byteswap", "byte-swap").replace("channels", "channel")


def map_blocks(function: Callable[..., Any], x: Any, name: str, **arguments: Any) -> Any:
    """The function on each block, which keeps its shape; tasks are called by its name."""
    return da.map_blocks(function, x, token=label(name), dtype=x.dtype, meta=meta_of(x.ndim, x.dtype), **arguments)


def _dask_array(x: Any, name: str) -> None:
    if not isinstance(x, da.Array):
        raise TypeError(f"{name} must be a dask array, not {type(x).__name__}: dask.array.from_array makes one")
    if type(x._meta) is not np.ndarray:
        raise TypeError(f"{name} must have NumPy arrays as its blocks, not {type(x._meta).__name__}")


def placeholder(x: Any, name: str = "data") -> npt.NDArray[Any]:
    """An array of the shape and dtype that takes no memory, for the eager functions' checks; unknown lengths are 0."""
    _dask_array(x, name)
    shape = tuple(0 if math.isnan(n) else n for n in x.shape)
    return np.broadcast_to(np.empty((), x.dtype), shape)


def checked(function: Callable[..., Any], data: Any, *arguments: Any, out: Any = None, **named: Any) -> None:
    """Raise what the eager function raises for these arguments; it computes nothing, since its `out` never fits.

    `data` is a placeholder or a list of them.
    """
    first = data[0] if isinstance(data, list) and data else data
    odd = np.empty((0,) * 41, getattr(first, "dtype", np.uint8))  # no result has as many axes
    try:
        function(data, *arguments, out=odd if out is None else out, **named)
    except (TypeError, ValueError) as error:
        if not str(error).startswith("out"):
            raise


def whole(x: Any, axis: int) -> Any:
    """The array with one chunk along the axis, whose length must be known."""
    known(x, axis)
    return x if x.numblocks[axis] == 1 else x.rechunk({axis: -1})


def known(x: Any, axis: int, name: str = "data") -> None:
    """Raise if the length of the axis is not known."""
    if math.isnan(x.shape[axis]):
        raise ValueError(
            f"{name}.shape[{axis}] must be known, but its chunks are of unknown sizes: "
            "compute_chunk_sizes() finds them out"
        )


def axis_of(axis: Any, ndim: int) -> int:
    """A checked axis, which may be an array of one, counted from the front."""
    return int(np.ravel(axis)[0]) % ndim


def all_known(x: Any, name: str, axes: Sequence[int] | None = None) -> None:
    """Raise if the length of one of the axes (all by default) is not known."""
    for axis in range(x.ndim) if axes is None else axes:
        known(x, axis, name)

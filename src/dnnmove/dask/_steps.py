"""One step of a chain over dask arrays: which axes may stay in chunks, and a task for each block."""

from __future__ import annotations

import functools
import itertools
import math
import re
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

import dnnmove as dm
from dnnmove.dask._blocks import checked, label, meta_of, placeholder, whole

__all__ = ["Kept", "axes_of", "check", "kept_in_order", "mapped", "plain_axes"]


class Kept(NamedTuple):
    """An axis whose positions become positions of one axis of the result, so that it may stay in chunks."""

    out: int
    into: int = 1  # each `per` positions become so many
    per: int = 1
    backwards: bool = False  # the blocks in the other order


# What an unknown length is taken for, until it turns out whether it matters: something that suits most steps.
_STAND_INS = (0, 1, 720720)


def check(name: str, data: Any, *arguments: Any, **lengths: Any) -> None:
    """Raise what the eager function raises; what depends on unknown lengths is left to those who need them."""
    placeholder(data)
    shapes = [tuple(stand_in if math.isnan(n) else n for n in data.shape) for stand_in in _STAND_INS]
    for i, shape in enumerate(shapes):
        try:
            checked(getattr(dm, name), np.broadcast_to(np.empty((), data.dtype), shape), *arguments, **lengths)
        except (TypeError, ValueError, IndexError):
            if i + 1 == len(shapes) or shape == shapes[i + 1]:
                raise
        else:
            return


def axes_of(axis: Any, ndim: int) -> list[int]:
    """Checked axes, counted from the front; None stands for all."""
    return list(range(ndim)) if axis is None else [int(each) % ndim for each in np.ravel(axis)]


def kept_in_order(ndim: int, out: list[int], touched: Any = ()) -> dict[int, Kept]:
    """All axes but those that are touched, each with its place in the result."""
    return {axis: Kept(out[axis]) for axis in range(ndim) if axis not in touched}


def _dimensions(side: str, ndim: int) -> list[str]:
    """A side of a pattern, dimension by dimension; an ellipsis stands for what others leave of `ndim`."""
    parts = re.findall(r"\([^)]*\)|\.\.\.|\w+", side)
    more = [f"...{i}" for i in range(ndim - len(parts) + 1)]
    return [name for part in parts for name in (more if part == "..." else [part])]


def plain_axes(pattern: str, ndim: int) -> dict[str, tuple[int, Kept]]:
    """The names that are a dimension of their own on both sides, with the axis and its place in the result."""
    left_text, right_text = pattern.split("->")
    left = _dimensions(left_text, ndim)
    others = len(_dimensions(left_text.replace("...", ""), 0))
    right = _dimensions(right_text, ndim - others + len(_dimensions(right_text.replace("...", ""), 0)))
    return {name: (left.index(name), Kept(right.index(name))) for name in left if name in right and name[0] not in "(1"}


def _moved(block: npt.NDArray[Any], call: str, arguments: tuple[Any, ...], lengths: dict[str, Any]) -> Any:
    """A task: an eager function on a block, on this one thread."""
    with dm.num_threads(1):
        return getattr(dm, call)(np.asarray(block), *arguments, **lengths)


def mapped(name: str, data: Any, kept: dict[int, Kept], *arguments: Any, **lengths: Any) -> Any:
    """The step on every block; axes that are not kept become whole, and those whose chunks do not suit `per`."""
    for axis in range(data.ndim):
        if axis not in kept or any(n % kept[axis].per for n in data.chunks[axis] if kept[axis].per > 1):
            data = whole(data, axis)
    sample = tuple(kept[axis].per if axis in kept else data.shape[axis] for axis in range(data.ndim))
    step = getattr(dm.Chain(dm.MemoryDesc(sample, data.dtype)), name)(*arguments, **lengths)
    chunks = [(n,) for n in step.dst_desc.dims]
    for axis, (out, into, per, backwards) in kept.items():
        chunks[out] = tuple(n * into // per for n in data.chunks[axis])[:: -1 if backwards else 1]
    task = functools.partial(_moved, call=name, arguments=arguments, lengths=lengths)
    token = f"{label(name)}-{tokenize(data.name, arguments, lengths)}"
    tasks = {}
    for block in itertools.product(*map(range, data.numblocks)):
        place = [0] * len(chunks)
        for axis, (out, _, _, backwards) in kept.items():
            place[out] = data.numblocks[axis] - 1 - block[axis] if backwards else block[axis]
        tasks[(token, *place)] = (task, (data.name, *block))
    graph = HighLevelGraph.from_collections(token, tasks, dependencies=[data])
    return da.Array(graph, token, tuple(chunks), meta=meta_of(len(chunks), step.dst_desc.dtype))

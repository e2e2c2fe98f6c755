"""The eager function `pad` for dask arrays: the outer chunks move, the others are handed on."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import dask
import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph
from dask.utils import parse_bytes

import dnnmove as dm
from dnnmove.dask._blocks import copied, known, map_blocks, meta_of, whole
from dnnmove.dask._steps import check

__all__ = ["pad"]

Mode = Literal["constant", "edge", "reflect", "wrap"]


class Run(NamedTuple):
    """Positions of the padded axis that are neighbours in the data's axis too, or all one position, or all new."""

    start: int  # in the data's axis; of one constant it does not matter
    extent: int
    step: int  # 1, -1, 0 (one position, repeated) or _NEW


_NEW = 2  # no step: the constant


class Piece(NamedTuple):
    """What one block of the result takes from one block of the data: a run within the block."""

    block: int
    run: Run


def pad(data: Any, pad_width: Any, mode: Mode = "constant", constant_value: Any = 0) -> Any:
    """Put more elements around the data, as `dnnmove.pad` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; where a width of "reflect" or "wrap" is the length of an axis or more, that axis becomes whole.
        Chunks of unknown sizes stay along axes that are not padded, and in mode "constant" along all.
    pad_width : int, pair of int, sequence of pairs, or dict
        How many elements before and after: one width for all, (before, after) for all axes, one pair for each axis, or
        a width or a pair by axis.
    mode : {"constant", "edge", "reflect", "wrap"}, default "constant"
        What the new elements are: all one value, the first and the last element, the mirror image without these, or
        the elements from the other end.
    constant_value : scalar, default 0
        For mode "constant": a value that the dtype holds exactly.

    Returns
    -------
    dask array
        The outer chunks grow by the new elements, which have chunks of their own where there are more than the longest
        chunk has and than dask's configuration wants in a chunk. Inner chunks are those of `data`, not copied.

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> y = dd.pad(da.arange(6, chunks=2), (1, 2), "wrap")
    >>> y.chunks
    ((3, 2, 4),)
    >>> y.compute()
    array([5, 0, 1, 2, 3, 4, 5, 0, 1])
    """
    check("pad", data, pad_width, mode, constant_value)
    widths = _pairs(pad_width, data.ndim)
    local: dict[int, tuple[int, int]] = {}
    for axis, (before, after) in enumerate(widths):
        if before + after == 0:
            continue
        if mode != "constant":
            known(data, axis)
        again = mode in ("reflect", "wrap") and max(before, after) >= data.shape[axis]  # the axis more than once
        if again:
            data = whole(data, axis)
        most = _most(data, axis)
        if again or (max(before, after) <= most and _within(data.chunks[axis], before, after, mode)):
            local[axis] = (before, after)
        else:
            data = _composed(data, axis, (before, after), mode, constant_value, most)
    if local:
        return _grown(data, local, mode, constant_value)
    return data if any(map(sum, widths)) else map_blocks(copied, data, "pad")


def _pairs(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """The widths before and after each axis, of NumPy's forms, which are checked."""
    forms = [0] * ndim
    if isinstance(pad_width, Mapping):
        for axis, width in pad_width.items():
            forms[int(axis) % ndim] = width
    else:
        forms = np.broadcast_to(np.asarray(pad_width), (ndim, 2)).tolist() if ndim else []
    return [(int(before), int(after)) for before, after in (np.broadcast_to(np.asarray(w), (2,)) for w in forms)]


def _most(data: Any, axis: int) -> float:
    """How many new positions an outer chunk may take along the axis, so that it does not become too large."""
    longest = [max(n for n in chunks) for chunks in data.chunks]
    if any(math.isnan(n) for n in longest):
        return math.inf
    limit: int = parse_bytes(dask.config.get("array.chunk-size"))
    row = math.prod(n for i, n in enumerate(longest) if i != axis) * data.dtype.itemsize
    most: int = max(longest[axis], 1, limit // max(row, 1) - longest[axis])
    return most


def _within(chunks: tuple[int, ...], before: int, after: int, mode: Mode) -> bool:
    """Whether the outer chunks alone say what the new elements are."""
    if len(chunks) == 1 or mode == "constant":
        return True
    if mode == "wrap":
        return False
    more = 0 if mode == "edge" else 1  # the mirror itself is not repeated
    return all(n > width * more for n, width in ((chunks[0], before), (chunks[-1], after)) if width)


def _padded(block: npt.NDArray[Any], widths: dict[int, tuple[int, int]], mode: Mode, constant: Any) -> Any:
    """A task: a block with what comes before and after it, on this one thread."""
    with dm.num_threads(1):
        return dm.pad(np.asarray(block), widths, mode, constant)


def _grown(data: Any, widths: dict[int, tuple[int, int]], mode: Mode, constant: Any) -> Any:
    """Every outer block padded by itself, all axes at once."""
    name = f"dnnmove-pad-{tokenize(data.name, widths, mode, constant)}"
    task = functools.partial(_padded, mode=mode, constant=constant)
    tasks: dict[Any, Any] = {}
    for block in itertools.product(*map(range, data.numblocks)):
        sides = {
            axis: (before * (block[axis] == 0), after * (block[axis] + 1 == data.numblocks[axis]))
            for axis, (before, after) in widths.items()
        }
        source = (data.name, *block)
        tasks[(name, *block)] = (task, source, sides) if any(map(any, sides.values())) else source
    chunks = list(data.chunks)
    for axis, (before, after) in widths.items():
        lengths = list(chunks[axis])
        lengths[0] += before
        lengths[-1] += after
        chunks[axis] = tuple(lengths)
    return _array(name, tasks, tuple(chunks), data)


def _array(name: str, tasks: dict[Any, Any], chunks: tuple[Any, ...], data: Any) -> Any:
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[data])
    return da.Array(graph, name, chunks, meta=meta_of(data.ndim, data.dtype))


def _runs(first: int, last: int, length: int, mode: Mode) -> list[Run]:
    """Of the padded axis, where the data begin at 0: the positions [first, last), all before the data or all behind."""
    if mode == "constant":
        return [Run(0, last - first, _NEW)]
    if mode == "edge":
        return [Run(0 if first < 0 else length - 1, last - first, 0)]
    runs = []
    period = length if mode == "wrap" else 2 * (length - 1)
    while first < last:
        at = first % period
        if mode == "wrap" or at < length - 1:
            run = Run(at, min(last - first, (length if mode == "wrap" else length - 1) - at), 1)
        else:
            run = Run(period - at, min(last - first, period - at), -1)
        runs.append(run)
        first += run.extent
    return runs


def _pieces(run: Run, chunks: tuple[int, ...]) -> list[Piece]:
    """A run cut where blocks of the data end, with positions counted from the block's first."""
    if run.step == _NEW:
        return [Piece(0, run)]
    ends = list(itertools.accumulate(chunks))
    pieces = []
    start, left = run.start, run.extent
    while left:
        block = next(i for i, end in enumerate(ends) if start < end)
        begin = ends[block] - chunks[block]
        count = min(left, {1: ends[block] - start, -1: start - begin + 1, 0: left}[run.step])
        pieces.append(Piece(block, Run(start - begin, count, run.step)))
        start, left = start + run.step * count, left - count
    return pieces


def _taken(block: npt.NDArray[Any], axis: int, run: Run, constant: Any) -> npt.NDArray[Any]:
    """The run of a block's axis: a view, of stride 0 where one position is repeated, or new elements."""
    shape = (*block.shape[:axis], run.extent, *block.shape[axis + 1 :])
    if run.step == _NEW:
        return np.broadcast_to(dm.pad(np.empty((0,), block.dtype), (1, 0), constant_value=constant), shape)
    before = (slice(None),) * axis
    if run.step == 0:
        return np.broadcast_to(block[(*before, slice(run.start, run.start + 1))], shape)
    stop = run.start + run.step * run.extent
    return block[(*before, slice(run.start, None if stop < 0 else stop, run.step))]


def _put_together(blocks: list[npt.NDArray[Any]], axis: int, runs: list[Run], constant: Any) -> Any:
    """A task: the runs of some blocks one after the other, on this one thread."""
    with dm.num_threads(1):
        return dm.concat(
            [_taken(np.asarray(b), axis, run, constant) for b, run in zip(blocks, runs, strict=True)], axis
        )


def _cut(runs: list[Run], chunks: tuple[int, ...], most: float) -> list[list[Piece]]:
    """The new elements of one side: blocks of their own, of at most so many, where they are more than that."""
    if sum(run.extent for run in runs) <= most:
        return [[piece for run in runs for piece in _pieces(run, chunks)]]
    blocks = []
    for run in runs:
        for start in range(0, run.extent, int(most)):
            part = Run(run.start + start * run.step, min(int(most), run.extent - start), run.step)
            blocks.append(_pieces(part, chunks))
    return blocks


def _composed(data: Any, axis: int, widths: tuple[int, int], mode: Mode, constant: Any, most: float) -> Any:
    """One axis padded by what other blocks, or parts of blocks, hold."""
    lengths = data.chunks[axis]
    length = data.shape[axis]
    blocks = [[Piece(i, Run(0, n, 1))] for i, n in enumerate(lengths)]
    before = _cut(_runs(-widths[0], 0, length, mode), lengths, most) if widths[0] else []
    after = _cut(_runs(length, length + widths[1], length, mode), lengths, most) if widths[1] else []
    if len(before) == 1:
        blocks[0] = before.pop() + blocks[0]
    if len(after) == 1:
        blocks[-1] = blocks[-1] + after.pop()
    blocks = before + blocks + after
    name = f"dnnmove-pad-{tokenize(data.name, axis, widths, mode, constant, most)}"
    others = [range(n) for n in data.numblocks]
    others[axis] = range(len(blocks))
    tasks: dict[Any, Any] = {}
    for place in itertools.product(*others):
        pieces = blocks[place[axis]]
        sources = [(data.name, *place[:axis], piece.block, *place[axis + 1 :]) for piece in pieces]
        runs = [piece.run for piece in pieces]
        kept = len(pieces) == 1 and runs[0] == Run(0, lengths[pieces[0].block], 1)
        tasks[(name, *place)] = sources[0] if kept else (_put_together, sources, axis, runs, constant)
    chunks = list(data.chunks)
    chunks[axis] = tuple(sum(piece.run.extent for piece in block) for block in blocks)
    return _array(name, tasks, tuple(chunks), data)

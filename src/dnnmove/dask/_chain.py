"""Chains over dask arrays: block by block along axis 0 where the steps allow it, else on the whole array."""

from __future__ import annotations

import math
import operator
import pickle
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

import dnnmove as dm
from dnnmove.dask._blocks import all_known, meta_of, placeholder

__all__ = ["ChainOverBlocks", "chain"]

MOST_TRIED = 256 << 20  # bytes: of larger images nothing is tried, they count as one block


def _ran(built: dm.BuiltChain, block: npt.NDArray[Any]) -> Any:
    """A task: the chain on a block, on this one thread."""
    with dm.num_threads(1):
        return built(np.asarray(block, order="C"))


def _tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _joined_axes(built: dm.BuiltChain) -> list[tuple[int, tuple[int, ...]]] | None:
    """For each output, the axis along which the results of parts of axis 0 join to that of the whole, and its shape
    for one position of axis 0; None where they do not.

    The chain itself is asked, with arrays of several extents and random bits: whether it takes them, and whether what
    it makes of each position is what it makes of that position alone.
    """
    desc = built.src_desc
    rest = desc.dims[1:]
    size = math.prod(rest) * desc.dtype.itemsize
    if desc.ndim == 0 or not 0 < size <= MOST_TRIED // 16:
        return None
    generator = np.random.default_rng(0)
    found: list[tuple[int, tuple[int, ...]]] | None = None
    for count in (2, 3, 5) * (1 if size >= 64 else 8):  # a few bytes may agree by chance
        raw = generator.integers(0, 2 if desc.dtype.kind == "b" else 256, count * size, np.uint8)
        x = raw.view(desc.dtype).reshape(count, *rest)
        try:
            parts = [_tuple(built(x[i : i + 1])) for i in range(count)]
            together = _tuple(built(x))
        except ValueError:
            return None
        axes = [_joined_axis([part[k] for part in parts], whole) for k, whole in enumerate(together)]
        shapes = [part.shape for part in parts[0]]
        if None in axes or (found is not None and [axis for axis, _ in found] != axes):
            return None
        found = [(axis, shape) for axis, shape in zip(axes, shapes, strict=True) if axis is not None]
    return found


def _joined_axis(parts: list[npt.NDArray[Any]], whole: npt.NDArray[Any]) -> int | None:
    if whole.ndim != parts[0].ndim:
        return None
    differing = [axis for axis in range(whole.ndim) if whole.shape[axis] != parts[0].shape[axis]]
    if len(differing) != 1:
        return None
    joined = np.concatenate(parts, differing[0])
    same = joined.shape == whole.shape and joined.tobytes() == whole.tobytes()
    return differing[0] if same else None


class ChainOverBlocks:
    """A chain as a function of dask arrays; made by `chain`."""

    def __init__(self, built: dm.BuiltChain) -> None:
        if not hasattr(built, "src_desc"):
            raise ValueError(
                f"chain must have one source, not a list of {len(built.src_descs)}: join them with dask first"
            )
        desc = built.src_desc
        if desc != dm.MemoryDesc(desc.dims, desc.dtype):
            raise ValueError(f"chain must be built for a dense row-major layout, which blocks have, not for {desc}")
        self._built = built
        self._descs = (built.dst_desc,) if hasattr(built, "dst_desc") else built.dst_descs
        self._joined = _joined_axes(built)

    @property
    def blockwise(self) -> bool:
        """Whether each position of axis 0 is worked on alone, so that the array may be chunked along it."""
        return self._joined is not None

    def __call__(self, x: Any) -> Any:
        """Build the graph.

        Parameters
        ----------
        x : dask array
            Of the dtype and shape that the chain was built for; along axis 0 of any length and any chunks, unknown
            ones included, where `blockwise`. Other axes, and all where not, are rechunked to one chunk.

        Returns
        -------
        dask array or tuple of dask arrays
            A tuple where the chain splits.

        Raises
        ------
        TypeError
            `x` is no dask array of NumPy arrays, or its dtype differs.
        ValueError
            Its shape differs, or is unknown where it must be whole.
        """
        placeholder(x, "x")
        desc = self._built.src_desc
        if x.dtype != desc.dtype:
            raise TypeError(f"x must have the dtype {desc.dtype}, which the chain was built for, not {x.dtype}")
        if x.ndim != desc.ndim:
            raise ValueError(f"x must have {desc.ndim} axes, as the chain was built for {desc.dims}, not {x.ndim}")
        all_known(x, "x", range(1 if self.blockwise else 0, x.ndim))
        fixed = slice(1 if self.blockwise else 0, None)
        if x.shape[fixed] != desc.dims[fixed]:
            why = "" if self.blockwise or x.ndim == 0 else "; its steps do not leave the positions of axis 0 apart"
            raise ValueError(f"x must have the shape {desc.dims}, which the chain was built for, not {x.shape}{why}")
        x = x.rechunk({axis: -1 for axis in range(fixed.start, x.ndim) if x.numblocks[axis] > 1})
        outputs = self._outputs(x)
        return outputs if not hasattr(self._built, "dst_desc") else outputs[0]

    def _outputs(self, x: Any) -> tuple[Any, ...]:
        token = tokenize(pickle.dumps(self._built), x.name)
        run = f"dnnmove-chain-blocks-{token}"
        zeros = (0,) * (x.ndim - 1)
        blocks = [(x.name, i, *zeros) for i in range(x.numblocks[0])] if x.ndim else [(x.name,)]
        tasks = {(run, i): (_ran, self._built, block) for i, block in enumerate(blocks)}
        graph = HighLevelGraph.from_collections(run, tasks, dependencies=[x])
        return tuple(self._output(x, graph, run, k) for k in range(len(self._descs)))

    def _output(self, x: Any, graph: Any, run: str, k: int) -> Any:
        desc = self._descs[k]
        count = x.numblocks[0] if x.ndim else 1
        chunks = [(n,) for n in desc.dims]
        at = 0
        if self._joined is not None:
            at, shape = self._joined[k]
            chunks = [(n,) for n in shape]
            chunks[at] = tuple(n * shape[at] for n in x.chunks[0])
        name = f"dnnmove-chain-{tokenize(run, k)}"
        single = hasattr(self._built, "dst_desc")
        tasks = {}
        for i in range(count):
            key = tuple(i if axis == at and self._joined is not None else 0 for axis in range(len(chunks)))
            tasks[(name, *key)] = (_same, (run, i)) if single else (operator.getitem, (run, i), k)
        layers = HighLevelGraph({**graph.layers, name: tasks}, {**graph.dependencies, name: {run}})
        return da.Array(layers, name, tuple(chunks), meta=meta_of(len(chunks), desc.dtype))

    def __repr__(self) -> str:
        return f"<ChainOverBlocks of {self._built!r}, {'block by block' if self.blockwise else 'on the whole array'}>"


def _same(x: Any) -> Any:
    return x


def chain(chain: dm.Chain | dm.BuiltChain) -> ChainOverBlocks:
    """Make a chain a function of dask arrays.

    Parameters
    ----------
    chain : Chain or BuiltChain
        Of one dense row-major source: of the whole array, or of a part of it along axis 0, a batch.

    Returns
    -------
    ChainOverBlocks
        Called with a dask array, it returns one or, where the chain splits, a tuple. If the steps work on each
        position of axis 0 alone, each block of a chunked axis 0 is one task and one trip through memory.

    Raises
    ------
    TypeError
        `chain` is no chain.
    ValueError
        Its source is not dense and row-major.

    Examples
    --------
    >>> import dask.array as da, dnnmove as dm
    >>> from dnnmove import dask as dd
    >>> steps = dm.Chain(dm.MemoryDesc((1, 4, 3), "int64")).shuffle_channels(1, 2).transpose((0, 2, 1))
    >>> y = dd.chain(steps)(da.arange(60, chunks=7).reshape(5, 4, 3).rechunk((2, 3, 3)))
    >>> y.chunks
    ((2, 2, 1), (3,), (4,))
    >>> y[0].compute()
    array([[ 0,  6,  3,  9],
           [ 1,  7,  4, 10],
           [ 2,  8,  5, 11]])
    """
    if not isinstance(chain, dm.Chain | dm.BuiltChain):
        raise TypeError(f"chain must be a Chain or a BuiltChain, not {type(chain).__name__}")
    return ChainOverBlocks(chain.build() if isinstance(chain, dm.Chain) else chain)

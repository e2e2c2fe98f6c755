"""The eager functions, for dask arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np

import dnnmove as dm
from dnnmove.dask._blocks import (
    all_known,
    axis_of,
    checked,
    copied,
    known,
    label,
    map_blocks,
    meta_of,
    moved,
    placeholder,
    viewed,
    whole,
)

__all__ = [
    "broadcast",
    "concat",
    "shuffle",
    "shuffle_backward",
    "shuffle_channels",
    "split",
    "stack",
    "transpose",
    "variadic_split",
]


def _shuffled(name: str, data: Any, axis: Any, size: Any, word: str) -> Any:
    checked(getattr(dm, name), placeholder(data, "diff_dst" if name == "shuffle_backward" else "data"), axis, size)
    at = axis_of(axis, data.ndim)
    arguments = {"axis": at, word: operator.index(size)}
    return map_blocks(moved, whole(data, at), name, call=name, arguments=arguments)


def shuffle(data: Any, axis: Any, group_size: Any) -> Any:
    """Shuffle an axis in groups of a size, as `dnnmove.shuffle` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; rechunked along `axis` only.
    axis : int
        In [-ndim, ndim).
    group_size : int
        The size of one group, which divides the axis.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.shuffle(da.arange(6, chunks=2), axis=0, group_size=3).compute()
    array([0, 3, 1, 4, 2, 5])
    """
    return _shuffled("shuffle", data, axis, group_size, "group_size")


def shuffle_backward(diff_dst: Any, axis: Any, group_size: Any) -> Any:
    """Undo `shuffle`, as `dnnmove.shuffle_backward` does.

    Parameters
    ----------
    diff_dst : dask array
        Of any chunks; rechunked along `axis` only.
    axis : int
        In [-ndim, ndim).
    group_size : int
        That of the shuffle to undo.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.shuffle_backward(dd.shuffle(da.arange(6, chunks=2), 0, 3), 0, 3).compute()
    array([0, 1, 2, 3, 4, 5])
    """
    return _shuffled("shuffle_backward", diff_dst, axis, group_size, "group_size")


def shuffle_channels(data: Any, axis: Any = 1, group: Any = 1) -> Any:
    """Shuffle an axis in a number of groups, as `dnnmove.shuffle_channels` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; rechunked along `axis` only.
    axis : int, default 1
        In [-ndim, ndim).
    group : int, default 1
        The number of groups, which divides the axis.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.shuffle_channels(da.arange(6, chunks=2), axis=0, group=2).compute()
    array([0, 3, 1, 4, 2, 5])
    """
    return _shuffled("shuffle_channels", data, axis, group, "group")


def transpose(data: Any, input_order: Any = ()) -> Any:
    """Permute the axes, as `dnnmove.transpose` does; nothing is rechunked.

    Parameters
    ----------
    data : dask array
        Of any chunks, unknown sizes included.
    input_order : sequence of int, optional
        Every axis once; without it they are reversed.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.transpose(da.zeros((2, 3, 4), chunks=2), (0, 2, 1)).chunks
    ((2,), (2, 2), (2, 1))
    """
    checked(dm.transpose, placeholder(data), input_order)
    order = [int(axis) % data.ndim for axis in input_order] or list(reversed(range(data.ndim)))
    return da.blockwise(
        moved,
        tuple(order),
        data,
        tuple(range(data.ndim)),
        token="dnnmove-transpose",
        dtype=data.dtype,
        meta=meta_of(data.ndim, data.dtype),
        align_arrays=False,
        call="transpose",
        arguments={"input_order": tuple(order)},
    )


def _parts(data: Any, axis: int, lengths: Sequence[int], name: str) -> tuple[Any, ...]:
    known(data, axis)
    parts, start = [], 0
    for length in lengths:
        key = (slice(None),) * axis + (slice(start, start + length),)
        parts.append(map_blocks(copied, data[key], name))
        start += length
    return tuple(parts)


def variadic_split(data: Any, axis: Any, split_lengths: Any) -> tuple[Any, ...]:
    """Split an axis into parts of given lengths, as `dnnmove.variadic_split` does; nothing is rechunked.

    Parameters
    ----------
    data : dask array
        Of any chunks.
    axis : int
        In [-ndim, ndim).
    split_lengths : sequence of int
        One of them may be -1: what is left.

    Returns
    -------
    tuple of dask arrays

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> a, b = dd.variadic_split(da.arange(6, chunks=4), 0, [2, -1])
    >>> b.compute()
    array([2, 3, 4, 5])
    """
    like = placeholder(data)
    checked(dm.split, like, axis, 1, out=())  # the axis first: what does not fit an unknown length is not known
    at = axis_of(axis, data.ndim)
    known(data, at)
    checked(dm.variadic_split, like, axis, split_lengths, out=())
    lengths = [int(length) for length in split_lengths]
    if -1 in lengths:
        lengths[lengths.index(-1)] = data.shape[at] - sum(lengths) - 1
    return _parts(data, at, lengths, "variadic_split")


def split(data: Any, axis: Any, num_splits: Any) -> tuple[Any, ...]:
    """Split an axis into equal parts, as `dnnmove.split` does; nothing is rechunked.

    Parameters
    ----------
    data : dask array
        Of any chunks.
    axis : int
        In [-ndim, ndim).
    num_splits : int
        Divides the axis.

    Returns
    -------
    tuple of dask arrays

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> [part.compute().tolist() for part in dd.split(da.arange(6, chunks=4), 0, 3)]
    [[0, 1], [2, 3], [4, 5]]
    """
    checked(dm.split, placeholder(data), axis, num_splits, out=())
    at, count = axis_of(axis, data.ndim), operator.index(num_splits)
    known(data, at)
    return _parts(data, at, [data.shape[at] // count] * count, "split")


def broadcast(data: Any, target_shape: Any, axes_mapping: Any = None, mode: str = "numpy") -> Any:
    """Repeat an array to a shape, as `dnnmove.broadcast` does; nothing is rechunked.

    Parameters
    ----------
    data : dask array
        Of any chunks; all its lengths must be known.
    target_shape : sequence of int
        The result's shape, or what it is aligned with in mode "bidirectional".
    axes_mapping : sequence of int, optional
        In mode "explicit": the axis of the result for each of `data`.
    mode : str, default "numpy"
        "numpy", "explicit" or "bidirectional".

    Returns
    -------
    dask array
        Its chunks are those of `data`; along axes that grow, as large as dask's configuration says.

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.broadcast(da.arange(3, chunks=2), (2, 3)).compute()
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    like = placeholder(data)
    all_known(data, "data")
    checked(dm.broadcast, like, target_shape, axes_mapping, mode)
    shape = tuple(int(length) for length in target_shape)
    places = range(len(shape) - data.ndim, len(shape))  # of the axes of data, in the result
    if mode.lower() == "explicit":
        places = [int(axis) for axis in axes_mapping]  # type: ignore[assignment]
    elif mode.lower() == "bidirectional":
        shape = tuple(dm.Chain(dm.MemoryDesc(data.shape, data.dtype)).broadcast(shape, mode=mode).dst_desc.dims)
        places = range(len(shape) - data.ndim, len(shape))
    key = tuple(slice(None) if axis in places else None for axis in range(len(shape)))
    laid = data[key]
    laid = laid.rechunk({axis: -1 for axis in range(laid.ndim) if laid.shape[axis] != shape[axis]})
    grown = "auto" if 0 not in shape else -1
    chunks = tuple(
        chunk if have == want else grown for chunk, have, want in zip(laid.chunks, laid.shape, shape, strict=True)
    )
    chunks = da.core.normalize_chunks(chunks, shape, dtype=data.dtype)
    return map_blocks(copied, da.broadcast_to(laid, shape, chunks=chunks), "broadcast")


def concat(arrays: Any, axis: Any = 0) -> Any:
    """Join arrays along an axis, as `dnnmove.concat` does.

    Parameters
    ----------
    arrays : sequence of dask arrays
        Of one dtype and, but for `axis`, one shape.
    axis : int, default 0
        In [-ndim, ndim).

    Returns
    -------
    dask array
        Where the arrays' chunks differ along other axes, those are aligned.

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.concat([da.arange(3, chunks=2), da.arange(2)]).compute()
    array([0, 1, 2, 0, 1])
    """
    if isinstance(arrays, da.Array):
        raise TypeError("arrays must be a sequence of dask arrays, not one dask array")
    arrays = list(arrays)
    likes = [placeholder(array, f"arrays[{i}]") for i, array in enumerate(arrays)]
    checked(dm.concat, likes[:1], axis)
    at = axis_of(axis, arrays[0].ndim)
    for i, array in enumerate(arrays if len(arrays) > 1 else []):
        all_known(array, f"arrays[{i}]", [k for k in range(array.ndim) if k != at])
    checked(dm.concat, likes, axis)
    return _joined(arrays, at, "concat")


def stack(arrays: Any, axis: Any = 0) -> Any:
    """Join arrays along a new axis, as `dnnmove.stack` does.

    Parameters
    ----------
    arrays : sequence of dask arrays
        Of one dtype and one shape.
    axis : int, default 0
        The place of the new axis in the result, in [-ndim - 1, ndim].

    Returns
    -------
    dask array
        Where the arrays' chunks differ, they are aligned; along the new axis each has one position.

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.stack([da.arange(3, chunks=2), da.arange(3)], axis=1).compute()
    array([[0, 0],
           [1, 1],
           [2, 2]])
    """
    if isinstance(arrays, da.Array):
        raise TypeError("arrays must be a sequence of dask arrays, not one dask array")
    arrays = list(arrays)
    likes = [placeholder(array, f"arrays[{i}]") for i, array in enumerate(arrays)]
    checked(dm.stack, likes[:1], axis)
    at = axis_of(axis, arrays[0].ndim + 1)
    for i, array in enumerate(arrays if len(arrays) > 1 else []):
        all_known(array, f"arrays[{i}]")
    checked(dm.stack, likes, axis)
    return _joined([array[(slice(None),) * at + (None,)] for array in arrays], at, "stack")


def _joined(arrays: list[Any], at: int, name: str) -> Any:
    dtype = arrays[0].dtype
    if dtype.kind != "V" and dtype.isnative:
        return map_blocks(copied, da.concatenate(arrays, at), name)
    # Dask promotes dtypes, which would change byte orders and pack structs: it sees bytes only.
    raw = np.dtype((np.void, dtype.itemsize))
    joined = da.concatenate([array.map_blocks(viewed, raw, dtype=raw) for array in arrays], at)
    return da.map_blocks(copied, joined, dtype, token=label(name), dtype=dtype, meta=meta_of(joined.ndim, dtype))

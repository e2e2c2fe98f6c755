"""The eager functions that arrange the axes, for dask arrays: each one step of a chain on every block."""

from __future__ import annotations

import math
import operator
from typing import Any

import dask.array as da
import numpy as np

from dnnmove.dask._blocks import copied, known, meta_of, viewed
from dnnmove.dask._steps import Kept, axes_of, check, kept_in_order, mapped, plain_axes

__all__ = [
    "expand_dims",
    "flatten",
    "flip",
    "moveaxis",
    "rearrange",
    "roll",
    "squeeze",
    "swapaxes",
    "unflatten",
]


def squeeze(data: Any, axis: Any = None) -> Any:
    """Drop axes of length 1, as `dnnmove.squeeze` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; nothing is rechunked but axes with empty chunks beside the one position.
    axis : int or sequence of int, optional
        Which; all axes of length 1 by default, for which all lengths must be known.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.squeeze(da.zeros((1, 3, 1), chunks=2), axis=0).chunks
    ((2, 1), (1,))
    """
    check("squeeze", data, axis)
    if axis is None:
        for each in range(data.ndim):
            known(data, each)
        dropped = [each for each in range(data.ndim) if data.shape[each] == 1]
    else:
        dropped = axes_of(axis, data.ndim)
    out = list(np.cumsum([each not in dropped for each in range(data.ndim)]) - 1)
    return mapped("squeeze", data, kept_in_order(data.ndim, out, dropped), tuple(dropped))


def expand_dims(data: Any, axis: Any) -> Any:
    """Add axes of length 1, as `dnnmove.expand_dims` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; nothing is rechunked.
    axis : int or sequence of int
        Their places in the result.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.expand_dims(da.zeros((4, 3), chunks=2), 1).chunks
    ((2, 2), (1,), (2, 1))
    """
    check("expand_dims", data, axis)
    rank = data.ndim + np.size(axis)
    out = [each for each in range(rank) if each not in axes_of(axis, rank)]
    return mapped("expand_dims", data, kept_in_order(data.ndim, out), axis)


def moveaxis(data: Any, source: Any, destination: Any) -> Any:
    """Move axes to other places, as `dnnmove.moveaxis` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; nothing is rechunked.
    source : int or sequence of int
        In [-ndim, ndim).
    destination : int or sequence of int
        A place in the result for each.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.moveaxis(da.zeros((2, 3, 4), chunks=2), 0, -1).chunks
    ((2, 1), (2, 2), (2,))
    """
    check("moveaxis", data, source, destination)
    numbered = np.empty(tuple(range(data.ndim)))  # each axis as long as its number
    order = np.moveaxis(numbered, axes_of(source, data.ndim), axes_of(destination, data.ndim)).shape
    return mapped("moveaxis", data, kept_in_order(data.ndim, list(np.argsort(order))), source, destination)


def swapaxes(data: Any, axis1: Any, axis2: Any) -> Any:
    """Exchange two axes, as `dnnmove.swapaxes` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; nothing is rechunked.
    axis1, axis2 : int
        In [-ndim, ndim).

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.swapaxes(da.zeros((2, 3, 4), chunks=2), 0, 1).chunks
    ((2, 1), (2,), (2, 2))
    """
    check("swapaxes", data, axis1, axis2)
    out = list(range(data.ndim))
    ((a,), (b,)) = axes_of(axis1, data.ndim), axes_of(axis2, data.ndim)
    out[a], out[b] = b, a
    return mapped("swapaxes", data, kept_in_order(data.ndim, out), axis1, axis2)


def flatten(data: Any, start: Any = 0, end: Any = -1) -> Any:
    """Merge neighbouring axes into one, as `dnnmove.flatten` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; all that are merged but the first become whole.
    start, end : int, default 0 and -1
        The first and the last of them.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.flatten(da.zeros((4, 3), chunks=2)).chunks
    ((6, 6),)
    """
    check("flatten", data, start, end)
    if data.ndim == 0:
        return mapped("flatten", data, {}, start, end)
    ((first,), (last,)) = axes_of(start, data.ndim), axes_of(end, data.ndim)
    for axis in range(first + 1, last + 1):
        known(data, axis)
    out = [axis if axis <= first else axis - (last - first) for axis in range(data.ndim)]
    kept = kept_in_order(data.ndim, out, range(first, last + 1))
    kept[first] = Kept(first, math.prod(data.shape[first + 1 : last + 1]))
    return mapped("flatten", data, kept, start, end)


def unflatten(data: Any, axis: Any, sizes: Any) -> Any:
    """Cut one axis into several, as `dnnmove.unflatten` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; `axis` becomes whole where its chunks do not end between positions of the first new one.
    axis : int
        In [-ndim, ndim).
    sizes : sequence of int
        Their lengths, whose product is the axis'; one may be -1, which takes what is left.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.unflatten(da.zeros(12, chunks=8), 0, (3, -1)).chunks
    ((2, 1), (4,))
    """
    check("unflatten", data, axis, sizes)
    (at,) = axes_of(axis, data.ndim)
    known(data, at)
    lengths = [int(length) for length in sizes]
    rest = math.prod(lengths[1:])
    if rest < 0:
        lengths[lengths.index(-1)] = data.shape[at] // abs(math.prod(lengths)) if math.prod(lengths) else 0
        rest = math.prod(lengths[1:])
    out = [each if each <= at else each + len(lengths) - 1 for each in range(data.ndim)]
    kept = kept_in_order(data.ndim, out, [at])
    if rest > 0:
        kept[at] = Kept(at, 1, rest)
        lengths[0] = -1
    return mapped("unflatten", data, kept, at, tuple(lengths))


def flip(data: Any, axis: Any = None) -> Any:
    """Reverse the order of the elements along axes, as `dnnmove.flip` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; nothing is rechunked.
    axis : int or sequence of int, optional
        Which; all axes by default.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.flip(da.arange(5, chunks=3)).chunks
    ((2, 3),)
    """
    check("flip", data, axis)
    flipped = axes_of(axis, data.ndim)
    kept = {each: Kept(each, backwards=each in flipped) for each in range(data.ndim)}
    return mapped("flip", data, kept, tuple(flipped))


def roll(data: Any, shift: Any, axis: Any = None) -> Any:
    """Shift the elements along axes; what leaves at one end comes in at the other, as `dnnmove.roll` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; nothing is rechunked along the axes, all where the flattened data are shifted.
    shift : int or sequence of int
        By how many places, towards the end where positive.
    axis : int or sequence of int, optional
        Along which axes; by default the flattened data are shifted.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.roll(da.arange(5, chunks=3), 2, axis=0).compute()
    array([3, 4, 0, 1, 2])
    """
    check("roll", data, shift, axis)
    if axis is None:
        return mapped("roll", data, {}, shift)
    axes = axes_of(axis, data.ndim)
    shifts = [operator.index(each) for each in (np.ravel(shift).tolist() if np.ndim(shift) else [shift])]
    # Dask promotes dtypes as it concatenates, which would change byte orders and pack structs: it sees bytes only.
    dtype = data.dtype
    plain = dtype.kind != "V" and dtype.isnative
    rolled = data if plain else data.map_blocks(viewed, np.dtype((np.void, dtype.itemsize)))
    for each, places in zip(axes, shifts * len(axes) if len(shifts) == 1 else shifts, strict=True):
        known(data, each)
        cut = -places % data.shape[each] if data.shape[each] else 0
        if cut:
            before = (slice(None),) * each
            ends = [rolled[(*before, slice(cut, None))], rolled[(*before, slice(cut))]]
            rolled = da.concatenate(ends, each, allow_unknown_chunksizes=True)
    return da.map_blocks(
        copied, rolled, None if plain else dtype, token="dnnmove-roll", dtype=dtype, meta=meta_of(data.ndim, dtype)
    )


def rearrange(data: Any, pattern: str, /, **lengths: Any) -> Any:
    """Arrange the axes by a pattern of einops, as `dnnmove.rearrange` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; axes that are merged or cut become whole.
    pattern : str
        As in ``"n (g c) h w -> n (c g) h w"``.
    **lengths : int
        Of names that the shape does not decide.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> x = da.zeros((2, 6, 4), chunks=(1, 3, 2))
    >>> dd.rearrange(x, "n (g c) w -> n w c g", g=2).chunks
    ((1, 1), (2, 2), (3,), (2,))
    """
    check("rearrange", data, pattern, **lengths)
    plain = plain_axes(pattern, data.ndim)
    return mapped(
        "rearrange", data, dict(plain.values()), pattern, **{k: v for k, v in lengths.items() if k not in plain}
    )

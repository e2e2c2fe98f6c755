"""The eager functions that repeat, take and regroup elements, for dask arrays: each one step on every block."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from dnnmove.dask._blocks import axis_of
from dnnmove.dask._steps import Kept, check, kept_in_order, mapped, plain_axes

__all__ = [
    "depth_to_space",
    "pixel_shuffle",
    "pixel_unshuffle",
    "repeat",
    "repeat_elements",
    "space_to_depth",
    "take",
    "tile",
    "unfold",
]


def repeat(data: Any, pattern: str, /, **lengths: Any) -> Any:
    """Repeat along new axes by a pattern of einops, as `dnnmove.repeat` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; axes that are merged or cut become whole.
    pattern : str
        As in ``"h w -> h (w two)"``.
    **lengths : int
        Of names that the shape does not decide.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.repeat(da.zeros((4, 3), chunks=2), "h w -> h n w", n=5).chunks
    ((2, 2), (5,), (2, 1))
    """
    check("repeat", data, pattern, **lengths)
    plain = plain_axes(pattern, data.ndim)
    return mapped("repeat", data, dict(plain.values()), pattern, **{k: v for k, v in lengths.items() if k not in plain})


def tile(data: Any, reps: Any) -> Any:
    """Repeat the data as a whole, as `dnnmove.tile` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; axes that are repeated become whole.
    reps : int or sequence of int
        How often along each axis; the shorter of `reps` and the shape gets ones in front.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.tile(da.zeros((4, 3), chunks=2), (1, 2)).chunks
    ((2, 2), (6,))
    """
    check("tile", data, reps)
    counts = [int(count) for count in np.ravel(reps)]
    counts = [1] * (data.ndim - len(counts)) + counts
    new = len(counts) - data.ndim
    repeated = [axis for axis in range(data.ndim) if counts[new + axis] != 1]
    kept = kept_in_order(data.ndim, list(range(new, len(counts))), repeated)
    return mapped("tile", data, kept, reps)


def repeat_elements(data: Any, repeats: Any, axis: Any) -> Any:
    """Repeat every element along an axis, as `dnnmove.repeat_elements` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; `axis` becomes whole where `repeats` has a number for each element.
    repeats : int or sequence of int
        How often: one number, or one for each element of the axis.
    axis : int
        In [-ndim, ndim).

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.repeat_elements(da.arange(3, chunks=2), 2, axis=0).chunks
    ((4, 2),)
    """
    check("repeat_elements", data, repeats, axis)
    at = axis_of(axis, data.ndim)
    kept = kept_in_order(data.ndim, list(range(data.ndim)), [at])
    if np.ndim(repeats) == 0:
        kept[at] = Kept(at, operator.index(repeats))
    return mapped("repeat_elements", data, kept, repeats, at)


def take(data: Any, indices: Any, axis: Any) -> Any:
    """Take the elements at given places of an axis, as `dnnmove.take` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; `axis` becomes whole.
    indices : sequence of int
        The places, in any order and as often as wanted, negative ones from the end.
    axis : int
        In [-ndim, ndim).

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.take(da.arange(6, chunks=2), [5, 0, 0], axis=0).compute()
    array([5, 0, 0])
    """
    check("take", data, indices, axis)
    at = axis_of(axis, data.ndim)
    return mapped("take", data, kept_in_order(data.ndim, list(range(data.ndim)), [at]), indices, at)


def unfold(data: Any, axis: Any, size: Any, step: Any = 1) -> Any:
    """Cut an axis into windows, whose elements become a new last axis, as `dnnmove.unfold` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; `axis` becomes whole.
    axis : int
        In [-ndim, ndim).
    size : int
        Of a window, at least 1 and at most the length of the axis.
    step : int, default 1
        From one window to the next, at least 1. An incomplete last window is left out.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.unfold(da.arange(5, chunks=2), 0, size=3, step=2).compute()
    array([[0, 1, 2],
           [2, 3, 4]])
    """
    check("unfold", data, axis, size, step)
    at = axis_of(axis, data.ndim)
    return mapped("unfold", data, kept_in_order(data.ndim, list(range(data.ndim)), [at]), at, size, step)


def _spread(name: str, data: Any, *arguments: Any) -> Any:
    """Channels become blocks of the image, which may stay in chunks."""
    check(name, data, *arguments)
    kept = kept_in_order(data.ndim, list(range(data.ndim)), [data.ndim - 3])
    kept.update({axis: Kept(axis, operator.index(arguments[0])) for axis in (data.ndim - 2, data.ndim - 1)})
    return mapped(name, data, kept, *arguments)


def _gathered(name: str, data: Any, size: Any) -> Any:
    """Blocks of the image become channels: it may stay in chunks that do not cut them."""
    check(name, data, size)
    kept = kept_in_order(data.ndim, list(range(data.ndim)), [data.ndim - 3])
    kept.update({axis: Kept(axis, 1, operator.index(size)) for axis in (data.ndim - 2, data.ndim - 1)})
    return mapped(name, data, kept, size)


def pixel_shuffle(data: Any, factor: Any) -> Any:
    """Spread channels over blocks of pixels, as `dnnmove.pixel_shuffle` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; the channels become whole.
    factor : int
        The height and width of a block.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.pixel_shuffle(da.zeros((1, 4, 2, 3), chunks=2), 2).chunks
    ((1,), (1,), (4,), (4, 2))
    """
    return _spread("pixel_shuffle", data, factor)


def pixel_unshuffle(data: Any, factor: Any) -> Any:
    """Gather blocks of pixels into channels, as `dnnmove.pixel_unshuffle` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; the channels become whole, and height and width where a chunk would cut a block.
    factor : int
        The height and width of a block.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.pixel_unshuffle(da.zeros((1, 1, 4, 6), chunks=(1, 1, 2, 3)), 2).chunks
    ((1,), (4,), (1, 1), (3,))
    """
    return _gathered("pixel_unshuffle", data, factor)


def space_to_depth(data: Any, block_size: Any) -> Any:
    """Gather blocks of an image into channels, as `dnnmove.space_to_depth` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; the channels become whole, and height and width where a chunk would cut a block.
    block_size : int
        The height and width of a block.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.space_to_depth(da.zeros((1, 1, 4, 6), chunks=(1, 1, 2, 2)), 2).chunks
    ((1,), (4,), (1, 1), (1, 1, 1))
    """
    return _gathered("space_to_depth", data, block_size)


def depth_to_space(data: Any, block_size: Any, mode: Any = "DCR") -> Any:
    """Spread channels over blocks of an image, as `dnnmove.depth_to_space` does.

    Parameters
    ----------
    data : dask array
        Of any chunks; the channels become whole.
    block_size : int
        The height and width of a block.
    mode : {"DCR", "CRD"}
        Whether a block's position comes before the channel or after it.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.depth_to_space(da.zeros((1, 4, 2, 3), chunks=2), 2).chunks
    ((1,), (1,), (4,), (4, 2))
    """
    return _spread("depth_to_space", data, block_size, mode)

"""The array API's names of what dask arrays have under other names, as `dnnmove` has them for arrays."""

from __future__ import annotations

from typing import Any

import dnnmove as dm
from dnnmove.dask._arranging import squeeze
from dnnmove.dask._blocks import all_known, axis_of, checked, known, placeholder
from dnnmove.dask._functions import broadcast, transpose

__all__ = ["broadcast_to", "permute_dims", "unstack"]


def permute_dims(x: Any, axes: Any) -> Any:
    """Permute the axes, as `dnnmove.permute_dims` does; the array API's name of `transpose`.

    Parameters
    ----------
    x : dask array
        Of any chunks, unknown sizes included.
    axes : sequence of int
        Every axis once.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.permute_dims(da.zeros((2, 3, 4), chunks=2), (0, 2, 1)).chunks
    ((2,), (2, 2), (2, 1))
    """
    checked(dm.permute_dims, placeholder(x, "x"), axes)
    return transpose(x, axes)


def broadcast_to(x: Any, shape: Any) -> Any:
    """Repeat an array to a shape, as `dnnmove.broadcast_to` does; the array API's name of `broadcast`.

    Parameters
    ----------
    x : dask array
        Of any chunks; all its lengths must be known.
    shape : sequence of int
        Aligned at the right.

    Returns
    -------
    dask array

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> dd.broadcast_to(da.arange(3, chunks=2), (2, 3)).compute()
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    like = placeholder(x, "x")
    all_known(x, "x")
    checked(dm.broadcast_to, like, shape)
    return broadcast(x, shape)


def unstack(x: Any, axis: Any = 0) -> tuple[Any, ...]:
    """Take an array apart along one axis, as `dnnmove.unstack` does; nothing is rechunked.

    Parameters
    ----------
    x : dask array
        Of any chunks.
    axis : int, default 0
        In [-ndim, ndim).

    Returns
    -------
    tuple of dask arrays
        One for each position of the axis.

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> [part.compute().tolist() for part in dd.unstack(da.arange(6, chunks=4).reshape(2, 3), axis=1)]
    [[0, 3], [1, 4], [2, 5]]
    """
    like = placeholder(x, "x")
    dm.unstack(like[(slice(0, 0),) * like.ndim], axis)  # of no elements: checks the axis
    at = axis_of(axis, x.ndim)
    known(x, at, "x")
    before = (slice(None),) * at
    return tuple(squeeze(x[(*before, slice(i, i + 1))], at) for i in range(x.shape[at]))

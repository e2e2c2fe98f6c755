"""The eager functions that change elements, not where they are, for dask arrays: block by block."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt

import dnnmove as dm
from dnnmove.dask._blocks import axis_of, known, meta_of
from dnnmove.dask._steps import check, kept_in_order, mapped

__all__ = ["byteswap", "convert"]


def byteswap(data: Any) -> Any:
    """Give elements the other byte order and let their values be, as `dnnmove.byteswap` does; nothing is rechunked.

    Parameters
    ----------
    data : dask array
        Of any chunks, unknown sizes included.

    Returns
    -------
    dask array
        Of the dtype with the other byte order.

    Examples
    --------
    >>> import dask.array as da, numpy as np
    >>> from dnnmove import dask as dd
    >>> dd.byteswap(da.from_array(np.array([1, 256, 3], ">i2"), chunks=2)).compute()
    array([  1, 256,   3], dtype=int16)
    """
    check("byteswap", data)
    return mapped("byteswap", data, kept_in_order(data.ndim, list(range(data.ndim))))


def _converted(
    block: npt.NDArray[Any], scale: Any, shift: Any, *, target: np.dtype[Any], axis: int | None
) -> npt.NDArray[Any]:
    """A task: the block's numbers with its part of the factors, on this one thread."""
    with dm.num_threads(1):
        return np.asarray(dm.convert(np.asarray(block), target, scale, shift, axis))


def _several(factor: Any, name: str) -> bool:
    """Whether there is a factor for each position of an axis."""
    if isinstance(factor, da.Array):
        raise TypeError(f"{name} must be a number or a sequence of numbers, not a dask array: compute() it first")
    return factor is not None and np.ndim(factor) > 0


def convert(data: Any, dtype: Any, scale: Any = None, shift: Any = None, axis: Any = None) -> Any:
    """Convert numbers to another type, scaled and shifted, as `dnnmove.convert` does; nothing is rechunked.

    Parameters
    ----------
    data : dask array
        Of any chunks, unknown sizes included but for those of `axis` where several factors lie along it.
    dtype : dtype
        Of the result: uint8, int8, int32, float32, bfloat16 or float16, as that of `data`.
    scale : float or sequence of float, optional
        Factor of every number; several lie along `axis`, and each block is sent those of its own positions.
    shift : float or sequence of float, optional
        Added then, likewise.
    axis : int, optional
        The axis along which several scales or shifts lie, in [-ndim, ndim).

    Returns
    -------
    dask array
        Of `dtype`.

    Examples
    --------
    >>> import dask.array as da
    >>> from dnnmove import dask as dd
    >>> photos = da.full((4, 2, 2, 3), 51, dtype="uint8", chunks=(2, 2, 2, 2))
    >>> planes = dd.convert(dd.moveaxis(photos, 3, 1), "float32", scale=[1, 2, 3], shift=-1, axis=1)
    >>> planes.chunks
    ((2, 2), (2, 1), (2,), (2,))
    >>> planes[0, :, 0, 0].compute()
    array([ 50., 101., 152.], dtype=float32)
    """
    check("convert", data, dtype, axis=axis)
    several = {name for name, factor in (("scale", scale), ("shift", shift)) if _several(factor, name)}
    at = axis_of(axis, data.ndim) if axis is not None else None
    if several and at is not None:
        known(data, at)
    target = dm.MemoryDesc((), dtype).dtype
    check("convert", data, dtype, scale, shift, axis, out=np.empty((0,) * 41, target))  # which no result fits
    parts: list[Any] = []
    for name, factor in (("scale", scale), ("shift", shift)):
        if name in several and at is not None:
            # A small array in chunks of the axis': blockwise sends each block what lies along it.
            parts += [da.from_array(np.asarray(factor), chunks=(data.chunks[at],)), (at,)]
        else:
            parts += [factor, None]
    return da.blockwise(
        _converted,
        tuple(range(data.ndim)),
        data,
        tuple(range(data.ndim)),
        *parts,
        token="dnnmove-convert",
        dtype=target,
        meta=meta_of(data.ndim, target),
        align_arrays=False,
        target=target,
        axis=at if several else None,
    )

"""The array API's names of what the package has under other names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from dnnmove._chain import LazyArray
from dnnmove._core import Chain, Memory, broadcast, transpose

__all__ = ["broadcast_to", "permute_dims", "unstack"]


def _named(call: Callable[[], Any], **names: str) -> Any:
    """What `call` returns; its errors speak of our arguments by the names that the caller knows."""
    try:
        return call()
    except (TypeError, ValueError) as error:
        ours = re.compile(r"(?<!the )\b(" + "|".join(names) + r")\b")
        text = re.sub(r"^step 1 \(\w+\): ", "", str(error))
        raise type(error)(ours.sub(lambda word: names[word[0]], text)) from None


def _steps(x: Any) -> Chain:
    """A chain for arrays that lie as `x` does."""
    if isinstance(x, Memory):
        return Chain(x.desc)
    if isinstance(x, list | tuple):  # to a chain, several arrays
        raise TypeError(
            "x must be an array (NumPy, torch, or a CPU object with __dlpack__), "
            f"not {type(x).__name__}: convert it with numpy.asarray first"
        )
    try:
        return Chain.of(x)
    except TypeError as error:
        raise TypeError("x" + str(error).removeprefix("array")) from None


def permute_dims(x: Any, axes: Sequence[SupportsIndex] | np.ndarray[Any, Any], *, out: Any = None) -> Any:
    """Permute the axes of an array: the array API's name of `transpose`.

    Unlike the array API's, which may, this never returns a view.

    Parameters
    ----------
    x : array
        NumPy array of any strides, torch tensor, Memory, or any CPU object with ``__dlpack__``.
    axes : sequence of int
        Axis i of the result is axis ``axes[i]`` of `x`: every axis once, negative entries count from the end. Empty
        only where `x` has no axes.
    out : array, optional
        Receives the result: same dtype, the result's shape, writeable, no shared bytes with `x`.

    Returns
    -------
    array
        `out`, or new C-contiguous memory of the kind of `x`.

    Raises
    ------
    TypeError
        An argument has the wrong type.
    ValueError
        `axes` is no permutation of the axes, or `out` does not fit.

    See Also
    --------
    dnnmove.transpose

    Examples
    --------
    >>> import numpy as np, dnnmove as dm
    >>> dm.permute_dims(np.zeros((2, 3, 4)), (0, 2, 1)).shape
    (2, 4, 3)
    """
    empty = not axes if isinstance(axes, Sequence) else getattr(axes, "shape", None) == (0,)
    if empty and _steps(x).src_desc.ndim > 0:
        raise ValueError(f"axes {axes!r} must name every axis of x once; transpose(x) reverses them")
    return _named(lambda: transpose(x, axes, out=out), input_order="axes", data="x")


def broadcast_to(x: Any, shape: Sequence[SupportsIndex], *, out: Any = None) -> Any:
    """Repeat an array to a shape, aligned at the right: the array API's name of `broadcast` in its "numpy" mode.

    Unlike NumPy's, the result is new memory, every element of its own.

    Parameters
    ----------
    x : array
        NumPy array of any strides, torch tensor, Memory, or any CPU object with ``__dlpack__``.
    shape : sequence of int
        Of at least the rank of `x`; each length of `x` is 1 or the one of `shape`.
    out : array, optional
        Receives the result: same dtype, of shape `shape`, writeable, no shared bytes with `x`.

    Returns
    -------
    array
        `out`, or new C-contiguous memory of the kind of `x`.

    Raises
    ------
    TypeError
        An argument has the wrong type.
    ValueError
        The shapes do not fit, or `out` does not.

    See Also
    --------
    dnnmove.broadcast

    Examples
    --------
    >>> import numpy as np, dnnmove as dm
    >>> dm.broadcast_to(np.array([1, 2]), (2, 2)).tolist()
    [[1, 2], [1, 2]]
    """
    return _named(lambda: broadcast(x, shape, out=out), target_shape="shape", data="x")


def unstack(x: Any, axis: SupportsIndex | np.ndarray[Any, Any] = 0) -> tuple[Any, ...]:
    """Take an array apart along one axis, which its parts do not have any more.

    Parameters
    ----------
    x : array
        NumPy array of any strides, torch tensor, Memory, or any CPU object with ``__dlpack__``; rank at least 1.
    axis : int, default 0
        The axis to take apart, in [-ndim, ndim).

    Returns
    -------
    tuple of arrays
        One per position of the axis: new C-contiguous memory of the kind of `x`, never a view.

    Raises
    ------
    TypeError
        An argument has the wrong type.
    numpy.exceptions.AxisError
        `axis` lies outside [-ndim, ndim).

    See Also
    --------
    dnnmove.split, dnnmove.variadic_split

    Examples
    --------
    >>> import numpy as np, dnnmove as dm
    >>> a, b, c = dm.unstack(np.array([[1, 2, 3], [4, 5, 6]]), axis=1)
    >>> b
    array([2, 5])
    """
    if isinstance(x, np.ndarray) and any(stride % (x.itemsize or 1) for stride in x.strides):
        x = transpose(x, range(x.ndim))  # a chain counts strides in elements
    steps = _steps(x)
    _named(lambda: steps.split(axis, 1), data="x")  # for its checks
    shape = list(steps.src_desc.dims)
    at = int(np.asarray(axis).item())  # of an array of one, too, as for split
    length = shape.pop(at)
    return tuple(LazyArray(x, steps).split(at, length).reshape(shape).run()) if length else ()

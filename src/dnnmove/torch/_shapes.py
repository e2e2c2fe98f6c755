"""What comes out of each operation, and what is wrong with its arguments: for fake tensors and for error messages."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.exceptions import AxisError

__all__ = ["broadcast_axes", "integer", "integers", "inverse", "shuffled", "split_lengths", "transposed"]


def integer(value: Any, name: str) -> Any:
    """`value` as an int (or SymInt); TypeError where it is none."""
    if isinstance(value, int | torch.SymInt) and not isinstance(value, bool):
        return value
    if isinstance(value, bool | np.bool_ | str | bytes) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} ({value!r}) must be an integer, not {type(value).__name__}")
    return value.__index__()


def integers(values: Any, name: str) -> list[Any]:
    """`values` as a list of ints (or SymInts); TypeError or ValueError where they are none."""
    if isinstance(values, np.ndarray | torch.Tensor):
        if values.ndim != 1:
            raise ValueError(f"{name} must be one-dimensional, but has shape {tuple(values.shape)}")
        whole = not values.is_floating_point() if isinstance(values, torch.Tensor) else values.dtype.kind in "iu"
        if not whole or values.dtype is torch.bool:
            raise TypeError(f"{name} must hold integers, not {values.dtype}")
        return [int(value) for value in values]
    if isinstance(values, str | bytes) or not isinstance(values, list | tuple | range):
        raise TypeError(f"{name} ({values!r}) must be a sequence of integers, not {type(values).__name__}")
    return [integer(value, f"{name}[{i}]") for i, value in enumerate(values)]


def _axis(axis: Any, ndim: int, name: str = "axis") -> int:
    if isinstance(axis, np.ndarray | torch.Tensor) and tuple(axis.shape) == (1,):
        axis = axis[0]
    if isinstance(axis, torch.Tensor) and (axis.is_floating_point() or axis.dtype is torch.bool):
        raise TypeError(f"{name} must be an integer, not a tensor of {axis.dtype}")
    number = integer(axis, name)
    if not -ndim <= number < ndim:
        raise AxisError(f"{name} ({number}) must lie in [{-ndim}, {ndim}), since x has {ndim} dimensions")
    return int(number + ndim if number < 0 else number)


def shuffled(shape: Any, groups: Any) -> Any:
    """The number of groups, checked against axis 1 of `shape`."""
    groups = integer(groups, "groups")
    if len(shape) < 2:
        raise AxisError(f"x must have at least 2 dimensions, the second its channels, but has {len(shape)}")
    if groups < 1:
        raise ValueError(f"groups ({groups}) must be at least 1 and divide x.shape[1] ({shape[1]})")
    if shape[1] % groups != 0:
        raise ValueError(f"groups ({groups}) must divide x.shape[1] ({shape[1]})")
    return groups


def transposed(shape: Any, input_order: Any) -> list[int]:
    """The axes of `x` in the order of the result's, none of them negative."""
    order = integers(input_order, "input_order")
    ndim = len(shape)
    if not order:
        return list(range(ndim - 1, -1, -1))
    axes = [int(entry + ndim if entry < 0 else entry) for entry in order]
    if len(axes) != ndim or sorted(axes) != list(range(ndim)):
        raise ValueError(
            f"input_order {tuple(order)} must hold every integer of [0, {ndim}) once, or a negative one that counts "
            f"from the end, as the axes of x {tuple(shape)}"
        )
    return axes


def inverse(axes: Sequence[int]) -> list[int]:
    """The order that takes the axes back."""
    return sorted(range(len(axes)), key=lambda axis: axes[axis])


def split_lengths(shape: Any, axis: Any, lengths: Any) -> tuple[int, list[Any]]:
    """The axis, not negative, and the lengths of all parts."""
    at = _axis(axis, len(shape))
    parts = integers(lengths, "split_lengths")
    total = shape[at]
    why = ""
    if any(length < -1 for length in parts):
        why = "a length is negative"
    elif sum(1 for length in parts if length == -1) > 1:
        why = "-1 occurs twice"
    known = sum(length for length in parts if length != -1)
    left = [i for i, length in enumerate(parts) if length == -1]
    if not why and (known > total if left else known != total):
        why = f"the lengths sum to {known}"
    if why:
        raise ValueError(
            f"split_lengths {tuple(parts)} must sum to x.shape[{at}] ({total}), with at most one -1 for what is left: "
            f"{why}"
        )
    return at, [total - known if i in left else length for i, length in enumerate(parts)]


def broadcast_axes(shape: Any, target_shape: Any, axes_mapping: Any, mode: Any) -> tuple[list[Any], list[int]]:
    """The shape of the result, and its axis for each axis of `x`."""
    if not isinstance(mode, str):
        raise TypeError(f"mode ({mode!r}) must be a string, not {type(mode).__name__}")
    kind = mode.lower()
    if kind not in ("numpy", "explicit", "bidirectional"):
        raise ValueError(f"mode ({mode!r}) must be 'numpy', 'explicit' or 'bidirectional'")
    target = integers(target_shape, "target_shape")
    if any(length < 0 for length in target):
        raise ValueError(f"target_shape {tuple(target)} must hold lengths of at least 0")
    ndim, rank = len(shape), len(target)
    if (kind == "explicit") != (axes_mapping is not None):
        when = "only with" if kind != "explicit" else "with"
        raise ValueError(f"axes_mapping ({axes_mapping}) must be given {when} mode='explicit'")
    if kind == "bidirectional" and ndim > rank:
        target, rank = [1] * (ndim - rank) + target, ndim
    problem = f"target_shape {tuple(target)} does not fit x {tuple(shape)}"
    if ndim > rank:
        raise ValueError(f"{problem}: x has more dimensions ({ndim}) than the target ({rank})")
    if kind == "explicit":
        axes = [int(axis) for axis in integers(axes_mapping, "axes_mapping")]
        rising = all(a < b for a, b in itertools.pairwise(axes))
        if len(axes) != ndim or not rising or any(not 0 <= axis < rank for axis in axes):
            raise ValueError(
                f"axes_mapping {tuple(axes)} must hold one axis of target_shape, an integer of [0, {rank}), per "
                f"dimension of x {tuple(shape)}, strictly increasing"
            )
    else:
        axes = list(range(rank - ndim, rank))
    for length, axis in zip(shape, axes, strict=True):
        if target[axis] == 1 and kind == "bidirectional":
            target[axis] = length
        elif length != 1 and length != target[axis]:
            raise ValueError(f"{problem}: length {length} cannot become {target[axis]} on axis {axis} of the target")
    return target, axes

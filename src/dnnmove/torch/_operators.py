"""The operators torch.ops.dnnmove: kernels for the CPU, fake kernels, gradients and rules for vmap."""

from __future__ import annotations

from typing import Any

import torch

from dnnmove import _core
from dnnmove.torch import _shapes
from dnnmove.torch._direct import readable
from dnnmove.torch._register import EXACT_STRIDES, register

__all__ = ["broadcast", "channel_shuffle", "summed", "transpose", "variadic_split"]

# Each kernel asks the engine first, and what is wrong with the arguments only where the engine refuses them.


def is_dense(x: Any) -> bool:
    """Whether the elements of `x` fill a range of memory, in any order of the axes."""
    expected = 1
    for stride, length in sorted((x.stride(i), x.shape[i]) for i in range(x.ndim) if x.shape[i] != 1):
        if stride != expected:
            return False
        expected = expected * length
    return True


def _shuffle(x: Any, groups: int) -> Any:
    try:
        return _core.shuffle_channels(x, 1, groups)
    except (TypeError, ValueError):
        _shapes.shuffled(x.shape, groups)
        raise


def _shuffle_fake(x: Any, groups: Any) -> Any:
    readable(x)
    _shapes.shuffled(x.shape, groups)
    if x.numel() != 0 and is_dense(x):
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
    return x.new_empty(x.shape)


def _shuffle_adjoint(shape: Any, gradient: Any, groups: Any) -> Any:
    # The groups of the inverse: as many as one group of the forward shuffle has channels.
    return channel_shuffle(gradient, shape[1] // groups if shape[1] != 0 else 1)


def _shuffle_vmap(batch: Any, groups: Any) -> Any:
    _shapes.shuffled(batch.shape[1:], groups)
    return channel_shuffle(batch.flatten(0, 1), groups).unflatten(0, batch.shape[:2])


channel_shuffle = register(
    "channel_shuffle(Tensor x, SymInt groups) -> Tensor",
    kernel=_shuffle,
    fake=_shuffle_fake,
    adjoint=_shuffle_adjoint,
    vmap=_shuffle_vmap,
    strides=EXACT_STRIDES,
)


def _transpose(x: Any, input_order: Any = ()) -> Any:
    try:
        return _core.transpose(x, input_order)
    except (TypeError, ValueError):
        _shapes.transposed(x.shape, input_order)
        raise


def _transpose_fake(x: Any, input_order: Any = ()) -> Any:
    readable(x)
    return x.new_empty([x.shape[axis] for axis in _shapes.transposed(x.shape, input_order)])


def _transpose_adjoint(shape: Any, gradient: Any, input_order: Any = ()) -> Any:
    return transpose(gradient, _shapes.inverse(_shapes.transposed(shape, input_order)))


def _transpose_vmap(batch: Any, input_order: Any = ()) -> Any:
    axes = _shapes.transposed(batch.shape[1:], input_order)
    return transpose(batch, [0, *(axis + 1 for axis in axes)])


transpose = register(
    "transpose(Tensor x, int[] input_order=[]) -> Tensor",
    kernel=_transpose,
    fake=_transpose_fake,
    adjoint=_transpose_adjoint,
    vmap=_transpose_vmap,
)


def _split(x: Any, axis: int, split_lengths: Any) -> Any:
    try:
        return list(_core.variadic_split(x, axis, split_lengths))
    except (TypeError, ValueError):
        _shapes.split_lengths(x.shape, axis, split_lengths)
        raise


def _split_fake(x: Any, axis: int, split_lengths: Any) -> Any:
    readable(x)
    at, lengths = _shapes.split_lengths(x.shape, axis, split_lengths)
    return [x.new_empty([*x.shape[:at], length, *x.shape[at + 1 :]]) for length in lengths]


def _split_adjoint(shape: Any, gradients: Any, axis: int, split_lengths: Any) -> Any:
    return torch.cat(gradients, axis)


def _split_vmap(batch: Any, axis: int, split_lengths: Any) -> Any:
    at, lengths = _shapes.split_lengths(batch.shape[1:], axis, split_lengths)
    return variadic_split(batch, at + 1, lengths)


variadic_split = register(
    "variadic_split(Tensor x, int axis, SymInt[] split_lengths) -> Tensor[]",
    kernel=_split,
    fake=_split_fake,
    adjoint=_split_adjoint,
    vmap=_split_vmap,
)


def _broadcast(x: Any, target_shape: Any, axes_mapping: Any = None, mode: str = "numpy") -> Any:
    try:
        return _core.broadcast(x, target_shape, axes_mapping, mode)
    except (TypeError, ValueError):
        _shapes.broadcast_axes(x.shape, target_shape, axes_mapping, mode)
        raise


def _broadcast_fake(x: Any, target_shape: Any, axes_mapping: Any = None, mode: str = "numpy") -> Any:
    readable(x)
    return x.new_empty(_shapes.broadcast_axes(x.shape, target_shape, axes_mapping, mode)[0])


def summed(gradient: Any, shape: Any, axes: list[int]) -> Any:
    """The adjoint of a broadcast of `shape` along `axes`: the sum over all that was repeated."""
    kept = {axis for length, axis in zip(shape, axes, strict=True) if length == gradient.shape[axis]}
    repeated = [axis for axis in range(gradient.ndim) if axis not in kept]
    return (gradient.sum(repeated) if repeated else gradient).reshape(shape)


def _broadcast_adjoint(
    shape: Any, gradient: Any, target_shape: Any, axes_mapping: Any = None, mode: str = "numpy"
) -> Any:
    return summed(gradient, shape, _shapes.broadcast_axes(shape, target_shape, axes_mapping, mode)[1])


def _broadcast_vmap(batch: Any, target_shape: Any, axes_mapping: Any = None, mode: str = "numpy") -> Any:
    target, axes = _shapes.broadcast_axes(batch.shape[1:], target_shape, axes_mapping, mode)
    return broadcast(batch, [batch.shape[0], *target], [0, *(axis + 1 for axis in axes)], "explicit")


broadcast = register(
    'broadcast(Tensor x, SymInt[] target_shape, int[]? axes_mapping=None, str mode="numpy") -> Tensor',
    kernel=_broadcast,
    fake=_broadcast_fake,
    adjoint=_broadcast_adjoint,
    vmap=_broadcast_vmap,
)

"""The public functions: straight to the engine where only autograd may be watching, else by the operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function_unary

from dnnmove import _core
from dnnmove.torch import _operators, _shapes
from dnnmove.torch._direct import DIRECT, differentiable, readable, way

__all__ = ["broadcast", "channel_shuffle", "concatenated", "transpose", "variadic_split"]

_compiling = torch.compiler.is_compiling
_shuffled = _core._channel_shuffle
_MOST_NODES = 1024  # one for each number of groups
_INTS = frozenset([int])


@functools.lru_cache(maxsize=_MOST_NODES, typed=True)
def _shuffle_node(groups: int) -> Callable[[Any], Any]:
    def backward(ctx: Any, gradient: Any) -> Any:
        channels = gradient.shape[1]
        return channel_shuffle(gradient, channels // groups if channels != 0 else 1)

    forward, short_way_back = _core._shuffle_methods((groups, backward))
    node = differentiable("ChannelShuffle", forward, backward, short_way_back)
    if type(groups) is int and len(_core._shuffle_nodes) < _MOST_NODES:
        _core._shuffle_nodes[groups] = node
    return node


def channel_shuffle(x: torch.Tensor, groups: int) -> torch.Tensor:
    """Shuffle the channels, axis 1, as ``torch.channel_shuffle`` does, but at the speed of memory.

    The channels are seen as `groups` groups and transposed: with C channels,
    ``result[:, k * groups + j] = x[:, j * (C // groups) + k]``. The gradient is the inverse shuffle.

    Parameters
    ----------
    x : torch.Tensor
        Tensor of shape (N, C, ...) on the CPU, of any strides and dtype.
    groups : int
        The number of groups (OpenVINO's `group`; not oneDNN's `group_size`), at least 1; divides C.

    Returns
    -------
    torch.Tensor
        New, of the shape of `x`. A dense `x` keeps its memory order (channels_last stays channels_last), every other
        one gives a contiguous result.

    Raises
    ------
    TypeError
        `x` is no dense tensor, or `groups` is no integer.
    ValueError
        `groups` does not divide C, or `x` lies on another device.
    numpy.exceptions.AxisError
        `x` has fewer than two dimensions.

    See Also
    --------
    ChannelShuffle : the same as a module.

    Examples
    --------
    >>> import torch
    >>> import dnnmove.torch
    >>> x = torch.arange(6.0).reshape(1, 6, 1).requires_grad_()
    >>> y = dnnmove.torch.channel_shuffle(x, 2)
    >>> y.flatten().tolist()
    [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
    >>> y[0, 1].backward()
    >>> x.grad.flatten().tolist()
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    """
    if _compiling():
        return _operators.channel_shuffle(x, groups)
    try:
        result = _shuffled(x, groups)
        if result is NotImplemented:
            result = _shuffle_node(groups)(x)
    except (TypeError, ValueError):
        pass  # the other way refuses in this function's words, or takes what the engine does not
    else:
        if result is not None:
            return result
        if has_torch_function_unary(x):
            return handle_torch_function(channel_shuffle, (x,), x, groups)
    readable(x)
    return _operators.channel_shuffle(x, _shapes.shuffled(x.shape, groups))


def _key(values: Any, name: str) -> tuple[int, ...]:
    """Integers as a key of a cache, which takes True for 1."""
    return tuple(values) if _INTS.issuperset(map(type, values)) else tuple(_shapes.integers(values, name))


@functools.lru_cache(maxsize=1024)
def _transpose_node(ndim: int, input_order: tuple[int, ...]) -> Callable[[Any], Any]:
    axes = _shapes.transposed((1,) * ndim, input_order)
    inverse = _shapes.inverse(axes)

    def backward(ctx: Any, gradient: Any) -> Any:
        return transpose(gradient, inverse)

    return differentiable(
        "Transpose",
        lambda ctx, x: _core.transpose(x, axes),
        backward,
        backward,
    )


def transpose(x: torch.Tensor, input_order: Any = ()) -> torch.Tensor:
    """Permute the axes and lay the result out contiguously: ``x.permute(input_order).contiguous()``.

    Parameters
    ----------
    x : torch.Tensor
        Tensor on the CPU, of any strides and dtype.
    input_order : sequence of int, optional
        The axes of `x` in the order of the result's: every integer of [0, ndim) once, or a negative one that counts
        from the end. Empty, the default, reverses them.

    Returns
    -------
    torch.Tensor
        New and contiguous.

    Raises
    ------
    TypeError
        `x` is no dense tensor, or `input_order` does not hold integers.
    ValueError
        `input_order` is no order of the axes, or `x` lies on another device.

    Examples
    --------
    >>> import torch
    >>> import dnnmove.torch
    >>> images = torch.zeros(2, 3, 8, 8, requires_grad=True)
    >>> y = dnnmove.torch.transpose(images, (0, 2, 3, 1))
    >>> y.shape, y.is_contiguous(), y.requires_grad
    (torch.Size([2, 8, 8, 3]), True, True)
    """
    if _compiling():
        return _operators.transpose(x, _shapes.integers(input_order, "input_order"))
    taken = way(x)
    if taken:
        try:
            if taken == DIRECT:
                return _core.transpose(x, input_order)
            return _transpose_node(x.ndim, _key(input_order, "input_order"))(x)
        except (TypeError, ValueError):
            pass
    elif has_torch_function_unary(x):
        return handle_torch_function(transpose, (x,), x, input_order)
    readable(x)
    return _operators.transpose(x, _shapes.transposed(x.shape, input_order))


def concatenated(parts: tuple[Any, ...], axis: int) -> Any:
    """The parts along an axis; by the engine where autograd does not watch."""
    if not _compiling() and all(way(part) == DIRECT for part in parts):
        try:
            return _core.concat(parts, axis)
        except (TypeError, ValueError):
            pass  # conjugated or negated lazily
    return torch.cat(parts, axis)


@functools.lru_cache(maxsize=1024)
def _split_node(axis: int, lengths: tuple[int, ...]) -> Callable[[Any], Any]:
    return differentiable(
        "VariadicSplit",
        lambda ctx, x: _core.variadic_split(x, axis, lengths),
        lambda ctx, *gradients: concatenated(gradients, axis),
    )


def variadic_split(x: torch.Tensor, axis: int, split_lengths: Any) -> tuple[torch.Tensor, ...]:
    """Split one axis into parts of given lengths, each a tensor of its own.

    Parameters
    ----------
    x : torch.Tensor
        Tensor on the CPU, of any strides and dtype.
    axis : int
        The axis to split, in [-ndim, ndim).
    split_lengths : sequence of int
        The length of each part; they sum to that of the axis. At most one may be -1: it takes what is left.

    Returns
    -------
    tuple of torch.Tensor
        New and contiguous: unlike those of ``torch.split``, they are no views of `x`.

    Raises
    ------
    TypeError
        `x` is no dense tensor, or an argument is no integer.
    ValueError
        The lengths do not sum to the axis, or `x` lies on another device.
    numpy.exceptions.AxisError
        `axis` lies outside [-ndim, ndim).

    Examples
    --------
    >>> import torch
    >>> import dnnmove.torch
    >>> x = torch.arange(10.0, requires_grad=True)
    >>> first, rest = dnnmove.torch.variadic_split(x, 0, [3, -1])
    >>> first.tolist(), len(rest)
    ([0.0, 1.0, 2.0], 7)
    """
    if _compiling():
        parts = _operators.variadic_split(x, axis, _shapes.integers(split_lengths, "split_lengths"))
        return tuple(parts)
    taken = way(x)
    if taken:
        try:
            if taken == DIRECT:
                return _core.variadic_split(x, axis, split_lengths)
            node = _split_node(*_key((axis,), "axis"), _key(split_lengths, "split_lengths"))
            return node(x)  # type: ignore[no-any-return]
        except (TypeError, ValueError):
            pass
    elif has_torch_function_unary(x):
        return handle_torch_function(variadic_split, (x,), x, axis, split_lengths)  # type: ignore[no-any-return]
    readable(x)
    at, lengths = _shapes.split_lengths(x.shape, axis, split_lengths)
    return tuple(_operators.variadic_split(x, at, lengths))


@functools.lru_cache(maxsize=1024)
def _broadcast_node(
    shape: tuple[int, ...], target_shape: tuple[int, ...], axes_mapping: tuple[int, ...] | None, mode: str
) -> Callable[[Any], Any]:
    target, axes = _shapes.broadcast_axes(shape, target_shape, axes_mapping, mode)
    return differentiable(
        "Broadcast",
        lambda ctx, x: _core.broadcast(x, target, axes, "explicit"),
        lambda ctx, gradient: _operators.summed(gradient, shape, axes),
    )


def broadcast(x: torch.Tensor, target_shape: Any, axes_mapping: Any = None, mode: str = "numpy") -> torch.Tensor:
    """Repeat a tensor to a shape: OpenVINO's Broadcast, written out. The gradient is the sum over what was repeated.

    Parameters
    ----------
    x : torch.Tensor
        Tensor on the CPU, of any strides and dtype.
    target_shape : sequence of int
        The shape to give it; in mode "bidirectional" the result may exceed it.
    axes_mapping : sequence of int, optional
        In mode "explicit": for each axis of `x` the axis of the result, strictly increasing.
    mode : {"numpy", "explicit", "bidirectional"}
        How the axes of `x` and of the target meet: from the right, as mapped, or from the right with either repeated.

    Returns
    -------
    torch.Tensor
        New and contiguous.

    Raises
    ------
    TypeError
        `x` is no dense tensor, or an argument does not hold integers.
    ValueError
        The shapes do not fit, `axes_mapping` does not go with `mode`, or `x` lies on another device.

    Examples
    --------
    >>> import torch
    >>> import dnnmove.torch
    >>> bias = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> planes = dnnmove.torch.broadcast(bias, (2, 3, 3), axes_mapping=[0], mode="explicit")
    >>> planes.sum().backward()
    >>> bias.grad.tolist()
    [9.0, 9.0]
    """
    if _compiling():
        target = _shapes.integers(target_shape, "target_shape")
        mapping = axes_mapping if axes_mapping is None else _shapes.integers(axes_mapping, "axes_mapping")
        return _operators.broadcast(x, target, mapping, mode)
    taken = way(x)
    if taken:
        try:
            if taken == DIRECT:
                return _core.broadcast(x, target_shape, axes_mapping, mode)
            mapped = None if axes_mapping is None else _key(axes_mapping, "axes_mapping")
            return _broadcast_node(x.shape, _key(target_shape, "target_shape"), mapped, mode)(x)
        except (TypeError, ValueError):
            pass
    elif has_torch_function_unary(x):
        return handle_torch_function(broadcast, (x,), x, target_shape, axes_mapping, mode)
    readable(x)
    target, axes = _shapes.broadcast_axes(x.shape, target_shape, axes_mapping, mode)
    return _operators.broadcast(x, target, axes, "explicit")

"""Several tensors made one, concat and stack, with gradients: the public functions and their operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from numpy.exceptions import AxisError
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.overrides import handle_torch_function, has_torch_function

from dnnmove import _core
from dnnmove.torch import _shapes
from dnnmove.torch._direct import DIRECT, RECORDED, differentiable, readable, way
from dnnmove.torch._register import ANY_STRIDES, LIBRARY

__all__ = ["concat", "stack"]

_SEQUENCES = (list, tuple)
_compiling = torch.compiler.is_compiling
_below_autograd = torch._C._AutoDispatchBelowAutograd
_after_autograd = torch._C._after_autograd_keyset
_transforms = torch._C._are_functorch_transforms_active


def _axis(axis: Any, ndim: int) -> int:
    """The axis of a result of so many, not negative."""
    number = _shapes.integer(axis, "axis")
    if not -ndim <= number < ndim:
        raise AxisError(f"axis ({number}) must lie in [{-ndim}, {ndim}), since the result has {ndim} dimensions")
    return int(number + ndim if number < 0 else number)


def _checked(tensors: Any, axis: Any, new: bool) -> tuple[list[Any], int]:
    """The tensors and the axis of the result, not negative; else what is wrong with them, in the caller's words."""
    if not isinstance(tensors, _SEQUENCES):
        raise TypeError(f"tensors must be a list or tuple of tensors, not {type(tensors).__name__}")
    if not tensors:
        raise ValueError("tensors must hold at least one tensor, but is empty")
    for i, x in enumerate(tensors):
        readable(x, f"tensors[{i}]")
    first = tensors[0]
    at = _axis(axis, first.ndim + new)
    for i, x in enumerate(tensors):
        if x.dtype is not first.dtype:
            raise TypeError(f"tensors[{i}].dtype ({x.dtype}) must equal tensors[0].dtype ({first.dtype})")
        pairs = zip(x.shape, first.shape, strict=False)
        if x.ndim != first.ndim or any(a != b for k, (a, b) in enumerate(pairs) if new or k != at):
            want = f"tensors[0].shape {tuple(first.shape)}" + ("" if new else f" except along axis {at}")
            raise ValueError(f"tensors[{i}].shape {tuple(x.shape)} must equal {want}")
    return list(tensors), at


def _cut(gradient: Any, axis: int, lengths: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """The adjoint: views of the gradient, one for each tensor."""
    parts: tuple[Any, ...] = gradient.unbind(axis) if lengths is None else gradient.split_with_sizes(lengths, axis)
    return parts


def _register(name: str, kernel: Callable[..., Any], new: bool) -> Any:
    """Define the operator, which is linear in all its tensors together, for autograd, vmap, torch.func and tracers."""
    schema = f"{name}(Tensor[] tensors, int axis=0) -> Tensor"
    LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag, ANY_STRIDES))
    operator = getattr(torch.ops.dnnmove, name).default

    def forward(ctx: Any, result: Any, axis: int, *tensors: Any) -> Any:
        ctx.axis, ctx.shapes = axis, [x.shape for x in tensors]
        return result[0]

    def backward(ctx: Any, gradient: Any) -> Any:
        lengths = None if new else tuple(shape[ctx.axis] for shape in ctx.shapes)
        return (None, None, *_cut(gradient, ctx.axis, lengths))

    def jvp(ctx: Any, _result: Any, _axis: Any, *tangents: Any) -> Any:
        given = next(tangent for tangent in tangents if tangent is not None)
        pairs = zip(tangents, ctx.shapes, strict=True)
        return operator([given.new_zeros(shape) if each is None else each for each, shape in pairs], ctx.axis)

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward), "jvp": staticmethod(jvp)}
    function = type(name.capitalize(), (torch.autograd.Function,), members)
    apply: Callable[..., Any] = super(torch.autograd.Function, function).apply

    def on_cpu(tensors: Any, axis: int = 0) -> Any:
        try:
            # The engine refuses what requires grad; autograd has been dealt with here.
            return kernel([x.detach() if x.requires_grad else x for x in tensors], axis)
        except (TypeError, ValueError):
            _checked(tensors, axis, new)
            raise

    def fake(tensors: Any, axis: int = 0) -> Any:
        tensors, at = _checked(tensors, axis, new)
        shape = list(tensors[0].shape)
        if new:
            shape.insert(at, len(tensors))
        else:
            shape[at] = sum(x.shape[at] for x in tensors)
        return tensors[0].new_empty(shape)

    def autograd(keyset: Any, tensors: Any, axis: int = 0) -> Any:
        with _below_autograd():
            result = operator.redispatch(keyset & _after_autograd, tensors, axis)
        recorded = torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
        if not recorded and forward_ad._current_level < 0:
            return result
        at = axis + result.ndim if axis < 0 else axis
        if not _transforms():
            return apply((result,), at, *tensors)
        # torch.func has come down to the one level that this call is for.
        with enable_single_level_autograd_function():
            return apply((result,), at, *tensors)

    def batched(info: Any, dims: Any, tensors: Any, axis: int = 0) -> Any:
        at = _axis(axis, tensors[0].ndim - (dims[0][0] is not None) + new)
        whole = [
            x.expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
            for x, dim in zip(tensors, dims[0], strict=True)
        ]
        return operator(whole, at + 1), 0

    LIBRARY.impl(name, on_cpu, "CPU")
    LIBRARY.impl(name, autograd, "Autograd", with_keyset=True)
    torch.library.register_fake(f"dnnmove::{name}", fake, lib=LIBRARY)
    if hasattr(torch.library, "register_vmap"):  # since torch 2.5
        torch.library.register_vmap(f"dnnmove::{name}", batched, lib=LIBRARY)
    return operator


_concat_operator = _register("concat", _core.concat, new=False)
_stack_operator = _register("stack", _core.stack, new=True)


@functools.lru_cache(maxsize=256, typed=True)
def _concat_node(axis: int, lengths: tuple[int, ...]) -> Callable[..., Any]:
    return differentiable(
        "Concat", lambda ctx, *xs: _core.concat(xs, axis), lambda ctx, gradient: _cut(gradient, axis, lengths)
    )


@functools.lru_cache(maxsize=256, typed=True)
def _stack_node(axis: int) -> Callable[..., Any]:
    return differentiable(
        "Stack", lambda ctx, *xs: _core.stack(xs, axis), lambda ctx, gradient: _cut(gradient, axis, None)
    )


def _way(tensors: Any) -> int:
    """The way that a call on all of these takes."""
    if not isinstance(tensors, _SEQUENCES):
        return 0
    taken = DIRECT
    for x in tensors:
        one = way(x)
        if one != DIRECT:
            if one != RECORDED:
                return 0
            taken = RECORDED
    return taken


def concat(tensors: Any, axis: int = 0) -> torch.Tensor:
    """Join tensors along one of their axes, as ``torch.cat`` does, into a contiguous tensor.

    Parameters
    ----------
    tensors : sequence of torch.Tensor
        Tensors on the CPU of one dtype, of any strides, and, but for `axis`, of one shape.
    axis : int, default 0
        The axis to join along, in [-ndim, ndim).

    Returns
    -------
    torch.Tensor
        New and contiguous. The gradients are views of its own.

    Raises
    ------
    TypeError
        `tensors` is no list or tuple of dense tensors of one dtype, or `axis` is no integer.
    ValueError
        `tensors` is empty, shapes differ, or a tensor lies on another device.
    numpy.exceptions.AxisError
        `axis` lies outside [-ndim, ndim).

    See Also
    --------
    stack : along a new axis.
    chain : of the result, in the pass that writes it.

    Examples
    --------
    >>> import torch
    >>> import dnnmove.torch
    >>> a, b = torch.zeros(2, 3, requires_grad=True), torch.ones(2, 1)
    >>> y = dnnmove.torch.concat([a, b], axis=1)
    >>> y[0].tolist()
    [0.0, 0.0, 0.0, 1.0]
    >>> y.sum().backward()
    >>> a.grad.shape
    torch.Size([2, 3])
    """
    if _compiling():
        return _concat_operator(_sequence(tensors), axis)
    try:
        taken = _way(tensors)
        if taken == DIRECT:
            return _core.concat(tensors, axis)
        if taken == RECORDED and type(axis) is int:
            return _concat_node(axis, tuple([x.shape[axis] for x in tensors]))(*tensors)
    except (TypeError, ValueError, IndexError):
        pass  # the other way refuses in this function's words, or takes what the engine does not
    return _by_dispatcher(concat, _concat_operator, tensors, axis, new=False)


def stack(tensors: Any, axis: int = 0) -> torch.Tensor:
    """Join tensors along a new axis, as ``torch.stack`` does, into a contiguous tensor.

    Parameters
    ----------
    tensors : sequence of torch.Tensor
        Tensors on the CPU of one dtype and one shape, of any strides.
    axis : int, default 0
        The place of the new axis in the result, in [-ndim - 1, ndim].

    Returns
    -------
    torch.Tensor
        New and contiguous. The gradients are views of its own.

    Raises
    ------
    TypeError
        `tensors` is no list or tuple of dense tensors of one dtype, or `axis` is no integer.
    ValueError
        `tensors` is empty, shapes differ, or a tensor lies on another device.
    numpy.exceptions.AxisError
        `axis` lies outside [-ndim - 1, ndim].

    See Also
    --------
    concat : along an axis that the tensors have.

    Examples
    --------
    >>> import torch
    >>> import dnnmove.torch
    >>> images = [torch.full((2, 2), float(i), requires_grad=True) for i in range(3)]
    >>> batch = dnnmove.torch.stack(images)
    >>> batch.shape, batch.requires_grad
    (torch.Size([3, 2, 2]), True)
    """
    if _compiling():
        return _stack_operator(_sequence(tensors), axis)
    try:
        taken = _way(tensors)
        if taken == DIRECT:
            return _core.stack(tensors, axis)
        if taken == RECORDED and type(axis) is int:
            return _stack_node(axis)(*tensors)
    except (TypeError, ValueError, IndexError):
        pass
    return _by_dispatcher(stack, _stack_operator, tensors, axis, new=True)


def _sequence(tensors: Any) -> list[Any]:
    """For a compiler: a tensor would be taken for the sequence of its parts."""
    if not isinstance(tensors, _SEQUENCES):
        raise TypeError(f"tensors must be a list or tuple of tensors, not {type(tensors).__name__}")
    return list(tensors)


def _by_dispatcher(function: Any, operator: Any, tensors: Any, axis: Any, *, new: bool) -> Any:
    """What no direct way takes: transforms, subclasses, meta and fake tensors, and whatever is wrong."""
    if isinstance(tensors, _SEQUENCES) and has_torch_function(tensors):
        return handle_torch_function(function, tensors, tensors, axis)
    checked, at = _checked(tensors, axis, new)
    return operator(checked, at)

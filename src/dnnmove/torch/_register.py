"""Registers an affine map of one tensor as an operator that autograd, vmap, torch.func and tracers know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

__all__ = ["ANY_STRIDES", "EXACT_STRIDES", "LIBRARY", "register"]

# Not torch.library.custom_op, whose wrapper costs about as much again as a small call.
LIBRARY = torch.library.Library("dnnmove", "DEF")

# How strictly a compiler has to keep the strides of inputs; torch before 2.7 has only the middle way.
EXACT_STRIDES = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
ANY_STRIDES = getattr(torch.Tag, "flexible_layout", torch.Tag.needs_fixed_stride_order)

_below_autograd = torch._C._AutoDispatchBelowAutograd
_after_autograd = torch._C._after_autograd_keyset
_transforms = torch._C._are_functorch_transforms_active
_grad_enabled = torch.is_grad_enabled


def _node(
    name: str, operator: Any, several: bool, adjoint: Callable[..., Any], linear: Callable[..., Any]
) -> Callable[..., Any]:
    """What autograd records, backward and forward, of a result that is there already."""

    def forward(ctx: Any, x: Any, result: Any, *arguments: Any) -> Any:
        ctx.shape, ctx.arguments = x.shape, arguments
        return tuple(result) if several else result[0]

    def backward(ctx: Any, *gradients: Any) -> Any:
        gradient = list(gradients) if several else gradients[0]
        return (adjoint(ctx.shape, gradient, *ctx.arguments), None, *(None for _ in ctx.arguments))

    def jvp(ctx: Any, tangent: Any, *_: Any) -> Any:
        result = operator(tangent, *linear(*ctx.arguments))
        return tuple(result) if several else result

    members = {"forward": staticmethod(forward), "backward": staticmethod(backward), "jvp": staticmethod(jvp)}
    function = type(name, (torch.autograd.Function,), members)
    apply: Callable[..., Any] = super(torch.autograd.Function, function).apply
    return apply


def register(
    schema: str,
    *,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    adjoint: Callable[..., Any],
    vmap: Callable[..., Any],
    linear: Callable[..., Any] = lambda *arguments: arguments,
    strides: Any = ANY_STRIDES,
) -> Any:
    """Define the operator of `schema`, whose first argument is the tensor and which is affine in it; return it.

    Parameters
    ----------
    schema : str
        Name, arguments and result(s), without the namespace.
    kernel, fake : callable
        Take the arguments: tensors on the CPU, and fake ones.
    adjoint : callable
        Takes the shape of the tensor, the gradient (a list of them where the schema has one) and the other arguments.
    vmap : callable
        Takes the tensor with the batch as axis 0 and the other arguments; gives results with the batch as axis 0.
    linear : callable
        Takes the other arguments and gives those with which the operator maps a tangent: without what it adds.
    strides : torch.Tag
        What the results' strides demand of the tensor's.
    """
    name = schema.split("(")[0]
    LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag, strides))
    operator = getattr(torch.ops.dnnmove, name).default
    several = isinstance(operator._schema.returns[0].type, torch.ListType)
    apply = _node(name, operator, several, adjoint, linear)

    def on_cpu(x: Any, *arguments: Any) -> Any:
        # The engine refuses what requires grad; autograd has been dealt with here.
        return kernel(x.detach() if x.requires_grad else x, *arguments)

    def autograd(keyset: Any, x: Any, *arguments: Any) -> Any:
        # Not within Function.forward, where gradients are off: under torch.func, further levels may want theirs.
        with _below_autograd():
            result = operator.redispatch(keyset & _after_autograd, x, *arguments)
        results = tuple(result) if several else (result,)
        if not results or not ((x.requires_grad and _grad_enabled()) or forward_ad._current_level >= 0):
            return result
        if not _transforms():
            recorded = apply(x, results, *arguments)
        else:
            # torch.func has come down to the one level that this call is for.
            with enable_single_level_autograd_function():
                recorded = apply(x, results, *arguments)
        return list(recorded) if several else recorded

    def batched(info: Any, dims: Any, x: Any, *arguments: Any) -> Any:
        result = vmap(x.movedim(dims[0], 0), *arguments)
        return result, [0] * len(result) if isinstance(result, list) else 0

    LIBRARY.impl(name, on_cpu, "CPU")
    LIBRARY.impl(name, autograd, "Autograd", with_keyset=True)
    torch.library.register_fake(f"dnnmove::{name}", fake, lib=LIBRARY)
    if hasattr(torch.library, "register_vmap"):  # since torch 2.5
        torch.library.register_vmap(f"dnnmove::{name}", batched, lib=LIBRARY)
    return operator

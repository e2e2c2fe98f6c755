"""When a call may go to the engine directly, past torch's dispatcher, and the autograd nodes of such calls."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.nn import Parameter
from torch.utils.data import get_worker_info

from dnnmove._core import get_num_threads, set_num_threads

__all__ = ["differentiable", "direct", "readable"]

_Tensor = torch.Tensor
_transforms = torch._C._are_functorch_transforms_active
_dispatch_modes = torch._C._len_torch_dispatch_stack
_tracing_state = torch._C._get_tracing_state

_new_process = True


def _begin_process() -> None:
    global _new_process
    _new_process = True


os.register_at_fork(after_in_child=_begin_process)


def _settle() -> None:
    """In a worker of a DataLoader, keep to the number of threads that torch gave it (one)."""
    global _new_process
    _new_process = False
    if get_worker_info() is not None:
        set_num_threads(min(get_num_threads(), torch.get_num_threads()))


def direct(x: Any) -> bool:
    """Whether nothing but autograd needs to know of a call on `x`: no subclass, mode, transform or tracer does."""
    if _new_process:
        _settle()
    kind = type(x)
    return (
        (kind is _Tensor or kind is Parameter)
        and not _transforms()
        and not _dispatch_modes()
        and _tracing_state() is None
        and forward_ad._current_level < 0
    )


def differentiable(name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[[Any], Any]:
    """A linear map as a function of one tensor that autograd records.

    `forward` takes a context, which nobody reads, and the tensor, and is called without gradients; `backward` takes it
    and the gradients of all results, and is differentiable itself.
    """
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    function = type(name, (torch.autograd.Function,), members)
    # What Function.apply calls once it has looked for transforms, which `direct` has done.
    apply: Callable[[Any], Any] = super(torch.autograd.Function, function).apply
    return apply


def readable(x: Any) -> None:
    """TypeError or ValueError where `x` is no tensor that the engine can read."""
    if not isinstance(x, _Tensor):
        raise TypeError(f"x must be a torch.Tensor, not {type(x).__name__}")
    if x.is_nested or x.layout is not torch.strided:
        kind = "nested" if x.is_nested else f"{x.layout}"
        raise TypeError(f"x ({kind}) must be a dense, strided tensor: pass x.to_dense() or move its parts one by one")
    if x.is_quantized:
        raise TypeError(f"x ({x.dtype}) must not be quantized: move x.int_repr()")
    if x.device.type not in ("cpu", "meta"):
        raise ValueError(f"x lies on device {x.device}, not on the CPU: pass x.cpu()")

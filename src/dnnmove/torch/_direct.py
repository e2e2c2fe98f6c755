"""What a call that goes to the engine directly, past torch's dispatcher, needs: the threads and the autograd nodes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import get_worker_info

from dnnmove import _core

__all__ = ["DIRECT", "RECORDED", "differentiable", "readable", "settle_threads", "way"]

way = _core._tensor_way

# The way that a call on a tensor takes: 0 is by the dispatcher. Nothing but autograd needs to know of the others.
DIRECT, RECORDED = 1, 2

os.register_at_fork(after_in_child=_core._begin_process)


def settle_threads() -> None:
    """In a worker of a DataLoader, keep to the number of threads that torch gave it (one)."""
    if get_worker_info() is not None:
        _core.set_num_threads(min(_core.get_num_threads(), torch.get_num_threads()))


def differentiable(
    name: str,
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    short_way_back: Callable[..., Any] | None = None,
) -> Callable[[Any], Any]:
    """A linear map as a function of one tensor that autograd records.

    `forward` takes a context, which nobody reads, and the tensor, and is called without gradients; `backward` takes it
    and the gradients of all results, and is differentiable itself. `short_way_back` is the same as `backward`, for
    autograd's node to call at once: torch's own method between them asks for two more static methods first.
    """
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    function = type(name, (torch.autograd.Function,), members)
    node = getattr(function, "_backward_cls", None)  # not public
    if node is not None and short_way_back is not None:
        node.apply = short_way_back
    # What Function.apply calls once it has looked for transforms, which `way` has done.
    apply: Callable[[Any], Any] = super(torch.autograd.Function, function).apply
    return apply


def readable(x: Any, name: str = "x") -> None:
    """TypeError or ValueError, which calls it `name`, where `x` is no tensor that the engine can read."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, not {type(x).__name__}")
    if x.is_nested or x.layout is not torch.strided:
        kind = "nested" if x.is_nested else f"{x.layout}"
        raise TypeError(
            f"{name} ({kind}) must be a dense, strided tensor: pass x.to_dense() or move its parts one by one"
        )
    if x.is_quantized:
        raise TypeError(f"{name} ({x.dtype}) must not be quantized: move x.int_repr()")
    if x.device.type not in ("cpu", "meta"):
        raise ValueError(f"{name} lies on device {x.device}, not on the CPU: pass x.cpu()")

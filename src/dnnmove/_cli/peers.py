"""What other libraries make of a chain's steps: views as far as they go, then copies; for the comparison of bench."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dnnmove._cli.steps import Step

__all__ = ["Peer", "jax_peer", "numpy_peer", "torch_peer"]

Peer = Callable[[], list[Any]]  # one run; the results, which NumPy can read


class _Numpy:
    """The few view operations that steps are made of, in NumPy's words."""

    permute = staticmethod(np.transpose)
    expand = staticmethod(np.broadcast_to)

    @staticmethod
    def contiguous(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.array(x, order="C")


class _Torch:
    """The same in torch's words."""

    @staticmethod
    def permute(x: Any, order: Any) -> Any:
        return x.permute(tuple(order))

    @staticmethod
    def expand(x: Any, shape: Any) -> Any:
        return x.expand(tuple(shape))

    @staticmethod
    def contiguous(x: Any) -> Any:
        return x.clone() if x.is_contiguous() else x.contiguous()


def _swapped(lib: Any, x: Any, axis: int, outer: int) -> Any:
    """The axis as (outer, rest), turned around."""
    axis %= x.ndim
    shape = tuple(x.shape)
    apart = x.reshape(*shape[:axis], outer, shape[axis] // outer, *shape[axis + 1 :])
    order = [*range(axis), axis + 1, axis, *range(axis + 2, apart.ndim)]
    return lib.permute(apart, order).reshape(shape)


def _parts(x: Any, axis: int, lengths: list[int]) -> list[Any]:
    axis %= x.ndim
    if -1 in lengths:
        rest = x.shape[axis] - sum(lengths) - 1
        lengths = [rest if length == -1 else length for length in lengths]
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return [
        x[(slice(None),) * axis + (slice(start, start + length),)]
        for start, length in zip(starts, lengths, strict=True)
    ]


def _shuffle(lib: Any, x: Any, axis: int, group_size: int) -> list[Any]:
    return [_swapped(lib, x, axis, x.shape[axis] // group_size)]


def _shuffle_channels(lib: Any, x: Any, axis: int = 1, group: int = 1) -> list[Any]:
    return [_swapped(lib, x, axis, group)]


def _transpose(lib: Any, x: Any, input_order: Any = ()) -> list[Any]:
    return [lib.permute(x, tuple(input_order) or tuple(reversed(range(x.ndim))))]


def _variadic_split(lib: Any, x: Any, axis: int, split_lengths: Any) -> list[Any]:
    return _parts(x, axis, list(split_lengths))


def _split(lib: Any, x: Any, axis: int, num_splits: int) -> list[Any]:
    return _parts(x, axis, [x.shape[axis] // num_splits] * num_splits)


def _broadcast(lib: Any, x: Any, target_shape: Any, axes_mapping: Any = None, mode: str = "numpy") -> list[Any]:
    shape = tuple(target_shape)
    if mode == "explicit":
        laid = [1] * len(shape)
        for length, axis in zip(x.shape, axes_mapping, strict=True):
            laid[axis] = length
        x = x.reshape(tuple(laid))
    elif mode == "bidirectional":
        shape = np.broadcast_shapes(tuple(x.shape), shape)
    return [lib.expand(x, shape)]


def _reshape(lib: Any, x: Any, shape: Any) -> list[Any]:
    return [x.reshape(tuple(shape))]


def _index(lib: Any, x: Any, key: Any) -> list[Any]:
    return [x[key]]


STEPS: dict[str, Callable[..., list[Any]]] = {
    "shuffle": _shuffle,
    "shuffle_channels": _shuffle_channels,
    "transpose": _transpose,
    "variadic_split": _variadic_split,
    "split": _split,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "index": _index,
}


def _run(lib: Any, x: Any, steps: list[Step]) -> list[Any]:
    arrays = [x]
    for name, arguments, named in steps:
        arrays = [part for array in arrays for part in STEPS[name](lib, array, *arguments, **named)]
    return list(map(lib.contiguous, arrays))


def _known(steps: list[Step]) -> str | None:
    """Why a peer cannot take the steps, if it cannot."""
    for name, _, _ in steps:
        if name not in STEPS:
            return f"the comparison has no {name}"
    return None


def numpy_peer(x: npt.NDArray[Any], steps: list[Step]) -> Peer | str:
    """A run of the steps by NumPy, or why there is none."""
    return _known(steps) or (lambda: _run(_Numpy, x, steps))


def torch_peer(x: npt.NDArray[Any], steps: list[Step], threads: int) -> Peer | str:
    """A run of the steps by torch, by its own channel_shuffle where that is all, or why there is none."""
    why = _known(steps)
    if why or importlib.util.find_spec("torch") is None:
        return why or "torch is not installed"
    import torch

    try:
        tensor = torch.from_numpy(x)
    except (TypeError, ValueError) as error:
        return f"torch takes no such array: {error}"
    torch.set_num_threads(threads)
    if len(steps) == 1 and steps[0][0] == "shuffle_channels" and x.ndim > 2:
        _, arguments, named = steps[0]
        given = {**dict(zip(("axis", "group"), arguments, strict=False)), **named}
        if given.get("axis", 1) in (1, 1 - x.ndim):
            return lambda: [torch.channel_shuffle(tensor, given.get("group", 1))]
    keys = [key for name, arguments, _ in steps if name == "index" for key in arguments]
    entries = [entry for key in keys for entry in (key if isinstance(key, tuple) else (key,))]
    if any(isinstance(entry, slice) and entry.step is not None and entry.step < 0 for entry in entries):
        return "torch slices with no negative step"
    return lambda: _run(_Torch, tensor, steps)


def jax_peer(x: npt.NDArray[Any], steps: list[Step]) -> Peer | str:
    """A run of the steps by what jax compiles of them, or why there is none."""
    why = _known(steps)
    if why or importlib.util.find_spec("jax") is None:
        return why or "jax is not installed"
    jax: Any = importlib.import_module("jax")

    class Lib:
        permute = staticmethod(jax.numpy.transpose)
        expand = staticmethod(jax.numpy.broadcast_to)
        contiguous = staticmethod(jax.numpy.asarray)  # results of a compiled function are new

    try:
        if jax.dtypes.canonicalize_dtype(x.dtype) != x.dtype:
            return f"jax takes no {x.dtype}, unless it is told to (jax_enable_x64)"
        array = jax.numpy.asarray(x)
    except (TypeError, ValueError) as error:
        return f"jax takes no such array: {error}"
    compiled = jax.jit(lambda data: _run(Lib, data, steps))
    return lambda: list(jax.block_until_ready(compiled(array)))

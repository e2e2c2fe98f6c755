"""Functions that have no operation of their own in the grid: what each means in NumPy, and in torch and jax where they
have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.case import Case, dtype_of, show
from benchmarks.contestants.contestant import UnsupportedError


@dataclass(frozen=True)
class Function:
    """One function of dnnmove: its meaning in NumPy, and the same in torch and in jax.numpy, given those modules."""

    numpy: Callable[..., np.ndarray]
    torch: Callable[..., Any] | None = None
    jax: Callable[..., Any] | None = None


def _windows(x: np.ndarray, axis: int, size: int, step: int) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis)
    return windows[(slice(None),) * axis + (slice(None, None, step),)]


def _to_depth(x: Any, block: int, order: tuple[int, ...]) -> Any:
    n, c, h, w = x.shape
    cut = x.reshape(n, c, h // block, block, w // block, block).transpose(order)
    return cut.reshape(n, c * block * block, h // block, w // block)


def _to_space(x: Any, block: int, cut: tuple[int, ...], order: tuple[int, ...]) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, *cut, h, w).transpose(order).reshape(n, c // block**2, h * block, w * block)


def _torch_pad(torch: Any, x: Any, pad_width: tuple[tuple[int, int], ...], mode: str) -> Any:
    if mode != "constant":
        raise UnsupportedError(f"torch pads some axes only by {mode}")
    return torch.nn.functional.pad(x, [n for pair in reversed(pad_width) for n in pair])


FUNCTIONS: dict[str, Function] = {
    "pad": Function(
        lambda x, pad_width, mode: np.pad(x, pad_width, mode),
        _torch_pad,
        lambda jnp, x, pad_width, mode: jnp.pad(x, pad_width, mode),
    ),
    "roll": Function(
        lambda x, shift, axis: np.roll(x, shift, axis),
        lambda torch, x, shift, axis: torch.roll(x, shift, axis),
        lambda jnp, x, shift, axis: jnp.roll(x, shift, axis),
    ),
    "flip": Function(
        lambda x, axis: np.flip(x, axis),
        lambda torch, x, axis: torch.flip(x, axis),
        lambda jnp, x, axis: jnp.flip(x, axis),
    ),
    "tile": Function(
        lambda x, reps: np.tile(x, reps),
        lambda torch, x, reps: torch.tile(x, reps),
        lambda jnp, x, reps: jnp.tile(x, reps),
    ),
    "repeat_elements": Function(
        lambda x, repeats, axis: np.repeat(x, repeats, axis),
        lambda torch, x, repeats, axis: torch.repeat_interleave(x, repeats, axis),
        lambda jnp, x, repeats, axis: jnp.repeat(x, repeats, axis),
    ),
    "byteswap": Function(lambda x: x.byteswap().view(x.dtype.newbyteorder())),
    "unfold": Function(
        lambda x, axis, size, step: _windows(x, axis, size, step),
        lambda torch, x, axis, size, step: x.unfold(axis, size, step).contiguous(),
    ),
    "space_to_depth": Function(
        lambda x, block_size: _to_depth(x, block_size, (0, 3, 5, 1, 2, 4)),
        None,
        lambda jnp, x, block_size: _to_depth(x, block_size, (0, 3, 5, 1, 2, 4)),
    ),
    "depth_to_space": Function(
        lambda x, block_size: _to_space(x, block_size, (block_size, block_size, -1), (0, 3, 4, 1, 5, 2)),
        None,
        lambda jnp, x, block_size: _to_space(x, block_size, (block_size, block_size, -1), (0, 3, 4, 1, 5, 2)),
    ),
    "pixel_unshuffle": Function(
        lambda x, factor: _to_depth(x, factor, (0, 1, 3, 5, 2, 4)),
        lambda torch, x, factor: torch.nn.functional.pixel_unshuffle(x, factor).contiguous(),
        lambda jnp, x, factor: _to_depth(x, factor, (0, 1, 3, 5, 2, 4)),
    ),
    "pixel_shuffle": Function(
        lambda x, factor: _to_space(x, factor, (-1, factor, factor), (0, 1, 4, 2, 5, 3)),
        lambda torch, x, factor: torch.nn.functional.pixel_shuffle(x, factor).contiguous(),
        lambda jnp, x, factor: _to_space(x, factor, (-1, factor, factor), (0, 1, 4, 2, 5, 3)),
    ),
}


def shown(value: Any) -> str:
    """Arguments as parts of a name: "1-2" for (1, 2)."""
    if isinstance(value, tuple):
        return "-".join(map(shown, value)) if value and isinstance(value[0], int) else "_".join(map(shown, value))
    return str(value)


def call(function: str, shape: tuple[int, ...], dtype: str, **arguments: Any) -> Case:
    """The case of one call: ``dnnmove.function(x, **arguments)``."""
    details = "/".join(f"{name}={shown(value)}" for name, value in arguments.items())
    name = f"call/{function}/{show(shape)}/{details + '/' if details else ''}{dtype}"
    return Case(name, "call", shape, dtype, {"function": function, "arguments": arguments})


def result(case: Case, x: np.ndarray) -> np.ndarray:
    """What NumPy makes of it, a view where it can."""
    return FUNCTIONS[case.params["function"]].numpy(x, **case.params["arguments"])


def result_shape(case: Case) -> tuple[int, ...]:
    """Of its result, found on a stand-in of one byte an element."""
    return result(case, np.broadcast_to(np.zeros((), np.uint8), case.shape)).shape


def result_dtype(case: Case) -> np.dtype:
    """Of its result: the other byte order where elements got that."""
    dtype = dtype_of(case.dtype)
    return dtype.newbyteorder() if case.params["function"] == "byteswap" else dtype


def torch_call(torch: Any, case: Case) -> Callable[[Any], Any]:
    """The same by torch's own function."""
    return _peer(FUNCTIONS[case.params["function"]].torch, torch, case)


def jax_call(jnp: Any, case: Case) -> Callable[[Any], Any]:
    """The same by jax.numpy's."""
    return _peer(FUNCTIONS[case.params["function"]].jax, jnp, case)


def _peer(function: Callable[..., Any] | None, module: Any, case: Case) -> Callable[[Any], Any]:
    if function is None:
        raise UnsupportedError(f"no function for {case.params['function']}")
    return lambda x: function(module, x, **case.params["arguments"])

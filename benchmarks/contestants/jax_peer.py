"""jax.jit: the operation compiled by XLA, warm, until the result is ready; results are always new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import calls, machine, operations
from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.contestants.words import Worded, in_words
from benchmarks.operations import Problem

_jax: Any = None
_pool = 0  # threads of XLA's pool, fixed when it starts
_threads = 0
TYPES = {1: "u1", 2: "i2", 4: "f4", 8: "f8", 16: "c16"}


def start(threads: int) -> None:
    global _jax, _pool, _threads
    if _jax is None:
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        _jax, _pool = jax, threads
    _threads = threads


def version() -> str:
    return str(_jax.__version__)


def function(problem: Problem, w: Worded) -> Callable[..., Any]:
    """The operation; slices of the parent are part of it, as they are in a user's jitted code."""
    import jax.numpy as jnp

    case, p = problem.case, w.params
    if case.source.windows:
        raise UnsupportedError("jax has no views whose elements share memory")
    cut = case.source.slices(case.shape) if not problem.dense_input else None

    def start_of(x: Any) -> Any:
        return x[cut] if cut is not None else x

    if case.op == "transpose":
        return lambda x: jnp.transpose(start_of(x), p["order"])
    if case.op == "broadcast":
        return lambda x: jnp.broadcast_to(start_of(x), p["target"])
    if case.op == "concat":
        return lambda *xs: jnp.concatenate(xs, p["axis"])
    if case.op == "split":
        ends = np.cumsum(p["lengths"])[:-1]
        return lambda x: tuple(jnp.split(start_of(x), ends, p["axis"]))
    if case.op == "take":
        indices = operations.take_indices(case)
        return lambda x: jnp.take(start_of(x), indices, p["axis"], mode="clip")
    axis, group, shape = p["axis"], p["group"], w.shape
    halves = (*shape[:axis], group, shape[axis] // group, *shape[axis + 1 :])
    return lambda x: start_of(x).reshape(halves).swapaxes(axis, axis + 1).reshape(shape)


def contestants(problem: Problem) -> list[Contestant]:
    case = problem.case
    if case.op in ("pipeline", "shuffle_forward"):
        raise UnsupportedError("not compared")
    if _threads != _pool:
        raise UnsupportedError(f"XLA's pool keeps its {_pool} of {machine.cpus()} threads")
    if case.op == "chain":
        from benchmarks.contestants import chain_peers

        run, arrays = chain_peers.jax_function(case.params["steps"]), problem.inputs
    elif case.op == "call":
        if not problem.dense_input:
            raise UnsupportedError("dense inputs only")
        run, arrays = calls.jax_call(_jax.numpy, case), problem.inputs
    else:
        w = in_words(problem, TYPES)
        run = function(problem, w)
        arrays = w.inputs if problem.dense_input else [w.parent]
    if any(array.ctypes.data % array.itemsize for array in arrays):
        raise UnsupportedError("jax has no unaligned arrays")
    names = {
        "f": _jax.jit(run),
        "xs": [_jax.numpy.asarray(array) for array in arrays],
        "wait": _jax.block_until_ready,
    }

    def result(scope: dict[str, Any]) -> list[np.ndarray]:
        y = scope["y"]
        return [np.asarray(part) for part in (y if isinstance(y, tuple) else (y,))]

    return [Contestant("jax", "y = wait(f(*xs))", names, result)]

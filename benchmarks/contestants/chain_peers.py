"""Chains as the peers run them: one operation after another, each with its copy where it needs one."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.contestants.contestant import Contestant, as_list
from benchmarks.operations import Problem, chain_steps


def numpy_steps(problem: Problem) -> list[Contestant]:
    """NumPy's views, copied where a step needs it and at the end."""
    steps = problem.case.params["steps"]
    names = {"run": lambda x: [np.ascontiguousarray(b) for b in chain_steps(x, steps)], "x": problem.inputs[0]}
    return [Contestant("numpy", "y = run(x)", names, lambda scope: as_list(scope["y"]))]


def torch_step(tensor: Any, name: str, arguments: dict[str, Any]) -> list[Any]:
    """One operation of a chain in torch, as views where torch has views."""
    import torch

    if name == "transpose":
        return [tensor.permute(arguments["input_order"])]
    if name == "reshape":
        return [tensor.reshape(arguments["shape"])]
    if name == "broadcast":
        return [tensor.expand(arguments["target_shape"])]
    if name == "variadic_split":
        return list(torch.split(tensor, arguments["split_lengths"], arguments["axis"]))
    if name == "shuffle_channels":
        axis, group = arguments["axis"], arguments["group"]
        if axis == 1:
            return [torch.channel_shuffle(tensor, group)]
        shape = tensor.shape
        cut = tensor.reshape(*shape[:axis], group, shape[axis] // group, *shape[axis + 1 :])
        return [cut.transpose(axis, axis + 1).reshape(shape)]
    if name == "index":
        for axis, part in enumerate(arguments["key"]):
            if part.step is not None and part.step < 0:
                tensor = tensor.flip(axis)
            else:
                tensor = tensor[(slice(None),) * axis + (part,)]
        return [tensor]
    raise KeyError(name)


def torch_steps(problem: Problem, x: Any) -> list[Contestant]:
    """torch's steps, made contiguous at the end."""
    steps = problem.case.params["steps"]

    def run(tensor: Any) -> list[Any]:
        branches = [tensor]
        for name, arguments in steps:
            branches = [result for branch in branches for result in torch_step(branch, name, arguments)]
        return [branch.contiguous() for branch in branches]

    return [Contestant("torch", "y = run(x)", {"run": run, "x": x}, lambda scope: [t.numpy() for t in scope["y"]])]


def jax_function(steps: tuple[tuple[str, dict[str, Any]], ...]) -> Any:
    """The whole chain as one function for jax.jit, which may fuse it."""
    import jax.numpy as jnp

    def run(x: Any) -> tuple[Any, ...]:
        branches = [x]
        for name, arguments in steps:
            following = []
            for array in branches:
                if name == "transpose":
                    following.append(jnp.transpose(array, arguments["input_order"]))
                elif name == "reshape":
                    following.append(array.reshape(arguments["shape"]))
                elif name == "broadcast":
                    following.append(jnp.broadcast_to(array, arguments["target_shape"]))
                elif name == "index":
                    following.append(array[arguments["key"]])
                elif name == "variadic_split":
                    cuts = np.cumsum(arguments["split_lengths"])[:-1]
                    following.extend(jnp.split(array, cuts, arguments["axis"]))
                elif name == "shuffle_channels":
                    axis, group, shape = arguments["axis"], arguments["group"], array.shape
                    cut = array.reshape(*shape[:axis], group, shape[axis] // group, *shape[axis + 1 :])
                    following.append(cut.swapaxes(axis, axis + 1).reshape(shape))
                else:
                    raise KeyError(name)
            branches = following
        return tuple(branches)

    return run

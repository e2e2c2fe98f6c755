"""Pipelines as NumPy, torch, torch.compile and the tools in use today run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contestants.contestant import Contestant
from benchmarks.pipelines.problem import PipelineProblem

Tensors = list[Any]


def numpy(problem: PipelineProblem) -> list[Contestant]:
    """Views copied into the ready outputs, and new results."""
    names = {"run": problem.pipeline.numpy, "xs": problem.inputs, "outs": problem.outs, "copyto": np.copyto}
    into = "for y, r in zip(outs, run(xs)): copyto(y.reshape(r.shape), r)"
    names["copy"] = lambda results: [
        np.ascontiguousarray(r, y.dtype).reshape(y.shape) for y, r in zip(problem.outs, results, strict=True)
    ]
    return [
        Contestant("numpy", into, names),
        Contestant("numpy.new", "ys = copy(run(xs))", names, lambda scope: scope["ys"]),
    ]


def tensor_of(array: np.ndarray, integers: bool = False, words: bool = False) -> Any:
    """The array as a tensor of its own dtype, or of `integers` where NumPy has no such dtype, or of `words` always."""
    import torch

    if words:
        return torch.from_numpy(array.view(f"i{array.itemsize}"))
    named = {"bfloat16": (np.int16, torch.bfloat16), "float8_e4m3fn": (np.uint8, torch.float8_e4m3fn)}
    if array.dtype.name in named:
        bits, dtype = named[array.dtype.name]
        tensor = torch.from_numpy(array.view(bits))
        return tensor if integers else tensor.view(dtype)
    return torch.from_numpy(array)


def array_of(tensor: Any, like: np.ndarray) -> np.ndarray:
    """The tensor's bytes as an array like the expected one."""
    import torch

    integers = {1: torch.uint8, 2: torch.int16}
    bits = tensor.view(integers[tensor.itemsize]) if tensor.itemsize in integers else tensor
    return bits.numpy().view(like.dtype)


def _torch_ways(problem: PipelineProblem, name: str, wrap: Callable[..., Any], integers: bool) -> list[Contestant]:
    run, words = problem.pipeline.torch, problem.pipeline.words
    xs = [tensor_of(array, integers, words) for array in problem.inputs]
    outs = [tensor_of(array, integers and not problem.pipeline.converts, words) for array in problem.outs]

    def into(xs: Tensors, outs: Tensors) -> None:
        for out, result in zip(outs, run(xs), strict=True):
            out.view(result.shape).copy_(result)

    def new(xs: Tensors) -> Tensors:
        return [result.contiguous() for result in run(xs)]

    def results(scope: dict[str, Any]) -> list[np.ndarray]:
        return [array_of(y, want).reshape(want.shape) for y, want in zip(scope["ys"], problem.expected, strict=True)]

    names = {"into": wrap(into), "new": wrap(new), "xs": xs, "outs": outs}
    return [
        Contestant(name, "into(xs, outs)", names),
        Contestant(f"{name}.new", "ys = new(xs)", names, results),
    ]


def torch(problem: PipelineProblem) -> list[Contestant]:
    """Eager torch; FP8, whose copies torch does not vectorize, as bytes too."""
    found = _torch_ways(problem, "torch", lambda function: function, False)
    if problem.inputs[0].dtype.name.startswith("float8"):
        found += _torch_ways(problem, "torch.bytes", lambda function: function, True)
    return found


def torch_compile(problem: PipelineProblem) -> list[Contestant]:
    """The same functions compiled by Inductor for these very shapes."""
    import torch

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function, dynamic=False, fullgraph=True)

    return _torch_ways(problem, "torch_compile", compiled, True)


def tool(problem: PipelineProblem, name: str) -> list[Contestant]:
    """What people use for this job today; raises ImportError where it is not installed."""
    call = problem.pipeline.tools[name](problem.inputs)
    return [
        Contestant(name, "ys = call()", {"call": call}, lambda scope: scope["ys"], tolerance=problem.pipeline.tolerance)
    ]

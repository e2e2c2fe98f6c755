"""torch: copy_ of a view into the ready output, contiguous(), channel_shuffle."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import calls, operations
from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.contestants.words import Worded, in_words
from benchmarks.operations import Problem

_torch: Any = None
TYPES = {1: "u1", 2: "i2", 4: "f4", 8: "f8", 16: "c16"}


def start(threads: int) -> None:
    global _torch
    import torch

    _torch = torch
    torch.set_num_threads(threads)


def version() -> str:
    return str(_torch.__version__)


def tensor_of(array: np.ndarray) -> Any:
    """Zero copy."""
    if any(stride % array.itemsize for stride in array.strides) or not array.flags.aligned:
        raise UnsupportedError("torch refuses unaligned arrays")
    return _torch.from_numpy(array)


def source_tensor(array: np.ndarray) -> tuple[Any, tuple[int, ...]]:
    """The input, and the axes that torch has to flip itself: it has no negative strides."""
    flipped = tuple(axis for axis, stride in enumerate(array.strides) if stride < 0)
    return tensor_of(np.flip(array, flipped) if flipped else array), flipped


def numpy_of(value: Any) -> list[np.ndarray]:
    """The results; where elements became rows of words, those rows are the last axis."""
    tensors = value if isinstance(value, list | tuple) else [value]
    return [tensor.numpy() for tensor in tensors]


def new(name: str, statement: str, names: dict[str, Any]) -> Contestant:
    return Contestant(name, statement, names, lambda scope: numpy_of(scope["y"]))


def channel_shuffle(problem: Problem, w: Worded, x: Any) -> list[Contestant]:
    """torch's own operator; it wants the channels on axis 1 and always makes a new result."""
    if problem.case.op != "shuffle" or x.ndim < 3 or w.axes:
        return []
    last = w.params["layout"] == "nhwc"
    names = {"channel_shuffle": _torch.channel_shuffle, "group": w.params["group"]}
    names["x"] = x.permute(0, x.ndim - 1, *range(1, x.ndim - 1)) if last else x

    def result(scope: dict[str, Any]) -> list[np.ndarray]:
        y = scope["y"]
        return [(y.permute(0, *range(2, y.ndim), 1) if last else y).numpy()]

    return [Contestant("torch.channel_shuffle", "y = channel_shuffle(x, group)", names, result)]


def several(problem: Problem, w: Worded, x: Any) -> list[Contestant]:
    """Splits and concats by the operators that torch has for them."""
    p = w.params
    outs = [tensor_of(out) for out in w.outs]
    if problem.case.op == "concat":
        names = {"cat": _torch.cat, "xs": [tensor_of(part) for part in w.inputs], "axis": p["axis"], "out": outs[0]}
        if problem.case.output == "new":
            return [new("torch.cat", "y = cat(xs, axis)", names)]
        return [Contestant("torch.cat", "cat(xs, axis, out=out)", names)]
    names = {"split": _torch.split_with_sizes_copy, "x": x, "lengths": list(p["lengths"]), "axis": p["axis"]}
    name = "torch.split_with_sizes_copy"
    if problem.case.output == "new":
        return [new(name, "y = split(x, lengths, axis)", names)]
    return [Contestant(name, "split(x, lengths, axis, out=outs)", names | {"outs": outs})]


def small(problem: Problem, w: Worded, x: Any) -> list[Contestant]:
    """The whole call as a user writes it."""
    case = problem.case
    names: dict[str, Any] = {"x": x, "out": tensor_of(w.outs[0])}
    if case.op == "transpose":
        view, names["order"] = "x.permute(order)", w.params["order"]
    elif case.op == "broadcast":
        view, names["target"] = "x.expand(target)", w.params["target"]
    elif case.op in ("split", "concat"):
        return several(problem, w, x)
    else:
        found = channel_shuffle(problem, w, x)
        if case.output == "ready":
            dst, src = (tensor_of(array) for array in w.pairs[0])
            found.append(Contestant("torch", "out.copy_(view)", {"out": dst, "view": src}))
        return found
    if case.output == "new":
        return [new("torch", f"y = {view}.contiguous()", names)]
    return [Contestant("torch", f"out.copy_({view})", names)]


def contestants(problem: Problem) -> list[Contestant]:
    case = problem.case
    if case.op == "pipeline":
        from benchmarks.contestants import pipeline_peers

        return pipeline_peers.torch(problem)
    if case.op == "chain":
        from benchmarks.contestants import chain_peers

        return chain_peers.torch_steps(problem, tensor_of(problem.inputs[0]))
    if case.op == "take":
        names = {"select": _torch.index_select, "x": tensor_of(problem.inputs[0]), "out": tensor_of(problem.outs[0])}
        names |= {"indices": tensor_of(operations.take_indices(case)), "axis": case.params["axis"]}
        return [Contestant("torch.index_select", "select(x, axis, indices, out=out)", names)]
    if case.op == "call":
        f, x = calls.torch_call(_torch, case), tensor_of(problem.inputs[0])
        if f(x).data_ptr() == x.data_ptr():
            raise UnsupportedError("a view of the data")
        return [new("torch", "y = f(x)", {"f": f, "x": x})]
    if problem.pairs is None:
        raise UnsupportedError("torch has no blocked layouts")
    w = in_words(problem, TYPES)
    x, flipped = source_tensor(w.inputs[0])
    if case.small:
        return small(problem, w, x)
    if flipped:
        names = {"x": x, "axes": flipped, "order": w.params["order"], "out": tensor_of(w.outs[0])}
        return [Contestant("torch", "out.copy_(x.flip(axes).permute(order))", names)]
    found = several(problem, w, x) if case.op in ("split", "concat") else channel_shuffle(problem, w, x)
    pairs = [(tensor_of(dst), tensor_of(src)) for dst, src in w.pairs]
    if case.output == "new":
        if case.op in ("split", "concat"):
            return found
        make = "src.reshape(shape)" if case.op == "shuffle" else "src.contiguous()"
        return [*found, new("torch", f"y = {make}", {"src": pairs[0][1], "shape": w.outs[0].shape})]
    if len(pairs) == 1:
        return [*found, Contestant("torch", "dst.copy_(src)", {"dst": pairs[0][0], "src": pairs[0][1]})]
    return [*found, Contestant("torch", "for d, s in pairs: d.copy_(s)", {"pairs": pairs})]

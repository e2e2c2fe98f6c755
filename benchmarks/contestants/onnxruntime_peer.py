"""ONNX Runtime: a session of one operation with both sides bound to our memory (IOBinding)."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import operations
from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.contestants.words import Worded, in_words
from benchmarks.operations import Problem

_ort: Any = None
_onnx: Any = None
_threads = 1
TYPES = {1: "u1", 2: "i2", 4: "f4", 8: "f8"}


def start(threads: int) -> None:
    global _ort, _onnx, _threads
    import onnx
    import onnxruntime

    _ort, _onnx, _threads = onnxruntime, onnx, threads


def version() -> str:
    return str(_ort.__version__)


def nodes(problem: Problem, w: Worded, ins: list[str], outs: list[str]) -> tuple[list[Any], dict[str, list[int]]]:
    """The operation in ONNX nodes, and the constants they need."""
    make, p, op = _onnx.helper.make_node, w.params, problem.case.op
    if op == "transpose":
        return [make("Transpose", ins, outs, perm=list(p["order"]))], {}
    if op == "split":
        return [make("Split", [*ins, "lengths"], outs, axis=p["axis"])], {"lengths": list(p["lengths"])}
    if op == "concat":
        return [make("Concat", ins, outs, axis=p["axis"])], {}
    if op == "broadcast":
        return [make("Expand", [*ins, "target"], outs)], {"target": list(p["target"])}
    if op == "take":
        indices = operations.take_indices(problem.case)
        return [make("Gather", [*ins, "indices"], outs, axis=p["axis"])], {"indices": indices.tolist()}
    if op == "shuffle":
        axis, group, shape = p["axis"], p["group"], w.shape
        cut = [*shape[:axis], group, shape[axis] // group, *shape[axis + 1 :]]
        order = list(range(len(cut)))
        order[axis], order[axis + 1] = axis + 1, axis
        steps = [
            make("Reshape", [*ins, "cut"], ["a"]),
            make("Transpose", ["a"], ["b"], perm=order),
            make("Reshape", ["b", "shape"], outs),
        ]
        return steps, {"cut": cut, "shape": list(shape)}
    raise UnsupportedError(f"no ONNX model for {op}")


def session(problem: Problem, w: Worded) -> tuple[Any, list[str], list[str]]:
    helper = _onnx.helper
    ins = [f"x{i}" for i in range(len(w.inputs))]
    outs = [f"y{i}" for i in range(len(w.outs))]
    steps, constants = nodes(problem, w, ins, outs)

    def info(name: str, array: np.ndarray) -> Any:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape))

    integer = _onnx.TensorProto.INT64
    graph = helper.make_graph(
        steps,
        "case",
        [info(name, array) for name, array in zip(ins, w.inputs, strict=True)],
        [info(name, array) for name, array in zip(outs, w.outs, strict=True)],
        [helper.make_tensor(name, integer, [len(v)], v) for name, v in constants.items()],
    )
    opset = [helper.make_opsetid("", 18)]
    options = _ort.SessionOptions()
    options.intra_op_num_threads = _threads
    options.log_severity_level = 4
    serialized = helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()
    return _ort.InferenceSession(serialized, options, providers=["CPUExecutionProvider"]), ins, outs


def contestants(problem: Problem) -> list[Contestant]:
    if problem.case.op in ("chain", "pipeline", "shuffle_forward"):
        raise UnsupportedError("not compared")
    if not problem.dense_input:
        raise UnsupportedError("ONNX Runtime takes dense inputs only")
    w = in_words(problem, TYPES)
    runner, ins, outs = session(problem, w)
    if problem.case.output == "new":
        names = {"run": runner.run, "feed": dict(zip(ins, w.inputs, strict=True))}
        return [Contestant("onnxruntime", "y = run(None, feed)", names, lambda scope: scope["y"])]
    binding = runner.io_binding()
    for name, array in zip(ins, w.inputs, strict=True):
        binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    for name, array in zip(outs, w.outs, strict=True):
        binding.bind_output(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    names = {"run": runner.run_with_iobinding, "binding": binding}
    return [Contestant("onnxruntime", "run(binding)", names)]

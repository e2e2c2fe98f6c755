"""OpenVINO: a compiled model of one operation, both tensors shared with our memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import operations
from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.contestants.words import Worded, in_words
from benchmarks.operations import Problem

_ov: Any = None
_core: Any = None
_threads = 1

# The CPU plugin computes 8-byte types in 4 bytes and f16 in f32, so those go as rows of words.
TYPES = {1: "u1", 2: "u2", 4: "f4"}


def start(threads: int) -> None:
    global _ov, _core, _threads
    import openvino

    if _core is None:
        _ov, _core = openvino, openvino.Core()
    _threads = threads


def version() -> str:
    return str(_ov.__version__)


def element_type(array: np.ndarray) -> Any:
    return {1: _ov.Type.u8, 2: _ov.Type.bf16, 4: _ov.Type.f32}[array.itemsize]


def model(problem: Problem, w: Worded) -> Any:
    """The operation as a model of one node (a shuffle of NHWC sets the axis)."""
    from openvino import opset13 as ops

    p, op = w.params, problem.case.op
    inputs = [ops.parameter(list(array.shape), element_type(array)) for array in w.inputs]

    def constant(values: Any) -> Any:
        return ops.constant(np.asarray(values, np.int64))

    if op == "transpose":
        node = ops.transpose(inputs[0], constant(p["order"]))
    elif op == "shuffle":
        node = ops.shuffle_channels(inputs[0], p["axis"], p["group"])
    elif op == "split":
        node = ops.variadic_split(inputs[0], constant(p["axis"]), constant(p["lengths"]))
    elif op == "concat":
        node = ops.concat(inputs, p["axis"])
    elif op == "broadcast":
        node = ops.broadcast(inputs[0], constant(p["target"]))
    elif op == "take":
        indices = operations.take_indices(problem.case)
        node = ops.gather(inputs[0], constant(indices), constant(p["axis"]))
    else:
        raise UnsupportedError(f"no OpenVINO model for {op}")
    return _ov.Model([ops.result(output) for output in node.outputs()], inputs)


def tensor(array: np.ndarray) -> Any:
    if array.itemsize == 2:
        return _ov.Tensor(array, list(array.shape), _ov.Type.bf16)
    return _ov.Tensor(array, shared_memory=True)


def contestants(problem: Problem) -> list[Contestant]:
    if problem.case.op in ("chain", "pipeline", "shuffle_forward"):
        raise UnsupportedError("not compared")
    if not problem.dense_input:
        raise UnsupportedError("OpenVINO takes dense inputs only")
    w = in_words(problem, TYPES)
    settings = {"INFERENCE_NUM_THREADS": _threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = _core.compile_model(model(problem, w), "CPU", settings).create_infer_request()
    for i, array in enumerate(w.inputs):
        request.set_input_tensor(i, tensor(array))
    if problem.case.output == "new":

        def infer() -> list[np.ndarray]:
            arrays = [np.empty(out.shape, out.dtype) for out in w.outs]
            for i, array in enumerate(arrays):
                request.set_output_tensor(i, tensor(array))
            request.infer()
            return arrays

        return [Contestant("openvino", "y = infer()", {"infer": infer}, lambda scope: scope["y"])]
    for i, array in enumerate(w.outs):
        request.set_output_tensor(i, tensor(array))
    return [Contestant("openvino", "infer()", {"infer": request.infer})]

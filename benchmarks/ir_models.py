"""The data movement of published architectures as OpenVINO files: run by `dnnmove.ir` and by OpenVINO itself.

Run as ``python -m benchmarks.ir_models``: layers, the stages and passes that `Model.explain` tells, and medians.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import re
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset1, opset7, opset8

import dnnmove as dm
from benchmarks.recipes import Recipe, measure
from dnnmove import ir


def const(*values: int) -> Any:
    return opset8.constant(np.array(values, np.int64))


AXIS_0, AXIS_1 = opset8.constant(np.int64(0)), opset8.constant(np.int64(1))


def unit(x: Any) -> list[Any]:
    """ShuffleNet v2 (Ma et al., 2018): shuffle and split of a unit, both halves written channels last."""
    halves = opset1.variadic_split(opset7.shuffle_channels(x, 1, 2), const(1), const(58, 58)).outputs()
    return [opset1.transpose(half, const(0, 2, 3, 1)) for half in halves]


def units(x: Any) -> list[Any]:
    """Four such units, whose branches compute nothing, one behind the other: each joins its halves by Concat."""
    for _ in range(4):
        left, right = opset1.split(opset7.shuffle_channels(x, 1, 2), AXIS_1, 2).outputs()
        x = opset1.concat([right, left], 1)
    return [x]


def windows(x: Any) -> list[Any]:
    """Swin (Liu et al., 2021): shift, windows of 7 x 7."""
    y = opset7.roll(x, const(-3, -3), const(1, 2))
    y = opset1.reshape(y, const(0, 8, 7, 8, 7, 96), special_zero=True)
    y = opset1.transpose(y, const(0, 1, 3, 2, 4, 5))
    return [opset1.reshape(y, const(-1, 49, 96), special_zero=False)]


def merging(x: Any) -> list[Any]:
    """Swin's patch merging: every second row and column, joined along the channels."""
    step = const(2, 2)
    parts = [
        opset8.slice(x, const(i, j), const(2**31 - 1, 2**31 - 1), step, const(1, 2)) for j in (0, 1) for i in (0, 1)
    ]
    return [opset1.concat(parts, -1)]


def heads(x: Any) -> list[Any]:
    """Attention (Vaswani et al., 2017): one projection to queries, keys and values of 12 heads."""
    y = opset1.reshape(x, const(0, 0, 3, 12, 64), special_zero=True)
    parts = opset1.split(opset1.transpose(y, const(2, 0, 3, 1, 4)), AXIS_0, 3).outputs()
    return [opset1.squeeze(part, const(0)) for part in parts]


def upscaling(x: Any) -> list[Any]:
    """ESPCN (Shi et al., 2016): the sub-pixel layer, and the image channels last."""
    return [opset1.transpose(opset1.depth_to_space(x, "depth_first", 4), const(0, 2, 3, 1))]


MODELS: dict[str, tuple[Callable[[Any], list[Any]], tuple[int, ...]]] = {
    "ShuffleNet v2, a unit": (unit, (32, 116, 28, 28)),
    "ShuffleNet v2, four units": (units, (32, 116, 28, 28)),
    "Swin, shifted windows": (windows, (32, 56, 56, 96)),
    "Swin, patch merging": (merging, (32, 56, 56, 96)),
    "attention heads": (heads, (16, 197, 3 * 12 * 64)),
    "ESPCN, sub-pixels": (upscaling, (4, 48, 180, 320)),
}


def written(name: str, folder: pathlib.Path) -> tuple[pathlib.Path, ov.Model]:
    """The file that OpenVINO writes of a model, and the model."""
    build, shape = MODELS[name]
    x = opset8.parameter(list(shape), ov.Type.f32)
    model = ov.Model(build(x), [x], re.sub(r"\W+", "_", name))
    path = folder / f"{model.get_friendly_name()}.xml"
    ov.save_model(model, path)
    return path, model


def counted(model: ir.Model) -> tuple[int, int]:
    """How many stages a model has, and how many times they cross memory: a Concat once."""
    text = model.explain()
    stages = int(text.splitlines()[1].split()[0])
    passes = sum(int(n) for n in re.findall(r"^    chain of .*: (\d+) pass", text, re.MULTILINE))
    return stages, passes + len(re.findall(r"^    concat", text, re.MULTILINE))


def infer(request: Any, x: Any) -> tuple[Any, ...]:
    """What OpenVINO computes, without the copies that it else makes of inputs and results."""
    return tuple(request.infer([x], share_inputs=True, share_outputs=True).values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ir_models", description=__doc__)
    parser.add_argument("--seconds", type=float, default=4, help="for each model")
    options = parser.parse_args()
    core, threads = ov.Core(), dm.get_num_threads()
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    print(f"OpenVINO {ov.__version__}, {threads} threads, milliseconds")
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            path, theirs = written(name, pathlib.Path(folder))
            ours, compiled = ir.read_model(path), core.compile_model(theirs, "CPU", settings)
            x = np.random.default_rng(0).random(ours.inputs[0].shape, np.float32)
            request = compiled.create_infer_request()
            stages, passes = counted(ours)
            layers = len([node for node in theirs.get_ops() if node.get_type_name() not in ("Constant", "Result")]) - 1
            ways = {"ours": functools.partial(ours, x), "openvino": functools.partial(infer, request, x)}
            medians = measure(Recipe(name, ways), options.seconds)
            mine, right = medians["ours"], medians["openvino"]
            shown = f"{layers:2} layers, {stages} stages, {passes} passes"
            print(f"{name:26} {shown}   dnnmove {mine * 1e3:7.2f}   OpenVINO {right * 1e3:7.2f}   {right / mine:5.2f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`dnnmove.torch.channel_shuffle` against torch's own, views and torch.compile of them, with and without gradients.

Run as ``python -m benchmarks.torch_functions``: contestants take turns in random order in one process; medians. The
part of dnnmove.torch that is made for the installed torch is compiled first.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

import torch

import dnnmove as dm
import dnnmove.torch
from benchmarks.measure import rest

SHAPES = {"1x58x7x7": ((1, 58, 7, 7), 2), "32x240x56x56": ((32, 240, 56, 56), 3)}
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
MODES = ("no grad", "forward", "forward and backward")
BETWEEN = (32, 58, 26, 26)  # 5 MB
Function = Callable[[torch.Tensor, int], torch.Tensor]


def by_views(x: torch.Tensor, groups: int) -> torch.Tensor:
    """What models write: a view, a transpose, and a copy into the memory format of `x`."""
    n, c, h, w = x.shape
    last = x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()
    y = x.reshape(n, groups, c // groups, h, w).transpose(1, 2).reshape(n, c, h, w)
    return y.contiguous(memory_format=torch.channels_last) if last else y


def contestants(mode: str) -> dict[str, Function]:
    found: dict[str, Function] = {
        "ours": dnnmove.torch.channel_shuffle,
        "torch.channel_shuffle": torch.channel_shuffle,
        "views": by_views,
    }
    if shutil.which("g++") and mode == "no grad":
        found["torch.compile of views"] = torch.compile(by_views, dynamic=False)
    return found


def call_of(function: Function, mode: str, x: torch.Tensor, groups: int, upstream: torch.Tensor) -> Callable[[], Any]:
    if mode == "forward and backward":
        return lambda: torch.autograd.grad(function(x, groups), x, upstream)
    return lambda: function(x, groups)


def measure(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The median seconds per call of each; all have given the same bits."""
    first: Any = None
    for name, call in calls.items():
        result = call()
        result = result[0] if isinstance(result, tuple) else result
        first = result if first is None else first
        if not torch.equal(first, result):
            raise SystemExit(f"{name} gives another result")
    del first, result
    times: dict[str, list[float]] = {name: [] for name in calls}
    number = {name: max(1, int(1e-3 / timeit.timeit(call, number=1))) for name, call in calls.items()}
    turns, order = list(calls), random.Random(1)
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end:
        order.shuffle(turns)
        for name in turns:
            rest()
            calls[name]()
            times[name].append(timeit.timeit(calls[name], number=number[name]) / number[name])
    return {name: statistics.median(found) for name, found in times.items()}


def measure_between(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The median seconds per call of each, in a row of calls of which each follows a relu of torch's."""
    y = torch.randn(BETWEEN)
    times: dict[str, list[float]] = {name: [] for name in calls}
    turns, order = list(calls), random.Random(1)
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end:
        order.shuffle(turns)
        for name in turns:
            for i in range(60):
                torch.relu(y)
                start = time.perf_counter()
                calls[name]()
                if i >= 10:
                    times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_functions", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="per contestant and case")
    parser.add_argument("--threads", type=int, default=dm.get_num_threads(), help="of torch and of dnnmove")
    parser.add_argument("--no-extension", action="store_true", help="do without the compiled part of dnnmove.torch")
    options = parser.parse_args()
    if not options.no_extension:
        print(f"compiled: {dnnmove.torch.build_extension().name}")
    torch.set_num_threads(options.threads)
    dm.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {options.threads} threads; times of others as multiples of ours")
    slower = 0
    for label, (shape, groups) in SHAPES.items():
        for layout, memory_format in FORMATS.items():
            for mode in MODES:
                x = torch.randn(shape).contiguous(memory_format=memory_format)
                upstream = torch.randn_like(x)
                x.requires_grad_(mode != "no grad")
                calls = {name: call_of(f, mode, x, groups, upstream) for name, f in contestants(mode).items()}
                medians = measure(calls, options.seconds)
                ours = medians.pop("ours")
                slower += ours > medians["torch.channel_shuffle"]
                others = "  ".join(f"{name} {seconds / ours:.2f}" for name, seconds in medians.items())
                print(f"{label:13} {layout:14} {mode:21} {ours * 1e6:10.2f} us   {others}", flush=True)
    for layout, memory_format in FORMATS.items():
        x = torch.randn(BETWEEN).contiguous(memory_format=memory_format)
        calls = {name: call_of(f, "no grad", x, 2, x) for name, f in contestants("forward").items()}
        medians = measure_between(calls, options.seconds)
        ours = medians.pop("ours")
        slower += ours > medians["torch.channel_shuffle"]
        others = "  ".join(f"{name} {seconds / ours:.2f}" for name, seconds in medians.items())
        print(f"{'32x58x26x26':13} {layout:14} {'after torch.relu':21} {ours * 1e6:10.2f} us   {others}", flush=True)
    print(f"slower than torch.channel_shuffle in {slower} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Draws the pictures of the documentation: layouts, from the strides that MemoryDesc gives, and the benchmarks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt

import dnnmove as dm

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results" / "full-2-core-avx512" / "results.json"
OURS = "#0b6e4f"
PEERS = {"numpy": "#c8553d", "torch": "#f28f3b", "openvino": "#588b8b", "onnxruntime": "#8d6a9f", "jax": "#93b7be"}
CHANNELS = ("#0b6e4f", "#c8553d", "#f2b134", "#3d7ea6", "#8d6a9f", "#7a9e7e")


def draw_all(folder: Path) -> None:
    """Writes every picture into `folder` as SVG."""
    folder.mkdir(exist_ok=True)
    mpl.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "dnnmove"})
    records = [r for r in json.loads(RESULTS.read_text())["cases"] if "ours" in r["contestants"]]
    save(folder, "layouts", layouts)
    save(folder, "shuffle", shuffle)
    unit = dm.Chain(dm.MemoryDesc((8, 116, 28, 28), "f32")).shuffle_channels(1, 2).split(1, 2)
    unit.branch(1).transpose((0, 2, 3, 1)).draw(folder / "chain.svg")
    save(folder, "against_peers", lambda: against_peers(records))
    save(folder, "ceiling", lambda: ceiling(records))


def save(folder: Path, name: str, draw: Callable[[], Any]) -> None:
    figure = draw()
    # Transparent and with no date in it: readable on both themes, and the same bytes from the same input.
    figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None}, facecolor="white")
    plt.close(figure)


def memory_order(md: dm.MemoryDesc) -> list[tuple[int, ...]]:
    """The logical index that lies at each element of the memory; () where it is padding."""
    plain = dm.MemoryDesc(md.dims, md.dtype)
    src, dst = dm.Memory(plain), dm.Memory(md)
    src.numpy()[...] = 1 + np.arange(math.prod(md.dims)).reshape(md.dims)
    dm.reorder(src, dst)
    numbers = dst.bytes.view(md.dtype)
    return [tuple(map(int, np.unravel_index(n - 1, md.dims))) if n else () for n in numbers]


def layouts() -> Any:
    """The memory of 1x6x2x3 elements in three layouts, one square an element, its colour the channel."""
    shape = (1, 6, 2, 3)
    tags = ("nchw", "nhwc", "nChw4c")
    figure, axes = plt.subplots(len(tags), 1, figsize=(9, 2.6))
    for axis, tag in zip(axes, tags, strict=True):
        order = memory_order(dm.MemoryDesc(shape, "int32", tag))
        for position, index in enumerate(order):
            color = CHANNELS[index[1]] if index else "#e4e4e4"
            axis.add_patch(plt.Rectangle((position, 0), 0.92, 1, color=color))
            label = f"{index[1]}" if index else "·"
            axis.text(
                position + 0.46, 0.5, label, ha="center", va="center", color="white" if index else "#555555", fontsize=7
            )
        axis.set(xlim=(-0.2, 48.2), ylim=(0, 1), yticks=[], xticks=[])
        axis.set_ylabel(tag, rotation=0, ha="right", va="center", family="monospace")
        axis.spines[:].set_visible(False)
    axes[-1].set_xlabel("position in memory, in elements; the number is the channel, a dot is padding")
    return figure


def shuffle() -> Any:
    """Where the twelve channels of a shuffle go."""
    size, group_size = 12, 4
    order = dm.shuffle(np.arange(size, dtype=np.int32), 0, group_size)
    figure, axis = plt.subplots(figsize=(7, 1.9))
    for to, source in enumerate(order):
        color = CHANNELS[int(source) // group_size]
        axis.plot([source + 0.45, to + 0.45], [1, 0.32], color=color, lw=1)
    for position in range(size):
        for row, source in ((1.0, position), (0.0, int(order[position]))):
            axis.add_patch(plt.Rectangle((position, row), 0.9, 0.32, color=CHANNELS[source // group_size]))
            axis.text(position + 0.45, row + 0.15, str(source), ha="center", va="center", color="white")
    axis.set(xlim=(-0.2, size), ylim=(-0.05, 1.4), xticks=[], yticks=[0.16, 1.16])
    axis.set_yticklabels(["destination", "source"])
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    return figure


def medians(record: dict[str, Any], peer: str) -> list[float]:
    """Of a peer's ways to do this: torch, torch.cat ..."""
    return [c["median"] for name, c in record["contestants"].items() if name.split(".")[0] == peer]


def against_peers(records: list[dict[str, Any]]) -> Any:
    """How many times as long each peer takes, per operation: the middle half of the cases, and the median."""
    groups = ["transpose", "shuffle", "split", "concat", "broadcast", "chain"]
    figure, axis = plt.subplots(figsize=(9, 3.4))
    for i, (peer, color) in enumerate(PEERS.items()):
        for j, group in enumerate(groups):
            ratios = [
                min(times) / r["contestants"]["ours"]["median"]
                for r in records
                if r["group"] == group and (times := medians(r, peer))
            ]
            if not ratios:
                continue
            x = j + (i - 2) * 0.15
            low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
            axis.plot([x, x], [low, high], color=color, lw=5, alpha=0.45, solid_capstyle="butt")
            axis.plot(x, middle, "o", color=color, ms=5, label=peer if j == 0 else None)
    axis.axhline(1, color=OURS, lw=1)
    axis.text(len(groups) - 0.4, 1, "dnnmove", color=OURS, va="center")
    axis.set_yscale("log")
    axis.set_yticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])
    axis.minorticks_off()
    axis.set_xticks(range(len(groups)), groups)
    axis.set_ylabel("times as long as dnnmove")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, ncols=len(PEERS), loc="upper center", bbox_to_anchor=(0.5, 1.16))
    return figure


def ceiling(records: list[dict[str, Any]]) -> Any:
    """What share of the speed of a plain copy each case reaches, over the bytes that it moves."""
    figure, axis = plt.subplots(figsize=(9, 3.2))
    for group, color in zip(("transpose", "shuffle", "split", "broadcast"), CHANNELS, strict=False):
        points = []
        for record in records:
            ceilings = [c["min"] for c in record["contestants"].values() if c["role"] == "ceiling"]
            if record["group"] == group and ceilings and record["threads"] == 2:
                moved = record["bytes_read"] + record["bytes_written"]
                points.append((moved / 1e6, min(ceilings) / record["contestants"]["ours"]["min"]))
        axis.plot(*zip(*points, strict=True), "o", color=color, ms=3.5, alpha=0.7, mec="none", label=group)
    axis.axhline(1, color="black", lw=0.8)
    axis.set_xscale("log")
    axis.set(ylim=(0, 1.6), xlabel="MB read and written", ylabel="share of a plain copy's speed")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, ncols=4, loc="upper right")
    return figure

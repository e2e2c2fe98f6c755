"""One plot per operation, roofline style: GB/s by size, with the copy ceiling, ours and the peers."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

from benchmarks.contestants import PEERS
from benchmarks.results import Record, show_bytes

COLORS = {
    "ceiling": "#555555",
    "ours": "#c0392b",
    "numpy": "#2e86c1",
    "torch": "#e67e22",
    "openvino": "#8e44ad",
    "onnxruntime": "#16a085",
    "jax": "#b7950b",
    "onednn": "#1b4f72",
    "torch_compile": "#af601a",
    "cv2": "#196f3d",
    "mkl": "#5d6d7e",
    "hptt": "#c2185b",
    "tools": "#4e342e",
}
NAMES = {
    "ours": "dnnmove",
    "ceiling": "copy ceiling",
    "onednn": "oneDNN",
    "numpy": "NumPy",
    "onnxruntime": "ONNX Runtime",
}


def seconds_of(record: Record, who: str) -> float | None:
    """The fastest sample of the ceiling, of ours, or of any way of one peer."""
    if who == "ceiling":
        return record.ceiling
    if who == "ours":
        return record.ours["min"] if record.ours else None
    times = [entry["min"] for name, entry in record.times("peer").items() if name.split(".")[0] == who]
    return min(times, default=None)


def points(records: list[Record], who: str) -> tuple[list[int], list[float]]:
    """Sizes (bytes written) and GB/s, by size."""
    found = []
    for record in records:
        time = seconds_of(record, who)
        if time:
            found.append((record.bytes_written, (record.bytes_read + record.bytes_written) / time / 1e9))
    found.sort()
    return [size for size, _ in found], [speed for _, speed in found]


def draw_group(axes: Any, group: str, records: list[Record]) -> None:
    series = [r for r in records if r.series]
    for who in ("ceiling", "ours", *PEERS):
        style = {"color": COLORS[who], "linewidth": 2.2 if who in ("ceiling", "ours") else 1.2}
        if who in ("ceiling", "ours"):
            axes.scatter(*points(records, who), s=9, alpha=0.35, color=COLORS[who], linewidths=0)
        sizes, speeds = points(series or records, who)
        if not sizes:
            continue
        label = NAMES.get(who, who)
        if series:
            axes.plot(
                sizes, speeds, "--" if who == "ceiling" else "-", marker="o", markersize=3.5, label=label, **style
            )
        else:
            axes.scatter(sizes, speeds, s=14, color=COLORS[who], label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = [1 << n for n in range(6, 31, 4)]
    low, high = min(r.bytes_written for r in records), max(r.bytes_written for r in records)
    ticks = [tick for tick in ticks if low / 16 <= tick <= high * 16]
    axes.set_xticks(ticks, [show_bytes(tick) for tick in ticks])
    axes.set_xlabel("bytes of the result")
    axes.set_ylabel("GB/s read and written")
    axes.set_title(f"{group}: lines are one shape by size, dots are all cases" if series else group)
    axes.grid(alpha=0.3, which="major")
    axes.legend(fontsize=8, ncols=2)


def draw(folder: pathlib.Path, records: list[Record]) -> list[str]:
    """Writes GROUP.png for every operation; returns the file names."""
    try:
        import matplotlib as mpl
    except ImportError:
        print("no plots: matplotlib is not installed", file=sys.stderr)
        return []
    mpl.use("Agg")
    from matplotlib import pyplot

    drawn = []
    for group in dict.fromkeys(r.group for r in records):
        chosen = [r for r in records if r.group == group and r.ours]
        if not chosen or group in ("small", "threads", "planning", "tuned"):
            continue
        figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
        draw_group(axes, group, chosen)
        figure.savefig(folder / f"{group}.png", dpi=100)
        pyplot.close(figure)
        drawn.append(f"{group}.png")
    return drawn

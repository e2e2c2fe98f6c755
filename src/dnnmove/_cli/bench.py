"""``dnnmove bench``: a chain of steps against memcpy and against what other libraries need for the same."""

from __future__ import annotations

import errno
import json
import math
import os
import statistics
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

import dnnmove as dm
from dnnmove._cli.peers import Peer, jax_peer, numpy_peer, torch_peer
from dnnmove._cli.steps import read_array, read_step, taken

__all__ = ["bench"]


def _number(context: click.Context, option: click.Parameter, value: float) -> float:
    if math.isnan(value):  # which lies in every range, since no comparison refuses it
        raise click.BadParameter("nan is not in the range 0<=x<=600.")
    return value


def _data(desc: dm.MemoryDesc) -> npt.NDArray[Any]:
    """An array of random bytes that lies as `desc` says."""
    if desc.strides is None:
        raise click.BadParameter("ARRAY must have a plain layout: chains take no blocked one")
    if any(stride < 0 for stride in desc.strides):
        raise click.BadParameter("ARRAY must have strides of at least 0")
    ends = [(n - 1) * stride for n, stride in zip(desc.dims, desc.strides, strict=True)]
    count = sum(ends) + 1 if 0 not in desc.dims else 0
    raw = np.random.default_rng(0).integers(0, 256, count * desc.dtype.itemsize, np.uint8)
    strides = [stride * desc.dtype.itemsize for stride in desc.strides]
    flat = (raw & 1 if desc.dtype.kind == "b" else raw).view(desc.dtype)
    return np.lib.stride_tricks.as_strided(flat, desc.dims, strides)


def _bytes(array: Any) -> bytes:
    return np.ascontiguousarray(np.asarray(array)).tobytes()


def _measure(contestants: dict[str, Peer], seconds: float) -> dict[str, list[float]]:
    """Seconds of each run, the contestants by turns, so that a busy moment meets them all."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    end = time.perf_counter() + seconds
    while not times["dnnmove"] or time.perf_counter() < end:
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return times


def _contestants(x: npt.NDArray[Any], read: list[Any], threads: int) -> tuple[dict[str, Peer], dict[str, str]]:
    """What runs, and why others do not. Each result of the others is compared with ours once."""
    chain = taken(dm.Chain(dm.MemoryDesc.of(x)), read).build()

    def ours() -> list[Any]:
        result = chain(x)
        return list(result) if isinstance(result, tuple) else [result]

    expected = [_bytes(part) for part in ours()]
    size = sum(map(len, expected))
    source = np.zeros(size, np.uint8)
    found: dict[str, Peer] = {"dnnmove": ours, "memcpy": lambda: [source.copy()]}
    missing = {}
    peers = (("numpy", numpy_peer(x, read)), ("torch", torch_peer(x, read, threads)), ("jax", jax_peer(x, read)))
    for name, peer in peers:
        if isinstance(peer, str):
            missing[name] = peer
        elif [_bytes(part) for part in peer()] != expected:
            raise RuntimeError(f"{name} gives other bytes: this is a mistake in dnnmove, please report it")
        else:
            found[name] = peer
    return found, missing


def _table(rows: list[dict[str, Any]]) -> str:
    lines = [("", "median ms", "best ms", "GB/s", "of memcpy", "dnnmove is")]
    for row in rows:
        figures = (f"{row['median'] * 1e3:.3f}", f"{row['best'] * 1e3:.3f}", f"{row['gbps']:.1f}")
        lines.append((row["name"], *figures, f"{row['of_memcpy']:.0%}", f"{row['ratio']:.2f}x"))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if k else text.ljust(width)
            for k, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def _check_plot(path: Path) -> None:
    """Raise what would keep the picture from being drawn, before anything is measured."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ImportError as error:
        raise ImportError("--plot draws with matplotlib: pip install matplotlib") from error
    kinds = sorted(FigureCanvasAgg.get_supported_filetypes())
    if path.suffix[1:].lower() not in kinds:
        raise ValueError(f"--plot ({path}) must end in one of .{', .'.join(kinds)}")
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))


def _plot(rows: list[dict[str, Any]], title: str, path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 0.6 * len(rows) + 1.4), layout="constrained")
    bars = axes.barh([row["name"] for row in rows][::-1], [row["gbps"] for row in rows][::-1])
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.set(xlabel="GB/s, read and written", title=title)
    axes.margins(x=0.12)
    figure.savefig(path)
    pyplot.close(figure)


@click.command()
@click.argument("array")
@click.argument("steps", metavar="STEP...", nargs=-1, required=True)
@click.option(
    "--seconds",
    default=2.0,
    show_default=True,
    type=click.FloatRange(0, 600),
    callback=_number,
    help="How long to measure; 0: one run of each.",
)
@click.option(
    "--threads", type=click.IntRange(1), help="Of dnnmove and torch; jax has its own.  [default: as dnnmove info says]"
)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the rates, with matplotlib.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every single time included.")
def bench(
    array: str, steps: tuple[str, ...], seconds: float, threads: int | None, plot: Path | None, as_json: bool
) -> None:
    """Time a chain of steps, a copy of as many bytes, and what NumPy, torch and jax need for the same.

    ARRAY and STEP are those of dnnmove explain. Every run makes new results; the contestants take turns. Only those
    that are installed take part, and each must give the same bytes. GB/s counts the bytes of the result twice, as read
    and as written; memcpy is NumPy's copy of contiguous bytes on one thread.

    \b
    Examples:
      dnnmove bench "(32,58,56,56) float32" "transpose((0,2,3,1))"
      dnnmove bench "(32,116,28,28) int8" "shuffle_channels(1, 2)" --plot rates.png
      dnnmove bench "(16,512,3,8,64) float32" "transpose((2,0,3,1,4))" "split(0, 3)" --json
    """
    if plot is not None:
        _check_plot(plot)
    x = _data(read_array(array))
    read = [read_step(step) for step in steps]
    count = threads or dm.get_num_threads()
    with dm.num_threads(count):
        contestants, missing = _contestants(x, read, count)
        size = 2 * sum(part.nbytes for part in contestants["dnnmove"]())
        times = _measure(contestants, seconds)
    medians = {name: statistics.median(found) for name, found in times.items()}
    rows = [
        {
            "name": name,
            "median": median,
            "best": min(times[name]),
            "gbps": size / median * 1e-9,
            "of_memcpy": medians["memcpy"] / median,
            "ratio": median / medians["dnnmove"],
        }
        for name, median in medians.items()
    ]
    title = " ".join((array, *steps))
    if as_json:
        document = {"problem": title, "bytes": size, "threads": count, "results": rows, "missing": missing}
        click.echo(json.dumps({**document, "seconds": times}))
    else:
        click.echo(f"{title}: {size / 2e6:.1f} MB, {count} threads, {len(times['dnnmove'])} runs each")
        click.echo(_table(rows))
        for name, why in missing.items():
            click.echo(f"{name}: {why}")
    if plot is not None:
        _plot(rows, title, plot)

"""``dnnmove info``: versions, what the machine offers, and which implementation runs what."""

from __future__ import annotations

import json
import os
import platform
from typing import Any

import click
import numpy as np

import dnnmove as dm

__all__ = ["info"]

LAYOUTS = {"nchw": 4, "nhwc": 4, "nChw8c": 4, "nChw16c": 4, "ncdhw": 5, "ndhwc": 5, "nCdhw16c": 5}
DTYPES = ("float32", "bfloat16", "float16", "int32", "int8", "uint8", "float64")
VARIABLES = (
    "DNNMOVE_EXTENSION_DIR",
    "DNNMOVE_IMPLEMENTATION",
    "DNNMOVE_ISA",
    "DNNMOVE_NUM_THREADS",
    "DNNMOVE_POOL",
    "DNNMOVE_VERBOSE",
    "OMP_NUM_THREADS",
)


def _shuffles() -> list[dict[str, Any]]:
    """What a channel shuffle of 64 channels runs, by layout and dtype."""
    found = []
    for layout, ndim in LAYOUTS.items():
        for dtype in DTYPES:
            md = dm.MemoryDesc((2, 64, 8, 8, 8)[:ndim], dtype, layout)
            desc = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, md, 1, 16)
            try:
                implementations = dm.ShuffleForward.PrimitiveDesc(desc).implementations
            except dm.UnimplementedError:  # DNNMOVE_IMPLEMENTATION forces one that cannot run it
                implementations = []
            found.append({"layout": layout, "dtype": dtype, "implementations": implementations})
    return found


def _gathered() -> dict[str, Any]:
    return {
        "versions": {
            "dnnmove": dm.__version__,
            "oneDNN": dm.onednn_version(),
            "Python": platform.python_version(),
            "NumPy": np.__version__,
        },
        "build": dm.build_info(),
        "threads": dm.get_num_threads(),
        "caches": {"primitives": dm.get_primitive_cache_capacity(), "tuned problems": len(dm.tuning.problems())},
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "shuffles": _shuffles(),
    }


def _lines(found: dict[str, Any]) -> list[str]:
    build = found["build"]
    rows = [
        *found["versions"].items(),
        ("oneDNN's runtime", f"{build['onednn_runtime']}, commit {build['onednn_hash'][:12]}"),
        ("compiler", build["compiler"]),
        ("instruction set", f"{build['isa']} of {', '.join(build['isas_available'])}"),
        ("threads", f"{found['threads']}, {build['threads']}; OpenMP: {build['openmp']}"),
        ("caches", f"{found['caches']['primitives']} primitives, {found['caches']['tuned problems']} tuned problems"),
        *found["environment"].items(),
    ]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name.ljust(width)}  {text}" for name, text in rows]
    lines += ["", "Shuffle, by layout and dtype: the implementation that runs, and others in their order"]
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for entry in found["shuffles"]:
        groups.setdefault((entry["layout"], tuple(entry["implementations"])), []).append(entry["dtype"])
    texts = [(layout, ", ".join(dtypes), ", ".join(chosen) or "none") for (layout, chosen), dtypes in groups.items()]
    widths = [max(len(row[k]) for row in texts) for k in range(2)]
    lines += [f"  {a.ljust(widths[0])}  {b.ljust(widths[1])}  {c}" for a, b, c in texts]
    return [*lines, "", f"Every other operation: native:{build['isa']}"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(as_json: bool) -> None:
    """Versions, instruction sets, threads, caches, and which implementation runs what.

    \b
    Examples:
      dnnmove info
      dnnmove info --json | jq .build.isa
    """
    found = _gathered()
    click.echo(json.dumps(found, indent=1, default=str) if as_json else "\n".join(_lines(found)))

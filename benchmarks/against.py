"""Two builds of dnnmove against each other: how many times as fast is the one that is imported as another one?

    python -m pip install --target /tmp/old OLD_WHEEL
    python -m benchmarks --against /tmp/old [--random N --seed S] [--quick] [--only REGEX] [--seconds S]

Each build runs in a process of its own (`workers.py`), beside the copies that nothing can beat. Of each one the fastest
quarter of the samples of its best visit counts: on a shared machine two runs one after the other differ more than two
engines do. What a build shows against itself is what remains of the machine.
"""

from __future__ import annotations

import argparse
import collections
import pathlib

from benchmarks import workers
from benchmarks.case import Case
from benchmarks.results import geomean
from benchmarks.workers import Role, Times, Worker

SECONDS = 0.25  # per case and build
MEASURED = ("transpose", "shuffle", "split", "concat", "broadcast", "take", "call", "shuffle_forward", "pipeline")


def announce(old: Worker, new: Worker) -> None:
    print(f"old: {old.path}\nnew: {new.path}")
    if old.path == new.path:
        print("The same build: what it differs by here is the machine.")
    print("Each case is timed twice; the lines follow the second time.", flush=True)


def copied(*times: Times) -> float:
    """Seconds of the fastest copy."""
    return min(taken for found in times for name, taken in found.items() if name != "ours")


def compare(cases: list[Case], folder: pathlib.Path, threads: int, seconds: float) -> None:
    """Prints a line per case, and each class's geometric means."""
    classes: dict[str, list[tuple[float, float, float]]] = collections.defaultdict(list)
    roles = (Role(ceiling=True, folder=folder), Role(ceiling=True))
    for case, (old, new) in zip(cases, workers.timed(roles, cases, threads, seconds, announce), strict=True):
        ceiling = copied(old, new)
        row = (old["ours"] / new["ours"], ceiling / old["ours"], ceiling / new["ours"])
        print(f"{row[0]:6.2f}x   ceiling {row[1]:.2f} -> {row[2]:.2f}   {case.name}", flush=True)
        for name in (case.name.split("/")[0], "all"):
            classes[name].append(row)
    for name, rows in classes.items():
        ratio, before, after = (geomean(row[k] for row in rows) for k in range(3))
        print(f"{name}: {len(rows)} cases, {ratio:.3f}x, ceiling {before:.2f} -> {after:.2f}")


def main(options: argparse.Namespace, cases: list[Case], threads: int) -> None:
    chosen = [case for case in cases if case.op in MEASURED and case.output == "ready" and not case.small]
    if not chosen:
        raise SystemExit(
            "--against times copies of 8 KB and more into arrays that are there; none of the cases chosen is one"
        )
    compare(chosen, options.against, threads, options.seconds or SECONDS)

"""What a plan costs: small problems planned anew for every call."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.case import Case
from benchmarks.grid.broadcast import broadcast
from benchmarks.grid.shuffle import shuffle
from benchmarks.grid.split import split
from benchmarks.grid.transpose import permute, two_d


def cases(threads: int) -> list[Case]:
    chosen = [
        two_d(16, 16, "f4"),
        permute("4d", (2, 8, 8, 8), (0, 2, 3, 1), "f4"),
        permute("rank6", (3, 2, 4, 2, 3, 2), (5, 3, 1, 0, 2, 4), "f4"),
        permute("rank14", (2,) * 14, (13, 5, 2, 8, 0, 11, 3, 9, 6, 1, 12, 4, 10, 7), "i1"),
        shuffle("nhwc", (1, 4, 4, 48), 3, "f4"),
        split((16, 12), 1, (4, 8), "f4"),
        broadcast("row", (1, 64), (16, 64), "f4"),
    ]
    return [replace(case, name=f"planning/{case.name}", targets=(), small=True, quick=True) for case in chosen]

"""Small eager calls, ready and new output: the call itself is the cost."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.case import Case
from benchmarks.grid.broadcast import broadcast
from benchmarks.grid.shuffle import shuffle
from benchmarks.grid.split import split
from benchmarks.grid.transpose import permute, two_d

LIMIT = 4096  # bytes of the result up to which the targets for small calls hold


def cases(threads: int) -> list[Case]:
    chosen = [
        (two_d(4, 4, "f4"), True),
        (two_d(8, 16, "f8"), False),
        (two_d(32, 32, "f4"), True),
        (two_d(64, 64, "i1"), False),
        (two_d(128, 64, "f4"), True),
        (permute("4d", (1, 3, 16, 16), (0, 2, 3, 1), "f4"), True),
        (permute("rank6", (3, 2, 4, 2, 3, 2), (5, 3, 1, 0, 2, 4), "f4"), False),
        (shuffle("nchw", (1, 12, 4, 4), 3, "f4"), True),
        (shuffle("nhwc", (1, 4, 4, 24), 3, "i1"), False),
        (shuffle("nhwc", (1, 14, 14, 40), 4, "f4"), False),
        (split((16, 12), 1, (4, 8), "f4"), True),
        (split((16, 60), 1, (20, 20, 20), "i1"), False),
        (broadcast("row", (1, 64), (16, 64), "f4"), True),
        (broadcast("scalar", (1,), (256,), "f4"), False),
        (broadcast("column", (32, 1), (32, 32), "f4"), True),
    ]
    found = []
    for case, quick in chosen:
        size = case.itemsize
        for n in case.params.get("target", case.shape):
            size *= n
        for output in ("ready", "new"):
            targets = ("small calls",) if size <= LIMIT else ()
            found.append(
                replace(
                    case, name=f"small/{case.name}/{output}", output=output, targets=targets, quick=quick, small=True
                )
            )
    return found

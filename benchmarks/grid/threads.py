"""A few cases on 1 to N threads: what another thread brings, and that it never costs."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.case import Case
from benchmarks.grid.broadcast import broadcast
from benchmarks.grid.shuffle import shuffle
from benchmarks.grid.split import split
from benchmarks.grid.transpose import permute, two_d


def thread_counts(most: int) -> list[int]:
    """1, 2, 4, ... and `most` itself."""
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return counts + [most] * (most > 1)


def cases(threads: int) -> list[Case]:
    chosen = [
        (two_d(32, 32, "f4"), False),
        (two_d(128, 128, "f4"), False),
        (two_d(256, 512, "f4"), True),
        (two_d(1024, 2048, "f4"), True),
        (two_d(3008, 5568, "f4"), True),
        (two_d(4097, 4097, "i1"), False),
        (permute("nchw-nhwc", (32, 64, 112, 112), (0, 2, 3, 1), "f4"), False),
        (permute("nhwc-nchw", (1, 224, 224, 3), (0, 3, 1, 2), "f4"), True),
        (permute("rank6", (10,) * 6, (5, 3, 1, 0, 2, 4), "f4"), False),
        (shuffle("nhwc", (32, 56, 56, 240), 3, "f4"), True),
        (shuffle("nchw", (1, 240, 28, 28), 3, "f4"), False),
        (split((100352, 240), 1, (60, 120, 60), "f4"), False),
        (broadcast("channel", (256, 1, 1), (32, 256, 56, 56), "f4"), True),
    ]
    found = []
    for case, quick in chosen:
        for n in thread_counts(threads):
            found.append(
                replace(case, name=f"threads/{case.name}/{n}", threads=n, targets=(), quick=quick, series=False)
            )
    return found

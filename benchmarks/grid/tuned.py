"""What `tune=True` gains: a primitive that was tuned beside one that runs as the planner says."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.case import Case
from benchmarks.grid.broadcast import broadcast
from benchmarks.grid.shuffle import shuffle
from benchmarks.grid.split import split
from benchmarks.grid.transpose import permute, two_d


def cases(threads: int) -> list[Case]:
    chosen = [
        *((two_d(1000, 1400, dtype), dtype == "f4") for dtype in ("i1", "i2", "f4", "f8")),
        *((two_d(2801, 2801, dtype), dtype == "f4") for dtype in ("i1", "i2", "f4", "f8")),
        *((two_d(4096, 4096, dtype), dtype == "i1") for dtype in ("i1", "i2", "f4", "f8")),
        *((two_d(6000, 4000, dtype), dtype == "f4") for dtype in ("i1", "i2", "f4", "f8")),
        (permute("nchw-nhwc", (32, 64, 56, 56), (0, 2, 3, 1), "f4"), False),
        (permute("nchw-nhwc", (32, 64, 112, 112), (0, 2, 3, 1), "f4"), True),
        (permute("nhwc-nchw", (32, 56, 56, 256), (0, 3, 1, 2), "i2"), False),
        (permute("nhwc-nchw", (1, 224, 224, 3), (0, 3, 1, 2), "f4"), False),
        (permute("attention", (8, 512, 12, 64), (0, 2, 1, 3), "f4"), False),
        (permute("rank6", (10,) * 6, (5, 3, 1, 0, 2, 4), "f4"), True),
        (permute("rank6", (16,) * 6, (5, 3, 1, 0, 2, 4), "f4"), False),
        (shuffle("nchw", (32, 240, 56, 56), 3, "f4"), False),
        (shuffle("nhwc", (32, 56, 56, 240), 3, "i1"), True),
        (shuffle("nhwc", (32, 56, 56, 240), 3, "f4"), False),
        (shuffle("nhwc", (32, 28, 28, 480), 4, "i1"), False),
        (shuffle("nhwc", (32, 28, 28, 480), 8, "f4"), False),
        (split((100352, 240), 1, (60, 120, 60), "f4"), False),
        (split((8, 512, 2304), 2, (768, 768, 768), "i2"), True),
        (broadcast("row", (1, 4000), (4000, 4000), "i2"), False),
        (broadcast("row", (1, 4000), (4000, 4000), "f8"), False),
        (broadcast("channel", (256, 1, 1), (32, 256, 56, 56), "f4"), False),
    ]
    return [
        replace(case, name=f"tuned/{case.name}", targets=(), quick=quick, series=False, small=False, peers=False)
        for case, quick in chosen
    ]

"""A new result per call, the previous one dropped: where the memory comes from decides."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.case import Case
from benchmarks.grid.broadcast import broadcast
from benchmarks.grid.shuffle import shuffle
from benchmarks.grid.split import split
from benchmarks.grid.transpose import permute, two_d


def cases(threads: int) -> list[Case]:
    chosen = [
        (two_d(256, 512, "f4"), False),
        (two_d(1000, 1400, "f4"), False),
        (two_d(1024, 2048, "f4"), True),
        (two_d(3008, 5568, "f4"), True),
        (two_d(9600, 13952, "f4"), False),
        (two_d(6000, 4000, "i1"), True),
        (permute("nchw-nhwc", (32, 64, 112, 112), (0, 2, 3, 1), "f4"), True),
        (permute("nhwc-nchw", (32, 224, 224, 3), (0, 3, 1, 2), "i1"), True),
        (permute("nhwc-nchw", (32, 224, 224, 3), (0, 3, 1, 2), "f4"), False),
        (permute("attention", (8, 512, 12, 64), (0, 2, 1, 3), "f4"), True),
        (shuffle("nchw", (32, 240, 56, 56), 3, "f4"), True),
        (shuffle("nhwc", (32, 56, 56, 240), 3, "f4"), True),
        (shuffle("nhwc", (32, 56, 56, 240), 3, "i1"), False),
        (shuffle("nchw", (64, 480, 7, 7), 3, "f4"), False),
        (split((100352, 240), 1, (60, 120, 60), "f4"), True),
        (split((1000000, 3), 1, (1, 1, 1), "f4"), True),
        (split((5000, 93 * 16), 1, (16,) * 93, "f4"), False),
        (split((32, 116, 56, 56), 1, (58, 58), "f4", "concat"), False),
        (broadcast("channel", (256, 1, 1), (32, 256, 56, 56), "f4"), True),
        (broadcast("row", (1, 4000), (4000, 4000), "i1"), False),
    ]
    return [
        replace(case, name=f"new/{case.name}", output="new", targets=("new output",), quick=quick, series=False)
        for case, quick in chosen
    ]

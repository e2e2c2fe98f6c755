"""Eager channel shuffles: NCHW and NHWC, 2 to 32 groups, images of 56x56 down to 7x7."""

from __future__ import annotations

import itertools
import math

from benchmarks.case import ONE_MB, Case, dtype_of, show


def shuffle(layout: str, shape: tuple[int, ...], group: int, dtype: str, **more) -> Case:
    """`shape` in memory order; the channels are axis 1 of NCHW and the last axis of NHWC."""
    axis = 1 if layout == "nchw" else len(shape) - 1
    targets: tuple[str, ...] = ()
    size = math.prod(shape) * dtype_of(dtype).itemsize
    if size < ONE_MB:
        pass
    elif layout == "nhwc" and dtype_of(dtype).itemsize <= 4:
        targets = ("shuffle NHWC, 2-4 groups",) if group <= 4 else ("shuffle NHWC, 8+ groups",) if group >= 8 else ()
    elif layout == "nchw" and math.prod(shape[2:]) * dtype_of(dtype).itemsize >= 64:
        targets = ("rows",)
    params = {"axis": axis, "group": group, "layout": layout}
    return Case(
        f"shuffle/{layout}/{show(shape)}/g{group}/{dtype}", "shuffle", shape, dtype, params, targets=targets, **more
    )


def cases(threads: int) -> list[Case]:
    found = []
    for layout, group, dtype in itertools.product(("nchw", "nhwc"), (2, 3, 4, 5, 8, 32), ("i1", "i2", "f4")):
        shape = (32, 480, 28, 28) if layout == "nchw" else (32, 28, 28, 480)
        quick = (group, dtype) in {(3, "f4"), (2, "i1"), (8, "f4"), (32, "i1"), (4, "i2")}
        found.append(shuffle(layout, shape, group, dtype, quick=quick))
    for layout, dtype in itertools.product(("nchw", "nhwc"), ("i1", "i2", "f4", "f8", "c16", "V3")):
        shape = (32, 240, 56, 56) if layout == "nchw" else (32, 56, 56, 240)
        found.append(shuffle(layout, shape, 3, dtype, quick=dtype in ("i1", "f4")))
    for layout, group, dtype in itertools.product(("nchw", "nhwc"), (2, 3, 8), ("i1", "f4")):
        shape = (64, 480, 7, 7) if layout == "nchw" else (64, 7, 7, 480)
        found.append(shuffle(layout, shape, group, dtype, quick=group == 3))
    for dtype in ("i1", "f4"):
        found.append(shuffle("nchw", (16, 1024, 7, 7), 2, dtype))
        found.append(shuffle("nchw", (16, 1024, 14, 14), 2, dtype))
    for channels, group in ((116, 2), (58, 29), (1920, 40), (24, 12), (6, 3), (1000, 125)):
        found.append(shuffle("nhwc", (16, 56, 56, channels), group, "f4"))
        found.append(shuffle("nhwc", (16, 56, 56, channels), group, "i1"))
    for shape in ((1, 240, 112, 112), (2, 240, 80, 80), (3, 240, 64, 64)):
        found.append(shuffle("nchw", shape, 3, "f4"))
    found.append(shuffle("nchw", (32, 256, 32, 32), 4, "f4"))
    # One shape from 1 KB to 512 MB.
    for n, height in ((1, 1), (1, 4), (1, 16), (8, 24), (16, 48), (32, 96)):
        big = n == 32
        series = (n, height, height, 480)
        found.append(shuffle("nhwc", series, 3, "f4", series=True, quick=not big, small=height == 1))
    return found

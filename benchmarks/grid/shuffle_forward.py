"""oneDNN's Shuffle by its own flow, plain and blocked layouts: "auto" against oneDNN's primitive."""

from __future__ import annotations

import itertools
import math

from benchmarks.case import ONE_MB, Case, dtype_of, show


def shuffle_forward(layout: str, dims: tuple[int, ...], group: int, dtype: str, **more) -> Case:
    """`dims` are logical (N, C, spatial), whatever the layout; `group` counts groups."""
    targets = ["ShuffleForward"]
    if "c" in layout[2:] and math.prod(dims) * dtype_of(dtype).itemsize >= ONE_MB:
        targets.append("blocked shuffles")
    params = {"axis": 1, "group": group, "layout": layout}
    name = f"shuffle_forward/{layout}/{show(dims)}/g{group}/{dtype}"
    return Case(name, "shuffle_forward", dims, dtype, params, targets=tuple(targets), **more)


def cases(threads: int) -> list[Case]:
    found = []
    dtypes = ("f4", "bfloat16", "i1", "u1", "i4")
    for layout, dtype in itertools.product(("nchw", "nhwc", "nChw8c", "nChw16c"), dtypes):
        quick = dtype in ("f4", "i1")
        found.append(shuffle_forward(layout, (32, 240, 56, 56), 3, dtype, quick=quick))
        found.append(shuffle_forward(layout, (32, 116, 28, 28), 2, dtype, quick=quick and layout != "nchw"))
        found.append(shuffle_forward(layout, (16, 480, 14, 14), 4, dtype))
        found.append(shuffle_forward(layout, (1, 1088, 7, 7), 8, dtype, quick=dtype == "bfloat16"))
    for layout, group in itertools.product(("nhwc", "nChw8c", "nChw16c"), (2, 5, 8, 32)):
        found.append(shuffle_forward(layout, (32, 480, 28, 28), group, "f4"))
        found.append(shuffle_forward(layout, (32, 480, 28, 28), group, "i1", quick=group == 8))
    for layout in ("nCdhw8c", "nCdhw16c", "ncdhw", "ndhwc"):
        found.append(shuffle_forward(layout, (4, 120, 8, 28, 28), 3, "f4"))
        found.append(shuffle_forward(layout, (4, 116, 8, 28, 28), 2, "i1"))
    # One shape from 1 KB to 512 MB.
    for n, height in ((1, 2), (1, 8), (1, 33), (8, 48), (16, 96), (32, 192)):
        dims = (n, 116, height, height)
        found.append(shuffle_forward("nChw16c", dims, 2, "f4", series=True, quick=n < 32))
    return found

"""Chains: several operations and still one trip through memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.case import Case, show

Step = tuple[str, dict[str, Any]]


def chain(name: str, shape: tuple[int, ...], dtype: str, *steps: Step, **more) -> Case:
    full = f"chain/{name}/{show(shape)}/{dtype}"
    return Case(full, "chain", shape, dtype, {"steps": steps}, targets=("chains",), **more)


def shuffle_channels(axis: int, group: int) -> Step:
    return "shuffle_channels", {"axis": axis, "group": group}


def transpose(*order: int) -> Step:
    return "transpose", {"input_order": order}


def split(axis: int, *lengths: int) -> Step:
    return "variadic_split", {"axis": axis, "split_lengths": lengths}


def reshape(*shape: int) -> Step:
    return "reshape", {"shape": shape}


def broadcast(*shape: int) -> Step:
    return "broadcast", {"target_shape": shape}


def cases(threads: int) -> list[Case]:
    found = []
    for dtype in ("f4", "i1"):
        quick = dtype == "f4"
        found += [
            chain("shufflenet", (32, 116, 28, 28), dtype, shuffle_channels(1, 2), split(1, 58, 58), quick=quick),
            chain("shufflenet-nhwc", (32, 116, 56, 56), dtype,
                  shuffle_channels(1, 2), split(1, 58, 58), transpose(0, 2, 3, 1), quick=quick),
            chain("nhwc-shuffle", (32, 56, 56, 116), dtype, shuffle_channels(3, 2), transpose(0, 3, 1, 2)),
            chain("qkv-heads", (8, 512, 2304), dtype,
                  reshape(8, 512, 3, 12, 64), transpose(2, 0, 3, 1, 4), split(0, 1, 1, 1), quick=quick),
            chain("space-to-depth", (16, 64, 112, 112), dtype,
                  reshape(16, 64, 56, 2, 56, 2), transpose(0, 3, 5, 1, 2, 4), reshape(16, 256, 56, 56), quick=quick),
            chain("depth-to-space", (16, 256, 56, 56), dtype,
                  reshape(16, 2, 2, 64, 56, 56), transpose(0, 3, 4, 1, 5, 2), reshape(16, 64, 112, 112)),
            chain("crop-to-nhwc", (32, 3, 256, 256), dtype,
                  ("index", {"key": np.s_[:, :, 16:240, 16:240]}), transpose(0, 2, 3, 1), quick=quick),
            chain("bgr-to-rgb-nchw", (32, 224, 224, 3), dtype,
                  ("index", {"key": np.s_[:, :, :, ::-1]}), transpose(0, 3, 1, 2)),
            chain("bias-image", (64, 1, 1), dtype, broadcast(32, 64, 56, 56), transpose(0, 2, 3, 1)),
            chain("two-shuffles", (32, 120, 28, 28), dtype, shuffle_channels(1, 3), shuffle_channels(1, 4)),
        ]  # fmt: skip
    return found

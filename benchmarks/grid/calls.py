"""Functions of the eager API that no other group asks for, on shapes that people have: images, signals, blocks."""

from __future__ import annotations

import dataclasses

from benchmarks.calls import call
from benchmarks.case import Case


def cases(threads: int) -> list[Case]:
    image = ((0, 0), (0, 0), (1, 1), (1, 1))
    found = [
        call("pad", (32, 64, 56, 56), "f4", pad_width=image, mode="constant"),
        call("pad", (32, 64, 56, 56), "f4", pad_width=image, mode="edge"),
        call("pad", (32, 64, 56, 56), "f4", pad_width=image, mode="reflect"),
        call("pad", (8, 224, 224, 3), "i1", pad_width=((0, 0), (3, 3), (3, 3), (0, 0)), mode="constant"),
        call("pad", (1000000, 3), "f4", pad_width=((0, 0), (0, 1)), mode="constant"),  # rows of 3 to rows of 4
        call("pad", (25, 40000, 2), "i2", pad_width=((0, 0), (0, 0), (1, 2)), mode="constant"),
        call("pad", (4000000,), "f4", pad_width=((400, 400),), mode="reflect"),  # a signal before its windows
        call("roll", (16, 56, 56, 96), "f4", shift=(-3, -3), axis=(1, 2)),  # the windows of Swin
        call("roll", (1000000, 12), "f4", shift=(1,), axis=(1,)),
        call("flip", (64, 224, 224, 3), "i1", axis=(2,)),
        call("flip", (4000000,), "f4", axis=(0,)),
        call("tile", (1000, 1000), "f4", reps=(2, 3)),
        call("repeat_elements", (32, 8, 256, 128), "i2", repeats=4, axis=1),  # heads of grouped attention
        call("repeat_elements", (16, 64, 128, 128), "f4", repeats=2, axis=3),
        call("byteswap", (4000000,), "i2"),
        call("byteswap", (4000000,), "f4"),
        call("unfold", (4000000,), "f4", axis=0, size=400, step=160),
        call("space_to_depth", (8, 64, 128, 128), "f4", block_size=2),
        call("depth_to_space", (8, 256, 64, 64), "f4", block_size=2),
        call("pixel_unshuffle", (8, 3, 512, 512), "f4", factor=8),
        call("pixel_shuffle", (8, 192, 64, 64), "f4", factor=8),
    ]
    return [dataclasses.replace(case, quick=i % 3 == 0) for i, case in enumerate(found)]

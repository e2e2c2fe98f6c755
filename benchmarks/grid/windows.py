"""Windows that overlap in the source: im2col and im2row of images, frames of a signal."""

from __future__ import annotations

import itertools

from benchmarks.case import Case, Source, show


def images(shape: tuple[int, ...], size: int, step: int, dtype: str, quick: bool = False) -> list[Case]:
    """Square windows of NCHW images: to columns [N, C, k, k, H, W], and to rows [N, H, W, C, k, k]."""
    n, channels, height, width = shape
    placed = tuple((length - size) // step + 1 for length in (height, width))
    source = Source(parent=shape, windows=((2, size, step), (3, size, step)))
    return [
        Case(
            f"windows/{name}/{show(shape)}/{size}x{size}" + (f"-step{step}" if step > 1 else "") + f"/{dtype}",
            "transpose",
            (n, channels, *placed, size, size),
            dtype,
            {"order": order},
            source=source,
            quick=quick,
        )
        for name, order in (("im2col", (0, 1, 4, 5, 2, 3)), ("im2row", (0, 2, 3, 1, 4, 5)))
    ]


def frames(count: int, size: int, step: int, dtype: str, quick: bool = False) -> list[Case]:
    """Frames of a signal, one to a row or one to a column."""
    source = Source(parent=((count - 1) * step + size,), windows=((0, size, step),))
    return [
        Case(
            f"windows/{name}/{count}x{size}-step{step}/{dtype}",
            "transpose",
            (count, size),
            dtype,
            {"order": order},
            source=source,
            quick=quick,
        )
        for name, order in (("frames", (0, 1)), ("frames-transposed", (1, 0)))
    ]


def cases(threads: int) -> list[Case]:
    found: list[Case] = []
    for n in (1, 4, 8, 32):  # from inside the last-level cache to far beyond
        found += images((n, 64, 56, 56), 3, 1, "f4", quick=n == 4)
    found += images((16, 256, 14, 14), 3, 1, "f4")
    found += images((32, 32, 56, 56), 3, 1, "i1")
    found += images((8, 3, 224, 224), 7, 2, "f4")
    found += images((16, 3, 224, 224), 11, 4, "i1")
    for (size, step), megabytes in itertools.product(((400, 160), (1024, 256), (16, 1)), (8, 24, 40, 100)):
        found += frames(megabytes * 1_000_000 // (4 * size), size, step, "f4", quick=megabytes == 24)
    return found

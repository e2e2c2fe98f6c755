"""Broadcasts of a scalar, a row, a column, a middle axis and several axes."""

from __future__ import annotations

from benchmarks.case import Case, show


def broadcast(kind: str, shape: tuple[int, ...], target: tuple[int, ...], dtype: str, **more) -> Case:
    name = f"broadcast/{kind}/{show(shape)}-to-{show(target)}/{dtype}"
    return Case(name, "broadcast", shape, dtype, {"target": target}, targets=more.pop("targets", ("fills",)), **more)


def cases(threads: int) -> list[Case]:
    found = []
    for dtype in ("i1", "i2", "f4", "f8"):
        main = dtype in ("i1", "f4")
        found += [
            broadcast("channel", (256, 1, 1), (32, 256, 56, 56), dtype, quick=main),
            broadcast("several", (1, 64, 1, 56), (32, 64, 56, 56), dtype, quick=main),
            broadcast("scalar", (1,), (4000, 4000), dtype, quick=dtype == "f4"),
            broadcast("row", (1, 4000), (4000, 4000), dtype, quick=dtype == "f4"),
            broadcast("column", (4000, 1), (4000, 4000), dtype, quick=dtype == "f4"),
            broadcast("middle", (64, 1, 1000), (64, 200, 1000), dtype, quick=dtype == "f4"),
        ]
    found += [
        broadcast("row", (3,), (2000, 2000, 3), "i1", quick=True),
        broadcast("row", (3,), (2000, 2000, 3), "f4"),
        broadcast("row", (7,), (1000000, 7), "i2"),
        broadcast("row", (1, 33), (300000, 33), "f4"),
        broadcast("row", (1, 1), (300000, 1), "V12"),
        broadcast("row", (5,), (300000, 5), "V3"),
        broadcast("column", (300000, 1), (300000, 5), "f4", quick=True),
        broadcast("column", (300000, 1), (300000, 3), "i1"),
        broadcast("column", (1000, 1, 1), (1000, 7, 600), "c16"),
        broadcast("column", (1000000, 1), (1000000, 2), "i1"),
        broadcast("several", (1, 30, 1, 20, 1), (10, 30, 11, 20, 17), "f4"),
        broadcast("several", (12, 1, 64, 1), (12, 128, 64, 128), "i2"),
        broadcast("outer", (1, 1000, 1000), (2, 1000, 1000), "f4"),
        broadcast("outer", (1, 1000, 1000), (3, 1000, 1000), "i1"),
        broadcast("same", (3000, 2000), (3000, 2000), "f4"),
    ]
    for rows, columns in ((4, 64), (32, 256), (128, 1024), (512, 4096), (4000, 4200), (8192, 16384)):
        found.append(
            broadcast("series", (1, columns), (rows, columns), "f4", series=True, quick=rows < 8000, small=rows == 4)
        )
    return found

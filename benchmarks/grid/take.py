"""Rows of a table and columns of a matrix by a list of random indices, as embeddings and shuffled data take them."""

from __future__ import annotations

from benchmarks.case import Case, show


def take(shape: tuple[int, ...], axis: int, count: int, dtype: str, index: str = "int64", quick: bool = False) -> Case:
    name = f"take/{show(shape)}/axis{axis}/{count}/{dtype}" + ("" if index == "int64" else f"/by-{index}")
    return Case(name, "take", shape, dtype, {"axis": axis, "count": count, "index": index}, quick=quick)


def cases(threads: int) -> list[Case]:
    return [
        take((30522, 768), 0, 4096, "f4", quick=True),  # BERT's embeddings of 8 texts of 512 tokens
        take((100000, 64), 0, 100000, "f4", quick=True),
        take((40000, 24), 0, 40000, "f4"),
        take((50000, 8), 0, 50000, "f4"),
        take((1000000, 1), 0, 500000, "f4"),
        take((1000000, 1), 0, 500000, "f4", "int32", quick=True),
        take((10000, 1), 0, 20000, "f4"),
        take((10000, 1), 0, 500000, "i2"),
        take((5000000, 1), 0, 7000000, "i1"),
        take((1000, 1000), 1, 1000, "f4", quick=True),
        take((2000, 2000), 1, 500, "i1"),
        take((20000, 16), 1, 16, "f8"),
        take((64, 256, 28, 28), 1, 256, "f4"),
    ]

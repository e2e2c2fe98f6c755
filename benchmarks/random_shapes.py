"""Shapes that nobody has chosen: random problems of the kinds that users have, from a seed."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable

from benchmarks.case import Case, dtype_of
from benchmarks.grid.transpose import permute

SMALLEST = 4e6  # bytes of an output, but of pixels and powers of two: sizes are drawn by their logarithms
SMALLEST_OF_POWERS = 128e3  # in the second-level cache, too
LARGEST = 100e6
DTYPES = ("i1", "i2", "f4", "f8")


def _dtype(draw: random.Random) -> str:
    return draw.choices(DTYPES, (3, 2, 5, 2))[0]


def _elements(draw: random.Random, dtype: str) -> float:
    size = math.exp(draw.uniform(math.log(SMALLEST), math.log(LARGEST)))
    return size / dtype_of(dtype).itemsize


def _order(draw: random.Random, rank: int) -> tuple[int, ...]:
    """Any but that of the axes themselves."""
    order = list(range(rank))
    while order == sorted(order):
        draw.shuffle(order)
    return tuple(order)


def _batch(elements: float, image: float) -> int:
    return max(1, round(elements / image))


def _layouts(draw: random.Random) -> Case:
    dtype = _dtype(draw)
    channels = draw.choice((1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 320, 512, 1024))
    height, width = draw.randint(7, 256), draw.randint(7, 256)
    batch = _batch(_elements(draw, dtype), channels * height * width)
    if draw.random() < 0.5:
        return permute("layouts", (batch, channels, height, width), (0, 2, 3, 1), dtype)
    return permute("layouts", (batch, height, width, channels), (0, 3, 1, 2), dtype)


def _shuffles(draw: random.Random) -> Case:
    from benchmarks.grid.shuffle import shuffle

    dtype = _dtype(draw)
    groups = draw.choice((2, 3, 4, 5, 6, 8, 10, 12, 16, 32))
    channels = groups * draw.randint(2, 1 + 512 // groups)
    side = draw.choice((7, 8, 10, 14, 16, 20, 28, 32, 40, 56, 64, 112))
    batch = _batch(_elements(draw, dtype), channels * side * side)
    if draw.random() < 0.5:
        return shuffle("nchw", (batch, channels, side, side), groups, dtype)
    return shuffle("nhwc", (batch, side, side, channels), groups, dtype)


def _rows(draw: random.Random) -> Case:
    """The last axis stays where it is."""
    dtype = _dtype(draw)
    rank = draw.randint(3, 5)
    row = draw.randint(3, 300)
    outer = _elements(draw, dtype) / row
    shape = [max(2, round(outer ** (1 / (rank - 1)) * draw.uniform(0.5, 2))) for _ in range(rank - 1)]
    return permute("rows", (*shape, row), (*_order(draw, rank - 1), rank - 1), dtype)


def _pixels(draw: random.Random) -> Case:
    """Images turned, points and records regrouped: a short last axis stays where it is."""
    dtype = _dtype(draw)
    rank = draw.randint(3, 5)
    channels = draw.choice((2, 3, 3, 3, 4, 5, 6, 7, 9, 10, 12, 15))
    outer = _elements(draw, dtype) / draw.choice((1, 4, 16)) / channels
    shape = []
    for axis in range(rank - 1):
        shape.append(max(2, round(outer ** (1 / (rank - 1 - axis)) * draw.uniform(0.4, 2))))
        outer = max(1.0, outer / shape[-1])
    return permute("pixels", (*shape, channels), (*_order(draw, rank - 1), rank - 1), dtype)


def _heads(draw: random.Random) -> Case:
    """Attention: (batch, positions, heads, size) and back."""
    dtype = draw.choice(("i2", "i2", "f4", "f4", "i1"))
    heads = draw.choice((4, 6, 8, 12, 16, 20, 24, 32, 40))
    size = draw.choice((16, 32, 40, 48, 64, 72, 80, 96, 128))
    positions = draw.choice((49, 64, 77, 128, 197, 256, 384, 512, 577, 1024, 2048))
    batch = _batch(_elements(draw, dtype), heads * size * positions)
    axes = [positions, heads]
    draw.shuffle(axes)
    order = (0, 2, 1, 3) if draw.random() < 0.7 else (0, 2, 3, 1)
    return permute("heads", (batch, *axes, size), order, dtype)


def _matrices(draw: random.Random) -> Case:
    dtype = _dtype(draw)
    elements = _elements(draw, dtype)
    rows = round(math.sqrt(elements) * math.exp(draw.uniform(-2.5, 2.5)))
    return permute("matrices", (rows, max(2, round(elements / rows))), (1, 0), dtype)


def _of_rank(low: int, high: int, least: int, most: float) -> Callable[[random.Random], Case]:
    def make(draw: random.Random) -> Case:
        dtype = _dtype(draw)
        elements = _elements(draw, dtype)
        rank = draw.randint(low, high)
        shape = []
        for axis in range(rank):
            mean = elements ** (1 / (rank - axis))
            extent = max(least, round(mean * draw.uniform(0.6, most)))
            shape.append(extent)
            elements = max(1.0, elements / extent)
        draw.shuffle(shape)
        return permute("rank", tuple(shape), _order(draw, rank), dtype)

    return make


def _powers_of_two(draw: random.Random) -> Case:
    """All axes are powers of two: rows lie in few sets of the caches. Half of them have their axes reversed."""
    dtype = _dtype(draw)
    rank = draw.randint(2, 8)
    size = math.exp(draw.uniform(math.log(SMALLEST_OF_POWERS), math.log(LARGEST)))
    powers = [1] * rank
    for _ in range(round(math.log2(size / dtype_of(dtype).itemsize)) - rank):
        powers[draw.randrange(rank)] += 1
    order = tuple(reversed(range(rank))) if draw.random() < 0.5 else _order(draw, rank)
    return permute("powers of two", tuple(2**power for power in powers), order, dtype)


KINDS: dict[str, Callable[[random.Random], Case]] = {
    "layouts": _layouts,
    "shuffles": _shuffles,
    "rows": _rows,
    "heads": _heads,
    "matrices": _matrices,
    "rank 5-9": _of_rank(5, 9, 2, 1.6),
    "rank 10-20": _of_rank(10, 20, 2, 1.3),
    "pixels": _pixels,
    "powers of two": _powers_of_two,
}
GROUP = "random "  # the groups of their names begin so


def cases(count: int, seed: int) -> list[Case]:
    """`count` problems, of each kind as many."""
    draw = random.Random(seed)
    found: dict[str, Case] = {}
    while len(found) < count:
        kind = list(KINDS)[len(found) % len(KINDS)]
        case = KINDS[kind](draw)
        details = case.name.split("/", 1 if case.op == "shuffle" else 2)[-1]
        case = dataclasses.replace(case, name=f"{GROUP}{kind}/{details}", targets=())
        found.setdefault(case.name, case)
    return list(found.values())

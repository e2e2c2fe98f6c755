"""Calls that nobody has chosen: random arguments and shapes for 17 functions, from a seed.

`random_shapes` asks for what users have most; this looks for calls that nobody has thought of. The slowest of a run,
by fraction of the ceiling and against NumPy, are where to look next.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable

from benchmarks.calls import call, shown
from benchmarks.case import Case, Source, dtype_of
from benchmarks.grid.broadcast import broadcast
from benchmarks.grid.shuffle import shuffle
from benchmarks.grid.split import split
from benchmarks.grid.take import take
from benchmarks.grid.transpose import permute

SMALLEST = 0.5e6  # bytes of an output: sizes are drawn by their logarithms
LARGEST = 40e6
MOST_GROWTH = 4  # how many times larger than its source a result is
DTYPES = ("i1", "i2", "f4", "f8", "c16")
WEIGHTS = (3, 3, 5, 2, 1)


def _dtype(draw: random.Random) -> str:
    return draw.choices(DTYPES, WEIGHTS)[0]


def _shape(draw: random.Random, dtype: str, rank: int) -> list[int]:
    """Extents from 1 to all: each axis gets a share of the elements by its logarithm, many of them short."""
    elements = math.exp(draw.uniform(math.log(SMALLEST), math.log(LARGEST))) / dtype_of(dtype).itemsize
    shares = [draw.random() ** 2 for _ in range(rank)]
    total = sum(shares)
    return [max(1, round(elements ** (share / total))) for share in shares]


def _any(draw: random.Random, low: int = 1, high: int = 5) -> tuple[tuple[int, ...], str]:
    dtype = _dtype(draw)
    return tuple(_shape(draw, dtype, draw.randint(low, high))), dtype


def _axis(draw: random.Random, shape: tuple[int, ...]) -> int:
    return draw.randrange(len(shape))


def _transpose(draw: random.Random) -> Case:
    shape, dtype = _any(draw, 2, 6)
    order = list(range(len(shape)))
    while order == sorted(order):
        draw.shuffle(order)
    steps = tuple(draw.choices((1, 2, -1, 3), (12, 1, 1, 1))[0] for _ in shape)
    source = Source() if all(step == 1 for step in steps) else Source(steps=steps)
    suffix = "" if source == Source() else f"steps{shown(steps)}"
    return permute("any", shape, tuple(order), dtype, suffix, source=source)


def _shuffle(draw: random.Random) -> Case:
    shape, dtype = _any(draw, 1, 5)
    axis = _axis(draw, shape)
    group = draw.randint(2, 9)
    long = (*shape[:axis], group * max(2, shape[axis] // group), *shape[axis + 1 :])
    case = shuffle("any", long, group, dtype)
    return dataclasses.replace(case, name=f"{case.name}/axis{axis}", params={**case.params, "axis": axis})


def _split(draw: random.Random) -> Case:
    shape, dtype = _any(draw, 1, 4)
    axis = max(range(len(shape)), key=lambda k: shape[k]) if draw.random() < 0.5 else _axis(draw, shape)
    parts = draw.randint(2, 12)
    lengths = [draw.choice((1, 2, 3, draw.randint(1, 40), max(1, shape[axis] // parts))) for _ in range(parts)]
    rest = shape[axis] - sum(lengths)
    if rest > 0:
        lengths[draw.randrange(parts)] += rest
    long = (*shape[:axis], sum(lengths), *shape[axis + 1 :])
    case = split(long, axis, tuple(lengths), dtype)
    return dataclasses.replace(case, op="concat", name=f"concat{case.name[5:]}") if draw.random() < 0.5 else case


def _broadcast(draw: random.Random) -> Case:
    shape, dtype = _any(draw, 1, 5)
    short = list(shape)
    while short == list(shape):
        short = [1 if draw.random() < 0.4 else n for n in shape]
    return broadcast("any", tuple(short), shape, dtype)


def _take(draw: random.Random) -> Case:
    shape, dtype = _any(draw, 1, 4)
    axis = _axis(draw, shape)
    return take(shape, axis, max(1, round(shape[axis] * draw.uniform(0.3, 1.5))), dtype)


def _pad(draw: random.Random) -> Case:
    shape, dtype = _any(draw)
    widths = tuple(
        (draw.choice((0, 0, 1, 2, 3)), draw.choice((0, 0, 1, 2, 3, 8))) if n < 64 or draw.random() < 0.5 else (0, 0)
        for n in shape
    )
    while math.prod(n + sum(w) for n, w in zip(shape, widths, strict=True)) > MOST_GROWTH * math.prod(shape):
        at = draw.randrange(len(shape))
        widths = (*widths[:at], (0, 0), *widths[at + 1 :])
    if not any(map(any, widths)):
        widths = ((1, 2), *widths[1:])
    mode = draw.choice(("constant", "constant", "edge", "reflect", "wrap"))
    return call("pad", shape, dtype, pad_width=widths, mode=mode)


def _roll(draw: random.Random) -> Case:
    shape, dtype = _any(draw)
    axes = tuple(sorted(draw.sample(range(len(shape)), draw.randint(1, min(2, len(shape))))))
    return call("roll", shape, dtype, shift=tuple(draw.randint(1, max(1, shape[axis] - 1)) for axis in axes), axis=axes)


def _flip(draw: random.Random) -> Case:
    shape, dtype = _any(draw)
    return call("flip", shape, dtype, axis=tuple(sorted(draw.sample(range(len(shape)), draw.randint(1, len(shape))))))


def _tile(draw: random.Random) -> Case:
    shape, dtype = _any(draw)
    reps = [1] * len(shape)
    reps[_axis(draw, shape)] = draw.randint(2, MOST_GROWTH)
    return call("tile", shape, dtype, reps=tuple(reps))


def _repeat_elements(draw: random.Random) -> Case:
    shape, dtype = _any(draw)
    return call("repeat_elements", shape, dtype, repeats=draw.randint(2, MOST_GROWTH), axis=_axis(draw, shape))


def _byteswap(draw: random.Random) -> Case:
    shape, dtype = _any(draw)
    return call("byteswap", shape, "i2" if dtype == "i1" else dtype)


def _unfold(draw: random.Random) -> Case:
    shape, dtype = _any(draw)
    axis = max(range(len(shape)), key=lambda k: shape[k])
    size = draw.choice((2, 3, 4, 5, 7, 16, 25, 400))
    size = min(size, shape[axis])
    step = max(1, -(-size // MOST_GROWTH), draw.randint(1, size))
    return call("unfold", shape, dtype, axis=axis, size=size, step=step)


def _blocks(function: str, argument: str, to_depth: bool) -> Callable[[random.Random], Case]:
    def make(draw: random.Random) -> Case:
        shape, dtype = _any(draw, 4, 4)
        block = draw.choice((2, 2, 3, 4, 8))
        n, c, h, w = shape
        long = (n, c, h * block, w * block) if to_depth else (n, c * block**2, h, w)
        elements, most = math.prod(long), LARGEST / dtype_of(dtype).itemsize
        if elements > most:  # the longest axis gives what the blocks have taken
            at = max(range(4), key=lambda k: long[k])
            unit = {0: 1, 1: 1 if to_depth else block**2}.get(at, block if to_depth else 1)
            long = (*long[:at], max(1, round(long[at] * most / elements / unit)) * unit, *long[at + 1 :])
        return call(function, long, dtype, **{argument: block})

    return make


KINDS: dict[str, Callable[[random.Random], Case]] = {
    "transpose": _transpose,
    "shuffle": _shuffle,
    "split": _split,
    "broadcast": _broadcast,
    "take": _take,
    "pad": _pad,
    "roll": _roll,
    "flip": _flip,
    "tile": _tile,
    "repeat_elements": _repeat_elements,
    "byteswap": _byteswap,
    "unfold": _unfold,
    "space_to_depth": _blocks("space_to_depth", "block_size", True),
    "depth_to_space": _blocks("depth_to_space", "block_size", False),
    "pixel_unshuffle": _blocks("pixel_unshuffle", "factor", True),
    "pixel_shuffle": _blocks("pixel_shuffle", "factor", False),
}
GROUP = "any call"  # the first part of their names


def cases(count: int, seed: int) -> list[Case]:
    """`count` calls, of each function as many."""
    draw = random.Random(seed)
    found: dict[str, Case] = {}
    while len(found) < count:
        case = list(KINDS.values())[len(found) % len(KINDS)](draw)
        name = case.name.removeprefix("call/")
        found.setdefault(name, dataclasses.replace(case, name=f"{GROUP}/{name}", targets=()))
    return list(found.values())

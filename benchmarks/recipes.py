"""The README's recipes against NumPy's and torch's ways to the same result.

Run as ``python -m benchmarks.recipes``: calls in random order within one process, medians, new outputs for all.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

import dnnmove as dm
from benchmarks.measure import rest


@dataclass(frozen=True)
class Recipe:
    """One job done by us and by others; every function returns an array or a tuple of them."""

    name: str
    ways: dict[str, Callable[[], object]]  # "ours" first


def collate() -> Recipe:
    """Images in HWC of bytes to one NCHW batch."""
    images = [np.random.default_rng(i).integers(0, 256, (224, 224, 3), np.uint8) for i in range(32)]

    def ours() -> np.ndarray:
        batch = np.empty((len(images), 3, 224, 224), np.uint8)
        for image, place in zip(images, batch, strict=True):
            dm.transpose(image, (2, 0, 1), out=place)
        return batch

    def numpy() -> np.ndarray:
        return np.ascontiguousarray(np.stack(images).transpose(0, 3, 1, 2))

    ways = {"ours": ours, "NumPy": numpy}
    try:
        import torch

        tensors = [torch.from_numpy(image) for image in images]
        ways["torch"] = lambda: torch.stack(tensors).permute(0, 3, 1, 2).contiguous().numpy()
    except ImportError:
        pass
    return Recipe("collate 32 images HWC to NCHW", ways)


def heads() -> Recipe:
    """The three matrices of attention to one array per head each."""
    x = np.random.default_rng(0).random((8, 512, 3 * 12 * 64), dtype=np.float32)
    chain = dm.Chain(dm.MemoryDesc.of(x)).reshape((8, 512, 3, 12, 64)).transpose((2, 0, 3, 1, 4)).build()

    def numpy() -> np.ndarray:
        return np.ascontiguousarray(x.reshape(8, 512, 3, 12, 64).transpose(2, 0, 3, 1, 4))

    ways: dict[str, Callable[[], object]] = {"ours": lambda: chain(x), "NumPy": numpy}
    try:
        import torch

        t = torch.from_numpy(x)
        ways["torch"] = lambda: t.reshape(8, 512, 3, 12, 64).permute(2, 0, 3, 1, 4).contiguous().numpy()
    except ImportError:
        pass
    return Recipe("attention heads", ways)


def windows() -> Recipe:
    """im2col: every 3 x 3 window of an image as a row."""
    x = np.random.default_rng(0).random((8, 32, 58, 58), dtype=np.float32)
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    order = (0, 2, 3, 1, 4, 5)
    return Recipe(
        "windows 3x3 (im2col)",
        {"ours": lambda: dm.transpose(seen, order), "NumPy": lambda: np.ascontiguousarray(seen.transpose(order))},
    )


def pixel_shuffle() -> Recipe:
    x = np.random.default_rng(0).random((8, 64, 112, 112), dtype=np.float32)
    chain = (
        dm.Chain(dm.MemoryDesc.of(x))
        .reshape((8, 16, 2, 2, 112, 112))
        .transpose((0, 1, 4, 2, 5, 3))
        .reshape((8, 16, 224, 224))
        .build()
    )

    def numpy() -> np.ndarray:
        return x.reshape(8, 16, 2, 2, 112, 112).transpose(0, 1, 4, 2, 5, 3).reshape(8, 16, 224, 224)

    ways: dict[str, Callable[[], object]] = {"ours": lambda: chain(x), "NumPy": numpy}
    try:
        import torch

        t = torch.from_numpy(x)
        ways["torch"] = lambda: torch.nn.functional.pixel_shuffle(t, 2).numpy()
    except ImportError:
        pass
    return Recipe("pixel shuffle", ways)


def columns() -> Recipe:
    """A table kept column by column to rows."""
    x = np.asfortranarray(np.random.default_rng(0).random((200_000, 40)))
    return Recipe(
        "columns to a matrix",
        {"ours": lambda: dm.transpose(x, (0, 1)), "NumPy": lambda: np.ascontiguousarray(x)},
    )


def byte_order() -> Recipe:
    """Big-endian numbers to native ones."""
    x = np.random.default_rng(0).random((1000, 2000)).astype(">f4")
    return Recipe(
        "byte order, big-endian f4",
        {
            "ours": lambda: dm.byteswap(x),
            "NumPy": lambda: x.astype("<f4"),
        },
    )


def planes() -> Recipe:
    """Photos to planes of float32, scaled and shifted."""
    x = np.random.default_rng(0).integers(0, 256, (32, 224, 224, 3), np.uint8)
    scale, shift = np.array([0.5, 0.25, 2], np.float32), np.array([-64, -32, 16], np.float32)
    chain = dm.Chain.of(x).transpose((0, 3, 1, 2)).convert("float32", scale, shift, axis=1).build()
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: chain(x),
        "NumPy": lambda: np.ascontiguousarray((x * scale + shift).transpose(0, 3, 1, 2)),
    }
    try:
        import torch

        t, by, plus = (
            torch.from_numpy(x),
            torch.from_numpy(scale)[:, None, None],
            torch.from_numpy(shift)[:, None, None],
        )
        dense = torch.contiguous_format
        ways["torch"] = lambda: t.permute(0, 3, 1, 2).to(torch.float32, memory_format=dense).mul_(by).add_(plus).numpy()
    except ImportError:
        pass
    return Recipe("photos to normalised planes", ways)


def bfloat16() -> Recipe:
    """64 MiB of float32 to bfloat16."""
    x = np.random.default_rng(0).standard_normal(16 << 20).astype(np.float32)
    desc = dm.Reorder.Desc(dm.MemoryDesc.of(x), dm.MemoryDesc(x.shape, "bfloat16"))
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: dm.convert(x, "bfloat16"),
        "NumPy": lambda: x.astype(ml_dtypes.bfloat16),
    }
    if len(dm.Reorder.PrimitiveDesc(desc).implementations) > 1:
        theirs = dm.Reorder(dm.Reorder.PrimitiveDesc(desc, implementation="onednn"))
        ways["oneDNN"] = lambda: theirs(x)
    try:
        import torch

        t = torch.from_numpy(x)
        ways["torch"] = lambda: t.to(torch.bfloat16).view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    except ImportError:
        pass
    return Recipe("float32 to bfloat16", ways)


def weights() -> Recipe:
    """A matrix of FP8 weights turned round."""
    x = np.random.default_rng(0).random((4096, 2048)).astype(ml_dtypes.float8_e4m3fn)
    ways: dict[str, Callable[[], object]] = {
        "ours": lambda: dm.transpose(x),
        "NumPy": lambda: np.ascontiguousarray(x.T),
    }
    try:
        import torch

        t = torch.from_numpy(x.view(np.uint8)).view(torch.float8_e4m3fn)
        ways["torch"] = lambda: t.t().contiguous().view(torch.uint8).numpy().view(x.dtype)
    except ImportError:
        pass
    return Recipe("FP8 weights transposed", ways)


RECIPES = (collate, heads, windows, pixel_shuffle, columns, byte_order, planes, bfloat16, weights)


def measure(recipe: Recipe, seconds: float = 1.5) -> dict[str, float]:
    """The median seconds of every way, after each has given the bytes that ours gives."""
    expected = np.asarray(recipe.ways["ours"]()).tobytes()
    for name, way in recipe.ways.items():
        if np.asarray(way()).tobytes() != expected:
            raise SystemExit(f"{recipe.name}: {name} gives other bytes")
    times: dict[str, list[float]] = {name: [] for name in recipe.ways}
    order, turns = random.Random(1), list(recipe.ways)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["ours"]) < 5:
        order.shuffle(turns)
        for name in turns:
            rest()
            for warm in (True, False):
                start = time.perf_counter()
                result = recipe.ways[name]()
                if not warm:
                    times[name].append(time.perf_counter() - start)
                del result
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> int:
    for make in RECIPES:
        recipe = make()
        medians = measure(recipe)
        ours = medians.pop("ours")
        others = "  ".join(f"{name} {seconds / ours:5.1f}x" for name, seconds in medians.items())
        print(f"{recipe.name:32} {ours * 1e6:9.1f} us   {others}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Compact models of the published architectures, under eager torch, torch.compile and its backend "dnnmove".

Run as ``python -m benchmarks.torch_models``: inference with random weights, medians, and the copies in the graphs.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

import dnnmove as dm
import dnnmove.torch
from dnnmove.torch import _fold
from dnnmove.torch._movement import COPIES, JOINS, source_of


class Counts(NamedTuple):
    """Copies of one graph as it was traced, and with chains in their place."""

    before: int
    after: int
    chains: int


class ShuffleUnit(nn.Module):
    """ShuffleNet v2 (Ma et al., 2018), the unit of stride 1, by views as models write it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        half = channels // 2
        self.through = nn.Sequential(
            *(nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU()),
            *(nn.Conv2d(half, half, 3, padding=1, groups=half, bias=False), nn.BatchNorm2d(half)),
            *(nn.Conv2d(half, half, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU()),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        passed, taken = x.chunk(2, 1)
        y = torch.cat([passed, self.through(taken)], 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class SwinBlock(nn.Module):
    """Swin Transformer (Liu et al., 2021): attention in shifted windows."""

    def __init__(self, dim: int, heads: int, window: int, shift: int) -> None:
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, h, w, c = x.shape
        k, area = self.window, self.window**2
        y = torch.roll(self.norm1(x), (-self.shift, -self.shift), (1, 2))
        y = y.view(n, h // k, k, w // k, k, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, area, c)
        q, key, v = self.qkv(y).view(-1, area, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q @ key.transpose(-2, -1) * (c // self.heads) ** -0.5).softmax(-1)
        y = self.out((weights @ v).transpose(1, 2).reshape(-1, area, c))
        y = y.view(n, h // k, w // k, k, k, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(n, h, w, c)
        x = x + torch.roll(y, (self.shift, self.shift), (1, 2))
        return x + self.mlp(self.norm2(x))


class VitBlock(nn.Module):
    """Vision Transformer (Dosovitskiy et al., 2021): attention over all patches."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, length, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, length, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, length, c)
        x = x + self.out(y)
        return x + self.mlp(self.norm2(x))


class Vit(nn.Module):
    """Patches of images, blocks, and images back from patches, as masked autoencoders do (He et al., 2022)."""

    def __init__(self, dim: int = 96, heads: int = 3, patch: int = 8, depth: int = 2) -> None:
        super().__init__()
        self.patch = patch
        self.embed, self.restore = nn.Linear(3 * patch**2, dim), nn.Linear(dim, 3 * patch**2)
        self.blocks = nn.Sequential(*(VitBlock(dim, heads) for _ in range(depth)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, c, h, w = x.shape
        p = self.patch
        patches = x.view(n, c, h // p, p, w // p, p).permute(0, 2, 4, 3, 5, 1).reshape(n, -1, p * p * c)
        y = self.restore(self.blocks(self.embed(patches)))
        return y.view(n, h // p, w // p, p, p, c).permute(0, 5, 1, 3, 2, 4).reshape(n, c, h, w)


def windows(x: torch.Tensor) -> torch.Tensor:
    """Swin's shifted windows of 8 x 8 alone: a roll and a partition, two copies in eager torch."""
    n, h, w, c = x.shape
    y = torch.roll(x, (-4, -4), (1, 2))
    return y.view(n, h // 8, 8, w // 8, 8, c).permute(0, 1, 3, 2, 4, 5).contiguous()


def models(scale: int = 1) -> dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], torch.Tensor]]:
    """Model and input by name; `scale` multiplies the batches."""
    torch.manual_seed(0)
    shufflenet = nn.Sequential(ShuffleUnit(116), ShuffleUnit(116)).eval()
    swin = nn.Sequential(SwinBlock(96, 3, 7, 0), SwinBlock(96, 3, 7, 3)).eval()
    return {
        "ShuffleNet v2, 2 units": (shufflenet, torch.randn(2 * scale, 116, 28, 28)),
        "Swin, 2 blocks": (swin, torch.randn(scale, 56, 56, 96)),
        "ViT, 2 blocks": (Vit().eval(), torch.randn(2 * scale, 3, 128, 128)),
        "shifted windows alone": (windows, torch.randn(scale, 64, 64, 96)),
    }


def copies_in(graph: Any) -> int:
    """How many operations of an ATen graph write elements somewhere else and do nothing to them."""
    moved = (node for node in graph.nodes if node.users and node.target in (*COPIES, *JOINS))
    return sum(1 for node in moved if node.target in JOINS or source_of(node) is not None)


def counting(counts: list[Counts]) -> Any:
    """A context in which every graph that is compiled appends its copies before and after."""
    fold = _fold.fold

    def counted(graph: Any, *, fuses: bool) -> int:
        before = copies_in(graph)
        chains = fold(graph, fuses=fuses)
        counts.append(Counts(before, copies_in(graph) + chains, chains))
        return chains

    return mock.patch.object(_fold, "fold", counted)


def loops_of(call: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> list[str]:
    """The loops that inductor compiles for a call, by names that list the operations fused into each."""
    from torch._inductor.utils import run_and_get_code

    _, programs = run_and_get_code(call, x)
    return [name for text in programs for name in re.findall(r"^cpp_fused_(\w+) = async_compile", text, re.MULTILINE)]


def measure(
    ways: dict[str, Callable[[torch.Tensor], torch.Tensor]], x: torch.Tensor, seconds: float
) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in ways}
    turns, order = list(ways), random.Random(1)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        order.shuffle(turns)
        for name in turns:
            ways[name](x)
            start = time.perf_counter()
            ways[name](x)
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torch_models", description=__doc__)
    parser.add_argument("--scale", type=int, default=32, help="multiplies the batches")
    parser.add_argument("--loops", action="store_true", help="time nothing, but list the loops that inductor compiles")
    options = parser.parse_args()
    torch.set_num_threads(dm.get_num_threads())
    torch._inductor.config.force_disable_caches = True
    if options.loops:
        for name, (model, x) in models(options.scale).items():
            for way, backend in (("torch.compile", "inductor"), ('backend="dnnmove"', dnnmove.torch.backend)):
                torch._dynamo.reset()
                with torch.no_grad():
                    print(f"{name}, {way}:", *loops_of(torch.compile(model, backend=backend), x), sep="\n    ")
        return 0
    print(f"torch {torch.__version__}, {dm.get_num_threads()} threads, milliseconds")
    for name, (model, x) in models(options.scale).items():
        torch._dynamo.reset()
        counts: list[Counts] = []
        with torch.no_grad(), counting(counts):
            ways = {
                "eager": model,
                "torch.compile": torch.compile(model),
                'backend="dnnmove"': torch.compile(model, backend=dnnmove.torch.backend),
            }
            results = [way(x) for way in ways.values()]
            for result in results[1:]:
                torch.testing.assert_close(result, results[0], rtol=1e-4, atol=1e-4)
            medians = measure(ways, x, 6)
        shown = "   ".join(f"{way} {seconds * 1e3:7.2f}" for way, seconds in medians.items())
        before, after, chains = (sum(numbers) for numbers in zip(*counts, strict=True))
        print(f"{name:24} {shown}   copies: {before} -> {after}, {chains} of them chains", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A pipeline as data: its sources, our chain, and the same job in NumPy and torch."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dnnmove as dm
from benchmarks.case import dtype_of

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Sources:
    """The arrays that a pipeline starts from: `count` of one shape and dtype, in C or Fortran order."""

    shape: tuple[int, ...]
    dtype: str
    order: str = "C"
    count: int = 1

    @property
    def size(self) -> int:
        """Bytes of one."""
        return math.prod(self.shape) * dtype_of(self.dtype).itemsize

    def cut(self, take: Callable[..., np.ndarray]) -> Arrays:
        """The arrays, taken from an arena one by one."""
        dtype = dtype_of(self.dtype)
        if self.order == "F":
            return [take(self.shape[::-1], dtype).T for _ in range(self.count)]
        return [take(self.shape, dtype) for _ in range(self.count)]

    def descs(self) -> list[dm.MemoryDesc]:
        """Their descriptors."""
        dtype = dtype_of(self.dtype)
        steps = [math.prod(self.shape[:axis]) for axis in range(len(self.shape))] if self.order == "F" else None
        return [dm.MemoryDesc(self.shape, dtype, steps)] * self.count


@dataclass(frozen=True)
class Pipeline:
    """One job; every function gets the sources as a list and returns the results as a list.

    ``numpy`` and ``torch`` return views where these libraries have them, of any shape with the results' order of
    elements: whoever times them copies them into ready outputs. ``read`` is the part of the sources that the job needs.
    ``tools`` are the ways of other libraries that people use for it: each gets the sources and returns what to call,
    and raises ImportError where it is absent; their results may differ by ``tolerance``: their arithmetic differs.
    """

    name: str
    sources: Sources
    full: Sources
    chain: Callable[..., dm.Chain]
    numpy: Callable[[Arrays], Arrays]
    torch: Callable[[list[Any]], list[Any]]
    read: float = 1.0
    converts: bool = False  # its results have another dtype
    words: bool = False  # torch gets integers of the elements' size
    tools: dict[str, Callable[[Arrays], Callable[[], Any]]] = field(default_factory=dict)
    tolerance: float = 0.0

    def build(self, sources: Sources | None = None) -> dm.BuiltChain:
        """Our chain for these sources."""
        descs = (sources or self.sources).descs()
        return self.chain(descs if len(descs) > 1 else descs[0]).build()


def partial(function: Callable[..., dm.Chain], *arguments: Any, **keywords: Any) -> Callable[..., dm.Chain]:
    """The chain function with all but its first argument given."""
    return functools.wraps(function)(lambda source: function(source, *arguments, **keywords))

"""Runs a model a slab of its results at a time: for results that do not fit into memory, and to tell how far it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dnnmove.ir._model import Model

__all__ = ["Slabs", "slabs"]


def slabs(shape: tuple[int, ...], itemsize: int, most: int) -> Iterator[tuple[int | slice, ...]]:
    """Keys that cut a C-contiguous array into consecutive parts of at most `most` bytes, if one row is no more."""
    size = math.prod(shape) * itemsize
    if size == 0 or size <= most:
        yield ()
        return
    axis = 0
    row = size // shape[0]  # bytes of a position of `axis`
    while row > most and axis + 1 < len(shape):
        axis += 1
        row //= shape[axis]
    rows = max(1, most // row)
    for outer in itertools.product(*map(range, shape[:axis])):
        for start in range(0, shape[axis], rows):
            yield (*outer, slice(start, min(start + rows, shape[axis])))


class Slabs:
    """A model and its inputs, ready to write the results wherever they are to lie."""

    def __init__(self, model: Model, inputs: Sequence[Any]) -> None:
        self._inputs, descs = model._checked(tuple(inputs))
        self._plan = model._planned(self._inputs, descs)
        self.shapes, self.dtypes = self._plan.shapes, self._plan.dtypes

    def run(self, places: Sequence[npt.NDArray[Any]], most: int, done: Callable[[int], None]) -> None:
        """Fill `places`, one C-contiguous array for each result.

        `most` bounds the bytes of a slab; `done` is called with the bytes that were written. Results that come by
        way of an intermediate one are written in one go.
        """
        plan = self._plan
        if any(path.source[0] == "between" for path in plan.paths):
            plan.run(self._inputs, places)
            done(sum(place.nbytes for place in places))
            return
        cuts = [slabs(place.shape, place.itemsize, most) for place in places]
        for keys in itertools.zip_longest(*cuts):  # so results that share a part of the input come close in time
            for path, place, key in zip(plan.paths, places, keys, strict=True):
                if key is not None:
                    kind, number = path.source
                    source = self._inputs[number] if kind == "input" else plan.constants[path.source]()
                    part = np.asarray(place[key] if key else place)
                    chain = path.chain.index(key) if key else path.chain
                    chain.build()(source, out=part)
                    done(part.nbytes)

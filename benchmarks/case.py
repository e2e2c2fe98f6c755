"""A case of the grid: one operation on one shape, dtype and memory layout, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ONE_MB = 1 << 20


def dtype_of(name: str) -> np.dtype:
    """The NumPy dtype of a case's dtype name; ``bfloat16`` and the kinds of ``float8`` come from ml_dtypes."""
    if name.startswith(("bfloat16", "float8")):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


@dataclass(frozen=True)
class Source:
    """How the input lies in memory: ``parent[::steps]`` cut to the case's shape.

    ``parent`` is the shape of the dense array that the input is sliced from (None: just as large
    as it has to be), ``steps`` the slice step of each axis, ``offset`` a shift of its base in bytes.
    ``windows``, (axis, size, step) each, make the input NumPy's ``sliding_window_view`` of the parent:
    the windows' own axes come last, and their elements share memory.
    """

    parent: tuple[int, ...] | None = None
    steps: tuple[int, ...] | None = None
    offset: int = 0
    windows: tuple[tuple[int, int, int], ...] = ()

    def parent_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if self.parent is not None:
            return self.parent
        steps = self.steps or (1,) * len(shape)
        return tuple(n * abs(step) for n, step in zip(shape, steps, strict=True))

    def slices(self, shape: tuple[int, ...]) -> tuple[slice, ...]:
        """The index that turns the parent into the input."""
        steps = self.steps or (1,) * len(shape)
        result = []
        for n, step in zip(shape, steps, strict=True):
            last = (n - 1) * abs(step)
            if step > 0:
                result.append(slice(0, last + 1, step))
            else:
                result.append(slice(last, None, step))
        return tuple(result)

    def cut(self, parent: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The input of this shape, a view of the parent."""
        if not self.windows:
            return parent[self.slices(shape)] if shape else parent
        axes, sizes, _ = zip(*self.windows, strict=True)
        steps = {axis: step for axis, _, step in self.windows}
        view = np.lib.stride_tricks.sliding_window_view(parent, sizes, axes, writeable=True)
        return view[tuple(slice(None, None, steps.get(axis, 1)) for axis in range(parent.ndim))]


DENSE = Source()


@dataclass(frozen=True)
class Case:
    """One line of the result table.

    ``targets`` names the lines of ``targets.py`` that this case counts for, ``series`` marks the
    points of the GB/s-by-size line of its operation's plot, ``quick`` puts it into ``--quick``.
    ``output`` is "ready" (written into ``out=``) or "new" (a result per call, the last one dropped).
    ``threads`` of 0 means those of the run. Without ``peers`` only ours and the ceiling are measured.
    """

    name: str
    op: str
    shape: tuple[int, ...]
    dtype: str
    params: dict[str, Any] = field(default_factory=dict)
    source: Source = DENSE
    out_offset: int = 0
    output: str = "ready"
    targets: tuple[str, ...] = ()
    quick: bool = False
    series: bool = False
    small: bool = False
    threads: int = 0
    peers: bool = True

    @property
    def itemsize(self) -> int:
        return dtype_of(self.dtype).itemsize

    @property
    def input_bytes(self) -> int:
        return math.prod(self.shape) * self.itemsize

    @property
    def group(self) -> str:
        """The first part of the name: the operation as the tables list it."""
        return self.name.split("/", 1)[0]


def show(shape: tuple[int, ...]) -> str:
    """(32, 3, 7) as "32x3x7"."""
    return "x".join(map(str, shape)) or "scalar"

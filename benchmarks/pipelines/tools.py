"""The tools that people use for a pipeline today, beside NumPy and torch: each gets the sources and gives a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.pipelines.pipeline import Arrays

Call = Callable[[], Any]


def pandas_rows(sources: Arrays) -> Call:
    """The values of a frame as a dense matrix of rows."""
    import pandas

    frame = pandas.DataFrame(sources[0], copy=False)
    return lambda: [np.ascontiguousarray(frame.to_numpy())]


def polars_rows(sources: Arrays) -> Call:
    """polars' own conversion of its columns, which share our memory."""
    import polars

    table = sources[0]
    frame = polars.DataFrame({f"c{i}": table[:, i] for i in range(table.shape[1])})
    return lambda: [frame.to_numpy(order="c")]

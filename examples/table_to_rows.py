"""Turns a table kept column by column, as polars and pandas keep theirs, into a matrix of rows on disk."""

import tempfile
from pathlib import Path

import numpy as np

import dnnmove as dm

# 1. A table of 40 columns that follow each other in memory.
columns = np.random.default_rng(0).random((40, 20_000), dtype=np.float32)
table = columns.T  # what frame.to_numpy() gives without a copy

# 2. Rows, straight into a memory-mapped file: nothing of the size of the table is allocated.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rows.npy"
    rows = np.lib.format.open_memmap(path, "w+", table.dtype, table.shape)
    dm.transpose(table, (0, 1), out=rows)
    rows.flush()

    # 3. NumPy's way, for comparison.
    read = np.load(path)
    assert read.flags.c_contiguous
    assert np.array_equal(read, np.ascontiguousarray(table))
    print(f"{table.shape[0]} rows of {table.shape[1]} columns, {path.stat().st_size} bytes in the file")

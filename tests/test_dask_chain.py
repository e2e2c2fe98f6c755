"""Chains over dask arrays: block by block where the steps allow it, and what is refused."""

import ml_dtypes
import numpy as np
import oracle
import pytest
import strategies as some
from oracle import assert_same

import dnnmove as dm

da = pytest.importorskip("dask.array")

from chunked_arrays import check  # noqa: E402  (behind the skip)

from dnnmove import dask as dd  # noqa: E402

CHAINS = {
    "movement": lambda c: c.shuffle_channels(1, 2).transpose((0, 2, 1)),
    "axis 0 moves": lambda c: c.transpose((2, 0, 1)),
    "split": lambda c: c.split(1, 2).branch(1).transpose(),
    "merged": lambda c: c.reshape((-1, 3)),
    "merged behind": lambda c: c.transpose((1, 0, 2)).reshape((6, -1)),
    "flipped": lambda c: c.flip(2).index((slice(None), 1)),
    "axis 0 flipped": lambda c: c.flip(0),
    "axis 0 shuffled": lambda c: c.shuffle(0, 2),
    "axis 0 split": lambda c: c.split(0, 2),
    "torn": lambda c: c.reshape((9, -1)),
    "repeated": lambda c: c.tile((2, 1, 1)),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("dtype", ["u1", "f4", ml_dtypes.bfloat16, "?"])
@pytest.mark.parametrize("chunks", [(4, 6, 3), (1, 2, 2), ((3, 0, 1), 5, 3)])
def test_chain(name, dtype, chunks):
    x = some.dense((4, 6, 3), "u1").astype(bool) if dtype == "?" else some.dense((4, 6, 3), dtype)
    steps = CHAINS[name](dm.Chain(dm.MemoryDesc.of(x)))
    mapped = dd.chain(steps if dtype == "u1" else steps.build())
    alone = name in ("movement", "axis 0 moves", "split", "merged", "merged behind", "flipped")
    assert mapped.blockwise == alone, mapped
    expected, result = steps.build()(x), mapped(da.from_array(x, chunks=chunks))
    assert isinstance(result, tuple) == isinstance(expected, tuple)
    parts = zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
    for lazy, right in parts:
        check(lazy, right)


def test_chain_of_another_batch():
    x = some.dense((9, 6, 3), "f4")
    mapped = dd.chain(dm.Chain(dm.MemoryDesc((2, 6, 3), "f4")).shuffle_channels(1, 2).transpose((1, 0, 2)))
    check(mapped(da.from_array(x, chunks=(4, 2, 3))), oracle.transpose(oracle.shuffle_channels(x, 1, 2), (1, 0, 2)))
    unknown = da.from_array(x, chunks=(4, 6, 3))
    unknown = unknown[da.from_array(np.arange(9), chunks=4) % 2 == 0]
    assert_same(mapped(unknown).compute(), mapped(da.from_array(x[::2])).compute())
    assert "block by block" in repr(mapped)


def test_chain_refuses(errors_name):
    md = dm.MemoryDesc((4, 6), "f4")
    mapped, fixed = dd.chain(dm.Chain(md).transpose()), dd.chain(dm.Chain(md).flip(0))
    x = da.zeros((4, 6), dtype="f4")
    errors_name(TypeError, lambda: dd.chain(dm.transpose), "chain must be a Chain")
    errors_name(ValueError, lambda: dd.chain(dm.Chain(dm.MemoryDesc((4, 6), "f4", (1, 4)))), "dense row-major")
    errors_name(TypeError, lambda: mapped(np.zeros((4, 6), "f4")), "x must be a dask array", "ndarray")
    errors_name(TypeError, lambda: mapped(x.astype("f8")), "x must have the dtype float32", "float64")
    errors_name(ValueError, lambda: mapped(x[:, :5]), "x must have the shape (4, 6)", "(4, 5)")
    errors_name(ValueError, lambda: mapped(x[0]), "must have 2 axes")
    errors_name(ValueError, lambda: fixed(x[:3]), "(4, 6)", "(3, 6)", "positions of axis 0")
    errors_name(ValueError, lambda: fixed(x[x[:, 0] == 0]), "x.shape[0] must be known", "compute_chunk_sizes")
    scalar = dd.chain(dm.Chain(dm.MemoryDesc((), "f4")).broadcast((2,)))
    check(scalar(da.from_array(np.array(3, "f4"))), np.array([3, 3], "f4"))

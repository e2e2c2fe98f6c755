"""What the tests of dnnmove.dask share: arrays in any chunks, and dask's promises kept."""

import dask
import dask.array as da
import ml_dtypes
import numpy as np
import strategies as some
from hypothesis import settings
from hypothesis import strategies as st
from oracle import assert_same

DTYPES = [
    np.dtype(t) for t in (some.NESTED, "?", "u1", "f2", "i4", "f8", "c16", "M8[ns]", "S5", ">i4", ml_dtypes.bfloat16)
]

# A graph takes dask many times as long as the calls in it.
fewer_examples = settings(max_examples=max(10, settings.default.max_examples // 3))


@st.composite
def chunked(draw, min_dims=1, divisible=False):
    """An array, and the same as a dask array of any chunks, empty ones among them."""
    shape = draw(some.shapes(min_dims, 4, max_elements=300))
    axis = 0
    if divisible:
        shape, axis = draw(some.composite_axis(shape))
    x = some.dense(shape, draw(st.sampled_from(DTYPES)), draw(st.integers(0, 99)))
    chunks = []
    for length in shape:
        cuts = sorted(draw(st.lists(st.integers(0, length), max_size=3)))
        chunks.append(tuple(b - a for a, b in zip([0, *cuts], [*cuts, length], strict=True)))
    return x, da.from_array(x, chunks=tuple(chunks)), axis


def check(lazy, expected):
    """Dask's promises before it computes, and the bits after. (On other threads: test_dask_graphs.py.)"""
    assert isinstance(lazy, da.Array)
    assert lazy.shape == expected.shape
    assert lazy.dtype == expected.dtype
    assert (type(lazy._meta), lazy._meta.ndim, lazy._meta.dtype) == (np.ndarray, expected.ndim, expected.dtype)
    first = lazy.to_delayed().ravel()[:1]
    result, *blocks = dask.compute(lazy, *first, scheduler="sync")
    assert [block.shape for block in blocks] == [tuple(lengths[0] for lengths in lazy.chunks)] * len(first)
    assert_same(np.asarray(result), expected)

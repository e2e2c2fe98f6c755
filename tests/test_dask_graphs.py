"""The graphs of dnnmove.dask: laziness, chunks, names, threads, unknown sizes, and a cluster that loses a worker."""

import os
import signal
import time

import numpy as np
import oracle
import pytest
import strategies as some
from oracle import assert_same

import dnnmove as dm

da = pytest.importorskip("dask.array")

import dask  # noqa: E402  (behind the skip)
from dask.base import key_split  # noqa: E402

from dnnmove import dask as dd  # noqa: E402

LAZY = da.from_array(np.zeros((4, 6, 3), "f4"), chunks=2)


def test_unknown_chunks(errors_name):
    """They stay as they are along axes that nothing touches."""
    x = some.dense((6, 4, 2), "i4")
    unknown = da.from_array(x, chunks=(2, 3, 1))
    unknown = unknown[da.from_array(np.array([1, 0, 1, 1, 0, 0], bool), chunks=2)]
    kept = x[[0, 2, 3]]

    def same(lazy, expected):
        assert np.isnan(lazy.shape[lazy.ndim - 3 if lazy.ndim == 3 else 0]) or np.isnan(lazy.shape).any()
        assert_same(lazy.compute(), expected)

    same(dd.shuffle_channels(unknown, 1, 2), oracle.shuffle_channels(kept, 1, 2))
    same(dd.transpose(unknown, (1, 0, 2)), oracle.transpose(kept, (1, 0, 2)))
    for part, expected in zip(dd.split(unknown, 1, 2), oracle.split(kept, 1, 2), strict=True):
        same(part, expected)
    same(dd.variadic_split(unknown, -1, [1, -1])[1], kept[:, :, 1:].copy())
    same(dd.concat([unknown, unknown]), np.concatenate([kept, kept]))
    same(dd.concat([unknown], 1), kept)
    same(dd.flip(unknown), np.flip(kept).copy())
    same(dd.roll(unknown, 1, (1, 2)), dm.roll(kept, 1, (1, 2)))
    same(dd.take(unknown, [3, 0], 1), kept[:, [3, 0]])
    same(dd.repeat_elements(unknown, 2, 0), np.repeat(kept, 2, 0))
    same(dd.flatten(unknown), kept.reshape(-1))
    same(dd.rearrange(unknown, "n (a b) c -> n c b a", a=2), dm.rearrange(kept, "n (a b) c -> n c b a", a=2))
    for call in (
        lambda: dd.squeeze(unknown),
        lambda: dd.squeeze(unknown, 0),
        lambda: dd.roll(unknown, 1),
        lambda: dd.roll(unknown, 1, 0),
        lambda: dd.take(unknown, [2], 0),
        lambda: dd.unfold(unknown, 0, 2),
        lambda: dd.unflatten(unknown, 0, (3, -1)),
        lambda: dd.rearrange(unknown, "(n m) a b -> n m a b", m=3),
        lambda: dd.shuffle(unknown, 0, 1),
        lambda: dd.split(unknown, 0, 3),
        lambda: dd.variadic_split(unknown, 0, [3]),
        lambda: dd.broadcast(unknown, (3, 4, 2)),
    ):
        errors_name(ValueError, call, "data.shape[0] must be known", "compute_chunk_sizes()")
    errors_name(ValueError, lambda: dd.concat([unknown, unknown], 1), "arrays[0].shape[0] must be known")
    errors_name(ValueError, lambda: dd.concat([unknown, LAZY.astype("i4")[:, :4, :2]], 1), "arrays[0].shape[0] must")
    errors_name(np.exceptions.AxisError, lambda: dd.split(unknown, 5, 3), "axis (5)")
    errors_name(np.exceptions.AxisError, lambda: dd.flip(unknown, 5), "axis (5)")


def test_nothing_runs_before_it_is_asked_for():
    def explode(block):
        raise AssertionError("computed")

    x = LAZY.map_blocks(explode, dtype="f4", meta=np.empty((0, 0, 0), "f4"))
    for lazy in (
        dd.shuffle(x, 1, 2),
        dd.transpose(x),
        *dd.split(x, 0, 2),
        dd.broadcast(x, (2, 4, 6, 3)),
        dd.concat([x, x]),
        dd.flip(x),
        dd.roll(x, 1, 0),
        dd.rearrange(x, "a b c -> (c a) b"),
        dd.chain(dm.Chain(dm.MemoryDesc((4, 6, 3), "f4")).transpose())(x),
    ):
        assert isinstance(lazy, da.Array)


def test_only_the_axis_that_must_be_whole_is_rechunked():
    x = da.zeros((8, 12, 6), chunks=(2, 5, 4))
    assert dd.shuffle_channels(x, 1, 3).chunks == ((2, 2, 2, 2), (12,), (4, 2))
    assert dd.transpose(x).chunks == x.chunks[::-1]
    assert dd.variadic_split(x, 1, [4, 8])[1].chunks == ((2, 2, 2, 2), (1, 5, 2), (4, 2))
    assert dd.concat([x, x], 2).chunks == ((2, 2, 2, 2), (5, 5, 2), (4, 2, 4, 2))
    assert dd.broadcast(x, (3, 8, 12, 6)).chunks[1:] == x.chunks
    assert dd.flip(x, 1).chunks == ((2, 2, 2, 2), (2, 5, 5), (4, 2))
    assert dd.unflatten(x, 0, (4, 2)).chunks == ((1, 1, 1, 1), (2,), (5, 5, 2), (4, 2))
    assert dd.unflatten(x, 1, (3, 4)).chunks == ((2, 2, 2, 2), (3,), (4,), (4, 2))
    assert dd.flatten(x, 0, 1).chunks == ((24, 24, 24, 24), (4, 2))
    assert dd.rearrange(x, "a (b c) d -> d b (a c)", b=3).chunks == ((4, 2), (3,), (32,))
    assert dd.repeat_elements(x, 2, 1).chunks == ((2, 2, 2, 2), (10, 10, 4), (4, 2))
    assert dd.pixel_unshuffle(x, 2).chunks == ((32,), (6,), (2, 1))
    big = da.zeros((2000, 1), chunks=500)
    assert max(dd.broadcast(big, (2000, 10**6)).chunks[1]) < 10**6  # dask's limit for a chunk


def test_tasks_have_names():
    mapped = dd.chain(dm.Chain(dm.MemoryDesc((4, 6, 3), "f4")).transpose())
    for lazy, name in (
        (dd.shuffle(LAZY, 0, 2), "dnnmove-shuffle"),
        (dd.shuffle_channels(LAZY, 0, 2), "dnnmove-shuffle-channel"),
        (dd.expand_dims(LAZY, 0), "dnnmove-expand-dims"),
        (dd.transpose(LAZY), "dnnmove-transpose"),
        (dd.split(LAZY, 0, 2)[0], "dnnmove-split"),
        (dd.broadcast(LAZY, (2, 4, 6, 3)), "dnnmove-broadcast"),
        (dd.concat([LAZY]), "dnnmove-concat"),
        (dd.flip(LAZY), "dnnmove-flip"),
        (dd.stack([LAZY]), "dnnmove-stack"),
        (dd.roll(LAZY, 1, 0), "dnnmove-roll"),
        (dd.rearrange(LAZY, "a b c -> c b a"), "dnnmove-rearrange"),
        (mapped(LAZY), "dnnmove-chain"),
    ):
        assert key_split(lazy.name) == name
    assert dd.transpose(LAZY).name == dd.transpose(LAZY).name != dd.transpose(LAZY, (0, 2, 1)).name
    assert mapped(LAZY).name == mapped(LAZY).name


def test_one_thread_a_task():
    seen = []

    def look(block):
        with dm.profile() as p:
            result = dd._blocks.moved(block, "transpose", {})
        seen.append(len(p.records))
        return result

    before = dm.get_num_threads()
    assert look(np.zeros((4, 5), "f4")).shape == (5, 4)
    assert seen == [1]
    assert dm.get_num_threads() == before


def test_results_may_be_written_to():
    x = np.arange(6)
    lazy = da.from_array(x, chunks=6)
    for result in (
        dd.concat([lazy]),
        *dd.split(lazy, 0, 1),
        dd.broadcast(lazy, (6,)),
        dd.transpose(lazy),
        dd.shuffle(lazy, 0, 1),
        dd.roll(lazy, 0, 0),
        dd.flip(lazy, ()),
        dd.squeeze(lazy),
        dd.tile(lazy, 1),
    ):
        result.compute(scheduler="sync")[:] = -1
    assert x.tolist() == list(range(6))


def test_without_dask(run_python):
    program = """
import sys
sys.modules["dask.array"] = None
try:
    import dnnmove.dask
except ImportError as error:
    print(error)
"""
    assert run_python(program) == "dnnmove.dask needs dask: pip install dnnmove[dask]\n"


def slow_rows(block, seconds):
    time.sleep(seconds)
    return block


def worker_pids(client):
    return client.run(os.getpid)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # distributed's own, about the worker that dies here
def test_a_cluster_that_loses_a_worker():
    """Two processes, one of which is killed while it works: dask computes what was lost anew."""
    distributed = pytest.importorskip("distributed")
    x = np.arange(48 * 12 * 5, dtype="f4").reshape(48, 12, 5)
    expected = oracle.transpose(oracle.shuffle_channels(x, 1, 3), (2, 0, 1))
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "20s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        lazy = da.from_array(x, chunks=(2, 5, 5)).map_blocks(slow_rows, 0.1, dtype="f4")
        future = client.compute(dd.transpose(dd.shuffle_channels(lazy, 1, 3), (2, 0, 1)))
        time.sleep(1.0)
        assert not future.done()
        os.kill(next(iter(worker_pids(client).values())), signal.SIGKILL)
        assert_same(future.result(timeout=120), expected)
        chain = dd.chain(dm.Chain(dm.MemoryDesc((2, 12, 5), "f4")).split(1, 2).transpose())
        for part, right in zip(
            client.gather(client.compute(chain(da.from_array(x, chunks=5)))), np.split(x, 2, 1), strict=True
        ):
            assert_same(part, right.T.copy())

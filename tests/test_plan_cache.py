"""The plan cache: bounded, cleared on request, right whatever the order of calls."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dnnmove as dm
from dnnmove import _core


def test_clear_and_refill():
    dm.clear_caches()
    assert _core._cached_plans() == 0
    x = np.arange(6).reshape(2, 3)
    for _ in range(3):
        assert (dm.transpose(x) == x.T).all()
        assert _core._cached_plans() == 1
    dm.clear_caches()
    assert (dm.transpose(x) == x.T).all()
    assert _core._cached_plans() == 1


def test_errors_are_not_cached():
    dm.clear_caches()
    for _ in range(2):
        with pytest.raises(ValueError, match="group_size"):
            dm.shuffle(np.zeros(6), 0, 4)
    assert _core._cached_plans() == 0


def planned_once(call, capfd):
    """Whether the first call plans, and a second one, on other memory, does not."""
    dm.clear_caches()
    misses = []
    for _ in range(2):
        dm.set_verbose(2)
        try:
            call()
        finally:
            dm.set_verbose(0)
        misses.append(capfd.readouterr().out.count("create:cache_miss"))
    return misses[0] > 0 and misses[1] == 0 and _core._cached_plans() == 1


@pytest.mark.parametrize("layout", ["nhwc", "nChw16c", "nChw8c"])
@pytest.mark.parametrize("dtype", ["f2", "i8", "f4", "u1"])
def test_reorders_are_planned_once(layout, dtype, capfd):
    plain, other = dm.MemoryDesc((2, 20, 3, 3), dtype), dm.MemoryDesc((2, 20, 3, 3), dtype, layout)
    assert planned_once(lambda: dm.reorder(dm.Memory(plain), dm.Memory(other)), capfd)
    assert planned_once(lambda: dm.reorder(dm.Memory(other), dm.Memory(plain)), capfd)


def test_each_reorder_has_a_plan_of_its_own():
    dm.clear_caches()
    shape = (2, 16, 4, 4)
    x = np.arange(512, dtype="i8").reshape(shape)
    layouts = ["nchw", "nhwc", "nChw16c", "nChw8c", "ABcd16a16b"]
    for _ in range(2):
        for first in layouts:
            for second in layouts:
                a, b, c = (dm.Memory(dm.MemoryDesc(shape, "i8", layout)) for layout in (first, second, "nchw"))
                dm.reorder(dm.Memory(dm.MemoryDesc.of(x), buffer=x), a)
                dm.reorder(a, b)
                dm.reorder(b, c)
                assert (c.numpy() == x).all()
        assert _core._cached_plans() == len(layouts) ** 2


@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize("shuffle", [dm.shuffle, dm.shuffle_backward, dm.shuffle_channels])
def test_blocked_shuffles_are_planned_once(shuffle, out, capfd):
    md = dm.MemoryDesc((2, 20, 3, 3), "i8", "nChw8c")
    mem = dm.Memory(md)
    assert planned_once(lambda: shuffle(mem, 1, 4, out=dm.Memory(md) if out else None), capfd)


def test_each_blocked_shuffle_has_a_plan_of_its_own():
    dm.clear_caches()
    shape = (2, 24, 3, 3)
    x = np.arange(432, dtype="i8").reshape(shape)
    for _ in range(2):
        for layout in ("nchw", "nhwc", "nChw8c", "nChw16c"):
            mem = dm.Memory(dm.MemoryDesc(shape, "i8", layout))
            dm.reorder(dm.Memory(dm.MemoryDesc.of(x), buffer=x), mem)
            for call in (dm.shuffle, dm.shuffle_backward, dm.shuffle_channels):
                for count in (4, 6):
                    plain = dm.Memory(dm.MemoryDesc.of(x))
                    dm.reorder(call(mem, 1, count), plain)
                    assert (plain.numpy() == call(x, 1, count)).all()


def test_refused_blocked_shuffles_are_not_cached():
    dm.clear_caches()
    mem = dm.Memory(dm.MemoryDesc((2, 20, 3, 3), "i8", "nChw8c"))
    for _ in range(2):
        with pytest.raises(ValueError, match="group_size"):
            dm.shuffle(mem, 1, 3)
        with pytest.raises(np.exceptions.AxisError):
            dm.shuffle(mem, 4, 2)
    assert _core._cached_plans() == 0


def test_bounded():
    dm.clear_caches()
    for n in range(1, 1500):
        x = np.arange(n)
        assert (dm.broadcast(x, (2, n)) == x).all()
    assert 0 < _core._cached_plans() <= 1024
    dm.clear_caches()


def test_bounded_by_bytes():
    dm.clear_caches()
    x = np.zeros((2, 30000), "u1")
    for n in range(39):
        dm.variadic_split(x[:, : 15000 + n], 1, [1] * 14999 + [1 + n])
    assert 4 <= _core._cached_plans() < 39
    assert 2**25 < _core._cached_plan_bytes() <= 2**26
    dm.clear_caches()
    assert _core._cached_plan_bytes() == 0


def test_threads_share_a_plan():
    # How many threads a call may use decides nothing of its plan.
    dm.clear_caches()
    x = np.arange(6).reshape(2, 3)
    for count in (1, 2, 3):
        with dm.num_threads(count):
            assert (dm.transpose(x) == x.T).all()
    assert _core._cached_plans() == 1


def test_what_differs_has_a_plan_of_its_own():
    x = np.arange(24, dtype="i4").reshape(4, 6)
    out = np.empty((6, 8), "i4")[:, ::2]
    for _ in range(2):
        assert (dm.transpose(x) == x.T).all()
        assert (dm.transpose(x[:, ::-1]) == x[:, ::-1].T).all()
        assert (dm.transpose(x.view("i2")) == x.view("i2").T).all()
        assert (dm.transpose(x, (0, 1)) == x).all()
        assert (dm.transpose(x, out=out) == x.T).all()
        assert (dm.shuffle(x, 1, 2) == dm.shuffle_channels(x, 1, 3)).all()
        with dm.num_threads(1):
            assert (dm.transpose(x) == x.T).all()


def test_many_threads_share_and_clear():
    arrays = [np.arange(n * 3).reshape(n, 3) for n in range(1, 40)]

    def work(seed):
        if seed % 7 == 0:
            dm.clear_caches()
        return all((dm.transpose(x) == x.T).all() for x in arrays)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(60)))


def test_keys_longer_than_the_stack_buffer():
    x = np.arange(5000)
    for lengths in ([1] * 5000, [2] * 2500, [0] * 200 + [5000]):
        parts = dm.variadic_split(x, 0, lengths)
        assert (np.concatenate(parts) == x).all()
        outs = [np.empty_like(part) for part in parts]
        dm.variadic_split(x, 0, lengths, out=outs)
        assert (np.concatenate(outs) == x).all()
    assert (dm.concat(dm.split(x, 0, 500)) == x).all()

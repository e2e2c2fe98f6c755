"""Large results come from a bounded pool of buffers, and are ordinary arrays all the same."""

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dnnmove as dm
from dnnmove import _core

MIB = 1 << 20
pooled = pytest.mark.skipif(_core._buffer_pool() is None, reason="DNNMOVE_POOL=0 turns the pool off")


held = {"live_buffers": 0}  # by whatever ran before in this process


def state(key):
    return _core._buffer_pool()[key] - held.get(key, 0)


def address(array):
    return array.__array_interface__["data"][0]


def source(rows=512, columns=1024):
    return np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)


@pytest.fixture(scope="module", autouse=True)
def older_objects():
    """What other tests have left is looked at once, not at each collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def empty_pool():
    gc.collect()
    dm.clear_caches()
    if _core._buffer_pool() is not None:
        held["live_buffers"] = _core._buffer_pool()["live_buffers"]
    yield
    gc.collect()
    dm.clear_caches()


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pooled
@pytest.mark.parametrize("columns", [1, 100, 128, 129, 1024, 20000])
def test_results_are_ordinary_arrays(columns):
    x = source(512, columns)
    y = dm.transpose(x)
    assert type(y) is np.ndarray
    assert y.base is None
    assert y.flags.owndata
    assert y.flags.writeable
    assert y.flags.c_contiguous
    assert y.flags.aligned
    assert (y == x.T).all()
    assert state("live_buffers") == (y.nbytes >= 256 * 1024)
    if y.nbytes >= 256 * 1024:
        assert address(y) % 64 == 0


@pooled
def test_a_dropped_buffer_is_reused():
    x = source()
    y = dm.transpose(x)
    at = address(y)
    del y
    assert state("idle_buffers") == 1
    assert state("live_buffers") == 0
    y = dm.transpose(x + 1)
    assert address(y) == at
    assert (y == (x + 1).T).all()
    assert state("idle_buffers") == 0
    assert state("live_buffers") == 1


@pooled
def test_live_results_share_nothing():
    x = source()
    results = [dm.transpose(x + i) for i in range(5)]
    del results[1], results[2]
    results += [dm.transpose(x + i) for i in (10, 11, 12)]
    assert len({address(y) for y in results}) == len(results) == state("live_buffers")
    for y, i in zip(results, (0, 2, 4, 10, 11, 12), strict=True):
        assert (y == (x + i).T).all()


@pooled
def test_a_view_keeps_the_buffer():
    x = source()
    view = dm.transpose(x)[3:5, ::2]
    others = [dm.transpose(x + i) for i in range(1, 4)]
    assert (view == x.T[3:5, ::2]).all()
    assert state("live_buffers") == 4
    del view, others
    assert state("live_buffers") == 0


@pooled
def test_count_is_bounded():
    parts = dm.split(np.zeros((300, 65536), np.int32), 0, 300)
    assert state("live_buffers") == 300
    del parts
    assert state("live_buffers") == 0
    assert state("idle_buffers") == 256
    assert state("idle_bytes") == 256 * 256 * 1024


@pooled
def test_clear_caches_returns_idle_buffers_only():
    x = source()
    kept, dropped = dm.transpose(x), dm.transpose(x)
    del dropped
    assert state("idle_bytes") == 2 * MIB
    dm.clear_caches()
    assert state("idle_bytes") == 0
    assert state("idle_buffers") == 0
    assert state("live_buffers") == 1
    assert (kept == x.T).all()


@pooled
@pytest.mark.parametrize("rows", [1, 100, 300, 513, 600, 4000])
def test_resize(rows):
    x = source()
    y = dm.transpose(x)
    before = y.copy()
    y.resize((rows, 1024), refcheck=False)
    expected = before.copy()
    expected.resize((rows, 1024), refcheck=False)  # a tracer holds references
    assert y.flags.owndata
    assert (y == expected).all()
    assert state("live_buffers") == (y.nbytes >= 256 * 1024)
    del y
    assert state("live_buffers") == 0


@pooled
def test_gaps_stay_zero_in_a_used_buffer():
    x = source()
    y = dm.transpose(x)
    y[...] = -1
    del y
    memory = dm.Memory(dm.MemoryDesc((512, 1024), "int32"))
    assert not memory.numpy().any()
    memory.numpy()[...] = -1
    view = memory.numpy()
    del memory
    assert (view == -1).all()
    assert state("live_buffers") == 1
    del view
    assert state("live_buffers") == 0
    blocked = dm.Memory(dm.MemoryDesc((1, 3, 256, 256), "float32", "nChw16c"))
    assert not blocked.bytes.any()


@pooled
def test_torch_results():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(source())
    y = dm.transpose(x)
    assert torch.equal(y, x.T)
    assert state("live_buffers") == 1
    at = y.data_ptr()
    del y
    assert state("live_buffers") == 0
    assert state("idle_buffers") == 1
    y = dm.transpose(x)
    assert y.data_ptr() == at
    assert torch.equal(y, x.T)
    shared = y.numpy()
    del y
    assert (shared == x.numpy().T).all()
    assert state("live_buffers") == 1
    del shared
    assert state("live_buffers") == 0


def test_errors_leave_nothing_behind():
    x = source()
    before = _core._buffer_pool()
    with pytest.raises(ValueError, match="out"):
        dm.transpose(x, out=np.empty((3, 3), np.int32))
    with pytest.raises(MemoryError):
        dm.broadcast(np.zeros((1, 1)), (1 << 25, 1 << 24))
    assert (np.arange(3) + 1).tolist() == [1, 2, 3]
    assert _core._buffer_pool() == before


@pooled
def test_other_arrays_keep_their_own_handler():
    from numpy._core.multiarray import get_handler_name

    before = get_handler_name()
    y = dm.transpose(source())
    assert get_handler_name(y) == "dnnmove_pool"
    assert get_handler_name() == get_handler_name(np.zeros(MIB)) == before
    assert get_handler_name(dm.transpose(np.zeros((3, 4)))) == before


def test_threads():
    sources = [source(256 + 64 * i, 512) for i in range(4)]

    def work(seed):
        kept = []
        for i in range(60):
            x = sources[(seed + i) % 4]
            y = dm.transpose(x)
            y += seed
            kept.append((y, x))
            if len(kept) > 3:
                y, x = kept.pop(i % 3)
                if not (y == x.T + seed).all():
                    return False
            if i % 20 == 7:
                dm.clear_caches()
        return all((y == x.T + seed).all() for y, x in kept)

    with ThreadPoolExecutor(6) as executor:
        assert all(executor.map(work, range(6)))
    if _core._buffer_pool() is not None:
        assert state("live_buffers") == 0


@pooled
def test_dropped_by_another_thread():
    with ThreadPoolExecutor(1) as executor:
        y = executor.submit(dm.transpose, source()).result()
    assert (y == source().T).all()
    del y
    gc.collect()
    assert state("live_buffers") == 0
    assert state("idle_buffers") == 1


def test_fork_while_threads_use_the_pool():
    code = """
import os, sys, threading
import numpy as np
import dnnmove as dm

x = np.arange(512 * 1024, dtype=np.int32).reshape(512, 1024)
kept = dm.transpose(x)
stop = False

def work():
    while not stop:
        dm.transpose(x)

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
failed = 0
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        good = (kept == x.T).all() and (dm.transpose(x) == x.T).all()
        kept[...] = 0
        dm.clear_caches()
        os._exit(0 if good and (dm.transpose(x) == x.T).all() else 1)
    failed += os.waitpid(pid, 0)[1] != 0
stop = True
for thread in threads:
    thread.join()
print(failed, (kept == x.T).all())
"""
    result = run(code, PYTHONWARNINGS="ignore")
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["0", "True"]


def test_a_result_outlives_the_module():
    code = """
import sys
import numpy as np
import dnnmove as dm

x = np.arange(512 * 1024, dtype=np.int32).reshape(512, 1024)
y = dm.transpose(x)
sys.keep_to_the_end = dm.transpose(x + 1)
for name in [name for name in sys.modules if name.startswith("dnnmove")]:
    del sys.modules[name]
del dm
import gc
gc.collect()
assert (y == x.T).all()
y.resize((4000, 1024))
del y
print("fine")
"""
    result = run(code)
    assert result.returncode == 0
    assert result.stdout == "fine\n"
    assert result.stderr == ""


PROBE = """
import numpy as np
import dnnmove as dm
from dnnmove import _core

x = np.zeros((1024, 1024), np.int32)
y = dm.transpose(x)
z = dm.transpose(x)
assert y.flags.owndata and (y == x.T).all()
y.resize((9, 9))
del y, z
info = _core._buffer_pool()
print(info and (info["limit"], info["idle_bytes"], info["live_buffers"]))
"""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", "None"),
        ("4M", f"({4 * MIB}, {4 * MIB}, 0)"),
        ("3145728", f"({3 * MIB}, 0, 0)"),
        ("1G", f"({1024 * MIB}, {8 * MIB}, 0)"),
    ],
)
def test_environment_variable(value, expected):
    result = run(PROBE, DNNMOVE_POOL=value)
    assert result.stdout.strip() == expected, result.stderr


@pytest.mark.parametrize("value", ["1", "-5M", "on", "5T", "99999999999999999G"])
def test_a_wrong_environment_variable_fails_the_import(value):
    result = run("import dnnmove", DNNMOVE_POOL=value)
    assert result.returncode != 0
    assert f"DNNMOVE_POOL ({value}) must be 0, or at least 262144" in result.stderr


@pooled
def test_the_default_limit_is_moderate():
    limit = int(run("from dnnmove import _core; print(_core._buffer_pool()['limit'])", DNNMOVE_POOL="").stdout)
    assert 0 < limit <= 1024 * MIB
    assert limit <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 16

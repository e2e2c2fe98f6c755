"""Threads of the caller, threads of ours, the OpenMP settings that others share, and forks."""

import concurrent.futures
import sys
import threading
import time

import numpy as np
import oracle
import pytest
import strategies as some
from thread_names import THREAD_NAMES

import dnnmove as dm

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(autouse=True)
def restored():
    before = dm.get_num_threads()
    yield
    dm.set_num_threads(before)


def together(count, work):
    """work(i) on `count` threads that start at once; their results."""
    barrier = threading.Barrier(count)

    def run(i):
        barrier.wait(60)
        return work(i)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return [future.result(timeout=240) for future in [pool.submit(run, i) for i in range(count)]]


@pytest.mark.parametrize("implementation", ["native", "onednn"])
def test_8_threads_on_one_primitive(implementation):
    shape = (4, 60, 56, 56)
    md = dm.MemoryDesc(shape, "f4")
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 20)
    fwd = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation))

    def work(seed):
        x = some.dense(shape, "f4", seed)
        expected, out = oracle.shuffle(x, 1, 20), np.empty_like(x)
        same = True
        for _ in range(4):
            out[...] = 0
            fwd.execute(dm.Stream(), {dm.ARG_SRC: x, dm.ARG_DST: out})
            same &= oracle.raw(out) == oracle.raw(expected) and oracle.raw(fwd(x)) == oracle.raw(expected)
        return same

    assert all(together(8, work))


def test_8_threads_of_different_eager_calls():
    def work(seed):
        rng = np.random.default_rng(seed)
        same = True
        for i in range(150):
            shape = (int(rng.integers(1, 5)), 12, int(rng.integers(1, 40)), int(rng.integers(1, 40)))
            x = some.dense(shape, ["u1", "f4", "f8", "V3"][i % 4], i)
            pairs = [
                (dm.shuffle(x, 1, 3), oracle.shuffle(x, 1, 3)),
                (dm.transpose(x, (0, 2, 3, 1)), oracle.transpose(x, (0, 2, 3, 1))),
                (dm.variadic_split(x, 1, [5, -1])[1], oracle.variadic_split(x, 1, [5, -1])[1]),
                (dm.broadcast(x, (2, *shape)), oracle.broadcast(x, (2, *shape))),
                (dm.concat([x, x], 3), oracle.concat([x, x], 3)),
            ]
            same &= all(oracle.raw(a) == oracle.raw(b) for a, b in pairs)
        return same

    assert all(together(8, work))


def test_threads_clearing_the_caches_while_others_call():
    x = some.dense((3, 12, 50, 50), "f4")
    expected = oracle.raw(oracle.shuffle(x, 1, 4))

    def work(i):
        if i == 0:
            for n in range(200):
                dm.clear_caches()
                dm.set_num_threads(1 + n % 3)
            return True
        return all(oracle.raw(dm.shuffle(x, 1, 4)) == expected for _ in range(60))

    assert all(together(5, work))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
def test_any_number_of_threads_gives_the_same(count):
    x = some.dense((8, 60, 57, 57), "f4")
    with dm.num_threads(count):
        assert oracle.raw(dm.shuffle(x, 1, 20)) == oracle.raw(oracle.shuffle(x, 1, 20))
        assert oracle.raw(dm.transpose(x, (0, 2, 3, 1))) == oracle.raw(oracle.transpose(x, (0, 2, 3, 1)))
        a, b = dm.variadic_split(x, 1, [17, -1])
        assert oracle.raw(a) == x[:, :17].tobytes()
        assert oracle.raw(b) == x[:, 17:].tobytes()
        assert oracle.raw(dm.broadcast(x[:, :, :1], x.shape)) == oracle.raw(oracle.broadcast(x[:, :, :1], x.shape))


class TestNumThreads:
    """set_num_threads of the process, num_threads of one thread."""

    def test_process(self):
        for count in (3, 1, 2):
            dm.set_num_threads(count)
            assert dm.get_num_threads() == count
            assert together(1, lambda _, count=count: dm.get_num_threads() == count) == [True]

    def test_thread(self):
        dm.set_num_threads(2)
        with dm.num_threads(1):
            assert dm.get_num_threads() == 1
            assert together(1, lambda _: dm.get_num_threads()) == [2]
            with dm.num_threads(3):
                assert dm.get_num_threads() == 3
            assert dm.get_num_threads() == 1
            dm.set_num_threads(5)  # the process's, not this block's
            assert dm.get_num_threads() == 1
        assert dm.get_num_threads() == 5

    def test_restored_after_an_exception(self):
        before = dm.get_num_threads()
        with pytest.raises(KeyError), dm.num_threads(before + 3):
            raise KeyError
        assert dm.get_num_threads() == before

    @pytest.mark.parametrize("bad", [0, -1, -(2**31)])
    def test_values(self, bad, errors_name):
        errors_name(ValueError, lambda: dm.set_num_threads(bad), str(bad))

        def scoped():
            with dm.num_threads(bad):
                pass

        errors_name(ValueError, scoped, str(bad))

    @pytest.mark.parametrize("bad", [1.0, True, "2", None])
    def test_types(self, bad):
        with pytest.raises(TypeError):
            dm.set_num_threads(bad)

        with pytest.raises(TypeError), dm.num_threads(bad):
            pass

    def test_huge_values_are_survived(self, errors_name):
        for huge in (4097, 100_000, 2**31 - 1, 2**31, 2**70):
            errors_name(ValueError, lambda huge=huge: dm.set_num_threads(huge), str(huge))
            errors_name(ValueError, lambda huge=huge: dm.num_threads(huge), str(huge))
        x = some.dense((1000, 1000), "f4")
        with dm.num_threads(4096):
            assert oracle.raw(dm.transpose(x)) == oracle.raw(oracle.transpose(x))

    @pytest.mark.parametrize(
        ("variables", "threads"),
        [
            ({"OMP_NUM_THREADS": "100000"}, "4096"),
            ({"OMP_NUM_THREADS": "3"}, "3"),
            ({"OMP_NUM_THREADS": " 3 , 2"}, "3"),
            ({"OMP_NUM_THREADS": "3", "DNNMOVE_NUM_THREADS": "5"}, "5"),
            ({"OMP_NUM_THREADS": "3", "DNNMOVE_NUM_THREADS": ""}, "3"),
            ({"OMP_NUM_THREADS": "many"}, None),
            ({"OMP_NUM_THREADS": "-2"}, None),
            ({"OMP_NUM_THREADS": "0"}, None),
            ({"OMP_NUM_THREADS": ""}, None),
        ],
    )
    def test_environment(self, variables, threads, run_python):
        program = "import dnnmove; print(dnnmove.get_num_threads())"
        default = run_python(program, OMP_NUM_THREADS="", DNNMOVE_NUM_THREADS="")
        found = run_python(program, **{"DNNMOVE_NUM_THREADS": "", **variables})
        assert found == (default if threads is None else threads + "\n")

    @pytest.mark.parametrize("bad", ["0", "-1", "two", "1.5", "4097", "3,2", "99999999999999999999999"])
    def test_a_wrong_own_variable_fails_the_import(self, bad, run_python):
        program = "try:\n    import dnnmove\nexcept (ImportError, ValueError) as error:\n    print(error)"
        said = run_python(program, DNNMOVE_NUM_THREADS=bad)
        assert "DNNMOVE_NUM_THREADS" in said
        assert bad[:12] in said
        assert "4096" in said

    @linux
    def test_the_affinity_mask_is_the_default(self, run_python):
        program = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import dnnmove
print(dnnmove.get_num_threads())
"""
        assert run_python(program, OMP_NUM_THREADS="", DNNMOVE_NUM_THREADS="") == "1\n"


OPENMP = """
import ctypes, threading
import numpy as np
import dnnmove as dm
omp = ctypes.CDLL("libgomp.so.1")

def settings():
    return omp.omp_get_max_threads(), omp.omp_get_dynamic(), omp.omp_get_max_active_levels()

def work():
    x = np.zeros((4, 60, 56, 56), "f4")
    md = dm.MemoryDesc.of(x)
    for implementation in ("native", "onednn"):
        desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 20)
        dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation))(x)
    dm.transpose(x)
    dm.reorder(dm.Memory(md), dm.Memory(dm.MemoryDesc(x.shape, "f4", "nChw16c")))

for wanted in (None, 3, 1):
    if wanted:
        omp.omp_set_num_threads(wanted)
    before = settings()
    work()
    assert settings() == before, (before, settings())
    for count in (1, 2, 5):
        dm.set_num_threads(count)
        work()
        assert settings() == before, (count, before, settings())
        with dm.num_threads(4):
            work()
            assert settings() == before
    other = []
    thread = threading.Thread(target=lambda: (other.append(settings()), work(), other.append(settings())))
    thread.start()
    thread.join()
    assert other[0] == other[1], other
print("unchanged")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at GNU OpenMP")
def test_openmp_settings_stay(run_python):
    assert "unchanged" in run_python(OPENMP)


def test_torch_keeps_its_threads(run_python):
    pytest.importorskip("torch")
    program = """
import torch
import numpy as np
import dnnmove as dm
for count in (2, 1, 3):
    torch.set_num_threads(count)
    x = np.zeros((4, 60, 56, 56), "f4")
    for threads in (1, 2, 4):
        dm.set_num_threads(threads)
        desc = dm.ShuffleForward.Desc(dm.PropKind.forward, dm.MemoryDesc.of(x), 1, 20)
        for implementation in ("native", "onednn"):
            dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation))(x)
        dm.transpose(torch.from_numpy(x))
        assert torch.get_num_threads() == count
        torch.ones(1 << 20).sum()
print("kept")
"""
    assert "kept" in run_python(program)


FORK = (
    THREAD_NAMES
    + """
import os, signal, sys
import numpy as np
import dnnmove as dm
implementation, how = sys.argv[1:] if len(sys.argv) > 1 else ARGUMENTS
x = np.arange(4 * 60 * 56 * 56, dtype="f4").reshape(4, 60, 56, 56)
md = dm.MemoryDesc.of(x)
desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 20)
expected = x.reshape(4, 3, 20, 56, 56).swapaxes(1, 2).reshape(x.shape)
turned = np.ascontiguousarray(x.transpose(0, 2, 3, 1))

def threads():
    return thread_names().count("dnnmove") + 1

def work(fwd=None):
    fwd = fwd or dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation))
    assert np.array_equal(fwd(x), expected)
    out = np.empty_like(x)
    fwd.execute(dm.Stream(), {dm.ARG_SRC: x, dm.ARG_DST: out})
    assert np.array_equal(out, expected)
    assert np.array_equal(dm.shuffle(x, 1, 20), expected)
    assert np.array_equal(dm.transpose(x, (0, 2, 3, 1)), turned)
    other = dm.Memory(dm.MemoryDesc(x.shape, "f4", "nChw16c"))
    back = dm.Memory(md)
    dm.reorder(dm.Memory(md, buffer=x), other)
    dm.reorder(other, back)
    assert np.array_equal(back.numpy(), x)
    return fwd

def child(fwd):
    signal.alarm(60)
    assert threads() == 1, "the child starts without workers"
    work(fwd)       # a primitive of before the fork
    work()          # and a new one
    assert dm.get_num_threads() == 4
    dm.set_num_threads(8)
    assert dm.get_num_threads() == 8
    with dm.num_threads(2):
        assert dm.get_num_threads() == 2
        work(fwd)
    if len(os.sched_getaffinity(0)) > 1:
        big = np.zeros((4000, 1000), "f4")
        for _ in range(200):
            dm.transpose(big)
            if threads() > 1:
                break
        assert threads() > 1, "and makes its own"
    # a grandchild works too
    pid = os.fork()
    if pid == 0:
        work(fwd)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0

dm.set_num_threads(4)
fwd = work() if how == "after" else None
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        try:
            child(fwd)
        except BaseException as error:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0, "the child failed or hung"
    fwd = work(fwd)  # the parent goes on, with its threads
    assert dm.get_num_threads() == 4
print("survived")
"""
)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork here")
@pytest.mark.parametrize("implementation", ["native", "onednn"])
@pytest.mark.parametrize("how", ["after", "before"])
def test_fork(implementation, how, run_python):
    """After parallel work in the parent ("after") or before any."""
    program = FORK.replace("ARGUMENTS", repr((implementation, how)))
    assert "survived" in run_python(program, timeout=240, PYTHONWARNINGS="ignore")


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork here")
def test_a_pool_of_forked_workers(run_python):
    program = """
import multiprocessing as mp
import numpy as np
import dnnmove as dm

def work(seed):
    x = np.random.default_rng(seed).random((16, 60, 40, 40), "f4")
    return bool(np.array_equal(dm.shuffle(x, 1, 20), x.reshape(16, 3, 20, 40, 40).swapaxes(1, 2).reshape(x.shape)))

dm.set_num_threads(4)
assert work(0)
with mp.get_context("fork").Pool(3) as pool:
    assert pool.map_async(work, range(9)).get(timeout=100) == [True] * 9
assert work(1)
print("survived")
"""
    assert "survived" in run_python(program, timeout=180, PYTHONWARNINGS="ignore")


def test_the_interpreter_lock_is_released():
    # A thread that only counts gets on while a long call runs.
    x = np.zeros((2000, 2500), "f8")
    out = np.empty((2500, 2000), "f8")
    dm.transpose(x, out=out)
    stop, ticks = threading.Event(), []

    def count():
        while not stop.is_set():
            ticks.append(None)
            time.sleep(0)  # lets go of the lock itself

    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # nobody is ever asked to let go
    thread = threading.Thread(target=count)
    try:
        thread.start()
        started = len(ticks)
        for _ in range(20):
            dm.transpose(x, out=out)
    finally:
        stop.set()
        sys.setswitchinterval(before)
        thread.join()
    assert len(ticks) > started


DAEMONS = """
import threading, time
import numpy as np
import dnnmove as dm
x = np.zeros((64, 60, 28, 28), "f4")
md = dm.MemoryDesc.of(x)
primitive = dm.Transpose(dm.Transpose.Desc(md))
staged = dm.Chain(md).reshape((64 * 30, 2, 784)).transpose((1, 0, 2)).build()
calls = (lambda: dm.transpose(x), lambda: primitive(x), lambda: staged(x))
started = threading.Barrier(len(calls) + 1)

def forever(call):
    started.wait()
    while True:
        call()

for call in calls:
    threading.Thread(target=forever, args=(call,), daemon=True).start()
started.wait()
time.sleep(0.1)
print("end")
"""


POOL = (
    THREAD_NAMES
    + """
import os, threading, time
import numpy as np
import dnnmove as dm

def own():
    return thread_names().count("dnnmove")

cpus = len(os.sched_getaffinity(0))
assert own() == 0, "no thread before there is work"
x = np.zeros((1000, 1000), "f4")
with dm.num_threads(1):
    dm.transpose(x)
assert own() == 0, "nor for one thread"
dm.set_num_threads(64)

def work():
    out = np.empty((1000, 1000), "f4")
    for _ in range(100):
        dm.transpose(x, out=out)

runners = [threading.Thread(target=work) for _ in range(8)]
for runner in runners: runner.start()
for runner in runners: runner.join()
until = time.monotonic() + 10  # a worker names itself when it first gets a processor
while own() == 0 and cpus > 1 and time.monotonic() < until: time.sleep(0.01)
assert own() <= cpus - 1, (own(), cpus)
print("one pool", own() > 0 or cpus == 1)
"""
)


@linux
def test_one_pool_whatever_the_number_of_python_threads(run_python):
    assert run_python(POOL) == "one pool True\n"


LIMITED = """
import resource
import numpy as np
import dnnmove as dm
x = np.arange(4_000_000, dtype="f4").reshape(2000, 2000)
expected = np.ascontiguousarray(x.T)
out = np.empty_like(expected)
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (100 << 10), resource.RLIM_INFINITY))
dm.set_num_threads(4096)
for _ in range(50):
    dm.transpose(x, out=out)
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 30), resource.RLIM_INFINITY))
assert np.array_equal(out, expected)
print("survived")
"""


@linux
@pytest.mark.unsanitized
def test_no_memory_for_threads(run_python):
    # Not even the stack of one more thread fits: the call runs on its caller's.
    assert run_python(LIMITED, OPENBLAS_NUM_THREADS="1") == "survived\n"


SIGNALS = """
import os, signal, threading, time
import numpy as np
import dnnmove as dm
x = np.zeros((2000, 2000), "f4")
out = np.empty_like(x)
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(threading.current_thread() is threading.main_thread()))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
end = time.monotonic() + 1
while time.monotonic() < end:
    dm.transpose(x, out=out)
signal.setitimer(signal.ITIMER_REAL, 0)
blocked = set()
for task in os.listdir("/proc/self/task"):
    if open(f"/proc/self/task/{task}/comm").read() == "dnnmove\\n":
        status = dict(line.split(":", 1) for line in open(f"/proc/self/task/{task}/status"))
        blocked.add(int(status["SigBlk"], 16))
print(all(seen) and len(seen) > 10, all(mask >> (signal.SIGALRM - 1) & 1 for mask in blocked))
"""


@linux
def test_signals_go_to_the_program(run_python):
    assert run_python(SIGNALS) == "True True\n"


def test_the_interpreter_may_end_while_daemon_threads_call(run_python):
    for _ in range(3):
        assert run_python(DAEMONS) == "end\n"


def test_one_limit_entered_by_two_threads():
    limit, unlimited = dm.num_threads(1), dm.get_num_threads()
    found = {}
    entered, left, done = threading.Event(), threading.Event(), threading.Event()

    def first():
        with dm.num_threads(2):
            with limit:
                entered.set()
                left.wait()
            found["first"] = dm.get_num_threads()
            done.set()

    def second():
        entered.wait()
        with dm.num_threads(3):
            with limit:
                left.set()
                done.wait()
            found["second"] = dm.get_num_threads()

    threads = [threading.Thread(target=target) for target in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"first": 2, "second": 3}
    # Left by another thread than the one that has entered it, which both keep what they have.
    enterer = threading.Thread(target=limit.__enter__)
    enterer.start()
    enterer.join()
    limit.__exit__(None, None, None)
    assert dm.get_num_threads() == unlimited
    with pytest.raises(ValueError, match="was not entered"):
        limit.__exit__(None, None, None)

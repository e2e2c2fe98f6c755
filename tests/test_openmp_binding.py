"""OpenMP libraries that bind the first thread to one place, as batch systems have them do: the others are ours, too."""

import os
import sys

import pytest
from thread_names import THREAD_NAMES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="affinity masks")

# Prints the CPUs before and after the import, the default number of threads, and whether workers may run where the
# first thread may not; `between` is run before there are any.
PROGRAM = """
for variable in [variable for variable, value in os.environ.items() if value == "unset"]:
    del os.environ[variable]
before = os.sched_getaffinity(0)
import {first}
import numpy as np
import dnnmove as dm
after = os.sched_getaffinity(0)
{between}
x = np.zeros((2000, 2000), "f4")
for _ in range(20):
    dm.transpose(x, (1, 0))
others = before - os.sched_getaffinity(0)
workers = [int(task) for task in os.listdir("/proc/self/task") if name_of(task) == "dnnmove"]
everywhere = all(os.sched_getaffinity(worker) >= others for worker in workers)  # but where they are kept off the caller
print(len(before), len(after), dm.get_num_threads(), len(workers), everywhere)
"""

UNSET = dict.fromkeys(
    ("OMP_NUM_THREADS", "DNNMOVE_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"), "unset"
)


@pytest.fixture
def measured(run_python):
    def run(first="numpy", between="", **variables):
        program = THREAD_NAMES + PROGRAM.format(first=first, between=between)
        before, after, threads, workers, everywhere = run_python(program, **{**UNSET, **variables}).split()
        return int(before), int(after), int(threads), int(workers), everywhere == "True"

    return run


@pytest.fixture
def cpus(measured):
    """How many this process has; skips where that is one, a quota grants fewer, or oneDNN's OpenMP binds nobody."""
    before, after, threads, _, _ = measured()
    if before < 2 or threads < before:
        pytest.skip("one processor, or a quota")
    assert after == before
    if measured(OMP_PROC_BIND="close")[1] == before:
        pytest.skip("oneDNN's OpenMP library is not GNU's")
    return before


@pytest.mark.parametrize("first", ["numpy", "torch"])
@pytest.mark.parametrize("variable", ["OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"])
def test_the_other_places_are_ours(measured, cpus, variable, first):
    """PyTorch brings a library of its own, which oneDNN's then finds bound."""
    if first == "torch":
        pytest.importorskip("torch")
    every = " ".join(map(str, sorted(os.sched_getaffinity(0))))
    value = {"OMP_PROC_BIND": "close", "OMP_PLACES": "threads", "GOMP_CPU_AFFINITY": every}[variable]
    before, after, threads, workers, everywhere = measured(first, **{variable: value})
    assert (before, after, threads) == (cpus, 1, cpus)
    assert 0 < workers < cpus
    assert everywhere


def test_processors_that_do_not_exist_do_not_count(measured, cpus):
    if os.cpu_count() != cpus:
        pytest.skip("libgomp leaves the process's mask for this list")
    assert measured(GOMP_CPU_AFFINITY="0-1023")[:3] == (cpus, 1, cpus)


@pytest.mark.usefixtures("cpus")
def test_a_place_that_is_the_only_one_is_all_there_is(measured):
    assert measured(OMP_PLACES=f"{{{min(os.sched_getaffinity(0))}}}")[1:4] == (1, 1, 0)


def test_one_place_for_all_threads_is_one_for_ours(measured, cpus):
    assert measured(OMP_PROC_BIND="master", OMP_PLACES="threads")[:4] == (cpus, 1, 1, 0)


def test_a_thread_that_is_bound_elsewhere_before_it_has_workers_gets_none(measured, cpus):
    before, after, threads, workers, _ = measured(
        between="os.sched_setaffinity(0, {max(before)})", OMP_PROC_BIND="close"
    )
    assert (before, after, threads, workers) == (cpus, 1, cpus, 0)

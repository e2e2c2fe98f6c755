"""Children forked while other threads of the parent plan and tune: whatever was going on, their own calls work."""

import os

import pytest

pytestmark = [pytest.mark.unsanitized, pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")]

# One thread goes through new primitives, chains and eager calls, so that somebody plans or tunes at nearly every
# moment; the child calls what was being planned when it was made. Large enough that planning lets go of the GIL.
PROGRAM = """
import os, signal, threading, time
import numpy as np
import dnnmove as dm

COUNT, HOW = ARGUMENTS
dm.set_num_threads(1)
x = np.arange(64 * 1200, dtype="f4").reshape(64, 1200)
md = dm.MemoryDesc.of(x)
parts = [1, 2, 3, 4] * 120
ends = np.cumsum(parts)

def right(results):
    return all(np.array_equal(y, x[:, end - width : end]) for y, width, end in zip(results, parts, ends))

def primitive():
    return dm.VariadicSplit(dm.VariadicSplit.Desc(md, 1, parts))

def chain():
    return dm.Chain(md).variadic_split(1, parts).build()

def eager():
    dm.clear_caches()
    return lambda x: dm.variadic_split(x, 1, parts)

def tuned():
    dm.tuning.clear()
    tiny = x[:, :20].copy()
    call = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(tiny), tune=True))
    return lambda x: [x[:, :1]] if np.array_equal(call(tiny), tiny.T) else []

def explained():
    call = primitive()
    return lambda x: call(x) if call.explain() else []

make = dict(primitive=primitive, chain=chain, eager=eager, tuned=tuned, explained=explained)[HOW]
current = make()
stop = False

def plan():
    global current
    while not stop:
        current = made = make()
        made(x)

thread = threading.Thread(target=plan)
thread.start()
for round in range(COUNT):
    time.sleep(0.0003 * (round % 23))  # other moments of the planning
    call = current
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        os._exit(0 if right(call(x)) and right(make()(x)) else 1)
    status = os.waitpid(pid, 0)[1]
    if status != 0:
        stop = True
        raise SystemExit(f"child {round} ended with status {status}")
stop = True
thread.join()
print("survived")
"""


@pytest.mark.parametrize("how", ["primitive", "chain", "eager", "tuned", "explained"])
def test_a_child_plans_and_calls(how, profile, run_python):
    count = {"quick": 15, "ci": 40, "full": 1000}[profile]
    program = PROGRAM.replace("ARGUMENTS", repr((count, how)))
    assert "survived" in run_python(program, timeout=1800, PYTHONWARNINGS="ignore")

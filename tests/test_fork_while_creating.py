"""A child forked while another thread makes oneDNN's objects can make and run its own."""

import os

import pytest

pytestmark = [pytest.mark.unsanitized, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

# One thread makes primitives, which all differ, and runs them, without the interpreter's lock where it matters; the
# main thread forks. oneDNN's cache of primitives, which has a lock and entries that are waited for, is in use by both.
PROGRAM = """
import itertools, os, signal, threading
import numpy as np
import dnnmove as dm

def shuffle(n, layout):
    md = dm.MemoryDesc((1, 32, n, 4), "f4", layout)
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 4)
    primitive = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation="onednn"))
    return primitive, dm.Memory(md), dm.Memory(md)

def work(n, layout):
    primitive, src, dst = shuffle(n, layout)
    src.bytes[:] = np.arange(src.bytes.size, dtype="u1")
    primitive.execute(None, {dm.ARG_SRC: src, dm.ARG_DST: dst})
    plain = dm.Memory(dm.MemoryDesc(src.desc.dims, "f4"))
    dm.reorder(dst, plain)
    whole = dm.Memory(dm.MemoryDesc(src.desc.dims, "f4"))
    dm.reorder(src, whole)
    return dm.shuffle(whole.numpy(), 1, 4).tobytes() == plain.numpy().tobytes()

busy = threading.Event()
done = threading.Event()

def create():
    for n in itertools.count(1):
        busy.set()
        work(n % 500 + 1, ("nchw", "nChw16c", "nhwc")[n % 3])
        if done.is_set():
            return

threads = [threading.Thread(target=create) for _ in range(2)]
for thread in threads:
    thread.start()
busy.wait()
shared = shuffle(7, "nChw16c")
failed = 0
for k in range(FORKS):
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        os._exit(0 if work(k % 700 + 1, "nChw16c") and work(3, "nchw") else 1)
    failed += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    if failed:
        break
done.set()
for thread in threads:
    thread.join()
print("failed", failed)
"""


def test_forks_while_primitives_are_made(run_python):
    program = PROGRAM.replace("FORKS", "200")
    assert run_python(program, timeout=300, OMP_NUM_THREADS="2").strip() == "failed 0"


def test_a_primitive_that_another_thread_is_making(run_python):
    # The child has the primitive, half made by a thread that it does not have.
    program = """
import os, signal, threading
import numpy as np
import dnnmove as dm

md = dm.MemoryDesc((1, 256, 64, 64), "f4", "nChw16c")
src, dst = dm.Memory(md), dm.Memory(md)
src.bytes[:] = 1
desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 4)
pd = dm.ShuffleForward.PrimitiveDesc(desc, implementation="onednn")
failed = 0
for k in range(100):
    dm.set_primitive_cache_capacity(0)
    primitive = dm.ShuffleForward(pd)
    def first():
        primitive.execute(None, {dm.ARG_SRC: src, dm.ARG_DST: dm.Memory(md)})
    thread = threading.Thread(target=first)
    thread.start()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        primitive.execute(None, {dm.ARG_SRC: src, dm.ARG_DST: dst})
        os._exit(0 if (dst.bytes == 1).all() else 1)
    thread.join()
    failed += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    if failed:
        break
print("failed", failed)
"""
    assert run_python(program, timeout=300, OMP_NUM_THREADS="2").strip() == "failed 0"

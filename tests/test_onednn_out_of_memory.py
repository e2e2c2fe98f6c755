"""oneDNN reports that it is out of memory, in any of the calls it is asked for: a MemoryError, and all works after it.

oneDNN itself does not survive each failed allocation, so the test stands between it and the extension: a preloaded
library answers one call after another with the status out_of_memory, and passes on all others.
"""

import shutil
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.unsanitized,  # their runtime must be preloaded first
    pytest.mark.skipif(sys.platform != "linux", reason="preloads a library"),
]

CREATE = "engine_create stream_create primitive_create"
ATTRIBUTES = "primitive_attr_create primitive_attr_set_scratchpad_mode"
DESCRIPTORS = "memory_desc_create_with_strides memory_desc_create_with_tag memory_desc_clone memory_create_v2"
PROBLEMS = "shuffle_forward_primitive_desc_create shuffle_backward_primitive_desc_create primitive_desc_next_impl"
RUN = "primitive_execute stream_wait"
FUNCTIONS = f"{CREATE} {ATTRIBUTES} {DESCRIPTORS} {PROBLEMS} {RUN}".split()

SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

enum { out_of_memory = 1 };
static int left = -1;
const char* refused = NULL;

void refuse_after(int calls) {
    left = calls;
    refused = NULL;
}

/* Whatever takes up to nine integers and pointers. */
#define PASS(name)                                                                                 \\
    int name(long a, long b, long c, long d, long e, long f, long g, long h, long i) {             \\
        int (*real)(long, long, long, long, long, long, long, long, long);                         \\
        if (left >= 0 && left-- == 0) {                                                            \\
            refused = #name;                                                                       \\
            return out_of_memory;                                                                  \\
        }                                                                                          \\
        *(void**)&real = dlsym(dlopen("libdnnl.so.3", RTLD_LAZY | RTLD_NOLOAD), #name);            \\
        return real(a, b, c, d, e, f, g, h, i);                                                    \\
    }
"""

PROGRAM = """
import ctypes, os
import numpy as np
import dnnmove as dm

shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
refused = ctypes.c_char_p.in_dll(shim, "refused")
x = np.arange(2 * 16 * 5 * 5, dtype="f4").reshape(2, 16, 5, 5)
shuffled = dm.shuffle(x, 1, 4)
md = dm.MemoryDesc.of(x)
forward = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 4)
backward = dm.ShuffleBackward.Desc(md, 1, 4)

def implementations():
    return [name.split(":")[0] for name in dm.ShuffleForward.PrimitiveDesc(forward).implementations] == WANTED

def run_forward():
    pd = dm.ShuffleForward.PrimitiveDesc(forward, implementation="onednn")
    out = np.zeros_like(x)
    dm.ShuffleForward(pd).execute(dm.Stream(), {dm.ARG_SRC: x, dm.ARG_DST: out})
    return (out == shuffled).all()

def run_backward():
    pd = dm.ShuffleBackward.PrimitiveDesc(backward, implementation="onednn")
    return (dm.ShuffleBackward(pd)(shuffled) == x).all()

def blocked_implementations():
    blocked = dm.MemoryDesc(x.shape, "f4", "nChw16c")
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward, blocked, 1, 4)
    return {name.split(":")[0] for name in dm.ShuffleForward.PrimitiveDesc(desc).implementations} == set(WANTED)

WANTED = ["native", "onednn"]
seen = set()
for call in (dm.Engine, dm.Stream, implementations, blocked_implementations, run_forward, run_backward):
    for count in range(100):
        dm.clear_caches()
        capacity = dm.get_primitive_cache_capacity()
        dm.set_primitive_cache_capacity(0)
        dm.set_primitive_cache_capacity(capacity)
        shim.refuse_after(count)
        try:
            right, failed = call(), False
        except MemoryError:
            right, failed = True, True
        name = refused.value
        shim.refuse_after(-1)
        if name is None:
            break
        seen.add(name.decode())
        assert failed, (call, count, name)
    assert right and call(), call
print(*sorted(seen))
"""


def test_out_of_memory_in_any_call_of_onednn(run_python, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source, library = tmp_path / "shim.c", tmp_path / "shim.so"
    source.write_text(SHIM + "\n".join(f"PASS(dnnl_{name})" for name in FUNCTIONS))
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True, timeout=60)
    seen = run_python(PROGRAM, LD_PRELOAD=str(library)).split()
    assert seen == sorted(f"dnnl_{name}" for name in FUNCTIONS)

"""Out of memory in any allocation of a call: a MemoryError or the right result, and nothing is broken after it."""

import pytest

# Python's allocators fail from the start-th allocation on, or that one only. Each first call is in a process of its
# own, since it makes what later ones share; then the call must work.
PROGRAM = """
import faulthandler, gc, sys
import numpy as np
import dnnmove as dm
import _testcapi

faulthandler.enable()
x = np.arange(48, dtype="f4").reshape(2, 4, 6)
md = dm.MemoryDesc.of(x)
mem = dm.Memory(dm.MemoryDesc((2, 4, 6, 1), "f4", "nChw8c"))
plain = dm.Memory(dm.MemoryDesc((2, 4, 6, 1), "f4"))
built = dm.Chain(md).transpose().build()
prim = dm.Transpose(dm.Transpose.Desc(md))
split = dm.VariadicSplit(dm.VariadicSplit.Desc(md, 1, (1, 3)))
shuffle = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 2)
outs = [np.empty((2, 1, 6), "f4"), np.empty((2, 3, 6), "f4")]
blocked = dm.ShuffleForward.Desc(dm.PropKind.forward, mem.desc, 1, 2)
onednn = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(shuffle, implementation="onednn"))

calls = dict(
    transpose=lambda: dm.transpose(x),
    transpose_keyword=lambda: dm.transpose(data=x, input_order=(0, 2, 1)),
    shuffle=lambda: dm.shuffle(x, 1, 2),
    shuffle_backward=lambda: dm.shuffle_backward(x, 1, 2),
    shuffle_channels=lambda: dm.shuffle_channels(x, 1, 2),
    shuffle_memory=lambda: dm.shuffle(mem, 1, 2),
    variadic_split=lambda: dm.variadic_split(x, 1, (1, 3)),
    variadic_split_out=lambda: dm.variadic_split(x, 1, (1, 3), out=outs),
    split=lambda: dm.split(x, 1, 2),
    broadcast=lambda: dm.broadcast(x, (3, 2, 4, 6)),
    concat=lambda: dm.concat([x, x], axis=1),
    flip=lambda: dm.flip(x, 1),
    rearrange=lambda: dm.rearrange(x, "a b c -> c (a b)"),
    refused=lambda: dm.transpose(x, (0, 1, 5)),
    refused_keyword=lambda: dm.transpose(x, perm=(0, 1, 2)),
    axis_error=lambda: dm.shuffle(x, 7, 2),
    primitive=lambda: prim(x),
    execute=lambda: prim.execute(None, {dm.ARG_SRC: x, dm.ARG_DST: np.empty((6, 4, 2), "f4")}),
    split_primitive=lambda: split(x),
    make_primitive=lambda: dm.Transpose(dm.Transpose.Desc(md, (0, 2, 1)))(x),
    memory_desc=lambda: dm.MemoryDesc((2, 3, 4, 5), "float32", "nhwc"),
    memory=lambda: dm.Memory(md),
    memory_numpy=lambda: dm.Memory(md, None, x).numpy(),
    reorder=lambda: dm.reorder(plain, mem),
    chain=lambda: dm.Chain(md).flip(0).transpose((0, 2, 1)),
    build=lambda: dm.Chain(md).flip(0).build()(x),
    built=lambda: built(x),
    chain_index=lambda: dm.Chain(md).index(np.s_[:, ::-1]),
    shuffle_primitive=lambda: dm.ShuffleForward(shuffle)(x),
    onednn=lambda: onednn(x),
    onednn_primitive=lambda: dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(shuffle, None, "onednn"))(x),
    profile=lambda: profiled(),
    explain=lambda: built.explain(),
    repr=lambda: (repr(md), repr(prim), repr(built), repr(shuffle)),
    dlpack=lambda: dm.transpose(Exporter()),
    engine=lambda: dm.Stream(dm.Engine()),
)

class Exporter:
    __dlpack__ = staticmethod(lambda **options: x.__dlpack__(**options))
    __dlpack_device__ = staticmethod(x.__dlpack_device__)

def profiled():
    with dm.profile() as p:
        dm.transpose(x)
    return len(p.records)

def text(result):
    if isinstance(result, np.ndarray):
        return result.tobytes()
    if isinstance(result, tuple):
        return tuple(map(text, result))
    return text(result.numpy()) if isinstance(result, dm.Memory) and result.desc.strides else repr(result)

def outcome(call):
    try:
        return text(call())
    except (ValueError, TypeError) as error:
        return type(error), str(error)

name = sys.argv[-1]
call = calls[name]
gc.collect()
gc.freeze()  # collections are of what calls make, not of all modules
start = 0
while True:
    failed = 0
    for stop in (start + 1, 0):
        gc.collect()  # empties the lists of free objects too, which save allocations
        try:
            _testcapi.set_nomemory(start, stop)
            call()
        except MemoryError:
            failed += 1
        except (ValueError, TypeError) as error:
            # Only what it is refused for anyway.
            _testcapi.remove_mem_hooks()
            assert name in ("refused", "refused_keyword", "axis_error"), (start, repr(error))
        finally:
            _testcapi.remove_mem_hooks()
    start += 1
    if failed == 0 and start > 60 or start > 3000:
        break
once = outcome(call)
assert once == outcome(call)
assert (dm.transpose(x) == x.T).all()
print("survived", start)
"""
NAMES = [line.split("=lambda")[0].strip() for line in PROGRAM.splitlines() if "=lambda:" in line]


@pytest.mark.parametrize("name", NAMES)
def test_every_allocation_may_fail(name, run_python):
    pytest.importorskip("_testcapi")
    program = f"import sys; sys.argv.append({name!r})\n{PROGRAM}"
    assert "survived" in run_python(program, timeout=120)

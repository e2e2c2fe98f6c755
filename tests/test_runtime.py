"""What the library says about itself, its caches, and the instruction sets it may be held to."""

import gc
import re
import sys
import tracemalloc
import weakref

import numpy as np
import oracle
import pytest
import strategies as some

import dnnmove as dm
from dnnmove import _chain


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", dm.__version__)


def test_onednn_version():
    assert re.fullmatch(r"3\.\d+\.\d+", dm.onednn_version())


def test_build_info():
    info = dm.build_info()
    text = repr(info)
    assert dm.onednn_version() in text
    for word in ("compiler", "isa", "openmp"):
        assert any(word in key.lower() for key in info), (word, info)
    info.clear()  # a copy, the caller's own
    assert dm.build_info()


def test_all_names_exist():
    assert set(dm.__all__) <= set(dir(dm))
    for name in ("shuffle", "Transpose", "MemoryDesc", "Chain", "set_num_threads", "Error"):
        assert name in dm.__all__


def test_optional_packages_are_not_imported(run_python):
    program = "import sys, dnnmove; print(*sys.modules)"
    assert not {"torch", "dask", "jax", "onnx", "openvino", "matplotlib"} & set(run_python(program).split())


CHECK = """
import sys
import numpy as np
import dnnmove as dm
rng = np.random.default_rng(1)
for itemsize in (1, 2, 3, 4, 8, 16, 24):
    for shape in ((3, 12, 17, 33), (2, 24, 16, 64), (1, 6, 1, 5), (2, 48, 3, 130), (5, 36, 2, 2)):
        x = rng.integers(0, 256, (*shape, itemsize), np.uint8).view(f"V{itemsize}")[..., 0]
        n, c, h, w = shape
        for view in (x, x[:, :, ::-1], x[:, :, :, ::2], x.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)):
            g = view.reshape(n, 3, c // 3, *view.shape[2:]).swapaxes(1, 2).reshape(view.shape)
            assert dm.shuffle_channels(view, 1, 3).tobytes() == g.tobytes()
            for order in ((0, 2, 3, 1), (3, 1, 0, 2), (1, 0, 3, 2), (3, 2, 1, 0)):
                assert dm.transpose(view, order).tobytes() == view.transpose(order).tobytes()
            a, b = dm.variadic_split(view, 1, [c // 3, -1])
            assert a.tobytes() == view[:, : c // 3].tobytes() and b.tobytes() == view[:, c // 3 :].tobytes()
            assert dm.broadcast(view, (2, *view.shape)).tobytes() == np.broadcast_to(view, (2, *view.shape)).tobytes()
print(dm.ShuffleForward.PrimitiveDesc(
    dm.ShuffleForward.Desc(dm.PropKind.forward, dm.MemoryDesc((2, 6), "f4"), 1, 2),
    implementation="native").impl_info_str)
"""


ISAS = ["scalar", "avx2", "avx512", "avx512_vbmi"]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("threads", ["1", "2"])
def test_every_instruction_set(isa, threads, run_python):
    used = run_python(CHECK, DNNMOVE_ISA=isa, OMP_NUM_THREADS=threads).strip()
    assert used.startswith("native:")
    assert ISAS.index(used.split(":")[1]) <= ISAS.index(isa)


def test_an_instruction_set_that_is_none(run_python):
    program = """
try:
    import dnnmove as dm, numpy as np
    dm.transpose(np.zeros((2, 3)))
except (ImportError, ValueError) as error:
    print(error)
"""
    text = run_python(program, DNNMOVE_ISA="sse9")
    for word in ("DNNMOVE_ISA", "sse9", "avx2", "scalar"):
        assert word in text


def test_primitive_cache_capacity():
    before = dm.get_primitive_cache_capacity()
    try:
        for capacity in (0, 1, 77):
            dm.set_primitive_cache_capacity(capacity)
            assert dm.get_primitive_cache_capacity() == capacity
        with pytest.raises(ValueError, match="-1"):
            dm.set_primitive_cache_capacity(-1)
        with pytest.raises(TypeError):
            dm.set_primitive_cache_capacity(1.5)
    finally:
        dm.set_primitive_cache_capacity(before)


def test_clear_caches():
    x = some.dense((2, 12, 5), "f4")
    md = dm.MemoryDesc.of(x)
    fwd = dm.ShuffleForward(dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 3))
    kept = dm.shuffle(x, 1, 3)
    dm.clear_caches()
    oracle.assert_same(kept, oracle.shuffle(x, 1, 3))
    oracle.assert_same(fwd(x), kept)
    oracle.assert_same(dm.shuffle(x, 1, 3), kept)


def test_clear_caches_forgets_lazy_chains():
    x = some.dense((2, 12, 5), "f4")
    dm.chain(x).transpose().run()
    assert _chain._built.cache_info().currsize > 0
    dm.clear_caches()
    assert _chain._built.cache_info().currsize == 0
    oracle.assert_same(dm.chain(x).transpose().run(), oracle.transpose(x))


def test_explain_and_impl_info():
    md = dm.MemoryDesc((2, 12, 5, 4), "f4")
    made = [
        dm.ShuffleForward(dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 3)),
        dm.ShuffleBackward(dm.ShuffleBackward.Desc(md, 1, 3)),
        dm.ShuffleChannels(dm.ShuffleChannels.Desc(md, 1, 3)),
        dm.Transpose(dm.Transpose.Desc(md)),
        dm.VariadicSplit(dm.VariadicSplit.Desc(md, 1, [4, -1])),
        dm.Broadcast(dm.Broadcast.Desc(md, (3, 2, 12, 5, 4))),
    ]
    for primitive in made:
        text = primitive.explain()
        assert isinstance(text, str)
        assert text.strip()
    for primitive in made[2:]:
        assert primitive.impl_info_str.startswith("native:")


# Memory of the caller ------------------------------------------------------------------------------


def refused(call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except (TypeError, ValueError):
        return
    raise AssertionError("taken")


CALLS = {
    "shuffle": lambda x: dm.shuffle(x, 1, 2),
    "shuffle_backward": lambda x: dm.shuffle_backward(x, 1, 2),
    "shuffle_channels": lambda x: dm.shuffle_channels(x, 1, 2),
    "transpose": lambda x: dm.transpose(x),
    "variadic_split": lambda x: dm.variadic_split(x, 1, [3, -1]),
    "split": lambda x: dm.split(x, 1, 2),
    "broadcast": lambda x: dm.broadcast(x, (2, *x.shape)),
    "concat": lambda x: dm.concat([x, x]),
    "shuffle out": lambda x: dm.shuffle(x, 1, 2, out=np.empty_like(x)),
    "Memory": lambda x: dm.Memory(dm.MemoryDesc.of(x), buffer=x).numpy(),
    "ShuffleForward": lambda x: dm.ShuffleForward(
        dm.ShuffleForward.Desc(dm.PropKind.forward, dm.MemoryDesc.of(x), 1, 2)
    )(x),
    "Transpose": lambda x: dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x), (1, 0)))(x),
    "bad axis": lambda x: refused(dm.shuffle, x, 9, 2),
    "bad group": lambda x: refused(dm.shuffle, x, 1, 5),
    "bad keyword": lambda x: refused(dm.shuffle, x, 1, 2, outt=x),
    "bad out": lambda x: refused(dm.shuffle, x, 1, 2, out=x),
    "bad list": lambda x: refused(dm.transpose, x, [0.5, x]),
}
each = pytest.mark.parametrize("name", CALLS)


@each
def test_no_reference_is_kept(name):
    x = some.dense((7, 6), "f4")
    order = [1, 0]
    CALLS[name](x)
    before = sys.getrefcount(x), sys.getrefcount(order), sys.getrefcount(x.dtype), sys.getrefcount(None)
    for _ in range(200):
        CALLS[name](x)
    after = sys.getrefcount(x), sys.getrefcount(order), sys.getrefcount(x.dtype)
    assert all(abs(b - a) < 50 for a, b in zip(before, after, strict=False)), (before, after)
    assert after[0] == before[0]


def traced_growth(call, count):
    """Bytes that `count` calls left allocated, as tracemalloc sees them."""
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(count):
        call()
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before


@pytest.fixture
def collects_new_objects_only():
    """Hundreds of thousands of objects of torch and jax make a collection take half a second."""
    gc.freeze()
    yield
    gc.unfreeze()


@each
@pytest.mark.usefixtures("collects_new_objects_only")
def test_nothing_leaks(name):
    x = some.dense((7, 6), "f4")
    calls = 500
    traced_growth(lambda: CALLS[name](x), 50)
    tracemalloc.start()
    try:
        # A leak grows in every round. What other threads and caches of the process allocate once does not.
        grown = min(traced_growth(lambda: CALLS[name](x), calls) for _ in range(5))
    finally:
        tracemalloc.stop()
    assert grown < 16 * calls, f"{grown} bytes after {calls} calls"


@pytest.mark.usefixtures("collects_new_objects_only")
def test_a_leak_would_be_seen():
    kept = []
    tracemalloc.start()
    try:
        assert min(traced_growth(lambda: kept.append(object()), 500) for _ in range(5)) > 16 * 500
    finally:
        tracemalloc.stop()


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@pytest.mark.unsanitized
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_results_are_freed():
    x = some.dense((64, 60, 20, 20), "f4")  # 6 MB
    md = dm.MemoryDesc.of(x)
    fwd = dm.ShuffleForward(dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 20))

    def work(count):
        for _ in range(count):
            dm.shuffle(x, 1, 20), dm.transpose(x), dm.split(x, 1, 2), fwd(x), dm.Memory(md).numpy()

    work(10)
    before = resident()
    work(40)
    assert resident() - before < 20 * x.nbytes


@pytest.mark.unsanitized
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_plans_of_many_shapes_stay_bounded():
    def work(first, count):
        for i in range(first, first + count):
            dm.transpose(np.empty((2 + i % 97, 3 + i // 97, 2), "u1"))

    work(0, 3000)
    before = resident()
    work(3000, 9000)
    assert resident() - before < 40 * 2**20


@pytest.mark.unsanitized
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_plans_of_many_parts_stay_bounded():
    x = np.zeros((2, 30000), "u1")

    def work(count, parts):
        for i in range(count):
            dm.variadic_split(x[:, : parts + i], 1, [1] * (parts - 1) + [1 + i])

    dm.clear_caches()
    work(2, 14000)
    before = resident()
    work(39, 15000)
    assert resident() - before < 120 * 2**20  # 64 MiB of plans, and what the calls leave to the allocator


def test_the_result_outlives_everything():
    x = some.dense((7, 12), "f4")
    expected = oracle.shuffle(x, 1, 3)
    md = dm.MemoryDesc.of(x)
    fwd = dm.ShuffleForward(dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 3))
    results = [dm.shuffle(x, 1, 3), fwd(x), dm.variadic_split(dm.shuffle(x, 1, 3), 1, [12])[0]]
    memory = dm.Memory(md)
    memory.numpy()[...] = expected
    results += [memory.numpy(), memory.bytes.view("f4").reshape(7, 12)]
    del x, md, fwd, memory
    gc.collect()
    dm.clear_caches()
    rubbish = [np.full((7, 12), 3.0, "f4") for _ in range(50)]
    for result in results:
        oracle.assert_same(result, expected)
    del rubbish


def test_a_memory_keeps_its_buffer_alive():
    x = some.dense((7, 12), "f4")
    expected = x.copy()
    watch = weakref.ref(x)
    memory = dm.Memory(dm.MemoryDesc.of(x), buffer=x)
    view = memory.numpy()
    del x, memory
    gc.collect()
    oracle.assert_same(view, expected)
    del view
    gc.collect()
    assert watch() is None


def test_a_raw_buffer_in_use_cannot_be_resized():
    buffer = bytearray(4 * 6)
    memory = dm.Memory(dm.MemoryDesc((6,), "f4"), buffer=buffer)
    with pytest.raises(BufferError):
        buffer.extend(b"more")
    memory.numpy()[...] = 1
    assert bytes(buffer) == np.ones(6, "f4").tobytes()
    del memory
    gc.collect()
    buffer.extend(b"more")

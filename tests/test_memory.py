"""Memory: owned or zero copy, and what it refuses to lie over."""

import ctypes
import gc
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest

import dnnmove as dm


def test_owned_memory_is_aligned_and_zero() -> None:
    for size in (1, 63, 4096, 1 << 22):
        mem = dm.Memory(dm.MemoryDesc((size,), "u1"))
        assert mem.numpy().ctypes.data % 64 == 0
        assert not mem.numpy().any()
        assert mem.numpy().flags.writeable
        assert mem.bytes.size == size


def test_numpy_is_a_view_of_the_layout() -> None:
    mem = dm.Memory(dm.MemoryDesc((2, 3, 4, 5), "f4", "nhwc"))
    view = mem.numpy()
    assert view.strides == (240, 4, 60, 12)
    view[1, 2, 3, 4] = 7
    assert mem.bytes.view("f4")[-1] == 7
    assert mem.desc == dm.MemoryDesc((2, 3, 4, 5), "f4", "nhwc")
    assert mem.engine == dm.Engine()


def test_a_view_keeps_the_memory_alive() -> None:
    view = dm.Memory(dm.MemoryDesc((1000,), "f4")).numpy()
    gc.collect()
    view[:] = 3
    assert float(view.sum()) == 3000


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float16", "int64", "S3", "M8[s]", ">f4"])
def test_every_dtype(dtype: str) -> None:
    md = dm.MemoryDesc((2, 3), dtype)
    assert dm.Memory(md).numpy().dtype == md.dtype


def test_zero_copy_over_an_array() -> None:
    x = np.arange(24, dtype="i4").reshape(4, 6)[:, ::2]
    mem = dm.Memory(dm.MemoryDesc.of(x), buffer=x)
    assert np.shares_memory(mem.numpy(), x)
    mem.numpy()[3, 2] = -1
    assert x[3, 2] == -1


def test_zero_copy_over_a_flipped_array() -> None:
    x = np.arange(12, dtype="i4").reshape(3, 4)
    flipped = x[::-1, ::-1]
    mem = dm.Memory(dm.MemoryDesc.of(flipped), buffer=flipped)
    assert np.array_equal(mem.numpy(), flipped)
    assert np.array_equal(mem.bytes, x.reshape(-1).view("u1"))


def test_raw_bytes_of_a_negative_stride_start_at_the_lowest_address() -> None:
    raw = bytearray(np.arange(5, dtype="i4").tobytes())
    mem = dm.Memory(dm.MemoryDesc((5,), "i4", (-1,)), buffer=raw)
    assert mem.numpy().tolist() == [4, 3, 2, 1, 0]


def test_the_buffer_lives_as_long_as_the_memory() -> None:
    class Array(np.ndarray):
        pass

    x = np.zeros(4, "f4").view(Array)
    gone = weakref.ref(x)
    mem = dm.Memory(dm.MemoryDesc((4,), "f4"), buffer=x)
    del x
    gc.collect()
    assert gone() is not None
    del mem
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("make", [bytearray, lambda n: np.zeros(n, "u1"), lambda n: memoryview(bytearray(n))])
def test_raw_bytes_of_exactly_the_size(make: object) -> None:
    md = dm.MemoryDesc((1, 20, 2, 2), "f4", "nChw16c")
    raw = make(md.size)
    mem = dm.Memory(md, buffer=raw)
    mem.bytes[5] = 9
    assert bytes(raw)[5] == 9
    for wrong in (md.size - 1, md.size + 1, 0):
        with pytest.raises(ValueError, match=f"exactly {md.size} bytes"):
            dm.Memory(md, buffer=make(wrong))


def test_read_only_buffers_give_read_only_memory() -> None:
    md = dm.MemoryDesc((4,), "u1")
    frozen = np.zeros(4, "u1")
    frozen.flags.writeable = False
    for buffer in (bytes(4), frozen):
        mem = dm.Memory(md, buffer=buffer)
        assert not mem.numpy().flags.writeable
        assert not mem.bytes.flags.writeable
        with pytest.raises(ValueError, match="dst_mem is read-only"):
            dm.reorder(dm.Memory(md), mem)


@pytest.mark.parametrize(
    "array",
    [np.zeros((3, 2), "f4"), np.zeros((2, 3), "i4"), np.zeros((2, 3), ">f4"), np.zeros((2, 6), "f4")[:, ::2]]
    + [np.zeros(6, "f4"), np.zeros((2, 12), "u1"), np.zeros(24, "i1"), np.zeros(48, "u1")[::2]],
)
def test_a_typed_array_that_does_not_match_is_refused(array: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"buffer \(an array of dtype"):
        dm.Memory(dm.MemoryDesc((2, 3), "f4"), buffer=array)


def test_an_array_that_differs_in_its_strides_alone_gets_a_way_out() -> None:
    md = dm.MemoryDesc((3,), "f4")
    packed = np.zeros(3, np.dtype([("a", "i2"), ("b", "f4")]))["b"]
    for call in (lambda: dm.Memory(md, buffer=packed), lambda: dm.Memory(md).set_data_handle(packed)):
        with pytest.raises(
            ValueError, match=r"buffer\.strides\[0\] \(6 bytes\) must be a whole .*np\.ascontiguousarray\("
        ):
            call()
    with pytest.raises(ValueError, match=r"MemoryDesc\.of\(buffer\) describes the array as it lies"):
        dm.Memory(md, buffer=np.zeros(6, "f4")[::2])
    for buffer in (np.zeros(3, "i4"), np.zeros(2, "f4"), bytes(11)):  # neither way is one
        with pytest.raises(ValueError, match=r"for MemoryDesc\(\(3,\), 'float32'\)$"):
            dm.Memory(md, buffer=buffer)


def test_what_is_no_buffer_is_refused() -> None:
    md = dm.MemoryDesc((2,), "f4")
    for buffer in ([0.0, 0.0], 3, "ab", object()):
        with pytest.raises(TypeError, match="buffer"):
            dm.Memory(md, buffer=buffer)
    with pytest.raises(TypeError, match="mask"):
        dm.Memory(md, buffer=np.ma.zeros(2, "f4"))
    with pytest.raises(TypeError):
        dm.Memory("f4")


def test_numpy_of_a_blocked_layout_says_to_reorder() -> None:
    with pytest.raises(ValueError, match="reorder it first"):
        dm.Memory(dm.MemoryDesc((1, 16, 2, 2), "f4", "nChw16c")).numpy()


def test_more_than_twelve_dimensions() -> None:
    with pytest.raises(ValueError, match="13 dimensions, oneDNN objects have at most 12"):
        dm.Memory(dm.MemoryDesc((1,) * 13, "f4"))


def test_memory_that_cannot_be_had() -> None:
    with pytest.raises(MemoryError):
        dm.Memory(dm.MemoryDesc((2**60,), "f4"))


def test_empty_memory() -> None:
    mem = dm.Memory(dm.MemoryDesc((2, 20, 0, 3), ml_dtypes.bfloat16, "nChw16c"))
    assert mem.bytes.size == 0
    assert dm.Memory(dm.MemoryDesc((0, 3), "f4")).numpy().shape == (0, 3)


def test_torch_tensors_are_buffers() -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros((2, 3), dtype=torch.bfloat16)
    mem = dm.Memory(dm.MemoryDesc.of(x), buffer=x)
    mem.numpy()[1, 2] = 5
    assert x[1, 2] == 5


class Array(np.ndarray):
    """An array with attributes."""


class Bytes(bytearray):
    """A buffer with attributes."""


def array_buffer() -> Array:
    return np.zeros(1024, "u1").view(Array)


@pytest.mark.parametrize("make", [array_buffer, lambda: Bytes(1024)], ids=["array", "buffer"])
@pytest.mark.parametrize("through", ["the Memory", "a view", "two memories", "set_data_handle", "a subclass"])
def test_cycles_through_the_buffer_are_collected(make: object, through: str) -> None:
    class Subclass(dm.Memory):
        pass

    md = dm.MemoryDesc((1024,), "u1")
    buffer = make()
    gone = weakref.ref(buffer)
    if through == "set_data_handle":
        mem = dm.Memory(md)
        mem.set_data_handle(buffer)
    else:
        mem = (Subclass if through == "a subclass" else dm.Memory)(md, buffer=buffer)
    if through == "two memories":
        mem = dm.Memory(md, buffer=mem)
    buffer.back = mem.numpy().base if through == "a view" else mem
    buffer.itself = buffer
    view = mem.numpy()
    del buffer, mem
    gc.collect()
    view[:] = 3  # the view keeps the bytes, whatever became of the Memory
    assert gone() is not None
    del view
    gc.collect()
    assert gone() is None


def test_a_memory_that_the_collector_took_says_so() -> None:
    """Who comes back to it while a dead cycle is taken apart gets an exception."""
    mem = dm.Memory(dm.MemoryDesc((8,), "u1"))
    view = mem.numpy()
    clear = ctypes.c_void_p.from_address(id(dm.Memory) + 24 * ctypes.sizeof(ctypes.c_void_p)).value  # tp_clear
    ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(clear)(mem)
    for use in (
        lambda: mem.numpy(),
        lambda: mem.bytes,
        lambda: mem.data_handle,
        lambda: dm.shuffle(mem, 0, 2),
        lambda: dm.shuffle(view, 0, 2, out=mem),
        lambda: dm.reorder(mem, dm.Memory(mem.desc)),
        lambda: dm.reorder(dm.Memory(mem.desc), mem),
        lambda: mem.__dlpack__(),
        lambda: mem.__copy__(),
        lambda: mem.__reduce_ex__(4),
        lambda: dm.Memory(mem.desc, buffer=mem),
    ):
        with pytest.raises(RuntimeError, match="garbage collector"):
            use()
    assert view.tolist() == [0] * 8
    mem.set_data_handle(view)
    assert mem.numpy().tolist() == [0] * 8


def test_the_data_handle_is_the_address_of_the_first_byte() -> None:
    x = np.arange(12, dtype="i4").reshape(3, 4)
    for view in (x, x[1:], x[::-1], x.T):
        mem = dm.Memory(dm.MemoryDesc.of(view), buffer=view)
        assert mem.data_handle == mem.bytes.ctypes.data
    assert dm.Memory(dm.MemoryDesc.of(x), buffer=x).data_handle == x.ctypes.data
    blocked = dm.MemoryDesc((1, 32, 2, 2), "f4", "nChw16c")
    whole = dm.Memory(blocked)
    part = dm.Memory(blocked.submemory_desc((1, 16, 2, 2), (0, 16, 0, 0)), buffer=whole.bytes)
    assert part.data_handle == whole.data_handle


def test_set_data_handle_takes_what_the_constructor_takes() -> None:
    md = dm.MemoryDesc((2, 3), "f4")
    mem = dm.Memory(md)
    x = np.arange(6, dtype="f4").reshape(2, 3)
    frozen = x.copy()
    frozen.flags.writeable = False
    for buffer in (x, bytearray(x.tobytes()), x.reshape(-1).view("u1"), frozen, x.tobytes(), dm.Memory(md, buffer=x)):
        mem.set_data_handle(buffer)
        assert mem.numpy().tolist() == x.tolist()
        assert mem.numpy().flags.writeable == (buffer is not frozen and not isinstance(buffer, bytes))
        assert (mem.desc, mem.engine) == (md, dm.Engine())
    before = mem.data_handle
    for wrong in (x.T, x.astype("f8"), bytearray(23)):
        with pytest.raises(ValueError, match="buffer"):
            mem.set_data_handle(wrong)
    for wrong in (None, 1234, [1.0]):
        with pytest.raises(TypeError, match="buffer"):
            mem.set_data_handle(wrong)
    assert mem.data_handle == before
    blocked = dm.Memory(dm.MemoryDesc((1, 16, 2, 2), "f4", "nChw16c"))
    raw = bytearray(blocked.desc.size)
    blocked.set_data_handle(raw)
    blocked.bytes[3] = 9
    assert raw[3] == 9
    with pytest.raises(TypeError, match="not initialized"):
        dm.Memory.__new__(dm.Memory).set_data_handle(x)


def test_old_views_keep_the_old_bytes() -> None:
    old = np.zeros(4, "f4").view(Array)
    gone = weakref.ref(old)
    mem = dm.Memory(dm.MemoryDesc((4,), "f4"), buffer=old)
    views = [mem.numpy(), np.asarray(mem), memoryview(mem), np.from_dlpack(mem), mem.bytes]
    other = dm.Memory(mem.desc, buffer=mem)
    del old
    mem.set_data_handle(np.ones(4, "f4"))
    gc.collect()
    assert gone() is not None
    assert [float(np.asarray(view).sum()) for view in views] == [0] * 5
    assert other.numpy().tolist() == [0] * 4
    assert mem.numpy().tolist() == [1] * 4
    del views, other
    assert gone() is None


def test_a_long_row_of_handles_ends() -> None:
    mem = dm.Memory(dm.MemoryDesc((4,), "u1"))
    for _ in range(200_000):
        mem.set_data_handle(mem.bytes)
    del mem


def test_a_torch_tensor_in_a_memory_counts_its_versions() -> None:
    torch = pytest.importorskip("torch")
    first, second = torch.zeros(2, 3), torch.zeros(2, 3)
    mem = dm.Memory(dm.MemoryDesc.of(first), buffer=first)
    mem.set_data_handle(second)
    versions = first._version, second._version
    dm.transpose(np.ones((3, 2), "f4"), out=mem)
    assert (first._version, second._version) == (versions[0], versions[1] + 1)


@pytest.mark.parametrize("run", ["eager", "primitive", "execute", "reorder", "copy"])
def test_bytes_are_replaced_while_calls_run(run: str) -> None:
    """Each call sees the bytes of one handle, whole, and nothing is freed under it."""
    md = dm.MemoryDesc((1 << 18,), "u4")
    mem = dm.Memory(md)
    primitive = dm.ShuffleForward(dm.ShuffleForward.Desc(dm.PropKind.forward, md, 0, 512))
    stop = threading.Event()

    def execute() -> np.ndarray:
        out = dm.Memory(md)
        primitive.execute(None, {dm.ARG_SRC: mem, dm.ARG_DST: out})
        return out.numpy()

    def reorder() -> np.ndarray:
        out = dm.Memory(md)
        dm.reorder(mem, out)
        return out.numpy()

    calls = {
        "eager": lambda: dm.shuffle(mem, 0, 512).numpy(),
        "primitive": lambda: primitive(mem).numpy(),
        "execute": execute,
        "reorder": reorder,
        "copy": lambda: np.asarray(dm.Memory.__copy__(mem)),
    }

    def replace() -> None:
        count = 0
        while not stop.is_set():
            count += 1
            mem.set_data_handle(np.full(1 << 18, count, "u4"))

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(60):
            result = calls[run]()
            assert (result == result[0]).all()
    finally:
        stop.set()
        thread.join()

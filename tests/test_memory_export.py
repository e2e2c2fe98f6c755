"""A Memory is an array to NumPy and to whoever reads buffers: the same bytes, kept as long as somebody looks on."""

import ctypes
import gc
import sys

import numpy as np
import pytest
from exported import FLOATS8, LAYOUTS, NUMBERS, SPECIAL, STRUCT, assert_same_view, bits_of, dtype_of, memory_of, watched

import dnnmove as dm


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [*NUMBERS, *SPECIAL, "bfloat16", *FLOATS8], ids=str)
def test_asarray_is_zero_copy(dtype: object, layout: str) -> None:
    memory = memory_of(dtype_of(dtype), layout)
    for array in (np.asarray(memory), np.asarray(memory, copy=False), memory.__array__()):
        assert_same_view(array, memory)
    copy = np.array(memory)
    assert copy.dtype == memory.desc.dtype
    assert bits_of(copy) == bits_of(memory.numpy())
    assert not np.shares_memory(copy, memory.numpy())


def test_asarray_of_owned_memory_in_a_tagged_layout() -> None:
    memory = dm.Memory(dm.MemoryDesc((2, 3, 4, 5), "bfloat16", "nhwc"))
    np.asarray(memory)[1, 2, 3, 4] = 7
    assert memory.numpy()[1, 2, 3, 4] == 7
    assert np.asarray(memory).strides == (120, 2, 30, 6)


@pytest.mark.parametrize("dtype", ["f4", "bfloat16"])
def test_array_takes_dtype_and_copy(dtype: str) -> None:
    memory = memory_of(dtype_of("i2"))
    memory = memory if dtype == "f4" else memory_of(dtype_of(dtype))
    wide = memory.__array__("f8")
    assert wide.dtype == "f8"
    assert np.array_equal(wide, memory.numpy().astype("f8"), equal_nan=True)
    assert np.asarray(memory, "f8").dtype == "f8"
    with pytest.raises(ValueError, match="copy=False, but dtype float64 needs a copy"):
        memory.__array__(dtype="f8", copy=False)
    with pytest.raises(ValueError, match=r"copy|without creating a copy"):
        np.asarray(memory, "f8", copy=False)
    assert_same_view(memory.__array__(memory.desc.dtype, copy=False), memory)
    assert not np.shares_memory(memory.__array__(copy=True), memory.numpy())
    with pytest.raises(TypeError, match="unexpected keyword argument 'order'"):
        memory.__array__(order="C")


def test_read_only_memory_gives_read_only_arrays() -> None:
    for memory in (memory_of("f4", readonly=True), memory_of(dtype_of("bfloat16"), readonly=True)):
        assert not np.asarray(memory).flags.writeable
        assert np.array(memory).flags.writeable
        assert not np.from_dlpack(memory_of("f4", readonly=True)).flags.writeable
    assert memoryview(memory_of("f4", readonly=True)).readonly
    with pytest.raises((BufferError, TypeError), match="not writable"):
        (ctypes.c_char * 192).from_buffer(memory_of("f4", readonly=True))


def test_memoryview() -> None:
    memory = memory_of("f4", "reversed")
    view = memoryview(memory)
    assert (view.format, view.shape, view.strides) == ("f", (6, 4), memory.numpy().strides)
    assert view.tobytes() == bytes(memory) == memory.numpy().tobytes()
    assert view[5, 3] == memory.numpy()[5, 3]
    view[0, 0] = 3.0
    assert memory.numpy()[0, 0] == 3
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.restype, get.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p, ctypes.c_int]
    with pytest.raises(BufferError, match="not C-contiguous"):
        get(memory, ctypes.create_string_buffer(200), 0x4 | 0x8)  # PyBUF_FORMAT | PyBUF_ND
    for dtype in ("M8[s]", STRUCT, dtype_of("bfloat16")):
        with pytest.raises(BufferError, match=r"take numpy\(\), or the raw .bytes"):
            memoryview(memory_of(dtype))


def test_bytes_without_their_type_are_not_handed_out() -> None:
    """Who asks for them would read them as something else: torch.asarray takes any buffer for float32."""
    for memory in (memory_of("i4"), memory_of("u1")):
        with pytest.raises(BufferError, match=r"without their type, u?int\d+: take numpy\(\), or the raw .bytes"):
            np.frombuffer(memory, "u1")
        assert np.frombuffer(memory.bytes, "u1").tobytes() == bytes(memory)
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError, match="buffer"):
        torch.asarray(memory_of("i4"))
    for convert in (torch.as_tensor, torch.tensor, torch.from_dlpack):
        assert convert(memory_of("i4")).numpy().tobytes() == bytes(memory_of("i4"))


def test_blocked_layouts_say_to_reorder() -> None:
    memory = dm.Memory(dm.MemoryDesc((1, 20, 2, 2), "f4", "nChw16c"))
    calls = (
        np.asarray,
        np.array,
        memoryview,
        bytes,
        np.from_dlpack,
        dm.Memory.numpy,
        dm.Memory.__array__,
        dm.Memory.__dlpack__,
    )
    for call in calls:
        with pytest.raises(
            (BufferError, ValueError), match=r"needs a plain layout.*: reorder it first, or take its raw .bytes"
        ):
            call(memory)
    with pytest.raises(BufferError):
        memory.__dlpack__()


@pytest.mark.parametrize(
    "export",
    [
        np.asarray,
        memoryview,
        np.from_dlpack,
        dm.Memory.numpy,
        lambda m: m.bytes,
        dm.Memory.__array__,
        dm.Memory.__dlpack__,
    ]
    + [lambda m: m.__dlpack__(max_version=(1, 0))],
    ids=["asarray", "memoryview", "from_dlpack", "numpy", "bytes", "__array__", "unversioned", "versioned"],
)
def test_what_was_exported_keeps_the_bytes_and_lets_them_go(export: object) -> None:
    memory, array = watched()
    exported = export(memory)
    gone = sys.getrefcount(memory)
    assert gone == 2  # the bytes are held, the Memory is not
    del memory
    gc.collect()
    assert array() is not None
    if isinstance(exported, np.ndarray):
        assert exported.view("f4").tolist() == [0, 1, 2, 3]
    del exported
    assert array() is None


def test_owned_bytes_outlive_the_memory_too() -> None:
    memory = dm.Memory(dm.MemoryDesc((1 << 20,), "u1"))
    memory.bytes[:] = 5
    views = [np.asarray(memory), np.from_dlpack(memory), np.asarray(memoryview(memory))]
    del memory
    dm.Memory(dm.MemoryDesc((1 << 20,), "u1")).bytes[:] = 9  # would take the same buffer of the pool
    assert all((view == 5).all() for view in views)

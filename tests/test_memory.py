"""Memory: owned or zero copy, and what it refuses to lie over."""

import gc
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

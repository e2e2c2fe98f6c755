"""A Memory is an array to libraries that speak DLPack in Python: NumPy, torch, jax."""

import gc

import numpy as np
import pytest
from dlpack_structures import tensor_in
from exported import LAYOUTS, NUMBERS, SPECIAL, assert_same_view, dtype_of, memory_of

import dnnmove as dm


class TestDlpack:
    """__dlpack__ and __dlpack_device__, as the array API has them."""

    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("dtype", NUMBERS)
    def test_numpy(self, dtype: str, layout: str) -> None:
        memory = memory_of(dtype, layout)
        array = np.from_dlpack(memory)
        assert_same_view(array, memory)

    @pytest.mark.parametrize("layout", ["dense", "transposed", "strided"])
    @pytest.mark.parametrize("dtype", [*NUMBERS, "bfloat16", "float8_e4m3fn", "float8_e5m2"])
    def test_torch(self, dtype: str, layout: str) -> None:
        torch = pytest.importorskip("torch")
        memory = memory_of(dtype_of(dtype), layout)
        view = memory.numpy()
        tensor = torch.from_dlpack(memory)
        assert tensor.data_ptr() == view.ctypes.data
        assert str(tensor.dtype) == f"torch.{view.dtype.name}"
        assert [step * view.itemsize for step in tensor.stride()] == list(view.strides)
        assert bytes(tensor.contiguous().view(torch.uint8).numpy().reshape(-1)) == view.tobytes()

    @pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "f2", "f4", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
    def test_jax(self, dtype: str) -> None:
        jax = pytest.importorskip("jax")
        memory = memory_of(dtype_of(dtype))
        array = np.asarray(jax.dlpack.from_dlpack(memory))
        assert array.dtype == memory.desc.dtype
        assert array.tobytes() == memory.numpy().tobytes()

    def test_device(self) -> None:
        memory = memory_of("f4")
        assert memory.__dlpack_device__() == (1, 0)
        assert np.from_dlpack(memory, device="cpu").size == 48
        memory.__dlpack__(dl_device=(1, 0))
        with pytest.raises(BufferError, match=r"dl_device \(\(2, 0\)\) must be the CPU"):
            memory.__dlpack__(dl_device=(2, 0))
        with pytest.raises(TypeError, match="dl_device"):
            memory.__dlpack__(dl_device=1)

    def test_versions(self) -> None:
        memory = memory_of("f4")
        for version, name in (
            (None, "dltensor"),
            ((0, 8), "dltensor"),
            ((1, 0), "dltensor_versioned"),
            ((2, 0), "dltensor_versioned"),
        ):
            assert f'"{name}"' in repr(memory.__dlpack__(max_version=version))
        for wrong in (1, "1.0", (1,), (1, "0"), (-1, 0)):
            with pytest.raises(TypeError, match="max_version"):
                memory.__dlpack__(max_version=wrong)
        with pytest.raises(ValueError, match="stream"):
            memory.__dlpack__(stream=1)
        with pytest.raises(TypeError):
            memory.__dlpack__(None)

    def test_read_only_needs_a_version(self) -> None:
        memory = memory_of("f4", readonly=True)
        for version in (None, (0, 8)):
            with pytest.raises(BufferError, match="read-only"):
                memory.__dlpack__(max_version=version)
        assert tensor_in(memory.__dlpack__(max_version=(1, 0))).flags == 1
        assert tensor_in(memory_of("f4").__dlpack__(max_version=(1, 0))).flags == 0

    def test_copy(self) -> None:
        memory = memory_of("f4", "reversed", readonly=True)
        array = np.from_dlpack(memory, copy=True)
        assert array.tobytes() == memory.numpy().tobytes()
        assert array.flags.writeable
        assert not np.shares_memory(array, memory.numpy())
        assert tensor_in(memory.__dlpack__(max_version=(1, 0), copy=True)).flags == 2
        memory.__dlpack__(copy=True)
        assert np.from_dlpack(memory, copy=False).ctypes.data == memory.numpy().ctypes.data

    @pytest.mark.parametrize("dtype", [dtype for dtype in SPECIAL if dtype != "g"] + ["longdouble"], ids=str)
    def test_dtypes_that_dlpack_lacks(self, dtype: object) -> None:
        with pytest.raises(BufferError, match="DLPack has no data type"):
            memory_of(dtype).__dlpack__()

    def test_a_tensor_of_ours_comes_back(self) -> None:
        torch = pytest.importorskip("torch")
        tensor = torch.arange(6.0).reshape(2, 3)
        memory = dm.Memory(dm.MemoryDesc.of(tensor), buffer=tensor)
        version = tensor._version
        dm.transpose(np.ones((3, 2), "f4"), out=memory)
        assert tensor.tolist() == [[1, 1, 1], [1, 1, 1]]
        assert tensor._version == version + 1
        again = torch.from_dlpack(memory)
        del memory, tensor
        gc.collect()
        assert again.tolist() == [[1, 1, 1], [1, 1, 1]]

"""DLPack's exchange in C, which Memory offers: the functions that extensions call, called through ctypes."""

import ctypes
import sys

import numpy as np
import pytest
from dlpack_structures import Api, PointerToManaged, SetError, Tensor, pointer_in, steal
from exported import dtype_of, memory_of, watched

import dnnmove as dm


@pytest.fixture(scope="module")
def api() -> Api:
    """The table of dnnmove.Memory."""
    return Api.from_address(pointer_in(dm.Memory.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


class TestExchangeApi:
    """The functions that C consumers call, called through ctypes."""

    def test_header(self, api: Api) -> None:
        assert tuple(api.version) == (1, 3)
        assert api.previous is None
        assert type(dm.Memory.__dlpack_c_exchange_api__).__name__ == "PyCapsule"

    @pytest.mark.parametrize("dtype", ["f4", "bfloat16", "float8_e5m2"])
    def test_there_and_back(self, api: Api, dtype: str) -> None:
        memory = memory_of(dtype_of(dtype), "reversed")
        managed = PointerToManaged()
        assert api.from_object(memory, managed) == 0
        tensor = managed.contents.tensor
        assert tensor.data == memory.numpy().ctypes.data
        assert tuple(tensor.shape[:2]) == memory.desc.dims
        assert tuple(tensor.strides[:2]) == memory.desc.strides
        out = ctypes.c_void_p()
        assert api.to_object(managed, out) == 0
        again = steal(out.value)
        assert type(again) is dm.Memory
        assert again.desc == memory.desc
        assert again.numpy().ctypes.data == memory.numpy().ctypes.data
        assert not dm.Memory(again.desc).numpy().any()

    def test_lifetimes(self, api: Api) -> None:
        memory, array = watched()
        managed = PointerToManaged()
        assert api.from_object(memory, managed) == 0
        del memory
        assert array() is not None
        out = ctypes.c_void_p()
        assert api.to_object(managed, out) == 0
        memory = steal(out.value)
        assert memory.numpy().tolist() == [0, 1, 2, 3]
        del memory
        assert array() is None

    def test_read_only(self, api: Api) -> None:
        memory = memory_of("f4", readonly=True)
        managed = PointerToManaged()
        assert api.from_object(memory, managed) == 0
        assert managed.contents.flags == 1
        out = ctypes.c_void_p()
        assert api.to_object(managed, out) == 0
        assert not steal(out.value).numpy().flags.writeable
        with pytest.raises(BufferError, match="read-only"):
            api.borrow(memory, Tensor())

    def test_borrowed(self, api: Api) -> None:
        memory = memory_of("f4", "strided")
        references = sys.getrefcount(memory)
        for _ in range(3):
            tensor = Tensor()
            assert api.borrow(memory, tensor) == 0
            assert (tensor.data, tensor.ndim, tensor.code, tensor.bits) == (memory.numpy().ctypes.data, 2, 2, 32)
            assert tuple(tensor.strides[:2]) == memory.desc.strides
        assert sys.getrefcount(memory) == references

    def test_what_cannot_be_exported(self, api: Api) -> None:
        blocked = dm.Memory(dm.MemoryDesc((1, 20, 2, 2), "f4", "nChw16c"))
        for call, target in ((api.from_object, PointerToManaged()), (api.borrow, Tensor())):
            with pytest.raises(BufferError, match="reorder"):
                call(blocked, target)
            with pytest.raises(BufferError, match="no data type"):
                call(memory_of("M8[s]"), target)
            with pytest.raises(TypeError, match="must be a Memory"):
                call(np.zeros(3), target)

    def test_what_cannot_be_taken_is_let_go(self, api: Api) -> None:
        for field, value in (("code", 77), ("device", (2, 0)), ("version", (9, 0))):
            memory, array = watched()
            managed = PointerToManaged()
            assert api.from_object(memory, managed) == 0
            del memory
            where = managed.contents if field == "version" else managed.contents.tensor
            setattr(where, field, type(getattr(where, field))(*value) if isinstance(value, tuple) else value)
            with pytest.raises(BufferError):
                api.to_object(managed, ctypes.c_void_p())
            assert array() is None

    def test_allocation(self, api: Api) -> None:
        said = []
        error = SetError(lambda _, kind, message: said.append((kind, message)))
        shape = (ctypes.c_int64 * 2)(1000, 300)
        prototype = Tensor(None, (1, 0), 2, 4, 16, 1, shape, None, 0)
        managed = PointerToManaged()
        assert api.allocate(prototype, managed, None, error) == 0
        assert managed.contents.tensor.data % 64 == 0
        out = ctypes.c_void_p()
        assert api.to_object(managed, out) == 0
        memory = steal(out.value)
        assert memory.desc == dm.MemoryDesc((1000, 300), "bfloat16")
        memory.bytes[:] = 1
        assert not said
        for field, value in (("device", (2, 0)), ("bits", 4), ("ndim", -1)):
            bad = Tensor(None, (1, 0), 2, 4, 16, 1, shape, None, 0)
            setattr(bad, field, (ctypes.c_int32 * 2)(*value) if field == "device" else value)
            assert api.allocate(bad, managed, None, error) == -1
        huge = Tensor(None, (1, 0), 2, 4, 16, 1, (ctypes.c_int64 * 2)(2**61, 2**61), None, 0)
        assert api.allocate(huge, managed, None, error) == -1
        many = Tensor(None, (1, 0), 1, 4, 16, 1, (ctypes.c_int64 * 1)(2**55), None, 0)
        assert api.allocate(many, managed, None, error) == -1
        assert [kind for kind, _ in said] == [b"ValueError"] * 4 + [b"MemoryError"]

    def test_stream(self, api: Api) -> None:
        stream = ctypes.c_void_p(5)
        assert api.stream(1, 0, stream) == 0
        assert stream.value is None

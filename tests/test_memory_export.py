"""A Memory is an array to other libraries: NumPy's protocols, the buffer protocol, DLPack in Python and in C."""

import ctypes
import gc
import sys
import weakref

import ml_dtypes
import numpy as np
import pytest

import dnnmove as dm

STRUCT = np.dtype({"names": ["a", "b"], "formats": ["i1", "f4"], "offsets": [4, 8], "itemsize": 16})
TITLED = np.dtype([(("a title", "a"), "i4")])
FLOATS8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
NUMBERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SPECIAL = [">f4", "g", "M8[s]", "m8[us]", "S3", "U2", "V3", STRUCT, TITLED, np.dtype([("b", "bfloat16")])]
LAYOUTS = {
    "dense": np.s_[:],
    "transposed": None,
    "strided": np.s_[::2, 1::3],
    "reversed": np.s_[::-1, ::-2],
    "repeated": "broadcast",
    "empty": np.s_[:0],
}


def memory_of(dtype: object, layout: str = "dense", readonly: bool = False) -> dm.Memory:
    """Over an array of random bits, valid ones for bool."""
    bits = np.random.default_rng(7).integers(0, 256, 6 * 8 * np.dtype(dtype).itemsize, dtype="u1")
    x = (bits & 1 if np.dtype(dtype) == bool else bits).view(dtype).reshape(6, 8)
    index = LAYOUTS[layout]
    x = np.broadcast_to(x[:1], (5, 8)) if index == "broadcast" else x.T if index is None else x[index]
    if readonly or not x.flags.writeable:
        x = x.view()
        x.flags.writeable = False
    return dm.Memory(dm.MemoryDesc.of(x), buffer=x)


def dtype_of(name: object) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name) if isinstance(name, str) and hasattr(ml_dtypes, name) else name)


def bits_of(array: np.ndarray) -> list[bytes]:
    """Of every field, but not of what is between them, which NumPy does not copy."""
    return [(array[name] if name else array).tobytes() for name in array.dtype.names or [""]]


def assert_same_view(array: np.ndarray, memory: dm.Memory) -> None:
    """Of the same bytes, dtype and strides."""
    view = memory.numpy()
    assert type(array) is np.ndarray
    assert array.dtype == view.dtype
    assert array.shape == view.shape
    assert view.size == 0 or array.strides == view.strides
    assert array.ctypes.data == view.ctypes.data
    assert array.flags.writeable == view.flags.writeable
    assert bits_of(array) == bits_of(view)


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


def watched(shape: tuple[int, ...] = (4,)) -> tuple[dm.Memory, weakref.ref]:
    """A Memory over an array that nothing else keeps, and a look at that array."""

    class Array(np.ndarray):
        pass

    x = np.arange(np.prod(shape), dtype="f4").reshape(shape).view(Array)
    return dm.Memory(dm.MemoryDesc(shape, "f4"), buffer=x), weakref.ref(x)


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


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    """DLManagedTensorVersioned."""


Managed._fields_ = [
    ("version", ctypes.c_uint32 * 2),
    ("context", ctypes.c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))),
    ("flags", ctypes.c_uint64),
    ("tensor", Tensor),
]

PointerToManaged = ctypes.POINTER(Managed)
SetError = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class Api(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("previous", ctypes.c_void_p),
        (
            "allocate",
            ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.POINTER(Tensor), ctypes.POINTER(PointerToManaged), ctypes.c_void_p, SetError
            ),
        ),
        ("from_object", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(PointerToManaged))),
        ("to_object", ctypes.PYFUNCTYPE(ctypes.c_int, PointerToManaged, ctypes.POINTER(ctypes.c_void_p))),
        ("borrow", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))),
        ("stream", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))),
    )


def pointer_in(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, name)


def tensor_in(capsule: object) -> Managed:
    return Managed.from_address(pointer_in(capsule, b"dltensor_versioned"))


def steal(address: int) -> object:
    """The object of a pointer whose reference is ours."""
    thing = ctypes.cast(address, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(thing))
    return thing


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

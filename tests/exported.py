"""Memory over random bits in many layouts, and what the arrays that it exports must be; for the tests of exports."""

import weakref

import ml_dtypes
import numpy as np

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


def watched(shape: tuple[int, ...] = (4,)) -> tuple[dm.Memory, weakref.ref]:
    """A Memory over an array that nothing else keeps, and a look at that array."""

    class Array(np.ndarray):
        pass

    x = np.arange(np.prod(shape), dtype="f4").reshape(shape).view(Array)
    return dm.Memory(dm.MemoryDesc(shape, "f4"), buffer=x), weakref.ref(x)

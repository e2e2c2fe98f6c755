"""A strided copy as oneDNN's reorder primitive, by its C API in the library that dnnmove has loaded."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from benchmarks.contestants.contestant import UnsupportedError

TYPES = {1: "i1", 4: "f4"}  # 2-byte floats would be quieted, 8-byte ones go as rows of two words
_DATA_TYPES = {1: 5, 4: 3}  # dnnl_s8, dnnl_f32
_MOST_DIMS = 12
_ARG_FROM, _ARG_TO = 1, 17

_dnnl: Any = None
_engine = ctypes.c_void_p()
_stream = ctypes.c_void_p()


class _Argument(ctypes.Structure):
    _fields_ = (("arg", ctypes.c_int), ("memory", ctypes.c_void_p))


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_dnnl, name)(*arguments)
    if status:
        raise UnsupportedError(f"{name} returned status {status}")


def start(threads: int) -> None:
    """Loads the library; its primitives are created for `threads` threads from here on."""
    global _dnnl
    try:
        gomp = ctypes.CDLL("libgomp.so.1")
        if _dnnl is None:
            _dnnl = ctypes.CDLL("libdnnl.so.3")
            _call("dnnl_engine_create", ctypes.byref(_engine), 1, ctypes.c_size_t(0))
            _call("dnnl_stream_create", ctypes.byref(_stream), _engine, 1)
    except (OSError, AttributeError) as error:
        raise ImportError(f"oneDNN's C API cannot be reached: {error}") from error
    gomp.omp_set_num_threads(threads)


class Reorder:
    """One copy between two views of the same shape; calling it runs it and waits."""

    def __init__(self, dst: np.ndarray, src: np.ndarray) -> None:
        if not 0 < dst.ndim <= _MOST_DIMS:
            raise UnsupportedError(f"oneDNN has {_MOST_DIMS} dimensions, this takes {dst.ndim}")
        if any(stride <= 0 or stride % array.itemsize for array in (dst, src) for stride in array.strides):
            raise UnsupportedError("oneDNN has no negative, zero or odd strides")
        self._made: list[tuple[str, ctypes.c_void_p]] = []
        descs = [self._desc(src), self._desc(dst)]
        pd = self._make("dnnl_reorder_primitive_desc_create", "dnnl_primitive_desc_destroy",
                        descs[0], _engine, descs[1], _engine, None)  # fmt: skip
        self._primitive = self._make("dnnl_primitive_create", "dnnl_primitive_destroy", pd)
        memories = [
            self._make("dnnl_memory_create", "dnnl_memory_destroy", desc, _engine, ctypes.c_void_p(array.ctypes.data))
            for desc, array in zip(descs, (src, dst), strict=True)
        ]
        self._arguments = (_Argument * 2)(_Argument(_ARG_FROM, memories[0]), _Argument(_ARG_TO, memories[1]))

    def _make(self, create: str, destroy: str, *arguments: Any) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        _call(create, ctypes.byref(handle), *arguments)
        self._made.append((destroy, handle))
        return handle

    def _desc(self, array: np.ndarray) -> ctypes.c_void_p:
        dims = (ctypes.c_int64 * _MOST_DIMS)(*array.shape)
        strides = (ctypes.c_int64 * _MOST_DIMS)(*(stride // array.itemsize for stride in array.strides))
        return self._make("dnnl_memory_desc_create_with_strides", "dnnl_memory_desc_destroy",
                          array.ndim, dims, _DATA_TYPES[array.itemsize], strides)  # fmt: skip

    def __call__(self) -> None:
        _dnnl.dnnl_primitive_execute(self._primitive, _stream, 2, self._arguments)
        _dnnl.dnnl_stream_wait(_stream)

    def __del__(self) -> None:
        for destroy, handle in reversed(getattr(self, "_made", [])):
            getattr(_dnnl, destroy)(handle)

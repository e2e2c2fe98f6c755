"""MKL's omatcopy, for one matrix or a batch: libmkl_rt.so where the loader finds it or DNNMOVE_MKL says."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.contestants.strided import permutation
from benchmarks.operations import Problem

FUNCTIONS = {"float32": ("MKL_Somatcopy", ctypes.c_float), "float64": ("MKL_Domatcopy", ctypes.c_double)}
_mkl: Any = None


def start(threads: int) -> None:
    global _mkl
    if _mkl is None:
        os.environ.setdefault("MKL_THREADING_LAYER", "GNU")  # the OpenMP that torch and oneDNN bring along
        names = [os.environ[name] for name in ("DNNMOVE_MKL",) if name in os.environ]
        for name in names or ["libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2"]:
            try:
                _mkl = ctypes.CDLL(name)
                break
            except OSError:
                continue
        else:
            raise ImportError("no libmkl_rt.so; DNNMOVE_MKL may name it")
    _mkl.MKL_Set_Num_Threads(ctypes.c_int(threads))


def version() -> str:
    text = ctypes.create_string_buffer(200)
    _mkl.MKL_Get_Version_String(text, 200)
    return text.value.decode().strip()


def transpose(dst: np.ndarray, src: np.ndarray) -> Callable[[], None]:
    """One copy between two views of the same shape: matrices that lie one behind the other, each turned round."""
    if src.dtype.name not in FUNCTIONS:
        raise UnsupportedError(f"omatcopy has no {src.dtype.name}")
    name, scalar = FUNCTIONS[src.dtype.name]
    found = permutation(dst, src)
    if found.order == (1, 0):
        batch, rows, columns = 1, *found.sizes
    elif found.order == (0, 2, 1):
        batch, rows, columns = found.sizes
    else:
        raise UnsupportedError("omatcopy turns matrices only")
    size, pitch = ctypes.c_size_t, ctypes.c_size_t(rows * columns)
    what = (ctypes.c_char(b"R"), ctypes.c_char(b"T"), size(rows), size(columns), scalar(1))
    from_there = (ctypes.c_void_p(src.ctypes.data), size(columns))
    to_there = (ctypes.c_void_p(dst.ctypes.data), size(rows))
    if batch == 1:
        function, arguments = getattr(_mkl, name), (*what, *from_there, *to_there)
    else:
        function = getattr(_mkl, f"{name}_batch_strided")
        arguments = (*what, *from_there, pitch, *to_there, pitch, size(batch))
    function.restype = None

    def run() -> None:
        function(*arguments)

    return run


def contestants(problem: Problem) -> list[Contestant]:
    if problem.case.op not in ("transpose", "pipeline") or problem.pairs is None or problem.case.small:
        raise UnsupportedError("not compared")
    runs = [transpose(dst, src) for dst, src in problem.pairs]
    return [Contestant("mkl", "for run in runs: run()", {"runs": runs})]

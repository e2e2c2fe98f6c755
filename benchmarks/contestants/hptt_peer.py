"""HPTT by its C functions, which plan at each call: libhptt.so where the loader finds it or DNNMOVE_HPTT says."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.contestants.strided import permutation
from benchmarks.operations import Problem

FUNCTIONS = {"float32": ("sTensorTranspose", ctypes.c_float), "float64": ("dTensorTranspose", ctypes.c_double)}
_hptt: Any = None
_threads = 1


def start(threads: int) -> None:
    global _hptt, _threads
    if _hptt is None:
        try:
            _hptt = ctypes.CDLL(os.environ.get("DNNMOVE_HPTT", "libhptt.so"))
        except OSError as error:
            raise ImportError(f"DNNMOVE_HPTT may name it: {error}") from error
    _threads = threads


def version() -> str:
    return "its C interface"


def transpose(dst: np.ndarray, src: np.ndarray) -> Callable[[], None]:
    """One copy between two views of the same shape."""
    if src.dtype.name not in FUNCTIONS:
        raise UnsupportedError(f"HPTT has no {src.dtype.name}")
    name, scalar = FUNCTIONS[src.dtype.name]
    found = permutation(dst, src)
    rank = len(found.sizes)
    integers = ctypes.c_int * rank
    function = getattr(_hptt, name)
    arguments = (
        integers(*found.order), rank, scalar(1), ctypes.c_void_p(src.ctypes.data), integers(*found.sizes), None,
        scalar(0), ctypes.c_void_p(dst.ctypes.data), None, _threads, 1,
    )  # fmt: skip

    def run() -> None:
        function(*arguments)

    return run


def contestants(problem: Problem) -> list[Contestant]:
    if problem.case.op not in ("transpose", "pipeline") or problem.pairs is None or problem.case.small:
        raise UnsupportedError("not compared")
    runs = [transpose(dst, src) for dst, src in problem.pairs]
    return [Contestant("hptt", "for run in runs: run()", {"runs": runs})]

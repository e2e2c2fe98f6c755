"""The copy ceiling: a parallel memcpy and a parallel non-temporal copy of as many bytes as the case writes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import machine
from benchmarks.contestants.contestant import Contestant
from benchmarks.memory import Memory

SOURCE = pathlib.Path(__file__).parents[1] / "ceiling.cpp"
KINDS = {"memcpy": 0, "stream copy": 1, "memset": 2, "stream fill": 3}

_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """The compiled ceiling; built on first use into the user's cache folder."""
    global _library
    if _library is None:
        text = SOURCE.read_bytes()
        target = machine.cache_folder() / f"ceiling-{hashlib.sha256(text).hexdigest()[:16]}.so"
        if not target.exists():
            compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
            if not compiler:
                raise SystemExit("benchmarks need a C++ compiler (g++ or CXX) to build the copy ceiling")
            partial = target.with_suffix(f".{os.getpid()}.so")
            command = [compiler, "-O3", "-march=native", "-std=c++20", "-fopenmp", "-shared", "-fPIC"]
            subprocess.run([*command, str(SOURCE), "-o", str(partial)], check=True)
            partial.replace(target)
        _library = ctypes.CDLL(str(target))
        _library.dnnmove_ceiling.restype = ctypes.c_double
        _library.dnnmove_ceiling.argtypes = [
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_uint64,
            ctypes.c_int,
            ctypes.c_int,
        ]
    return _library


@dataclass
class Ceiling(Contestant):
    """Timed in C++, so that the cost of the call through ctypes is not in it."""

    run: Callable[[int], float] = lambda number: 0.0

    def timer(self) -> Callable[[int], float]:
        return self.run


def contestants(memory: Memory, size: int, threads: int, fill: bool) -> list[Contestant]:
    """The ways to move `size` bytes between the arenas; with `fill` also the ways to write them only."""
    function = library().dnnmove_ceiling

    def runner(kind: int) -> Callable[[int], float]:
        return lambda number: function(kind, memory.dst.address, memory.src.address, size, threads, number)

    return [
        Ceiling(name, f"{name} of {size} bytes", role="ceiling", run=runner(kind))
        for name, kind in KINDS.items()
        if fill or kind < 2
    ]

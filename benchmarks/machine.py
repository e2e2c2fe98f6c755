"""What a result was measured on and with."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import platform
import time
from collections.abc import Iterator
from types import ModuleType

import numpy as np


def _read(path: str) -> str:
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return ""


def cpu_name() -> str:
    for line in _read("/proc/cpuinfo").splitlines():
        if line.lower().startswith(("model name", "hardware")):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def caches() -> list[str]:
    """Cache sizes of the first CPU, as "L2 unified 1024K"."""
    found = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_read(str(index / name)) for name in ("level", "type", "size"))
        found.append(f"L{level} {kind.lower()} {size}")
    return found


@functools.cache
def cpus() -> int:
    """CPUs this process may use, as they were before a peer's OpenMP library bound its first thread."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cache_folder() -> pathlib.Path:
    """The harness's own folder in the user's cache, created."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (pathlib.Path(base) if base else pathlib.Path.home() / ".cache") / "dnnmove-benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Waits until no other run of this harness measures on this machine, and keeps others waiting."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (cache_folder() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_info() -> dict[str, object]:
    import dnnmove

    info = dnnmove.build_info() if hasattr(dnnmove, "build_info") else {}
    return {key: value if isinstance(value, int | bool | str) else str(value) for key, value in info.items()}


# By the names of dnnmove's instruction sets: what keeps oneDNN, PyTorch and XLA from using more. (NumPy's copies use
# what every machine has; OpenVINO and ONNX Runtime take no such wish, cv2, MKL and HPTT get none.)
PEER_CAPS = {
    "avx512": ("AVX512_CORE", "avx512", "AVX512"),
    "avx2": ("AVX2", "avx2", "AVX2"),
    "scalar": ("SSE41", "default", "SSE4_2"),
}


def cap(isa: str) -> None:
    """As on a machine with no more than `isa`, for dnnmove and the peers that can be told; before their import."""
    os.environ["DNNMOVE_ISA"] = isa
    for variable in ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        os.environ.pop(variable, None)
    if isa in PEER_CAPS:
        os.environ["ONEDNN_MAX_CPU_ISA"], os.environ["ATEN_CPU_CAPABILITY"], xla = PEER_CAPS[isa]
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa={xla}".strip()


def peers_capped() -> bool:
    """Whether oneDNN, PyTorch and JAX have no more than dnnmove."""
    peers = (os.environ.get("ONEDNN_MAX_CPU_ISA"), os.environ.get("ATEN_CPU_CAPABILITY"))
    return peers == PEER_CAPS.get(os.environ.get("DNNMOVE_ISA", ""), ())[:2]


def describe(threads: int, peers: dict[str, ModuleType]) -> dict[str, object]:
    """The machine, the versions and the settings, for the head of a result file."""
    import dnnmove

    flags = next((line for line in _read("/proc/cpuinfo").splitlines() if line.startswith(("flags", "Features"))), "")
    interesting = ("avx2", "avx512f", "avx512bw", "avx512vbmi", "asimd", "sve")
    memory = next((line.split()[1] for line in _read("/proc/meminfo").splitlines() if line.startswith("MemTotal")), "0")
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cpu": cpu_name(),
        "flags": [flag for flag in interesting if flag in flags.split()],
        "cpus": cpus(),
        "caches": caches(),
        "memory_gb": round(int(memory) / 1e6, 1),
        "kernel": platform.release(),
        "huge_pages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "python": platform.python_version(),
        "threads": threads,
        "load": round(os.getloadavg()[0], 2),
        "isa_cap": os.environ.get("DNNMOVE_ISA", ""),
        "peers_capped": peers_capped(),
        "dnnmove": dnnmove.__version__,
        "dnnmove_build": _build_info(),
        "versions": {"numpy": np.__version__} | {name: module.version() for name, module in peers.items()},
    }

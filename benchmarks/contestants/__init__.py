"""Who takes part: the copy ceiling, dnnmove, and each peer in a module of its own."""

from __future__ import annotations

import importlib
from types import ModuleType

PEERS = (
    "numpy",
    "torch",
    "torch_compile",
    "openvino",
    "onnxruntime",
    "jax",
    "onednn",
    "cv2",
    "mkl",
    "hptt",
    "tools",
)


def load_peers(names: tuple[str, ...], threads: int) -> tuple[dict[str, ModuleType], dict[str, str]]:
    """The peers that are installed, set to `threads` threads, and why the others are not there."""
    present, absent = {}, {}
    for name in names:
        module = importlib.import_module(f"benchmarks.contestants.{name}_peer")
        try:
            module.start(threads)
        except ImportError as error:
            absent[name] = f"not installed ({error})"
        else:
            present[name] = module
    return present, absent

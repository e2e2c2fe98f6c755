"""torch.compile: Inductor's C++ for the very shapes of a pipeline, warm."""

from __future__ import annotations

import shutil
from typing import Any

from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.operations import Problem

_torch: Any = None


def start(threads: int) -> None:
    global _torch
    import torch

    if not shutil.which("g++"):
        raise ImportError("Inductor needs g++")
    _torch = torch
    torch.set_num_threads(threads)


def version() -> str:
    return str(_torch.__version__)


def contestants(problem: Problem) -> list[Contestant]:
    if problem.case.op != "pipeline":
        raise UnsupportedError("compiled for pipelines only: each case takes seconds to compile")
    from benchmarks.contestants import pipeline_peers

    _torch.compiler.reset()
    return pipeline_peers.torch_compile(problem)

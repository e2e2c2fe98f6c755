"""The tools that people use for a pipeline today (pandas, polars, cv2, torchvision, astropy), where installed."""

from __future__ import annotations

import sys

from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.operations import Problem

MODULES = ("astropy", "cv2", "pandas", "polars", "torchvision")
_said: set[str] = set()


def start(threads: int) -> None:
    """Each is imported by the pipelines that use it."""


def version() -> str:
    """Those that have been used so far."""
    used = [name for name in MODULES if name in sys.modules]
    return ", ".join(f"{name} {sys.modules[name].__version__}" for name in used) or "none used"


def contestants(problem: Problem) -> list[Contestant]:
    if problem.case.op != "pipeline":
        raise UnsupportedError("not compared")
    from benchmarks.contestants import pipeline_peers

    found = []
    for name in problem.pipeline.tools:
        try:
            found += pipeline_peers.tool(problem, name)
        except (ImportError, RuntimeError) as error:  # RuntimeError: torchvision beside another torch than its own
            if name not in _said:
                print(f"peer {name}: not installed ({' '.join(str(error).split())[:120]})", file=sys.stderr)
            _said.add(name)
    if not found:
        raise UnsupportedError(f"no other tool for it here ({', '.join(problem.pipeline.tools) or 'none known'})")
    return found

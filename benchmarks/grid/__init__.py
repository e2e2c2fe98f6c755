"""The grid: every case of every operation, in one list."""

from __future__ import annotations

import importlib

from benchmarks.case import Case

OPERATIONS = (
    "transpose",
    "windows",
    "shuffle",
    "shuffle_forward",
    "split",
    "broadcast",
    "take",
    "calls",
    "new_output",
    "small",
    "chain",
    "pipelines",
    "threads",
    "planning",
    "tuned",
)


def all_cases(threads: int) -> list[Case]:
    """Every case, in the order of OPERATIONS; names are unique."""
    cases: list[Case] = []
    for name in OPERATIONS:
        cases += importlib.import_module(f"benchmarks.grid.{name}").cases(threads)
    names = [case.name for case in cases]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"cases named twice: {sorted(repeated)}")
    return cases

"""One way to run a case: a statement and the names it needs, so that a table can show what was timed."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class UnsupportedError(Exception):
    """This contestant cannot run this case; the message says why."""


@dataclass
class Contestant:
    """A statement to time.

    ``result`` returns the arrays it wrote where these are not the case's ready outputs; it gets
    the namespace in which the statement ran once.
    """

    name: str
    statement: str
    names: dict[str, Any] = field(default_factory=dict)
    result: Callable[[dict[str, Any]], list[np.ndarray]] | None = None
    role: str = "peer"  # "ceiling", "ours" or "peer"
    checked: bool = True  # False for what is timed beside the case and does not compute its result
    tolerance: float = 0.0  # of results of other arithmetic; 0: every byte has to be right

    def run_once(self) -> dict[str, Any]:
        """Runs the statement once, untimed; returns its namespace."""
        scope = dict(self.names)
        exec(self.statement, scope)
        return scope

    def timer(self) -> Callable[[int], float]:
        """A function that runs the statement `number` times and returns the seconds it took."""
        return timeit.Timer(self.statement, globals=self.names).timeit


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]

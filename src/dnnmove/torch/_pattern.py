"""Reads patterns of einops, that a chain has accepted, for their adjoints."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

__all__ = ["Axes", "axes_of"]


class Axes(NamedTuple):
    """A pattern as reshape, transpose and reshape see it."""

    right: list[int]  # lengths of the single axes behind the arrow
    repeated: list[int]  # those of them that are not before it
    order: list[int]  # where the axes before the arrow stand among the others behind it


def _groups(side: str, ellipsis: int, numbers: dict[str, int]) -> list[list[str]]:
    """The names of the single axes, dimension by dimension; an ellipsis stands for `ellipsis` axes."""
    groups: list[list[str]] = []
    open_group: list[str] | None = None
    for token in re.findall(r"[()]|\.\.\.|\w+", side):
        if token == "(":
            open_group = []
            groups.append(open_group)
            continue
        if token == ")":
            open_group = None
            continue
        names = [token]
        if token == "...":
            names = [f"...{i}" for i in range(ellipsis)]
        elif token.isdigit():
            names = [f"#{len(numbers)}"] if int(token) != 1 else []
            numbers.update((name, int(token)) for name in names)
        if open_group is not None:
            open_group.extend(names)
        elif token == "...":
            groups.extend([name] for name in names)
        else:
            groups.append(names)
    return groups


def axes_of(pattern: str, lengths: dict[str, int], shape: tuple[int, ...]) -> Axes:
    """The axes of `pattern` for an array of `shape`."""
    left_text, right_text = pattern.split("->")
    known = dict(lengths)
    others = _groups(left_text.replace("...", ""), 0, known)
    left = _groups(left_text, len(shape) - len(others), known)
    for group, length in zip(left, shape, strict=True):
        missing = [name for name in group if name not in known]
        product = math.prod(known[name] for name in group if name in known)
        known.update((name, length // product if product else 0) for name in missing)
    right = [name for group in _groups(right_text, len(shape) - len(others), known) for name in group]
    before = [name for group in left for name in group]
    kept = [name for name in right if name in before]
    return Axes(
        right=[known[name] for name in right],
        repeated=[i for i, name in enumerate(right) if name not in before],
        order=[kept.index(name) for name in before],
    )

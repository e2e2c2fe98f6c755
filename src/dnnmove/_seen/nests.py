"""The loop nest of each pass: which loops run around which kernel, over which axes of what is read."""

from __future__ import annotations

from typing import Any

from dnnmove._seen.svg import SMALL, axis_of, element, text_at, width_of

__all__ = ["passes_at"]

_LINE = 18.0
_PAD = 10.0
_INDENT = 18.0
_MOST_COPIES = 4
_MOST_PASSES = 6


def _source(copy: dict[str, Any], structure: dict[str, Any]) -> str:
    number, inputs = copy["source"], structure["levels"][0]["outputs"]
    if number != 0 or inputs == 1:
        return "zeros" if number < 0 else "input" if number == 0 else f"intermediate {number - 1}"
    return f"each of {copy['sources']:,} inputs" if copy["sources"] > 1 else f"input {copy['input']:,}"


def _destination(number: int, structure: dict[str, Any]) -> str:
    count = structure["output_count"]
    if number >= count:
        return f"intermediate {number - count}"
    return f"output {number}" if structure["splits"] else "output"


def _lines(copy: dict[str, Any], structure: dict[str, Any]) -> list[tuple[int, str, int | None, bool]]:
    """Of one copy: indentation, text, the byte stride of the source that a loop takes, strong."""
    kernel = copy["kernel"]
    if kernel is None:
        return [(0, copy["text"], None, False)]
    lines: list[tuple[int, str, int | None, bool]] = []
    lines.append((0, f"{_source(copy, structure)} → {_destination(copy['destination'], structure)}", None, True))
    depth = 1
    for loop in kernel["loops"]:
        if loop["tiles_of"]:
            lines.append((depth, f"for {loop['extent']:,} tiles of {loop['tiles_of']}", None, False))
        else:
            steps = (
                f"read {loop['read']:+,} B, write {loop['write']:+,} B"
                if loop["read"] is not None
                else "read and write by a table"
            )
            lines.append((depth, f"for {loop['extent']:,}: {steps}", loop["read"], False))
        depth += 1
    lines.append(
        (depth, f"kernel {kernel['name']}, element {kernel['element']:,} B, stores {kernel['stores']}", None, True)
    )
    for dimension in kernel["dimensions"]:
        if dimension["extent"] == 1:
            continue
        text = f"{dimension['extent']:,} {dimension['counts']} in tiles of {dimension['tile']:,}"
        # Bytes of a row are of no axis of their own, and rows at odd places have no stride.
        stride = None if dimension["counts"] == "row bytes" else dimension["read"] or None
        lines.append((depth + 1, text, stride, False))
    if kernel["remark"]:
        lines.append((depth + 1, kernel["remark"], None, False))
    return lines


def passes_at(structure: dict[str, Any], strides: list[dict[int, int]], x: float, y: float) -> tuple[str, float, float]:
    """Boxes from (x, y) down: their elements, and where they end to the right and below."""
    parts: list[str] = []
    right = x
    for number, each in enumerate(structure["passes"][:_MOST_PASSES]):
        copies = each["copies"][:_MOST_COPIES]
        title = f"pass {number + 1} of {len(structure['passes'])}: {each['implementation']}"
        title += f", {each['bytes']:,} bytes written"
        if each["nests"] != 1:
            title += f" by {each['nests']:,} loop nests"
        rows: list[tuple[int, str, int | None, bool, int]] = [(0, title, None, True, -1)]
        for copy in copies:
            rows += [(*line, copy["source"]) for line in _lines(copy, structure)]
        if each["nests"] > len(copies):
            rows.append((0, f"and {each['nests'] - len(copies):,} more", None, False, -1))
        height = _LINE * len(rows) + 2 * _PAD
        drawn = []
        width = 0.0
        for k, (depth, text, stride, strong, source) in enumerate(rows):
            left = x + _PAD + _INDENT * depth
            baseline = y + _PAD + 13.0 + _LINE * k
            axis = None if stride is None or source < 0 else axis_of(stride, strides[source])
            if stride is not None:
                kind = "dnnmove-none" if axis is None else f"dnnmove-axis{axis % 8}"
                drawn.append(element("rect", x=left, y=baseline - 10.0, width=12.0, height=12.0, rx=2, class_=kind))
                left += 18.0
            drawn.append(text_at(left, baseline, text, size=SMALL, strong=strong))
            width = max(width, left + width_of(text, SMALL) + _PAD - x)
        parts.append(element("rect", x=x, y=y, width=width, height=height, rx=6, class_="dnnmove-pass"))
        parts += drawn
        right = max(right, x + width)
        y += height + 12.0
    if len(structure["passes"]) > _MOST_PASSES:
        parts.append(
            text_at(x, y + 12.0, f"and {len(structure['passes']) - _MOST_PASSES} more passes", size=SMALL, ink="faint")
        )
        y += _LINE
    return "".join(parts), right, y - 12.0

"""The picture of a chain: its input, every step with the arrays it leaves, the outputs, and the loop nests."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

from dnnmove._seen.nests import passes_at
from dnnmove._seen.svg import FONT, SMALL, STYLE, axis_of, clean, clip, element, fits, text_at, width_of

__all__ = ["diagram"]

_MARGIN = 16.0
_GAP = 26.0  # between rows
_BETWEEN = 18.0  # between boxes
_PAD = 10.0
_LINE = 18.0
_LABELS = 270.0  # the column of step names
_MOST_ROWS = 41  # steps drawn: the first and the last ones
_MOST_CHIPS = 10
_MOST_LETTERS = 56  # of a shape
_MOST_BOXES = 6  # beside one another


@dataclass
class Box:
    """An array after a step, or an output: lines of text, and chips for the loops of its axes."""

    level: int
    first: int
    last: int
    lines: list[str]
    full: str
    axes: list[list[tuple[int, int | None, int]]] = field(default_factory=list)
    colours: dict[int, int] = field(default_factory=dict)
    memory: bool = False
    parent: Box | None = None
    children: list[Box] = field(default_factory=list)
    centre: float = 0.0

    @property
    def chips(self) -> list[list[tuple[str, str]]]:
        """Texts and classes, axis by axis."""
        shown: list[list[tuple[str, str]]] = []
        for axis in self.axes[:_MOST_CHIPS]:
            loops = axis or [(1, 0, 0)]
            shown.append([(self._text(loop), self._colour(loop)) for loop in loops[:4]])
        if len(self.axes) > _MOST_CHIPS:
            shown.append([("…", "dnnmove-none")])
        return shown

    @staticmethod
    def _text(loop: tuple[int, int | None, int]) -> str:
        extent, stride, sources = loop
        if extent == 1:
            return "1"
        if not sources:
            return f"{extent}@{'table' if stride is None else stride}"
        step = "source" if sources == 1 else f"{sources} source{'' if sources == -1 else 's'}"
        return f"{extent}@{step}{f'{stride:+}' if stride else ''}"

    def _colour(self, loop: tuple[int, int | None, int]) -> str:
        extent, stride, sources = loop
        axis = None if stride is None or sources or extent == 1 else axis_of(stride, self.colours)
        return "dnnmove-none" if axis is None else f"dnnmove-axis{axis % 8}"

    @property
    def width(self) -> float:
        """Pixels."""
        widths = [width_of(line, FONT if k == 0 else SMALL) for k, line in enumerate(self.lines)]
        return max([*widths, chips_width(self.chips)]) + 2 * _PAD

    @property
    def height(self) -> float:
        """Pixels."""
        return _LINE * len(self.lines) + (24.0 if self.axes else 0.0) + 10.0

    @property
    def breadth(self) -> float:
        """Pixels that the box and all below it take."""
        below = sum(child.breadth for child in self.children) + _BETWEEN * max(0, len(self.children) - 1)
        return max(self.width, below)


def chips_width(chips: list[list[tuple[str, str]]]) -> float:
    """Pixels of a row of chips: those of one axis touch."""
    return sum(width_of(text, SMALL) + 10.0 for axis in chips for text, _ in axis) + 8.0 * max(0, len(chips) - 1)


def draw_chips(chips: list[list[tuple[str, str]]], x: float, y: float) -> str:
    """The chips, their upper left corner at (x, y)."""
    parts = []
    for axis in chips:
        for text, kind in axis:
            width = width_of(text, SMALL) + 10.0
            parts.append(element("rect", x=x, y=y, width=width, height=18.0, rx=3, class_=kind))
            parts.append(text_at(x + 5.0, y + 13.0, text, size=SMALL))
            x += width
        x += 8.0
    return "".join(parts)


def _strides(sources: list[dict[str, Any]]) -> list[dict[int, int]]:
    """For each array that is read, byte stride -> axis; axes of length 1 take no step."""
    return [
        {
            abs(stride): axis
            for axis, (length, stride) in enumerate(zip(source["shape"], source["strides"], strict=True))
            if length > 1 and stride
        }
        for source in sources
    ]


def _note_box(level: int, note: dict[str, Any], several: bool, strides: list[dict[int, int]]) -> Box:
    shape = str(note["shape"])
    count = note["last"] - note["first"] + 1
    name = f"output {note['first']}" + (f" to {note['last']}" if count > 1 else "")
    lines = [f"{name}: {clip(shape, _MOST_LETTERS)}" if several else clip(shape, _MOST_LETTERS)]
    if note["blocks"] != 1:
        lines.append("empty" if note["blocks"] == 0 else f"in {note['blocks']} blocks")
    elif note["offset"]:
        lines.append(f"from byte {note['offset']:,}")
    if note["remark"]:
        lines.append(note["remark"])
    if note["written"] is not None:
        lines.append(f"written to memory by pass {note['written'] + 1}, read again by pass {note['written'] + 2}")
    full = f"{shape}, {note['lies']}"
    return Box(
        level,
        note["first"],
        note["last"],
        lines,
        full,
        note["axes"],
        strides[note["source"]],
        note["written"] is not None,
    )


def _nearest(
    place: tuple[int, int] | None, structure: dict[str, Any], rows: list[int], at: dict[int, list[Box]]
) -> Box | None:
    """The box of branch `place[1]` after step `place[0]`, or of what it was made from where that step has no row."""
    while place is not None:
        level, branch = place
        if level in rows:
            return next((box for box in at.get(level, []) if box.first <= branch <= box.last), None)
        notes = [note for note in structure["levels"][level]["notes"] if note["first"] <= branch <= note["last"]]
        place = notes[0]["parent"] if notes else None
    return None


def _boxes(structure: dict[str, Any], rows: list[int], strides: list[dict[int, int]]) -> list[Box]:
    """All boxes of the steps that are drawn, each below its parent; the input first."""
    made: list[Box] = []
    at: dict[int, list[Box]] = {}

    for level in rows:
        step = structure["levels"][level]
        # All inputs are one box, that of the first: their number is the name of the row.
        for note in step["notes"][: _MOST_BOXES if level > 0 else 1]:
            box = _note_box(level, note, step["outputs"] > 1 and level > 0, strides)
            if level == 0 and len(step["notes"]) > 1:
                box.lines.append("and others that lie otherwise")
            # Steps that pass an array by, or that are not drawn, leave no box: the nearest one above it is its parent.
            box.parent = _nearest(note["parent"], structure, rows, at)
            if level > 0 and box.parent is None:
                continue
            if box.parent is not None:
                box.parent.children.append(box)
            at.setdefault(level, []).append(box)
            made.append(box)
    return made


def _outputs(structure: dict[str, Any], boxes: list[Box], rows: list[int]) -> list[Box]:
    """A box for each output, below what it is written from."""
    made: list[Box] = []
    at: dict[int, list[Box]] = {}
    for box in boxes:
        at.setdefault(box.level, []).append(box)
    single = structure["output_count"] == 1 and not structure["splits"]
    for number, output in enumerate(structure["outputs"]):
        parent = _nearest(output["parent"], structure, rows, at)
        copies = (
            "one copy of consecutive bytes"
            if output["plain"]
            else f"{output['copies']} strided {'copy' if output['copies'] == 1 else 'copies'}"
        )
        name = "output" if single else f"output {number}"
        lines = [f"{name} {clip(str(output['shape']), _MOST_LETTERS)}", f"pass {output['pass'] + 1}, {copies}"]
        if parent is None or sum(box.parent is parent for box in made) >= _MOST_BOXES:
            continue
        box = Box(len(structure["levels"]), number, number, lines, str(output["shape"]), memory=True, parent=parent)
        parent.children.append(box)
        made.append(box)
    return made


def _place(box: Box, left: float) -> None:
    """Centre the box over what is below it, from `left` on."""
    breadth = box.breadth
    below = sum(child.breadth for child in box.children) + _BETWEEN * max(0, len(box.children) - 1)
    x = left + (breadth - below) / 2
    for child in box.children:
        _place(child, x)
        x += child.breadth + _BETWEEN
    box.centre = left + breadth / 2


def _label_lines(text: str) -> list[str]:
    """The name of a step, then its arguments in at most three lines, broken between words."""
    name, bracket, rest = text.partition("(")
    most = fits(_LABELS - 44.0, SMALL)
    lines = [clip(name, most)]
    words = textwrap.wrap(bracket + rest, most)
    lines += words[:3]
    if len(words) > 3:
        lines[-1] = lines[-1][: most - 1] + "…"
    return lines


def _label(x: float, y: float, number: str, text: str) -> str:
    """The lines of a step, and its number."""
    parts = [text_at(x, y, number, size=SMALL, ink="faint")] if number else []
    for k, line in enumerate(_label_lines(text)):
        ink = "faint" if k else "ink"
        parts.append(text_at(x + 30.0, y + 14.0 * k, line, size=SMALL, ink=ink, strong=k == 0, full=text))
    return "".join(parts)


def _draw_box(box: Box, y: float) -> str:
    x = box.centre - box.width / 2
    parts = [
        element("title", clean(clip(box.full, 400))),
        element(
            "rect",
            x=x,
            y=y,
            width=box.width,
            height=box.height,
            rx=6,
            class_="dnnmove-memory" if box.memory else "dnnmove-box",
        ),
        text_at(x + _PAD, y + 18.0, box.lines[0], strong=True),
    ]
    top = y + 24.0
    if box.axes:
        parts.append(draw_chips(box.chips, x + _PAD, top + 2.0))
        top += 24.0
    for k, line in enumerate(box.lines[1:]):
        parts.append(text_at(x + _PAD, top + 13.0 + _LINE * k, line, size=SMALL, ink="faint"))
    return element("g", *parts)


def _edge(box: Box, tops: dict[int, float], bottoms: dict[int, float]) -> str:
    """From the parent down, across in the gap below its row, and down to the box through the box's own strip."""
    assert box.parent is not None
    start, end = bottoms[id(box.parent)], tops[id(box)]
    middle = bottoms[-box.parent.level - 1] + _GAP / 2
    d = f"M{box.parent.centre:.1f} {start:.1f}V{middle:.1f}H{box.centre:.1f}V{end - 1:.1f}"
    return element("path", d=d, class_="dnnmove-edge")


def diagram(structure: dict[str, Any]) -> str:
    """The SVG text."""
    levels = structure["levels"]
    count = len(levels)
    rows = list(range(count))
    left_out = 0
    if count > _MOST_ROWS:
        left_out = count - _MOST_ROWS
        rows = rows[: _MOST_ROWS // 2 + 1] + rows[count - _MOST_ROWS // 2 :]
    strides = _strides(structure["sources"])
    boxes = _boxes(structure, rows, strides)
    outputs = _outputs(structure, boxes, rows)
    root = boxes[0]
    root.lines[0] += f" {clip(str(structure['source'].dtype), _MOST_LETTERS // 2)}"
    _place(root, _MARGIN + _LABELS)
    by_row: dict[int, list[Box]] = {}
    for box in [*boxes, *outputs]:
        by_row.setdefault(box.level, []).append(box)

    parts: list[str] = []
    tops: dict[int, float] = {}
    bottoms: dict[int, float] = {}
    y = _MARGIN
    for level in [*rows, count]:
        here = by_row.get(level, [])
        more = structure["output_count"] - len(outputs)
        if level == count:
            text = ("outputs" if structure["output_count"] != 1 else "output") + (f", {more} more" if more else "")
        else:
            hidden = here and (levels[level]["more"] or len(levels[level]["notes"]) > len(here))
            text = levels[level]["text"] + (", not all drawn" if hidden else "")
        parts.append(_label(_MARGIN, y + 18.0, str(level) if 0 < level < count else "", text))
        height = max([14.0 * len(_label_lines(text)) + 8.0, *(box.height for box in here)])
        for box in here:
            tops[id(box)], bottoms[id(box)] = y, y + box.height
            parts.append(_draw_box(box, y))
        bottoms[-level - 1] = y + height
        y += height + _GAP
        if left_out and level == rows[_MOST_ROWS // 2]:
            parts.append(text_at(_MARGIN, y + 6.0, f"… {left_out} more steps", size=SMALL, ink="faint"))
            bottoms[-level - 1] = max(bottoms[-level - 1], y)
            y += _GAP
    edges = [_edge(box, tops, bottoms) for box in [*boxes, *outputs] if box.parent is not None]
    drawn, right, y = passes_at(structure, strides, _MARGIN, y)
    width = max(_MARGIN + _LABELS + root.breadth, right) + _MARGIN
    height = y + _MARGIN
    page = element("rect", x=0, y=0, width=width, height=height, class_="dnnmove-page")
    return element(
        "svg",
        element("title", "dnnmove chain"),
        element("style", STYLE),
        page,
        *edges,
        *parts,
        drawn,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width:.1f} {height:.1f}",
        role="img",
    )

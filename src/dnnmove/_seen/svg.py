"""SVG as text: elements with everything escaped, lengths of text, and the colours of both themes."""

from __future__ import annotations

import re
from html import escape
from typing import Any

__all__ = ["FONT", "SMALL", "STYLE", "axis_of", "clean", "clip", "element", "fits", "text_at", "width_of"]

FONT = 13.0  # pixels
SMALL = 11.0
# Of every usual monospaced font, in ems; the widest are at 0.602.
_ADVANCE = 0.605
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Hues that stay apart for most eyes; a text of either theme is readable on its own tints.
_LIGHT = ("#cfe3ff", "#ffe0b8", "#d3f2d0", "#f6d0e4", "#e3d6fb", "#fdf0a6", "#c9f0ee", "#f3d3c6")
_DARK = ("#1d4a80", "#7a4a12", "#24602b", "#7a2a55", "#51358c", "#665a0c", "#155f5b", "#74402b")


def _rules(colours: tuple[str, ...], names: dict[str, str]) -> str:
    rules = [f".dnnmove-axis{k}{{fill:{colour}}}" for k, colour in enumerate(colours)]
    rules += [f".dnnmove-{name}{{{rule}}}" for name, rule in names.items()]
    return "".join(rules)


_THEMES = (
    _rules(
        _LIGHT,
        {
            "page": "fill:#ffffff",
            "box": "fill:#f6f8fa;stroke:#8c959f",
            "pass": "fill:#ffffff;stroke:#8c959f",
            "none": "fill:#e4e7ea",
            "ink": "fill:#1f2328",
            "faint": "fill:#57606a",
            "edge": "fill:none;stroke:#8c959f",
            "memory": "fill:#fff4d6;stroke:#b08800",
        },
    ),
    _rules(
        _DARK,
        {
            "page": "fill:#0d1117",
            "box": "fill:#161b22;stroke:#6e7681",
            "pass": "fill:#0d1117;stroke:#6e7681",
            "none": "fill:#30363d",
            "ink": "fill:#e6edf3",
            "faint": "fill:#9da7b3",
            "edge": "fill:none;stroke:#6e7681",
            "memory": "fill:#3a2f0b;stroke:#d4a72c",
        },
    ),
)
STYLE = (
    ".dnnmove-text{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace;"
    "white-space:pre}.dnnmove-strong{font-weight:600}"
    f"{_THEMES[0]}@media (prefers-color-scheme:dark){{{_THEMES[1]}}}"
)


def clean(value: object) -> str:
    """As XML may hold it: what no XML file can say becomes the replacement character."""
    return escape(_FORBIDDEN.sub("\ufffd", str(value)), quote=True)


def _number(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else clean(value)


def element(name: str, *children: str, **attributes: Any) -> str:
    """An element. `children` are elements; attributes whose value is None are left out, `_` in a name is a hyphen."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_number(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(children)
    return f"<{name}{said}>{inside}</{name}>" if inside else f"<{name}{said}/>"


def width_of(text: str, size: float = FONT) -> float:
    """Pixels of a line; characters outside Latin may be twice as wide."""
    return sum(1 if ord(letter) < 0x1100 else 2 for letter in text) * _ADVANCE * size


def fits(width: float, size: float = FONT) -> int:
    """How many characters fit into a width."""
    return int(width / (_ADVANCE * size))


def clip(text: str, most: int) -> str:
    """At most so many characters: the middle goes."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def text_at(
    x: float, y: float, text: str, *, size: float = FONT, ink: str = "ink", strong: bool = False, full: str = ""
) -> str:
    """A line of text from `x`, its baseline at `y`; `full` is what a pointer over it shows."""
    kind = f"dnnmove-text dnnmove-{ink}" + (" dnnmove-strong" if strong else "")
    title = element("title", clean(full)) if full and full != text else ""
    return element("text", title, clean(text), x=x, y=y, font_size=size, class_=kind)


def axis_of(stride: int, strides: dict[int, int]) -> int | None:
    """The axis of what is read that a loop of `stride` bytes walks: the one with the largest stride not above it."""
    known = [(step, axis) for step, axis in strides.items() if 0 < step <= abs(stride)]
    return max(known)[1] if known else None

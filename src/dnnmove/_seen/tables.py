"""HTML tables of what descriptors, primitives and chains say of themselves."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

__all__ = ["chain_table", "table"]

_LONGEST = 400  # characters of a cell
_MOST_PARTS = 8  # of a tuple, each on a line of its own
# Colours come from the page, so that they suit its theme.
_CELL = "text-align:left;padding:2px 10px 2px 0;vertical-align:top"
_NAME = f"{_CELL};font-weight:normal;opacity:.75"
_CODE = f"{_CELL};font-family:ui-monospace,monospace;white-space:pre-wrap"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _cell(value: object) -> str:
    if isinstance(value, tuple) and any(not isinstance(part, (int, str)) for part in value):
        lines = [_shorten(repr(part)) for part in value[:_MOST_PARTS]]
        if len(value) > _MOST_PARTS:
            lines.append(f"and {len(value) - _MOST_PARTS} more")
        return "<br>".join(map(escape, lines)) or "()"
    return escape(_shorten(value if isinstance(value, str) else repr(value)))


def _rows(title: str, rows: Iterable[tuple[str, object]], below: str = "") -> str:
    body = "".join(
        f'<tr><th style="{_NAME}">{escape(name)}</th><td style="{_CODE}">{_cell(value)}</td></tr>'
        for name, value in rows
    )
    head = f'<tr><th colspan="2" style="{_CELL}">{escape(title)}</th></tr>'
    return f'<table style="border-collapse:collapse"><thead>{head}</thead><tbody>{body}</tbody></table>{below}'


def _properties(thing: object) -> list[tuple[str, object]]:
    """Its public properties, as the type defines them, with what they are now."""
    found: dict[str, object] = {}
    for kind in type(thing).__mro__[:-1]:
        for name, member in vars(kind).items():
            if name.startswith("_") or name in found or callable(member) or not hasattr(member, "__get__"):
                continue
            if isinstance(member, (staticmethod, classmethod)):
                continue
            try:
                found[name] = getattr(thing, name)
            except AttributeError:  # a chain that splits has no dst_desc
                continue
    return list(found.items())


def _explained(thing: Any) -> str:
    text = escape(thing.explain())
    return f'<details><summary>explain()</summary><pre style="white-space:pre-wrap">{text}</pre></details>'


def table(thing: object) -> str:
    """Of a descriptor, primitive descriptor or primitive."""
    explain = getattr(thing, "explain", None)
    rows = _properties(thing)
    if explain is not None or type(thing).__name__ == "Desc":  # their properties leave parameters out
        rows = [("primitive" if explain is not None else "descriptor", repr(thing)), *rows]
    return (
        f'<div class="dnnmove-seen">{_rows(type(thing).__qualname__, rows, _explained(thing) if explain else "")}</div>'
    )


def chain_table(thing: Any, structure: dict[str, Any]) -> str:
    """Of a chain or a built one."""
    others = structure["levels"][0]["outputs"] - 1
    more_sources = f" and {others} more" if others else ""
    rows: list[tuple[str, object]] = [("inputs" if others else "input", repr(structure["source"]) + more_sources)]
    rows += [(f"step {k}", level["text"]) for k, level in enumerate(structure["levels"][1:21], 1)]
    if len(structure["levels"]) > 21:
        rows.append(("steps", f"and {len(structure['levels']) - 21} more"))
    shapes = tuple(output["shape"] for output in structure["outputs"])
    more = structure["output_count"] - len(shapes)
    shown = ", ".join(map(str, shapes)) + (f" and {more} more" if more else "")
    rows.append(("outputs" if structure["output_count"] != 1 else "output", shown or "none"))
    rows.append(("passes", len(structure["passes"])))
    below = _explained(thing) if hasattr(thing, "explain") else ""
    return _rows(type(thing).__qualname__, rows, below)

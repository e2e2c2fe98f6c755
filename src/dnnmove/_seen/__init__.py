"""Descriptors, plans and chains as pictures and tables: what `_repr_html_` and `draw` of the compiled types call."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dnnmove._files import write_text
from dnnmove._seen.diagram import diagram
from dnnmove._seen.svg import clip
from dnnmove._seen.tables import chain_table, table

if TYPE_CHECKING:
    from dnnmove._core import BuiltChain

__all__ = ["chain_html", "draw", "html"]


def _shown(value: object) -> str:
    return clip(repr(value), 300)


def _target(path: str | os.PathLike[str]) -> Path:
    """`path` as one that an SVG file can be written to; raises before anything is made."""
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise TypeError(f"path ({_shown(path)}) must be a str or os.PathLike, or None for the text itself")
    target = Path(path)
    if target.suffix.lower() != ".svg":
        raise ValueError(f"path ({_shown(str(target))}) must end in .svg: that is what is drawn")
    if target.is_dir():
        raise IsADirectoryError(f"path ({_shown(str(target))}) is a folder")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path ({_shown(str(target))}) must lie in a folder that is there: {_shown(str(target.parent))} is not"
        )
    return target


def draw(built: BuiltChain, path: str | os.PathLike[str] | None) -> str | None:
    """The picture of a chain as SVG text, or written to a file."""
    target = None if path is None else _target(path)
    text = diagram(built._structure())
    if target is None:
        return text
    write_text(target, text)
    return None


def html(thing: object) -> str:
    """A table of what a descriptor or primitive says of itself."""
    return table(thing)


def chain_html(built: BuiltChain, thing: object) -> str:
    """A table of a chain, and its picture; `thing` is the chain as the user has it."""
    structure = built._structure()
    return f'<div class="dnnmove-seen">{chain_table(thing, structure)}{diagram(structure)}</div>'

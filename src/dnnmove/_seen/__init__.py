"""Descriptors, plans and chains as pictures and tables: what `_repr_html_` and `draw` of the compiled types call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dnnmove._seen.diagram import diagram
from dnnmove._seen.files import check_path, write_text
from dnnmove._seen.tables import chain_table, table

if TYPE_CHECKING:
    from dnnmove._core import BuiltChain

__all__ = ["chain_html", "draw", "html"]


def draw(built: BuiltChain, path: str | os.PathLike[str] | None) -> str | None:
    """The picture of a chain as SVG text, or written to a file."""
    target = None if path is None else check_path(path)
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

"""Reads arrays and operations given as text: literals only, nothing is evaluated."""

from __future__ import annotations

import ast
import re
from typing import Any

import click

import dnnmove as dm
from dnnmove._core import _steps

__all__ = ["read_array", "read_step", "taken"]

MOST_CHARACTERS = 10_000
# A dtype may have its byte order before it and a unit behind it, which strides do not look like: >f4, datetime64[25s].
_ARRAY = re.compile(
    r"\s*(?P<shape>\([^()]*\)|\[[^\[\]]*\])\s*(?P<dtype>[<>=|]?\w+(\[\d*[^\W\d]+\])?)?\s*(?P<layout>\S.*)?"
)
Step = tuple[str, list[Any], dict[str, Any]]


def _parsed(text: str, what: str) -> ast.expr:
    if len(text) > MOST_CHARACTERS:
        raise click.BadParameter(f"{what} has more than {MOST_CHARACTERS} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise click.BadParameter(f"{what} {text[:60]!r} cannot be read") from None


def _literal(node: ast.expr, what: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        try:
            shown = ast.unparse(node)[:60]
        except RecursionError:  # as deep as it is
            shown = "what is nested so deep"
        raise click.BadParameter(f"{what}: {shown} must be a literal: numbers, tuples, lists") from None


def read_array(text: str) -> dm.MemoryDesc:
    """The layout that a text describes: "(1,58,28,28) float32", and perhaps a format tag or strides in elements."""
    match = _ARRAY.fullmatch(text)
    if not match:
        raise click.BadParameter(f'ARRAY {text[:60]!r} must be a shape and a dtype, as in "(1,58,28,28) float32"')
    shape = _literal(_parsed(match["shape"], "the shape"), "the shape")
    layout = match["layout"]
    if layout is not None and layout[0] in "([":
        layout = _literal(_parsed(layout, "the strides"), "the strides")
    try:
        return dm.MemoryDesc((shape,) if isinstance(shape, int) else shape, match["dtype"] or "float32", layout)
    except (TypeError, ValueError) as error:
        raise click.BadParameter(f"ARRAY {text[:60]!r}: {error}") from None


def _index(node: ast.expr, what: str) -> Any:
    """What stands between the brackets of an index."""
    if isinstance(node, ast.Tuple):
        return tuple(_index(entry, what) for entry in node.elts)
    if isinstance(node, ast.Slice):
        ends = (node.lower, node.upper, node.step)
        return slice(*(None if end is None else _literal(end, what) for end in ends))
    return _literal(node, what)


def read_step(text: str) -> Step:
    """The name and the arguments of a step: "transpose((0,2,3,1))", "split(axis=1, num_splits=2)", "index[0, ::2]"."""
    node = _parsed(text, "STEP")
    what = f"STEP {text[:60]!r}"
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            arguments = [_literal(arg, what) for arg in args]
            named = {}
            for keyword in keywords:
                if keyword.arg is None:
                    raise click.BadParameter(f"{what}: give the arguments one by one")
                named[keyword.arg] = _literal(keyword.value, what)
        case ast.Subscript(value=ast.Name(id="index"), slice=key):
            name, arguments, named = "index", [_index(key, what)], {}
        case _:
            raise click.BadParameter(f"{what} must be a call, as in transpose((0,2,3,1)), or index[...]")
    if name not in _steps:
        raise click.BadParameter(f"{what}: {name} is none of the steps {', '.join(sorted(_steps))}")
    return name, arguments, named


def taken(chain: dm.Chain, steps: list[Step]) -> dm.Chain:
    """The chain with the steps added."""
    for name, arguments, named in steps:
        chain = getattr(chain, name)(*arguments, **named)
    return chain

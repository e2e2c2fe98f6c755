"""The values that an IR writes as text: integers, shapes with open dimensions, element types."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from dnnmove.ir._xml import Element, IRError, shown

__all__ = [
    "OPEN",
    "Bounds",
    "agree",
    "boolean",
    "element_type",
    "integer",
    "integers",
    "parse_shape",
    "port_shape",
    "shape_text",
]

# The least and the greatest length of each axis; None where even the rank is open.
Bounds: TypeAlias = "tuple[tuple[int, int], ...] | None"
MOST = 2**63 - 1
OPEN = (0, MOST)
MOST_AXES = 64  # NumPy's

_TYPES: dict[str, Any] = {
    "boolean": np.bool_,
    "bf16": ml_dtypes.bfloat16,
    "f16": "<f2",
    "f32": "<f4",
    "f64": "<f8",
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e8m0": ml_dtypes.float8_e8m0fnu,
    "i8": "<i1",
    "i16": "<i2",
    "i32": "<i4",
    "i64": "<i8",
    "u8": "<u1",
    "u16": "<u2",
    "u32": "<u4",
    "u64": "<u8",
}
_PACKED = {"i4", "u1", "u2", "u3", "u4", "u6", "nf4", "f4e2m1"}
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)


def element_type(text: str | None) -> np.dtype[Any]:
    """The dtype of OpenVINO's name of an element type."""
    if text in _TYPES:
        dtype: np.dtype[Any] = np.dtype(_TYPES[text])
        return dtype
    if text in _PACKED:
        raise IRError(f"element_type {text!r} packs several elements into a byte: only whole bytes are moved")
    raise IRError(f"element_type {shown(text or '')!r} must be one of {', '.join(sorted(_TYPES))}")


def integer(text: str, what: str, least: int = -MOST - 1) -> int:
    """A 64-bit integer of at least `least`."""
    stripped = text.strip(" \t\r\n")
    value = int(stripped) if _INTEGER.fullmatch(stripped) else None
    if value is None or not -MOST - 1 <= value <= MOST:
        raise IRError(f"{what} ({shown(text)!r}) must be an integer of 64 bits")
    if value < least:
        raise IRError(f"{what} ({value}) must be at least {least}")
    return value


def integers(text: str, what: str) -> list[int]:
    """Integers between commas; none in an empty text."""
    parts = text.split(",", MOST_AXES) if text.strip() else []
    if len(parts) > MOST_AXES:
        raise IRError(f"{what} ({shown(text)!r}) has more than {MOST_AXES} entries")
    return [integer(part, what) for part in parts]


def boolean(text: str, what: str) -> bool:
    """A flag: true or false, 1 or 0."""
    word = text.strip().lower()
    if word not in ("true", "false", "1", "0"):
        raise IRError(f"{what} ({shown(text)!r}) must be true or false")
    return word in ("true", "1")


def _length(text: str, what: str) -> tuple[int, int]:
    """One dimension: a length, `?` or -1, or the two ends of an interval."""
    text = text.strip()
    if text in ("?", "-1"):
        return OPEN
    low, dots, high = text.partition("..")
    if not dots:
        return (integer(text, what, 0),) * 2
    bounds = (integer(low, what, 0) if low else 0, integer(high, what, 0) if high else MOST)
    if bounds[0] > bounds[1]:
        raise IRError(f"{what} ({shown(text)!r}) must be an interval from its lesser to its greater end")
    return bounds


def parse_shape(text: str | None, what: str = "shape") -> Bounds:
    """The shape attribute of a Parameter or Const: "1,3,?,2..9", "" of a scalar, "..." of any rank."""
    if text is None:
        raise IRError(f"{what} is missing")
    if text.strip() == "...":
        return None
    parts = text.split(",", MOST_AXES) if text.strip() else []
    if len(parts) > MOST_AXES:
        raise IRError(f"{what} ({shown(text)!r}) has more than {MOST_AXES} dimensions")
    return tuple(_length(part, what) for part in parts)


def port_shape(port: Element) -> Bounds:
    """The ``<dim>`` elements of a port."""
    dims = port.all("dim")
    if len(dims) > MOST_AXES:
        raise IRError(f"port {shown(port.attributes.get('id', ''))!r} has more than {MOST_AXES} dimensions")
    return tuple(_length(dim.text, "dim") for dim in dims)


def agree(declared: Bounds, actual: tuple[int, ...]) -> bool:
    """Whether an array of shape `actual` is one that `declared` describes."""
    if declared is None:
        return True
    return len(declared) == len(actual) and all(
        low <= n <= high for (low, high), n in zip(declared, actual, strict=True)
    )


def shape_text(bounds: Bounds) -> str:
    """A shape for people: (1, ?, 2..9)."""
    if bounds is None:
        return "of any rank"

    def length(low: int, high: int) -> str:
        if low == high:
            return str(low)
        return "?" if (low, high) == OPEN else f"{low or ''}..{high if high != MOST else ''}"

    return "(" + ", ".join(length(*pair) for pair in bounds) + ("," if len(bounds) == 1 else "") + ")"

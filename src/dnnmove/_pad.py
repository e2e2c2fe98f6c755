"""The constants of `pad` as elements of a dtype: what the compiled module asks for where one is not 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnnmove import _core

__all__ = ["encoded"]


def _spelled(value: Any) -> str:
    """How Python spells a number, so that it can be read again."""
    if value != value or value in (float("inf"), float("-inf")):
        return f"float('{value}')"
    return repr(value)


def _whole(value: Any, dtype: np.dtype[Any]) -> Any:
    if not isinstance(value, (bool, np.bool_, int, np.integer, float, np.floating)):
        raise TypeError
    number = int(value)  # OverflowError and ValueError for what is no number
    if number != value:
        raise ValueError
    return bool(number) if dtype.kind == "b" and number in (0, 1) else number


def _element(value: Any, dtype: np.dtype[Any]) -> tuple[Any, str]:
    """What dtype makes of the value, and how that is spelled; TypeError or ValueError without words where it cannot."""
    kind = dtype.kind
    if kind in "biu":
        number = _whole(value, dtype)
        if (kind == "b" and not isinstance(number, bool)) or (
            kind != "b" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max
        ):
            raise ValueError
        return number, repr(number)
    if kind in "fc" or dtype.type.__module__ == "ml_dtypes":
        numbers: tuple[type, ...] = (bool, int, float, np.bool_, np.number)
        if not isinstance(value, (*numbers, *((complex,) if kind == "c" else ()))) and not isinstance(
            value, dtype.type
        ):
            raise TypeError
        if kind != "c" and isinstance(value, np.complexfloating):
            raise TypeError
        if value != value and kind != "c":
            value = float("nan")
        with np.errstate(all="ignore"):
            made = dtype.type(value)
        plain = (
            made
            if dtype.type is np.longdouble or dtype.type is np.clongdouble
            else complex(made)
            if kind == "c"
            else float(made)
        )
        if plain != value and (plain == plain or value == value):
            raise ValueError
        return made, repr(plain) if kind == "c" else _spelled(plain)
    if kind in "mM":
        if not isinstance(value, dtype.type):
            raise TypeError
        instant = np.array(value).astype(dtype)[()]
        if instant != value and not (np.isnat(instant) and np.isnat(value)):
            raise ValueError
        return instant, repr(instant)
    if kind in "SU":
        if not isinstance(value, bytes if kind == "S" else str):
            raise TypeError
        made = np.array(value, dtype)[()]
        if made != value:
            raise ValueError
        return made, repr(value if type(value) in (bytes, str) else made.item())
    if isinstance(value, np.void) and value.dtype == dtype:
        return value, f"np.void({value.tobytes()!r})"
    raise TypeError


def encoded(value: Any, dtype: np.dtype[Any]) -> tuple[bytes, str]:
    """Return the bytes of one element that is `value`, and how it is spelled.

    Parameters
    ----------
    value : scalar
        A number, or an element of the dtype; 0 is zero bytes whatever the dtype.
    dtype : numpy.dtype
        Of the data.

    Returns
    -------
    tuple of bytes and str
        Of the element.

    Raises
    ------
    TypeError
        `value` is none that an element of the dtype could be.
    ValueError
        The dtype does not hold it exactly.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value == 0:
        return bytes(dtype.itemsize), "0"
    shown = repr(value)
    shown = shown if len(shown) <= 80 else f"{shown[:79]}…"
    try:
        made, text = _element(value, dtype)
    except TypeError:
        raise TypeError(
            _core._abbreviated(
                f"constant_value ({shown}) must be 0 or an element of dtype {dtype}, not {type(value).__name__}"
            )
        ) from None
    except (ValueError, OverflowError):
        nearest = ""
        if dtype.kind == "f" and isinstance(value, float):
            with np.errstate(all="ignore"):
                nearest = f"; the nearest that it holds is {float(dtype.type(value))!r}"
        raise ValueError(
            _core._abbreviated(f"constant_value ({shown}) must be a value that dtype {dtype} holds exactly{nearest}")
        ) from None
    if isinstance(made, np.void) and made.dtype == dtype:
        return made.tobytes(), text
    return np.array(made, dtype).tobytes(), text

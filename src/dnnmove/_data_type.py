"""DataType: oneDNN's names of data types, for code that comes from there."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

__all__ = ["DataType"]


class DataType(IntEnum):
    """A data type by oneDNN's name and number (oneDNN: ``memory::data_type``).

    Taken wherever a dtype is, by NumPy too. Among strings only ``"f32"``, ``"f64"``, ``"bf16"``, ``"s32"`` and
    ``"s8"`` are, since NumPy reads ``"f16"`` and ``"u8"`` as a float of 16 bytes and an integer of 8.

    Examples
    --------
    >>> import dnnmove as dm
    >>> dm.MemoryDesc((2, 3), dm.DataType.bf16)
    MemoryDesc((2, 3), 'bfloat16')
    >>> dm.DataType.f16.dtype
    dtype('float16')
    """

    f16 = 1
    bf16 = 2
    f32 = 3
    s32 = 4
    s8 = 5
    u8 = 6
    f64 = 7

    @classmethod
    def _missing_(cls, value: object) -> None:
        import reprlib

        raise ValueError(f"{reprlib.repr(value)} is no DataType; there are {', '.join(cls.__members__)}")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy data type of the same bits; ml_dtypes' for bf16."""
        import ml_dtypes  # noqa: F401  (it gives NumPy the name "bfloat16")

        return np.dtype(_NAMES[self])


_NAMES = {
    DataType.f16: "float16",
    DataType.bf16: "bfloat16",
    DataType.f32: "float32",
    DataType.s32: "int32",
    DataType.s8: "int8",
    DataType.u8: "uint8",
    DataType.f64: "float64",
}

"""NumPy files, mapped into memory: read as they are, written beside the target and moved there when whole."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dnnmove._files import create, replace, target_of

__all__ = ["load", "writing"]


def load(path: Path, dtype: np.dtype[Any] | None = None) -> npt.NDArray[Any]:
    """The array in a .npy file, mapped; types that NumPy's files do not know lie there as raw bytes (bfloat16)."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (EOFError, ValueError) as error:  # EOFError of an empty file, which click would take for Ctrl-D
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(array, np.ndarray):
        array.close()
        raise ValueError(f"{path}: must be a .npy file of one array")
    if dtype is not None and array.dtype.kind == "V" and array.dtype.names is None and array.itemsize == dtype.itemsize:
        array = array.view(dtype)
    return np.asarray(array)


def _mapped(part: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The array of a new .npy file; its bytes are reserved, since a full disk would end the process later."""
    stored = np.dtype((np.void, dtype.itemsize)) if dtype.kind == "V" and dtype.names is None else dtype
    if 0 in shape:  # nothing to map
        with part.open("wb") as file:
            np.save(file, np.empty(shape, stored), allow_pickle=False)
        return np.empty(shape, dtype)
    mapped: Any = np.lib.format.open_memmap(part, mode="w+", dtype=stored, shape=shape)
    with part.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    array: npt.NDArray[Any] = mapped.view(dtype)
    return array


@contextlib.contextmanager
def writing(
    targets: list[Path], shapes: list[tuple[int, ...]], dtypes: list[np.dtype[Any]]
) -> Iterator[list[npt.NDArray[Any]]]:
    """Arrays to fill; the files take their names when all are full, and vanish where that fails."""
    targets = [target_of(target) for target in targets]
    for target in targets:
        if target.exists() and not target.is_file():
            raise OSError(f"{target}: is no regular file")
    parts: list[Path] = []
    try:
        arrays = []
        for target, shape, dtype in zip(targets, shapes, dtypes, strict=True):
            part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
            parts.append(part)  # before it is there: a signal may come at any time
            try:
                create(part, target)
                arrays.append(_mapped(part, shape, dtype))
            except OSError as error:  # its path is one that nobody gave: people know the target
                raise OSError(error.errno, error.strerror, str(target)) from None
        yield arrays
        for array in arrays:
            if isinstance(array, np.memmap):
                array.flush()
        while parts:
            replace(parts[0], targets[len(targets) - len(parts)])
            parts.pop(0)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)

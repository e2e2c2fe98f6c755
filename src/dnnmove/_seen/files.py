"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from dnnmove._seen.svg import clip

__all__ = ["check_path", "write_text"]


def _shown(value: object) -> str:
    return clip(repr(value), 300)


def check_path(path: str | os.PathLike[str]) -> Path:
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
    # What a link leads to is written, the link stays.
    return Path(os.path.realpath(target))


def write_text(target: Path, text: str) -> None:
    """Write beside the target and move into its place: nobody reads half a file, and none is left."""
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        with beside.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o7777)
        beside.replace(target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError) and error.filename is not None:  # the user's file, not the one beside it
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise

"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from pathlib import Path

__all__ = ["write_text"]


def write_text(path: Path, text: str) -> None:
    """Write beside the file and move into its place: nobody reads half a file, and none is left.

    What a link leads to is written, the link stays; what is no regular file (a pipe, a device) is written as it is.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # still: it leads to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8", newline="\n")
        return
    if target.exists() and not os.access(target, os.W_OK):  # a move would put it aside all the same
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
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
        if isinstance(error, OSError) and error.errno is not None:  # of the user's file, not the one beside it
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise

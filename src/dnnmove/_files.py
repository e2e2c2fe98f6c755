"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from pathlib import Path

__all__ = ["create", "replace", "target_of", "write_text"]


def target_of(path: Path) -> Path:
    """What is to be written for `path`, or an error: where it is a link, what that leads to; the link stays."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # still: it leads to itself
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if target.exists() and not os.access(target, os.W_OK):  # a rename would put it aside all the same
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return target


def create(part: Path, target: Path) -> None:
    """Makes an empty file, with the rights that new files get; for us alone where it is to replace another."""
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if target.exists() else 0o666))


def replace(part: Path, target: Path) -> None:
    """Moves a file into the place of another, whose rights it gets where the file system has such."""
    if target.exists():
        with contextlib.suppress(PermissionError):
            part.chmod(target.stat().st_mode & 0o777)
    os.replace(part, target)


def write_text(path: Path, text: str) -> None:
    """Write beside the file and move into its place: nobody reads half a file, and none is left.

    What is no regular file (a pipe, a device) is written as it is.
    """
    target = target_of(path)
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8", newline="\n")
        return
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        create(part, target)
        with part.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        replace(part, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.errno is not None:  # of the user's file, not the one beside it
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise

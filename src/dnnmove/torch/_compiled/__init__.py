"""The part of dnnmove.torch that is compiled against the installed torch: where it is kept, and how it is made.

torch promises no binary interface for nodes of autograd, so no wheel can carry this part for every torch. It is
optional: without it the same calls take the ways of Python.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from dnnmove import _core
from dnnmove.torch import _functions

__all__ = ["build_extension", "load"]

_NAME = "_channel_shuffle"
_FOLDER = Path(__file__).parent
_SOURCES = ("channel_shuffle.cpp", "engine_interface.h")
_OLDEST = (2, 13)  # nodes of autograd that count their own references


def _version() -> tuple[int, int]:
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def _path() -> Path:
    """Where the part for this torch, this Python and these sources lies once it is built."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("DNNMOVE_EXTENSION_DIR") or Path(cache) / "dnnmove").expanduser()
    made_of = hashlib.sha256(torch.version.git_version.encode() + torch.__version__.encode())
    for name in _SOURCES:
        made_of.update((_FOLDER / name).read_bytes())
    return folder / f"{_NAME}-{made_of.hexdigest()[:16]}{importlib.machinery.EXTENSION_SUFFIXES[0]}"


def _use(path: Path) -> None:
    loader = importlib.machinery.ExtensionFileLoader(_NAME, str(path))
    module: Any = importlib.util.module_from_spec(importlib.util.spec_from_loader(_NAME, loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    module.bind(_core._engine_interface, _core._channel_shuffle, _functions.channel_shuffle)
    _functions._shuffled = module.channel_shuffle


def load() -> bool:
    """Use what was built for this torch; False where nothing was."""
    try:
        path = _path()
        if not path.exists():
            return False
    except (OSError, RuntimeError):  # no home, or one that may not be read
        return False
    try:
        _use(path)
    except Exception as error:  # whatever somebody has put there
        warnings.warn(f"{path} is not used: {error}; dnnmove.torch.build_extension() makes it anew", stacklevel=3)
        return False
    return True


@contextlib.contextmanager
def _found_in(programs: str) -> Iterator[None]:
    """Programs are found in these folders meanwhile."""
    before = os.environ.get("PATH")
    os.environ["PATH"] = programs
    try:
        yield
    finally:
        if before is None:
            del os.environ["PATH"]
        else:
            os.environ["PATH"] = before


def build_extension(verbose: bool = False) -> Path:
    """Compile the part of this module that is made for the installed torch, and use it from now on.

    With it the gradients of `channel_shuffle` are recorded by a node of autograd in C++, and small calls take less time
    than torch's own. It is built once for each version of torch, in about a quarter of a minute, and found again by
    later processes, in the folder ``DNNMOVE_EXTENSION_DIR``, by default ``dnnmove`` among the user's caches
    (``XDG_CACHE_HOME``, else ``~/.cache``). Nothing is compiled unless this is called.

    Parameters
    ----------
    verbose : bool, optional
        Print what the compiler prints.

    Returns
    -------
    pathlib.Path
        The file that was made.

    Raises
    ------
    RuntimeError
        torch is older than 2.13, a C++ compiler or ninja is missing, or the compiler fails.
    OSError
        The folder cannot be written.

    See Also
    --------
    channel_shuffle : what becomes faster.

    Examples
    --------
    >>> import dnnmove.torch
    >>> path = dnnmove.torch.build_extension()  # doctest: +SKIP
    """
    if _version() < _OLDEST:
        wanted = ".".join(map(str, _OLDEST))
        raise RuntimeError(f"torch {torch.__version__} is too old for the compiled part: it needs {wanted} or newer")
    from torch.utils import cpp_extension

    compiler = cpp_extension.get_cxx_compiler()
    if shutil.which(shlex.split(compiler)[0]) is None:
        raise RuntimeError(f"there is no C++ compiler '{compiler}': install one, or name one in CXX")
    # Of an environment that is not activated, too.
    programs = os.pathsep.join([os.environ.get("PATH", os.defpath), sysconfig.get_path("scripts")])
    if shutil.which("ninja", path=programs) is None:
        raise RuntimeError("there is no ninja, which torch builds with: pip install ninja")
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder, _found_in(programs):
        try:
            cpp_extension.load(
                _NAME,
                [str(_FOLDER / _SOURCES[0])],
                build_directory=folder,
                extra_cflags=["-O2", "-g0"],
                verbose=verbose,
                is_python_module=False,
            )
        except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
            raise RuntimeError(f"{compiler} did not compile the part for torch {torch.__version__}: {error}") from error
        # In one step: another process finds the whole file or none. (A second build of a process has another name.)
        (built,) = Path(folder).glob("*.so")
        os.replace(built, path)
    _use(path)
    return path

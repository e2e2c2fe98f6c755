"""Measured plans: what ``tune=True`` found, to look at, to save and to load again.

The planner chooses kernel, stores and panels by rules. What is best beside them depends on the machine and on
what else it does: a descriptor made with ``tune=True`` lets the first call of its primitive measure variants of
the plan, on the memory of that call, and keep the fastest. That call takes as long as some 30 to 600 others;
where those are tiny, some 10 ms. It writes the right result several times over. A variant is kept only where
it gains 5 % and more.

What was found holds for the process: other primitives and eager calls of the same problem (operation, shape,
strides, dtype's size, alignment of the outputs, threads, instruction set) that are planned later run in the
same way. `save` and `load` carry it to the next process on the same machine.

Examples
--------
>>> import numpy as np
>>> import dnnmove as dm
>>> x = np.zeros((600, 700), "float32")
>>> prim = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x), tune=True))
>>> y = prim(x)
>>> len(dm.tuning.problems())
1
>>> dm.tuning.clear()
"""

from __future__ import annotations

import os
import pathlib
import reprlib
from typing import Any

from dnnmove import _chain, _core

__all__ = ["clear", "load", "problems", "save"]

_FORMAT = "dnnmove tuning 1"
_STORES = ("automatic", "cached", "nontemporal")


def problems() -> dict[str, dict[str, Any]]:
    """What was tuned or loaded.

    Returns
    -------
    dict
        By problem, as text: ``kernel`` (0: the one the planner would take, 1: its second choice, ...), ``stores``
        ("automatic", "cached" or "nontemporal"), ``panel`` (bytes, 0: the planner's) and ``gain`` (how many times
        faster than the planner's own plan; 1.0 where that is the fastest).

    Examples
    --------
    >>> import numpy as np, dnnmove as dm
    >>> x = np.zeros((600, 700), "float32")
    >>> y = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x), tune=True))(x)
    >>> for found in dm.tuning.problems().values():
    ...     print(list(found))
    ['kernel', 'stores', 'panel', 'gain']
    >>> dm.tuning.clear()
    """
    return _core._tuned()


def _file(path: str | os.PathLike[str]) -> pathlib.Path:
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise TypeError(f"path ({reprlib.repr(path)}) must be a str or os.PathLike")
    return pathlib.Path(path)


def save(path: str | os.PathLike[str]) -> None:
    """Write what was tuned or loaded to a JSON file.

    Parameters
    ----------
    path : str or PathLike
        The file; replaced as a whole where it exists: who loads it meanwhile reads the old one or the new one.

    Raises
    ------
    TypeError
        `path` is no path.
    OSError
        The file cannot be written; it is as it was.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import dnnmove as dm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tuning.json")
    ...     dm.tuning.save(file)
    ...     file.exists()
    True
    """
    import json  # here and below: few programs save or load, and all import dnnmove

    from dnnmove._files import write_text

    document = {"format": _FORMAT, "dnnmove": _core.__version__, "cpu": _cpu(), "problems": problems()}
    write_text(_file(path), json.dumps(document, indent=1) + "\n")


def load(path: str | os.PathLike[str]) -> int:
    """Add what a file holds to what was tuned.

    Calls that were planned before are planned anew; primitives and built chains keep their plans.

    Parameters
    ----------
    path : str or PathLike
        A file that `save` wrote, with this version of dnnmove on this kind of CPU.

    Returns
    -------
    int
        The number of problems in the file.

    Raises
    ------
    TypeError
        `path` is no path.
    ValueError
        The file is no such file, or was written by another version or on another CPU. Nothing is loaded.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, dnnmove as dm
    >>> x = np.zeros((600, 700), "float32")
    >>> y = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x), tune=True))(x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tuning.json")
    ...     dm.tuning.save(file)
    ...     dm.tuning.clear()
    ...     dm.tuning.load(file)
    1
    >>> y = dm.transpose(x)  # as measured above
    >>> dm.tuning.clear()
    """
    import json

    def refuse(what: str) -> ValueError:
        return ValueError(_core._abbreviated(f"path ({os.fspath(path)!r}) {what}".encode(errors="replace").decode()))

    file = _file(path)
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise refuse(f"must be a file that dnnmove.tuning.save wrote: {error}") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise refuse("must be a file that dnnmove.tuning.save wrote")
    for key, theirs, here in (
        ("dnnmove", document.get("dnnmove"), _core.__version__),
        ("cpu", document.get("cpu"), _cpu()),
    ):
        if theirs != here:
            raise refuse(f"was saved with {key} {reprlib.repr(theirs)}, this is {here!r}: tune again")
    entries = document.get("problems")
    if not isinstance(entries, dict):
        raise refuse("must hold problems")
    for problem, entry in entries.items():
        if not _is_entry(entry) or not problem.isascii():
            raise refuse(f"holds {reprlib.repr(entry)} for {reprlib.repr(problem)}: no entry of dnnmove.tuning")
    _core._set_tuned(entries)
    _chain.clear()
    return len(entries)


def clear() -> None:
    """Forget what was tuned; later calls run as the planner says. Primitives keep their plans.

    Examples
    --------
    >>> import dnnmove as dm
    >>> dm.tuning.clear()
    >>> dm.tuning.problems()
    {}
    """
    _core._clear_tuned()
    _chain.clear()


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    kernel, stores, panel, gain = (entry.get(key) for key in ("kernel", "stores", "panel", "gain"))
    return (
        not any(isinstance(number, bool) for number in (kernel, panel, gain))
        and isinstance(kernel, int)
        and 0 <= kernel < 16
        and stores in _STORES
        and isinstance(panel, int)
        and 0 <= panel <= 4096
        and panel % 64 == 0
        and isinstance(gain, int | float)
        and 1 <= gain < 1e6
    )


def _cpu() -> str:
    """The kind of CPU, as far as the system tells."""
    import platform

    wanted = ("model name", "cpu family", "model", "cpu part")
    found: dict[str, str] = {}
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip().lower() in wanted:
            found.setdefault(key.strip().lower(), value.strip())
    return ", ".join(f"{key} {value}" for key, value in found.items()) or platform.processor() or platform.machine()

"""Makes ``dnnmove._core`` importable: where the linker does not find oneDNN's library, pip's records do.

The extension's RPATH finds ``libdnnl.so.3`` in the ``lib`` folder of its own environment. A package that lies
in an overlay or in a folder of its own, with oneDNN's wheel elsewhere on ``sys.path``, needs the library to be
loaded first.
"""

import importlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

LIBRARY = "libdnnl.so.3"
WHEEL = "onednn-cpu-gomp"
ADVICE = (
    f"dnnmove needs oneDNN's library, {LIBRARY}, and found it neither by its RPATH nor in an installed pip package. "
    f"Install it with 'pip install {WHEEL}' or 'conda install onednn', or add its folder to LD_LIBRARY_PATH. "
    "(pip install --target leaves the library out: install into an environment, or build dnnmove with "
    "--config-settings=cmake.define.DNNMOVE_BUNDLE_ONEDNN=ON.)"
)


def recorded_libraries() -> Iterator[Path]:
    """The copies of oneDNN's library that pip's records name and that exist, in the order of ``sys.path``."""
    import importlib.metadata  # takes longer than all the rest of the package, and is seldom needed

    for distribution in importlib.metadata.distributions(name=WHEEL):
        for file in distribution.files or ():
            path = Path(str(distribution.locate_file(file)))
            if path.name == LIBRARY and path.exists():
                yield path.resolve()


def load_core() -> None:
    """Import ``dnnmove._core``, loading oneDNN's library first where that is what is missing.

    Raises
    ------
    ImportError
        With advice on how to install the library when no copy is found.
    """
    try:
        importlib.import_module("dnnmove._core")
        return
    except ImportError as error:
        if LIBRARY not in str(error):
            raise
        missing = error
    import ctypes

    for path in recorded_libraries():
        ctypes.CDLL(str(path))  # the extension's need is matched by the library's name, wherever it lies
        importlib.import_module("dnnmove._core")
        return
    raise ImportError(f"{missing}\n{ADVICE}", name="dnnmove._core") from missing


def is_command() -> bool:
    """Whether this process is the command ``dnnmove`` or ``python -m dnnmove``, which imports the package first."""
    if sys.argv[:1] == ["-m"]:  # Python is still looking for the module that it is to run
        return any(pair == ("-m", "dnnmove") for pair in itertools.pairwise(sys.orig_argv))
    return bool(sys.argv) and Path(sys.argv[0]).stem == "dnnmove"


try:
    load_core()
except ImportError as error:
    if is_command():  # as every error of the command line: one line, exit code 1
        sys.exit("Error: " + " ".join(str(error).split()))
    raise

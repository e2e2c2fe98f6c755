"""Says in one line what is missing to build dnnmove: Python 3.11, venv, Python's headers, a C++20 compiler.

Runs before anything is installed, so it must work under an old Python 3 too.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

PROGRAM = "#include <span>\nint main() { return static_cast<int>(std::span<int>().size()); }\n"


def missing():
    """What is missing and how to get it, or None."""
    if sys.version_info < (3, 11):
        found = "%d.%d" % sys.version_info[:2]
        return "Python 3.11 or newer is needed, this is %s: run 'make PYTHON=python3.x ...'" % found
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return "Python's venv module is needed: install python3-venv"
    header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
    if not os.path.exists(header):
        return "Python's headers are needed (%s does not exist): install python3-dev" % header
    named = os.environ.get("CXX")
    compiler = shlex.split(named) if named else next(([c] for c in ("c++", "g++", "clang++") if shutil.which(c)), None)
    if not compiler or not shutil.which(compiler[0]):
        return "a C++20 compiler is needed (%s): install g++ or set CXX" % (named or "no c++, g++ or clang++ on PATH")
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "try.cpp")
        with open(source, "w") as file:
            file.write(PROGRAM)
        command = [*compiler, "-std=c++20", source, "-o", os.path.join(folder, "try")]
        if subprocess.run(command, capture_output=True).returncode != 0:
            return "'%s' cannot build a C++20 program: install g++ 11 or newer, or set CXX" % compiler[0]
    return None


if __name__ == "__main__":
    problem = missing()
    if problem:
        sys.exit("dnnmove: " + problem)

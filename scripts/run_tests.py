"""Runs the test suite under every instruction set this machine has, with one thread and with two.

The last pass is the full one: the best instruction set, more examples of each property, the package's doctests, and
the tests of what neither instruction sets nor threads change. Stops at the first pass that fails and returns its exit
code. Arguments go to pytest.
"""

import os
import subprocess
import sys
from pathlib import Path

import dnnmove

ROOT = Path(__file__).resolve().parent.parent
WORKERS = str(min(8, os.cpu_count() or 1))
# What starts other programs: shells, clusters, browsers, compilers.
PROGRAMS = "benchmarks command_line* dask docs examples mpi packaging seen_browser *_backend *_compile"
# With integrations and texts, what the last pass alone runs.
LAST = f"{PROGRAMS} docstrings help ir_* seen signatures torch_integration*"


def without(names: str) -> list[str]:
    """The arguments that leave out these files."""
    return [f"--ignore-glob=*/test_{name}.py" for name in names.split()]


def passes() -> list[tuple[dict[str, str], list[str]]]:
    """What each pass adds to the environment and to pytest's arguments."""
    best, *others = dnnmove.build_info()["isas_available"]
    quick = {"DNNMOVE_TEST_PROFILE": "quick"}
    some = without(LAST)
    return [
        *(({"DNNMOVE_ISA": isa, "OMP_NUM_THREADS": "2", **quick}, some) for isa in reversed(others)),
        ({"DNNMOVE_ISA": "scalar", "OMP_NUM_THREADS": "1", **quick}, some),
        ({"DNNMOVE_ISA": best, "OMP_NUM_THREADS": "1", **quick}, some),
        ({"DNNMOVE_ISA": best, "OMP_NUM_THREADS": "2"}, ["--doctest-modules", "--pyargs", "dnnmove"]),
    ]


def main() -> int:
    for environment, arguments in passes():
        print("\n===", *(f"{name}={value}" for name, value in environment.items()), flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", WORKERS, "tests", *arguments, *sys.argv[1:]]
        code = subprocess.run(command, env={**os.environ, **environment}, cwd=ROOT).returncode
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())

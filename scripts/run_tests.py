"""Runs the test suite under every instruction set this machine has, with one thread or two.

    python scripts/run_tests.py [--ci] [ARGUMENTS OF PYTEST]

The last pass is the full one: the best instruction set, more examples of each property, the package's doctests, and
the tests of what neither instruction sets nor threads change. --ci leaves out two passes that .ci/run has elsewhere,
with more tests and on other builds: the best with one thread on clang's (check_extension.py), avx512 on the conda
package (packaging/conda/make.py). Stops at the first pass that fails and returns its exit code.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import dnnmove

ROOT = Path(__file__).resolve().parent.parent
WORKERS = str(min(8, os.cpu_count() or 1))
# What starts other programs: shells, clusters, browsers, compilers.
PROGRAMS = "benchmarks command_line* dask* docs examples mpi packaging seen_browser *_backend *_compile *_extension"
# Integrations and texts.
LAST = f"{PROGRAMS} docstrings help ir_* seen signatures torch_integration*"
# Messages, objects, memory and processes: tests that are about no kernel.
OBJECTS = (
    "array_api bounded_messages chain_pickle data_type dlpack errors fork_* format_tags hints hostile_arguments import "
    "isa_options keywords memory memory_desc* memory_dlpack memory_ex* onednn_out_of_memory onednn_spelling "
    "openmp_binding out_of_memory pickle pool profile runtime verbose"
)


def without(names: str) -> list[str]:
    """The arguments that leave out these files."""
    return [f"--ignore-glob=*/test_{name}.py" for name in names.split()]


def passes(ci: bool) -> list[tuple[dict[str, str], list[str]]]:
    """What each pass adds to the environment and to pytest's arguments."""
    best, *others = dnnmove.build_info()["isas_available"]
    quick = {"DNNMOVE_TEST_PROFILE": "quick"}
    some = without(f"{LAST} {OBJECTS}")
    # What threads change, kernels do not: each of the others with one or two, the best with both.
    threads = {"scalar": "1", "avx2": "2", "avx512": "1"}
    settings = [(isa, threads[isa]) for isa in reversed(others)] + [(best, "1")]
    if ci:
        elsewhere = (("avx512", "1"), (best, "1"))
        settings = [setting for setting in settings if setting not in elsewhere]
    return [
        *(({"DNNMOVE_ISA": isa, "OMP_NUM_THREADS": count, **quick}, some) for isa, count in settings),
        ({"DNNMOVE_ISA": best, "OMP_NUM_THREADS": "2"}, ["--doctest-modules", "--pyargs", "dnnmove"]),
    ]


def main() -> int:
    given = sys.argv[1:]
    ci = given[:1] == ["--ci"]
    for environment, arguments in passes(ci):
        setting = " ".join(f"{name}={value}" for name, value in environment.items())
        print(f"\n=== {time.strftime('%H:%M:%S')} {setting}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", WORKERS, "tests", *arguments, *given[ci:]]
        code = subprocess.run(command, env={**os.environ, **environment}, cwd=ROOT).returncode
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Builds the extension as one of CMake's presets does, and runs the quick Python tests on that build, but for
those that start other programs.

    python scripts/check_extension.py asan-ubsan|clang [ARGUMENTS OF PYTEST]

The package is laid out in build/PRESET/package: the Python files of the source tree beside that extension.

asan-ubsan also runs the C++ tests, but under one of the two AVX-512 instruction sets, and with scalar kernels only
those of kernels. Its Python runs with the sanitizers' runtime preloaded; the tests marked `unsanitized` are left out:
what they ask for that runtime itself prevents. clang's build has one thread, the other two.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from run_tests import PROGRAMS, without

ROOT = Path(__file__).resolve().parent.parent
WORKERS = str(min(8, os.cpu_count() or 1))
# The C++ tests that the sanitizers leave to other instruction sets.
ELSEWHERE = r"\.avx512$|(blocks|call_plan|chain|choose|plan|program|tuning)_test\.scalar$"


def build(preset: str) -> Path:
    """Configures and builds; returns the build folder."""
    # As in an activated environment: cmake finds this interpreter, its pybind11 and its oneDNN.
    given = [f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_PREFIX_PATH={sys.prefix}"]
    subprocess.run(["cmake", "--preset", preset, *given], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", "--preset", preset], cwd=ROOT, check=True)
    return ROOT / "build" / preset


def lay_out_package(folder: Path) -> Path:
    """Returns what goes on PYTHONPATH."""
    package = folder / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "dnnmove", package / "dnnmove", ignore=shutil.ignore_patterns("__pycache__", "_core*.so")
    )
    for extension in folder.glob("_core*.so"):
        shutil.copy2(extension, package / "dnnmove")
    return package


def sanitizer_environment(folder: Path) -> dict[str, str]:
    """What a Python needs that was not built with the sanitizers itself."""
    cache = (folder / "CMakeCache.txt").read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", cache, re.MULTILINE).group(1)
    # libstdc++ too: the runtime looks for __cxa_throw when it starts, before Python has loaded any C++.
    names = [f"-print-file-name={name}" for name in ("libasan.so", "libstdc++.so")]
    libraries = [subprocess.check_output([compiler, name], text=True).strip() for name in names]
    if not all(Path(library).is_absolute() for library in libraries):
        sys.exit(f"{compiler} has no libasan.so to preload: set CXX to GCC's")
    return {
        "LD_PRELOAD": " ".join(libraries),
        # Python frees little of what it allocates, a failed allocation is the tests' business, and so are signals. The
        # rest is the time of the tests: what frames are kept of each allocation, how long its memory is kept.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=0:"
        "malloc_context_size=4:quarantine_size_mb=32",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def main() -> int:
    preset, *arguments = sys.argv[1:] or ["none"]
    if preset not in ("asan-ubsan", "clang"):
        print(__doc__, file=sys.stderr)
        return 2
    if preset == "clang" and shutil.which("clang++") is None:
        print("clang++ is absent: its build of the extension was not tested")
        return 0
    folder = build(preset)
    environment = {
        **os.environ,
        "PYTHONPATH": str(lay_out_package(folder)),
        "DNNMOVE_TEST_PROFILE": "quick",
        "OMP_NUM_THREADS": "1" if preset == "clang" else "2",
    }
    if preset == "asan-ubsan":
        command = ["ctest", "--preset", preset, "--parallel", WORKERS, "--exclude-regex", ELSEWHERE]
        subprocess.run(command, cwd=ROOT, check=True)
        environment |= sanitizer_environment(folder)
        arguments = ["-m", "not unsanitized", *arguments]
    arguments = ["tests", *without(PROGRAMS), *arguments]
    command = [sys.executable, "-m", "pytest", "-q", "-n", WORKERS, *arguments]
    code = subprocess.run(command, cwd=ROOT, env=environment).returncode
    if code == 1:
        # Tests of signals, forks and threads were written for builds several times as fast: what fails must fail twice.
        print("\nthe failed tests once more, one after the other")
        code = subprocess.run([*command, "-n", "0", "--last-failed"], cwd=ROOT, env=environment).returncode
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"failed: {' '.join(map(str, error.cmd))}")

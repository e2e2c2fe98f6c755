"""Runs clang-tidy with the checks of .clang-tidy over the core and the bindings, several files at a time.

    python scripts/run_tidy.py [--compile-only] [FILES]

Configures CMake's preset `release`, with DNNMOVE_UNITY_BUILD=OFF, for its compile commands and builds nothing but the
headers of docstrings. `--compile-only`: the compiler alone, which says whether each file includes what it uses; without
clang++ it says so and passes. Exits with 1 where something is found.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def commands(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each file of the product, no tests and no benchmarks, with how it is compiled."""
    ours = ROOT / "src" / "core", ROOT / "bindings"
    for command in json.loads((folder / "compile_commands.json").read_text()):
        file = Path(command["directory"], command["file"]).resolve()
        if any(file.is_relative_to(each) for each in ours):
            yield file, shlex.split(command["command"])


def found(command: list[str], folder: Path) -> str:
    """What the program finds; empty where that is nothing."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode != 0 else ""


def without_output(command: list[str]) -> list[str]:
    """The compiler's command, which then only reads the file."""
    at = command.index("-o")
    return [*command[:at], *command[at + 2 :], "-fsyntax-only"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile-only", action="store_true", help="the compiler alone")
    parser.add_argument("files", nargs="*", type=Path, help="else all of src/core and bindings")
    arguments = parser.parse_args()
    program = "clang++" if arguments.compile_only else "clang-tidy"
    folder = ROOT / "build" / ("files" if arguments.compile_only else "tidy")
    given = ["-DDNNMOVE_UNITY_BUILD=OFF", f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_PREFIX_PATH={sys.prefix}"]
    if arguments.compile_only:
        if shutil.which(program) is None:
            print(f"no {program}: what each file includes is not checked")
            return 0
        given.append(f"-DCMAKE_CXX_COMPILER={program}")
    command = ["cmake", "--preset", "release", "-B", str(folder), *given]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    command = ["cmake", "--build", str(folder), "--target", "dnnmove_reference"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    known = dict(sorted(commands(folder)))
    files = [file.resolve() for file in arguments.files] or list(known)

    def check(file: Path) -> str:
        if arguments.compile_only:
            return found(without_output(known[file]), folder)
        return found(["clang-tidy", "-p", str(folder), "--quiet", str(file)], ROOT)

    start = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = [text for text in pool.map(check, files) if text]
    print("\n".join(findings))
    print(f"{program}: {len(files)} files, {len(findings)} with findings, {time.monotonic() - start:.0f} s")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

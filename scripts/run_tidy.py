"""Runs clang-tidy with the checks of .clang-tidy over the core and the bindings, several files at a time.

    python scripts/run_tidy.py [--compile-only] [FILES]

Configures CMake's preset `release`, with DNNMOVE_UNITY_BUILD=OFF, for its compile commands and builds nothing but the
headers of docstrings. `--compile-only`: the compiler alone, which says whether each file includes what it uses; without
clang++ it says so and passes. Exits with 1 where something is found.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / ("files" if "--compile-only" in sys.argv else "tidy")


def sources() -> list[Path]:
    """What is compiled of the product: no tests and no benchmarks."""
    commands = json.loads((FOLDER / "compile_commands.json").read_text())
    files = {Path(command["directory"], command["file"]).resolve() for command in commands}
    ours = ROOT / "src" / "core", ROOT / "bindings"
    return sorted(file for file in files if any(file.is_relative_to(folder) for folder in ours))


def tidy(file: Path) -> str:
    """What clang-tidy finds; empty where that is nothing."""
    done = subprocess.run(
        ["clang-tidy", "-p", str(FOLDER), "--quiet", str(file)], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout + done.stderr if done.returncode != 0 else ""


def parse(file: Path) -> str:
    """What the compiler finds, which makes nothing; empty where that is nothing."""
    commands = json.loads((FOLDER / "compile_commands.json").read_text())
    (command,) = (c for c in commands if Path(c["directory"], c["file"]).resolve() == file)
    words = shlex.split(command["command"])
    at = words.index("-o")
    done = subprocess.run(
        [*words[:at], *words[at + 2 :], "-fsyntax-only"], cwd=command["directory"], capture_output=True, text=True
    )
    return done.stderr if done.returncode != 0 else ""


def main() -> int:
    arguments = sys.argv[1:]
    compile_only = "--compile-only" in arguments
    check = parse if compile_only else tidy
    given = ["-DDNNMOVE_UNITY_BUILD=OFF", f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_PREFIX_PATH={sys.prefix}"]
    if compile_only:
        if shutil.which("clang++") is None:
            print("no clang++: what each file includes is not checked")
            return 0
        given.append("-DCMAKE_CXX_COMPILER=clang++")
    command = ["cmake", "--preset", "release", "-B", str(FOLDER), *given]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    command = ["cmake", "--build", str(FOLDER), "--target", "dnnmove_reference"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    files = [Path(name).resolve() for name in arguments if name != "--compile-only"] or sources()
    start = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(check, files) if text]
    print("\n".join(found))
    program = "clang++" if compile_only else "clang-tidy"
    print(f"{program}: {len(files)} files, {len(found)} with findings, {time.monotonic() - start:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

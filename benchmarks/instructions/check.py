"""Counts the instructions of a few fixed copies and chains under callgrind and fails where one grew by over a tenth.

Time cannot fail a build on a shared machine; a count of instructions can. ``--update`` records the
baseline. Needs cmake, a C++ compiler and valgrind; without valgrind it says so and succeeds.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
BASELINE = HERE / "baseline.json"
ISA = "avx2"  # the best that valgrind runs
LIMIT = 1.10  # more instructions than this times the baseline fail
KINDS = ("plan", "execute")
PLAN = ("dnnmove::chain::fold(*", "dnnmove::Program::Program(std::*")
EXECUTE = ("dnnmove::Program::execute(*",)
END = "dnnmove::Program::~Program()"  # the end of each problem, where callgrind writes its count


def build(folder: pathlib.Path) -> pathlib.Path:
    """Builds the program of the problems; returns its path."""
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-DDNNMOVE_BUILD_BENCHMARKS=ON"]
    cache = folder / "CMakeCache.txt"
    if not cache.exists():  # else what the folder builds besides is its owner's business
        configure += ["-DCMAKE_BUILD_TYPE=Release", "-DDNNMOVE_BUILD_PYTHON=OFF"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    if "CMAKE_BUILD_TYPE:STRING=Release\n" not in cache.read_text():
        sys.exit(f"{folder} is no Release build, whose instructions are those that are recorded")
    command = ["cmake", "--build", str(folder), "--target", "dnnmove_problems", "--parallel", "2"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "benchmarks" / "instructions" / "dnnmove_problems"


def totals(path: pathlib.Path) -> int:
    """Instructions in one dump of callgrind."""
    match = re.search(r"^(?:summary|totals): (\d+)", path.read_text(), re.MULTILINE)
    return int(match[1]) if match else 0


def count_in(program: pathlib.Path, functions: tuple[str, ...]) -> list[int]:
    """Instructions inside `functions`, none of which calls another, in the order of the problems."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={folder}/out"]
        command += [*(f"--toggle-collect={function}" for function in functions), f"--dump-after={END}"]
        environment = os.environ | {"DNNMOVE_ISA": ISA, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([*command, str(program)], env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"callgrind failed:\n{done.stderr}")
        dumps = sorted(pathlib.Path(folder).glob("out.*"), key=lambda path: int(path.suffix[1:]))
        return [totals(dump) for dump in dumps]


def count(program: pathlib.Path) -> dict[str, dict[str, int]]:
    """Instructions of planning and of executing, for every problem."""
    names = subprocess.run([str(program), "--list"], check=True, capture_output=True, text=True).stdout.splitlines()
    plans, executions = count_in(program, PLAN), count_in(program, EXECUTE)
    if not len(plans) == len(executions) == len(names) or 0 in plans + executions:
        raise SystemExit(f"callgrind counted {len(plans)} plans and {len(executions)} executions of {len(names)}")
    return {
        name: {"plan": plan, "execute": execute} for name, plan, execute in zip(names, plans, executions, strict=True)
    }


def compiler(folder: pathlib.Path) -> str:
    """The compiler of the build, since another one counts differently."""
    cache = (folder / "CMakeCache.txt").read_text()
    path = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.MULTILINE)
    version = subprocess.run([path[1], "--version"], capture_output=True, text=True, check=False) if path else None
    return version.stdout.splitlines()[0] if version and version.stdout else "unknown"


def compare(old: dict[str, dict[str, int]], new: dict[str, dict[str, int]]) -> list[str]:
    """One line per problem that grew beyond the limit, or that one side lacks."""
    failures = [f"{name}: in the baseline, not in the program" for name in old.keys() - new.keys()]
    print(f"{'problem':<40} {'plan':>9} {'ratio':>6} {'execute':>10} {'ratio':>6}")
    for name, counts in new.items():
        if name not in old:
            failures.append(f"{name}: not in the baseline, record it with --update")
            continue
        ratios = {kind: counts[kind] / max(1, old[name][kind]) for kind in KINDS}
        line = "".join(f" {counts[k]:>{9 + i}} {ratios[k]:6.3f}" for i, k in enumerate(KINDS))
        print(f"{name:<40}{line}")
        failures += [
            f"{name}: {kind} takes {ratio:.3f} times the instructions of the baseline, at most {LIMIT} are allowed"
            for kind, ratio in ratios.items()
            if ratio > LIMIT
        ]
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="record the counts as the new baseline")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "instructions", help="build folder")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("instruction counts not checked: valgrind is not installed")
        return 0
    if platform.machine() not in ("x86_64", "AMD64"):
        print(f"instruction counts not checked: the baseline is for x86-64, this is {platform.machine()}")
        return 0
    if not options.update and not BASELINE.exists():
        print(f"there is no {BASELINE.name} yet: record it with --update", file=sys.stderr)
        return 1
    counts = count(build(options.build))
    used = compiler(options.build)
    if options.update:
        BASELINE.write_text(json.dumps({"isa": ISA, "compiler": used, "problems": counts}, indent=1) + "\n")
        print(f"recorded {len(counts)} problems in {BASELINE.name}")
        return 0
    baseline = json.loads(BASELINE.read_text())
    if baseline["compiler"] != used:
        print(f"note: the baseline was counted with {baseline['compiler']}, this is {used}")
    failures = compare(baseline["problems"], counts)
    print("\n".join(["", *failures]) if failures else "\nno problem grew by more than a tenth")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

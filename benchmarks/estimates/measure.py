"""How good the planner's estimates are: each kernel that can run a random permutation, measured.

    python benchmarks/estimates/measure.py [--build FOLDER] [--seconds S] [--isa ISA ...]

For each instruction set, in the second-level cache, in the last-level cache and beyond: how many times as long the
planner's choice takes as the fastest kernel, in the geometric mean and at worst; where most of that is lost; and of
each kernel its measured time over its estimate, and in how many problems it is the fastest by a twentieth, which is
what it is kept for. `src/core/plan/costs.cpp` has the constants. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import subprocess
import time
from collections.abc import Iterable

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
ISAS = ("scalar", "avx2", "avx512", "avx512_vbmi")
MARGIN = 1.05  # by less no kernel counts as faster
SIZES = {"250 KB": 250e3, "4 MB": 4e6, "26 MB": 26e6}
Measured = tuple[str, float, float]  # kernel, estimate, time


def build(folder: pathlib.Path) -> pathlib.Path:
    """Builds the program; returns its path."""
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release"]
    configure += ["-DDNNMOVE_BUILD_PYTHON=OFF", "-DDNNMOVE_BUILD_BENCHMARKS=ON"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    command = ["cmake", "--build", str(folder), "--target", "dnnmove_estimates", "--parallel", "2"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "benchmarks" / "estimates" / "dnnmove_estimates"


def problems(lines: Iterable[str]) -> list[list[Measured]]:
    """The kernels of each problem, the planner's choice first."""
    found: dict[str, list[Measured]] = collections.defaultdict(list)
    for line in lines:
        problem, plan, estimate, measured = line.rstrip().split(";")
        found[problem].append((plan.split(", element")[0], float(estimate), float(measured)))
    return list(found.values())


def report(measured: list[list[Measured]]) -> None:
    """Prints what the choices cost, and how far each estimate is off."""
    lost = np.array([kernels[0][2] / min(kernel[2] for kernel in kernels) for kernels in measured])
    mean = np.exp(np.log(lost).mean())
    worst = np.percentile(lost, 99)
    print(f"  {len(lost)} problems: choice / fastest {mean:.3f} in the geometric mean, {worst:.2f} in 1 of 100")
    pairs: dict[tuple[str, str], list[float]] = collections.defaultdict(list)
    for kernels, ratio in zip(measured, lost, strict=True):
        pairs[kernels[0][0], min(kernels, key=lambda kernel: kernel[2])[0]].append(float(np.log(ratio)))
    for (chosen, best), logs in sorted(pairs.items(), key=lambda pair: -sum(pair[1]))[:4]:
        if chosen != best:
            print(f"    {chosen} where {best} is faster: {len(logs)} times, by {np.exp(np.mean(logs)):.2f}")
    wins: dict[str, list[float]] = collections.defaultdict(list)
    ratios: dict[str, list[float]] = collections.defaultdict(list)
    for kernels in measured:
        first, *others = sorted(kernels, key=lambda kernel: kernel[2])
        margin = others[0][2] / first[2] if others else np.inf
        if margin >= MARGIN:
            wins[first[0]].append(margin)
        for kernel, estimate, taken in kernels:
            ratios[kernel].append(taken / estimate)
    for kernel, values in sorted(ratios.items()):
        low, middle, high = np.percentile(values, [10, 50, 90])
        text = f"{low:.2f}, {middle:.2f}, {high:.2f} (10, 50, 90 %)"
        contested = [margin for margin in wins[kernel] if margin < np.inf]
        text += f"; alone in {len(wins[kernel]) - len(contested)}, fastest by {MARGIN} in {len(contested)}"
        if contested:
            text += f" (by {np.median(contested):.2f} in the median)"
        print(f"    {kernel}: {len(values)} measured, time / estimate {text}")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "estimates", help="build folder")
    parser.add_argument("--seconds", type=float, default=10, help="for each instruction set and size")
    parser.add_argument("--isa", nargs="*", default=ISAS, help="instruction sets")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random problems")
    arguments = parser.parse_args()
    program = build(arguments.build)
    print(f"seed {arguments.seed}")
    for isa in arguments.isa:
        for name, size in SIZES.items():
            command = [str(program), isa, str(size), str(arguments.seconds), str(arguments.seed)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(done.stderr.strip())
                break
            print(f"{isa}, {name}")
            report(problems(done.stdout.splitlines()))


if __name__ == "__main__":
    main()

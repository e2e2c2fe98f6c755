"""Two builds of dnnmove against each other: how many times as fast is the one that is imported as another one?

    python -m pip install --target /tmp/old OLD_WHEEL
    python -m benchmarks --against /tmp/old [--random N --seed S] [--quick] [--only REGEX] [--seconds S]

Each build runs in a process of its own, on arrays of its own. The process that starts later may be faster by a
twentieth all along, whatever it imports: all cases are timed twice, the second time by processes that start in the
other order, and what counts is the geometric mean of both ratios. The processes take turns, and of each one the fastest
quarter of the samples of its best visit counts: on a shared machine two runs one after the other differ more than two
engines do. What a build shows against itself is what remains of the machine.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

from benchmarks.case import Case
from benchmarks.results import geomean

ROOT = pathlib.Path(__file__).resolve().parents[1]
VISITS = 2  # of each process, per case
SECONDS = 0.25  # per case and build
MEASURED = ("transpose", "shuffle", "split", "concat", "broadcast", "take", "call", "shuffle_forward", "pipeline")


class Build:
    """A process that imports one build and times it."""

    def __init__(self, folder: pathlib.Path | None, cases: list[Case], threads: int) -> None:
        environment = dict(os.environ)
        if folder is not None:
            environment["PYTHONPATH"] = str(folder.resolve())
        command = [sys.executable, "-m", "benchmarks.against"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment
        )
        self.path = self.ask(cases, threads)

    def ask(self, *message: Any) -> Any:
        questions, answers = self.process.stdin, self.process.stdout
        assert questions is not None
        assert answers is not None
        pickle.dump(message, questions)
        questions.flush()
        return pickle.load(answers)

    def stop(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """The process of a build: answers until there are no more questions."""
    import dnnmove
    from benchmarks import operations
    from benchmarks.contestants import ceiling, ours
    from benchmarks.measure import SAMPLE, check
    from benchmarks.memory import Memory

    def answer(value: Any) -> None:
        pickle.dump(value, answers)
        answers.flush()

    cases, threads = pickle.load(questions)
    needs = [operations.bytes_needed(case) for case in cases]
    memory = Memory(max(need[0] for need in needs), max(need[1] for need in needs))
    answer(dnnmove.__file__)
    current = None
    timers: list[Callable[[int], float]] = []
    while True:
        try:
            index, seconds = pickle.load(questions)
        except EOFError:
            return
        if index != current:
            current, case = index, cases[index]
            ours.start(case.threads or threads)
            problem = operations.build(case, memory, case.threads or threads)
            mine = ours.contestants(problem)[0]
            check(problem, mine)
            copies = ceiling.contestants(memory, problem.bytes_copied, problem.threads, case.op == "broadcast")
            timers = [mine.timer(), *(copy.timer() for copy in copies)]
        fastest = []
        for timer in timers:
            number = max(1, round(SAMPLE / min(timer(1), timer(1))))
            samples: list[float] = []
            end = time.perf_counter() + seconds / len(timers)
            while len(samples) < 3 or time.perf_counter() < end:
                samples.append(timer(number) / number)
            fastest.append(sorted(samples)[len(samples) // 4])
        answer((fastest[0], min(fastest[1:])))


Times = tuple[float, float, float]  # of the old build, of the new one, of a copy; seconds


def timed(
    cases: list[Case], folders: tuple[pathlib.Path, pathlib.Path | None], old_first: bool, threads: int, seconds: float
) -> Iterator[Times]:
    """Each case's times, by processes that start in this order."""
    builds: dict[int, Build] = {}
    try:
        for which in (0, 1) if old_first else (1, 0):
            builds[which] = Build(folders[which], cases, threads)
        if old_first:
            print(f"old: {builds[0].path}\nnew: {builds[1].path}")
            if builds[0].path == builds[1].path:
                print("The same build: what it differs by here is the machine.")
            print("Each case is timed twice; the lines follow the second time.", flush=True)
        for index in range(len(cases)):
            times: tuple[list[float], list[float]] = ([], [])
            ceilings: list[float] = []
            # In turns: right after a visit of its own a process finds its arrays in the caches.
            for which in list(builds) * VISITS:
                taken, copied = builds[which].ask(index, seconds / (2 * VISITS))
                times[which].append(taken)
                ceilings.append(copied)
            yield min(times[0]), min(times[1]), min(ceilings)
    finally:
        for build in builds.values():
            build.stop()


def compare(cases: list[Case], folder: pathlib.Path, threads: int, seconds: float) -> None:
    """Prints a line per case, and each class's geometric means."""
    classes: dict[str, list[tuple[float, float, float]]] = collections.defaultdict(list)
    first = list(timed(cases, (folder, None), True, threads, seconds))
    second = timed(cases, (folder, None), False, threads, seconds)
    for case, once, again in zip(cases, first, second, strict=True):
        old, new, copied = (geomean(both) for both in zip(once, again, strict=True))
        row = (old / new, copied / old, copied / new)
        print(f"{row[0]:6.2f}x   ceiling {row[1]:.2f} -> {row[2]:.2f}   {case.name}", flush=True)
        for name in (case.name.split("/")[0], "all"):
            classes[name].append(row)
    for name, rows in classes.items():
        ratio, before, after = (geomean(row[k] for row in rows) for k in range(3))
        print(f"{name}: {len(rows)} cases, {ratio:.3f}x, ceiling {before:.2f} -> {after:.2f}")


def main(options: argparse.Namespace, cases: list[Case], threads: int) -> None:
    chosen = [case for case in cases if case.op in MEASURED and case.output == "ready" and not case.small]
    if not chosen:
        raise SystemExit(
            "--against times copies of 8 KB and more into arrays that are there; none of the cases chosen is one"
        )
    compare(chosen, options.against, threads, options.seconds or SECONDS)


if __name__ == "__main__":
    pipe = sys.stdout.buffer
    sys.stdout = sys.stderr  # for whatever the libraries print
    serve(sys.stdin.buffer, pipe)

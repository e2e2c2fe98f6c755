"""Contestants in processes of their own, in turns: each has its library, its threads and its arrays to itself.

Where all are in one process, what one library leaves in the caches that the processors share, and the threads of its
pool that still wait, are part of the next one's time.
"""

from __future__ import annotations

import os
import pathlib
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from benchmarks.case import Case
from benchmarks.results import geomean

ROOT = pathlib.Path(__file__).resolve().parents[1]
VISITS = 2  # of each process, per case and order
Times = dict[str, float]  # of each contestant, in seconds; empty where the library cannot run the case


@dataclass(frozen=True)
class Role:
    """What a process times: `library` is "ours" or a peer; `folder` has the dnnmove to import, if not this one."""

    library: str = "ours"
    ceiling: bool = False  # the copies that nothing can beat, too
    folder: pathlib.Path | None = None


class Worker:
    """A process that times one library's contestants."""

    def __init__(self, role: Role, cases: list[Case], threads: int) -> None:
        environment = dict(os.environ)
        if role.folder is not None:
            environment["PYTHONPATH"] = str(role.folder.resolve())
        command = [sys.executable, "-m", "benchmarks.workers"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment
        )
        self.path: str = self.ask(role, cases, threads)

    def ask(self, *message: Any) -> Any:
        questions, answers = self.process.stdin, self.process.stdout
        assert questions is not None
        assert answers is not None
        pickle.dump(message, questions)
        questions.flush()
        return pickle.load(answers)

    def stop(self) -> None:
        with self.process as process:  # waits for it, and closes both pipes
            assert process.stdin is not None
            process.stdin.close()


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """The worker's process: answers until there are no more questions."""
    import dnnmove
    from benchmarks import operations
    from benchmarks.contestants import ceiling, load_peers, ours
    from benchmarks.contestants.contestant import Contestant
    from benchmarks.measure import SAMPLE, check
    from benchmarks.memory import Memory

    def answer(value: Any) -> None:
        pickle.dump(value, answers)
        answers.flush()

    def contestants(case: Case) -> list[Contestant]:
        module.start(case.threads or threads)
        problem = operations.build(case, memory, case.threads or threads)
        found = ours.contestants(problem)[:1] if module is ours else module.contestants(problem)
        for contestant in found:
            check(problem, contestant)
        if role.ceiling:
            found += ceiling.contestants(memory, problem.bytes_copied, problem.threads, case.op == "broadcast")
        return found

    role, cases, threads = pickle.load(questions)
    needs = [operations.bytes_needed(case) for case in cases]
    memory = Memory(max(need[0] for need in needs), max(need[1] for need in needs))
    module: Any = ours if role.library == "ours" else load_peers((role.library,), threads)[0][role.library]
    answer(dnnmove.__file__)
    current = None
    timers: dict[str, Callable[[int], float]] = {}
    while True:
        try:
            index, seconds = pickle.load(questions)
        except EOFError:
            return
        if index != current:
            current = index
            try:
                timers = {found.name: found.timer() for found in contestants(cases[index])}
            except Exception:
                if module is ours:
                    raise
                timers = {}
        times: Times = {}
        for name, timer in timers.items():
            number = max(1, round(SAMPLE / min(timer(1), timer(1))))
            samples: list[float] = []
            end = time.perf_counter() + seconds / len(timers)
            while len(samples) < 3 or time.perf_counter() < end:
                samples.append(timer(number) / number)
            times[name] = sorted(samples)[len(samples) // 4]
        answer(times)


def in_order(
    order: tuple[int, int],
    roles: tuple[Role, Role],
    cases: list[Case],
    threads: int,
    seconds: float,
    started: Callable[[Worker, Worker], None] | None,
) -> Iterator[tuple[Times, Times]]:
    """The times of each case by two workers that start in this order."""
    workers: dict[int, Worker] = {}
    try:
        for which in order:
            workers[which] = Worker(roles[which], cases, threads)
        if started is not None:
            started(workers[0], workers[1])
        for index in range(len(cases)):
            times: tuple[Times, Times] = ({}, {})
            # In turns: right after a visit of its own a process finds its arrays in the caches.
            for which in order * VISITS:
                for name, taken in workers[which].ask(index, seconds / VISITS).items():
                    times[which][name] = min(taken, times[which].get(name, taken))
            yield times
    finally:
        for worker in workers.values():
            worker.stop()


def mean(once: Times, again: Times) -> Times:
    return {name: geomean((once[name], again[name])) for name in once.keys() & again.keys()}


def timed(
    roles: tuple[Role, Role],
    cases: list[Case],
    threads: int,
    seconds: float,
    started: Callable[[Worker, Worker], None] | None = None,
) -> Iterator[tuple[Times, Times]]:
    """The times of each case by two processes, in `seconds` each.

    The process that starts later may be faster by a twentieth all along, whatever it imports: all cases are timed
    twice, the second time by processes that start in the other order, and what counts is the geometric mean of both.
    """
    first = list(in_order((0, 1), roles, cases, threads, seconds / 2, started))
    second = in_order((1, 0), roles, cases, threads, seconds / 2, None)
    for once, again in zip(first, second, strict=True):
        yield mean(once[0], again[0]), mean(once[1], again[1])


if __name__ == "__main__":
    pipe = sys.stdout.buffer
    sys.stdout = sys.stderr  # for whatever the libraries print
    serve(sys.stdin.buffer, pipe)

"""Correctness first, then interleaved rounds: every contestant of a case is checked and timed the same way."""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.contestants.contestant import Contestant
from benchmarks.memory import GUARD
from benchmarks.operations import Problem

SLOW = 20  # contestants slower than ours by more get a few samples only
SAMPLE = 50e-6  # seconds one sample takes at least
# Calls and seconds, whichever is less: one short call alone still writes back what the contestant before it has
# left in the caches.
WARM_UP = 4
WARM_UP_SECONDS = 0.002


class WrongResultError(Exception):
    """A contestant's bytes differ from NumPy's."""


@dataclass(frozen=True)
class Method:
    """How long to measure. `budget`: seconds per case; `settle`: whether to rest before each visit."""

    budget: float = 1.5
    min_rounds: int = 3
    visit: float = 0.004  # seconds of samples per visit, at least two samples
    settle: bool = False
    patience: float = 3.0  # budgets after which a case ends though its fastest samples do not agree yet


def rest() -> None:
    """Sleeps until no thread of this process runs, 60 ms at most.

    OpenMP's threads spin after their work, for a number of rounds: 1 ms on one processor, 6 on another, whose pause
    instruction takes longer. Whoever comes next would have one processor less.
    """
    end = time.perf_counter() + 0.06
    while True:
        start, used = time.perf_counter(), time.process_time()
        time.sleep(0.003)
        now = time.perf_counter()
        if time.process_time() - used < 0.2 * (now - start) or now > end:
            return


def same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    if a.nbytes != b.nbytes or a.shape[: b.ndim] != b.shape:  # a peer's elements may be rows of words
        return False
    left = np.ascontiguousarray(a).reshape(-1).view(np.uint8)
    right = np.ascontiguousarray(b).reshape(-1).view(np.uint8)
    return bool(np.array_equal(left, right))


def check(problem: Problem, contestant: Contestant) -> None:
    """Runs the contestant once over poisoned outputs; raises WrongResultError unless every byte is right."""
    if not contestant.checked:
        return
    dst, expected = problem.memory.dst, problem.memory.expected
    dst.poison()
    scope = contestant.run_once()
    if contestant.result is None:
        end = dst.used + GUARD
        if not np.array_equal(dst.bytes[:end], expected.bytes[:end]):
            wrong = int(np.flatnonzero(dst.bytes[:end] != expected.bytes[:end])[0])
            raise WrongResultError(f"byte {wrong} of {dst.used} differs")
        return
    results = contestant.result(scope)
    if len(results) != len(problem.expected):
        raise WrongResultError(f"{len(results)} results instead of {len(problem.expected)}")
    for i, (got, want) in enumerate(zip(results, problem.expected, strict=True)):
        close = contestant.tolerance and np.allclose(got, want, rtol=contestant.tolerance, atol=contestant.tolerance)
        if not (close or same_bytes(np.asarray(got), want)):
            raise WrongResultError(f"result {i} differs")


@dataclass
class Samples:
    """What one contestant's rounds gave, in seconds per call."""

    contestant: Contestant
    seconds: list[float]

    def summary(self) -> dict[str, object]:
        return {
            "role": self.contestant.role,
            "statement": self.contestant.statement,
            "min": min(self.seconds),
            "median": statistics.median(self.seconds),
            "samples": len(self.seconds),
        }


def settled(samples: Samples) -> bool:
    """Whether the fastest samples agree, so that the minimum is no lucky or unlucky one."""
    fastest = sorted(samples.seconds)[:3]
    return len(fastest) == 3 and fastest[2] < 1.08 * fastest[0]


def measure(contestants: list[Contestant], method: Method) -> list[Samples]:
    """Visits every contestant in every round, in another order each time.

    Who comes before leaves the caches in some state, its dirty lines, too; in one fixed order a contestant
    would always find the same one's. A visit rests (so that the threads of the last contestant stop
    spinning), warms up untimed and then takes a few samples. One sample is as many calls as fill SAMPLE
    seconds. Rounds go on past the budget, on a machine that others use too, until the ceiling's and our
    fastest samples agree.
    """
    timers = [contestant.timer() for contestant in contestants]
    samples = [Samples(contestant, []) for contestant in contestants]
    estimates = []
    for timer in timers:
        first = timer(1)
        estimates.append(min(first, timer(1)) if first < 0.2 else first)
    ours = min((e for e, c in zip(estimates, contestants, strict=True) if c.name == "ours"), default=math.inf)
    order = random.Random(len(timers))
    turns = list(range(len(timers)))
    numbers = [max(1, math.ceil(SAMPLE / max(estimate, 1e-9))) for estimate in estimates]
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        rounds = 0
        while True:
            spent = time.perf_counter() - start
            watched = [s for s in samples if s.contestant.role == "ceiling" or s.contestant.name == "ours"]
            over = rounds >= method.min_rounds and spent > method.budget
            if over and (spent > method.patience * method.budget or all(map(settled, watched))):
                break
            order.shuffle(turns)
            for i in turns:
                slow = estimates[i] > max(SLOW * ours, 0.001)
                if slow and len(samples[i].seconds) >= (1 if estimates[i] > 0.2 else 3):
                    continue
                visit(timers[i], numbers[i], estimates[i], slow, samples[i], method)
            rounds += 1
    finally:
        gc.enable()
    return samples


def visit(timer, number: int, estimate: float, slow: bool, samples: Samples, method: Method) -> None:
    """One visit to one contestant: rest, warm up, a few samples; a long call warms up within itself."""
    if method.settle:
        rest()
    long = estimate > 0.008
    if not slow and not long:
        timer(max(number, min(WARM_UP, math.ceil(WARM_UP_SECONDS / max(estimate, 1e-9)))))
    count = 1 if slow or long else min(8, max(2, round(method.visit / max(estimate * number, 1e-9))))
    for _ in range(count):
        samples.seconds.append(timer(number) / number)

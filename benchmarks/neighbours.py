"""How calls fare beside busy processes, after PyTorch's, as several processes at once, and from several Python threads.

Run as ``python -m benchmarks.neighbours``. Each figure compares the default number of threads with one thread, in
calls that take turns in random order within one process, so that both meet the same neighbours.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import dnnmove as dm

CPUS = len(os.sched_getaffinity(0))
REST = 0.001  # seconds between calls that come "apart"


@dataclass(frozen=True)
class Work:
    """One eager call into a ready output."""

    name: str
    call: Callable[[], object]
    bytes: int


def works() -> list[Work]:
    """Calls of 256 KB to 64 MB, the first two as loaders of images make them."""

    def transposed(name: str, shape: tuple[int, ...], order: tuple[int, ...], dtype: str) -> Work:
        x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
        out = np.empty([shape[k] for k in order], dtype)
        return Work(name, lambda: dm.transpose(x, order, out=out), x.nbytes)

    def rows(name: str, megabytes: float) -> Work:
        x = np.zeros((int(megabytes * 1024), 2, 128), "f4")
        out = np.empty_like(x)
        return Work(name, lambda: dm.shuffle(x, 1, 1, out=out), x.nbytes)

    return [
        transposed("8 photographs 224x224x3 f4 to NCHW, 4.8 MB", (8, 224, 224, 3), (0, 3, 1, 2), "f4"),
        transposed("image 512x512x3 u1 to CHW, 0.8 MB", (512, 512, 3), (2, 0, 1), "u1"),
        rows("rows of 512 bytes, 0.5 MB", 0.5),
        transposed("matrix 1000x1000 f4, 4 MB", (1000, 1000), (1, 0), "f4"),
        rows("rows of 512 bytes, 64 MB", 64),
    ]


def burn() -> None:
    """What a busy process does; it ends with its parent."""
    parent = os.getppid()
    x = 1.0
    while os.getppid() == parent:
        for _ in range(100_000):
            x = x * 1.0000001


@contextmanager
def neighbours(count: int) -> Iterator[None]:
    """So many busy processes for the time of the block."""
    processes = [mp.get_context("spawn").Process(target=burn, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        if count:
            time.sleep(0.7)
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


@dataclass
class Figures:
    """Times of a call with the default number of threads, as multiples of one thread's."""

    work: str
    scene: str
    one_thread_us: float
    median: float
    mean: float
    p90: float


def compare(
    work: Work, scene: str, rest: float, seconds: float, before: Callable[[], object] = lambda: None
) -> Figures:
    """Calls with one and with all threads in random order; `rest` seconds between them, and `before`."""
    order = random.Random(1)
    times: dict[int, list[float]] = {1: [], CPUS: []}
    for threads in times:
        with dm.num_threads(threads):
            for _ in range(3):
                work.call()
    start = time.perf_counter()
    work.call()
    calls = 5 if rest else max(3, round(0.003 / (time.perf_counter() - start)))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        turns = list(times)
        order.shuffle(turns)
        for threads in turns:
            with dm.num_threads(threads):
                # Many in a row: whether a worker is still awake depends on the call before.
                for _ in range(calls):
                    if rest:
                        time.sleep(rest)
                    before()
                    start = time.perf_counter()
                    work.call()
                    times[threads].append(time.perf_counter() - start)
    one, all_ = times[1], times[CPUS]
    return Figures(
        work.name,
        scene,
        statistics.median(one) * 1e6,
        statistics.median(all_) / statistics.median(one),
        statistics.fmean(all_) / statistics.fmean(one),
        statistics.quantiles(all_, n=10)[8] / statistics.quantiles(one, n=10)[8],
    )


def beside(seconds: float, only: str) -> list[Figures]:
    """Every call beside 0, 1, N and 2N busy processes."""
    found = []
    for count in sorted({0, 1, CPUS, 2 * CPUS}):
        with neighbours(count):
            for work in works():
                if only not in work.name:
                    continue
                for rest in (0.0, REST):
                    scene = f"{count} busy, {'1 ms apart' if rest else 'back to back'}"
                    found.append(compare(work, scene, rest, seconds))
                    show(found[-1])
    return found


def after_torch(seconds: float, only: str) -> list[Figures]:
    """Every call right after one of PyTorch, whose threads wait for the next one with open eyes."""
    import torch

    torch.set_num_threads(CPUS)
    x = torch.zeros(1 << 20)
    out = torch.empty_like(x)
    found = []
    for work in works():
        if only in work.name:
            found.append(compare(work, "after PyTorch", 0, seconds, lambda: out.copy_(x)))
            show(found[-1])
    return found


def show(figures: Figures) -> None:
    print(
        f"{figures.work:46} {figures.scene:22} one thread {figures.one_thread_us:8.1f} us"
        f"  median {figures.median:6.2f}  mean {figures.mean:6.2f}  p90 {figures.p90:6.2f}",
        flush=True,
    )


def process_rate(index: int, start, seconds: float, results) -> None:
    """One of several processes: calls with one thread and with all by turns, which change together in all of them."""
    work = works()[index]
    counts = {1: 0, CPUS: 0}
    for threads in counts:
        with dm.num_threads(threads):
            work.call()
    start.wait()
    begin = time.perf_counter()
    turn = 0
    while turn * seconds / 10 < seconds:
        threads = (1, CPUS)[turn % 2]
        end = begin + (turn + 1) * seconds / 10
        with dm.num_threads(threads):
            while time.perf_counter() < end:
                work.call()
                counts[threads] += 1
        turn += 1
    results.put((counts[1], counts[CPUS]))


def processes_at_once(seconds: float) -> list[dict[str, object]]:
    """N and 2N processes that all make the same calls: the sum of their rates, as a multiple of one thread's each."""
    context = mp.get_context("spawn")
    found = []
    for index in (1, 0, 3):
        for count in sorted({CPUS, 2 * CPUS}):
            start, results = context.Barrier(count), context.SimpleQueue()
            processes = [
                context.Process(target=process_rate, args=(index, start, seconds, results)) for _ in range(count)
            ]
            for process in processes:
                process.start()
            pairs = [results.get() for _ in processes]
            for process in processes:
                process.join()
            rate = sum(all_ for _, all_ in pairs) / sum(one for one, _ in pairs)
            found.append({"work": works()[index].name, "processes": count, "rate": rate})
            print(
                f"{found[-1]['work']:46} {count} processes at once: {rate:.2f} of the rate of one thread each",
                flush=True,
            )
    return found


def python_threads(seconds: float, count: int = 8) -> dict[str, object]:
    """So many Python threads at once: the same rate, and the threads that the process has then."""
    rates = {}
    for threads in (1, CPUS):
        done = [0] * count
        stop = threading.Event()

        def loop(i: int, done=done, stop=stop) -> None:
            work = works()[1]
            while not stop.is_set():
                work.call()
                done[i] += 1

        dm.set_num_threads(threads)
        runners = [threading.Thread(target=loop, args=(i,)) for i in range(count)]
        for runner in runners:
            runner.start()
        time.sleep(seconds)
        system_threads = len(os.listdir("/proc/self/task"))
        stop.set()
        for runner in runners:
            runner.join()
        rates[threads] = sum(done) / seconds
    dm.set_num_threads(CPUS)
    found = {"python_threads": count, "rate": rates[CPUS] / rates[1], "system_threads": system_threads}
    print(
        f"{count} Python threads: {found['rate']:.2f} of the rate with one thread a call; "
        f"{system_threads} threads in all"
    )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbours", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3, help="per figure")
    parser.add_argument("--only", default="", help="works whose name holds this")
    parser.add_argument("--part", choices=("beside", "torch", "processes", "threads"), help="one of them")
    parser.add_argument("--save", type=Path, help="a JSON file for the figures")
    options = parser.parse_args()
    result: dict[str, object] = {"cpus": CPUS}
    if options.part in (None, "beside"):
        figures = beside(options.seconds, options.only)
        result["beside"] = [asdict(f) for f in figures]
        busy = [f for f in figures if not f.scene.startswith("0 ")]
        if busy:
            median, mean = max(f.median for f in busy), max(f.mean for f in busy)
            print(f"beside busy processes: worst median {median:.2f}, worst mean {mean:.2f}")
    if options.part in (None, "torch"):
        result["torch"] = [asdict(f) for f in after_torch(options.seconds, options.only)]
    if options.part in (None, "processes"):
        result["processes"] = processes_at_once(options.seconds)
    if options.part in (None, "threads"):
        result["threads"] = python_threads(options.seconds)
    if options.save:
        options.save.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The command line: which cases, which peers, where the results go."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).parent


def parser() -> argparse.ArgumentParser:
    from benchmarks.contestants import PEERS

    p = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    p.add_argument("--only", metavar="REGEX", default="", help="cases whose name matches")
    p.add_argument("--quick", action="store_true", help="a representative part of the grid, about 3 minutes")
    p.add_argument("--random", metavar="N", type=int, help="N random shapes instead of the grid")
    p.add_argument("--calls", metavar="N", type=int, help="N random calls of 17 functions instead of the grid")
    p.add_argument("--seed", type=int, default=1, help="of the random shapes and calls (default 1)")
    p.add_argument("--peers", default=",".join(PEERS), help=f"comma-separated, of {', '.join(PEERS)}")
    p.add_argument("--no-peers", action="store_true", help="dnnmove against the copy ceiling only")
    p.add_argument(
        "--alone", action="store_true", help="time the cases in which a peer was faster again, in a process each"
    )
    p.add_argument("--threads", type=int, default=0, help="threads of every contestant (default: all CPUs)")
    p.add_argument(
        "--isa",
        choices=("avx512_vbmi", "avx512", "avx2", "scalar"),
        help="the most of dnnmove, and below avx512_vbmi of oneDNN, PyTorch and JAX, too",
    )
    p.add_argument("--seconds", type=float, help="measuring time per case (default 0.8, with --quick 0.25)")
    p.add_argument(
        "--priority",
        action="store_true",
        help="run before everything else on a shared machine (real-time scheduling, where allowed)",
    )
    p.add_argument("--resume", action="store_true", help="keep the cases that the output folder already has")
    p.add_argument("--compare", metavar="OLD.json", type=pathlib.Path, help="print what became slower or faster")
    p.add_argument(
        "--against", metavar="FOLDER", type=pathlib.Path, help="time the build installed there and this one, in turns"
    )
    p.add_argument("--report", metavar="FILE.json", type=pathlib.Path, help="measure nothing, report on this file")
    p.add_argument("--out", type=pathlib.Path, default=HERE / "out", help="folder of the results")
    p.add_argument("--save", metavar="NAME", help="also write the report to benchmarks/results/NAME")
    p.add_argument("--explain", action="store_true", help="print how dnnmove runs each case")
    p.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    p.add_argument("--no-plots", action="store_true", help="leave out the plots")
    return p


def select(options: argparse.Namespace, threads: int) -> list:
    from benchmarks import random_calls, random_shapes
    from benchmarks.grid import all_cases

    pattern = re.compile(options.only)
    if options.random is not None:
        cases = random_shapes.cases(options.random, options.seed)
    elif options.calls is not None:
        cases = random_calls.cases(options.calls, options.seed)
    else:
        cases = [case for case in all_cases(threads) if case.quick or not options.quick]
    chosen = [case for case in cases if pattern.search(case.name)]
    if not chosen:
        raise SystemExit(f"no case matches --only {options.only!r}")
    return chosen


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    from benchmarks import machine

    if options.isa:
        machine.cap(options.isa)
    threads = options.threads or machine.cpus()
    if options.list:
        print("\n".join(case.name for case in select(options, threads)))
        return 0
    # Before any peer is imported: XLA reads these once.
    if threads < machine.cpus():
        os.environ.setdefault("NPROC", str(threads))
        if threads == 1:
            flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
            os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    if options.priority:
        try:
            # A nice value would only count within the login session where Linux groups tasks by session.
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except (AttributeError, OSError) as error:
            print(f"--priority: {error}", file=sys.stderr)
    if options.against:
        from benchmarks import against

        against.main(options, select(options, threads), threads)
        return 0
    from benchmarks import results, runner

    if options.report:
        head, records = results.load(options.report)
    else:
        cases = select(options, threads)
        started = time.time()
        head, records = runner.run(cases, options, threads)
        print(f"{len(records)} cases in {time.time() - started:.0f} s", file=sys.stderr)
    from benchmarks import report

    report.write(options, head, records)
    return 0

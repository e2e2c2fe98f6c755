"""Runs the chosen cases one after another and keeps the results file up to date."""

from __future__ import annotations

import argparse
import sys
import time
from types import ModuleType
from typing import Any

from benchmarks import alone, machine, operations, results
from benchmarks.case import Case
from benchmarks.contestants import ceiling, load_peers, ours
from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.measure import Method, WrongResultError, check, measure
from benchmarks.memory import Memory
from benchmarks.results import Record


def gather(problem: operations.Problem, peers: dict[str, ModuleType]) -> tuple[list[Contestant], dict[str, str]]:
    """The contestants that give the right bytes, and why the others do not take part."""
    refused: dict[str, str] = {}
    fill = problem.case.op == "broadcast"
    found = ceiling.contestants(problem.memory, problem.bytes_copied, problem.threads, fill)
    mine = ours.contestants(problem)
    for contestant in mine:
        try:
            check(problem, contestant)
        except WrongResultError as error:  # ours has to be right: a failure ends the run
            raise SystemExit(f"{problem.case.name}: {contestant.name} writes wrong bytes: {error}") from error
    found += mine
    for name, module in peers.items() if problem.case.peers else ():
        try:
            for contestant in module.contestants(problem):
                check(problem, contestant)
                found.append(contestant)
        except UnsupportedError as error:
            refused[name] = str(error)
        except WrongResultError as error:
            refused[name] = f"wrong bytes: {error}"
        except Exception as error:
            text = " ".join(str(error).split())
            refused[name] = f"{type(error).__name__}: {text[:160]}"
    return found, refused


def run_case(case: Case, memory: Memory, threads: int, peers: dict[str, ModuleType], method: Method) -> Record:
    threads = case.threads or threads
    for module in (ours, *peers.values()):
        module.start(threads)
    problem = operations.build(case, memory, threads)
    found, refused = gather(problem, peers)
    samples = measure(found, method)
    return Record(
        {
            "name": case.name,
            "op": case.op,
            "group": case.group,
            "shape": list(case.shape),
            "dtype": case.dtype,
            "output": case.output,
            "threads": threads,
            "targets": list(case.targets),
            "series": case.series,
            "small": case.small,
            "bytes_read": problem.bytes_read,
            "bytes_written": problem.bytes_written,
            "explain": ours.explain(problem),
            "passes": ours.passes(problem),
            "contestants": {s.contestant.name: s.summary() for s in samples},
            "refused": refused,
        }
    )


def progress(position: str, record: Record) -> str:
    """One line per case."""
    mine = record.ours
    if mine is None:
        return f"{position} {record.name}"
    parts = [f"{position} {record.name:<58} {results.seconds(mine['min']):>8} {record.gigabytes:6.1f} GB/s"]
    if record.fraction is not None:
        parts.append(f"ceiling {record.fraction:5.2f}")
    best = record.best_peer
    if best:
        parts.append(f"{best[1]:6.2f}x {best[0]}")
    return "  ".join(parts)


def run(cases: list[Case], options: argparse.Namespace, threads: int) -> tuple[dict[str, Any], list[Record]]:
    """Measures the cases; results.json in the output folder is kept up to date, for `--resume`."""
    wanted = () if options.no_peers else tuple(name for name in options.peers.split(",") if name)
    peers, absent = load_peers(wanted, threads)
    for name, reason in absent.items():
        print(f"peer {name}: {reason}", file=sys.stderr)
    head = machine.describe(threads, peers) | {"absent": absent, "priority": options.priority}
    if head["load"] > 0.5 and not options.priority:
        print(f"note: the machine is busy (load {head['load']}); --priority helps", file=sys.stderr)
    seconds = options.seconds or (0.25 if options.quick else 0.8)
    method = Method(budget=seconds, settle=True)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "results.json"
    kept: dict[str, Record] = {}
    if options.resume and path.exists():
        kept = {record.name: record for record in results.load(path)[1]}
    todo = [case for case in cases if case.name not in kept]
    needs = [operations.bytes_needed(case) for case in todo]
    memory = Memory(max((n[0] for n in needs), default=0), max((n[1] for n in needs), default=0))
    saved = time.monotonic()
    try:
        for i, case in enumerate(todo, 1):
            position = f"[{i:3}/{len(todo)}]"
            try:
                with machine.exclusive():
                    record = run_case(case, memory, threads, peers, method)
            except UnsupportedError as error:
                print(f"{position} {case.name}: skipped, {error}", file=sys.stderr, flush=True)
                continue
            kept[case.name] = record
            print(progress(position, record), file=sys.stderr, flush=True)
            if options.explain:
                print(record.explain, file=sys.stderr, flush=True)
            if time.monotonic() - saved > 5:
                results.save(path, head, list(kept.values()))
                saved = time.monotonic()
        if options.alone:
            del memory
            with machine.exclusive():
                alone.measure(kept.values(), cases, threads, seconds, peers)
    finally:
        results.save(path, head, list(kept.values()))
    return head, list(kept.values())

"""The pipelines against the copy ceiling and every peer, as one table."""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks import machine, operations
from benchmarks.case import Case
from benchmarks.contestants import load_peers
from benchmarks.grid.pipelines import case_of
from benchmarks.measure import Method
from benchmarks.memory import Memory
from benchmarks.pipelines.catalogue import BY_NAME, PIPELINES
from benchmarks.report import table
from benchmarks.results import NEVER_SLOWER, Record, geomean, seconds, show_bytes
from benchmarks.runner import progress, run_case

LARGE = 16 << 20  # bytes that have to move before the ceiling is the measure
TAKE_PART = ("numpy", "torch", "torch_compile", "onednn", "cv2", "mkl", "hptt", "tools")
LIBRARIES = ("numpy", "torch", "torch_compile")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m benchmarks.pipelines", description=__doc__)
    p.add_argument("names", nargs="*", help=f"of {', '.join(BY_NAME)}")
    p.add_argument("--seconds", type=float, default=1.0, help="measuring time per pipeline")
    p.add_argument("--full", action="store_true", help="the sizes that people report, up to 3 GB a source")
    p.add_argument("--peers", default=",".join(TAKE_PART), help="comma-separated; an empty one for none")
    p.add_argument("--threads", type=int, default=0, help="threads of every contestant (default: all CPUs)")
    p.add_argument("--explain", action="store_true", help="print how dnnmove runs each pipeline")
    return p


def family(record: Record, name: str) -> float | None:
    """Times faster than the best of a peer's ways, by medians."""
    ratios = [record.ratio_to(way) for way in record.times("peer") if way.split(".")[0] == name]
    return min((ratio for ratio in ratios if ratio is not None), default=None)


def times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"


def row(record: Record) -> list[str]:
    """A line of the table: the libraries that everybody has in columns, other tools by name."""
    others = dict.fromkeys(way.split(".")[0] for way in record.times("peer"))
    rest = [f"{name} {times(family(record, name))}" for name in others if name not in LIBRARIES]
    return [
        record.name.split("/")[1],
        " ".join(record.name.split("/")[2:]),
        show_bytes(record.bytes_read + record.bytes_written),
        seconds(record.ours["median"]),
        f"{record.gigabytes:.1f}",
        f"{record.fraction:.2f}" if record.fraction else "",
        str(record.passes),
        *(times(family(record, name)) for name in LIBRARIES),
        ", ".join(rest),
    ]


def summary(records: list[Record]) -> str:
    """The figures that the pipelines are to reach."""
    best = [record.best_peer for record in records if record.best_peer]
    large = [r.fraction for r in records if r.fraction and r.bytes_read + r.bytes_written > LARGE]
    lines = []
    if best:
        lines.append(f"against the best peer of each: geometric mean {geomean(ratio for _, ratio in best):.2f}x")
        slower = [r for r in records if r.best_peer and r.best_peer[1] < NEVER_SLOWER]
        lines += [f"slower than {r.best_peer[0]}: {r.name} ({r.best_peer[1]:.2f}x)" for r in slower]
    if large:
        lines.append(f"of the copy ceiling, above 16 MB: geometric mean {geomean(large):.2f}, worst {min(large):.2f}")
    return "\n".join(lines)


def chosen(options: argparse.Namespace) -> list[Case]:
    unknown = [name for name in options.names if name not in BY_NAME]
    if unknown:
        raise SystemExit(f"no pipeline {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    pipelines = [BY_NAME[name] for name in options.names] or list(PIPELINES)
    return [case_of(pipeline, pipeline.full if options.full else None) for pipeline in pipelines]


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    threads = options.threads or machine.cpus()
    cases = chosen(options)
    peers, absent = load_peers(tuple(name for name in options.peers.split(",") if name), threads)
    for name, reason in absent.items():
        print(f"peer {name}: {reason}", file=sys.stderr)
    needs = [operations.bytes_needed(case) for case in cases]
    memory = Memory(max(n[0] for n in needs), max(n[1] for n in needs))
    records = []
    for i, case in enumerate(cases, 1):
        with machine.exclusive():
            record = run_case(case, memory, threads, peers, Method(budget=options.seconds, settle=True))
        records.append(record)
        print(progress(f"[{i}/{len(cases)}]", record), file=sys.stderr, flush=True)
        for name, reason in record.refused.items():
            if not reason.startswith("not compared"):
                print(f"{case.name}: {name} takes no part: {reason}", file=sys.stderr)
        if options.explain:
            print(record.explain, file=sys.stderr)
    head = ["pipeline", "sources", "read + written", "ours", "GB/s", "of the ceiling", "passes"]
    print(table([*head, *LIBRARIES, "others"], map(row, records)))
    print(summary(records))
    load = os.getloadavg()[0]
    print(f"{threads} threads, load {load:.1f}; {', '.join(f'{n} {m.version()}' for n, m in peers.items())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

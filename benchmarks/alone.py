"""The cases in which a peer was faster, once more: dnnmove and that peer in a process each, for `--alone`.

In one process a peer's threads still wait when it is our turn, and a cache that the processors share holds what every
contestant has left there: of calls of some 100 us that decides as much as the copy does. Whoever uses one library has
neither.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from benchmarks import workers
from benchmarks.case import Case
from benchmarks.contestants import PEERS
from benchmarks.results import NEVER_SLOWER, Record, family
from benchmarks.workers import Role


def faster(record: Record) -> set[str]:
    """The libraries that were faster than ours by more than what counts as level."""
    return {family(name) for name, ratio in record.peer_ratios.items() if ratio < NEVER_SLOWER}


def measure(
    records: Iterable[Record], cases: Iterable[Case], threads: int, seconds: float, peers: Iterable[str] = PEERS
) -> None:
    """Has each such record say what became of it: `alone`, times faster by contestant."""
    by_name = {case.name: case for case in cases}
    lost = [
        (record, by_name[record.name]) for record in records if record.name in by_name and record.group != "planning"
    ]
    for library in peers:
        todo = [(record, case) for record, case in lost if library in faster(record)]
        if not todo:
            continue
        times = workers.timed((Role(), Role(library)), [case for _, case in todo], threads, seconds)
        for (record, _), (ours, theirs) in zip(todo, times, strict=True):
            ratios = {name: taken / ours["ours"] for name, taken in theirs.items() if name in record.peer_ratios}
            record.data.setdefault("alone", {}).update(ratios)
            shown = ", ".join(f"{ratio:.2f}x {name}" for name, ratio in ratios.items())
            print(f"alone: {record.name:<58} {shown}", file=sys.stderr, flush=True)

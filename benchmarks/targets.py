"""The targets of the project as checks over the measured cases; each says met or missed, and by whom."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.random_shapes import GROUP
from benchmarks.results import NEVER_SLOWER, Record, geomean, seconds
from benchmarks.results import family as library

GRID = ("transpose", "shuffle", "shuffle_forward", "split", "concat", "broadcast")


def in_grid(record: Record) -> bool:
    """Whether the case counts for the ceiling fractions: one plain operation."""
    return record.group in GRID or record.group.startswith(GROUP)


# Target classes of the cases, with the fraction of the copy ceiling each is to reach.
FRACTIONS = {
    "rows": 0.95,
    "splits": 0.95,
    "blocked shuffles": 0.95,
    "layout change, C <= 4": 0.95,
    "fills": 0.95,
    "shuffle NHWC, 2-4 groups": 0.90,
    "shuffle NHWC, 8+ groups": 0.70,
    "large transpose, 2-8 bytes, ordinary pitch": 0.90,
    "large transpose, 2-8 bytes, power of two pitch": 0.75,
    "large transpose, 2-8 bytes, odd pitch": 0.55,
    "large transpose, 1 byte, ordinary pitch": 0.70,
    "large transpose, 1 byte, power of two pitch": 0.50,
    "large transpose, 1 byte, odd pitch": 0.40,
    "rank 6-14, beyond L3": 0.80,
    "rank 6-14, inside L3": 0.55,
}


Figures = list[tuple[str, float]]  # names of cases and what each reached


@dataclass
class Verdict:
    """One line of the target table."""

    what: str
    target: str
    cases: int
    reached: str
    met: bool
    misses: Figures  # names and figures of the cases below the target


def _line(what: str, target: str, values: Figures, least: float, show: Callable[[float], str]) -> Verdict:
    """A target that every case is to reach; `values` are larger where better."""
    values = sorted(values, key=lambda pair: pair[1])
    misses = [(name, value) for name, value in values if value < least]
    reached = f"geomean {show(geomean(v for _, v in values))}, worst {show(values[0][1])}"
    return Verdict(what, target, len(values), reached, not misses, misses)


def _average(what: str, target: str, values: Figures, least: float, show: Callable[[float], str]) -> Verdict:
    """A target for the geometric mean."""
    mean = geomean(v for _, v in values)
    return Verdict(what, target, len(values), show(mean), mean >= least, [])


def _limit(what: str, target: str, values: Figures, most: float, show: Callable[[float], str]) -> Verdict:
    """A target that every case is to stay under."""
    values = sorted(values, key=lambda pair: -pair[1])
    misses = [(name, value) for name, value in values if value > most]
    reached = f"geomean {show(geomean(v for _, v in values))}, worst {show(values[0][1])}"
    return Verdict(what, target, len(values), reached, not misses, misses)


def _fraction(value: float) -> str:
    return f"{value:.2f}"


def _times(value: float) -> str:
    return f"{value:.2f}x"


def family_ratio(record: Record, family: str) -> float | None:
    """Times faster than the best of one peer's ways ("torch" and "torch.cat" are one family)."""
    ratios = [record.ratio_to(name) for name in record.times("peer") if library(name) == family]
    return min((r for r in ratios if r is not None), default=None)


def _ratios(records: list[Record], family: str) -> Figures:
    found = ((r.name, family_ratio(r, family)) for r in records)
    return [(name, ratio) for name, ratio in found if ratio is not None]


def _thread_gain(records: list[Record]) -> Figures:
    """Time on half as many threads (or fewer) over the time on n, for every case that has both."""
    by_case: dict[str, dict[int, Record]] = {}
    for record in records:
        by_case.setdefault(record.name.rsplit("/", 1)[0], {})[record.threads] = record
    gains = []
    for runs in by_case.values():
        counts = sorted(runs)
        for few, many in itertools.pairwise(counts):
            gains.append((runs[many].name, runs[few].ours["min"] / runs[many].ours["min"]))
    return gains


def _planning(record: Record) -> float | None:
    """Seconds a plan takes: the first call after a clearing, without the clearing and without the call."""
    entries = [record.contestants.get(name) for name in ("ours, planning", "ours, clearing", "ours")]
    if not all(entries):
        return None
    whole, clearing, call = (entry["min"] for entry in entries)
    return max(whole - clearing - call, 1e-9)


def verdicts(records: list[Record]) -> list[Verdict]:
    """Every target that the measured cases have something to say about, in the order of the table."""
    found: list[Verdict] = []
    records = [r for r in records if r.ours]
    peers = [(r.name, r.best_peer[1]) for r in records if r.best_peer and r.group not in ("threads", "planning")]
    if peers:
        found.append(_line("every case against the best peer", "never slower (>= 0.97)", peers, NEVER_SLOWER, _times))
        found.append(_average("every case against the best peer", "geomean >= 2.5x", peers, 2.5, _times))
    if any(r.data.get("alone") for r in records):
        alone = [(r.name, r.best_alone) for r in records if r.best_peer and r.group not in ("threads", "planning")]
        what = "every case, losses in a process each"
        found.append(_line(what, "never slower (>= 0.97)", alone, NEVER_SLOWER, _times))
    fractions = [(r.name, r.fraction) for r in records if r.fraction and in_grid(r)]
    if fractions:
        found.append(_average("ceiling fraction over the grid", "geomean >= 0.85", fractions, 0.85, _fraction))
        found.append(_line("ceiling fraction over the grid", "worst >= 0.40", fractions, 0.40, _fraction))
    for key, least in FRACTIONS.items():
        values = [(r.name, r.fraction) for r in records if key in r.targets and r.fraction and r.group in GRID]
        if values:
            found.append(_line(key, f">= {least:.2f} of the ceiling", values, least, _fraction))
    found += (
        _shuffle_forward(records)
        + _small(records)
        + _new_output(records)
        + _chains(records)
        + _pipelines(records)
        + _runtime(records)
    )
    return found


def _shuffle_forward(records: list[Record]) -> list[Verdict]:
    values = _ratios([r for r in records if "ShuffleForward" in r.targets], "onednn")
    if not values:
        return []
    return [
        _line("ShuffleForward auto against oneDNN", "never slower (>= 0.97)", values, NEVER_SLOWER, _times),
        _average("ShuffleForward auto against oneDNN", "geomean >= 4x", values, 4.0, _times),
    ]


def _small(records: list[Record]) -> list[Verdict]:
    small = [r for r in records if "small calls" in r.targets]
    if not small:
        return []
    found = []
    for family, text, least in (("numpy", "never slower (>= 0.97)", NEVER_SLOWER), ("torch", ">= 2x", 2.0)):
        values = _ratios(small, family)
        if values:
            found.append(_line(f"small eager calls against {family}", text, values, least, _times))
    times = [(r.name, r.ours["min"]) for r in small]
    found.append(_limit("small eager calls", "<= 400 ns", times, 400e-9, seconds))
    primitives = [
        (r.name, r.contestants["ours, primitive"]["min"]) for r in small if "ours, primitive" in r.contestants
    ]
    if primitives:
        found.append(_limit("small calls of a primitive with out=", "<= 200 ns", primitives, 200e-9, seconds))
    return found


def _new_output(records: list[Record]) -> list[Verdict]:
    new = [r for r in records if "new output" in r.targets]
    if not new:
        return []
    ready = [
        (r.name, r.contestants["ours, ready"]["min"] / r.ours["min"]) for r in new if "ours, ready" in r.contestants
    ]
    found = [_line("new output against a ready one", ">= 0.80", ready, 0.80, _fraction)] if ready else []
    peers = [(r.name, r.best_peer[1]) for r in new if r.best_peer]
    if peers:
        found.append(_line("new output against the best peer", ">= 2x", peers, 2.0, _times))
    return found


def _chains(records: list[Record]) -> list[Verdict]:
    chains = [r for r in records if "chains" in r.targets]
    slowest = []
    for r in chains:
        steps = [entry["min"] for name, entry in r.contestants.items() if name.startswith("ours, step")]
        if steps:
            slowest.append((r.name, r.ours["min"] / max(steps)))
    found = []
    if slowest:
        found.append(_limit("a chain against its slowest single operation", "<= 1.15x the time", slowest, 1.15, _times))
    torch = _ratios(chains, "torch")
    if torch:
        found.append(_line("a chain against torch's steps", ">= 3x", torch, 3.0, _times))
    return found


def _pipelines(records: list[Record]) -> list[Verdict]:
    pipelines = [r for r in records if "pipelines" in r.targets]
    found = []
    peers = [(r.name, r.best_peer[1]) for r in pipelines if r.best_peer]
    if peers:
        found.append(_line("a pipeline against the best peer", "never slower (>= 0.97)", peers, NEVER_SLOWER, _times))
        found.append(_average("a pipeline against the best peer", "geomean >= 2x", peers, 2.0, _times))
    moved = 16 << 20
    fractions = [(r.name, r.fraction) for r in pipelines if r.fraction and r.bytes_read + r.bytes_written > moved]
    if fractions:
        found.append(
            _average("a pipeline that moves 16 MB", "geomean >= 0.70 of the ceiling", fractions, 0.7, _fraction)
        )
    return found


def _runtime(records: list[Record]) -> list[Verdict]:
    found = []
    for high, text, most in ((False, "<= 5 us, rank <= 6", 5e-6), (True, "<= 50 us, rank 14", 50e-6)):
        times = [(r.name, _planning(r)) for r in records if r.group == "planning" and (len(r.shape) > 6) == high]
        times = [(name, value) for name, value in times if value is not None]
        if times:
            found.append(_limit("plan building", text, times, most, seconds))
    tuned = [
        (r.name, r.ours["min"] / r.contestants["ours, tuned"]["min"]) for r in records if "ours, tuned" in r.contestants
    ]
    if tuned:
        found.append(
            _line("a tuned primitive against one as planned", "never slower (>= 0.97)", tuned, NEVER_SLOWER, _times)
        )
    gains = _thread_gain([r for r in records if r.group == "threads"])
    if gains:
        found.append(_line("more threads against fewer", "never slower (>= 0.97)", gains, NEVER_SLOWER, _times))
    return found

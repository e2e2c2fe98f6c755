"""Two result files side by side: what became slower or faster, by ratio."""

from __future__ import annotations

from benchmarks.results import Record, geomean, seconds

CHANGE = 1.10  # ratio from which a difference is worth a line


def speedup(old: Record, new: Record) -> float:
    """How many times faster the new one is; by ceiling fractions where there are any, since the ceiling moves."""
    if old.fraction and new.fraction:
        return new.fraction / old.fraction
    return old.ours["min"] / new.ours["min"]


def text(old: list[Record], new: list[Record]) -> str:
    before = {record.name: record for record in old if record.ours}
    pairs = [(before[record.name], record) for record in new if record.ours and record.name in before]
    if not pairs:
        return "No case is in both files."
    changes = sorted(((speedup(a, b), a, b) for a, b in pairs), key=lambda change: change[0])
    lines = [f"{len(pairs)} cases in both, geomean {geomean(c[0] for c in changes):.3f}x"]
    slower = [change for change in changes if change[0] < 1 / CHANGE]
    faster = [change for change in reversed(changes) if change[0] > CHANGE]
    for title, chosen in (("slower", slower), ("faster", faster)):
        lines.append(f"{title}: {len(chosen)}")
        for ratio, a, b in chosen:
            fractions = f"  ceiling {a.fraction:.2f} -> {b.fraction:.2f}" if a.fraction and b.fraction else ""
            times = f"{seconds(a.ours['min'])} -> {seconds(b.ours['min'])}"
            lines.append(f"  {ratio:5.2f}x  {b.name}  {times}{fractions}")
    missing = sorted(set(before) - {record.name for record in new})
    if missing:
        lines.append(f"not measured now: {len(missing)}")
    return "\n".join(lines)

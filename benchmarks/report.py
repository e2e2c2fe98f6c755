"""The report: a Markdown file with the targets, the losses and a table per operation, and the plots."""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Iterable
from typing import Any

from benchmarks import results, targets
from benchmarks.contestants import PEERS
from benchmarks.results import NEVER_SLOWER, Record, geomean, seconds, show_bytes

HERE = pathlib.Path(__file__).parent


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def machine_text(head: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in head["versions"].items())
    build = ", ".join(f"{key} {value}" for key, value in head["dnnmove_build"].items())
    lines = [
        f"- {head['date']}, {head['cpu']}, {head['cpus']} CPUs, {head['threads']} threads, {head['memory_gb']} GB",
        f"- {', '.join(head['caches'])}; {', '.join(head['flags'])}",
        f"- Linux {head['kernel']}, huge pages {head['huge_pages']}",
        f"- dnnmove {head['dnnmove']} ({build})" + (f", DNNMOVE_ISA={head['isa_cap']}" if head["isa_cap"] else ""),
        *(["- oneDNN, PyTorch and JAX with no more instruction sets than that"] if head.get("peers_capped") else []),
        f"- Python {head['python']}, {versions}",
    ]
    lines += [f"- absent: {name}, {reason}" for name, reason in head.get("absent", {}).items()]
    return "\n".join(lines) + "\n"


def target_table(verdicts: list[targets.Verdict]) -> str:
    rows = []
    for v in verdicts:
        result = "met" if v.met else f"**missed** by {len(v.misses)}" if v.misses else "**missed**"
        rows.append((v.what, v.target, str(v.cases), v.reached, result))
    return table(("what", "target", "cases", "reached", "result"), rows)


def miss_list(verdicts: list[targets.Verdict], most: int = 12) -> str:
    lines = []
    for v in verdicts:
        if v.misses and not v.what.startswith(("every case", "ceiling fraction")):
            shown = ", ".join(f"`{name}` {_figure(v, value)}" for name, value in v.misses[:most])
            more = f" and {len(v.misses) - most} more" if len(v.misses) > most else ""
            lines.append(f"- {v.what} ({v.target}): {shown}{more}")
    return "\n".join(lines) + "\n" if lines else ""


def _figure(verdict: targets.Verdict, value: float) -> str:
    return seconds(value) if " ns" in verdict.target or " us" in verdict.target else f"{value:.2f}"


def losses(records: list[Record]) -> str:
    """Every case in which a peer is faster, worst first."""
    rows = []
    for record in records:
        best = record.best_peer
        if best and best[1] < NEVER_SLOWER and record.group != "planning":
            alone = f"{record.best_alone:.2f}x" if record.data.get("alone") else ""
            rows.append(
                (best[1], f"`{record.name}`", best[0], f"{best[1]:.2f}x", alone, seconds(record.ours["median"]))
            )
    if not rows:
        return "None: no peer is faster in any case.\n"
    head = ("case", "faster peer", "ours is", "in a process each", "our median")
    return table(head, (row[1:] for row in sorted(rows)))


def lowest(records: list[Record], most: int = 25) -> str:
    """The cases furthest from the ceiling."""
    ranked = sorted((r for r in records if r.fraction and targets.in_grid(r)), key=lambda r: r.fraction)
    rows = ((f"`{r.name}`", f"{r.fraction:.2f}", f"{r.gigabytes:.1f}") for r in ranked[:most])
    return table(("case", "of the ceiling", "GB/s"), rows)


def group_summary(records: list[Record]) -> str:
    rows = []
    for group in dict.fromkeys(r.group for r in records):
        chosen = [r for r in records if r.group == group and r.ours]
        fractions = [r.fraction for r in chosen if r.fraction]
        ratios = [r.best_peer[1] for r in chosen if r.best_peer]
        rows.append(
            (
                group,
                str(len(chosen)),
                f"{geomean(fractions):.2f} / {min(fractions):.2f}" if fractions else "",
                f"{geomean(ratios):.2f}x / {min(ratios):.2f}x" if ratios else "",
                str(sum(ratio < NEVER_SLOWER for ratio in ratios)) if ratios else "",
            )
        )
    return table(("operation", "cases", "ceiling: geomean / worst", "best peer: geomean / worst", "losses"), rows)


def group_table(records: list[Record]) -> str:
    """One line per case: time, speed, fraction, and how many times faster than each peer."""
    families = [name for name in PEERS if any(targets.family_ratio(r, name) for r in records if r.ours)]
    fill = any(r.fill_ceiling for r in records)
    head = ["case", "bytes out", "ours", "GB/s", "of the ceiling", *(["of a fill"] if fill else []), *families]
    rows = []
    for r in records:
        if r.ours is None:
            continue
        row = [
            f"`{r.name.split('/', 1)[1]}`",
            show_bytes(r.bytes_written),
            seconds(r.ours["min"]),
            f"{r.gigabytes:.1f}",
        ]
        row.append(f"{r.fraction:.2f}" if r.fraction else "")
        if fill:
            row.append(f"{r.fill_ceiling / r.ours['min']:.2f}" if r.fill_ceiling and r.fraction else "")
        for family in families:
            ratio = targets.family_ratio(r, family)
            row.append("" if ratio is None else f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x")
        rows.append(row)
    return table(head, rows)


def refusals(records: list[Record]) -> str:
    """Why a peer is missing from a case, each reason once."""
    reasons: dict[tuple[str, str], int] = {}
    for record in records:
        for peer, reason in record.refused.items():
            if reason != "not compared":
                reasons[peer, reason] = reasons.get((peer, reason), 0) + 1
    return "".join(f"- {peer}: {reason} ({count} cases)\n" for (peer, reason), count in sorted(reasons.items()))


def markdown(head: dict[str, Any], records: list[Record], plots: list[str]) -> str:
    verdicts = targets.verdicts(records)
    parts = [
        "# Benchmark results\n",
        machine_text(head),
        "Ceiling fractions compare fastest samples, peers compare medians; below 1 MB there is no ceiling fraction.\n",
        "## Targets\n",
        target_table(verdicts),
        miss_list(verdicts),
        "## By operation\n",
        group_summary(records),
        "## Where a peer is faster\n",
        losses(records),
        "## Furthest from the ceiling\n",
        lowest(records),
    ]
    for group in dict.fromkeys(r.group for r in records):
        parts.append(f"## {group}\n")
        if f"{group}.png" in plots:
            parts.append(f"![{group}]({group}.png)\n")
        parts.append(group_table([r for r in records if r.group == group]))
    refused = refusals(records)
    if refused:
        parts += ["## Peers that did not take part in a case\n", refused]
    return "\n".join(part for part in parts if part)


def write(options: argparse.Namespace, head: dict[str, Any], records: list[Record]) -> None:
    """Prints the summary and writes the files; the plots only where matplotlib is installed."""
    from benchmarks import compare, plots

    folders = [options.out]
    if options.save:
        folders.append(HERE / "results" / options.save)
    drawn: list[str] = []
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        if not options.no_plots:
            drawn = plots.draw(folder, records)
        (folder / "results.md").write_text(markdown(head, records, drawn))
    if options.save:
        results.save(folders[-1] / "results.json", head, records)
    verdicts = targets.verdicts(records)
    print(target_table(verdicts))
    print(miss_list(verdicts, most=6))
    print(group_summary(records))
    if any(r.best_peer for r in records):
        print("Where a peer is faster:\n" + losses(records))
    print(f"written: {', '.join(str(folder / 'results.md') for folder in folders)}", file=sys.stderr)
    if options.compare:
        print(compare.text(results.load(options.compare)[1], records))

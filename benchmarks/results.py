"""The figures of one measured case, and of a file of them."""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.case import ONE_MB

NEVER_SLOWER = 0.97  # ratio of medians that still counts as not slower


@dataclass
class Record:
    """One case's measurements; wraps the dictionary that is written to the JSON file."""

    data: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None

    def times(self, role: str) -> dict[str, dict[str, Any]]:
        return {name: entry for name, entry in self.contestants.items() if entry["role"] == role}

    @property
    def ours(self) -> dict[str, Any] | None:
        return self.contestants.get("ours")

    @property
    def ceiling(self) -> float | None:
        """Seconds of the faster copy."""
        times = [self.contestants[n]["min"] for n in ("memcpy", "stream copy") if n in self.contestants]
        return min(times) if times else None

    @property
    def fill_ceiling(self) -> float | None:
        """Seconds of the faster way to write only; broadcasts have it."""
        times = [self.contestants[n]["min"] for n in ("memset", "stream fill") if n in self.contestants]
        return min(times) if times else None

    @property
    def fraction(self) -> float | None:
        """Of the copy ceiling; None below 1 MB, where the call is the cost."""
        if self.ours is None or self.ceiling is None or self.bytes_written < ONE_MB:
            return None
        return self.ceiling / self.ours["min"]

    @property
    def gigabytes(self) -> float | None:
        return self.speed("ours")

    def speed(self, name: str) -> float | None:
        """GB/s read and written, from the fastest sample."""
        entry = self.contestants.get(name)
        return (self.bytes_read + self.bytes_written) / entry["min"] / 1e9 if entry else None

    @property
    def peer_ratios(self) -> dict[str, float]:
        """Times faster than each peer, by medians."""
        mine = self.ours
        return {name: entry["median"] / mine["median"] for name, entry in self.times("peer").items()} if mine else {}

    @property
    def best_alone(self) -> float | None:
        """Times faster than the best peer, where those that were faster had a process of their own (`--alone`)."""
        ratios = self.peer_ratios | self.data.get("alone", {})
        return min(ratios.values(), default=None)

    @property
    def best_peer(self) -> tuple[str, float] | None:
        """The fastest peer and how many times faster ours is, by medians."""
        return min(self.peer_ratios.items(), key=lambda pair: pair[1], default=None)

    def ratio_to(self, name: str) -> float | None:
        """Times faster than the named contestant, by medians."""
        entry = self.contestants.get(name)
        return entry["median"] / self.ours["median"] if entry and self.ours else None


def family(contestant: str) -> str:
    """The library of a contestant: torch of "torch" and of "torch.cat"."""
    return contestant.split(".")[0]


def geomean(values: Iterable[float]) -> float:
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else math.nan


def seconds(value: float) -> str:
    """1.2e-05 as "12.0 us"."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.0f} ns"


def show_bytes(size: int) -> str:
    for unit, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} B"


def load(path: pathlib.Path) -> tuple[dict[str, Any], list[Record]]:
    """The machine and the records of a JSON file."""
    content = json.loads(path.read_text())
    return content["machine"], [Record(entry) for entry in content["cases"]]


def save(path: pathlib.Path, machine: dict[str, Any], records: list[Record]) -> None:
    """Written beside the old file first, so that an interruption leaves a whole one."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"machine": machine, "cases": [r.data for r in records]}, indent=1) + "\n")
    partial.replace(path)

"""oneDNN itself: its own shuffle primitive through dnnmove, and its reorder for every other strided copy."""

from __future__ import annotations

import dnnmove as dm
from benchmarks.contestants import onednn_reorder
from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.contestants.words import in_words
from benchmarks.operations import Problem


def start(threads: int) -> None:
    if not hasattr(dm, "ShuffleForward"):
        raise ImportError("this build of dnnmove has no ShuffleForward")
    onednn_reorder.start(threads)


def version() -> str:
    return str(dm.onednn_version())


def contestants(problem: Problem) -> list[Contestant]:
    case = problem.case
    if case.op == "shuffle_forward":
        from benchmarks.contestants import shuffle_forward

        return shuffle_forward.onednn(problem)
    if problem.pairs is None or case.small or case.output == "new" or case.op == "broadcast":
        raise UnsupportedError("not compared")
    w = in_words(problem, onednn_reorder.TYPES)
    runs = [onednn_reorder.Reorder(dst, src) for dst, src in w.pairs]
    if len(runs) == 1:
        return [Contestant("onednn", "reorder()", {"reorder": runs[0]})]
    return [Contestant("onednn", "for reorder in reorders: reorder()", {"reorders": runs})]

"""ShuffleForward on Memory objects: "auto" is ours, the forced oneDNN implementation is the peer."""

from __future__ import annotations

from typing import Any

import numpy as np

import dnnmove as dm
from benchmarks.contestants.contestant import Contestant, UnsupportedError
from benchmarks.operations import Problem


def memory_of(desc: Any, array: np.ndarray) -> Any:
    return dm.Memory(desc, buffer=array.reshape(-1).view(np.uint8))


def contestant(problem: Problem, name: str, implementation: str, role: str) -> Contestant:
    case = problem.case
    dtype = "bfloat16" if case.dtype == "bfloat16" else np.dtype(case.dtype)
    desc = dm.MemoryDesc(case.shape, dtype, case.params["layout"])
    group_size = case.shape[1] // case.params["group"]
    shuffle = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, desc, case.params["axis"], group_size)
    primitive = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(shuffle, implementation=implementation))
    args = {dm.ARG_SRC: memory_of(desc, problem.inputs[0]), dm.ARG_DST: memory_of(desc, problem.outs[0])}
    names = {"execute": primitive.execute, "stream": dm.Stream(), "args": args, "primitive": primitive}
    return Contestant(name, "execute(stream, args)", names, role=role)


def ours(problem: Problem) -> list[Contestant]:
    if not hasattr(dm, "ShuffleForward"):
        raise UnsupportedError("this build has no ShuffleForward")
    return [
        contestant(problem, "ours", "auto", "ours"),
        contestant(problem, "ours, native", "native", "ours"),
    ]


def onednn(problem: Problem) -> list[Contestant]:
    return [contestant(problem, "onednn", "onednn", "peer")]


def explain(problem: Problem) -> str:
    primitive = contestant(problem, "ours", "auto", "ours").names["primitive"]
    return str(primitive.explain())

"""dnnmove itself: the eager calls, and the primitives where a case is small."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import dnnmove as dm
from benchmarks import operations
from benchmarks.case import Case
from benchmarks.contestants.contestant import Contestant, UnsupportedError, as_list
from benchmarks.operations import Problem


def start(threads: int) -> None:
    if hasattr(dm, "set_num_threads"):
        dm.set_num_threads(threads)


def eager_call(case: Case) -> tuple[str, dict[str, Any]]:
    """The eager call of a case without its ``out``, and the names in it."""
    p = case.params
    if case.op == "transpose":
        return "transpose(x, order", {"transpose": dm.transpose, "order": p["order"]}
    if case.op == "shuffle":
        names = {"shuffle_channels": dm.shuffle_channels, "axis": p["axis"], "group": p["group"]}
        return "shuffle_channels(x, axis, group", names
    if case.op == "split":
        names = {"variadic_split": dm.variadic_split, "axis": p["axis"], "lengths": p["lengths"]}
        return "variadic_split(x, axis, lengths", names
    if case.op == "concat":
        return "concat(xs, axis", {"concat": dm.concat, "axis": p["axis"]}
    if case.op == "broadcast":
        return "broadcast(x, target", {"broadcast": dm.broadcast, "target": p["target"]}
    if case.op == "take":
        return "take(x, indices, axis", {"take": dm.take, "indices": operations.take_indices(case), "axis": p["axis"]}
    if case.op == "call":
        return "f(x", {"f": functools.partial(getattr(dm, p["function"]), **p["arguments"])}
    raise UnsupportedError(f"no eager call for {case.op}")


PRIMITIVES = ("transpose", "shuffle", "split", "broadcast") if hasattr(dm, "Transpose") else ()


def primitive(problem: Problem, **more: Any) -> Any:
    """The primitive of a case; ``more`` goes to its Desc."""
    if not hasattr(dm, "Transpose"):
        raise UnsupportedError("this build has no primitives")
    case, p = problem.case, problem.case.params
    desc = dm.MemoryDesc.of(problem.inputs[0])
    if case.op == "transpose":
        return dm.Transpose(dm.Transpose.Desc(desc, p["order"], **more))
    if case.op == "shuffle":
        return dm.ShuffleChannels(dm.ShuffleChannels.Desc(desc, p["axis"], p["group"], **more))
    if case.op == "split":
        return dm.VariadicSplit(dm.VariadicSplit.Desc(desc, p["axis"], p["lengths"], **more))
    if case.op == "broadcast":
        return dm.Broadcast(dm.Broadcast.Desc(desc, p["target"], **more))
    raise UnsupportedError(f"no primitive for {case.op}")


def chain(problem: Problem) -> Any:
    """The chain of a case, built."""
    if not hasattr(dm, "Chain"):
        raise UnsupportedError("this build has no Chain")
    built = dm.Chain(dm.MemoryDesc.of(problem.inputs[0]))
    if problem.case.op == "take":
        return built.take(operations.take_indices(problem.case), problem.case.params["axis"]).build()
    if problem.case.op == "call":
        return getattr(built, problem.case.params["function"])(**problem.case.params["arguments"]).build()
    for name, arguments in problem.case.params["steps"]:
        built = getattr(built, name)(*arguments.values()) if name == "index" else getattr(built, name)(**arguments)
    return built.build()


EAGER = ("shuffle_channels", "transpose", "variadic_split", "broadcast")


def chain_steps(problem: Problem) -> list[Contestant]:
    """Each operation of a chain alone, into ready outputs: what the chain's time is held against."""
    found = []
    branches = [np.ascontiguousarray(problem.inputs[0])]
    for position, (name, arguments) in enumerate(problem.case.params["steps"]):
        following = [
            [np.ascontiguousarray(r) for r in operations.chain_steps(b, ((name, arguments),))] for b in branches
        ]
        if name in EAGER:
            calls = []
            for branch, results in zip(branches, following, strict=True):
                outs = [np.zeros_like(result) for result in results]
                calls.append((branch, tuple(outs) if name == "variadic_split" else outs[0]))
            names = {"f": functools.partial(getattr(dm, name), **arguments), "calls": calls}
            statement = "for x, out in calls: f(x, out=out)"
            found.append(Contestant(f"ours, step {position}", statement, names, role="ours", checked=False))
        branches = [result for results in following for result in results]
    return found


def out_names(problem: Problem) -> dict[str, Any]:
    case, outs = problem.case, problem.outs
    several = case.op == "split" or (case.op in ("chain", "pipeline") and len(outs) > 1)
    names = {"out": tuple(outs) if several else outs[0]}
    if case.op == "pipeline" and len(problem.inputs) > 1:
        names["x"] = problem.inputs
    elif case.op == "concat":
        names["xs"] = problem.inputs
    else:
        names["x"] = problem.inputs[0]
    return names


def ready(name: str, call: str, names: dict[str, Any]) -> Contestant:
    return Contestant(name, f"{call}, out=out)", names, role="ours")


def new(name: str, call: str, names: dict[str, Any]) -> Contestant:
    return Contestant(name, f"y = {call})", names, lambda scope: as_list(scope["y"]), role="ours")


def contestants(problem: Problem) -> list[Contestant]:
    """The first one is what the tables call "ours"; the others are shown beside it."""
    case = problem.case
    if case.op == "shuffle_forward":
        from benchmarks.contestants import shuffle_forward

        return shuffle_forward.ours(problem)
    names = out_names(problem)
    if case.op == "pipeline":
        return [ready("ours", "f(x", names | {"f": problem.built})]
    if case.op == "chain":
        names["f"] = chain(problem)
        return [ready("ours", "f(x", names), *chain_steps(problem)]
    if case.group == "tuned":
        dm.tuning.clear()
        tuned = primitive(problem, tune=True)
        return [
            ready("ours", "f(x", names | {"f": primitive(problem)}),
            ready("ours, tuned", "f(x", names | {"f": tuned}),
        ]
    call, more = eager_call(case)
    names |= more
    if case.output == "new":
        return [new("ours", call, names), ready("ours, ready", call, names)]
    result = [ready("ours", call, names)]
    if case.group == "planning":
        names = names | {"clear": dm.clear_caches}
        return [
            *result,
            Contestant("ours, planning", f"clear(); {call}, out=out)", names, role="ours"),
            Contestant("ours, clearing", "clear()", names, role="ours", checked=False),
        ]
    if case.small and case.op in PRIMITIVES:
        result.append(ready("ours, primitive", "f(x", names | {"f": primitive(problem)}))
    return result


def passes(problem: Problem) -> int:
    """Trips through memory; more than one is for chains to say."""
    if problem.case.op == "pipeline":
        return int(problem.built.passes)
    return int(chain(problem).passes) if problem.case.op == "chain" else 1


def explain(problem: Problem) -> str:
    """How dnnmove runs the case, or nothing where this cannot be asked."""
    try:
        if problem.case.op == "shuffle_forward":
            from benchmarks.contestants import shuffle_forward

            return shuffle_forward.explain(problem)
        if problem.case.op == "pipeline":
            return str(problem.built.explain())
        runner = chain(problem) if problem.case.op in ("chain", "take", "call") else primitive(problem)
        return str(runner.explain())
    except Exception:
        return ""

"""NumPy: copyto of a view into the ready output, or copy() of the view."""

from __future__ import annotations

import numpy as np

from benchmarks import calls, operations
from benchmarks.contestants.contestant import Contestant, UnsupportedError, as_list
from benchmarks.operations import Problem


def start(threads: int) -> None:
    """NumPy copies on one thread."""


def version() -> str:
    return np.__version__


def small(problem: Problem) -> list[Contestant]:
    """The whole call as a user writes it, making the view included."""
    case, p = problem.case, problem.case.params
    names = {"x": problem.inputs[0], "out": problem.outs[0], "copyto": np.copyto, "np": np, "shape": case.shape}
    if case.op == "transpose":
        view, names["order"] = "x.transpose(order)", p["order"]
    elif case.op == "broadcast":
        view, names["target"] = "np.broadcast_to(x, target)", p["target"]
    elif case.op == "shuffle":
        axis, group = p["axis"], p["group"]
        cut = (*case.shape[:axis], group, case.shape[axis] // group, *case.shape[axis + 1 :])
        names |= {"cut": cut, "axis": axis, "after": axis + 1}
        view = "x.reshape(cut).swapaxes(axis, after)"
    elif case.op == "split":
        names |= {"pairs": problem.pairs}
        if case.output == "new":
            ends = [sum(p["lengths"][: i + 1]) for i in range(len(p["lengths"]))]
            before = (slice(None),) * (p["axis"] % len(case.shape))
            starts = [0, *ends[:-1]]
            names["cuts"] = [(*before, slice(a, b)) for a, b in zip(starts, ends, strict=True)]
            return [Contestant("numpy", "y = [x[c].copy() for c in cuts]", names, lambda s: as_list(s["y"]))]
        return [Contestant("numpy", "for d, s in pairs: copyto(d, s)", names)]
    else:
        raise UnsupportedError(f"no NumPy idiom for a small {case.op}")
    if case.output == "new":
        make = f"{view}.reshape(shape)" if case.op == "shuffle" else f"{view}.copy()"
        return [Contestant("numpy", f"y = {make}", names, lambda s: as_list(s["y"]))]
    if case.op == "shuffle":
        return [Contestant("numpy", f"copyto(cut_out, {view})", names | {"cut_out": problem.pairs[0][0]})]
    if case.op == "broadcast":
        return [Contestant("numpy", "copyto(out, x)", names)]
    return [Contestant("numpy", f"copyto(out, {view})", names)]


def contestants(problem: Problem) -> list[Contestant]:
    case = problem.case
    if case.op == "pipeline":
        from benchmarks.contestants import pipeline_peers

        return pipeline_peers.numpy(problem)
    if case.op == "chain":
        from benchmarks.contestants import chain_peers

        return chain_peers.numpy_steps(problem)
    if case.op == "take":
        names = {"take": np.take, "x": problem.inputs[0], "out": problem.outs[0], "axis": case.params["axis"]}
        names["indices"] = operations.take_indices(case)
        return [Contestant("numpy", "take(x, indices, axis, out=out, mode='clip')", names)]  # 'raise' copies once more
    if case.op == "call":
        names = {"f": lambda x: calls.result(case, x), "x": problem.inputs[0]}
        if np.may_share_memory(calls.result(case, problem.inputs[0]), problem.inputs[0]):
            names |= {"copyto": np.copyto, "out": problem.outs[0]}
            return [Contestant("numpy", "copyto(out, f(x))", names)]
        return [Contestant("numpy", "y = f(x)", names, lambda scope: as_list(scope["y"]))]
    if problem.pairs is None:
        raise UnsupportedError("NumPy has no blocked layouts")
    if case.small:
        return small(problem)
    names = {"copyto": np.copyto, "pairs": problem.pairs, "dst": problem.pairs[0][0], "src": problem.pairs[0][1]}
    if case.output == "new":
        shape = problem.outs[0].shape
        if len(problem.pairs) == 1 and case.op != "concat":
            statement = "y = src.reshape(shape)" if case.op == "shuffle" else "y = src.copy()"
        elif case.op == "concat":
            statement = "y = concatenate(xs, axis)"
            names |= {"concatenate": np.concatenate, "xs": problem.inputs, "axis": case.params["axis"]}
        else:
            statement = "y = [s.copy() for _, s in pairs]"
        return [Contestant("numpy", statement, names | {"shape": shape}, lambda s: as_list(s["y"]))]
    if len(problem.pairs) == 1:
        return [Contestant("numpy", "copyto(dst, src)", names)]
    return [Contestant("numpy", "for d, s in pairs: copyto(d, s)", names)]

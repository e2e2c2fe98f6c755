"""A pass over ATen graphs without mutation: movement that costs copies becomes chains."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch.fx import Graph, Node

from dnnmove import MemoryDesc
from dnnmove.torch import _shapes
from dnnmove.torch._chain import run_chain
from dnnmove.torch._movement import COPIES, VIEWS, source_of, steps_of
from dnnmove.torch._spec import Call, Spec, steps_on

__all__ = ["fold"]

# The smallest copies worth a chain, in bytes. Beside inductor: the size from which glibc takes new pages for every new
# tensor, which cost several times the copy, and which dnnmove keeps; below, inductor's own loops are as fast. Without
# inductor, the call of an operator is what counts.
LEAST_BESIDE_INDUCTOR = 1 << 25
LEAST_IN_EAGER_GRAPHS = 1 << 16

# What runs as a kernel of its own under inductor: its arguments and results lie in memory whatever is fused.
_KERNELS = frozenset({"_linear_pointwise", "addmm", "baddbmm", "bmm", "convolution", "convolution_backward", "mm"})


def _is_kernel(node: Node) -> bool:
    """Whether `node` runs as it is, whatever stands beside it."""
    if node.target is operator.getitem:
        return _is_kernel(node.all_input_nodes[0])
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    name = node.target._opname
    return name in _KERNELS or name.startswith("_scaled_dot_product") or node.target.namespace == "dnnmove"


def _in_memory(node: Node) -> bool:
    """Whether the value of `node` is written out in any case."""
    return node.op != "call_function" or any(user.op == "output" for user in node.users) or _is_kernel(node)


def _read_from_memory(node: Node) -> bool:
    """Whether everything that uses `node`, by views of it, needs it written out."""
    return all(
        _read_from_memory(user) if user.target in VIEWS else user.op == "output" or _is_kernel(user)
        for user in node.users
    )


def _region(last: Node) -> tuple[Node, list[Node]]:
    """Where the movement that ends with `last` begins, and its nodes in order."""
    nodes = [last]
    source = source_of(last)
    assert source is not None
    while True:
        before = source_of(source)
        if before is None or (source.target in COPIES and len(source.users) > 1):
            return source, nodes  # a copy that others want, too, is made in any case
        nodes.insert(0, source)
        source = before


def _order(value: Any) -> list[int] | None:
    """The axes of a dense tensor as they lie in memory, outermost first; None where it is not dense."""
    axes = sorted(range(value.ndim), key=lambda axis: (-value.stride(axis), axis))
    expected = 1
    for axis in reversed(axes):
        if value.shape[axis] != 1 and value.stride(axis) != expected:
            return None
        expected *= value.shape[axis]
    return axes


def _spec(source: Node, nodes: list[Node], order: list[int]) -> Spec | None:
    """The chain for a region; None where it is no single pass or is not known to dnnmove."""
    value = source.meta["val"]
    steps = [step for node in nodes for step in steps_of(node)]
    if order != sorted(order):
        steps.append(Call("transpose", (tuple(order),), {}))
    dtype = str(value.dtype).removeprefix("torch.")
    strides = tuple(value.stride())
    options = {"max_nests": 64, "tune": False}
    try:
        built = steps_on(tuple(steps), MemoryDesc(tuple(value.shape), dtype, strides)).build()
    except (TypeError, ValueError):
        return None
    return Spec(tuple(value.shape), strides, dtype, tuple(steps), options, False) if built.passes == 1 else None


def _call(graph: Graph, function: Any, *arguments: Any) -> Node:
    """A new node, with the fake tensor that it gives."""
    node = graph.call_function(function, arguments)
    values = [each.meta["val"] if isinstance(each, Node) else each for each in arguments]
    node.meta["val"] = function(*values)
    return node


def fold(graph: Graph, *, fuses: bool) -> int:
    """Replace movement by chains where that saves time; return how many.

    Each chain ends with an operation that copies, so what comes out is new memory before and after. `fuses`: whatever
    compiles the graph fuses copies with arithmetic beside them, so only those between kernels are worth a pass.
    """
    folded = 0
    least = LEAST_BESIDE_INDUCTOR if fuses else LEAST_IN_EAGER_GRAPHS
    for last in reversed(list(graph.nodes)):
        if last.target not in COPIES or not last.users or source_of(last) is None:
            continue
        source, nodes = _region(last)
        value, begin = last.meta["val"], source.meta["val"]
        order = _order(value)
        if (
            order is None
            or value.device.type != "cpu"
            or begin.layout is not torch.strided
            or math.prod(value.shape) * value.itemsize < least
            or (fuses and not (_in_memory(source) and _read_from_memory(last)))
        ):
            continue
        spec = _spec(source, nodes, order)
        if spec is None:
            continue
        with graph.inserting_before(last), begin.fake_mode:
            results = _call(graph, run_chain, source, spec.text())
            result = _call(graph, operator.getitem, results, 0)
            if order != sorted(order):
                result = _call(graph, torch.ops.aten.permute.default, result, _shapes.inverse(order))
        last.replace_all_uses_with(result)
        for node in reversed(nodes):
            if not node.users:
                graph.erase_node(node)
        folded += 1
    return folded

"""A pass over ATen graphs without mutation: movement that costs copies becomes chains."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from dnnmove import Chain
from dnnmove.torch import _shapes
from dnnmove.torch._chain import run_chain
from dnnmove.torch._joined import Joined, run_joined
from dnnmove.torch._movement import COPIES, JOINS, VIEWS, joined_by, source_of, steps_of
from dnnmove.torch._spec import Call, Spec

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


class _Region(NamedTuple):
    """Movement that one chain may do."""

    sources: list[Node]
    join: Call | None  # of several sources
    nodes: list[Node]  # what it takes the place of, in order

    def steps(self, order: list[int]) -> tuple[Call, ...]:
        """Its steps, with a result that lies in `order`."""
        steps = [step for node in self.nodes if node.target not in JOINS for step in steps_of(node)]
        turned = [] if order == sorted(order) else [Call("transpose", (tuple(order),), {})]
        return (*([] if self.join is None else [self.join]), *steps, *turned)


def _region(last: Node) -> _Region | None:
    """The movement that ends with `last`; None where a chain would save no copy."""
    nodes: list[Node] = []
    source = last
    if last.target not in JOINS:
        nodes.append(last)
        before = source_of(last)
        assert before is not None
        source = before
        while (before := source_of(source)) is not None:
            if source.target in COPIES and len(source.users) > 1:
                break  # a copy that others want, too, is made in any case
            nodes.insert(0, source)
            source = before
    joined = joined_by(source)
    if joined is None or (nodes and any(len(node.users) > 1 for node in (source, *nodes[:-1]))):
        return _Region([source], None, nodes) if nodes else None
    parts, join = joined
    sources: list[Node] = []
    copies: list[Node] = []
    for part in parts:
        while part.target is torch.ops.aten.clone.default and len(part.users) == 1 and source_of(part) is not None:
            copies.insert(0, part)
            (part,) = part.all_input_nodes
        sources.append(part)
    # Torch joins in one pass itself.
    return _Region(sources, join, [*copies, source, *nodes]) if nodes or copies else None


def _base(node: Node) -> Node:
    """What a view looks at."""
    source = source_of(node) if node.target in VIEWS else None
    return node if source is None else _base(source)


def _order(value: Any) -> list[int] | None:
    """The axes of a dense tensor as they lie in memory, outermost first; None where it is not dense."""
    axes = sorted(range(value.ndim), key=lambda axis: (-value.stride(axis), axis))
    expected = 1
    for axis in reversed(axes):
        if value.shape[axis] != 1 and value.stride(axis) != expected:
            return None
        expected *= value.shape[axis]
    return axes


def _spec(region: _Region, order: list[int]) -> Spec | Joined | None:
    """The chain for a region; None where it is no single pass or is not known to dnnmove."""
    values = [source.meta["val"] for source in region.sources]
    dtype = str(values[0].dtype).removeprefix("torch.")
    shapes = [tuple(value.shape) for value in values]
    strides = [tuple(value.stride()) for value in values]
    spec: Spec | Joined
    if region.join is None:
        options = {"max_nests": 64, "tune": False}
        spec = Spec(shapes[0], strides[0], dtype, region.steps(order), options, False)
    else:
        spec = Joined(tuple(shapes), tuple(strides), dtype, region.steps(order))
    try:
        chain: Chain = spec.chain()
        return spec if chain.build().passes == 1 else None
    except (TypeError, ValueError):
        return None


def _call(graph: Graph, function: Any, *arguments: Any) -> Node:
    """A new node, with the fake tensor that it gives."""
    node = graph.call_function(function, arguments)
    node.meta["val"] = function(*map_arg(arguments, lambda each: each.meta["val"]))
    return node


def fold(graph: Graph, *, fuses: bool) -> int:
    """Replace movement by chains where that saves time; return how many.

    Each chain ends with an operation that copies, so what comes out is new memory before and after. `fuses`: whatever
    compiles the graph fuses copies with arithmetic beside them, so only those between kernels are worth a pass.
    """
    folded = 0
    least = LEAST_BESIDE_INDUCTOR if fuses else LEAST_IN_EAGER_GRAPHS
    for last in reversed(list(graph.nodes)):
        if not last.users or not (last.target in JOINS or (last.target in COPIES and source_of(last) is not None)):
            continue
        region = _region(last)
        if region is None:
            continue
        value, begin = last.meta["val"], region.sources[0].meta["val"]
        order = _order(value)
        if (
            order is None
            or value.device.type != "cpu"
            or any(source.meta["val"].layout is not torch.strided for source in region.sources)
            or math.prod(value.shape) * value.itemsize < least
            or (fuses and not all(_in_memory(_base(source)) for source in region.sources))
            or (fuses and not _read_from_memory(last))
        ):
            continue
        spec = _spec(region, order)
        if spec is None:
            continue
        with graph.inserting_before(last), begin.fake_mode:
            if isinstance(spec, Joined):
                result = _call(graph, run_joined, region.sources, spec.text())
            else:
                result = _call(graph, operator.getitem, _call(graph, run_chain, *region.sources, spec.text()), 0)
            if order != sorted(order):
                result = _call(graph, torch.ops.aten.permute.default, result, _shapes.inverse(order))
        last.replace_all_uses_with(result)
        for node in reversed(region.nodes):
            if not node.users:
                graph.erase_node(node)
        folded += 1
    return folded

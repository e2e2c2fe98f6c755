"""Which operations of an ATen graph only move elements, and the step of a chain that does the same."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx import Node
from torch.utils._python_dispatch import _disable_current_modes

from dnnmove.torch._spec import Call

__all__ = ["COPIES", "JOINS", "VIEWS", "joined_by", "source_of", "steps_of"]

aten = torch.ops.aten


def _shape(node: Node) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)


def _step(method: str, *arguments: Any) -> Iterator[Call]:
    yield Call(method, arguments, {})


def _reshaped(node: Node, *_: Any, **__: Any) -> Iterator[Call]:
    return _step("reshape", _shape(node))


def _nothing(node: Node, *_: Any, **__: Any) -> Iterator[Call]:
    return iter(())


def _permuted(node: Node, x: Node, dims: list[int]) -> Iterator[Call]:
    return _step("transpose", tuple(dims)) if dims else iter(())


def _swapped(node: Node, x: Node, a: int = 0, b: int = -1) -> Iterator[Call]:
    return _step("swapaxes", a, b) if len(_shape(x)) > 1 else iter(())


def _expanded(node: Node, x: Node, *_: Any, **__: Any) -> Iterator[Call]:
    return _step("broadcast", _shape(node))


def _key(axis: int, ndim: int, entry: Any) -> tuple[Any, ...]:
    return (*(slice(None) for _ in range(axis % ndim)), entry)


def _sliced(node: Node, x: Node, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Iterator[Call]:
    return _step("index", _key(dim, len(_shape(x)), slice(start, end, step)))


def _selected(node: Node, x: Node, dim: int, index: int) -> Iterator[Call]:
    return _step("index", _key(dim, len(_shape(x)), index))


def _part(node: Node, parts: Node, i: int) -> Iterator[Call]:
    """One result of a split or an unbind, whose positions follow from the lengths of those before it."""
    x = parts.args[0]
    assert isinstance(x, Node)
    if parts.target is aten.unbind.int:
        axis = parts.args[1] if len(parts.args) > 1 else 0
        return _step("index", _key(axis, len(_shape(x)), i))
    axis = parts.args[2] if len(parts.args) > 2 else 0
    lengths = [value.shape[axis] for value in parts.meta["val"]]
    first = sum(lengths[:i])
    return _step("index", _key(axis, len(_shape(x)), slice(first, first + lengths[i])))


def _flipped(node: Node, x: Node, dims: list[int]) -> Iterator[Call]:
    return _step("flip", tuple(dims))


def _rolled(node: Node, x: Node, shifts: list[int], dims: Any = ()) -> Iterator[Call]:
    return _step("roll", tuple(shifts), tuple(dims)) if dims else _step("roll", shifts[0])


def _repeated(node: Node, x: Node, reps: list[int]) -> Iterator[Call]:
    return _step("tile", tuple(reps))


def _channels(node: Node, x: Node, groups: int) -> Iterator[Call]:
    return _step("shuffle_channels", 1, groups)


def _pixels(node: Node, x: Node, factor: int) -> Iterator[Call]:
    return _step("pixel_shuffle", factor)


def _blocks(node: Node, x: Node, factor: int) -> Iterator[Call]:
    return _step("pixel_unshuffle", factor)


def _pairs(padding: list[int], ndim: int) -> tuple[tuple[int, int], ...]:
    """NumPy's widths, one pair for each axis, of torch's, which begin with the last axis."""
    last_first = list(zip(padding[::2], padding[1::2], strict=True))
    return (*((0, 0) for _ in range(ndim - len(last_first))), *reversed(last_first))


def _constant_around(node: Node) -> Any:
    """The number that a constant pad puts around its tensor, as the dtype holds it; None for what is no number."""
    value = node.kwargs.get("value", node.args[2] if len(node.args) > 2 else 0)
    try:
        with _disable_current_modes():  # of fake tensors
            return torch.empty((), dtype=node.meta["val"].dtype).fill_(value).item()
    except (RuntimeError, TypeError):  # no such number, or a symbol
        return None


def _padded(node: Node, x: Node, pad: list[int], *_: Any, **__: Any) -> Iterator[Call]:
    pairs = _pairs(pad, len(_shape(x)))
    if any(width < 0 for pair in pairs for width in pair):
        ends = zip(pairs, _shape(x), strict=True)
        yield from _step("index", tuple(slice(max(-a, 0), n + min(b, 0)) for (a, b), n in ends))
    if any(width > 0 for pair in pairs for width in pair):
        widths = tuple((max(a, 0), max(b, 0)) for a, b in pairs)
        yield from _step("pad", widths, "constant", _constant_around(node))


def _bordered(mode: str) -> Callable[..., Iterator[Call]]:
    def steps(node: Node, x: Node, padding: list[int]) -> Iterator[Call]:
        return _step("pad", _pairs(padding, len(_shape(x))), mode)

    return steps


_ARITHMETIC = (
    *(aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.fmod.Scalar, aten.remainder.Scalar),
    *(aten.abs.default, aten.clamp_min.default, aten.clamp_max.default),  # of the positions of borders
)
_MOST_POSITIONS = 1 << 16  # a chain holds them all, as text too


def _constant(node: Any) -> Any:
    """The value of a node that no input decides, as inductor writes the positions of rolls and borders; else None."""
    if not isinstance(node, Node):
        return node
    if node.target is torch.ops.prims.iota.default:
        known = type(node.args[0]) is int and node.args[0] <= _MOST_POSITIONS
        return node.target(*node.args, **node.kwargs) if known else None
    if node.target not in _ARITHMETIC or node.kwargs or len(node.all_input_nodes) != 1:
        return None
    arguments = [_constant(each) for each in node.args]
    return None if any(each is None for each in arguments) else node.target(*arguments)


def positions_of(node: Node) -> tuple[int, list[int]] | None:
    """The axis and the constant positions along it that an index takes; None where it is another kind of index."""
    _, indices = node.args
    assert isinstance(indices, list | tuple)
    given = [axis for axis, each in enumerate(indices) if each is not None]
    if len(given) != 1:
        return None
    positions = _constant(indices[given[0]])
    if not isinstance(positions, torch.Tensor) or positions.ndim != 1 or positions.dtype is not torch.int64:
        return None
    return given[0], positions.tolist()


def _taken(node: Node, x: Node, indices: Any) -> Iterator[Call]:
    found = positions_of(node)
    assert found is not None
    axis, positions = found
    length = _shape(x)[axis]
    if positions == [(first + positions[0]) % length for first in range(length)]:
        return _step("roll", -positions[0], axis)
    return _step("take", tuple(positions), axis)


# Without a copy in torch.
VIEWS: dict[Any, Callable[..., Iterator[Call]]] = {
    aten.view.default: _reshaped,
    aten._unsafe_view.default: _reshaped,
    aten.reshape.default: _reshaped,
    aten.permute.default: _permuted,
    aten.transpose.int: _swapped,
    aten.t.default: _swapped,
    aten.expand.default: _expanded,
    aten.unsqueeze.default: _reshaped,
    aten.squeeze.default: _reshaped,
    aten.squeeze.dim: _reshaped,
    aten.squeeze.dims: _reshaped,
    aten.slice.Tensor: _sliced,
    aten.select.int: _selected,
    aten.alias.default: _nothing,
    aten.detach.default: _nothing,
    operator.getitem: _part,
}
# With one.
COPIES: dict[Any, Callable[..., Iterator[Call]]] = {
    aten.clone.default: _nothing,
    aten.flip.default: _flipped,
    torch.ops.prims.rev.default: _flipped,
    aten.roll.default: _rolled,
    aten.repeat.default: _repeated,
    aten.channel_shuffle.default: _channels,
    aten.index.Tensor: _taken,
    aten._unsafe_index.Tensor: _taken,
    aten.constant_pad_nd.default: _padded,
    aten.pixel_shuffle.default: _pixels,
    aten.pixel_unshuffle.default: _blocks,
}
for _rank in (1, 2, 3):
    COPIES[getattr(aten, f"reflection_pad{_rank}d").default] = _bordered("reflect")
    COPIES[getattr(aten, f"replication_pad{_rank}d").default] = _bordered("edge")
_INDICES = (aten.index.Tensor, aten._unsafe_index.Tensor)
# Several tensors into one.
JOINS: dict[Any, str] = {aten.cat.default: "concat", aten.stack.default: "stack"}
_PARTS = (aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int)


def source_of(node: Node) -> Node | None:
    """What `node` moves; None where it does something else, or where a length is not known yet."""
    if node.op != "call_function" or (node.target not in VIEWS and node.target not in COPIES):
        return None
    x = node.args[0]
    if node.target is operator.getitem:
        if not isinstance(x, Node) or x.target not in _PARTS:
            return None
        x = x.args[0]
    elif (node.target in _INDICES and positions_of(node) is None) or (
        node.target is aten.constant_pad_nd.default and _constant_around(node) is None
    ):
        return None
    if not isinstance(x, Node) or any(isinstance(each, Node) for each in node.args[1:]):
        return None
    return x if _alike([node, x]) else None


def _alike(nodes: list[Node]) -> bool:
    """Whether all are tensors of known lengths and of one dtype."""
    values = [node.meta.get("val") for node in nodes]
    known = all(isinstance(value, torch.Tensor) and all(type(n) is int for n in value.shape) for value in values)
    return known and len({value.dtype for value in values}) == 1


def joined_by(node: Node) -> tuple[list[Node], Call] | None:
    """What `node` joins, and how; None where it is no join of such tensors."""
    if node.op != "call_function" or node.target not in JOINS or node.kwargs:
        return None
    parts = node.args[0]
    axis = node.args[1] if len(node.args) > 1 else 0
    if (
        not isinstance(parts, list | tuple)
        or not all(isinstance(part, Node) for part in parts)
        or type(axis) is not int
    ):
        return None
    nodes = [part for part in parts if isinstance(part, Node)]
    if not nodes or not _alike([node, *nodes]) or len({part.meta["val"].ndim for part in nodes}) != 1:
        return None  # torch.cat takes empty tensors of one axis beside others
    return nodes, Call(JOINS[node.target], (axis,), {})


def steps_of(node: Node) -> tuple[Call, ...]:
    """The steps of a chain that do what `node` does."""
    make = VIEWS.get(node.target) or COPIES[node.target]
    keywords = {name: value for name, value in node.kwargs.items() if name != "memory_format"}
    return tuple(make(node, *node.args, **keywords))

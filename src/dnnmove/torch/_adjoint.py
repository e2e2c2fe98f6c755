"""The adjoint of a chain: what its backward does, in as few chains as the steps allow."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from dnnmove import Chain, MemoryDesc
from dnnmove.torch import _shapes
from dnnmove.torch._direct import DIRECT, way
from dnnmove.torch._functions import concatenated
from dnnmove.torch._operators import summed
from dnnmove.torch._pattern import axes_of
from dnnmove.torch._spec import Call, Spec, read, steps_on, taken_on

__all__ = ["adjoint_of"]

Shape = tuple[int, ...]


class Fold(NamedTuple):
    """A function of the gradient, where elements are summed or zeros put between them."""

    run: Callable[[Any], Any]
    shape: Shape  # of what it returns


# What a step's adjoint consists of.
Stage = Call | Fold


def _step(method: str, *arguments: Any, **keywords: Any) -> Call:
    return Call(method, arguments, keywords)


def _reshaped(shape: Shape, /, **_: Any) -> Iterator[Stage]:
    yield _step("reshape", shape)


def _shuffle(shape: Shape, axis: int, group_size: int) -> Iterator[Stage]:
    if shape[axis] != 0:
        yield _step("shuffle", axis, shape[axis] // group_size)


def _shuffle_channels(shape: Shape, axis: int, group: int) -> Iterator[Stage]:
    if shape[axis] != 0:
        yield _step("shuffle_channels", axis, shape[axis] // group)


def _transpose(shape: Shape, input_order: Shape) -> Iterator[Stage]:
    yield _step("transpose", _shapes.inverse(_shapes.transposed(shape, input_order)))


def _broadcast(
    shape: Shape, target_shape: Shape, axes_mapping: Shape | None = None, mode: str = "numpy"
) -> Iterator[Stage]:
    axes = _shapes.broadcast_axes(shape, target_shape, axes_mapping, mode)[1]
    yield Fold(lambda gradient: summed(gradient, shape, axes), shape)


def _moveaxis(shape: Shape, source: Any, destination: Any) -> Iterator[Stage]:
    yield _step("moveaxis", destination, source)


def _swapaxes(shape: Shape, axis1: int, axis2: int) -> Iterator[Stage]:
    yield _step("swapaxes", axis1, axis2)


def _flip(shape: Shape, axis: Any = None) -> Iterator[Stage]:
    yield _step("flip", axis)


def _roll(shape: Shape, shift: Any, axis: Any = None) -> Iterator[Stage]:
    turn = max(1, math.prod(shape))  # of any axis: a shift may be as large as its type, and has a negative one
    yield _step("roll", tuple(-(n % turn) for n in shift) if isinstance(shift, tuple) else -(shift % turn), axis)


def _summed_parts(shape: Shape, apart: list[int], repeated: list[int]) -> Fold:
    return Fold(lambda gradient: gradient.reshape(apart).sum(repeated).reshape(shape), shape)


def _tile(shape: Shape, reps: Any) -> Iterator[Stage]:
    counts = reps if isinstance(reps, tuple) else (reps,)
    rank = max(len(counts), len(shape))
    counts = (1,) * (rank - len(counts)) + counts
    lengths = (1,) * (rank - len(shape)) + shape
    if rank:
        apart = [n for pair in zip(counts, lengths, strict=True) for n in pair]
        yield _summed_parts(shape, apart, list(range(0, 2 * rank, 2)))


def _added(shape: Shape, axis: int, positions: Any) -> Fold:
    """Adds the elements along an axis to where they came from."""
    axis %= len(shape)
    index = torch.as_tensor(np.ascontiguousarray(positions, np.int64))
    return Fold(lambda gradient: gradient.new_zeros(shape).index_add(axis, index, gradient), shape)


def _pad(shape: Shape, pad_width: Any, mode: str = "constant", constant_value: Any = 0) -> Iterator[Stage]:
    several = isinstance(pad_width, tuple) and all(isinstance(width, tuple) for width in pad_width)  # or () of no axes
    pairs: list[tuple[int, int]] = []
    for pair in pad_width if several else (pad_width,):
        pairs.append((pair, pair) if isinstance(pair, int) else (pair[0], pair[-1]))
    pairs = pairs * len(shape) if len(pairs) == 1 else pairs
    if mode == "constant":
        inside = tuple(slice(before, before + length) for (before, _), length in zip(pairs, shape, strict=True))
        yield _step("index", inside)
        return
    for axis in reversed(range(len(shape))):
        if any(pairs[axis]):  # the axes before this one are padded still
            padded = [length + sum(pair) for length, pair in zip(shape[:axis], pairs, strict=False)]
            yield _added((*padded, *shape[axis:]), axis, np.pad(np.arange(shape[axis]), pairs[axis], mode))  # type: ignore[call-overload]


def _repeat_elements(shape: Shape, repeats: Any, axis: int) -> Iterator[Stage]:
    axis %= len(shape)
    if isinstance(repeats, int):
        yield _summed_parts(shape, [*shape[: axis + 1], repeats, *shape[axis + 1 :]], [axis + 1])
    else:
        yield _added(shape, axis, np.repeat(np.arange(shape[axis]), repeats))


def _take(shape: Shape, indices: Shape, axis: int) -> Iterator[Stage]:
    length = shape[axis]
    positions = np.array(indices, np.int64).reshape(-1)
    positions = np.where(positions < 0, positions + length, positions)
    if np.array_equal(np.sort(positions), np.arange(length)):
        yield _step("take", np.argsort(positions), axis)
    else:
        yield _added(shape, axis, positions)


def _unfold(shape: Shape, axis: int, size: int, step: int) -> Iterator[Stage]:
    axis %= len(shape)
    windows = np.arange(0, shape[axis] - size + 1, step)
    yield _step("moveaxis", -1, axis + 1)
    yield _step("flatten", axis, axis + 1)
    yield _added(shape, axis, (windows[:, None] + np.arange(size)).reshape(-1))


def _space_to_depth(shape: Shape, block_size: int) -> Iterator[Stage]:
    yield _step("depth_to_space", block_size)


def _depth_to_space(shape: Shape, block_size: int, mode: str) -> Iterator[Stage]:
    yield _step("space_to_depth" if mode == "DCR" else "pixel_unshuffle", block_size)


def _pixel_shuffle(shape: Shape, factor: int) -> Iterator[Stage]:
    yield _step("pixel_unshuffle", factor)


def _pixel_unshuffle(shape: Shape, factor: int) -> Iterator[Stage]:
    yield _step("pixel_shuffle", factor)


def _pattern(shape: Shape, pattern: str, /, **lengths: int) -> Iterator[Stage]:
    axes = axes_of(pattern, lengths, shape)
    if axes.repeated:
        kept = [length for i, length in enumerate(axes.right) if i not in axes.repeated]
        yield _summed_parts(tuple(kept), axes.right, axes.repeated)
    else:
        yield _step("reshape", tuple(axes.right))
    yield _step("transpose", tuple(axes.order))
    yield _step("reshape", shape)


def _index(shape: Shape, key: Any) -> Iterator[Stage]:
    entries = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis not in entries:
        entries.append(Ellipsis)
    used = sum(1 for entry in entries if entry is not None and entry is not Ellipsis)
    at = entries.index(Ellipsis)
    entries[at : at + 1] = [slice(None)] * (len(shape) - used)
    forward: list[Any] = []  # the same elements with positive steps, which torch wants
    backward: list[int] = []  # axes of the result that go the other way
    axis = kept = 0
    for entry in entries:
        if entry is None:
            forward.append(None)
        elif isinstance(entry, slice):
            positions = range(*entry.indices(shape[axis]))
            if positions.step < 0:
                positions = positions[::-1]
                backward.append(kept)
            step = positions.step if len(positions) > 1 else 1  # else it may be as large as its type
            forward.append(slice(positions.start, positions.start + step * len(positions), step))
            axis += 1
        else:
            forward.append(entry)
            axis += 1
        kept += not isinstance(entry, int)
    if backward:
        yield _step("flip", tuple(backward))

    def put(gradient: Any) -> Any:
        whole = gradient.new_zeros(shape)
        whole[tuple(forward)] = gradient
        return whole

    yield Fold(put, shape)


_STAGES: dict[str, Callable[..., Iterator[Stage]]] = {
    "broadcast": _broadcast,
    "depth_to_space": _depth_to_space,
    "expand_dims": _reshaped,
    "flatten": _reshaped,
    "flip": _flip,
    "index": _index,
    "moveaxis": _moveaxis,
    "pad": _pad,
    "pixel_shuffle": _pixel_shuffle,
    "pixel_unshuffle": _pixel_unshuffle,
    "rearrange": _pattern,
    "repeat": _pattern,
    "repeat_elements": _repeat_elements,
    "reshape": _reshaped,
    "roll": _roll,
    "shuffle": _shuffle,
    "shuffle_channels": _shuffle_channels,
    "space_to_depth": _space_to_depth,
    "squeeze": _reshaped,
    "swapaxes": _swapaxes,
    "take": _take,
    "tile": _tile,
    "transpose": _transpose,
    "unflatten": _reshaped,
    "unfold": _unfold,
}
_SPLITS = ("split", "variadic_split")


class _Taken(NamedTuple):
    """A step on one branch."""

    call: Call
    position: int  # of the branch among all at that moment
    shape: Shape  # of the branch before
    parts: int  # what it became


def _taken(spec: Spec, shape: Shape) -> tuple[list[_Taken], list[Shape]]:
    """Every step on every branch it applies to, and the shapes of all outputs; ValueError for one without gradient."""
    branches = [shape]
    chosen = [0]
    taken = []
    for number, call in enumerate(spec.calls, 1):
        if call.method == "branch":
            (i,) = call.arguments
            chosen = list(range(len(branches))) if i is None else [i % len(branches)]
            continue
        if call.method not in _STAGES and call.method not in _SPLITS:
            raise ValueError(
                f"x requires grad, but step {number} ({call.method}) of the chain has no gradient: pass x.detach(), or "
                "call inside torch.no_grad()"
            )
        following: list[int] = []
        for count, first in enumerate(chosen):
            position = first + len(following) - count  # those before it may have become several
            before = branches[position]
            after = steps_on((call,), MemoryDesc(before, spec.dtype)).dst_descs
            taken.append(_Taken(call, position, before, len(after)))
            branches[position : position + 1] = [desc.dims for desc in after]
            following += range(position, position + len(after))
        chosen = following
    return taken, branches


@dataclasses.dataclass(frozen=True)
class _Joined:
    """Gradients of parts, which lie one after the other along an axis."""

    values: list[Callable[[Any], Any]]
    shapes: list[Shape]
    axis: int

    def __call__(self, gradients: Any) -> Any:
        return concatenated(tuple(value(gradients) for value in self.values), self.axis)

    def then(self, steps: tuple[Call, ...], dtype: str, after: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The steps on the whole, in the pass that joins the parts; `after` takes them on parts joined already."""
        sources = Chain([MemoryDesc(shape, dtype) for shape in self.shapes]).concat(self.axis)
        built = taken_on(steps, sources).build()

        def run(gradients: Any) -> Any:
            parts = [value(gradients) for value in self.values]
            if not torch.compiler.is_compiling() and all(way(part) == DIRECT for part in parts):
                try:
                    return built(parts)
                except (TypeError, ValueError):
                    pass  # they lie in another way, or are conjugated or negated lazily
            return after(concatenated(tuple(parts), self.axis))

        return run if built.passes == 1 else lambda gradients: after(self(gradients))


class _Moved(NamedTuple):
    """A gradient and the steps of a chain that are still to be taken on it."""

    value: Callable[[Any], Any]  # from the gradients of all outputs
    shape: Shape
    steps: tuple[Call, ...] = ()

    def then(self, stage: Stage, dtype: str) -> _Moved:
        if isinstance(stage, Call):
            return self._replace(steps=(*self.steps, stage))
        run, value = stage.run, self.flushed(dtype)
        return _Moved(lambda gradients: run(value(gradients)), stage.shape)

    def flushed(self, dtype: str) -> Callable[[Any], Any]:
        """The gradient with the steps taken."""
        from dnnmove.torch._chain import chain  # which imports this module

        value, shape, steps = self
        if all(step.method == "reshape" for step in steps):  # which torch does without a copy
            last = steps[-1].arguments[0] if steps else shape
            return lambda gradients: value(gradients).reshape(last)
        run = chain(steps_on(steps, MemoryDesc(shape, dtype)).build())
        return value.then(steps, dtype, run) if isinstance(value, _Joined) else lambda gradients: run(value(gradients))


def _gathered(parts: list[_Moved], taken: _Taken, dtype: str) -> _Moved:
    """The gradient of what was split."""
    if not parts:
        return _Moved(lambda gradients: torch.zeros(taken.shape, dtype=getattr(torch, dtype)), taken.shape)
    axis = int(taken.call.keywords["axis"])
    shapes = steps_on((taken.call,), MemoryDesc(taken.shape, dtype)).dst_descs
    return _Moved(_Joined([part.flushed(dtype) for part in parts], [desc.dims for desc in shapes], axis), taken.shape)


@functools.lru_cache(maxsize=256)
def adjoint_of(text: str, shape: Shape) -> Callable[[Any], Any]:
    """The function from the gradients of all outputs to that of a source of `shape`.

    ValueError, which names the step, where there is none.
    """
    spec = read(text)
    taken, outputs = _taken(spec, shape)
    values = [_Moved(operator.itemgetter(i), output) for i, output in enumerate(outputs)]
    for step in reversed(taken):
        branches = slice(step.position, step.position + step.parts)
        if step.call.method in _SPLITS:
            values[branches] = [_gathered(values[branches], step, spec.dtype)]
            continue
        (value,) = values[branches]
        for stage in _STAGES[step.call.method](step.shape, *step.call.arguments, **step.call.keywords):
            value = value.then(stage, spec.dtype)
        values[branches] = [value]
    return values[0].flushed(spec.dtype)

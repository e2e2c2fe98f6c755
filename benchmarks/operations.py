"""What each operation means, in NumPy views: the reference, and the fastest idiom of the strided peers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import blocked, calls
from benchmarks.case import Case, dtype_of
from benchmarks.memory import Arena, Memory

Pairs = list[tuple[np.ndarray, np.ndarray]]


def split_axis(array: np.ndarray, axis: int, high: int) -> np.ndarray:
    """The view whose `axis` is cut into (high, length / high)."""
    axis %= array.ndim
    shape = (*array.shape[:axis], high, array.shape[axis] // high, *array.shape[axis + 1 :])
    view = array.view()
    view.shape = shape  # raises where it would have to copy
    return view


def transpose_views(x: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    return x.transpose(order or None)


def transpose_pairs(case: Case, inputs: list[np.ndarray], outs: list[np.ndarray]) -> Pairs:
    return [(outs[0], transpose_views(inputs[0], case.params["order"]))]


def shuffle_pairs(case: Case, inputs: list[np.ndarray], outs: list[np.ndarray]) -> Pairs:
    axis, group = case.params["axis"] % len(case.shape), case.params["group"]
    source = split_axis(inputs[0], axis, group).swapaxes(axis, axis + 1)
    return [(split_axis(outs[0], axis, case.shape[axis] // group), source)]


def split_pairs(case: Case, inputs: list[np.ndarray], outs: list[np.ndarray]) -> Pairs:
    axis = case.params["axis"] % len(case.shape)
    ends = list(itertools.accumulate(case.params["lengths"]))
    starts = [0, *ends[:-1]]
    before = (slice(None),) * axis
    return [(out, inputs[0][(*before, slice(a, b))]) for out, a, b in zip(outs, starts, ends, strict=True)]


def concat_pairs(case: Case, inputs: list[np.ndarray], outs: list[np.ndarray]) -> Pairs:
    return [(dst, src) for src, dst in split_pairs(case, outs, inputs)]


def broadcast_pairs(case: Case, inputs: list[np.ndarray], outs: list[np.ndarray]) -> Pairs:
    return [(outs[0], np.broadcast_to(inputs[0], case.params["target"]))]


def split_shapes(case: Case) -> list[tuple[int, ...]]:
    axis = case.params["axis"] % len(case.shape)
    return [(*case.shape[:axis], n, *case.shape[axis + 1 :]) for n in case.params["lengths"]]


def transpose_shapes(case: Case) -> list[tuple[int, ...]]:
    order = case.params["order"] or tuple(reversed(range(len(case.shape))))
    return [tuple(case.shape[axis] for axis in order)]


def take_indices(case: Case) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(0, case.shape[case.params["axis"]], case.params["count"], case.params["index"])


def take_shape(case: Case) -> tuple[int, ...]:
    axis = case.params["axis"]
    return (*case.shape[:axis], case.params["count"], *case.shape[axis + 1 :])


def chain_steps(x: np.ndarray, steps: tuple[tuple[str, dict[str, Any]], ...]) -> list[np.ndarray]:
    """The results of a chain, one NumPy copy after another."""
    branches = [x]
    for name, arguments in steps:
        following = []
        for array in branches:
            if name == "transpose":
                following.append(array.transpose(arguments["input_order"]))
            elif name == "reshape":
                following.append(np.ascontiguousarray(array).reshape(arguments["shape"]))
            elif name == "index":
                following.append(array[arguments["key"]])
            elif name == "broadcast":
                following.append(np.broadcast_to(array, arguments["target_shape"]))
            elif name == "shuffle_channels":
                axis = arguments["axis"]
                swapped = split_axis(np.ascontiguousarray(array), axis, arguments["group"]).swapaxes(axis, axis + 1)
                following.append(swapped.reshape(array.shape))
            elif name == "variadic_split":
                cuts = np.cumsum(arguments["split_lengths"])[:-1]
                following.extend(np.split(array, cuts, arguments["axis"]))
            else:
                raise KeyError(name)
        branches = following
    return branches


@dataclass
class Problem:
    """A case with its arrays: what the contestants get.

    ``pairs`` are the strided copies (destination view, source view) that make up the operation;
    None where no strided copy describes it. ``parent`` is the dense array the input is cut from.
    """

    case: Case
    memory: Memory
    threads: int
    inputs: list[np.ndarray]
    parent: np.ndarray
    outs: list[np.ndarray]
    expected: list[np.ndarray]
    pairs: Pairs | None

    @property
    def dense_input(self) -> bool:
        return all(array.flags.c_contiguous for array in self.inputs)

    @property
    def bytes_written(self) -> int:
        return sum(out.nbytes for out in self.outs)

    @property
    def bytes_copied(self) -> int:
        """What the ceiling copies."""
        return self.bytes_written

    @property
    def bytes_read(self) -> int:
        if self.case.op == "take":
            return min(self.bytes_written, self.parent.nbytes)
        return self.parent.nbytes if self.case.source.windows else sum(array.nbytes for array in self.inputs)


PAIRS: dict[str, Callable[[Case, list[np.ndarray], list[np.ndarray]], Pairs]] = {
    "transpose": transpose_pairs,
    "shuffle": shuffle_pairs,
    "split": split_pairs,
    "concat": concat_pairs,
    "broadcast": broadcast_pairs,
}


def output_shapes(case: Case) -> list[tuple[int, ...]]:
    """Shapes of the results, in order."""
    if case.op == "transpose":
        return transpose_shapes(case)
    if case.op == "split":
        return split_shapes(case)
    if case.op == "broadcast":
        return [case.params["target"]]
    if case.op == "take":
        return [take_shape(case)]
    if case.op == "call":
        return [calls.result_shape(case)]
    if case.op == "shuffle_forward":
        return [blocked.physical_shape(case)]
    if case.op == "chain":
        stand_in = np.broadcast_to(np.zeros((), np.uint8), case.shape)
        return [branch.shape for branch in chain_steps(stand_in, case.params["steps"])]
    return [case.shape]


def bytes_needed(case: Case) -> tuple[int, int]:
    """Bytes of the source's and of the destination's arena, with room for alignment."""
    if case.op == "pipeline":
        from benchmarks.pipelines import problem

        return problem.bytes_needed(case)
    shapes = output_shapes(case)
    slack = 4096 + 128 * (len(shapes) + len(case.params.get("lengths", ())))
    if case.op == "shuffle_forward":
        physical = math.prod(shapes[0]) * case.itemsize
        return physical + slack, physical + slack
    source = math.prod(case.source.parent_shape(case.shape)) * case.itemsize + case.source.offset
    written = sum(math.prod(shape) for shape in shapes) * case.itemsize
    return source + slack, written + case.out_offset + slack


def cut_input(case: Case, arena: Arena) -> tuple[list[np.ndarray], np.ndarray]:
    """The inputs and the dense array that the first of them is cut from."""
    dtype = dtype_of(case.dtype)
    if case.op == "concat":
        parts = [arena.take(shape, dtype) for shape in split_shapes(case)]
        return parts, parts[0]
    if case.op == "shuffle_forward":
        physical = arena.take(blocked.physical_shape(case), dtype)
        blocked.clear_padding(case, physical)
        return [physical], physical
    parent = arena.take(case.source.parent_shape(case.shape), dtype, case.source.offset)
    return [case.source.cut(parent, case.shape)], parent


def build(case: Case, memory: Memory, threads: int) -> Problem:
    """Cuts the arrays of a case from the arenas and computes what is expected of it."""
    if case.op == "pipeline":
        from benchmarks.pipelines import problem

        return problem.build(case, memory, threads)
    memory.reset()
    inputs, parent = cut_input(case, memory.src)
    shapes = output_shapes(case)
    dtype = calls.result_dtype(case) if case.op == "call" else dtype_of(case.dtype)
    outs = [memory.dst.take(shape, dtype, case.out_offset) for shape in shapes]
    expected = [memory.expected.take(shape, dtype, case.out_offset) for shape in shapes]
    memory.dst.poison()
    memory.expected.poison()
    pairs = None
    if case.op in PAIRS:
        pairs = PAIRS[case.op](case, inputs, outs)
        for dst, src in PAIRS[case.op](case, inputs, expected):
            np.copyto(dst, src)
    elif case.op == "take":
        np.take(inputs[0], take_indices(case), case.params["axis"], out=expected[0])
    elif case.op == "call":
        np.copyto(expected[0], calls.result(case, inputs[0]))
    elif case.op == "shuffle_forward":
        blocked.shuffle(case, inputs[0], expected[0])
    elif case.op == "chain":
        for dst, src in zip(expected, chain_steps(inputs[0], case.params["steps"]), strict=True):
            np.copyto(dst, src)
    return Problem(case, memory, threads, inputs, parent, outs, expected, pairs)

"""OpenVINO's movement operations: their attributes and inputs, and the steps of a chain that each one is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dnnmove.ir._values import boolean, integer, integers
from dnnmove.ir._xml import IRError, shown

__all__ = ["OPERATIONS", "Operation", "Step", "read_attributes"]

Shape: TypeAlias = tuple[int, ...]
Step: TypeAlias = tuple[str, dict[str, Any]]  # a method of Chain and its arguments
Constants: TypeAlias = Sequence[npt.NDArray[Any]]
Attributes: TypeAlias = dict[str, Any]
Steps: TypeAlias = Callable[[Shape, Attributes, Constants], list[Step]]

_REQUIRED: Any = object()


@dataclass(frozen=True)
class Operation:
    """What is to be known of a type of layer.

    `constants` are the inputs behind the data, which decide what is done; those from `required` on may be left out.
    """

    steps: Steps
    attributes: dict[str, tuple[Callable[[str, str], Any], Any]] = field(default_factory=dict)
    constants: tuple[str, ...] = ()
    required: int | None = None

    @property
    def inputs(self) -> range:
        """How many inputs a layer may have."""
        least = len(self.constants) if self.required is None else self.required
        return range(1 + least, 2 + len(self.constants))


def read_attributes(operation: Operation, data: dict[str, str]) -> Attributes:
    """The attributes of a ``<data>`` element with their types, defaults filled in; others do not matter."""
    values = {}
    for name, (read, default) in operation.attributes.items():
        if name in data:
            values[name] = read(data[name], name)
        elif default is _REQUIRED:
            raise IRError(f"the attribute {name} is missing")
        else:
            values[name] = default
    return values


def _word(*words: str, **others: str) -> Callable[[str, str], str]:
    """Reads one of some words in any case; `others` are read as what they stand for."""
    known = {**{word: word for word in words}, **others}

    def read(text: str, what: str) -> str:
        word = known.get(text.strip().lower())
        if word is None:
            raise IRError(f"{what} ({shown(text)!r}) must be one of {', '.join(words)}")
        return word

    return read


def _from(least: int) -> Callable[[str, str], int]:
    return lambda text, what: integer(text, what, least)


def _listed(constant: npt.NDArray[Any]) -> list[int]:
    values: list[int] = np.atleast_1d(constant).tolist()
    return values


def _shuffle_channels(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    return [("shuffle_channels", dict(attributes))]


def _transpose(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    return [("transpose", {"input_order": constants[0]})]


def _variadic_split(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    return [("variadic_split", {"axis": constants[0], "split_lengths": constants[1]})]


def _split(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    return [("split", {"axis": constants[0], "num_splits": attributes["num_splits"]})]


def _broadcast(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    arguments = {"target_shape": constants[0], "mode": attributes["mode"]}
    if attributes["mode"] == "explicit":  # exporters give a third input in the other modes too: it means nothing
        if len(constants) < 2:
            raise IRError('axes_mapping, the third input, is missing: mode="explicit" needs it')
        arguments["axes_mapping"] = constants[1]
    return [("broadcast", arguments)]


def _reshape(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    wanted = _listed(constants[0])
    for i, length in enumerate(wanted):
        if length == 0 and attributes["special_zero"]:
            if i >= len(shape):
                raise IRError(f"shape[{i}] (0) stands for an axis that the data, of shape {shape}, does not have")
            wanted[i] = shape[i]
    return [("reshape", {"shape": wanted})]


def _squeeze(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    n = len(shape)
    # Of an axis that is named twice, once from the end, one name counts; others are for the step to refuse.
    axes = dict.fromkeys(axis % n if -n <= axis < n else axis for axis in (_listed(constants[0]) if constants else []))
    if not axes:  # all of length 1
        return [("squeeze", {"axis": None})]
    skipped = {axis for axis in axes if attributes["allow_axis_skip"] and -n <= axis < n and shape[axis] != 1}
    return [("squeeze", {"axis": tuple(axis for axis in axes if axis not in skipped)})]


def _unsqueeze(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    return [("expand_dims", {"axis": tuple(_listed(constants[0]))})]


def _gather(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    axes = _listed(constants[1])
    if len(axes) != 1:
        raise IRError(f"axis {axes} must be one axis")
    if attributes["batch_dims"] != 0:
        raise IRError(f"batch_dims ({attributes['batch_dims']}) must be 0")
    taken: list[Step] = [("take", {"indices": np.atleast_1d(constants[0]), "axis": axes[0]})]
    return taken if constants[0].ndim else [*taken, ("squeeze", {"axis": axes[0]})]


def _tile(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    return [("tile", {"reps": tuple(_listed(constants[0]))})]


def _roll(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    shifts, axes = _listed(constants[0]), _listed(constants[1])
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(shifts) != len(axes):
        raise IRError(f"shift {shifts} must have as many entries as axes {axes}, or one")
    return [("roll", {"shift": tuple(shifts), "axis": tuple(axes)})]


def _blocks(shape: Shape, block: int, what: str) -> list[int]:
    if len(shape) < 3:
        raise IRError(f"the data, of shape {shape}, must have at least 3 axes")
    spatial = list(shape[2:])
    if any(n % block for n in spatial) and what == "space":
        raise IRError(f"block_size ({block}) must divide every spatial axis of the data, of shape {shape}")
    return spatial


def _depth_to_space(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    block = attributes["block_size"]
    spatial = _blocks(shape, block, "depth")
    k = len(spatial)
    if shape[1] % block**k:
        raise IRError(f"block_size ({block}) to the power of {k} must divide data.shape[1] ({shape[1]})")
    depth = shape[1] // block**k
    if attributes["mode"] == "blocks_first":
        apart, channel, first = [*[block] * k, depth], 1 + k, 1
    else:
        apart, channel, first = [depth, *[block] * k], 1, 2
    order = [0, channel]
    for i in range(k):
        order += [2 + k + i, first + i]
    return [
        ("reshape", {"shape": [shape[0], *apart, *spatial]}),
        ("transpose", {"input_order": order}),
        ("reshape", {"shape": [shape[0], depth, *(n * block for n in spatial)]}),
    ]


def _space_to_depth(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    block = attributes["block_size"]
    spatial = _blocks(shape, block, "space")
    k = len(spatial)
    apart = [n for length in spatial for n in (length // block, block)]
    outer, inner = [2 + 2 * i for i in range(k)], [3 + 2 * i for i in range(k)]
    order = [0, *inner, 1, *outer] if attributes["mode"] == "blocks_first" else [0, 1, *inner, *outer]
    return [
        ("reshape", {"shape": [*shape[:2], *apart]}),
        ("transpose", {"input_order": order}),
        ("reshape", {"shape": [shape[0], shape[1] * block**k, *(n // block for n in spatial)]}),
    ]


def _strided_slice(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    begin, end = _listed(constants[0]), _listed(constants[1])
    stride = _listed(constants[2]) if len(constants) > 2 else [1] * len(begin)
    if not len(begin) == len(end) == len(stride):
        raise IRError(f"begin {begin}, end {end} and strides {stride} must have as many entries as each other")

    def masked(name: str, i: int) -> bool:
        mask = attributes[name]
        return i < len(mask) and mask[i] != 0

    key: list[Any] = []
    for i, (first, last, by) in enumerate(zip(begin, end, stride, strict=True)):
        if masked("ellipsis_mask", i):
            key.append(Ellipsis)
        elif masked("new_axis_mask", i):
            key.append(None)
        elif masked("shrink_axis_mask", i):
            key.append(first)
        else:
            start = None if masked("begin_mask", i) else first
            key.append(slice(start, None if masked("end_mask", i) else last, by))
    return [("index", {"key": tuple(key)})]


def _slice(shape: Shape, attributes: Attributes, constants: Constants) -> list[Step]:
    start, stop, step = (_listed(constant) for constant in constants[:3])
    axes = _listed(constants[3]) if len(constants) > 3 else list(range(len(start)))
    if not len(start) == len(stop) == len(step) == len(axes):
        raise IRError(
            f"start {start}, stop {stop}, step {step} and axes {axes} must have as many entries as each other"
        )
    key = [slice(None)] * len(shape)
    for axis, *bounds in zip(axes, start, stop, step, strict=True):
        if not -len(shape) <= axis < len(shape):
            raise IRError(f"axes {axes} must lie in [{-len(shape)}, {len(shape)})")
        if key[axis] != slice(None):
            raise IRError(f"axes {axes} must name each axis once")
        key[axis] = slice(*bounds)
    return [("index", {"key": tuple(key)})]


_MODE = {"mode": (_word("numpy", "explicit", "bidirectional", none="explicit"), "numpy")}
_BLOCK = {
    "block_size": (_from(1), 1),
    "mode": (_word("blocks_first", "depth_first"), "blocks_first"),
}
_MASKS = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")

OPERATIONS = {
    "ShuffleChannels": Operation(_shuffle_channels, {"axis": (integer, 1), "group": (_from(1), 1)}),
    "Transpose": Operation(_transpose, constants=("input_order",)),
    "VariadicSplit": Operation(_variadic_split, constants=("axis", "split_lengths")),
    "Split": Operation(_split, {"num_splits": (_from(1), _REQUIRED)}, ("axis",)),
    "Broadcast": Operation(_broadcast, _MODE, ("target_shape", "axes_mapping"), 1),
    "Reshape": Operation(_reshape, {"special_zero": (boolean, False)}, ("shape",)),
    "Squeeze": Operation(_squeeze, {"allow_axis_skip": (boolean, False)}, ("axes",), 0),
    "Unsqueeze": Operation(_unsqueeze, {}, ("axes",)),
    "Gather": Operation(_gather, {"batch_dims": (integer, 0)}, ("indices", "axis")),
    "Tile": Operation(_tile, {}, ("repeats",)),
    "Roll": Operation(_roll, {}, ("shift", "axes")),
    "DepthToSpace": Operation(_depth_to_space, _BLOCK),
    "SpaceToDepth": Operation(_space_to_depth, _BLOCK),
    "StridedSlice": Operation(
        _strided_slice, {name: (integers, []) for name in _MASKS}, ("begin", "end", "strides"), 2
    ),
    "Slice": Operation(_slice, {}, ("start", "stop", "step", "axes"), 3),
}

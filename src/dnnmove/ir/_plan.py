"""How a model runs on inputs of given layouts: as few chains as there can be, each with all results it leads to.

Every layer turns one array into others by steps of a chain, so whatever is reached from one array by such layers
alone is one chain: a tree whose nodes are arrays. Where several layers read an array, the chain broadcasts it along a
new axis and splits that axis, which moves nothing. A tree ends where Concat needs whole arrays, and where its chain
would exceed the steps that chains may have.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dnnmove._core import BuiltChain, Chain, MemoryDesc, concat
from dnnmove.ir._graph import Layer, Source
from dnnmove.ir._operations import OPERATIONS, Step
from dnnmove.ir._values import agree, shape_text

__all__ = ["Path", "Plan", "Slot", "Stage", "make_plan"]

MOST_STEPS = 240  # of the 256 that a chain may have
FEW = 3  # of a split's parts are cut out one by one where others are not used
Slot: TypeAlias = tuple[str, int]  # ("input", i), ("constant", i), ("result", i), ("between", i) or ("unused", i)


@dataclass(eq=False)
class _Array:
    """A node of a tree: an array that a chain passes through, who reads it, and where it is written, if anywhere."""

    shape: tuple[int, ...]
    region: _Region
    readers: list[_Reader] = field(default_factory=list)
    written: list[Slot] = field(default_factory=list)
    origin: tuple[_Array, list[Step], int] | None = None  # the array it is made of, how, and its number among outputs

    def path(self) -> list[Step]:
        """The steps from the tree's source to this array alone: what a split gives is cut out."""
        steps: list[list[Step]] = []
        array = self
        while array.origin is not None:
            array, taken, number = array.origin
            if taken[-1][0] in ("split", "variadic_split"):
                (reader,) = (reader for reader in array.readers if reader.steps is taken)
                taken = [_cut(array, reader, number)]
            steps.append(taken)
        return [step for taken in reversed(steps) for step in taken]


@dataclass(eq=False)
class _Reader:
    """A layer that reads an array of a tree: its steps, and the arrays that they give."""

    steps: list[Step]
    outputs: list[_Array]


@dataclass(eq=False)
class _Region:
    """What becomes one chain: where its source comes from, and the tree."""

    source: Slot
    desc: MemoryDesc
    steps: int = 0
    root: _Array | None = None


@dataclass
class Stage:
    """One call: of a chain, or of concat. `reads` are the slots of its arguments, `writes` those of its results."""

    reads: list[Slot]
    writes: list[Slot]
    chain: BuiltChain | None
    axis: int = 0
    shapes: list[tuple[int, ...]] = field(default_factory=list)  # of what is written
    dtype: np.dtype[Any] | None = None
    copies: bool = False  # one array, as it is

    def run(self, slots: dict[Slot, Any], out: dict[Slot, Any]) -> None:
        """Fill the slots that this stage writes; `out` has arrays to fill."""
        given = [out.get(slot) for slot in self.writes]
        if self.chain is None:
            arrays = [slots[slot] for slot in self.reads]
            slots[self.writes[0]] = concat(arrays, self.axis, out=given[0])
            return
        source = slots[self.reads[0]]
        if any(array is not None for array in given):
            for i, array in enumerate(given):
                if array is None:
                    given[i] = np.empty(self.shapes[i], self.dtype)
            result = self.chain(source, out=tuple(given) if self.several else given[0])
        else:
            result = self.chain(source)
        for slot, array in zip(self.writes, result if self.several else (result,), strict=True):
            slots[slot] = array

    @property
    def several(self) -> bool:
        """Whether the chain returns a tuple."""
        return self.chain is not None and not hasattr(self.chain, "dst_desc")


@dataclass
class Path:
    """One result as a chain of its own: of the array in a slot, by some steps."""

    source: Slot
    desc: MemoryDesc
    result: _Array

    @property
    def chain(self) -> Chain:
        """The chain, which more steps may follow."""
        return _taken(Chain(self.desc), self.result.path())


@dataclass
class Plan:
    """Stages in their order, the constants that they read, and what becomes of the results."""

    stages: list[Stage]
    constants: dict[Slot, Callable[[], npt.NDArray[Any]]]
    shapes: list[tuple[int, ...]]
    dtypes: list[np.dtype[Any]]
    paths: list[Path]  # one for each result

    def run(self, inputs: Sequence[Any], out: Sequence[Any] | None) -> list[Any]:
        """The results; `out` has one array for each."""
        slots: dict[Slot, Any] = {("input", i): array for i, array in enumerate(inputs)}
        slots |= {slot: make() for slot, make in self.constants.items()}
        wanted = {("result", i): array for i, array in enumerate(out or [])}
        last = {slot: stage for stage in self.stages for slot in stage.reads}
        for stage in self.stages:
            stage.run(slots, wanted)
            for slot in stage.reads:
                if last[slot] is stage and slot[0] == "between":
                    slots.pop(slot, None)
        return [slots["result", i] for i in range(len(self.shapes))]


class _Planner:
    def __init__(self, layers: list[Layer], descs: Sequence[MemoryDesc], values: dict[Layer, npt.NDArray[Any]]) -> None:
        self.layers = layers
        self.values = values  # of Parameters that decide what is done
        self.descs = iter(enumerate(descs))
        self.at: dict[Source, _Array] = {}
        self.pieces: list[_Region | Stage] = []
        self.constants: dict[Slot, Callable[[], npt.NDArray[Any]]] = {}
        self.between = 0
        self.shapes: list[tuple[int, ...]] = []
        self.dtypes: list[np.dtype[Any]] = []
        self.paths: list[Path] = []

    def source(self, layer: Layer, slot: Slot, desc: MemoryDesc) -> None:
        self.at[layer, 0] = self.region(slot, desc)

    def region(self, slot: Slot, desc: MemoryDesc) -> _Array:
        region = _Region(slot, desc)
        region.root = _Array(desc.dims, region)
        self.pieces.append(region)
        return region.root

    def constant(self, layer: Layer, make: Callable[[], npt.NDArray[Any]], shape: Any, dtype: Any) -> None:
        slot = ("constant", len(self.constants))
        self.constants[slot] = functools.cache(make)
        self.source(layer, slot, MemoryDesc(shape, dtype))

    def written(self, array: _Array) -> Slot:
        """A slot that holds the array between two stages."""
        self.between += 1
        slot = ("between", self.between)
        array.written.append(slot)
        return slot

    def decided(self, source: Source) -> npt.NDArray[Any]:
        layer = source[0]
        return layer.array if layer.array is not None else self.values[layer]

    def move(self, layer: Layer) -> None:
        """A layer that is some steps of a chain."""
        operation = OPERATIONS[layer.type]
        array = self.at[layer.inputs[0]]
        ignored = layer.type == "Broadcast" and layer.attributes["mode"] != "explicit"
        constants = [self.decided(source) for source in layer.inputs[1 : 2 if ignored else None]]
        for name, constant in zip(operation.constants, constants, strict=False):
            if constant.ndim > 1:
                raise layer.error(f"{name} must have one axis at most, not shape {constant.shape}")
        dtype = array.region.desc.dtype
        try:
            steps = operation.steps(array.shape, layer.attributes, constants)
            chain = _taken(Chain(MemoryDesc(array.shape, dtype)), steps)
        except (TypeError, ValueError, IndexError) as error:
            raise layer.error(str(error).split("): ", 1)[-1] if str(error).startswith("step ") else error) from None
        shapes = [desc.dims for desc in chain.dst_descs]
        if len(shapes) != len(layer.declared_outputs):
            raise layer.error(f"it has {len(layer.declared_outputs)} output ports for {len(shapes)} outputs")
        for i, (declared, shape) in enumerate(zip(layer.declared_outputs, shapes, strict=True)):
            # A port without dimensions is a scalar's, or nobody cared to write them.
            if declared and not agree(declared, shape):
                raise layer.error(f"its output {i} has the shape {shape}, but its port says {shape_text(declared)}")
        cost = len(steps) + (6 if len(shapes) == 1 else 6 + 2 * FEW)  # with branch and what several readers take
        if array.region.steps + cost > MOST_STEPS:
            array = self.region(self.written(array), MemoryDesc(array.shape, dtype))
            self.at[layer.inputs[0]] = array
        array.region.steps += cost
        outputs = [_Array(shape, array.region, origin=(array, steps, i)) for i, shape in enumerate(shapes)]
        array.readers.append(_Reader(steps, outputs))
        for i, output in enumerate(outputs):
            self.at[layer, i] = output

    def concat(self, layer: Layer) -> None:
        arrays = [self.at[source] for source in layer.inputs]
        first = arrays[0]
        dtype, axis = first.region.desc.dtype, layer.attributes["axis"]
        ndim = len(first.shape)
        if not -ndim <= axis < ndim:
            raise layer.error(f"axis ({axis}) must lie in [{-ndim}, {ndim})")
        axis %= ndim
        for array in arrays:
            rest = (*array.shape[:axis], *array.shape[axis + 1 :])
            if array.region.desc.dtype != dtype or rest != (*first.shape[:axis], *first.shape[axis + 1 :]):
                raise layer.error(
                    f"inputs of {dtype} {first.shape} and {array.region.desc.dtype} {array.shape} do not fit together"
                )
        length = sum(array.shape[axis] for array in arrays)
        shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
        self.between += 1
        slot = ("between", self.between)
        reads = [self.written(array) for array in arrays]
        self.pieces.append(Stage(reads, [slot], None, axis, [shape], dtype))
        self.source(layer, slot, MemoryDesc(shape, dtype))

    def result(self, layer: Layer) -> None:
        array = self.at[layer.inputs[0]]
        array.written.append(("result", len(self.shapes)))
        self.shapes.append(array.shape)
        self.dtypes.append(array.region.desc.dtype)
        self.paths.append(Path(array.region.source, array.region.desc, array))

    def plan(self) -> Plan:
        for layer in self.layers:
            if layer.type == "Parameter":
                i, desc = next(self.descs)
                self.source(layer, ("input", i), desc)
            elif layer.array is not None:
                self.constant(layer, functools.partial(_known, layer), layer.array.shape, layer.array.dtype)
            elif layer.type == "Convert":
                self.convert(layer)
            elif layer.type == "Concat":
                self.concat(layer)
            elif layer.type == "Result":
                self.result(layer)
            else:
                self.move(layer)
        stages = [stage for piece in self.pieces for stage in _stages(piece)]
        stages = _direct(stages)
        read = {slot for stage in stages for slot in stage.reads}
        constants = {slot: make for slot, make in self.constants.items() if slot in read}
        return Plan(stages, constants, self.shapes, self.dtypes, self.paths)

    def convert(self, layer: Layer) -> None:
        array = _known(layer.inputs[0][0])  # as the graph was checked
        self.constant(layer, lambda: array.astype(layer.dtype), array.shape, layer.dtype)


def _known(layer: Layer) -> npt.NDArray[Any]:
    assert layer.array is not None
    return layer.array


def _taken(chain: Chain, steps: list[Step]) -> Chain:
    for name, arguments in steps:
        chain = getattr(chain, name)(**arguments)
    return chain


def _used(array: _Array) -> bool:
    return bool(array.readers or array.written)


def _prune(root: _Array) -> None:
    """Take away the readers whose outputs nobody uses."""
    order = [root]
    for array in order:  # grows meanwhile: each array behind the one it is made of
        order += [output for reader in array.readers for output in reader.outputs]
    for array in reversed(order):
        array.readers = [reader for reader in array.readers if any(map(_used, reader.outputs))]


def _stages(piece: _Region | Stage) -> list[Stage]:
    if isinstance(piece, Stage):
        return [piece]
    root = piece.root
    assert root is not None
    _prune(root)
    if not _used(root):
        return []
    copies = not root.readers and len(root.written) == 1
    chain, arrays = _emitted(Chain(piece.desc), root)
    writes = [slot for slot, _ in arrays]
    shapes = [shape for _, shape in arrays]
    return [Stage([piece.source], writes, chain.build(), 0, shapes, piece.desc.dtype, copies)]


@dataclass
class _Way:
    """What becomes of an array of a tree: it is written to a slot, or steps make other arrays of it."""

    slot: Slot | None = None
    steps: list[Step] = field(default_factory=list)
    outputs: list[_Array] = field(default_factory=list)


def _ways(array: _Array) -> list[_Way]:
    ways = [_Way(slot) for slot in array.written]
    for reader in array.readers:
        used = [output for output in reader.outputs if _used(output)]
        if FEW < len(used) < len(reader.outputs):
            for number, output in enumerate(reader.outputs):
                if not _used(output):  # written all the same, for nobody
                    output.written.append(("unused", number))
            used = reader.outputs
        if len(used) == len(reader.outputs):
            ways.append(_Way(None, reader.steps, reader.outputs))
            continue
        ways += [
            _Way(None, [_cut(array, reader, number)], [output])
            for number, output in enumerate(reader.outputs)
            if _used(output)
        ]
    return ways


def _cut(array: _Array, reader: _Reader, number: int) -> Step:
    """The step that gives one output of a split."""
    axis = int(np.ravel(reader.steps[-1][1]["axis"])[0]) % len(array.shape)
    start = sum(output.shape[axis] for output in reader.outputs[:number])
    part = slice(start, start + reader.outputs[number].shape[axis])
    return "index", {"key": (slice(None),) * axis + (part,)}


def _emitted(chain: Chain, root: _Array) -> tuple[Chain, list[tuple[Slot, tuple[int, ...]]]]:
    """The chain of a tree, and what its outputs are, in the chain's order (depth first)."""
    found: list[tuple[Slot, tuple[int, ...]]] = []
    waiting: list[tuple[_Array, _Way | None]] = [(root, None)]
    several = False  # from the first split on, steps name their branch: the first one that is not finished

    def then(steps: list[Step]) -> None:
        nonlocal chain, several
        chain = _taken(chain.branch(len(found)) if several else chain, steps)
        several = several or any(name in ("split", "variadic_split") for name, _ in steps)

    while waiting:
        array, way = waiting.pop()
        if way is None:
            ways = _ways(array)
            if len(ways) > 1:
                then(
                    [
                        ("expand_dims", {"axis": 0}),
                        ("broadcast", {"target_shape": (len(ways), *array.shape)}),
                        ("split", {"axis": 0, "num_splits": len(ways)}),
                        ("squeeze", {"axis": 0}),
                    ]
                )
            waiting += [(array, way) for way in reversed(ways)]
        elif way.slot is not None:
            found.append((way.slot, array.shape))
        else:
            then(way.steps)
            waiting += [(output, None) for output in reversed(way.outputs)]
    return chain, found


def _direct(stages: list[Stage]) -> list[Stage]:
    """Without the stages that would only copy what a stage before them wrote: that one writes the copy's place."""
    kept: list[Stage] = []
    writers = {slot: stage for stage in stages for slot in stage.writes}
    readers: dict[Slot, int] = {}
    for stage in stages:
        for slot in stage.reads:
            readers[slot] = readers.get(slot, 0) + 1
    for stage in stages:
        slot = stage.reads[0]
        if stage.copies and slot in writers and readers[slot] == 1:
            writer = writers[slot]
            writer.writes[writer.writes.index(slot)] = stage.writes[0]
        else:
            kept.append(stage)
    return kept


def make_plan(layers: list[Layer], descs: Sequence[MemoryDesc], values: dict[Layer, npt.NDArray[Any]]) -> Plan:
    """The plan for inputs of the layouts `descs`; `values` are those of inputs that decide what is done."""
    return _Planner(layers, descs, values).plan()

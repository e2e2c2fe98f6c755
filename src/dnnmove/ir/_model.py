"""A model read from an IR file: what it takes and gives, and how it runs."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dnnmove._core import Chain, Memory, MemoryDesc, transpose
from dnnmove.ir._graph import Layer, read_layers
from dnnmove.ir._operations import OPERATIONS
from dnnmove.ir._plan import Plan, make_plan
from dnnmove.ir._values import OPEN, Bounds, agree, shape_text
from dnnmove.ir._xml import MOST_BYTES, IRError, parse, shown

__all__ = ["Model", "Port", "read_model"]

MOST_PLANS = 64


@dataclass(frozen=True)
class Port:
    """An input or an output of a model.

    Attributes
    ----------
    name : str
        Of the layer.
    shape : tuple of int or None, or None
        None stands for a length that is open, and for a shape whose rank is.
    dtype : numpy.dtype or None
        None of an output whose type the model's inputs decide.
    """

    name: str
    shape: tuple[int | None, ...] | None
    dtype: np.dtype[Any] | None

    def __str__(self) -> str:
        shape = None if self.shape is None else tuple(OPEN if n is None else (n, n) for n in self.shape)
        return f"{shown(self.name)} {shape_text(shape)} {self.dtype}"


def _port(layer: Layer, bounds: Bounds, dtype: np.dtype[Any] | None) -> Port:
    shape = None if bounds is None else tuple(low if low == high else None for low, high in bounds)
    return Port(layer.name, shape, dtype)


class Model:
    """A model of pure data movement; made by `read_model`.

    Called with one array for each Parameter, in the order of the file, it returns the array of its Result, or a tuple
    where there are several. Whatever is reached from one array by movement alone, splits and several readers included,
    is one chain and crosses memory once. What a call of these shapes and strides takes is planned once.

    Attributes
    ----------
    name : str
        As the file has it.
    inputs, outputs : tuple of Port
        The Parameters and the Results.
    """

    def __init__(self, name: str, layers: list[Layer]) -> None:
        self.name = name
        self._layers = layers
        self._parameters = [layer for layer in layers if layer.type == "Parameter"]
        self._decisive = self._find_decisive()
        self._plans: dict[Any, Plan] = {}
        self.inputs = tuple(_port(layer, layer.shape, layer.dtype) for layer in self._parameters)
        static = self._static_descs()
        self._static = None if static is None else self._plan(static, {})
        self.outputs = self._find_outputs()

    def _find_decisive(self) -> list[int]:
        """The numbers of the inputs whose values, and not only shapes, decide what is done."""
        found: set[Layer] = set()
        for layer in self._layers:
            if layer.type in OPERATIONS:
                found.update(source for source, _ in layer.inputs[1:] if source.type == "Parameter")
        return [i for i, layer in enumerate(self._parameters) if layer in found]

    def _static_descs(self) -> list[MemoryDesc] | None:
        """The inputs' layouts where the file settles them; so it is checked as a whole before any call."""
        shapes = [port.shape for port in self.inputs]
        if self._decisive or any(shape is None or None in shape for shape in shapes):
            return None
        try:
            return [MemoryDesc(port.shape, port.dtype) for port in self.inputs]  # type: ignore[arg-type]
        except ValueError as error:
            raise IRError(f"the shape of a Parameter: {error}") from None

    def _find_outputs(self) -> tuple[Port, ...]:
        results = [layer for layer in self._layers if layer.type == "Result"]
        if self._static is not None:
            pairs = zip(self._static.shapes, self._static.dtypes, strict=True)
            return tuple(Port(layer.name, *pair) for layer, pair in zip(results, pairs, strict=True))
        ports = []
        for layer in results:
            source, number = layer.inputs[0]
            declared: Bounds = None
            if source.type == "Parameter":
                declared = source.shape
            elif source.array is not None:
                declared = tuple((n, n) for n in source.array.shape)
            elif number < len(source.declared_outputs):
                # Without dimensions it is a scalar's, or nobody cared to write them: only a call can tell.
                declared = source.declared_outputs[number] or None
            while source.dtype is None and source.array is None:
                source = source.inputs[0][0]
            ports.append(_port(layer, declared, source.dtype if source.array is None else source.array.dtype))
        return tuple(ports)

    def _plan(self, descs: Sequence[MemoryDesc], values: dict[Layer, npt.NDArray[Any]]) -> Plan:
        return make_plan(self._layers, descs, values)

    def _checked(self, arrays: tuple[Any, ...]) -> tuple[list[Any], list[MemoryDesc]]:
        """The inputs and their layouts, if they are what the Parameters say."""
        if len(arrays) != len(self.inputs):
            raise TypeError(f"the model takes {len(self.inputs)} inputs, but {len(arrays)} were given")
        taken, descs = [], []
        for i, (array, layer) in enumerate(zip(arrays, self._parameters, strict=True)):
            what = f"input {i} ({shown(layer.name)!r})"
            if isinstance(array, np.ndarray) and any(stride % (array.itemsize or 1) for stride in array.strides):
                array = transpose(array, range(array.ndim))  # a chain counts strides in elements
            try:
                desc = array.desc if isinstance(array, Memory) else Chain.of(array).src_desc
            except (TypeError, ValueError) as error:
                raise type(error)(f"{what}: {error}") from None
            if desc.dtype != layer.dtype:
                raise TypeError(f"{what} must have the dtype {layer.dtype}, not {desc.dtype}")
            if not agree(layer.shape, desc.dims):
                raise ValueError(f"{what} must have the shape {shape_text(layer.shape)}, not {desc.dims}")
            taken.append(array)
            descs.append(desc)
        return taken, descs

    def _planned(self, arrays: Sequence[Any], descs: Sequence[MemoryDesc]) -> Plan:
        values = {self._parameters[i]: np.asarray(arrays[i]) for i in self._decisive}
        key = (*descs, *((value.shape, value.tobytes()) for value in values.values()))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plan(descs, values)
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Run the model.

        Parameters
        ----------
        *inputs : array
            One for each Parameter: NumPy arrays of any strides, Memory, tensors. Shapes and dtypes must match.
        out : array or sequence of arrays, optional
            Receives the results, one array for each; none may share bytes with an input or another result.

        Returns
        -------
        array or tuple of arrays
            New memory; a tuple where the model has several Results.

        Raises
        ------
        TypeError
            The number of inputs or a dtype differs.
        ValueError
            A shape differs, or the model does not fit the shapes; nothing has run then.
        """
        arrays, descs = self._checked(inputs)
        plan = self._planned(arrays, descs)
        single = len(plan.shapes) == 1
        places = None if out is None else self._places([out] if single else out, plan, inputs)
        results = plan.run(arrays, places)
        return results[0] if single else tuple(results)

    @staticmethod
    def _places(out: Any, plan: Plan, inputs: Sequence[Any]) -> list[Any]:
        """The arrays of `out`, if they fit; one chain would see to it, several do not know of each other."""
        places, taken = list(out), [_viewed(array) for array in inputs]
        if len(places) != len(plan.shapes):
            raise ValueError(f"out must hold {len(plan.shapes)} arrays, one for each Result, not {len(places)}")
        for i, (place, shape, dtype) in enumerate(zip(places, plan.shapes, plan.dtypes, strict=True)):
            name = f"out[{i}]" if len(places) > 1 else "out"
            if not isinstance(place, np.ndarray):
                raise TypeError(f"{name} must be a NumPy array, not {type(place).__name__}")
            if place.dtype != dtype:
                raise TypeError(f"{name} must have the dtype {dtype}, not {place.dtype}")
            if place.shape != shape:
                raise ValueError(f"{name} must have the shape {shape}, not {place.shape}")
            if not place.flags.writeable:
                raise ValueError(f"{name} must be writeable")
            if any(_share(place, other) for other in [*taken, *places[:i]]):
                raise ValueError(f"{name} must not share memory with an input or with another result")
        return places

    def explain(self, *shapes: Sequence[int]) -> str:
        """Tell how the model runs: its stages, and what each chain says of itself.

        Parameters
        ----------
        *shapes : tuple of int
            The inputs' shapes; not needed where the file settles them.

        Returns
        -------
        str
            Several lines, which docs/explain.md reads.

        Raises
        ------
        ValueError
            The file leaves shapes open and they are not given, or they do not fit.
        """
        plan = self._static
        if shapes or plan is None:
            if self._decisive:
                names = ", ".join(shown(self.inputs[i].name) for i in self._decisive)
                raise ValueError(f"the values of {names} decide what is done: there is no plan before the call")
            if len(shapes) != len(self.inputs):
                raise ValueError(f"explain() needs the shapes of {len(self.inputs)} inputs, got {len(shapes)}")
            arrays = tuple(
                np.broadcast_to(np.empty((), port.dtype), shape)
                for port, shape in zip(self.inputs, shapes, strict=True)
            )
            self._checked(arrays)
            plan = self._plan([MemoryDesc(a.shape, a.dtype) for a in arrays], {})
        lines = [repr(self), f"{len(plan.stages)} {'stage' if len(plan.stages) == 1 else 'stages'}"]
        for i, stage in enumerate(plan.stages):
            reads = ", ".join(map(_slot_text, stage.reads))
            lines.append(f"stage {i}: {reads} -> {', '.join(map(_slot_text, stage.writes))}")
            text = f"concat along axis {stage.axis}" if stage.chain is None else stage.chain.explain()
            lines += [f"    {line}" for line in text.rstrip().splitlines()]
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        ends = [", ".join(map(str, ports[:4])) + (" ..." if len(ports) > 4 else "") for ports in self._ends()]
        return f"<Model {shown(self.name)!r} of {len(self._layers)} layers: {ends[0] or 'nothing'} -> {ends[1]}>"

    def _ends(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        return self.inputs, self.outputs


def _viewed(array: Any) -> npt.NDArray[Any]:
    """The bytes of an input, of whatever kind, as NumPy sees them."""
    if isinstance(array, np.ndarray):
        return array
    if not isinstance(array, Memory):
        # A Memory takes no tensor that requires grad; here only where its bytes lie counts.
        array = array.detach() if hasattr(array, "detach") else array
        array = Memory(Chain.of(array).src_desc, buffer=array)
    viewed: npt.NDArray[Any] = array.numpy()
    return viewed


def _share(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    try:
        # NumPy's stubs know no number but -1 and 0.
        return np.shares_memory(a, b, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _slot_text(slot: tuple[str, int]) -> str:
    return f"{slot[0]} {slot[1]}"


def _mapped(path: pathlib.Path) -> npt.NDArray[np.uint8]:
    if path.stat().st_size == 0:
        return np.empty(0, np.uint8)
    return np.asarray(np.memmap(path, np.uint8, "r"))


def _weights(xml: pathlib.Path, weights: Any) -> npt.NDArray[np.uint8] | str:
    """The bytes of the .bin file, or why there are none."""
    if weights is None:
        beside = xml.with_suffix(".bin")
        return _mapped(beside) if beside.is_file() else f"there is no {beside.name} beside the file"
    if isinstance(weights, str | os.PathLike):
        return _mapped(pathlib.Path(weights))
    try:
        return np.frombuffer(weights, np.uint8)
    except (TypeError, BufferError):
        kind = type(weights).__name__
        raise TypeError(f"weights must be a path or contiguous bytes, not {kind}") from None


def _document(path: pathlib.Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(MOST_BYTES + 1)  # one more than `parse` takes


def read_model(xml: str | os.PathLike[str], weights: Any = None) -> Model:
    """Read an OpenVINO IR, version 10 or 11, of pure data movement.

    Nothing in the files is taken on trust: whatever is malformed, inconsistent, out of bounds or no data movement
    is an error, before any of it runs.

    Parameters
    ----------
    xml : str or PathLike
        The .xml file.
    weights : str, PathLike or bytes-like, optional
        The .bin file, mapped into memory and read only where it is needed, or its bytes. By default the file of
        the same name with the suffix .bin beside `xml`; a model without constants needs none.

    Returns
    -------
    Model
        To be called with one array for each Parameter.

    Raises
    ------
    IRError
        A ValueError: what is wrong with the file, and in which layer.
    OSError
        A file cannot be read.
    ImportError
        defusedxml is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from dnnmove import ir
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "shuffle.xml")
    ...     _ = file.write_text('''<net name="shuffle" version="11"> <layers>
    ...         <layer id="0" name="x" type="Parameter" version="opset1">
    ...             <data shape="?,6" element_type="i64"/> <output> <port id="0"/> </output> </layer>
    ...         <layer id="1" name="s" type="ShuffleChannels" version="opset1"> <data axis="1" group="2"/>
    ...             <input> <port id="0"/> </input> <output> <port id="1"/> </output> </layer>
    ...         <layer id="2" name="y" type="Result" version="opset1"> <input> <port id="0"/> </input> </layer>
    ...     </layers> <edges>
    ...         <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
    ...         <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
    ...     </edges> </net>''')
    ...     model = ir.read_model(file)
    >>> model(np.arange(6).reshape(1, 6))
    array([[0, 3, 1, 4, 2, 5]])
    >>> model.inputs[0].shape
    (None, 6)
    """
    if not isinstance(xml, str | os.PathLike):
        raise TypeError(f"xml must be the path of a file, a str or PathLike, not {type(xml).__name__}")
    path = pathlib.Path(xml)
    what = shown(path.name, 100)
    root = parse(_document(path), what)
    try:
        return Model(root.attributes.get("name", ""), read_layers(root, _weights(path, weights)))
    except IRError as error:
        raise IRError(f"{what}: {error}") from None

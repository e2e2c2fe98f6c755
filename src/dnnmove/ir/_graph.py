"""From the XML of an IR to its layers, connected and in an order in which they can run; every claim is checked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dnnmove.ir._operations import OPERATIONS, Attributes, read_attributes
from dnnmove.ir._values import Bounds, element_type, integer, parse_shape, port_shape, shape_text
from dnnmove.ir._xml import Element, IRError, shown

__all__ = ["Layer", "Source", "read_layers"]

Source: TypeAlias = "tuple[Layer, int]"  # a layer and the number of one of its outputs
MOST_INDICES = 1 << 20  # of a Gather
_WIDENING = {("bfloat16", "float32"), ("float16", "float32"), ("float16", "float64"), ("float32", "float64")}


@dataclass(eq=False)
class Layer:
    """One layer of a model."""

    id: str
    name: str
    type: str
    inputs: list[Source] = field(default_factory=list)
    declared_inputs: list[Bounds] = field(default_factory=list)
    declared_outputs: list[Bounds] = field(default_factory=list)
    attributes: Attributes = field(default_factory=dict)
    dtype: np.dtype[Any] | None = None  # of a Parameter, a Const or a Convert
    shape: Bounds = ()  # of a Parameter
    array: npt.NDArray[Any] | None = None  # of a Const

    def error(self, text: object) -> IRError:
        """An error that names the layer."""
        return IRError(f"layer {shown(self.name)!r} (type {shown(self.type)}, id {shown(self.id)}): {text}")


@dataclass
class _Ports:
    """The numbers of the ports in a layer's list, by their id."""

    inputs: dict[str, int]
    outputs: dict[str, int]


def _ports(layer: Layer, element: Element, side: str, taken: dict[str, int]) -> tuple[dict[str, int], list[Bounds]]:
    holder = element.one(side)
    found: dict[str, int] = {}
    shapes: list[Bounds] = []
    for port in holder.all("port") if holder else []:
        id = port.attributes.get("id")
        if id is None or id in found or id in taken:
            raise IRError(f"port id {shown(str(id))!r} is missing or there twice")
        found[id] = len(shapes)
        shapes.append(port_shape(port))
    return found, shapes


def _bytes_of(layer: Layer, data: dict[str, str], weights: npt.NDArray[np.uint8] | str) -> npt.NDArray[Any]:
    """The array of a Const: a view of the weights."""
    dtype = element_type(data.get("element_type"))
    bounds = parse_shape(data.get("shape"))
    if bounds is None or any(low != high for low, high in bounds):
        raise IRError(f"the shape of a Const is known, {shape_text(bounds)} is not")
    shape = tuple(low for low, _ in bounds)
    wanted = dtype.itemsize
    for length in shape:
        wanted *= length
    offset = integer(data.get("offset", ""), "offset", 0)
    size = integer(data.get("size", ""), "size", 0)
    if wanted == 0:  # exporters give such a constant a byte, wherever it may lie
        return np.empty(shape, dtype)
    if size != wanted:
        raise IRError(f"size ({size}) must be {wanted}, the bytes of {dtype} {shape}")
    if isinstance(weights, str):
        raise IRError(f"bytes {offset} to {offset + size} of the weights are needed, but {weights}")
    if offset + size > weights.size:
        raise IRError(f"offset ({offset}) and size ({size}) exceed the weights, which have {weights.size} bytes")
    return weights[offset : offset + size].view(dtype).reshape(shape)


def _fill(layer: Layer, data: dict[str, str], weights: npt.NDArray[np.uint8] | str) -> range:
    """Reads what a layer says by its type; returns how many inputs it may have."""
    kind = layer.type
    if kind == "Parameter":
        layer.dtype, layer.shape = element_type(data.get("element_type")), parse_shape(data.get("shape"))
        return range(1)
    if kind == "Const":
        layer.array = _bytes_of(layer, data, weights)
        return range(1)
    if kind == "Result":
        return range(1, 2)
    if kind == "Convert":
        layer.dtype = element_type(data.get("destination_type"))
        return range(1, 2)
    if kind == "Concat":
        layer.attributes = {"axis": integer(data.get("axis", ""), "axis")}
        return range(1, 1 << 20)
    if kind not in OPERATIONS:
        known = sorted([*OPERATIONS, "Concat", "Const", "Parameter", "Result"])
        raise IRError(f"this type is not supported: dnnmove moves data only, by {', '.join(known)}")
    layer.attributes = read_attributes(OPERATIONS[kind], data)
    return OPERATIONS[kind].inputs


def _read_layer(element: Element, weights: npt.NDArray[np.uint8] | str) -> tuple[Layer, _Ports]:
    named = element.attributes
    layer = Layer(named.get("id", ""), named.get("name", ""), named.get("type", ""))
    try:
        if not re.fullmatch(r"opset\d{1,3}", named.get("version", "opset1")):
            raise IRError(f"version {shown(named['version'])!r} must be that of an opset of OpenVINO")
        data = element.one("data")
        inputs, layer.declared_inputs = _ports(layer, element, "input", {})
        outputs, layer.declared_outputs = _ports(layer, element, "output", inputs)
        count = _fill(layer, data.attributes if data else {}, weights)
        if len(inputs) not in count:
            text = str(count[0]) if len(count) == 1 else f"{count[0]} to {count[-1]}"
            raise IRError(f"it has {len(inputs)} inputs, expected {text}")
        several = layer.type in ("VariadicSplit", "Split")
        if layer.type == "Result":
            pass  # some exporters give it an output, which nobody reads
        elif len(outputs) != 1 and not several:
            raise IRError(f"it has {len(outputs)} outputs, expected 1")
    except IRError as error:
        raise layer.error(error) from None
    return layer, _Ports(inputs, outputs)


def _connect(edges: Element | None, layers: dict[str, tuple[Layer, _Ports]]) -> None:
    """Gives each layer its inputs, by the edges."""
    inputs: dict[str, list[Source | None]] = {id: [None] * len(ports.inputs) for id, (_, ports) in layers.items()}
    for edge in edges.all("edge") if edges else []:
        names = [edge.attributes.get(name, "") for name in ("from-layer", "from-port", "to-layer", "to-port")]
        text = "the edge from layer {!r} port {!r} to layer {!r} port {!r}".format(*map(shown, names))
        start, start_port, end, end_port = names
        for id in (start, end):
            if id not in layers:
                raise IRError(f"{text}: there is no layer {shown(id)!r}")
        source, source_ports = layers[start]
        if start_port not in source_ports.outputs:
            raise IRError(f"{text}: layer {shown(start)!r} has no output port {shown(start_port)!r}")
        number = layers[end][1].inputs.get(end_port)
        if number is None:
            raise IRError(f"{text}: layer {shown(end)!r} has no input port {shown(end_port)!r}")
        if inputs[end][number] is not None:
            raise IRError(f"{text}: another edge leads to that port already")
        inputs[end][number] = (source, source_ports.outputs[start_port])
    for id, (layer, ports) in layers.items():
        for port, number in ports.inputs.items():
            if inputs[id][number] is None:
                raise layer.error(f"no edge leads to its input port {shown(port)!r}")
        layer.inputs = [source for source in inputs[id] if source is not None]


def _ordered(layers: list[Layer]) -> list[Layer]:
    """The layers, each behind those whose outputs it reads."""
    waiting = {layer: len(layer.inputs) for layer in layers}
    readers: dict[Layer, list[Layer]] = {layer: [] for layer in layers}
    for layer in layers:
        for source, _ in layer.inputs:
            readers[source].append(layer)
    order = [layer for layer in layers if not layer.inputs]
    for layer in order:  # grows meanwhile
        for reader in readers[layer]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                order.append(reader)
    if len(order) < len(layers):
        stuck = next(layer for layer in layers if waiting[layer])
        raise stuck.error("it waits for its own output: the edges form a cycle")
    return order


def _check_convert(layer: Layer) -> None:
    """A Convert behind a Const whose values stay: weights kept in f16, and integers, which are converted here."""
    array, dtype = layer.inputs[0][0].array, layer.dtype
    if array is None or dtype is None:
        raise layer.error("only constants are converted")
    if array.dtype.kind in "iu" and dtype.kind in "iu":
        held = np.iinfo(dtype)
        if array.size and not held.min <= array.min() <= array.max() <= held.max:
            raise layer.error(f"its constant has values in [{array.min()}, {array.max()}], which {dtype} does not hold")
        layer.array = array.astype(dtype)
    elif (array.dtype.name, str(dtype)) not in _WIDENING:
        raise layer.error(
            f"{array.dtype} is not converted to {dtype}: only integers, and floating-point types to wider ones"
        )


def _check(layer: Layer) -> None:
    """What only the connected layer tells: where its constants come from, and how many outputs it has."""
    if layer.type == "Convert":
        _check_convert(layer)
        return
    operation = OPERATIONS.get(layer.type)
    if operation is None:
        return
    used = len(layer.inputs) - 1
    if layer.type == "Broadcast" and layer.attributes["mode"] != "explicit":
        used = 1  # a third input means nothing
    for name, (source, _) in zip(operation.constants[:used], layer.inputs[1:], strict=False):
        most = {"split_lengths": len(layer.declared_outputs), "indices": MOST_INDICES}.get(name, 64)
        if source.type == "Parameter":
            if source.dtype is None or source.dtype.kind not in "iu":
                raise layer.error(f"{name} must be integers, not {source.dtype}")
        elif source.array is None:
            raise layer.error(f"{name} must come from a Const or a Parameter, not from a layer of type {source.type}")
        elif source.array.dtype.kind not in "iu" or source.array.ndim > 1:
            raise layer.error(f"{name} must be integers of one axis, not {source.array.dtype} {source.array.shape}")
        elif source.array.size > most:
            raise layer.error(f"{name} has {source.array.size} entries, expected at most {most}")


def read_layers(net: Element, weights: npt.NDArray[np.uint8] | str) -> list[Layer]:
    """The layers of a ``<net>``, each behind those whose outputs it reads.

    `weights` is the .bin file, or a text that says why there is none.
    """
    if net.tag != "net":
        raise IRError(f"the root element is <{shown(net.tag)}>, expected <net>: this is no OpenVINO IR")
    version = net.attributes.get("version")
    if version not in ("10", "11"):
        raise IRError(f"the IR's version ({shown(str(version))!r}) must be 10 or 11")
    holder = net.one("layers")
    layers: dict[str, tuple[Layer, _Ports]] = {}
    for element in holder.all("layer") if holder else []:
        layer, ports = _read_layer(element, weights)
        if not layer.id or layer.id in layers:
            raise layer.error("its id is missing or there twice")
        layers[layer.id] = layer, ports
    _connect(net.one("edges"), layers)
    ordered = _ordered([layer for layer, _ in layers.values()])
    for layer in ordered:
        _check(layer)
    # Parameters and Results count in the order of the file, and `ordered` begins with what has no inputs, in that
    # order; Results come as their inputs do, so they go back to where the file has them.
    results = [layer for layer, _ in layers.values() if layer.type == "Result"]
    if not results:
        raise IRError("there is no layer of type Result: the model computes nothing")
    return [layer for layer in ordered if layer.type != "Result"] + results

"""One `<layer>` as OpenVINO's documentation prints it, which is seldom well-formed XML, as a function of arrays."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from dnnmove._core import Chain, Memory, transpose
from dnnmove.ir._operations import OPERATIONS, read_attributes
from dnnmove.ir._values import OPEN, Bounds, agree, port_shape, shape_text
from dnnmove.ir._xml import Element, IRError, parse, shown

__all__ = ["Layer", "read_layer"]

MOST_CHARACTERS = 1 << 20
# In a tag: quoted values stay, an ellipsis that stands for attributes left out goes.
_IN_TAG = re.compile(r"""("[^"]*"|'[^']*')|(?<=\s)(?:\.\.\.|\u2026)(?=[\s/>])""")


class Layer:
    """One operation with its attributes, read by `read_layer`.

    Called with the data and the constants that are its other inputs, in their order, it returns what the operation
    gives: an array, or a tuple of them.

    Attributes
    ----------
    type : str
        OpenVINO's name of the operation: "ShuffleChannels".
    attributes : dict
        With their types; those that the text leaves out have their defaults.
    input_shapes, output_shapes : tuple of tuples of int or None
        Of all ports, in their order. None stands for a dynamic dimension.
    """

    def __init__(self, type: str, attributes: dict[str, Any], inputs: list[Bounds], outputs: list[Bounds]) -> None:
        self.type = type
        self.attributes = attributes
        self._inputs, self._outputs = inputs, outputs
        self.input_shapes = tuple(map(_dims, inputs))
        self.output_shapes = tuple(map(_dims, outputs))

    def __call__(self, data: Any, *constants: Any) -> Any:
        """Do what the layer does.

        Parameters
        ----------
        data : array
            The first input, of the shape that its port has: a NumPy array of any strides, Memory, a tensor.
        *constants : array or sequence of int
            The other inputs: the order of Transpose, axis and lengths of VariadicSplit, ...

        Returns
        -------
        array or tuple of arrays
            New memory; a tuple for Split and VariadicSplit.

        Raises
        ------
        TypeError
            The number of inputs differs, or one has the wrong type.
        ValueError
            A shape is not the one of the layer's port, or the constants do not fit the data.
        """
        operation = OPERATIONS[self.type]
        taken = 1 + len(constants)
        if taken not in operation.inputs:
            names = ", ".join(("data", *operation.constants))
            raise TypeError(f"{self.type} takes {names}; {taken} inputs were given")
        if taken > len(self._inputs) > 0:  # fewer is for the operation to judge, which may ignore a port
            raise TypeError(f"this {self.type} has {len(self._inputs)} input ports, but {taken} inputs were given")
        arrays = [
            self._constant(i, name, constant)
            for i, (name, constant) in enumerate(zip(operation.constants, constants, strict=False), 1)
        ]
        if isinstance(data, np.ndarray) and any(stride % (data.itemsize or 1) for stride in data.strides):
            data = transpose(data, range(data.ndim))  # a chain counts strides in elements
        try:
            chain = Chain(data.desc) if isinstance(data, Memory) else Chain.of(data)
        except (TypeError, ValueError) as error:
            raise type(error)(f"data: {error}") from None
        shape = chain.src_desc.dims
        for i, (port, found) in enumerate(zip(self._inputs, [shape, *(a.shape for a in arrays)], strict=False)):
            if not agree(port, found):
                name = ("data", *operation.constants)[i]
                raise ValueError(f"{name} must have the shape of port {i}, {shape_text(port)}, not {found}")
        for name, arguments in operation.steps(shape, self.attributes, arrays):
            chain = getattr(chain, name)(**arguments)
        shapes = [desc.dims for desc in chain.dst_descs]
        if self._outputs and len(self._outputs) != len(shapes):
            raise ValueError(f"there are {len(shapes)} outputs, but the layer has {len(self._outputs)} output ports")
        for i, (port, found) in enumerate(zip(self._outputs, shapes, strict=False)):
            if port and not agree(port, found):
                raise ValueError(f"output {i} has the shape {found}, but its port says {shape_text(port)}")
        return chain.build()(data)

    def _constant(self, port: int, name: str, constant: Any) -> npt.NDArray[Any]:
        """An input behind the data as an array of integers."""
        array = np.asarray(constant)
        if array.dtype.kind not in "iu":
            if isinstance(constant, list | tuple) and not constant:
                return np.zeros(0, np.int64)  # NumPy takes an empty list for floats
            raise TypeError(f"{name} must be integers, not {array.dtype}")
        declared = self._inputs[port] if port < len(self._inputs) else None
        if name == "axis" and array.size == 1 and declared in ((), ((1, 1),), (OPEN,)):
            array = array.reshape([1] * len(declared or ()))  # a scalar and an array of one mean the same axis
        return array

    def __repr__(self) -> str:
        inputs = ", ".join(map(shape_text, self._inputs))
        given = "".join(f", {name}={value!r}" for name, value in self.attributes.items())
        return f"<Layer {self.type}: inputs {inputs or 'of any shape'}{given}>"


def _dims(bounds: Bounds) -> tuple[int | None, ...]:
    return tuple(low if low == high else None for low, high in bounds or ())


def _without_comments(text: str) -> str:
    """The text without comments, of which some begin with a space too many."""
    kept, at = [], 0
    for start in re.finditer(r"<\s?!--", text):
        if start.start() < at:
            continue  # inside the comment before
        kept.append(text[at : start.start()])
        end = text.find("-->", start.end())
        if end < 0:
            raise IRError("the layer has a comment without an end")
        at = end + 3
    return "".join(kept) + text[at:]


def _repaired(text: str) -> str:
    """Well-formed XML, if the text is XML but for bare ellipses in tags and comments that begin with a space."""
    tags = re.split(r"(<[^<>]*>)", _without_comments(text))
    return "".join(_IN_TAG.sub(lambda m: m[1] or "", tag) if tag.startswith("<") else tag for tag in tags)


def _shapes(layer: Element, side: str) -> list[Bounds]:
    holder = layer.one(side)
    return [port_shape(port) for port in holder.all("port")] if holder else []


def read_layer(text: str) -> Layer:
    """Read one ``<layer>`` element, as a model has it or as OpenVINO's documentation prints it.

    Ports count by their order, since examples give two inputs the same id; a bare ``...`` in a tag and comments that
    begin with ``< !--`` are passed over.

    Parameters
    ----------
    text : str
        From ``<layer`` to ``</layer>``.

    Returns
    -------
    Layer
        To be called with the data and the constants.

    Raises
    ------
    IRError
        A ValueError: the text is no such element, or of an operation that moves no data.
    ImportError
        defusedxml is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from dnnmove import ir
    >>> layer = ir.read_layer('''
    ... <layer ... type="Transpose">
    ...     <input>
    ...         <port id="0"> <dim>2</dim> <dim>3</dim> <dim>4</dim> </port>
    ...         <port id="1"> <dim>3</dim>  < !-- [2, 0, 1] --> </port>
    ...     </input>
    ... </layer>''')
    >>> layer.type, layer.input_shapes
    ('Transpose', ((2, 3, 4), (3,)))
    >>> layer(np.zeros((2, 3, 4)), [2, 0, 1]).shape
    (4, 2, 3)
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}")
    if len(text) > MOST_CHARACTERS:
        raise IRError(f"the layer has more than {MOST_CHARACTERS} characters")
    layer = parse(_repaired(text.strip()), "the layer")
    if layer.tag != "layer":
        raise IRError(f"the element is <{shown(layer.tag)}>, expected <layer>")
    kind = layer.attributes.get("type", "")
    if kind not in OPERATIONS:
        raise IRError(f"type {shown(kind)!r} must be one of {', '.join(sorted(OPERATIONS))}")
    data = layer.one("data")
    try:
        attributes = read_attributes(OPERATIONS[kind], data.attributes if data else {})
        inputs, outputs = _shapes(layer, "input"), _shapes(layer, "output")
        if inputs and len(inputs) not in OPERATIONS[kind].inputs:
            raise IRError(f"it has {len(inputs)} inputs")
    except IRError as error:
        raise IRError(f"the layer (type {kind}): {error}") from None
    return Layer(kind, attributes, inputs, outputs)

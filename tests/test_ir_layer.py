"""dnnmove.ir.read_layer on the fragments that the source documents print, as they print them."""

import numpy as np
import oracle
import pytest
import strategies as some
from oracle import assert_same

import dnnmove as dm
from dnnmove import ir

pytest.importorskip("defusedxml")

SHUFFLE_CHANNELS = """\
 <layer ... type="ShuffleChannels" ...>
     <data group="3" axis="1"/>
     <input>
         <port id="0">
             <dim>5</dim>
             <dim>12</dim>
             <dim>200</dim>
             <dim>400</dim>
         </port>
     </input>
     <output>
         <port id="1">
             <dim>5</dim>
             <dim>12</dim>
             <dim>200</dim>
             <dim>400</dim>
         </port>
     </output>
 </layer>"""

TRANSPOSE = """\
 <layer ... type="Transpose">
     <input>
         <port id="0">
             <dim>2</dim>
             <dim>3</dim>
             <dim>4</dim>
         </port>
         <port id="1">
             <dim>3</dim>  < !-- [2, 0, 1] -->
         </port>
     </input>
     <output>
         <port id="2">
             <dim>4</dim>
             <dim>2</dim>
             <dim>3</dim>
         </port>
     </output>
 </layer>
"""

TRANSPOSE_EMPTY = """\
 <layer ... type="Transpose">
     <input>
         <port id="0">
             <dim>2</dim>
             <dim>3</dim>
             <dim>4</dim>
         </port>
         <port id="1">
             <dim>0</dim> < !-- input_order is an empty 1D tensor -->
         </port>
     </input>
     <output>
         <port id="2">
             <dim>4</dim>
             <dim>3</dim>
             <dim>2</dim>
         </port>
     </output>
 </layer>"""

VARIADIC_SPLIT = """\
<layer id="1" type="VariadicSplit" ...>
<input>
<port id="0">            <!-- some data -->
<dim>6</dim>
<dim>12</dim>
<dim>10</dim>
<dim>24</dim>
</port>
<port id="1">            <!-- axis: 0 -->
</port>
<port id="2">
<dim>3</dim>         <!-- split_lengths: [1, 2, 3] -->
</port>
</input>
<output>
<port id="3">
<dim>1</dim>
<dim>12</dim>
<dim>10</dim>
<dim>24</dim>
</port>
<port id="4">
<dim>2</dim>
<dim>12</dim>
<dim>10</dim>
<dim>24</dim>
</port>
<port id="5">
<dim>3</dim>
<dim>12</dim>
<dim>10</dim>
<dim>24</dim>
</port>
</output>
</layer>
"""

VARIADIC_SPLIT_REST = """\
<layer id="1" type="VariadicSplit" ...>
<input>
<port id="0">            <!-- some data -->
<dim>6</dim>
<dim>12</dim>
<dim>10</dim>
<dim>24</dim>
</port>
<port id="1">            <!-- axis: 0 -->
</port>
<port id="2">
<dim>2</dim>         <!-- split_lengths: [-1, 2] -->
</port>
</input>
<output>
<port id="3">
<dim>4</dim>         <!--  4 = 6 - 2  -->
<dim>12</dim>
<dim>10</dim>
<dim>24</dim>
</port>
<port id="4">
<dim>2</dim>
<dim>12</dim>
<dim>10</dim>
<dim>24</dim>
</port>
</output>
</layer>
"""

BROADCAST_NUMPY = """\
<layer ... type="Broadcast" ...>
    <data mode="numpy"/>
    <input>
        <port id="0">
            <dim>16</dim>
            <dim>1</dim>
            <dim>1</dim>
       </port>
        <port id="1">
            <dim>4</dim>   <!--The tensor contains 4 elements: [1, 16, 50, 50] -->
        </port>
        <!-- the 3rd input shouldn't be provided with mode="numpy" -->
    </input>
    <output>
        <port id="2">
            <dim>1</dim>
            <dim>16</dim>
            <dim>50</dim>
            <dim>50</dim>
        </port>
    </output>
</layer>
"""

BROADCAST_ONE = """\
<layer ... type="Broadcast" ...>
    <data mode="explicit"/>
    <input>
        <port id="0">
            <dim>16</dim>
       </port>
        <port id="1">
            <dim>4</dim>   <!--The tensor contains 4 elements: [1, 16, 50, 50] -->
        </port>
        <port id="1">
            <dim>1</dim>   <!--The tensor contains 1 elements: [1] -->
        </port>
    </input>
    <output>
        <port id="2">
            <dim>1</dim>
            <dim>16</dim>
            <dim>50</dim>
            <dim>50</dim>
        </port>
    </output>
</layer>
"""

BROADCAST_TWO = """\
<layer ... type="Broadcast" ...>
    <data mode="explicit"/>
    <input>
        <port id="0">
            <dim>50</dim>
            <dim>50</dim>
       </port>
        <port id="1">
            <dim>4</dim>   <!--The tensor contains 4 elements: [1, 50, 50, 16] -->
        </port>
        <port id="1">
            <dim>2</dim>   <!--The tensor contains 2 elements: [1, 2] -->
        </port>
    </input>
    <output>
        <port id="2">
            <dim>1</dim>
            <dim>50</dim>
            <dim>50</dim>
            <dim>16</dim>
        </port>
    </output>
</layer>"""

# The fragment, type, attributes, input shapes, the constants and what NumPy makes of the data.
PRINTED = [
    (SHUFFLE_CHANNELS, "ShuffleChannels", {"axis": 1, "group": 3}, ((5, 12, 200, 400),), (),
     lambda x: oracle.shuffle_channels(x, 1, 3)),
    (TRANSPOSE, "Transpose", {}, ((2, 3, 4), (3,)), ([2, 0, 1],), lambda x: oracle.transpose(x, (2, 0, 1))),
    (TRANSPOSE_EMPTY, "Transpose", {}, ((2, 3, 4), (0,)), ([],), lambda x: oracle.transpose(x, ())),
    (VARIADIC_SPLIT, "VariadicSplit", {}, ((6, 12, 10, 24), (), (3,)), (0, [1, 2, 3]),
     lambda x: oracle.variadic_split(x, 0, [1, 2, 3])),
    (VARIADIC_SPLIT_REST, "VariadicSplit", {}, ((6, 12, 10, 24), (), (2,)), (0, [-1, 2]),
     lambda x: oracle.variadic_split(x, 0, [-1, 2])),
    (BROADCAST_NUMPY, "Broadcast", {"mode": "numpy"}, ((16, 1, 1), (4,)), ([1, 16, 50, 50],),
     lambda x: oracle.broadcast(x, [1, 16, 50, 50])),
    (BROADCAST_ONE, "Broadcast", {"mode": "explicit"}, ((16,), (4,), (1,)), ([1, 16, 50, 50], [1]),
     lambda x: oracle.broadcast(x, [1, 16, 50, 50], [1], "explicit")),
    (BROADCAST_TWO, "Broadcast", {"mode": "explicit"}, ((50, 50), (4,), (2,)), ([1, 50, 50, 16], [1, 2]),
     lambda x: oracle.broadcast(x, [1, 50, 50, 16], [1, 2], "explicit")),
]  # fmt: skip


@pytest.mark.parametrize("case", PRINTED, ids=lambda case: f"{case[1]} {case[4]}")
@pytest.mark.parametrize("dtype", ["f4", "u1"])
def test_printed_fragment(case, dtype):
    text, kind, attributes, shapes, constants, numpy = case
    layer = ir.read_layer(text)
    assert layer.type == kind
    assert layer.attributes == attributes
    assert layer.input_shapes == shapes
    data = some.dense(shapes[0], dtype)
    expected = numpy(data)
    for given in (constants, [np.array(c, np.int64) for c in constants], [np.array(c, np.int8) for c in constants]):
        result = layer(data, *given)
        assert isinstance(result, tuple) == isinstance(expected, tuple)
        pairs = zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
        for mine, right in pairs:
            assert_same(mine, right)
    outputs = [part.shape for part in expected] if isinstance(expected, tuple) else [expected.shape]
    assert list(layer.output_shapes) == outputs


def layer(kind, data="", inputs=(), outputs=()):
    def ports(side, shapes):
        dims = ["".join(f"<dim>{n}</dim>" for n in shape) for shape in shapes]
        return f"<{side}>" + "".join(f'<port id="0">{text}</port>' for text in dims) + f"</{side}>" if dims else ""

    return f'<layer type="{kind}">{data}{ports("input", inputs)}{ports("output", outputs)}</layer>'


def test_defaults():
    assert ir.read_layer(layer("ShuffleChannels")).attributes == {"axis": 1, "group": 1}
    assert ir.read_layer(layer("ShuffleChannels", '<data group="3" other="x"/>')).attributes == {"axis": 1, "group": 3}
    assert ir.read_layer(layer("Broadcast")).attributes == {"mode": "numpy"}
    assert ir.read_layer(layer("Broadcast", '<data mode="none"/>')).attributes == {"mode": "explicit"}
    assert ir.read_layer(layer("Split", '<data num_splits="3"/>')).attributes == {"num_splits": 3}
    assert ir.read_layer(layer("Transpose")).input_shapes == ()


@pytest.mark.parametrize("port", [(), (1,), ("?",)])
def test_an_axis_is_a_scalar_or_an_array_of_one(port):
    read = ir.read_layer(layer("Split", '<data num_splits="2"/>', [(2, 6), port]))
    x = some.dense((2, 6), "f4")
    for axis in (1, [1], np.array(1), np.array([-1])):
        for mine, right in zip(read(x, axis), oracle.variadic_split(x, 1, (3, 3)), strict=True):
            assert_same(mine, right)
    with pytest.raises(ValueError, match="axis"):
        read(x, [0, 1])


def test_dynamic_dimensions():
    read = ir.read_layer(layer("Transpose", "", [("?", 3, -1), (3,)]))
    assert read.input_shapes == ((None, 3, None), (3,))
    for shape in ((2, 3, 4), (5, 3, 1)):
        data = some.dense(shape, "f4")
        assert_same(read(data, [2, 0, 1]), oracle.transpose(data, (2, 0, 1)))
    assert repr(read) == "<Layer Transpose: inputs (?, 3, ?), (3,)>"


def test_other_arrays():
    torch = pytest.importorskip("torch")
    read = ir.read_layer(layer("Split", '<data num_splits="2"/>'))
    x = torch.arange(12.0).reshape(2, 6)
    assert all(map(torch.equal, read(x, 1), x.split(3, 1)))
    a = np.arange(12.0).reshape(2, 6)
    assert [part.numpy().tolist() for part in read(dm.Memory(dm.MemoryDesc.of(a), buffer=a), [0])] == [
        [row] for row in a.tolist()
    ]
    unaligned = np.zeros(49, "u1")[1:].view("f4").reshape(2, 6)
    packed = np.zeros((2, 6), [("a", "u1"), ("b", "f4")])["b"]
    assert [part.shape for array in (unaligned, packed) for part in read(array, 1)] == [(2, 3)] * 4


@pytest.mark.parametrize(
    ("kind", "call", "words"),
    [
        (TypeError, lambda: ir.read_layer(b"<layer/>"), ["text must be a str, not bytes"]),
        (ValueError, lambda: ir.read_layer("<net/>"), ["<net>", "expected <layer>"]),
        (ValueError, lambda: ir.read_layer("<layer/>"), ["type '' must be one of", "Transpose"]),
        (ValueError, lambda: ir.read_layer(layer("Relu")), ["'Relu'"]),
        (ValueError, lambda: ir.read_layer(""), ["not well-formed"]),
        (ValueError, lambda: ir.read_layer("<layer type='Transpose'> <!-- "), ["comment without an end"]),
        (ValueError, lambda: ir.read_layer(layer("Split")), ["type Split", "num_splits is missing"]),
        (ValueError, lambda: ir.read_layer(layer("Split", '<data num_splits="two"/>')), ["num_splits ('two')"]),
        (ValueError, lambda: ir.read_layer(layer("Split", '<data num_splits="1_0"/>')), ["num_splits ('1_0')"]),
        (ValueError, lambda: ir.read_layer(layer("Broadcast", '<data mode="pdpd"/>')), ["mode ('pdpd')", "explicit"]),
        (ValueError, lambda: ir.read_layer(layer("Transpose", "", [(2, "x")])), ["dim ('x')"]),
        (ValueError, lambda: ir.read_layer(layer("Transpose", "", [(2, -2)])), ["dim (-2) must be at least 0"]),
        (ValueError, lambda: ir.read_layer(layer("Transpose", "", [(1,)] * 3)), ["3 inputs"]),
        (ValueError, lambda: ir.read_layer(layer("Transpose", "", [(1,) * 65, (1,)])), ["more than 64 dimensions"]),
        (TypeError, lambda: ir.read_layer(TRANSPOSE)(np.zeros((2, 3, 4))), ["takes data, input_order; 1 inputs"]),
        (ValueError, lambda: ir.read_layer(TRANSPOSE)(np.zeros((2, 3)), [1, 0]), ["data must", "(2, 3, 4)", "(2, 3)"]),
        (ValueError, lambda: ir.read_layer(TRANSPOSE)(np.zeros((2, 3, 4)), [1, 0]), ["input_order", "(3,)", "(2,)"]),
        (ValueError, lambda: ir.read_layer(TRANSPOSE)(np.zeros((2, 3, 4)), [1, 0, 2]), ["output 0", "(4, 2, 3)"]),
        (ValueError, lambda: ir.read_layer(TRANSPOSE)(np.zeros((2, 3, 4)), [1, 1, 2]), ["input_order (1, 1, 2)"]),
        (TypeError, lambda: ir.read_layer(TRANSPOSE)(np.zeros((2, 3, 4)), [2.0, 0.0, 1.0]), ["integers", "float64"]),
        (TypeError, lambda: ir.read_layer(TRANSPOSE)([[[1.0]]], [2, 0, 1]), ["data: ", "list"]),
        (ValueError, lambda: ir.read_layer(VARIADIC_SPLIT)(np.zeros((6, 12, 10, 24)), 0, [1, 2, 4]), ["split_lengths"]),
        (TypeError, lambda: ir.read_layer(TRANSPOSE_EMPTY)(np.zeros((2, 3, 4)), np.zeros(0)), ["integers", "float64"]),
        (
            TypeError,
            lambda: ir.read_layer(BROADCAST_NUMPY)(np.zeros((16, 1, 1)), [1, 16, 50, 50], [1]),
            ["Broadcast has 2 input ports, but 3 inputs were given"],
        ),
        (ValueError, lambda: ir.read_layer(layer("Split", '<data num_splits="0"/>')), ["num_splits (0)", "at least 1"]),
        (ValueError, lambda: ir.read_layer(layer("ShuffleChannels", '<data group="0"/>')), ["group (0)", "at least 1"]),
        (ValueError, lambda: ir.read_layer(layer("Broadcast", '<data mode="explicit"/>'))(np.zeros(1), [1]), ["third"]),
    ],
)
def test_errors(errors_name, kind, call, words):
    errors_name(kind, call, *words)


def test_hostile_text_takes_no_time():
    for text in ("<!--" * 250_000, "< " * 500_000, "<layer " + "... " * 250_000, "<a>" * 300_000, "'" * 10**6):
        with pytest.raises(ir.IRError):
            ir.read_layer(text)
    with pytest.raises(ir.IRError, match="more than 1048576 characters"):
        ir.read_layer("<layer type='Transpose'>" + " " * 2**20)
    with pytest.raises(ir.IRError, match="document type or entities"):
        ir.read_layer('<!DOCTYPE layer [<!ENTITY a "b">]><layer type="Transpose">&a;</layer>')

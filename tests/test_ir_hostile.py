"""Files that lie, bomb or break: dnnmove.ir says what is wrong, in bounded time and memory, and runs none of it."""

import itertools
import random
import time

import numpy as np
import pytest

from dnnmove import ir

pytest.importorskip("defusedxml")

GOOD = """<?xml version="1.0"?>
<net name="m" version="11">
  <layers>
    <layer id="0" name="x" type="Parameter" version="opset1">
      <data shape="2,4,3" element_type="f32"/>
      <output><port id="0" precision="FP32"><dim>2</dim><dim>4</dim><dim>3</dim></port></output>
    </layer>
    <layer id="1" name="order" type="Const" version="opset1">
      <data element_type="i64" shape="3" offset="0" size="24"/>
      <output><port id="0" precision="I64"><dim>3</dim></port></output>
    </layer>
    <layer id="2" name="t" type="Transpose" version="opset1">
      <input><port id="0"><dim>2</dim><dim>4</dim><dim>3</dim></port><port id="1"><dim>3</dim></port></input>
      <output><port id="2"><dim>4</dim><dim>3</dim><dim>2</dim></port></output>
    </layer>
    <layer id="3" name="s" type="ShuffleChannels" version="opset3">
      <data axis="0" group="2"/>
      <input><port id="0"><dim>4</dim><dim>3</dim><dim>2</dim></port></input>
      <output><port id="1"><dim>4</dim><dim>3</dim><dim>2</dim></port></output>
    </layer>
    <layer id="4" name="y" type="Result" version="opset1">
      <input><port id="0"><dim>4</dim><dim>3</dim><dim>2</dim></port></input>
    </layer>
  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
    <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
    <edge from-layer="3" from-port="1" to-layer="4" to-port="0"/>
  </edges>
</net>
"""
WEIGHTS = np.array([1, 2, 0]).astype("<i8").tobytes()
DATA = np.arange(24, dtype="f4").reshape(2, 4, 3)


@pytest.fixture
def read(tmp_path):
    def read(text, weights=WEIGHTS):
        path = tmp_path / "m.xml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return ir.read_model(path, weights)

    return read


def test_the_file_that_is_changed_below(read):
    expected = DATA.transpose(1, 2, 0)[[0, 2, 1, 3]]
    assert np.array_equal(read(GOOD)(DATA), expected)


EDGE = '<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>'
CHANGES = {
    "no net": (GOOD.replace("net", "nut"), "root element is <nut>, expected <net>"),
    "version": (GOOD.replace('version="11"', 'version="12"'), r"version \('12'\) must be 10 or 11"),
    "empty": ("", "not well-formed"),
    "text": ("no XML at all", "not well-formed"),
    "truncated": (GOOD[: len(GOOD) // 2], "not well-formed"),
    "NUL": (GOOD.replace("Transpose", "Trans\0pose"), "not well-formed"),
    "encoding": (GOOD.replace('"1.0"?', '"1.0" encoding="martian"?'), "not well-formed"),
    "encoding of many bytes": (GOOD.replace('"1.0"?', '"1.0" encoding="gb18030"?'), "not well-formed"),
    "nothing in it": ('<net version="11"/>', "no layer of type Result"),
    "two lists": (GOOD.replace("<edges>", "<layers/><edges>"), "holds 2 <layers> elements"),
    "unknown layer": (GOOD.replace("ShuffleChannels", "Einsum"), r"layer 's' \(type Einsum, id 3\).* not supported"),
    "no type": (GOOD.replace('type="ShuffleChannels"', ""), r"layer 's' \(type , id 3\).* not supported"),
    "version of a layer": (GOOD.replace("opset3", "extension"), "version 'extension' must be that of an opset"),
    "same id": (GOOD.replace('id="3" name', 'id="2" name'), "its id is missing or there twice"),
    "no id": (GOOD.replace('id="3" name', "name"), "its id is missing or there twice"),
    "same port": (GOOD.replace('<port id="1"><dim>3</dim></port></input>', '<port id="0"/></input>'), "port id '0'"),
    "too few inputs": (GOOD.replace('<port id="1"><dim>3</dim></port></input>', "</input>"), "1 inputs, expected 2"),
    "dangling start": (GOOD.replace('from-layer="2"', 'from-layer="9"'), "there is no layer '9'"),
    "dangling end": (GOOD.replace('to-layer="3"', 'to-layer="-"'), "there is no layer '-'"),
    "no such output": (GOOD.replace('from-port="2"', 'from-port="7"'), "layer '2' has no output port '7'"),
    "no such input": (GOOD.replace('to-port="1"', 'to-port="8"'), "layer '2' has no input port '8'"),
    "input as output": (GOOD.replace('from-port="2"', 'from-port="0"'), "has no output port '0'"),
    "double edge": (GOOD.replace(EDGE, EDGE * 2), "another edge leads to that port"),
    "missing edge": (GOOD.replace(EDGE, ""), r"layer 's' .* no edge leads to its input port '0'"),
    "cycle": (GOOD.replace('from-layer="0" from-port="0"', 'from-layer="3" from-port="1"'), "the edges form a cycle"),
    "element type": (GOOD.replace('"f32"', '"f33"'), r"layer 'x' .* element_type 'f33' must be one of"),
    "no element type": (GOOD.replace('element_type="f32"', ""), "element_type '' must be one of"),
    "float order": (GOOD.replace('"i64"', '"f64"'), "input_order must be integers of one axis, not float64"),
    "2-D order": (GOOD.replace('shape="3"', 'shape="3,1"'), r"input_order must be integers of one axis.*\(3, 1\)"),
    "shape of text": (GOOD.replace('shape="2,4,3"', 'shape="2,4,drei"'), r"shape \('drei'\) must be an integer"),
    "shape of more": (GOOD.replace('shape="2,4,3"', 'shape="2,4,3.0"'), r"shape \('3.0'\) must be an integer"),
    "Unicode digits": (GOOD.replace('shape="2,4,3"', 'shape="2,4,\u0663"'), "must be an integer"),
    "negative length": (GOOD.replace('shape="2,4,3"', 'shape="2,-4,3"'), r"shape \(-4\) must be at least 0"),
    "long number": (GOOD.replace('shape="2,4,3"', 'shape="' + "9" * 99999 + '"'), "must be an integer of 64 bits"),
    "many axes": (GOOD.replace('shape="2,4,3"', 'shape="' + "1," * 99999 + '1"'), "more than 64 dimensions"),
    "huge shape": (GOOD.replace("2,4,3", "4611686018427387904,4,3"), "Parameter"),
    "interval": (GOOD.replace('shape="2,4,3"', 'shape="9..2,4,3"'), "from its lesser to its greater end"),
    "open constant": (GOOD.replace('shape="3"', 'shape="?"'), "the shape of a Const is known"),
    "no shape": (GOOD.replace('shape="3"', ""), "shape is missing"),
    "huge constant": (GOOD.replace('shape="3"', f'shape="{2**60}"'), r"size \(24\) must be 9223372036854775808"),
    "offset": (GOOD.replace('offset="0"', 'offset="1"'), r"offset \(1\) and size \(24\) exceed the weights.* 24 bytes"),
    "negative offset": (GOOD.replace('offset="0"', 'offset="-8"'), r"offset \(-8\) must be at least 0"),
    "offset that wraps": (GOOD.replace('offset="0"', f'offset="{2**63 - 1}"'), "exceed the weights"),
    "size": (GOOD.replace('size="24"', 'size="16"'), r"size \(16\) must be 24"),
    "no size": (GOOD.replace('size="24"', ""), r"size \(''\) must be an integer"),
    "wrong axis": (GOOD.replace('axis="0"', 'axis="3"'), r"layer 's' \(type ShuffleChannels, id 3\): axis"),
    "wrong group": (GOOD.replace('group="2"', 'group="3"'), r"layer 's' .* group \(3\) must divide"),
    "group 0": (GOOD.replace('group="2"', 'group="0"'), "group"),
    "group of words": (GOOD.replace('group="2"', 'group="two"'), r"group \('two'\) must be an integer"),
    "port of another shape": (
        GOOD.replace('id="1"><dim>4</dim>', 'id="1"><dim>5</dim>'),
        r"layer 's' .* output 0 has the shape \(4, 3, 2\), but its port says \(5, 3, 2\)",
    ),
    "port dim": (GOOD.replace("<dim>4</dim>", "<dim>4 4</dim>"), r"dim \('4 4'\)"),
    "entities": ('<!DOCTYPE net [<!ENTITY a "' + "b" * 50 + '">]>' + GOOD[22:], "document type or entities"),
    "external": ('<!DOCTYPE net SYSTEM "file:///etc/passwd">' + GOOD[22:], "document type or entities"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_noticed(name, read):
    text, message = CHANGES[name]
    assert text != GOOD
    with pytest.raises(ir.IRError, match=message) as caught:
        read(text)
    assert str(caught.value).startswith("m.xml")
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("order", [(0, 1, 1), (0, 1, 3), (-4, 0, 1), (2**62, 0, 1)])
def test_weights_are_not_trusted_either(order, read):
    with pytest.raises(ir.IRError, match=r"layer 't' \(type Transpose, id 2\): input_order"):
        read(GOOD, np.array(order).astype("<i8").tobytes())


def test_no_weights(read, tmp_path):
    with pytest.raises(ir.IRError, match=r"layer 'order' .* bytes 0 to 24 .* there is no m\.bin beside the file"):
        read(GOOD, None)
    (tmp_path / "m.bin").write_bytes(b"")
    with pytest.raises(ir.IRError, match=r"exceed the weights, which have 0 bytes"):
        read(GOOD, None)


def net(layers, edges):
    return f'<net version="11"><layers>{layers}</layers><edges>{edges}</edges></net>'


def test_a_cycle_of_its_own(read):
    layer = (
        '<layer id="{0}" type="ShuffleChannels"><input><port id="0"/></input><output><port id="1"/></output></layer>'
    )
    result = '<layer id="9" type="Result"><input><port id="0"/></input></layer>'
    edge = '<edge from-layer="{}" from-port="1" to-layer="{}" to-port="0"/>'
    text = net(layer.format(1) + layer.format(2) + result, edge.format(1, 2) + edge.format(2, 1) + edge.format(2, 9))
    with pytest.raises(ir.IRError, match="cycle"):
        read(text)


BOMBS = {
    "billion laughs": '<!DOCTYPE n [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True))
    + "]><net>&j;</net>",
    "deep": "<a>" * 400_000,
    "wide": "<net>" + "<a/>" * 1_000_000,
    "attributes": "<net " + " ".join(f'a{i}="1"' for i in range(100_000)) + ' a1=""/>',
    "junk": bytes(random.Random(0).randrange(256) for _ in range(1 << 20)),
    "zeroes": bytes(20 << 20),
    "text": "<net>" + "x" * (20 << 20) + "</net>",
    "too long": "<net>" + " " * (33 << 20) + "</net>",
    "name": '<net version="11"><layers><layer id="0" name="' + "n" * (5 << 20) + '"/></layers></net>',
    "layers": '<net version="11"><layers>' + '<layer id="0" type="Parameter"/>' * 100_000 + "</layers></net>",
    "edges": '<net version="11"><edges>' + '<edge from-layer="0"/>' * 400_000 + "</edges></net>",
    "UTF-16": ("<net>" + "\u20ac" * 1000).encode("utf-16"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name, read):
    start = time.process_time()
    with pytest.raises(ir.IRError) as caught:
        read(BOMBS[name])
    assert time.process_time() - start < 20  # seconds of this process; a fraction of one in fact
    assert len(str(caught.value)) < 600


@pytest.mark.unsanitized
def test_memory_stays_bounded(run_python, tmp_path):
    path = tmp_path / "wide.xml"
    path.write_text("<net>" + "<a/>" * 8_000_000)
    # The peak of this program alone: getrusage counts what the process that started it had when it did.
    program = f"""
import re
from pathlib import Path
from dnnmove import ir
try:
    ir.read_model({str(path)!r})
except ir.IRError as error:
    print(error)
print(int(re.search("VmHWM:\\\\s*([0-9]+) kB", Path("/proc/self/status").read_text())[1]) // 1024)
"""
    error, peak = run_python(program).splitlines()
    assert "more than 500000 elements" in error
    assert int(peak) < 800  # MiB, of which the interpreter and NumPy take some 100


def long_chain(count):
    layers = [
        '<layer id="x" type="Parameter"><data shape="2,3" element_type="u8"/><output><port id="1"/></output></layer>'
    ]
    layers += [
        f'<layer id="{i}" type="ShuffleChannels"><data group="3"/><input><port id="0"/></input>'
        '<output><port id="1"/></output></layer>'
        for i in range(count)
    ]
    layers.append('<layer id="y" type="Result"><input><port id="0"/></input></layer>')
    names = ["x", *map(str, range(count)), "y"]
    edges = [f'<edge from-layer="{a}" from-port="1" to-layer="{b}" to-port="0"/>' for a, b in itertools.pairwise(names)]
    return net("".join(layers), "".join(edges))


def test_long_models_recurse_nowhere(read):
    data = np.arange(6, dtype="u1").reshape(2, 3)
    assert np.array_equal(read(long_chain(5000))(data), data)


def wide_split(count, read_by):
    """A split into many parts, of which a Result reads each `read_by`-th."""
    ports = "".join(f'<port id="{i + 2}"/>' for i in range(count))
    layers = [
        f'<layer id="x" type="Parameter"><data shape="{count}" element_type="u8"/>'
        '<output><port id="1"/></output></layer>',
        '<layer id="a" type="Const"><data shape="" element_type="i64" offset="0" size="8"/><output><port id="1"/>'
        "</output></layer>",
        f'<layer id="s" type="Split"><data num_splits="{count}"/><input><port id="0"/><port id="1"/></input>'
        f"<output>{ports}</output></layer>",
    ]
    edges = [
        '<edge from-layer="x" from-port="1" to-layer="s" to-port="0"/>',
        '<edge from-layer="a" from-port="1" to-layer="s" to-port="1"/>',
    ]
    for i in range(0, count, read_by):
        layers.append(f'<layer id="r{i}" type="Result"><input><port id="0"/></input></layer>')
        edges.append(f'<edge from-layer="s" from-port="{i + 2}" to-layer="r{i}" to-port="0"/>')
    return net("".join(layers), "".join(edges))


@pytest.mark.parametrize("read_by", [1, 2, 1000])
def test_wide_models(read_by, read):
    count = 2000
    data = np.arange(count).astype("u1")
    results = read(wide_split(count, read_by), bytes(8))(data)
    assert [int(part[0]) for part in results] == data[::read_by].tolist()


def test_results_that_no_machine_holds(read):
    """The file is read, the call fails as any call of that size does."""
    ports = '<output><port id="9"/></output>'
    layers = [
        f'<layer id="x" type="Parameter"><data shape="1" element_type="f32"/>{ports}</layer>',
        f'<layer id="c" type="Const"><data shape="1" element_type="i64" offset="0" size="8"/>{ports}</layer>',
        f'<layer id="b" type="Broadcast"><input><port id="0"/><port id="1"/></input>{ports}</layer>',
        '<layer id="y" type="Result"><input><port id="0"/></input></layer>',
    ]
    edges = [
        f'<edge from-layer="{start}" from-port="9" to-layer="{end}" to-port="{port}"/>'
        for start, end, port in (("x", "b", 0), ("c", "b", 1), ("b", "y", 0))
    ]
    text = net("".join(layers), "".join(edges))
    assert read(text, np.array([3]).tobytes())(np.ones(1, "f4")).tolist() == [1, 1, 1]
    with pytest.raises(ir.IRError, match=r"type Broadcast, id b\): .* more bytes than 63 bits can count"):
        read(text, np.array([2**62]).tobytes())
    model = read(text, np.array([2**45]).tobytes())
    with pytest.raises(MemoryError):
        model(np.ones(1, "f4"))


def mutated(random, text):
    """The bytes of a file with some of them changed, cut out, doubled or moved."""
    data = bytearray(text.encode())
    for _ in range(random.choice([1, 1, 2, 5, 20])):
        at = random.randrange(len(data))
        to = min(len(data), at + random.choice([1, 1, 4, 40, 400]))
        kind = random.randrange(6)
        if kind == 0:
            data[at] = random.randrange(256)
        elif kind == 1:
            data[at] = random.choice(b'0123456789-?.,"<>/ =')
        elif kind == 2:
            del data[at:to]
        elif kind == 3:
            data[at:at] = data[at:to]
        elif kind == 4:
            piece = data[at:to]
            del data[at:to]
            where = random.randrange(len(data) + 1)
            data[where:where] = piece
        else:
            data[at:at] = random.choice(
                [b"9" * 30, b"-1", b"?", b"&amp;", b"<layer/>", b"<!--", b"\xff", b"\0", b"..."]
            )
        if not data:
            data = bytearray(b"<")
    return bytes(data)


def run_mutants(count, seed, read):
    """How many of `count` changed files were read; each of the others was an IRError, no matter what changed."""
    generator = random.Random(seed)
    fine = 0
    for number in range(count):
        text, problem = mutated(generator, GOOD), False
        try:
            model = read(text)
            shapes = [[n if n is not None else 4 for n in port.shape or (4,)] for port in model.inputs]
            if all(np.prod(shape, dtype=float) < 1e6 for shape in shapes):
                result = model(*(np.zeros(shape, port.dtype) for shape, port in zip(shapes, model.inputs, strict=True)))
                assert isinstance(result, np.ndarray | tuple)
            fine += 1
        except (ir.IRError, MemoryError) as error:
            problem = len(str(error)) >= 600
        except ValueError as error:  # of the call: lengths that the file bounds, and 4 does not lie in
            problem = "must have the shape" not in str(error)
        assert not problem, number
    return fine


def test_mutants(read):
    assert 5 < run_mutants(500, 0, read) < 300

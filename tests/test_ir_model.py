"""dnnmove.ir.read_model against OpenVINO, on the files that OpenVINO writes: every mode, dtype and dynamic shape."""

import re
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import strategies as some
from dlpack_structures import OnlyDlpack
from oracle import assert_same

import dnnmove as dm
from dnnmove import ir
from dnnmove.ir._slabs import Slabs

pytest.importorskip("defusedxml")
ov = pytest.importorskip("openvino")

from openvino import opset1, opset3, opset7, opset8, opset13, opset15  # noqa: E402  (behind the skip)
from openvino.passes import ConstantFolding, Manager  # noqa: E402

pytestmark = pytest.mark.unsanitized

CORE = ov.Core()


def const(values, dtype=np.int64):
    return opset13.constant(np.array(values, dtype))


def parameter(shape, dtype=ov.Type.f32, name="x"):
    node = opset13.parameter(ov.PartialShape(shape), dtype)
    node.set_friendly_name(name)
    return node


def outputs(nodes):
    nodes = nodes if isinstance(nodes, list) else [nodes]
    return [output for node in nodes for output in (node.outputs() if hasattr(node, "outputs") else [node])]


def saved(nodes, parameters, folder, compress=False, name="model"):
    """The path of the file that OpenVINO writes of a model, and the model."""
    model = ov.Model(outputs(nodes), parameters, name)
    path = folder / f"{name}.xml"
    ov.save_model(model, path, compress_to_fp16=compress)
    return path, model


def computed(model, *arrays):
    """What OpenVINO computes on the CPU: as bytes, so that NaN and -0 count."""
    run = CORE.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    result = run(list(arrays))
    return [np.array(result[i]) for i in range(len(model.outputs))]


def check(nodes, parameters, arrays, folder, **options):
    """The model gives what OpenVINO gives, and into `out=` too."""
    path, theirs = saved(nodes, parameters, folder, **options)
    ours = ir.read_model(path)
    expected = computed(theirs, *arrays)
    result = ours(*arrays)
    results = result if isinstance(result, tuple) else (result,)
    assert len(results) == len(expected)
    for mine, right in zip(results, expected, strict=True):
        assert_same(mine, right)
    out = tuple(np.empty_like(array) for array in results)
    ours(*arrays, out=out if isinstance(result, tuple) else out[0])
    for mine, right in zip(out, expected, strict=True):
        assert_same(mine, right)
    # A slab at a time, as the command line does.
    job = Slabs(ours, arrays)
    places = [np.empty(shape, dtype) for shape, dtype in zip(job.shapes, job.dtypes, strict=True)]
    done = []
    job.run(places, 700, done.append)
    assert sum(done) == sum(place.nbytes for place in places)
    for mine, right in zip(places, expected, strict=True):
        assert_same(mine, right)
    return ours


SHAPE = (2, 12, 5, 4)
X = some.dense(SHAPE, "i4").astype("f4")

SINGLE = {
    "shuffle_channels": lambda x: opset3.shuffle_channels(x, 1, 3),
    "shuffle_channels, last axis": lambda x: opset3.shuffle_channels(x, -1, 2),
    "transpose": lambda x: opset1.transpose(x, const([0, 2, 3, 1])),
    "transpose, order of another type": lambda x: opset1.transpose(x, const([3, 1, 0, 2], np.uint8)),
    "transpose, empty order": lambda x: opset1.transpose(x, const([])),
    "variadic split": lambda x: opset1.variadic_split(x, const(1), const([3, 2, 7])),
    "variadic split, the rest": lambda x: opset1.variadic_split(x, const([-3]), const([3, -1, 4], np.int32)),
    "split": lambda x: opset1.split(x, const(1), 4),
    "broadcast, numpy": lambda x: opset1.broadcast(x, const([3, 2, 12, 5, 4])),
    "broadcast-3, numpy": lambda x: opset3.broadcast(x, const([3, 2, 12, 5, 4])),
    "broadcast, explicit": lambda x: opset1.broadcast(x, const([2, 3, 12, 5, 4]), const([0, 2, 3, 4]), "EXPLICIT"),
    "broadcast-3, explicit": lambda x: opset3.broadcast(
        x, const([2, 12, 5, 4, 2]), const([0, 1, 2, 3], np.int32), broadcast_spec="EXPLICIT"
    ),
    "broadcast, bidirectional": lambda x: opset3.broadcast(x, const([3, 1, 1, 5, 1]), broadcast_spec="BIDIRECTIONAL"),
    "reshape": lambda x: opset1.reshape(x, const([0, -1, 4]), special_zero=True),
    "reshape, no zeroes": lambda x: opset1.reshape(x, const([24, 20]), special_zero=False),
    "unsqueeze": lambda x: opset1.unsqueeze(x, const([0, -1])),
    "squeeze": lambda x: opset1.squeeze(opset1.unsqueeze(x, const([1, 3])), const([-3])),
    "squeeze, all": lambda x: opset1.squeeze(opset1.unsqueeze(x, const([1, 3])), const([])),
    "squeeze, what has length 1": lambda x: opset15.squeeze(
        opset1.unsqueeze(x, const([1])), const([2, -4, 1]), allow_axis_skip=True
    ),
    "gather": lambda x: opset8.gather(x, const([7, 0, -1, 7]), const(1)),
    "gather, one": lambda x: opset8.gather(x, const(-2, np.int32), const(1)),
    "tile": lambda x: opset1.tile(x, const([2, 1, 3, 1])),
    "tile, fewer": lambda x: opset1.tile(x, const([3])),
    "tile, more": lambda x: opset1.tile(x, const([2, 1, 1, 1, 2])),
    "roll": lambda x: opset7.roll(x, const([3, -1]), const([1, -1])),
    "depth to space": lambda x: opset1.depth_to_space(x, "blocks_first", 2),
    "depth to space, depth first": lambda x: opset1.depth_to_space(x, "depth_first", 2),
    "space to depth": lambda x: opset1.space_to_depth(opset1.tile(x, const([1, 1, 2, 1])), "blocks_first", 2),
    "space to depth, depth first": lambda x: opset1.space_to_depth(
        opset1.tile(x, const([1, 1, 2, 1])), "depth_first", 2
    ),
    "strided slice": lambda x: opset1.strided_slice(
        x, const([0, 9, 1, 1]), const([2, 1, -1, 0]), const([1, -3, 2, 1]), [0, 0, 0, 0], [0, 0, 0, 1]
    ),
    "strided slice, begin left out": lambda x: opset1.strided_slice(
        x, const([1, 5, 4]), const([2, 0, 0]), const([1, 2, -1]), [1, 1, 1], [1, 0, 1]
    ),
    "strided slice, all masks": lambda x: opset1.strided_slice(
        x,
        const([0, 1, 0, 1]),
        const([0, 2, 0, 100]),
        const([1, 1, 1, 2]),
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 0],
    ),
    "slice": lambda x: opset8.slice(x, const([1, 8]), const([100, -200]), const([2, -3]), const([-2, 1])),
    "slice, all axes": lambda x: opset8.slice(x, const([0, 1, 1, 1]), const([1, 9, 3, 4]), const([1, 1, 1, 2])),
    "concat": lambda x: opset1.concat([x, opset1.transpose(x, const([0, 1, 2, 3])), x], -1),
}


SOURCES = {"static": SHAPE, "?": (-1, -1, -1, -1), "some": (2, ov.Dimension(6, 20), -1, 4)}
# OpenVINO runs no squeeze whose rank its shapes leave open.
OF_STATIC_SHAPES = ("squeeze, all", "squeeze, what has length 1")


@pytest.mark.parametrize(
    ("source", "name"), [(s, n) for s in SOURCES for n in SINGLE if s == "static" or n not in OF_STATIC_SHAPES]
)
def test_operation(source, name, tmp_path):
    shape = SOURCES[source]
    x = parameter(list(shape))
    model = check(SINGLE[name](x), [x], [X], tmp_path)
    assert model.inputs[0].name == "x"
    assert model.inputs[0].dtype == np.float32


@pytest.mark.parametrize("compress", [True, False])
def test_constants_are_data_too(compress, tmp_path):
    """save_model keeps constants as f16 by default, with a Convert behind each."""
    values = np.arange(-7, 300, dtype="f4")
    nodes = [
        opset1.broadcast(opset13.constant(values), const([2, 307])),
        opset1.transpose(opset13.constant(values[:6].reshape(2, 3)), const([1, 0])),
        opset13.constant(values[:5]),
    ]
    x = parameter([3])
    path, theirs = saved([*nodes, x], [x], tmp_path, compress=compress)
    data = np.arange(3, dtype="f4")
    results = ir.read_model(path)(data)
    for mine, right in zip(results, computed(theirs, data), strict=True):
        assert_same(mine, right)
        assert mine.flags.writeable
    results[2][:] = 1  # new memory: neither the input nor the file
    assert ir.read_model(path)(data)[2].tolist() == values[:5].tolist()


@pytest.mark.parametrize(("dtype", "wider"), [("u1", "i32"), ("i4", "i64"), ("i8", "i32"), ("i8", "u8")])
def test_constants_of_another_integer_type(dtype, wider, tmp_path):
    """A Convert behind a Const is done while reading, where it changes no value."""
    x = parameter(list(SHAPE))
    check(opset1.transpose(x, opset1.convert(const([0, 2, 3, 1], dtype), wider)), [x], [X], tmp_path)
    path, _ = saved([x, opset1.convert(const([-4, 2, 3, 1], "i8"), "u8")], [x], tmp_path, name="odd")
    with pytest.raises(ir.IRError, match=r"type Convert.* values in \[-4, 3\], which uint8 does not hold"):
        ir.read_model(path)


def test_gather_of_nothing(tmp_path):
    """OpenVINO crashes."""
    x = parameter(list(SHAPE))
    path, _ = saved(opset8.gather(x, const([]), const([-1])), [x], tmp_path)
    assert ir.read_model(path)(X).shape == (2, 12, 5, 0)
    path.write_text(path.read_text().replace('batch_dims="0"', 'batch_dims="1"'))
    with pytest.raises(ir.IRError, match=r"type Gather, .* batch_dims \(1\) must be 0"):
        ir.read_model(path)


def test_slices_are_those_of_openvino_s_reference(tmp_path):
    """A new axis before an axis that goes, and one that goes with its begin masked: OpenVINO's CPU plugin reads beyond
    the array there, its reference, which folds constants, does not."""
    for masks in [([0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]), ([1, 1, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1])]:
        arguments = const([0, 1, 2]), const([0, 2, 3]), const([1, 1, 1]), *masks, [0, 0, 0]
        folded = ov.Model(outputs(opset1.strided_slice(opset13.constant(X), *arguments)), [], "folded")
        manager = Manager()
        manager.register_pass(ConstantFolding())
        manager.run_passes(folded)
        x = parameter(list(SHAPE))
        path, _ = saved(opset1.strided_slice(x, *arguments), [x], tmp_path)
        assert_same(ir.read_model(path)(X), np.array(folded.get_results()[0].input_value(0).get_node().data))


TYPES = {
    ov.Type.f64: "f8", ov.Type.f32: "f4", ov.Type.f16: "f2", ov.Type.bf16: ml_dtypes.bfloat16,
    ov.Type.f8e4m3: ml_dtypes.float8_e4m3fn, ov.Type.f8e5m2: ml_dtypes.float8_e5m2,
    ov.Type.i8: "i1", ov.Type.i16: "i2", ov.Type.i32: "i4", ov.Type.i64: "i8",
    ov.Type.u8: "u1", ov.Type.u16: "u2", ov.Type.u32: "u4", ov.Type.u64: "u8", ov.Type.boolean: "?",
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.get_type_name())
def test_element_type(kind, tmp_path):
    """Bits move, NaNs and all; OpenVINO's shapes are the ones of ours."""
    dtype = np.dtype(TYPES[kind])
    x = parameter([2, 6, -1], kind)
    node = opset1.transpose(opset3.shuffle_channels(x, 1, 2), const([2, 0, 1]))
    path, theirs = saved(node, [x], tmp_path)
    model = ir.read_model(path)
    assert model.inputs[0].dtype == model.outputs[0].dtype == dtype
    data = some.dense((2, 6, 5), "u1").astype(bool) if dtype.kind == "b" else some.dense((2, 6, 5), dtype)
    expected = dm.transpose(dm.shuffle_channels(data, 1, 2), (2, 0, 1))
    assert_same(model(data), expected)
    if dtype.kind in "iub":  # OpenVINO's CPU plugin computes with 32 bits of an integer, and quiets NaNs
        data = data if dtype.itemsize < 8 else (data % 1000).astype(dtype)
        assert_same(model(data), computed(theirs, data)[0])
    with pytest.raises(TypeError, match=f"input 0 .* must have the dtype {dtype}, not complex64"):
        model(np.zeros((2, 6, 5), "c8"))


@pytest.mark.parametrize("kind", [ov.Type.i4, ov.Type.u4, ov.Type.u1, ov.Type.nf4])
def test_packed_element_types_are_refused(kind, tmp_path):
    x = parameter([2, 6], kind)
    path, _ = saved(opset1.transpose(x, const([1, 0])), [x], tmp_path)
    with pytest.raises(ir.IRError, match=r"layer 'x' \(type Parameter, id 0\): element_type .* packs"):
        ir.read_model(path)


def test_version_10_and_serialize(tmp_path):
    x = parameter(list(SHAPE))
    model = ov.Model([opset3.shuffle_channels(x, 1, 3)], [x], "m")
    path = tmp_path / "m.xml"
    ov.serialize(model, path)
    path.write_text(path.read_text().replace('version="11"', 'version="10"', 1))
    assert_same(ir.read_model(path)(X), dm.shuffle_channels(X, 1, 3))
    path.write_text(path.read_text().replace('version="10"', 'version="7"', 1))
    with pytest.raises(ir.IRError, match=r"version \('7'\) must be 10 or 11"):
        ir.read_model(path)


def shufflenet_unit(x):
    a, b = opset1.variadic_split(opset3.shuffle_channels(x, 1, 2), const(1), const([6, 6])).outputs()
    return [opset1.transpose(a, const([0, 2, 3, 1])), opset1.reshape(b, const([0, -1]), special_zero=True)]


def several_readers(x):
    t = opset1.transpose(x, const([1, 0, 2, 3]))
    parts = opset1.split(t, const(0), 6).outputs()
    return [t, t, opset3.shuffle_channels(t, 0, 3), parts[1], opset1.transpose(parts[4], const([])), x]


def few_of_many(x):
    parts = opset1.split(x, const(1), 12).outputs()
    return [opset1.transpose(part, const([])) for part in parts[3:10]]


def nested(x):
    left, right = opset1.split(x, const(1), 2).outputs()
    inner = opset1.variadic_split(opset1.transpose(right, const([])), const(2), const([1, -1])).outputs()
    return [opset1.tile(inner[1], const([1, 2, 1, 1])), opset1.concat([left, left], 1), inner[0]]


@pytest.mark.parametrize(
    ("build", "stages"), [(shufflenet_unit, 1), (several_readers, 1), (few_of_many, 1), (nested, 2)]
)
def test_regions_become_one_chain(build, stages, tmp_path):
    x = parameter(list(SHAPE))
    model = check(build(x), [x], [X], tmp_path)
    text = model.explain()
    assert f"\n{stages} stage" in text
    assert text.count(": 1 pass") == text.count("chain of")
    assert len(model.outputs) == len(build(parameter(list(SHAPE))))


def test_chains_have_an_end(tmp_path):
    """More layers than a chain may have steps: several chains, the same result."""
    x = node = parameter([2, 3, 4])
    for i in range(300):
        node = opset1.transpose(node, const([[1, 2, 0], [2, 0, 1], [0, 2, 1]][i % 3]))
    data = some.dense((2, 3, 4), "f4")
    model = check(node, [x], [np.nan_to_num(data)], tmp_path)
    assert 1 < int(model.explain().splitlines()[1].split()[0]) < 20


def test_the_order_of_inputs_and_results_is_the_file_s(tmp_path):
    a, b = parameter([2, 3], ov.Type.f32, "a"), parameter([4], ov.Type.i32, "b")
    nodes = [opset1.transpose(b, const([0])), opset1.transpose(a, const([1, 0])), b]
    path, theirs = saved(nodes, [b, a], tmp_path)
    data = [np.arange(4, dtype="i4"), np.arange(6, dtype="f4").reshape(2, 3)]
    model = ir.read_model(path)
    assert [port.name for port in model.inputs] == ["b", "a"]
    for mine, right in zip(model(*data), computed(theirs, *data), strict=True):
        assert_same(mine, right)


def test_values_that_come_at_the_call(tmp_path):
    """An order or a target shape may be a Parameter: planned for each value."""
    x, order = parameter([-1, -1, -1]), parameter([3], ov.Type.i64, "order")
    path, _ = saved(opset1.transpose(x, order), [x, order], tmp_path)
    model = ir.read_model(path)
    data = some.dense((2, 3, 4), "f4")
    for values in ([2, 0, 1], [0, 2, 1]):
        assert_same(model(data, np.array(values)), dm.transpose(data, values))
    with pytest.raises(ir.IRError, match=r"layer 'Transpose_\d+' .*input_order \(0, 0, 1\)"):
        model(data, np.array([0, 0, 1]))
    with pytest.raises(ValueError, match="the values of order decide what is done"):
        model.explain((2, 3, 4), (3,))


def test_dynamic_shapes_are_planned_for_each_call(tmp_path):
    x = parameter([-1, 4, ov.Dimension(2, 9)])
    path, theirs = saved(opset1.split(opset3.shuffle_channels(x, 1, 2), const(2), 2), [x], tmp_path)
    model = ir.read_model(path)
    assert model.inputs[0].shape == (None, 4, None)
    for shape in [(1, 4, 2), (7, 4, 8), (0, 4, 6), (1, 4, 2)]:
        data = np.nan_to_num(some.dense(shape, "f4"))
        if 0 not in shape:
            for mine, right in zip(model(data), computed(theirs, data), strict=True):
                assert_same(mine, right)
        assert [part.shape for part in model(data)] == [(shape[0], 4, shape[2] // 2)] * 2
    with pytest.raises(ValueError, match=r"input 0 \('x'\) must have the shape \(\?, 4, 2\.\.9\), not \(1, 4, 10\)"):
        model(np.zeros((1, 4, 10), "f4"))
    with pytest.raises(ValueError, match=r"must have the shape \(\?, 4, 2\.\.9\), not \(4, 2\)"):
        model(np.zeros((4, 2), "f4"))
    with pytest.raises(ir.IRError, match=r"layer 'Split_\d+' \(type Split, id \d+\): num_splits \(2\)"):
        model(np.zeros((1, 4, 3), "f4"))
    with pytest.raises(ValueError, match=r"needs the shapes of 1 inputs, got 0"):
        model.explain()
    assert "1 stage" in model.explain((1, 4, 2))
    with pytest.raises(TypeError, match="takes 1 inputs, but 2 were given"):
        model(np.zeros((1, 4, 2), "f4"), np.zeros(1))
    with pytest.raises(TypeError, match="input 0"):
        model([[1.0]])


def test_any_strides_and_other_arrays(tmp_path):
    torch = pytest.importorskip("torch")
    x = parameter([-1, 4, -1])
    path, _ = saved(opset1.transpose(opset3.shuffle_channels(x, 1, 2), const([])), [x], tmp_path)
    model = ir.read_model(path)
    data = np.arange(240, dtype="f4").reshape(6, 4, 10)
    unaligned = np.zeros(100, "u1")[1:97].view("f4").reshape(3, 4, 2)
    packed = np.zeros((3, 4, 2), [("a", "u1"), ("b", "f4")])["b"]
    for view in (data[::-2, :, ::3], data.transpose(2, 1, 0), unaligned, packed):
        assert_same(model(view), dm.transpose(dm.shuffle_channels(np.ascontiguousarray(view), 1, 2)))
    assert torch.equal(model(torch.from_numpy(data)), torch.from_numpy(model(data)))
    memory = model(dm.Memory(dm.MemoryDesc.of(data), buffer=data))
    assert_same(memory.numpy(), model(data))


def test_out_is_checked_before_anything_runs(tmp_path):
    x = parameter(list(SHAPE))
    path, _ = saved(nested(x), [x], tmp_path)
    model = ir.read_model(path)
    good = [np.full_like(array, 7) for array in model(X)]
    held = np.resize(X, max(X.size, good[1].size))
    data, shared = held[: X.size].reshape(SHAPE), held[: good[1].size].reshape(good[1].shape)
    bad = [
        (ValueError, r"3 arrays, one for each Result, not 2", good[:2]),
        (TypeError, r"out\[1\] must have the dtype float32, not float64", [good[0], good[1].astype("f8"), good[2]]),
        (ValueError, r"out\[2\] must have the shape", [*good[:2], good[2][:1]]),
        (ValueError, r"out\[1\] must not share memory", [good[0], shared, good[2]]),
        (TypeError, r"out\[0\] must be a NumPy array, not list", [[], *good[1:]]),
    ]
    for kind, text, out in bad:
        with pytest.raises(kind, match=text):
            model(data, out=out)
        assert all((array == 7).all() for array in good)
    good[0].flags.writeable = False
    with pytest.raises(ValueError, match=r"out\[0\] must be writeable"):
        model(data, out=good)


def test_out_may_not_lie_in_an_input_of_any_kind(tmp_path):
    """One result is one chain's, which knows its own input; that of another chain it does not."""
    torch = pytest.importorskip("torch")
    inputs = [parameter([4, 2], name="a"), parameter([4, 2], name="b")]
    path, _ = saved([opset3.shuffle_channels(node, 0, 2) for node in inputs], inputs, tmp_path)
    model = ir.read_model(path)
    kinds = [
        lambda array: array,
        torch.from_numpy,
        lambda array: torch.from_numpy(array).requires_grad_(),
        lambda array: dm.Memory(dm.MemoryDesc.of(array), buffer=array),
        OnlyDlpack,
    ]
    for kind in kinds:
        a, held = np.arange(8, dtype="f4").reshape(4, 2), np.arange(16, dtype="f4").reshape(4, 4)
        b, between, free = held[:, ::2], held[:, 1::2], np.full((4, 2), 7, "f4")
        for out in ((a, free), (b, free), (free, a), (free, b)):
            with pytest.raises(ValueError, match=r"out\[.\] must not share memory"), torch.no_grad():
                model(kind(a), kind(b), out=out)
            assert (free == 7).all()
            assert (a == np.arange(8).reshape(4, 2)).all()
        with torch.no_grad():
            model(kind(a), kind(b), out=(free, between))  # between the elements of b
        assert_same(free, dm.shuffle_channels(a, 0, 2))
        assert_same(np.ascontiguousarray(between), dm.shuffle_channels(b, 0, 2))


def test_weights_may_lie_elsewhere(tmp_path):
    x = parameter([2, 3])
    path, _ = saved(opset1.transpose(x, const([1, 0])), [x], tmp_path)
    data = np.arange(6, dtype="f4").reshape(2, 3)
    content = path.with_suffix(".bin").read_bytes()
    moved = path.with_suffix(".bin").rename(tmp_path / "elsewhere")
    for weights in (moved, str(moved), content, bytearray(content), np.frombuffer(content, "u1")):
        assert_same(ir.read_model(path, weights)(data), data.T.copy())
    with pytest.raises(ir.IRError, match=r"there is no model\.bin beside the file"):
        ir.read_model(path)
    with pytest.raises(FileNotFoundError):
        ir.read_model(path, tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        ir.read_model(tmp_path / "nowhere.xml")
    with pytest.raises(TypeError, match="weights must be a path or contiguous bytes, not list"):
        ir.read_model(path, [1, 2])
    with pytest.raises(TypeError, match="xml must be the path of a file, a str or PathLike, not bytes"):
        ir.read_model(path.read_bytes())


def test_an_output_without_dimensions_is_not_taken_for_a_scalar(tmp_path):
    x = parameter([-1, 3])
    path, _ = saved(opset1.transpose(x, const([1, 0])), [x], tmp_path)
    path.write_text(re.sub(r"\s*<dim>[^<]*</dim>", "", path.read_text()))
    model = ir.read_model(path)
    assert model.outputs[0].shape is None
    assert "of any rank" in repr(model)
    assert model(np.zeros((2, 3), "f4")).shape == (3, 2)


def test_other_layers_are_named(tmp_path):
    x = parameter([2, 3])
    path, _ = saved(opset1.relu(x), [x], tmp_path)
    with pytest.raises(
        ir.IRError, match=r"model\.xml: layer 'Relu_\d+' \(type ReLU, id 1\): this type is not supported"
    ):
        ir.read_model(path)


def test_repr(tmp_path):
    x = parameter([2, -1])
    path, _ = saved(opset1.transpose(x, const([1, 0])), [x], tmp_path)
    assert "x (2, ?) float32 -> " in repr(ir.read_model(path))


def test_without_defusedxml():
    code = "import sys; sys.modules['defusedxml'] = None\nfrom dnnmove import ir\nir.read_layer('<layer/>')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: dnnmove.ir reads XML with defusedxml: pip install dnnmove[ir]" in done.stderr

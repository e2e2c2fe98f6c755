"""Reorder as a primitive: layouts and data types at once, by the native engine and by oneDNN."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from test_convert import BF16, DTYPES, expected, same, values_of

import dnnmove as dm

SHAPE = (2, 19, 5, 3)
LAYOUTS = ["nchw", "nhwc", "nChw16c", "nChw8c", "chwn"]


def random_of(dtype, shape=SHAPE, seed=0):
    values = values_of(np.dtype(dtype))
    finite = values[np.isfinite(values.astype(np.float32))]
    return np.random.default_rng(seed).choice(finite, shape)


def memory_of(x, layout):
    """A Memory of `layout` that holds x."""
    plain = dm.Memory(dm.MemoryDesc.of(x), buffer=x)
    placed = dm.Memory(dm.MemoryDesc(x.shape, x.dtype, layout))
    dm.reorder(plain, placed)
    return placed


def values_in(memory):
    plain = dm.Memory(dm.MemoryDesc(memory.desc.dims, memory.desc.dtype))
    dm.reorder(memory, plain)
    return plain.numpy()


def padding_is_zero(memory):
    """What no element lies in is zero: the bytes that a reorder of ones leaves out."""
    desc = memory.desc
    whole = dm.Memory(desc)
    ones = np.full((*desc.dims, desc.dtype.itemsize), 255, np.uint8).view(desc.dtype)[..., 0]
    dm.reorder(dm.Memory(dm.MemoryDesc.of(ones), buffer=ones), whole)
    return not memory.bytes[whole.bytes == 0].any()


@pytest.mark.parametrize(("source", "target"), list(itertools.product(DTYPES, DTYPES)), ids=str)
@pytest.mark.parametrize("layouts", [("nchw", "nChw16c"), ("nhwc", "nchw"), ("nChw8c", "nhwc"), ("nChw16c", "nChw8c")])
def test_types_and_layouts_at_once(source, target, layouts):
    x = random_of(source)
    src = memory_of(x, layouts[0])
    for scales, wide in [(None, None), (0.37, 0.37), (factors := np.linspace(-2, 2, 19), factors[:, None, None])]:
        desc = dm.Reorder.Desc(src.desc, dm.MemoryDesc(SHAPE, target, layouts[1]), scales)
        pd = dm.Reorder.PrimitiveDesc(desc, implementation="native")
        dst = dm.Reorder(pd)(src)
        assert dst.desc == desc.dst_desc
        want = x if source == target and scales is None else expected(x, target, wide)
        assert same(values_in(dst), want)
        assert padding_is_zero(dst)


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("layouts", list(itertools.product(LAYOUTS, repeat=2)), ids=str)
def test_scales_along_any_axis(layouts, axis):
    x = random_of("uint8")
    src = memory_of(x, layouts[0])
    scales = np.linspace(0.1, 3, SHAPE[axis])
    wide = scales.reshape([-1 if k == axis else 1 for k in range(4)])
    desc = dm.Reorder.Desc(src.desc, dm.MemoryDesc(SHAPE, "float32", layouts[1]), scales, axis - 4)
    assert desc.axis == axis
    dst = dm.Memory(desc.dst_desc)
    dm.Reorder(dm.Reorder.PrimitiveDesc(desc, implementation="native")).execute(
        None, {dm.ARG_SRC: src, dm.ARG_DST: dst}
    )
    assert same(values_in(dst), expected(x, np.float32, wide))


@pytest.mark.parametrize(("source", "target"), list(itertools.product(DTYPES, DTYPES)), ids=str)
@pytest.mark.parametrize("scales", [None, 0.5, "channels"])
def test_onednn_gives_the_same_numbers(source, target, scales):
    random = np.random.default_rng(1)
    x = random.integers(0, 100, SHAPE).astype(source)
    if scales == "channels":
        scales = random.integers(1, 9, SHAPE[1]) / 4
    src = memory_of(x, "nchw")
    results = []
    for layout in ("nhwc", "nChw16c"):
        desc = dm.Reorder.Desc(src.desc, dm.MemoryDesc(SHAPE, target, layout), scales)
        pd = dm.Reorder.PrimitiveDesc(desc)
        assert pd.implementations[0].startswith("native:")
        while True:
            dst = dm.Reorder(pd)(src)
            results.append(dst)
            assert pd.impl_info_str in pd.implementations
            assert same(values_in(dst), values_in(results[0])), pd.impl_info_str
            assert padding_is_zero(dst)
            if not pd.next_impl():
                break
        assert len(results) >= len(pd.implementations)


def test_rounding_and_saturation_are_onednns():
    x = np.array(
        [-300, -128.5, -1.5, -0.5, 0.5, 1.5, 2.5, 126.5, 127.5, 254.5, 255.5, 1e9, np.inf, -np.inf] * 3, np.float32
    )
    for target in DTYPES:
        desc = dm.Reorder.Desc(dm.MemoryDesc.of(x), dm.MemoryDesc(x.shape, target))
        native = dm.Reorder(dm.Reorder.PrimitiveDesc(desc, implementation="native"))
        assert same(native(x), expected(x, target))
        if len(dm.Reorder.PrimitiveDesc(desc).implementations) > 1:
            theirs = dm.Reorder(dm.Reorder.PrimitiveDesc(desc, implementation="onednn"))(x)
            if target == np.int32:  # they saturate to the greatest float32 below
                above = expected(x, target) == 2**31 - 1
                assert np.isin(theirs[above], (2**31 - 128, 2**31 - 1)).all()
                theirs[above] = 2**31 - 1
            assert same(theirs, expected(x, target))


def test_arrays_and_tensors():
    x = random_of("float32")
    desc = dm.Reorder.Desc(dm.MemoryDesc.of(x), dm.MemoryDesc(SHAPE, "bfloat16", "nhwc"))
    y = dm.Reorder(desc)(x)
    assert isinstance(y, np.ndarray)
    assert same(y, expected(x, BF16))
    assert y.strides[1] == 2
    out = np.empty((2, 5, 3, 19), BF16).transpose(0, 3, 1, 2)
    assert dm.Reorder(desc)(x, out=out) is out
    assert same(out, y)
    blocked = dm.Reorder(dm.Reorder.Desc(dm.MemoryDesc.of(x), dm.MemoryDesc(SHAPE, "bfloat16", "nChw16c")))(x)
    assert isinstance(blocked, dm.Memory)
    assert same(values_in(blocked), y)
    torch = pytest.importorskip("torch")
    t = dm.Reorder(desc)(torch.from_numpy(x))
    assert t.dtype is torch.bfloat16
    assert torch.equal(t, torch.from_numpy(x).bfloat16())


def test_any_dtype_moves_without_conversion():
    x = np.random.default_rng(0).integers(0, 1 << 60, SHAPE)
    desc = dm.Reorder.Desc(dm.MemoryDesc.of(x), dm.MemoryDesc(SHAPE, "int64", "nhwc"))
    pd = dm.Reorder.PrimitiveDesc(desc)
    assert all(name.startswith("native:") for name in pd.implementations)
    assert np.array_equal(dm.Reorder(pd)(x), x)
    with pytest.raises(dm.UnimplementedError, match="has no reorder from"):
        dm.Reorder.PrimitiveDesc(desc, implementation="onednn")


def test_empty_and_scalar():
    for shape in [(0, 3), (2, 0, 4), (1,)]:
        x = np.zeros(shape, np.uint8)
        y = dm.Reorder(dm.Reorder.Desc(dm.MemoryDesc.of(x), dm.MemoryDesc(shape, "float32")))(x)
        assert y.shape == shape
        assert y.dtype == np.float32


def test_descriptors_tell_pickle_and_copy():
    src, dst = dm.MemoryDesc((2, 3), "uint8"), dm.MemoryDesc((2, 3), "float32", "ba")
    desc = dm.Reorder.Desc(src, dst, [1, 2, 0.1])
    assert repr(desc) == (
        "Reorder.Desc(MemoryDesc((2, 3), 'uint8'), MemoryDesc((2, 3), 'float32', 'ba'), scales=(1.0, 2.0, 0.1), axis=1)"
    )
    assert (desc.src_desc, desc.dst_desc, desc.axis) == (src, dst, 1)
    assert desc.scales == tuple(np.array([1, 2, 0.1], "f4").tolist())
    again = pickle.loads(pickle.dumps(desc))
    assert repr(again) == repr(desc)
    pd = dm.Reorder.PrimitiveDesc(desc)
    while not pd.impl_info_str.startswith("onednn") and pd.next_impl():
        pass
    twin = pickle.loads(pickle.dumps(pd))
    assert twin.impl_info_str == pd.impl_info_str == copy.copy(pd).impl_info_str
    x = np.arange(6, dtype=np.uint8).reshape(2, 3)
    prim = pickle.loads(pickle.dumps(dm.Reorder(pd)))
    assert prim.kind == "reorder"
    assert np.array_equal(prim(x), dm.Reorder(desc)(x))
    assert "block" in dm.Reorder(desc).explain()
    assert (dm.Reorder.Desc(src, dst).scales, dm.Reorder.Desc(src, dst).axis) == (None, None)
    assert (dm.Reorder.Desc(src, dst, 0.5).scales, dm.Reorder.Desc(src, dst, 0.5).axis) == (0.5, None)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((dm.MemoryDesc((2, 3), "f4"), dm.MemoryDesc((3, 2), "f4")), ValueError, "dst_desc has dims"),
        (
            (dm.MemoryDesc((2, 3), "f8"), dm.MemoryDesc((2, 3), "f4")),
            TypeError,
            r"src_desc\.dtype \(float64\) must be one",
        ),
        (
            (dm.MemoryDesc((2, 3), "f4"), dm.MemoryDesc((2, 3), ">f4")),
            TypeError,
            r"dst_desc\.dtype .*native byte order",
        ),
        ((dm.MemoryDesc((2, 3), "f8"), dm.MemoryDesc((2, 3), "f8"), 2), TypeError, "float64"),
        (
            (dm.MemoryDesc((2, 3), "f4"), dm.MemoryDesc((2, 3), "f4"), [1, 2]),
            ValueError,
            "scales has 2 numbers, but must",
        ),
        ((dm.MemoryDesc((2, 3), "f4"), dm.MemoryDesc((2, 3), "f4"), [1, 2], 2), np.exceptions.AxisError, "axis"),
        ((dm.MemoryDesc((2, 3), "f4"), dm.MemoryDesc((2, 3), "f4"), "x"), TypeError, "scales"),
        ((dm.MemoryDesc((2, 3), "f4"), dm.MemoryDesc((2, 3), "f4", (0, 1))), ValueError, "share bytes"),
        ((np.zeros(3), dm.MemoryDesc((3,), "f4")), TypeError, "src_desc"),
    ],
)
def test_what_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        dm.Reorder.Desc(*arguments)


def test_calls_that_are_refused():
    desc = dm.Reorder.Desc(dm.MemoryDesc((2, 3), "uint8"), dm.MemoryDesc((2, 3), "float32"))
    prim = dm.Reorder(desc)
    x = np.zeros((2, 3), np.uint8)
    with pytest.raises(ValueError, match="out"):
        prim(x, out=np.zeros((2, 3), np.uint8))
    with pytest.raises(ValueError, match="x"):
        prim(np.zeros((2, 3), np.int8))
    with pytest.raises(TypeError, match=r"must be a Reorder\.PrimitiveDesc"):
        dm.Reorder(1)
    with pytest.raises(ValueError, match="must be one of 'auto', 'native', 'onednn'"):
        dm.Reorder.PrimitiveDesc(desc, implementation="fast")

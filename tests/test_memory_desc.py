"""MemoryDesc: attributes, equality, and every argument it refuses."""

import pickle

import ml_dtypes
import numpy as np
import pytest

import dnnmove as dm
from dnnmove import _core


def test_attributes_of_a_blocked_layout_with_a_tail() -> None:
    md = dm.MemoryDesc((2, 20, 5, 5), "float32", "nChw16c")
    assert md.dims == (2, 20, 5, 5)
    assert md.ndim == 4
    assert md.dtype == np.float32
    assert md.strides is None
    assert md.padded_dims == (2, 32, 5, 5)
    assert md.inner_blocks == (16,)
    assert md.inner_indices == (1,)
    assert md.size == 2 * 32 * 5 * 5 * 4
    assert md.is_dense


def test_attributes_of_plain_layouts() -> None:
    md = dm.MemoryDesc((2, 3, 4, 5), "int8", "nhwc")
    assert md.strides == (60, 1, 15, 3)
    assert (md.padded_dims, md.inner_blocks, md.inner_indices) == ((2, 3, 4, 5), (), ())
    assert (md.size, md.is_dense) == (120, True)
    assert dm.MemoryDesc((2, 3), "float32").strides == (3, 1)


def test_a_pitched_layout_has_gaps_and_the_size_that_onednn_gives_it() -> None:
    md = dm.MemoryDesc((2, 3), "float32", (10, 1))
    assert not md.is_dense
    assert md.size == 80 == _core._onednn_size(md)


@pytest.mark.parametrize("strides", [(2, 3), (1, 4), (7, 1), (1, 1)])
def test_the_size_reaches_the_last_element(strides: tuple[int, int]) -> None:
    md = dm.MemoryDesc((3, 3), "int16", strides)
    assert md.size >= (1 + 2 * strides[0] + 2 * strides[1]) * 2


def test_what_onednn_cannot_hold() -> None:
    assert dm.MemoryDesc((), "float32").size == 4
    assert dm.MemoryDesc((2, 3), "int64").size == 48
    assert dm.MemoryDesc((2, 3), np.dtype([("a", "i2"), ("b", "f8")])).size == 60
    assert dm.MemoryDesc((2, 3), "S7").size == 42
    assert dm.MemoryDesc((1,) * 40, "u1").ndim == 40
    flipped = dm.MemoryDesc.of(np.zeros((2, 3), "f4")[::-1, ::-1])
    assert flipped.strides == (-3, -1)
    assert (flipped.size, flipped.is_dense) == (24, True)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_ml_dtypes_by_name(name: str) -> None:
    assert dm.MemoryDesc((2,), name).dtype == np.dtype(getattr(ml_dtypes, name))
    assert dm.MemoryDesc((2,), name) == dm.MemoryDesc((2,), getattr(ml_dtypes, name))


def test_strides_of_dimensions_of_length_one_do_not_matter() -> None:
    a = dm.MemoryDesc((1, 3, 1), "f4", (77, 1, -5))
    b = dm.MemoryDesc((1, 3, 1), "f4")
    assert a == b
    assert hash(a) == hash(b)
    assert a.size == b.size == 12
    assert dm.MemoryDesc((2, 1, 4, 4), "f4", "nchw") == dm.MemoryDesc((2, 1, 4, 4), "f4", "nhwc")


def test_no_stride_of_an_empty_tensor_matters() -> None:
    a = dm.MemoryDesc((0, 3), "f4", (77, 5))
    b = dm.MemoryDesc((0, 3), "f4")
    assert a == b
    assert hash(a) == hash(b)
    assert a.size == 0
    assert a.is_dense


@pytest.mark.parametrize(
    "other",
    [
        dm.MemoryDesc((2, 3, 4, 5), "f4", "nhwc"),
        dm.MemoryDesc((2, 3, 4, 5), "i4"),
        dm.MemoryDesc((2, 3, 4, 5), ">f4"),
        dm.MemoryDesc((2, 3, 4, 6), "f4"),
        dm.MemoryDesc((2, 3, 4, 5), "f4", "nChw8c"),
        (2, 3, 4, 5),
    ],
)
def test_descriptors_that_differ(other: object) -> None:
    assert dm.MemoryDesc((2, 3, 4, 5), "f4") != other


@pytest.mark.parametrize("layout", [None, "nhwc", "nChw8c", (60, 20, 5, 1), (500, 100, 10, 2)])
def test_repr_and_pickle_rebuild_the_descriptor(layout: object) -> None:
    md = dm.MemoryDesc((2, 3, 4, 5), "float32", layout)
    assert eval(repr(md), {"MemoryDesc": dm.MemoryDesc}) == md
    assert pickle.loads(pickle.dumps(md)) == md


@pytest.mark.parametrize("dtype", ["S5", "<U3", "V7", ">f8", "M8[ns]", "?", [("a", "i1"), ("b", ">i8")]])
def test_repr_names_a_dtype_that_numpy_reads(dtype: object) -> None:
    md = dm.MemoryDesc((2, 3), dtype)
    assert eval(repr(md), {"MemoryDesc": dm.MemoryDesc}) == md


def test_of_describes_an_array_as_it_lies() -> None:
    x = np.zeros((4, 6, 8), "i2")
    assert dm.MemoryDesc.of(x) == dm.MemoryDesc((4, 6, 8), "i2")
    assert dm.MemoryDesc.of(x[:, ::2].transpose(2, 0, 1)).strides == (1, 48, 16)
    assert dm.MemoryDesc.of(x.astype(">i2")).dtype == np.dtype(">i2")


def test_of_refuses_what_is_no_array_and_strides_of_half_elements() -> None:
    with pytest.raises(TypeError, match="array"):
        dm.MemoryDesc.of([1, 2])
    records = np.zeros(3, np.dtype([("a", "i1"), ("b", "i4")]))
    with pytest.raises(ValueError, match=r"array.strides\[0\] \(5 bytes\) must be a whole number .*ascontiguous"):
        dm.MemoryDesc.of(records["b"])
    assert dm.MemoryDesc.of(records["b"][:1]).dims == (1,)


@pytest.mark.parametrize(
    ("dims", "message"),
    [("23", "dims"), ((2.0, 3), r"dims\[0\]"), ((2, True), r"dims\[1\]")]
    + [((2, None), r"dims\[1\]"), (np.array([2.0]), "dims"), (None, "dims")]
    + [((np.bool_(True),), r"dims\[0\]")],
)
def test_dims_must_be_integers(dims: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        dm.MemoryDesc(dims, "f4")


def test_integers_of_any_kind_are_dims() -> None:
    assert dm.MemoryDesc((np.int64(2), np.uint8(3)), "f4").dims == (2, 3)
    assert dm.MemoryDesc(np.array([2, 3]), "f4").dims == (2, 3)
    assert dm.MemoryDesc([2, 3], "f4").dims == (2, 3)


@pytest.mark.parametrize(
    ("dims", "layout", "message"),
    [
        ((2, -1), None, r"dims \(2, -1\) must not hold negative lengths"),
        ((2**40, 2**40), None, "63 bits"),
        ((2**62, 2), "AB8b8a", "63 bits"),
        ((2**70,), None, r"dims\[0\] \(1180591620717411303424\) does not fit into 64 bits"),
        ((1,) * 65, None, "at most 64"),
        ((2, 3), (1,), r"layout \(strides \(1,\)\) must have one stride for each of dims \(2, 3\)"),
        ((2, 3), (2**62, 1), "64 bits"),
        ((3, 3), (2**60, 1), "63 bits"),
    ],
)
def test_dims_and_layouts_that_cannot_be(dims: tuple[int, ...], layout: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dm.MemoryDesc(dims, "f4", layout)


@pytest.mark.parametrize("dtype", ["O", np.dtype([("a", "O")]), "S", "V", np.dtype(("f4", (2,)))])
def test_dtypes_without_a_fixed_size(dtype: object) -> None:
    with pytest.raises(TypeError, match="dtype"):
        dm.MemoryDesc((2,), dtype)


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2", "float4_e2m1fn"])
def test_dtypes_of_less_than_a_byte(name: str) -> None:
    with pytest.raises(ValueError, match=rf"dtype \({name}\)"):
        dm.MemoryDesc((2,), getattr(ml_dtypes, name))


def test_dims_must_be_a_list() -> None:
    for dims in (5, np.array([[2]])):
        with pytest.raises(ValueError, match="dims"):
            dm.MemoryDesc(dims, "f4")


def test_layout_of_a_wrong_type() -> None:
    with pytest.raises(ValueError, match="layout"):
        dm.MemoryDesc((2,), "f4", 3)
    with pytest.raises(TypeError, match=r"layout\[0\]"):
        dm.MemoryDesc((2,), "f4", (1.5,))


def test_more_elements_than_bytes() -> None:
    # Elements that share their bytes may be more than memory could hold one by one.
    md = dm.MemoryDesc((2**31, 2**31), "f8", (0, 0))
    assert md.size == 8
    assert not md.is_dense
    assert pickle.loads(pickle.dumps(md)) == md

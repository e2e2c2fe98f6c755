"""Data types by the names that users of NumPy, oneDNN and torch know."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import dnnmove as dm

torch = pytest.importorskip("torch")

OF_ONEDNN = {
    "f32": np.dtype("float32"),
    "f64": np.dtype("float64"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype("float16"),
    "s32": np.dtype("int32"),
    "s8": np.dtype("int8"),
    "u8": np.dtype("uint8"),
}


def test_the_members():
    assert {kind.name: kind.dtype for kind in dm.DataType} == OF_ONEDNN


def test_the_numbers_are_onednn_s():
    numbers = {"f16": 1, "bf16": 2, "f32": 3, "s32": 4, "s8": 5, "u8": 6, "f64": 7}
    assert {kind.name: int(kind) for kind in dm.DataType} == numbers


@pytest.mark.parametrize("kind", dm.DataType, ids=lambda kind: kind.name)
def test_members_are_taken_where_a_dtype_is(kind):
    assert dm.MemoryDesc((2, 3), kind).dtype == OF_ONEDNN[kind.name]
    assert np.empty(2, kind).dtype == OF_ONEDNN[kind.name]


@pytest.mark.parametrize("word", ["f32", "f64", "bf16", "s32", "s8"])
def test_words_that_only_onednn_has(word):
    assert dm.MemoryDesc((2, 3), word).dtype == OF_ONEDNN[word]


@pytest.mark.parametrize(
    ("word", "theirs", "ours"), [("f16", "longdouble", "float16"), ("u8", "uint64", "uint8")], ids=["f16", "u8"]
)
def test_words_of_two_meanings(word, theirs, ours, errors_name):
    errors_name(ValueError, lambda: dm.MemoryDesc((2,), word), f"dtype ('{word}')", theirs, ours, f"DataType.{word}")
    assert dm.MemoryDesc((2,), np.dtype("u8")).dtype == np.uint64


@pytest.mark.parametrize(
    "name",
    ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"]
    + ["complex64", "complex128", "float8_e4m3fn", "float8_e5m2"],
)
def test_torch_s(name):
    expected = getattr(ml_dtypes, name, None) if "bfloat" in name or "float8" in name else name
    assert dm.MemoryDesc((2, 3), getattr(torch, name)).dtype == np.dtype(expected)


def test_torch_s_that_numpy_has_not(errors_name):
    errors_name(TypeError, lambda: dm.MemoryDesc((2,), torch.qint8), "dtype", "torch.qint8")


@pytest.mark.parametrize("word", ["float23", "nonsense", "", "f32 ", "F32", "s16"])
def test_what_is_no_type(word, errors_name):
    errors_name(TypeError, lambda: dm.MemoryDesc((2,), word), f"dtype ('{word}')", "numpy.dtype", "DataType")


@pytest.mark.parametrize("value", [3, 1.5, [1, 2], object(), dm.PropKind.forward])
def test_objects_that_are_no_type(value, errors_name):
    errors_name(TypeError, lambda: dm.MemoryDesc((2,), value), "dtype (")


def test_a_layout_in_the_place_of_the_dtype(errors_name):
    errors_name(TypeError, lambda: dm.MemoryDesc((1, 2, 3, 4), "nchw"), "'nchw'", "layout", "after the dtype")


def test_neither_torch_nor_ml_dtypes_is_imported_for_it():
    program = (
        "import sys, dnnmove as dm, numpy as np\n"
        "dm.MemoryDesc((2,), 'f32'), dm.MemoryDesc((2,), np.int8), dm.DataType.u8\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

"""Mistakes that others' habits lead to: the message says what to write."""

import numpy as np
import pytest

import dnnmove as dm

X = np.zeros((2, 4, 6), "f4")
MD = dm.MemoryDesc.of(X)


def test_an_array_in_the_place_of_its_descriptor(errors_name):
    for call in (lambda: dm.MemoryDesc(X), lambda: dm.Memory(X), lambda: dm.Memory(desc=X)):
        errors_name(TypeError, call, "MemoryDesc.of(array)")


def test_strides_in_bytes_as_a_layout(errors_name):
    prim = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc(X.shape, "f4", X.strides)))
    errors_name(ValueError, lambda: prim(X), "strides (96, 24, 4) bytes", "layout counts elements, not bytes")
    other = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc(X.shape, "f4", (48, 6, 1))))
    with pytest.raises(ValueError, match="strides") as caught:
        other(X)
    assert "counts elements" not in str(caught.value)


def test_names_of_arguments_instead_of_their_numbers(errors_name):
    out = np.empty((6, 4, 2), "f4")
    forward = dm.ShuffleForward.Desc(dm.PropKind.forward, MD, 1, 2)
    backward = dm.ShuffleBackward(dm.ShuffleBackward.Desc(MD, 1, 2))
    split = dm.VariadicSplit(dm.VariadicSplit.Desc(MD, 1, [1, 3]))
    for prim, words in (
        (dm.Transpose(dm.Transpose.Desc(MD)), "ARG_SRC or ARG_DST"),
        (dm.ShuffleForward(forward), "ARG_SRC or ARG_DST"),
        (backward, "ARG_DIFF_DST or ARG_DIFF_SRC"),
        (split, "ARG_MULTIPLE_DST + i"),
    ):
        errors_name(TypeError, lambda prim=prim: prim.execute(None, {"src": X, "dst": out}), "args key ('src')", words)


@pytest.mark.parametrize("call", [lambda: dm.concat(X, X), lambda: dm.concat(X), lambda: dm.concat(X, axis=1)])
def test_concat_of_arrays_that_are_not_in_a_list(errors_name, call):
    errors_name(TypeError, call, "arrays must be a list or tuple of arrays, not numpy.ndarray: concat([a, b], axis)")


@pytest.mark.parametrize("tag", ["NHWC", "NCHW", "ABCD", "nchW"])
def test_layouts_in_capitals(errors_name, tag):
    errors_name(
        ValueError, lambda: dm.MemoryDesc((2, 3, 4, 5), "f4", tag), f"'{tag}'", f"did you mean '{tag.lower()}'?"
    )
    with pytest.raises(ValueError, match="block") as caught:
        dm.MemoryDesc((2, 3, 4, 5), "f4", "NChw16c")
    assert "did you mean" not in str(caught.value)


def test_a_backward_shuffle_with_a_prop_kind(errors_name):
    for call in (
        lambda: dm.ShuffleBackward.Desc(dm.PropKind.backward_data, MD, 1, 2),
        lambda: dm.ShuffleBackward.Desc(dm.PropKind.backward_data, MD, 1, 2, tune=False),
    ):
        errors_name(TypeError, call, "it takes no prop_kind")


def test_articles(errors_name):
    errors_name(TypeError, lambda: dm.Memory(MD, 3), "engine (3) must be an Engine or None")
    errors_name(TypeError, lambda: dm.reorder(3, 4), "src_mem (3) must be a Memory")

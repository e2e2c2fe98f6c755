"""oneDNN 3.x' spelling of the shuffle's descriptors, beside that of 1.x and 2.x, and other words of its API."""

import numpy as np
import oracle
import pytest
import strategies as some

import dnnmove as dm

X = some.dense((2, 6, 4), "f4")
MD = dm.MemoryDesc.of(X)
ENGINE = dm.Engine("cpu", 0)
FORWARD = (ENGINE, dm.PropKind.forward_training, MD, MD, 1, 2)
NAMES = ("engine", "prop_kind", "src_desc", "dst_desc", "axis", "group_size")


@pytest.mark.parametrize("positional", range(7))
def test_forward(positional):
    keywords = dict(zip(NAMES[positional:], FORWARD[positional:], strict=True))
    pd = dm.ShuffleForward.PrimitiveDesc(*FORWARD[:positional], **keywords)
    old = dm.ShuffleForward.PrimitiveDesc(dm.ShuffleForward.Desc(dm.PropKind.forward_training, MD, 1, 2))
    assert repr(pd) == repr(old)
    assert (pd.src_desc, pd.dst_desc, pd.axis, pd.group_size, pd.engine) == (MD, MD, 1, 2, ENGINE)
    assert pd.implementations == old.implementations
    oracle.assert_same(dm.ShuffleForward(pd)(X), oracle.shuffle(X, 1, 2))


@pytest.mark.parametrize("hint", [True, False])
def test_backward(hint):
    forward = dm.ShuffleForward.PrimitiveDesc(*FORWARD)
    pd = dm.ShuffleBackward.PrimitiveDesc(ENGINE, MD, MD, -2, 2, *([forward] if hint else []))
    assert (pd.diff_src_desc, pd.diff_dst_desc, pd.axis, pd.group_size) == (MD, MD, 1, 2)
    assert pd.prop_kind == dm.PropKind.backward_data
    dy = dm.shuffle(X, 1, 2)
    oracle.assert_same(dm.ShuffleBackward(pd)(dy), X)
    keywords = {"engine": ENGINE, "diff_src_desc": MD, "diff_dst_desc": MD, "axis": 1, "group_size": 2}
    assert repr(dm.ShuffleBackward.PrimitiveDesc(**keywords, hint_fwd_pd=forward)) == repr(pd)


def test_what_only_this_package_has():
    pd = dm.ShuffleForward.PrimitiveDesc(*FORWARD, implementation="native", tune=True)
    assert pd.impl_info_str.startswith("native")
    assert "tune=True" in repr(pd)
    back = dm.ShuffleBackward.PrimitiveDesc(ENGINE, MD, MD, 1, 2, implementation="onednn")
    assert back.impl_info_str.startswith("onednn")


NHWC = dm.MemoryDesc((2, 6, 4), "f4", "acb")


@pytest.mark.parametrize(
    ("kind", "call", "words"),
    [
        (TypeError, lambda: dm.ShuffleForward.PrimitiveDesc(None, *FORWARD[1:]), ["engine (None)", "Engine"]),
        (TypeError, lambda: dm.ShuffleForward.PrimitiveDesc(ENGINE, 64, MD, MD, 1, 2), ["prop_kind (64)", "PropKind."]),
        (
            ValueError,
            lambda: dm.ShuffleForward.PrimitiveDesc(ENGINE, dm.PropKind.backward_data, MD, MD, 1, 2),
            ["prop_kind (backward_data)"],
        ),
        (
            ValueError,
            lambda: dm.ShuffleForward.PrimitiveDesc(ENGINE, dm.PropKind.forward, MD, NHWC, 1, 2),
            ["dst_desc (MemoryDesc((2, 6, 4), 'float32', 'acb'))", "src_desc"],
        ),
        (
            TypeError,
            lambda: dm.ShuffleForward.PrimitiveDesc(ENGINE, dm.PropKind.forward, MD, X, 1, 2),
            ["dst_desc (array(", "MemoryDesc.of(array)"],
        ),
        (
            ValueError,
            lambda: dm.ShuffleForward.PrimitiveDesc(ENGINE, dm.PropKind.forward, MD, MD, 1, 4),
            ["group_size (4)", "src_desc.dims[1] (6)"],
        ),
        (
            ValueError,
            lambda: dm.ShuffleBackward.PrimitiveDesc(ENGINE, MD, NHWC, 1, 2),
            ["diff_dst_desc", "diff_src_desc"],
        ),
        (
            ValueError,
            lambda: dm.ShuffleBackward.PrimitiveDesc(ENGINE, MD, MD, 1, 3, dm.ShuffleForward.PrimitiveDesc(*FORWARD)),
            ["hint_fwd_pd.group_size (2)", "(3)"],
        ),
        (TypeError, lambda: dm.ShuffleBackward.PrimitiveDesc(ENGINE, MD, MD, 1, 3, MD), ["hint_fwd_pd", "MemoryDesc"]),
    ],
)
def test_what_is_refused(kind, call, words, errors_name):
    errors_name(kind, call, *words)


def test_kinds_of_primitives():
    made = {
        dm.ShuffleForward.Desc(dm.PropKind.forward, MD, 1, 2): "shuffle",
        dm.ShuffleBackward.Desc(MD, 1, 2): "shuffle",
        dm.ShuffleChannels.Desc(MD, 1, 2): "shuffle_channels",
        dm.Transpose.Desc(MD): "transpose",
        dm.VariadicSplit.Desc(MD, 1, [6]): "variadic_split",
        dm.Broadcast.Desc(MD, MD.dims): "broadcast",
    }
    for desc, kind in made.items():
        primitive = getattr(dm, type(desc).__qualname__.split(".")[0])(desc)
        assert primitive.kind == kind


def test_how_many_engines(errors_name):
    assert dm.Engine.count() == dm.Engine.count("cpu") == dm.Engine.count(kind="cpu") == 1
    assert dm.Engine.count("gpu") == 0
    errors_name(ValueError, lambda: dm.Engine.count("tpu"), "kind ('tpu')", "cpu", "gpu")
    errors_name(TypeError, lambda: dm.Engine.count(1), "kind", "int")
    errors_name(ValueError, lambda: dm.Engine("gpu"), "kind ('gpu')", "cpu")


def test_results_are_those_of_the_other_spelling():
    for axis, size in ((0, 2), (1, 3), (2, 4), (-1, 2)):
        pd = dm.ShuffleForward.PrimitiveDesc(ENGINE, dm.PropKind.forward_inference, MD, MD, axis, size)
        assert np.array_equal(dm.ShuffleForward(pd)(X), dm.shuffle(X, axis, size))

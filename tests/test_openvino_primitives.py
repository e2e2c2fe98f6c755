"""The OpenVINO operations as primitives: Desc -> primitive -> call or execute."""

import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dnnmove as dm

X = np.arange(4 * 6, dtype="f4").reshape(4, 6)
MD = dm.MemoryDesc.of(X)
DESCS = {
    "ShuffleChannels": (dm.ShuffleChannels.Desc(MD, 1, 3), dm.shuffle_channels(X, 1, 3)),
    "Transpose": (dm.Transpose.Desc(MD, (1, 0)), X.T),
    "Broadcast": (dm.Broadcast.Desc(MD, (2, 4, 6)), np.broadcast_to(X, (2, 4, 6))),
}
each = pytest.mark.parametrize("name", DESCS)


def make(name):
    desc, expected = DESCS[name]
    return getattr(dm, name)(desc), desc, expected


@each
def test_call_and_execute(name):
    prim, desc, expected = make(name)
    assert (prim(X) == expected).all()
    assert desc.src_desc == MD
    assert desc.dst_desc == dm.MemoryDesc(expected.shape, "f4")
    out = np.empty(expected.shape, "f4")
    assert prim(X, out=out) is out
    assert (out == expected).all()
    memory = dm.Memory(desc.dst_desc)
    assert prim.execute(dm.Stream(), {dm.ARG_SRC: X, dm.ARG_DST: memory}) is None
    assert (memory.numpy() == expected).all()
    result = prim(dm.Memory(MD, buffer=X))
    assert (result.numpy() == expected).all()


@each
def test_texts(name):
    prim, desc, _ = make(name)
    assert prim.impl_info_str.startswith("native:")
    assert prim.impl_info_str in prim.explain()
    assert repr(desc).startswith(f"{name}.Desc(MemoryDesc((4, 6)")
    assert name in repr(prim)
    assert list(inspect.signature(type(prim)).parameters) == ["desc"]


@each
def test_refusals(name):
    prim, desc, _ = make(name)
    out = np.zeros(desc.dst_desc.dims, "f4")
    for x in (X.T, X.astype("f8"), X[:, ::-1], X[:2], dm.Memory(dm.MemoryDesc((1, 16, 2, 2), "f4", "nChw16c"))):
        with pytest.raises(ValueError, match="x "):
            prim(x, out=out)
    with pytest.raises(ValueError, match="out has dtype float64"):
        prim(X, out=out.astype("f8"))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        prim(X, out=out)
    for args in ({}, {dm.ARG_SRC: X}, {dm.ARG_SRC: X, dm.ARG_DST: X.copy(), 5: X}):
        with pytest.raises(ValueError, match=r"args|dst"):
            prim.execute(None, args)
    with pytest.raises(TypeError, match="desc"):
        getattr(dm, name)(MD)
    with pytest.raises(TypeError, match="stream"):
        prim.execute(1, {})


def test_split():
    desc = dm.VariadicSplit.Desc(MD, 1, [2, -1])
    prim = dm.VariadicSplit(desc)
    first, second = prim(X)
    assert (first == X[:, :2]).all()
    assert (second == X[:, 2:]).all()
    assert [part.dims for part in desc.dst_descs] == [(4, 2), (4, 4)]
    outs = np.zeros((4, 2), "f4"), np.zeros((4, 4), "f4")
    prim.execute(None, {dm.ARG_SRC: X, dm.ARG_MULTIPLE_DST: outs[0], dm.ARG_MULTIPLE_DST + 1: outs[1]})
    assert (outs[1] == X[:, 2:]).all()
    assert prim(X, out=list(outs))[0] is outs[0]
    with pytest.raises(ValueError, match="2 arrays"):
        prim(X, out=outs[:1])
    nothing = dm.VariadicSplit(dm.VariadicSplit.Desc(dm.MemoryDesc((0, 3), "f4"), 0, []))
    assert nothing(np.zeros((0, 3), "f4")) == ()


def test_parameters():
    shuffled = dm.ShuffleChannels.Desc(MD, -1, 3)
    assert (shuffled.axis, shuffled.group) == (1, 3)
    assert dm.Transpose.Desc(MD).input_order == (1, 0)
    assert dm.Transpose.Desc(dm.MemoryDesc((2, 3, 4), "u1"), [0, -1, 1]).input_order == (0, 2, 1)
    assert dm.Transpose.Desc(dm.MemoryDesc((), "u1")).input_order == ()
    split = dm.VariadicSplit.Desc(MD, -1, [2, -1])
    assert (split.axis, split.split_lengths) == (1, (2, 4))
    assert dm.VariadicSplit.Desc(dm.MemoryDesc((0, 3), "f4"), 0, []).split_lengths == ()
    spread = dm.Broadcast.Desc(MD, [2, 4, 1], mode="BIDIRECTIONAL")
    assert (spread.target_shape, spread.axes_mapping, spread.mode) == ((2, 4, 1), None, "bidirectional")
    assert spread.dst_desc.dims == (2, 4, 6)
    assert dm.Broadcast.Desc(MD, (4, 2, 6), [0, 2], "explicit").axes_mapping == (0, 2)
    assert dm.Broadcast.Desc(MD, (4, 6)).mode == "numpy"


FORWARD = dm.PropKind.forward_training
SCALES = [1.0] * 5 + [float("nan")]
# Of one problem, however it is written; and others.
SAME = [
    (lambda: dm.ShuffleForward.Desc(FORWARD, MD, 1, 3), lambda: dm.ShuffleForward.Desc(FORWARD, MD, -1, 3)),
    (lambda: dm.ShuffleBackward.Desc(MD, 1, 3), lambda: dm.ShuffleBackward.Desc(MD, -1, 3)),
    (lambda: dm.ShuffleChannels.Desc(MD, 1, 3), lambda: dm.ShuffleChannels.Desc(MD, -1, 3)),
    (lambda: dm.Transpose.Desc(MD), lambda: dm.Transpose.Desc(MD, (-1, 0))),
    (lambda: dm.VariadicSplit.Desc(MD, 1, [2, 4]), lambda: dm.VariadicSplit.Desc(MD, -1, (2, -1))),
    (lambda: dm.Broadcast.Desc(MD, (2, 4, 6)), lambda: dm.Broadcast.Desc(MD, [2, 4, 6], None, "NumPy")),
    (lambda: dm.Reorder.Desc(MD, MD, 2), lambda: dm.Reorder.Desc(MD, MD, 2.0, axis=0)),
    (lambda: dm.Reorder.Desc(MD, MD, SCALES), lambda: dm.Reorder.Desc(MD, MD, np.array(SCALES), -1)),
]
OTHERS = [
    lambda: dm.ShuffleForward.Desc(dm.PropKind.forward_inference, MD, 1, 3),
    lambda: dm.ShuffleForward.Desc(FORWARD, MD, 1, 2),
    lambda: dm.ShuffleForward.Desc(FORWARD, MD, 1, 3, tune=True),
    lambda: dm.ShuffleBackward.Desc(MD, 0, 2),
    lambda: dm.ShuffleChannels.Desc(MD, 1, 2),
    lambda: dm.ShuffleChannels.Desc(dm.MemoryDesc((4, 6), "i4"), 1, 3),
    lambda: dm.Transpose.Desc(MD, (0, 1)),
    lambda: dm.Transpose.Desc(MD, tune=True),
    lambda: dm.VariadicSplit.Desc(MD, 1, [4, 2]),
    lambda: dm.VariadicSplit.Desc(MD, 0, [2, 2]),
    lambda: dm.Broadcast.Desc(MD, (2, 4, 6), mode="bidirectional"),
    lambda: dm.Broadcast.Desc(MD, (3, 4, 6)),
    lambda: dm.Reorder.Desc(MD, MD),
    lambda: dm.Reorder.Desc(MD, MD, 3),
    lambda: MD,
    lambda: "Transpose",
]


def test_descriptors_compare_by_their_problems():
    problems = [make() for pair in SAME for make in pair]
    assert len(set(problems)) == len(SAME)
    for one, other in zip(problems[::2], problems[1::2], strict=True):
        assert one == other
        assert hash(one) == hash(other)
        assert pickle.loads(pickle.dumps(one)) == one
    others = [make() for make in OTHERS]
    assert len({*problems, *others}) == len(SAME) + len(OTHERS)
    assert not any(one == other for one in problems for other in others)


def test_names_in_errors():
    with pytest.raises(ValueError, match=r"group \(4\) must divide data_desc\.dims\[1\] \(6\)"):
        dm.ShuffleChannels.Desc(MD, 1, 4)
    with pytest.raises(ValueError, match="reorder"):
        dm.Transpose.Desc(dm.MemoryDesc((1, 16, 2, 2), "f4", "nChw16c"))
    with pytest.raises(TypeError, match="data_desc"):
        dm.Transpose.Desc(X)


def test_gaps_of_a_pitched_shuffle_are_zero():
    pitched = np.zeros((4, 8), "f4")[:, :6]
    pitched[:] = X
    fwd = dm.ShuffleForward(dm.ShuffleForward.Desc(dm.PropKind.forward_inference, dm.MemoryDesc.of(pitched), 1, 2))
    result = fwd(pitched)
    assert result.strides == pitched.strides
    assert (result == dm.shuffle(X, 1, 2)).all()


@pytest.mark.parametrize("index", [np.s_[::-1], np.s_[:, ::-1], np.s_[::-1, ::-1], np.s_[::-1, ::2]])
def test_results_of_negative_strides_stay_in_their_memory(index):
    x = np.random.default_rng(0).random((64, 48), np.float32)[index]
    fwd = dm.ShuffleForward(dm.ShuffleForward.Desc(dm.PropKind.forward_inference, dm.MemoryDesc.of(x), 1, 4))
    result = fwd(x)
    assert result.strides == x.strides
    assert (result == dm.shuffle(x, 1, 4)).all()
    base = result.base
    first = min(corner.ctypes.data for corner in (result[0, 0:], result[-1, 0:], result[0, -1:], result[-1, -1:]))
    assert first >= base.ctypes.data


def test_one_primitive_in_many_threads():
    x = np.random.default_rng(0).integers(0, 255, (64, 60, 33), np.uint8)
    prim = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x), (2, 0, 1)))
    expected = x.transpose(2, 0, 1)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: (prim(x) == expected).all(), range(64)))
    assert all(results)

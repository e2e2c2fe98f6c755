"""The examples that the five source documents print, at their full shapes."""

import numpy as np
import oracle
import pytest
import strategies as some
from oracle import assert_same

import dnnmove as dm


def primitive(kind, data, *arguments, **options):
    return kind(kind.Desc(dm.MemoryDesc.of(data), *arguments, **options))


@pytest.mark.parametrize("dtype", ["f4", "u1"])
def test_shuffle_channels(dtype):
    data = some.dense((5, 12, 200, 400), dtype)
    expected = oracle.shuffle_channels(data, 1, 3)
    assert expected.shape == (5, 12, 200, 400)
    assert_same(dm.shuffle_channels(data, axis=1, group=3), expected)
    assert_same(primitive(dm.ShuffleChannels, data, axis=1, group=3)(data), expected)
    # The document's own definition: reshape, transpose, reshape.
    four = data.reshape(5, 3, 4, 200 * 400).transpose(0, 2, 1, 3).reshape(data.shape)
    assert four.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("order", "shape"), [([2, 0, 1], (4, 2, 3)), ([], (4, 3, 2))])
def test_transpose(order, shape):
    data = some.dense((2, 3, 4), "f4")
    expected = oracle.transpose(data, order)
    assert expected.shape == shape
    assert_same(dm.transpose(data, order), expected)
    assert_same(primitive(dm.Transpose, data, order)(data), expected)


@pytest.mark.parametrize(("lengths", "sides"), [([1, 2, 3], (1, 2, 3)), ([-1, 2], (4, 2))])
def test_variadic_split(lengths, sides):
    data = some.dense((6, 12, 10, 24), "f4")
    expected = oracle.variadic_split(data, 0, lengths)
    assert [part.shape for part in expected] == [(n, 12, 10, 24) for n in sides]
    for parts in (dm.variadic_split(data, 0, lengths), primitive(dm.VariadicSplit, data, 0, lengths)(data)):
        assert len(parts) == len(expected)
        for part, right in zip(parts, expected, strict=True):
            assert_same(part, right)


@pytest.mark.parametrize(
    ("shape", "target", "options"),
    [
        ((16, 1, 1), [1, 16, 50, 50], {"mode": "numpy"}),
        ((16,), [1, 16, 50, 50], {"axes_mapping": [1], "mode": "explicit"}),
        ((50, 50), [1, 50, 50, 16], {"axes_mapping": [1, 2], "mode": "explicit"}),
    ],
)
def test_broadcast(shape, target, options):
    data = some.dense(shape, "f4")
    expected = oracle.broadcast(data, target, **options)
    assert expected.shape == tuple(target)
    assert_same(dm.broadcast(data, target, **options), expected)
    assert_same(primitive(dm.Broadcast, data, target, **options)(data), expected)


# The MKL-DNN document prints no numbers but a table: these data types, in these memory formats.
@pytest.mark.parametrize("tag", ["nchw", "nhwc", "nChw16c", "ncdhw", "ndhwc", "nCdhw16c"])
@pytest.mark.parametrize("dtype", ["f4", "i4", "i1", "u1"])
@pytest.mark.parametrize("implementation", ["native", "onednn"])
def test_shuffle_data_types_and_formats(tag, dtype, implementation):
    shape = (2, 12, 3, 5, 7)[: 5 if "d" in tag else 4]
    data = some.dense(shape, dtype)
    md = dm.MemoryDesc(shape, dtype, tag)
    src, dst = dm.Memory(md), dm.Memory(md)
    src.bytes[:] = np.frombuffer(oracle.to_layout(data, tag), np.uint8)
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, md, 1, 4)
    fwd = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation))
    fwd.execute(dm.Stream(), {dm.ARG_SRC: src, dm.ARG_DST: dst})
    assert dst.bytes.tobytes() == oracle.to_layout(oracle.shuffle(data, 1, 4), tag)
    bdesc = dm.ShuffleBackward.Desc(md, 1, 4)
    bwd = dm.ShuffleBackward(dm.ShuffleBackward.PrimitiveDesc(bdesc, implementation=implementation))
    back = dm.Memory(md)
    bwd.execute(dm.Stream(), {dm.ARG_DIFF_DST: dst, dm.ARG_DIFF_SRC: back})
    assert back.bytes.tobytes() == src.bytes.tobytes()

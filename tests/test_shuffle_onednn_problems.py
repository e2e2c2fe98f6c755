"""The kinds of problem that oneDNN's own shuffle tests pose, on both implementations, byte for byte."""

import math

import ml_dtypes
import numpy as np
import oracle
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st

import dnnmove as dm

# What the wrapped oneDNN runs everywhere, and what it may or may not run.
ALWAYS = ["f4", "i4", "i1", "u1"]
SOMETIMES = [ml_dtypes.bfloat16, "f2", "f8", ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
NATIVE_ONLY = ["?", "i2", "uint64", "c8", "c16", ">f4", "M8[s]", "S5", "V3", some.PADDED]
LAYOUTS = {
    2: ["nc", "ba"],
    3: ["ncw", "nwc", "nCw4c", "nCw8c", "nCw16c"],
    4: ["nchw", "nhwc", "chwn", "bacd", "nChw4c", "nChw8c", "nChw16c"],
    5: ["ncdhw", "ndhwc", "nCdhw4c", "nCdhw8c", "nCdhw16c"],
    6: ["abcdef", "acbdef"],
}
TAGS = [tag for tags in LAYOUTS.values() for tag in tags]


def name_of(value):
    return value if isinstance(value, str) else str(np.dtype(value)) if isinstance(value, type) else "padded struct"


def filled(md, data, tag):
    memory = dm.Memory(md)
    memory.bytes[:] = np.frombuffer(oracle.to_layout(data, tag), np.uint8)
    return memory


def check(shape, dtype, tag, axis, group_size, required=False):
    """Forward and backward under every implementation, from Memory to Memory whose every byte is compared."""
    data = some.dense(shape, dtype)
    md = dm.MemoryDesc(shape, dtype, tag)
    stream = dm.Stream()
    forward = dm.ShuffleForward.Desc(dm.PropKind.forward_training, md, axis, group_size)
    backward = dm.ShuffleBackward.Desc(md, axis, group_size)
    pd = dm.ShuffleForward.PrimitiveDesc(forward)
    names = [name.split(":")[0] for name in pd.implementations]
    assert "native" in names
    if required:
        assert "onednn" in names
    for implementation in names:
        fpd = dm.ShuffleForward.PrimitiveDesc(forward, implementation=implementation)
        assert fpd.impl_info_str.startswith(implementation + ":")
        bpd = dm.ShuffleBackward.PrimitiveDesc(backward, hint_fwd_pd=fpd, implementation=implementation)
        src, dst, back = filled(md, data, tag), dm.Memory(md), dm.Memory(md)
        dst.bytes[:] = back.bytes[:] = 0xA5  # padding must become zero, whatever was there
        dm.ShuffleForward(fpd).execute(stream, {dm.ARG_SRC: src, dm.ARG_DST: dst})
        expected = oracle.to_layout(oracle.shuffle(data, axis, group_size), tag)
        assert dst.bytes.tobytes() == expected, implementation
        dm.ShuffleBackward(bpd).execute(stream, {dm.ARG_DIFF_DST: dst, dm.ARG_DIFF_SRC: back})
        assert back.bytes.tobytes() == src.bytes.tobytes() == oracle.to_layout(data, tag), implementation


@pytest.mark.parametrize("dtype", ALWAYS + SOMETIMES + NATIVE_ONLY, ids=name_of)
@pytest.mark.parametrize("tag", TAGS)
def test_every_layout_and_type(tag, dtype):
    ndim = next(n for n, tags in LAYOUTS.items() if tag in tags)
    for channels, group_size in ((24, 4), (20, 5)):  # the second leaves a tail in blocks of 8 and 16
        shape = (2, channels, 3, 5, 4, 2)[:ndim]
        check(shape, dtype, tag, 1, group_size, required=dtype in ALWAYS)


@pytest.mark.parametrize("tag", ["nchw", "nhwc", "nChw8c", "nChw16c"])
@pytest.mark.parametrize("axis", [0, 2, 3, -1, -2, -4])
def test_axes_other_than_the_channels(tag, axis):
    shape = (6, 20, 12, 10)
    for group_size in (1, 2, shape[axis] // 2, shape[axis]):
        check(shape, "f4", tag, axis, group_size)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7, 8, 9, 12, 15, 16, 17, 24, 32, 33, 48, 60])
@pytest.mark.parametrize("tag", ["nChw4c", "nChw8c", "nChw16c"])
@pytest.mark.parametrize("dtype", ["f4", "u1"])
def test_every_tail_and_group(channels, tag, dtype):
    for group_size in [d for d in range(1, channels + 1) if channels % d == 0]:
        check((2, channels, 2, 3), dtype, tag, 1, group_size)


@pytest.mark.parametrize(
    ("shape", "group_size", "tags"),
    [
        ((2, 58, 28, 28), 29, LAYOUTS[4]),
        ((1, 1, 1, 1), 1, LAYOUTS[4]),
        ((1, 240, 7, 7), 80, LAYOUTS[4]),
        ((3, 136, 14, 14), 4, LAYOUTS[4]),
        ((1, 68, 4, 8, 8), 17, LAYOUTS[5]),
        ((2, 480, 3), 160, LAYOUTS[3]),
        ((2, 272), 2, LAYOUTS[2]),
        ((8, 240, 28, 28), 80, ["nchw", "nhwc", "nChw16c"]),  # 6 MB: several threads
    ],
)
def test_shapes_of_networks(shape, group_size, tags):
    for tag in tags:
        for dtype in ("f4", "i1"):
            check(shape, dtype, tag, 1, group_size, required=True)


@pytest.mark.parametrize("tag", ["ABcd4a4b", "ABcd16b16a", "aBcd16b", "ABcd8b8a", "aBCd8b8c"])
def test_blocks_of_several_axes(tag):
    for axis, group_size in ((0, 3), (1, 4), (2, 2)):
        check((6, 20, 6, 3), "f4", tag, axis, group_size)


@given(
    st.sampled_from(TAGS),
    st.sampled_from(ALWAYS + SOMETIMES + NATIVE_ONLY),
    st.data(),
)
def test_random_problems(tag, dtype, draw):
    ndim = next(n for n, tags in LAYOUTS.items() if tag in tags)
    shape = [draw.draw(st.integers(1, 5)) for _ in range(ndim)]
    shape[1] = draw.draw(st.integers(1, 40))
    axis = draw.draw(st.integers(-ndim, ndim - 1))
    check(tuple(shape), dtype, tag, axis, draw.draw(some.divisors(shape[axis])))


@pytest.mark.parametrize("implementation", ["native", "onednn"])
@pytest.mark.parametrize("dtype", ALWAYS)
@pytest.mark.parametrize("gap", [1, 3, 64])
def test_gaps_between_pitched_rows_stay_untouched(implementation, dtype, gap):
    shape = (2, 12, 5, 7)
    strides = tuple(int(s) for s in np.cumprod([1, 7 + gap, 5, 12])[::-1])
    md = dm.MemoryDesc(shape, dtype, strides)
    assert md.strides == strides
    item = np.dtype(dtype).itemsize
    count = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    expected = some.random_bytes(count * item, 5)
    src, dst = dm.Memory(md), dm.Memory(md)
    before = some.random_bytes(dst.bytes.size, 6)
    dst.bytes[:] = before
    data = some.dense(shape, dtype)
    src.numpy()[...] = data
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 3)
    fwd = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation))
    fwd.execute(dm.Stream(), {dm.ARG_SRC: src, dm.ARG_DST: dst})
    expected = before.copy()
    np.ndarray(shape, dtype, expected, 0, [s * item for s in strides])[...] = oracle.shuffle(data, 1, 3)
    assert dst.bytes.tobytes() == expected.tobytes()


@pytest.mark.parametrize("implementation", ["native", "onednn"])
@pytest.mark.parametrize("permutation", [(0, 1, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_arrays_of_any_order_zero_copy(implementation, permutation):
    back = np.argsort(permutation)
    shape = np.take((2, 12, 5, 4), permutation)
    x, y = some.dense(shape, "i4").transpose(back), np.zeros(shape, "i4").transpose(back)
    md = dm.MemoryDesc.of(x)
    assert md == dm.MemoryDesc(x.shape, "i4", tuple(s // 4 for s in x.strides))
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 4)
    fwd = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation))
    fwd.execute(dm.Stream(), {dm.ARG_SRC: x, dm.ARG_DST: y})
    oracle.assert_same(y, oracle.shuffle(x, 1, 4))
    y[...] = 0
    fwd.execute(dm.Stream(), {dm.ARG_SRC: dm.Memory(md, buffer=x), dm.ARG_DST: dm.Memory(md, buffer=y)})
    oracle.assert_same(y, oracle.shuffle(x, 1, 4))


def test_next_impl_walks_the_list():
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward, dm.MemoryDesc((2, 12, 5, 7), "f4", "nChw16c"), 1, 3)
    pd = dm.ShuffleForward.PrimitiveDesc(desc)
    names = list(pd.implementations)
    assert len(names) >= 2
    assert len(set(names)) == len(names)
    walked = [pd.impl_info_str]
    while pd.next_impl():
        walked.append(pd.impl_info_str)
    assert walked == names == list(pd.implementations)
    assert pd.next_impl() is False


def test_the_queries():
    md = dm.MemoryDesc((2, 12, 5, 7), "f4", "nhwc")
    engine = dm.Engine()
    pd = dm.ShuffleForward.PrimitiveDesc(dm.ShuffleForward.Desc(dm.PropKind.forward_inference, md, -3, 4), engine)
    assert (pd.src_desc, pd.dst_desc, pd.axis, pd.group_size) == (md, md, 1, 4)
    assert pd.prop_kind == dm.PropKind.forward_inference
    assert isinstance(pd.engine, dm.Engine)
    assert isinstance(pd.scratchpad_desc, dm.MemoryDesc)
    bpd = dm.ShuffleBackward.PrimitiveDesc(dm.ShuffleBackward.Desc(md, 1, 4), engine, hint_fwd_pd=pd)
    assert (bpd.diff_src_desc, bpd.diff_dst_desc, bpd.axis, bpd.group_size) == (md, md, 1, 4)
    assert bpd.prop_kind == dm.PropKind.backward_data


@pytest.mark.parametrize(("axis", "group_size"), [(2, 4), (1, 3), (1, 12)])
def test_a_hint_that_disagrees(axis, group_size, errors_name):
    md = dm.MemoryDesc((12, 12, 12), "f4")
    pd = dm.ShuffleForward.PrimitiveDesc(dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 4))
    desc = dm.ShuffleBackward.Desc(md, axis, group_size)
    errors_name(ValueError, lambda: dm.ShuffleBackward.PrimitiveDesc(desc, hint_fwd_pd=pd), "hint_fwd_pd")


@pytest.mark.parametrize("implementation", ["native", "onednn"])
def test_the_environment_sets_the_default(implementation, run_python):
    program = """
import dnnmove as dm
md = dm.MemoryDesc((2, 12, 5, 7), "f4")
print(dm.ShuffleForward.PrimitiveDesc(dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 3)).impl_info_str)
"""
    assert run_python(program, DNNMOVE_IMPLEMENTATION=implementation).startswith(implementation + ":")


@pytest.mark.parametrize("bad", ["nativ", "", "onednn:ref", 3, None])
def test_unknown_implementations(bad, errors_name):
    md = dm.MemoryDesc((2, 12), "f4")
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 3)
    kinds = ValueError if isinstance(bad, str) else (TypeError, ValueError)
    errors_name(kinds, lambda: dm.ShuffleForward.PrimitiveDesc(desc, implementation=bad), "implementation")


def test_sizes_that_take_many_blocks():
    shape = (4, 100, 61, 63)
    assert math.prod(shape) > 2**20
    for tag in ("nChw8c", "nChw16c"):
        check(shape, "i1", tag, 1, 25, required=True)
        check(shape, "f4", tag, 1, 10, required=True)

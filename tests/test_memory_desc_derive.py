"""What one MemoryDesc derives from another: held against oneDNN's own functions, and used on memory."""

import copy
import math
import pickle
import random

import numpy as np
import oracle
import pytest
import strategies as some
from hypothesis import given
from hypothesis import strategies as st

import dnnmove as dm
from dnnmove import _core

TAGS = ["abcd", "acdb", "dcba", "bacd", "aBcd4b", "aBcd16b", "Abcd8a", "ABcd4b16a4b", "aBCd2b4c2b"]


@st.composite
def descs(draw):
    """Plain and blocked, with and without padding, dense and pitched; of 4 axes."""
    tag = draw(st.sampled_from(TAGS))
    dims = tuple(draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 20, 32])) for _ in range(4))
    md = dm.MemoryDesc(dims, "float32", tag)
    if md.strides is not None and draw(st.booleans()):
        md = dm.MemoryDesc(dims, "float32", tuple(stride * 3 for stride in md.strides))
    return md


def layout(md):
    """dims, padded dims, strides of axes with several steps, blocks, their axes, offset; strides in bytes."""
    dims, padded, strides, blocks, indices, offset = md if isinstance(md, tuple) else _core._layout(md)
    block = [math.prod(b for b, i in zip(blocks, indices, strict=True) if i == axis) for axis in range(len(dims))]
    steps = [stride if length > size else None for stride, length, size in zip(strides, padded, block, strict=True)]
    return dims, padded, steps, blocks, indices, offset


@given(descs(), st.permutations(range(4)), st.booleans())
def test_permute_axes_is_onednn_s(md, permutation, negative):
    theirs = _core._onednn_permute_axes(md, permutation)
    spelled = [axis - 4 for axis in permutation] if negative else permutation
    assert layout(md.permute_axes(spelled)) == layout(theirs)


def shapes_of(md):
    """Shapes of as many elements: axes cut, joined and padded with ones."""

    @st.composite
    def shapes(draw):
        lengths = list(md.dims)
        for _ in range(draw(st.integers(0, 4))):
            at = draw(st.integers(0, len(lengths) - 1))
            how = draw(st.sampled_from(["cut", "join", "one", "drop"]))
            if how == "cut":
                factor = draw(st.sampled_from([f for f in range(1, lengths[at] + 1) if lengths[at] % f == 0]))
                lengths[at : at + 1] = [factor, lengths[at] // factor]
            elif how == "join" and at + 1 < len(lengths):
                lengths[at : at + 2] = [lengths[at] * lengths[at + 1]]
            elif how == "one":
                lengths.insert(at, 1)
            elif how == "drop" and lengths[at] == 1 and len(lengths) > 1:
                del lengths[at]
        return lengths[:12] if math.prod(lengths[12:]) == 1 else list(md.dims)

    return shapes()


def places(raw):
    """Where each element lies by a raw layout, in bytes and row-major order; None where a block's axis is missing."""
    dims, _, strides, blocks, indices, offset = raw
    if max(indices, default=0) >= len(dims):
        return None
    steps = list(np.indices(dims).reshape(len(dims), -1))
    at = np.full(math.prod(dims), offset)
    inner = 4  # the bytes of what is inside a block
    for block, axis in zip(reversed(blocks), reversed(indices), strict=True):
        at += steps[axis] % block * inner
        steps[axis] = steps[axis] // block
        inner *= block
    for step, stride in zip(steps, strides, strict=True):
        at += step * stride
    return at


def keeps_elements(md, theirs):
    """Whether oneDNN's reshape leaves each element in its place, its blocks in axes that hold them.

    Where it drops a padded axis, it may do neither.
    """
    dims, padded, _, blocks, indices, _ = theirs
    held = [math.prod(b for b, i in zip(blocks, indices, strict=True) if i == axis) for axis in range(len(dims))]
    whole = all(n % b == 0 for n, b in zip(padded, held, strict=True))
    return whole and np.array_equal(places(theirs), places(_core._layout(md)))


def test_reshape_refuses_what_onednn_misplaces():
    md = dm.MemoryDesc((2, 1, 1, 2), "float32", "aBcd4b")
    # Elements lie 16 bytes apart; oneDNN turns the padding of axis 1 into a block of the new one: 4 bytes apart.
    assert places(_core._layout(md)).tolist() == [0, 16, 32, 48]
    assert places(_core._onednn_reshape(md, [1, 4])).tolist() == [0, 4, 8, 12]
    with pytest.raises(ValueError, match="axis 1 is padded"):
        md.reshape((1, 4))


@given(descs(), st.data())
def test_reshape_is_onednn_s(md, data):
    shape = data.draw(shapes_of(md))
    theirs = _core._onednn_reshape(md, shape)
    if tuple(shape) == md.dims:
        assert md.reshape(shape) == md  # theirs may name a padded axis of length 1 otherwise
    elif theirs is not None and keeps_elements(md, theirs):  # else the next test holds ours against the elements
        assert layout(md.reshape(shape)) == layout(theirs)


def offsets(md):
    """Where each element lies, in elements from the start of the buffer: in row-major order of the logical dims."""
    memory = dm.Memory(md)
    memory.bytes.view("f4")[:] = np.arange(md.size // 4)
    plain = dm.Memory(dm.MemoryDesc(md.dims, "float32"))
    dm.reorder(memory, plain)
    return plain.numpy().copy()


@given(descs(), st.data())
def test_a_reshape_keeps_every_element_where_it_is(md, data):
    try:
        made = md.reshape(data.draw(shapes_of(md)))
    except ValueError:
        return
    assert np.array_equal(offsets(made).ravel(), offsets(md).ravel())


@given(descs(), st.permutations(range(4)))
def test_a_permutation_keeps_every_element_where_it_is(md, permutation):
    made = offsets(md.permute_axes(permutation))
    assert np.array_equal(np.moveaxis(offsets(md), range(4), permutation), made)


@st.composite
def parts(draw):
    md = draw(descs())
    blocks = [padded_block(md, axis) for axis in range(4)]
    offsets, dims = [], []
    for length, block in zip(md.dims, blocks, strict=True):
        offset = draw(st.integers(0, length // block)) * block
        left = length - offset
        size = left if draw(st.booleans()) else draw(st.integers(0, left // block)) * block
        offsets.append(offset)
        dims.append(size)
    return md, dims, offsets


def padded_block(md, axis):
    return math.prod(b for b, i in zip(md.inner_blocks, md.inner_indices, strict=True) if i == axis)


@given(parts())
def test_submemory_is_onednn_s(part):
    md, dims, begin = part
    ours = md.submemory_desc(dims, begin)
    if 0 not in dims:
        assert layout(ours) == layout(_core._onednn_submemory(md, dims, begin))
        where = tuple(slice(b, b + n) for b, n in zip(begin, dims, strict=True))
        assert np.array_equal(offsets(ours), offsets(md)[where])
        assert ours.size == md.size
    assert ours.dims == tuple(dims)


@given(parts(), st.permutations(range(4)))
def test_derived_from_derived(part, permutation):
    md, dims, begin = part
    if 0 in dims:
        return
    ours = md.submemory_desc(dims, begin).permute_axes(permutation)
    turned = [0] * 4
    for axis, to in enumerate(permutation):
        turned[to] = axis
    other = md.permute_axes(permutation).submemory_desc([dims[a] for a in turned], [begin[a] for a in turned])
    assert ours == other
    assert hash(ours) == hash(other)
    again = ours.submemory_desc(ours.dims, (0, 0, 0, 0))
    assert again == ours


@given(parts())
def test_copies_and_reprs(part):
    md, dims, begin = part
    ours = md.submemory_desc(dims, begin)
    assert eval(repr(ours), {"MemoryDesc": dm.MemoryDesc}) == ours
    for made in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert made == ours
        assert repr(made) == repr(ours)
        assert made.size == ours.size
        assert made.tag == ours.tag


@given(descs(), st.permutations(range(4)))
def test_tags(md, permutation):
    made = md.permute_axes(permutation)
    if made.tag is not None:
        assert dm.MemoryDesc(made.dims, "float32", made.tag) == made
    elif made.strides is not None:
        assert not made.is_dense


def test_tags_by_example():
    dims = (2, 32, 5, 5)
    assert dm.MemoryDesc(dims, "f4", "nhwc").tag == "nhwc"
    assert dm.MemoryDesc(dims, "f4").tag == "abcd"
    assert dm.MemoryDesc(dims, "f4", (800, 1, 160, 32)).tag == "acdb"
    assert dm.MemoryDesc(dims, "f4", (801, 1, 160, 32)).tag is None
    assert dm.MemoryDesc((1, 3, 1, 5), "f4", (7, 1, 9, 3)).tag == "cadb"
    assert dm.MemoryDesc((), "f4").tag is None
    assert dm.MemoryDesc(dims, "f4", "nChw16c").permute_axes((0, 1, 3, 2)).tag == "aBdc16b"
    assert dm.MemoryDesc.of(np.zeros((2, 3), "f4")[::-1]).tag is None
    assert {dm.MemoryDesc(dims, "f4", tag).format_kind for tag in ("nchw", "nChw16c")} == {"blocked"}


def test_a_port_of_onednn_code_that_joins_two_tensors():
    """Sub-memories of one destination, as oneDNN's users write a concatenation."""
    x, y = some.dense((2, 16, 3, 3), "f4", seed=1), some.dense((2, 32, 3, 3), "f4", seed=2)
    for tag in ("nchw", "nhwc", "nChw16c"):
        md = dm.MemoryDesc((2, 48, 3, 3), "f4", tag)
        whole = dm.Memory(md)
        begin = 0
        for part in (x, y):
            desc = md.submemory_desc(part.shape, (0, begin, 0, 0))
            assert desc.submemory_offset == desc.submemory_desc(part.shape, (0, 0, 0, 0)).submemory_offset
            dm.reorder(dm.Memory(dm.MemoryDesc.of(part), buffer=part), dm.Memory(desc, buffer=whole.bytes))
            begin += part.shape[1]
        assert whole.bytes.tobytes() == oracle.to_layout(np.concatenate([x, y], 1), tag)


@pytest.mark.parametrize("tag", ["nchw", "nhwc", "nChw16c"])
@pytest.mark.parametrize("implementation", ["native", "auto"])
def test_a_shuffle_of_a_part(tag, implementation):
    data = some.dense((4, 64, 3, 3), "f4")
    md = dm.MemoryDesc(data.shape, "f4", tag)
    part = md.submemory_desc((2, 32, 3, 3), (1, 32, 0, 0))
    memory = dm.Memory(md)
    memory.bytes[:] = np.frombuffer(oracle.to_layout(data, tag), np.uint8)
    pd = dm.ShuffleForward.PrimitiveDesc(
        dm.ShuffleForward.Desc(dm.PropKind.forward, part, 1, 8), implementation=implementation
    )
    shuffle, results = dm.ShuffleForward(pd), dm.Memory(md)
    src, dst = dm.Memory(part, buffer=memory.bytes), dm.Memory(part, buffer=results.bytes)
    shuffle.execute(None, {dm.ARG_SRC: src, dm.ARG_DST: dst})
    expected = np.zeros_like(data)
    expected[1:3, 32:64] = oracle.shuffle(np.ascontiguousarray(data[1:3, 32:64]), 1, 8)
    assert results.bytes.tobytes() == oracle.to_layout(expected, tag)
    new = shuffle(src)
    assert new.desc == part
    eager = dm.shuffle(src, 1, 8)
    plain = dm.Memory(dm.MemoryDesc(part.dims, "f4"))
    for made in (new, eager):
        dm.reorder(made, plain)
        assert oracle.raw(plain.numpy()) == oracle.raw(np.ascontiguousarray(expected[1:3, 32:64]))


def test_parts_that_meet_are_seen():
    md = dm.MemoryDesc((2, 32, 3, 3), "f4", "nChw16c")
    memory = dm.Memory(md)
    halves = [dm.Memory(md.submemory_desc((2, 16, 3, 3), (0, begin, 0, 0)), buffer=memory.bytes) for begin in (0, 16)]
    dm.reorder(*halves)  # share no byte
    with pytest.raises(ValueError, match="shares"):
        dm.reorder(halves[0], dm.Memory(md.submemory_desc((2, 16, 3, 3), (0, 0, 0, 0)), buffer=memory.bytes))


@pytest.mark.parametrize("seed", range(20))
def test_parts_of_negative_strides(seed):
    random.seed(seed)
    data = some.dense((5, 7), "i2")[:: random.choice([1, -1]), :: random.choice([1, -1])]
    md = dm.MemoryDesc.of(data)
    memory = dm.Memory(md)
    memory.numpy()[...] = data
    begin = (random.randint(0, 4), random.randint(0, 6))
    dims = (random.randint(1, 5 - begin[0]), random.randint(1, 7 - begin[1]))
    part = dm.Memory(md.submemory_desc(dims, begin), buffer=memory.bytes)
    assert np.array_equal(part.numpy(), data[begin[0] : begin[0] + dims[0], begin[1] : begin[1] + dims[1]])


BLOCKED = dm.MemoryDesc((2, 20, 3, 3), "f4", "nChw16c")
PLAIN = dm.MemoryDesc((2, 6, 4), "f4")


@pytest.mark.parametrize(
    ("kind", "call", "words"),
    [
        (ValueError, lambda: PLAIN.permute_axes((0, 1)), ["permutation (0, 1)", "2 entries"]),
        (ValueError, lambda: PLAIN.permute_axes(()), ["permutation ()", "0 entries"]),
        (ValueError, lambda: PLAIN.permute_axes((0, 1, 1)), ["permutation (0, 1, 1)", "twice"]),
        (ValueError, lambda: PLAIN.permute_axes((0, 1, 3)), ["permutation", "3 is out of range"]),
        (TypeError, lambda: PLAIN.permute_axes((0, 1, 2.0)), ["permutation[2]", "float"]),
        (TypeError, lambda: PLAIN.permute_axes(axes=(0, 1, 2)), ["'axes'", "'permutation'"]),
        (ValueError, lambda: PLAIN.reshape((2, 25)), ["dims (2, 25)", "(2, 6, 4)", "number of elements"]),
        (ValueError, lambda: PLAIN.reshape((2, -1)), ["dims (2, -1)", "negative"]),
        (TypeError, lambda: PLAIN.reshape("24"), ["dims", "str"]),
        (TypeError, lambda: PLAIN.reshape(2, 24), ["reshape()", "at most 1"]),
        (ValueError, lambda: PLAIN.permute_axes((0, 2, 1)).reshape((2, 24)), ["dims (2, 24)", "densely"]),
        (ValueError, lambda: BLOCKED.reshape((2, 4, 5, 3, 3)), ["dims (2, 4, 5, 3, 3)", "axis 1 is padded"]),
        (
            ValueError,
            lambda: dm.MemoryDesc((2, 32, 3, 3), "f4", "nChw16c").reshape((2, 16, 2, 3, 3)),
            ["axis 1 is blocked"],
        ),
        (ValueError, lambda: PLAIN.submemory_desc((1, 1), (0, 0, 0)), ["dims (1, 1)", "(2, 6, 4)"]),
        (ValueError, lambda: PLAIN.submemory_desc((1, 1, 1), (0, 0)), ["offsets (0, 0)", "(2, 6, 4)"]),
        (ValueError, lambda: PLAIN.submemory_desc((1, 1, 1), (0, 7, 0)), ["offsets[1] (7)", "[0, 6]"]),
        (ValueError, lambda: PLAIN.submemory_desc((1, 1, 1), (0, -1, 0)), ["offsets[1] (-1)", "[0, 6]"]),
        (ValueError, lambda: PLAIN.submemory_desc((1, 5, 1), (0, 2, 0)), ["dims[1] (5)", "[0, 4]", "offsets[1] is 2"]),
        (ValueError, lambda: BLOCKED.submemory_desc((2, 4, 3, 3), (0, 8, 0, 0)), ["offsets[1] (8)", "block of 16"]),
        (ValueError, lambda: BLOCKED.submemory_desc((2, 8, 3, 3), (0, 0, 0, 0)), ["dims[1] (8)", "block of 16"]),
    ],
)
def test_what_is_refused(kind, call, words, errors_name):
    errors_name(kind, call, *words)


def test_onednn_refuses_the_same():
    assert _core._onednn_reshape(BLOCKED, (2, 4, 5, 3, 3)) is None
    assert _core._onednn_submemory(BLOCKED, (2, 4, 3, 3), (0, 8, 0, 0)) is None
    # This it takes, with padded dims that are no whole blocks: where such a part ends is then nowhere said.
    assert _core._onednn_submemory(BLOCKED, (2, 8, 3, 3), (0, 0, 0, 0))[1] == (2, 8, 3, 3)

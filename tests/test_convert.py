"""Conversion of numbers on the way out: every value of the small types, and every way that data can move before it."""

import itertools
import pickle
import random

import ml_dtypes
import numpy as np
import pytest
import steps
from hypothesis import given
from hypothesis import strategies as st

import dnnmove as dm

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(name) for name in ("uint8", "int8", "int32", "float32", BF16, "float16")]
BOUNDS = {"uint8": (0, 255), "int8": (-128, 127), "int32": (-(2**31), 2**31 - 1)}


def to_float32(x):
    """The nearest float32; int32 goes by way of float64, which holds it."""
    return x.astype(np.float64).astype(np.float32) if x.dtype == np.int32 else x.astype(np.float32)


def nearest(x, dtype):
    """Rounds numbers that float64 holds once, to the nearest of `dtype`, ties to even; saturates integers."""
    dtype = np.dtype(dtype)
    with np.errstate(all="ignore"):
        if dtype.name in BOUNDS:
            whole = np.rint(np.nan_to_num(x.astype(np.float64), nan=0, posinf=np.inf, neginf=-np.inf))
            return np.clip(whole, *BOUNDS[dtype.name]).astype(dtype)
        if x.dtype == np.int32 and dtype == BF16:
            return nearest_bfloat16(x)
        return x.astype(np.float64).astype(dtype) if dtype != BF16 else x.astype(np.float32).astype(BF16)


def nearest_bfloat16(x):
    """Of int32: ml_dtypes goes by way of float32, which rounds twice."""
    sign = x < 0
    size = np.abs(x.astype(np.int64))
    bits = np.array([int(value).bit_length() for value in size.ravel()], np.int64).reshape(size.shape)
    drop = np.maximum(bits - 8, 0)
    kept, rest, half = size >> drop, size & ((1 << drop) - 1), (1 << drop) >> 1
    up = (rest > half) | ((rest == half) & (kept & 1 == 1) & (drop > 0))
    value = ((kept + (up & (drop > 0))) << drop).astype(np.float64)
    return np.where(sign, -value, value).astype(np.float32).astype(BF16)


def expected(x, dtype, scale=None, shift=None):
    """y = x * scale + shift in float32, one rounding each, then to `dtype`."""
    if scale is None and shift is None:
        return nearest(x, dtype)
    with np.errstate(all="ignore"):
        y = to_float32(x)
        if scale is not None:
            y = y * np.asarray(scale, np.float32)
        if shift is not None:
            y = y + np.asarray(shift, np.float32)
    assert y.dtype == np.float32
    return nearest(y, dtype)


def same(a, b):
    """Equal bits, but for which NaN it is."""
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    if a.dtype.kind in "iu":
        return np.array_equal(a, b)
    word = f"u{a.dtype.itemsize}"
    nan = np.isnan(a.astype(np.float32))
    return np.array_equal(nan, np.isnan(b.astype(np.float32))) and np.array_equal(
        np.where(nan, 0, a.view(word)), np.where(nan, 0, b.view(word))
    )


def values_of(dtype):
    """All values of a small type; of a large one the extremes, ties, and many at random."""
    generator = np.random.default_rng(7)
    if dtype.itemsize == 1:
        return np.arange(256, dtype=np.uint8).view(dtype)
    if dtype.itemsize == 2:
        return np.arange(1 << 16, dtype=np.uint16).view(dtype)
    bits = generator.integers(0, 1 << 32, 60_000, np.uint32)
    if dtype == np.int32:
        powers = [sign * (1 << k) + step for k in range(32) for sign in (-1, 1) for step in (-2, -1, 0, 1, 2)]
        powers += [(1 << k) + (1 << (k - j)) + step for k in range(9, 31) for j in (8, 9) for step in (-1, 0, 1)]
        held = [value for value in powers if -(2**31) <= value < 2**31]
        return np.concatenate([np.array(held, np.int32), bits.view(np.int32)])
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1e-45,
        -1e-40,
        3.4e38,
        65504,
        65519.9,
        65520,
        65536,
        2.0**-24,
        2.0**-25,
    ]
    special += [2.0**31, 2.0**31 - 128, -(2.0**31), -(2.0**31) - 256, 8388607.5, 8388608.5, 255.5, -128.5, 127.5]
    ties = np.concatenate([np.arange(-300, 300) + 0.5, np.arange(-600, 600) / 4])
    halves = np.arange(1 << 16, dtype=np.uint32) << 16 | 0x8000
    sixteenths = (np.arange(1 << 16, dtype=np.uint32) << 13 | 0x1000) + (100 << 23)
    return np.concatenate(
        [
            np.array(special, np.float32),
            ties.astype(np.float32),
            *(part.astype(np.uint32).view(np.float32) for part in (bits, halves, sixteenths)),
        ]
    )


@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_every_value(source, target):
    x = values_of(source)
    assert same(dm.convert(x, target), expected(x, target))
    assert same(dm.convert(x, target, 0.37, -1.5), expected(x, target, 0.37, -1.5))
    assert same(dm.convert(x, target, scale=2.5), expected(x, target, 2.5))
    assert same(dm.convert(x, target, shift=1e-3), expected(x, target, None, 1e-3))
    backwards = x[::-1]
    assert same(dm.convert(backwards, target), expected(backwards, target))


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17, 31, 33, 63, 65, 100, 1000])
def test_every_length_and_alignment(count):
    raw = np.arange(count + 16, dtype=np.float32) - 40.25
    for source, target in itertools.product((1, 3), (0, 1, 7)):
        out = np.full(count + 16, 77, np.int8)
        result = dm.convert(raw[source : source + count], "int8", out=out[target : target + count])
        assert same(result, expected(raw[source : source + count], "int8"))
        assert (out[:target] == 77).all()
        assert (out[target + count :] == 77).all()


def test_an_unaligned_source_and_destination():
    x = np.frombuffer(bytearray(4 * 500 + 1), np.uint8)[1:].view(np.float32)
    x[:] = np.linspace(-300, 300, 500)
    out = np.frombuffer(bytearray(2 * 500 + 1), np.uint8)[1:].view(np.float16)
    assert same(dm.convert(x, np.float16, 3, out=out), expected(x, np.float16, 3))


def test_a_scale_for_every_position_of_an_axis():
    generator = np.random.default_rng(0)
    for shape in [(2, 3, 5, 7), (4, 64, 3), (1, 1, 1), (3, 1000), (2000, 3), (40, 7, 40), (2, 300, 2)]:
        x = generator.integers(0, 256, shape, np.uint8)
        for axis in range(len(shape)):
            scale, shift = generator.standard_normal((2, shape[axis]))
            wide = [1] * len(shape)
            wide[axis] = -1
            for target in (np.float32, BF16, np.int8):
                want = expected(x, target, scale.reshape(wide).astype("f4"), shift.reshape(wide).astype("f4"))
                assert same(dm.convert(x, target, scale, shift, axis), want)
                assert same(dm.convert(x, target, list(scale), tuple(shift), axis - len(shape)), want)


@given(data=st.data())
def test_any_strides_of_source_and_destination(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5), label="shape"))
    source, target = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(DTYPES))
    generator = np.random.default_rng(data.draw(st.integers(0, 1000), label="seed"))

    def array(dtype):
        order = data.draw(st.permutations(range(len(shape))), label="order")
        steps = [data.draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in shape]
        big = [shape[axis] * abs(steps[axis]) for axis in order]
        base = generator.integers(0, 256, (*big, dtype.itemsize), np.uint8).view(dtype)[..., 0]
        placed = base.transpose(np.argsort(order))
        return placed[tuple(slice(None, None, step) for step in steps)]

    x, out = array(source), array(target)
    x, out = (each[tuple(slice(0, length) for length in shape)] for each in (x, out))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1), label="axis")
    scale = generator.standard_normal(shape[axis])
    wide = [1] * len(shape)
    wide[axis] = -1
    assert same(dm.convert(x, target), expected(x, target))
    want = expected(x, target, scale.reshape(wide).astype("f4"), 0.5)
    assert same(dm.convert(x, target, scale, 0.5, axis), want)
    assert dm.convert(x, target, scale, 0.5, axis, out=out) is out
    assert same(out, want)


def photos(count=3, size=37):
    return np.random.default_rng(1).integers(0, 256, (count, size, size + 2, 3), np.uint8)


@given(seed=st.integers(0, 10**6))
def test_after_any_other_steps(seed):
    choices = random.Random(seed)
    source, target = choices.choice(DTYPES), choices.choice(DTYPES)
    x = np.random.default_rng(seed).choice(values_of(source), (2, 3, 4, 6)[: choices.randint(1, 4)])
    chain, want = dm.Chain.of(x), x
    for _ in range(choices.randint(1, 4)):
        name, keywords, moves = steps.further_step(choices, want)
        moved = moves(want)[0]
        if moved.size > 20_000:
            break
        chain, want = steps.call(getattr(chain, name), name, keywords), moved
    assert same(chain.convert(target).build()(x), expected(want, target))
    axis = choices.randrange(want.ndim) if want.ndim else None
    scale = 0.75 if axis is None else np.linspace(-1, 2, want.shape[axis])
    wide = np.float32(0.75) if axis is None else scale.reshape([-1 if k == axis else 1 for k in range(want.ndim)])
    built = chain.convert(target, scale, 3, axis).build(max_nests=choices.choice([1, 64]))
    assert same(built(x), expected(want, target, wide, 3))


@pytest.mark.parametrize("target", [np.float32, BF16, np.float16, np.int8], ids=str)
def test_a_photo_becomes_normalised_planes_in_one_pass(target):
    x = photos()
    mean, deviation = np.array([123.7, 116.3, 103.5]), np.array([58.4, 57.1, 57.4])
    scale, shift = (1 / deviation).astype("f4"), (-mean / deviation).astype("f4")
    built = dm.Chain.of(x).transpose((0, 3, 1, 2)).convert(target, scale, shift, axis=1).build()
    want = expected(x.transpose(0, 3, 1, 2), target, scale[:, None, None], shift[:, None, None])
    assert built.passes == 1
    assert built.dst_desc.dtype == target
    assert built.dst_desc.dims == (3, 3, 37, 39)
    assert same(built(x), want)
    out = np.empty(want.shape, target)
    assert built(x, out=out) is out
    assert same(out, want)
    assert same(built(x[:2]), want[:2])  # another leading extent
    lazy = dm.chain(x).transpose((0, 3, 1, 2)).convert(target, scale, shift, axis=1)
    assert lazy.dtype == target
    assert same(lazy.run(), want)
    destination = np.empty(want.shape, target)
    built.execute(None, {dm.ARG_SRC: x, dm.ARG_DST: destination})
    assert same(destination, want)


def test_large_enough_for_threads_and_streaming_stores():
    x = photos(48, 420)
    scale = np.array([0.5, 1.5, 2.5], "f4")
    want = expected(x.transpose(0, 3, 1, 2), np.float32, scale[:, None, None], -1)
    for threads in (1, 2, 3):
        with dm.num_threads(threads):
            built = dm.Chain.of(x).transpose((0, 3, 1, 2)).convert("f4", scale, -1.0, 1).build()
            assert same(built(x), want)
    assert "nontemporal stores of the results" in built.explain()


def test_every_branch_is_converted():
    x = np.arange(2 * 12, dtype=np.int32).reshape(2, 12) - 7
    split = dm.Chain.of(x).split(1, 3).branch(1).flip(1)
    built = split.convert("float16", scale=[2, 3, 4, 5], axis=1).build()
    parts = [x[:, :4], x[:, 4:8][:, ::-1], x[:, 8:]]
    for part, result in zip(parts, built(x), strict=True):
        assert same(result, expected(part, np.float16, [2, 3, 4, 5]))
    out = [np.empty((2, 4), np.float16) for _ in range(3)]
    assert all(a is b for a, b in zip(built(x, out=out), out, strict=True))


@pytest.mark.parametrize("indices", [[3, 1, 4, 1, 5, 9, 2, 6], list(np.random.default_rng(3).integers(0, 700, 5000))])
@pytest.mark.parametrize("axis", [0, 1])
def test_what_was_taken_is_converted(indices, axis):
    shape = (700, 6) if axis == 0 else (6, 700)
    x = np.random.default_rng(2).integers(0, 256, shape, np.uint8)
    scale = np.linspace(-3, 3, len(indices)).astype("f4")
    wide = scale[:, None] if axis == 0 else scale
    built = dm.Chain.of(x).take(indices, axis).convert(BF16, scale, 0.25, axis).build()
    assert same(built(x), expected(np.take(x, indices, axis), BF16, wide, 0.25))


def test_a_chain_of_more_passes_is_converted_at_its_end():
    x = np.random.default_rng(0).standard_normal((8, 6, 10)).astype("f4")
    rolls = dm.Chain.of(x).roll(3, 0).roll(2, 1).roll(5, 2).reshape((-1,)).roll(7, 0)
    want = np.roll(np.roll(np.roll(np.roll(x, 3, 0), 2, 1), 5, 2).reshape(-1), 7)
    for nests in (1, 64):
        built = rolls.convert("int8", scale=20).build(max_nests=nests)
        assert same(built(x), expected(want, np.int8, 20))


def test_the_same_dtype_without_factors_is_a_plain_copy():
    x = np.random.default_rng(0).integers(0, 1 << 32, 1000, np.uint32).view(np.float32)
    assert dm.convert(x, "float32").tobytes() == x.tobytes()
    assert "float32" in repr(dm.Chain.of(x).convert("float32"))


def test_chains_with_a_conversion_compare_pickle_and_explain():
    x = np.zeros((2, 3), np.uint8)
    chain = dm.Chain.of(x).transpose().convert("bfloat16", scale=(1 / 3, 0.1, 2e-30), shift=-1, axis=0)
    assert repr(chain).endswith(".convert(dtype='bfloat16', scale=(0.33333334, 0.1, 2e-30), shift=-1.0, axis=0)")
    again = pickle.loads(pickle.dumps(chain))
    assert again == chain
    assert hash(again) == hash(chain)
    assert chain != dm.Chain.of(x).transpose().convert("bfloat16", scale=(1 / 3, 0.1, 3e-30), shift=-1, axis=0)
    built = pickle.loads(pickle.dumps(chain.build()))
    assert built == chain.build()
    assert same(built(x), chain.build()(x))
    text = built.explain()
    assert "u8 to bf16 with scale and shift along an axis" in text
    assert "converted on their way out" in text
    assert "<svg" in chain.draw()
    assert chain.build(tune=True)(x).dtype == BF16


def test_a_profile_names_both_dtypes(capfd):
    x = np.zeros((20, 30), np.uint8)
    with dm.profile() as profile:
        dm.convert(x, "float32")
        dm.Chain.of(x).convert("float32").build()(x)
    assert [record["bytes"] for record in profile.records] == [600 * 5, 600 * 5]
    dm.set_verbose(1)
    try:
        dm.convert(x, "float32")
    finally:
        dm.set_verbose(0)
    assert "src_u8" in (line := capfd.readouterr().out)
    assert "dst_f32" in line


def test_memory_in_memory_out():
    x = dm.Memory(dm.MemoryDesc((2, 5), "int8"), buffer=np.arange(10, dtype=np.int8).reshape(2, 5))
    y = dm.convert(x, "bfloat16")
    assert isinstance(y, dm.Memory)
    assert y.desc.dtype == BF16
    assert same(y.numpy(), x.numpy().astype(BF16))


def test_tensors_stay_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(24, dtype=torch.uint8).reshape(2, 3, 4)
    y = dm.convert(x, torch.bfloat16, scale=torch.tensor([0.5, 1, 2]), axis=1)
    assert y.dtype is torch.bfloat16
    assert y.shape == (2, 3, 4)
    assert torch.equal(y, (x.float() * torch.tensor([0.5, 1, 2])[:, None]).bfloat16())
    built = dm.Chain.of(x).transpose().convert(torch.float16).build()
    assert torch.equal(built(x), x.permute(2, 1, 0).half())
    out = torch.empty(4, 3, 2, dtype=torch.float16)
    assert built(x, out=out) is out
    assert torch.equal(out, x.permute(2, 1, 0).half())


def test_autograd_is_told_that_there_is_no_gradient():
    pytest.importorskip("torch")
    from dnnmove.torch import chain

    built = dm.Chain(dm.MemoryDesc((2, 3), "float32")).transpose().convert("bfloat16").build()
    with pytest.raises(TypeError, match=r"changes elements \(convert\), of which autograd has no gradient"):
        chain(built)


def test_dask_arrays_are_converted_block_by_block():
    da = pytest.importorskip("dask.array")
    from dnnmove import dask as dd

    x = photos(6)
    built = dm.Chain.of(x[:1]).transpose((0, 3, 1, 2)).convert("float32", [1, 2, 3], axis=1).build()
    y = dd.chain(built)(da.from_array(x, (2, -1, -1, -1)))
    assert y.dtype == np.float32
    assert y.chunks[0] == (2, 2, 2)
    want = expected(x.transpose(0, 3, 1, 2), np.float32, np.array([1, 2, 3])[:, None, None])
    assert same(y.compute(scheduler="synchronous"), want)


def test_a_thread_that_flushes_denormals_gets_the_same_bits():
    torch = pytest.importorskip("torch")
    x = np.array([1e-45, 1e-40, -3e-39, 1.0], np.float32)
    if not torch.set_flush_denormal(True):
        pytest.skip("no such mode")
    try:
        results = dm.convert(x, BF16), dm.convert(x, "float32", scale=0.5), dm.convert(x, "float16", scale=1e30)
    finally:
        torch.set_flush_denormal(False)
    want = expected(x, BF16), expected(x, np.float32, 0.5), expected(x, np.float16, 1e30)
    assert all(same(a, b) for a, b in zip(results, want, strict=True))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            ("float64",),
            TypeError,
            r"dtype \(float64\) must be one of uint8, int8, int32, float32, bfloat16 and float16",
        ),
        ((">f4",), TypeError, "in native byte order: byteswap first"),
        (("nonsense",), TypeError, "dtype"),
        (("u8",), ValueError, "two readings"),
        (("float32", [1, 2, 3]), ValueError, "scale has 3 numbers, one for each position along an axis: axis must say"),
        (("float32", None, [1]), ValueError, "shift has 1 number, one for each position along an axis: axis must say"),
        (
            ("float32", [1, 2], None, 1),
            ValueError,
            r"scale has 2 numbers, but must have as many as data\.shape\[1\] \(3\)",
        ),
        (("float32", [[1, 2, 3]], None, 1), ValueError, "scale has 2 dimensions"),
        (("float32", "1"), TypeError, r"scale \('1'\) must be None, a real number"),
        (("float32", True), TypeError, r"scale \(True\) must be"),
        (("float32", 1j), TypeError, "scale"),
        (("float32", [None]), TypeError, "scale"),
        (("float32", 10**400), ValueError, "beyond the range of floats"),
        (("float32", 1, None, 2), np.exceptions.AxisError, "axis"),
        (("float32", 1, None, 1.5), TypeError, "axis"),
    ],
)
def test_what_is_refused(arguments, error, message):
    x = np.zeros((2, 3), np.uint8)
    with pytest.raises(error, match=message):
        dm.convert(x, *arguments)
    with pytest.raises(error, match=message):
        dm.Chain.of(x).convert(*arguments)


def test_arrays_that_are_refused():
    with pytest.raises(TypeError, match=r"data\.dtype \(float64\) must be one of"):
        dm.convert(np.zeros(3), "float32")
    with pytest.raises(TypeError, match=r"data\.dtype \(>f4\).*byteswap first"):
        dm.convert(np.zeros(3, ">f4"), "uint8")
    with pytest.raises(TypeError, match=r"step 1 \(convert\): the chain's dtype \(int64\) must be one of"):
        dm.Chain.of(np.zeros(3, "i8")).convert("float32")
    x = np.zeros((2, 3), np.uint8)
    with pytest.raises(TypeError, match=r"out\.dtype \(uint8\) must be the result's, float32"):
        dm.convert(x, "float32", out=np.zeros((2, 3), np.uint8))
    with pytest.raises(ValueError, match=r"out\.shape"):
        dm.convert(x, "float32", out=np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match="shares memory"):
        dm.convert(x, "int8", out=x.view(np.int8))
    built = dm.Chain.of(x).convert("float32").build()
    with pytest.raises(TypeError, match=r"out\.dtype \(uint8\) must be the result's, float32"):
        built(x, out=np.zeros((2, 3), np.uint8))
    with pytest.raises(ValueError, match=r"step 2 \(transpose\): no step may follow convert\(dtype='float32'\)"):
        dm.Chain.of(x).convert("float32").transpose()
    with pytest.raises(ValueError, match="no step may follow"):
        dm.Chain.of(x).convert("float32").branch(0)


def test_several_factors_along_the_leading_axis_fix_its_length():
    x = np.ones((3, 4), np.uint8)
    with pytest.raises(ValueError, match="fixes axis 0"):
        dm.Chain.of(x).convert("float32", [1, 2, 3], axis=0).build()(x[:2])
    assert dm.Chain.of(x).convert("float32", 2, axis=0).build()(x[:2]).shape == (2, 4)


def test_factors_that_are_not_finite():
    x = np.array([0, 1, 200], np.uint8)
    for scale, shift in itertools.product((np.inf, -np.inf, np.nan, 1e300, 1e-46), repeat=2):
        for target in DTYPES:
            with np.errstate(all="ignore"):
                want = expected(x, target, np.float32(scale), np.float32(shift))
            assert same(dm.convert(x, target, scale, shift), want)


@pytest.mark.parametrize("axis", [0, -1])
def test_several_sources_are_converted_in_one_pass(axis):
    images = [photos()[0] + np.uint8(k) for k in range(5)]
    joined = np.stack(images, axis)
    chain = dm.Chain([dm.MemoryDesc.of(image) for image in images]).stack(axis).transpose((0, 3, 1, 2))
    want = joined.transpose(0, 3, 1, 2)
    for along in range(4):
        scale = np.linspace(0.5, 2, want.shape[along])
        wide = scale.reshape([-1 if k == along else 1 for k in range(4)])
        built = chain.convert("bfloat16", scale, -1, along).build()
        assert built.passes == 1
        assert same(built(images), expected(want, BF16, wide, -1))


def test_a_class_with_a_dtype_may_change_it():
    class Kind:
        dtype = np.dtype("float32")

    x = np.arange(3, dtype="int8")
    assert dm.convert(x, Kind).dtype == np.float32
    Kind.dtype = np.dtype("int32")
    assert dm.convert(x, Kind).dtype == np.int32

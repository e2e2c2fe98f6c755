"""pad, as a step of chains and as an eager function: NumPy's modes and forms of widths."""

import pickle

import numpy as np
import pytest
import strategies as some
from chains import blocks
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_new, assert_same

import dnnmove as dm

MODES = ["constant", "edge", "reflect", "wrap"]


def widths_of(draw, ndim, most):
    """One of NumPy's forms."""
    width = st.integers(0, most)
    pair = st.tuples(width, width)
    forms = [width, pair, st.lists(width, min_size=1, max_size=2), st.tuples(pair)]
    if ndim:
        forms += [st.lists(pair, min_size=ndim, max_size=ndim), st.tuples(*[pair] * ndim)]
    return draw(st.one_of(forms))


def padded(array, widths, mode):
    """What NumPy makes of the places, so that every dtype goes: -1 is a new element."""
    places = np.arange(array.size).reshape(array.shape)
    keywords = {"constant_values": -1} if mode == "constant" else {}
    moved = np.pad(places, widths, mode, **keywords)
    opaque = blocks(array)
    flat = np.append(np.ascontiguousarray(opaque).reshape(-1), np.zeros(1, opaque.dtype))
    return np.asarray(flat[moved]).view(array.dtype)


@st.composite
def problems(draw):
    shape = draw(some.shapes(0, max_elements=60))
    array = draw(some.strided(shape, draw(some.dtypes))).array
    mode = draw(st.sampled_from(MODES)) if array.size else "constant"
    return array, widths_of(draw, len(shape), 7 if len(shape) < 3 else 2), mode


@given(problems())
def test_any_array_as_numpy_does(problem):
    array, widths, mode = problem
    expected = padded(array, widths, mode)
    result = dm.pad(array, widths, mode)
    assert_same(result, expected)
    assert_new(result, array)


@given(problems(), st.data())
def test_into_any_strides(problem, draw):
    array, widths, mode = problem
    expected = padded(array, widths, mode)
    out = draw.draw(some.strided(expected.shape, expected.dtype, zeros=False))
    buffer = out.expected_after(expected)
    assert dm.pad(array, widths, mode, out=out.array) is out.array
    assert out.buffer.tobytes() == buffer.tobytes()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("u1", 255),
        ("i8", -(2**63)),
        ("?", True),
        ("f4", 0.5),
        ("f4", np.float32(0.1)),
        ("f4", float("nan")),
        ("f8", -0.0),
        ("f8", float("-inf")),
        (">f4", 1.5),
        (">i2", -2),
        ("c8", 1 - 2j),
        ("M8[s]", np.datetime64("2020-02-03T04:05:06")),
        ("m8[ms]", np.timedelta64(3, "s")),
        ("S5", b"ab"),
        ("U3", "ab"),
        ("bfloat16", 1.5),
        ("float8_e5m2", -2.0),
        ("float8_e4m3fn", float("nan")),
    ],
)
def test_constants_of_every_dtype(dtype, value):
    md = dm.MemoryDesc((2, 3), dtype) if dtype not in ("S5", "U3") else None
    x = np.zeros((2, 3), md.dtype if md else dtype)
    expected = np.zeros((4, 5), x.dtype)
    expected[...] = value
    expected[1:3, 1:4] = x
    result = dm.pad(x, 1, constant_value=value)
    assert result.dtype == x.dtype
    assert result.tobytes() == expected.tobytes()
    chain = dm.Chain.of(x).pad(1, constant_value=value)
    assert chain.build()(x).tobytes() == expected.tobytes()
    again = pickle.loads(pickle.dumps(chain))
    assert again == chain
    assert hash(again) == hash(chain)
    assert again.build()(x).tobytes() == expected.tobytes()


def test_a_structured_dtype():
    dtype = np.dtype([("a", "i4"), ("b", "f8"), ("c", "S3")])
    x = np.ones(3, dtype)
    assert dm.pad(x, 2).tobytes() == bytes(2 * dtype.itemsize) + x.tobytes() + bytes(2 * dtype.itemsize)
    element = np.array((7, 0.5, b"xyz"), dtype)[()]
    result = dm.pad(x, (1, 0), constant_value=element)
    assert result[0] == element
    chain = dm.Chain.of(x).pad((1, 0), constant_value=element)
    assert pickle.loads(pickle.dumps(chain)).build()(x).tobytes() == result.tobytes()


X = np.zeros((2, 3), "i4")


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: dm.pad(X, -1), ValueError, ["pad_width -1 must hold widths of at least 0, but holds -1"]),
        (
            lambda: dm.pad(X, (1, 2, 3)),
            ValueError,
            ["pad_width (1, 2, 3) must be a width, a pair (before, after), or pairs"],
        ),
        (lambda: dm.pad(X, ((1, 2), (3, 4), (5, 6))), ValueError, ["holds 3 pairs, but data has 2 dimensions"]),
        (lambda: dm.pad(X, ((1, 2, 3), (0, 0))), ValueError, ["pad_width ((1, 2, 3), (0, 0)) must be"]),
        (lambda: dm.pad(X, (1, (2, 3))), TypeError, ["pad_width[0] must be a pair (before, after)"]),
        (lambda: dm.pad(X, 1.0), TypeError, ["pad_width", "float"]),
        (lambda: dm.pad(X, True), TypeError, ["pad_width", "bool"]),
        (lambda: dm.pad(X, np.ones((2, 2))), TypeError, ["pad_width must hold integers"]),
        (lambda: dm.pad(X, 2**62), ValueError, []),
        (lambda: dm.pad(X, 1, "mean"), ValueError, ["mode ('mean') must be 'constant', 'edge', 'reflect' or 'wrap'"]),
        (lambda: dm.pad(X, 1, None), TypeError, ["mode"]),
        (lambda: dm.pad(X, 1, "edge", 3), ValueError, ["constant_value (3) is for mode 'constant', not for 'edge'"]),
        (lambda: dm.pad(X[:0], 1, "edge"), ValueError, ["cannot pad data.shape[0] (0) in mode 'edge'"]),
        (
            lambda: dm.pad(X, 1, constant_value=0.5),
            ValueError,
            ["constant_value (0.5) must be a value that dtype int32 holds"],
        ),
        (lambda: dm.pad(X, 1, constant_value=2**31), ValueError, ["constant_value (2147483648)"]),
        (lambda: dm.pad(X.astype("u1"), 1, constant_value=-1), ValueError, ["constant_value (-1)", "uint8"]),
        (
            lambda: dm.pad(X.astype("f4"), 1, constant_value=0.1),
            ValueError,
            ["the nearest that it holds is 0.10000000149"],
        ),
        (lambda: dm.pad(X.astype("f4"), 1, constant_value=1e39), ValueError, ["constant_value (1e+39)"]),
        (
            lambda: dm.pad(X, 1, constant_value="1"),
            TypeError,
            ["must be 0 or an element of dtype int32, not str"],
        ),
        (lambda: dm.pad(X, 1, constant_value=None), TypeError, ["constant_value", "NoneType"]),
        (lambda: dm.pad(X, 1, constant_value=[1]), TypeError, ["constant_value", "list"]),
        (lambda: dm.pad(X, 1, constant_value=float("nan")), ValueError, ["constant_value (nan)"]),
        (lambda: dm.pad(np.zeros(2, "S2"), 1, constant_value=b"abc"), ValueError, ["constant_value (b'abc')"]),
        (lambda: dm.pad(X, 1, out=X), ValueError, ["out.shape (2, 3) must equal the result's, (4, 5)"]),
        (
            lambda: dm.Chain.of(X).pad(1, "edge", 1),
            ValueError,
            ["step 1 (pad): constant_value (1) is for mode 'constant'"],
        ),
        (lambda: dm.Chain.of(X).split(1, 3).pad(((1, 1),) * 3), ValueError, ["step 2 (pad), branch 0: pad_width"]),
    ],
)
def test_refusals(call, kind, words, errors_name):
    errors_name(kind, call, *words)


@given(some.shapes(1, max_elements=60), st.data())
def test_widths_by_axis(shape, draw):
    x = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    mode = draw.draw(st.sampled_from(MODES)) if x.size else "constant"
    axes = draw.draw(st.lists(st.integers(0, x.ndim - 1), unique=True))
    width = st.integers(0, 3)
    of = {axis: draw.draw(st.one_of(width, st.tuples(width, width))) for axis in axes}
    by_axis = {axis - x.ndim * draw.draw(st.integers(0, 1)): widths for axis, widths in of.items()}
    pairs = [(widths, widths) if isinstance(widths := of.get(axis, 0), int) else widths for axis in range(x.ndim)]
    expected = np.pad(x, pairs, mode)
    assert_same(dm.pad(x, by_axis, mode), expected)
    assert_same(dm.Chain.of(x).pad(by_axis, mode).build()(x), expected)
    assert_same(dm.chain(x).pad(by_axis, mode).run(), expected)


@pytest.mark.parametrize("step", [dm.pad, lambda x, widths: dm.Chain.of(x).pad(widths)])
@pytest.mark.parametrize(
    ("widths", "kind", "words"),
    [
        ({2: 1}, np.exceptions.AxisError, ["an axis of pad_width", "2"]),
        ({-3: 1}, np.exceptions.AxisError, ["an axis of pad_width", "-3"]),
        ({1: 1, -1: 1}, ValueError, ["pad_width ({1: 1, -1: 1}) must name an axis once, but names 1 twice"]),
        ({0.5: 1}, TypeError, ["an axis of pad_width", "float"]),
        ({0: 1.5}, TypeError, ["pad_width[0]", "float"]),
        ({0: (1, 2, 3)}, ValueError, ["must be a width, a pair (before, after)"]),
        ({0: -2}, ValueError, ["must hold widths of at least 0, but holds -2"]),
    ],
)
def test_refused_widths_by_axis(step, widths, kind, words, errors_name):
    errors_name(kind, lambda: step(X, widths), *words)


def test_widths_by_axis_where_no_branch_is_left():
    chain = dm.Chain.of(np.zeros((0, 3), "i4")).variadic_split(0, [])
    assert chain.pad({0: 1}).build()(np.zeros((0, 3), "i4")) == ()


def test_widths_by_axis_of_the_branches_that_are_padded():
    x = np.arange(12).reshape(2, 6)
    parts = dm.Chain.of(x).split(1, 2)
    flat = parts.branch(0).flatten().branch(1)  # the other branch has one axis
    for widths in ({-1: 1}, {0: (2, 0)}):
        expected = np.pad(x[:, 3:], [(2, 0), (0, 0)] if 0 in widths else [(0, 0), (1, 1)])
        left, right = flat.pad(widths).build()(x)
        assert_same(left, x[:, :3].ravel())
        assert_same(right, expected)
    deep = parts.branch(1).expand_dims(0)
    assert_same(deep.pad({2: 1}).build()(x)[1], np.pad(x[None, :, 3:], [(0, 0), (0, 0), (1, 1)]))
    assert_same(parts.pad({0: 1}).build()(x)[0], np.pad(x[:, :3], [(1, 1), (0, 0)]))


def test_widths_by_axis_of_branches_of_unlike_dimensions(errors_name):
    unlike = dm.Chain.of(np.zeros((2, 6), "i4")).split(1, 2).branch(0).flatten().branch(None)
    words = "names axes of branches 0 and 1", "1 and 2: branch(i) chooses one"
    errors_name(ValueError, lambda: unlike.pad({-1: 1}), "step 5 (pad): pad_width ({-1: 1})", *words)
    assert [desc.dims for desc in unlike.pad(1).dst_descs] == [(8,), (4, 5)]
    assert unlike.pad({}).dst_descs == unlike.dst_descs


def test_no_axes():
    x = np.array(3, "i4")
    for widths in ((), {}):
        assert_same(dm.pad(x, widths), x)
        assert_same(dm.Chain.of(x).pad(widths).build()(x), x)


def test_widths_beyond_the_axis_go_on():
    for length in (1, 2, 3, 5):
        x = np.arange(length, dtype="i4")
        for mode in ("edge", "reflect", "wrap"):
            for before, after in ((0, 17), (23, 0), (19, 40)):
                assert_same(dm.pad(x, (before, after), mode), np.pad(x, (before, after), mode))
    wide = dm.pad(np.arange(3, dtype="i4"), 10_000_000, "reflect")
    assert wide.shape == (20_000_003,)
    assert (wide[9_999_998:10_000_005] == [2, 1, 0, 1, 2, 1, 0]).all()


@pytest.mark.parametrize("mode", MODES)
def test_many_axes(mode):
    x = np.arange(2**7, dtype="i4").reshape((2,) * 7)
    assert_same(dm.pad(x, 1, mode), np.pad(x, 1, mode))


@pytest.mark.parametrize("mode", MODES)
def test_images_are_one_pass(mode):
    x = some.dense((2, 3, 40, 50), "u1")
    steps = dm.Chain.of(x).pad(((0, 0), (0, 0), (2, 3), (1, 4)), mode).transpose((0, 2, 3, 1)).split(1, 5)
    built = steps.build()
    assert built.passes == 1
    expected = np.pad(x, ((0, 0), (0, 0), (2, 3), (1, 4)), mode).transpose(0, 2, 3, 1)
    for result, wanted in zip(built(x), np.split(expected, 5, 1), strict=True):
        assert_same(result, np.ascontiguousarray(wanted))


def test_several_sources_pads_and_conversion():
    batch = [some.dense((5, 6, 3), "u1", seed=i) for i in range(20)]
    steps = dm.Chain.of(batch).stack().pad(((0, 0), (1, 1), (2, 0), (0, 0)), constant_value=7).transpose((0, 3, 1, 2))
    expected = np.pad(np.stack(batch), ((0, 0), (1, 1), (2, 0), (0, 0)), constant_values=7).transpose(0, 3, 1, 2)
    assert_same(steps.build()(batch), np.ascontiguousarray(expected))
    converted = steps.convert("float32", scale=[0.5, 2.0, 4.0], axis=1).build()
    assert converted.passes == 1
    scaled = expected.astype("f4") * np.array([0.5, 2, 4], "f4").reshape(3, 1, 1)
    assert_same(converted(batch), np.ascontiguousarray(scaled))
    two = (
        dm.Chain.of(batch[0])
        .pad(1, constant_value=3)
        .pad(((1, 0), (0, 0), (0, 0)), constant_value=9)
        .byteswap()
        .build()
    )
    assert_same(
        two(batch[0]), np.pad(np.pad(batch[0], 1, constant_values=3), ((1, 0), (0, 0), (0, 0)), constant_values=9)
    )


def test_another_leading_extent():
    x = some.dense((4, 3), "f4")
    built = dm.Chain.of(x).pad(((0, 0), (1, 2))).build()
    assert_same(built(x[:2]), np.pad(x[:2], ((0, 0), (1, 2))))
    fixed = dm.Chain.of(x).pad(1).build()
    with pytest.raises(ValueError, match=r"step 1, pad.*fixes axis 0"):
        fixed(x[:2])


def test_texts():
    chain = dm.Chain.of(X).pad(((1, 2), (0, 3)), constant_value=5).pad((1, 0), "edge").pad(2)
    text = repr(chain)
    assert ".pad(pad_width=((1, 2), (0, 3)), mode='constant', constant_value=5)" in text
    assert ".pad(pad_width=(1, 0), mode='edge')" in text
    assert ".pad(pad_width=2, mode='constant', constant_value=0)" in text
    assert "a constant -> destination 0" in chain.build().explain()
    assert dm.Chain.of(X).pad(1) != dm.Chain.of(X).pad(1, constant_value=1)
    svg = chain.draw()
    assert "pad" in svg


def test_kinds_of_arrays():
    torch = pytest.importorskip("torch")
    x = torch.arange(6, dtype=torch.float32).reshape(1, 2, 3)
    expected = torch.nn.functional.pad(x, (1, 2), value=0.5)
    assert torch.equal(dm.pad(x, ((0, 0), (0, 0), (1, 2)), constant_value=0.5), expected)
    half = x.to(torch.bfloat16)
    assert torch.equal(
        dm.pad(half, ((0, 0), (0, 0), (1, 2)), "reflect"), torch.nn.functional.pad(half, (1, 2), "reflect")
    )


@pytest.mark.parametrize("pad_width", [1, ((0, 0), (0, 1))])
def test_elements_of_no_bytes(pad_width):
    x = np.zeros((3, 2), "V0")
    assert dm.pad(x, pad_width).shape == np.pad(np.zeros((3, 2)), pad_width).shape


def test_zeros_beside_a_constant_beside_rows():
    """Zeros that no piece of the source touches are no row of it."""
    x = np.arange(700, dtype="u1").reshape(700, 1)
    built = dm.Chain.of(x).pad(((0, 0), (2, 1)), constant_value=5).pad(((0, 0), (1, 3))).roll(3, 1).build()
    expected = np.pad(np.pad(x, ((0, 0), (2, 1)), constant_values=5), ((0, 0), (1, 3)))
    assert_same(built(x), np.roll(expected, 3, 1))

"""The steps that are functions, too (flip to repeat), alone and in chains: NumPy, torch, einops and ONNX are right."""

import os
import pickle
import random

import numpy as np
import oracle
import pytest
import steps
import strategies as some
from chains import blocks, random_source
from hypothesis import given, settings
from hypothesis import strategies as st

import dnnmove as dm

COUNT = {"quick": 1000, "ci": 5000, "full": 50_000}.get(os.environ.get("DNNMOVE_TEST_PROFILE", "ci"), 5000)
NAMES = [step.__name__ for step in steps.ALL]
X = np.arange(2 * 12 * 4 * 6, dtype="f4").reshape(2, 12, 4, 6)


def eager(name, array, keywords, **out):
    return steps.call(
        lambda *arguments, **others: getattr(dm, name)(array, *arguments, **others, **out), name, keywords
    )


def chained(name, array, keywords):
    return steps.call(getattr(dm.Chain.of(array), name), name, keywords)


def expected(array, move):
    return np.ascontiguousarray(move(blocks(array))).view(array.dtype).reshape(move(blocks(array)).shape)


def check(choices, array):
    name, keywords, moves = steps.further_step(choices, array)
    wanted = expected(array, lambda a: moves(a)[0])
    result = eager(name, array, keywords)
    oracle.assert_same(result, wanted)
    oracle.assert_new(result, array)
    if array.itemsize and not any(stride % array.itemsize for stride in array.strides):
        chain = chained(name, array, keywords)
        built = chain.build()
        assert built.passes == 1
        oracle.assert_same(built(array), wanted)
        assert f"step 1 {name}(" in built.explain()
        assert pickle.loads(pickle.dumps(chain)) == chain
    room = np.zeros([2 * n for n in wanted.shape], wanted.dtype)
    out = room[(..., *(slice(None, None, choices.choice([2, -2])) for _ in wanted.shape))]
    assert eager(name, array, keywords, out=out) is out
    assert oracle.raw(out) == oracle.raw(wanted)


def test_random_steps():
    for seed in range(COUNT):
        choices = random.Random(seed)
        check(choices, random_source(choices))


@settings(max_examples=300)
@given(st.randoms(use_true_random=False))
def test_any_step(choices):
    check(choices, random_source(choices))


@given(st.randoms(use_true_random=False), some.arrays(max_dims=5))
def test_any_array(choices, strided):
    check(choices, strided.array)


def test_plans_of_different_arguments_are_kept_apart():
    """Many calls on arrays of few shapes: each finds its own plan in the cache, and later finds it again."""
    arrays = [X, np.arange(24, dtype="u1").reshape(4, 6), np.arange(24, dtype="u1").reshape(6, 4)]
    calls = []
    for seed in range(COUNT // 2):
        choices = random.Random(seed)
        array = choices.choice(arrays)
        name, keywords, moves = steps.further_step(choices, array)
        calls.append((name, array, keywords, moves(array)[0]))
    for _ in range(2):
        for name, array, keywords, wanted in calls:
            assert np.array_equal(eager(name, array, keywords), wanted), (name, keywords)
            exotic = {
                key: np.array(value, int) if isinstance(value, list) else value for key, value in keywords.items()
            }
            exotic = {key: np.int16(value) if type(value) is int else value for key, value in exotic.items()}
            assert np.array_equal(eager(name, array, exotic), wanted), (name, exotic)


def test_arguments_that_could_be_taken_for_others():
    x = np.arange(24).reshape(2, 3, 4)
    same = np.testing.assert_array_equal
    same(dm.roll(x, (1, 2), (0, 1)), np.roll(x, (1, 2), (0, 1)))
    same(dm.roll(x, 1, (2, 0, 1)), np.roll(x, 1, (2, 0, 1)))
    same(dm.flip(x, 1), np.flip(x, 1))
    same(dm.flip(x, (1,)), np.flip(x, (1,)))
    same(dm.flip(x, ()), x)
    same(dm.flip(x, None), np.flip(x))
    same(dm.rearrange(x, "a b c -> c b a"), x.T)
    same(dm.rearrange(x, "a b c -> c b a", a=2), x.T)
    same(dm.repeat(x, "a b c -> a b c d", d=2), np.repeat(x[..., None], 2, 3))
    same(dm.repeat(x, "a b c -> a b c d", d=3), np.repeat(x[..., None], 3, 3))


# What torch, einops and ONNX's words make of the same arguments.
def test_against_torch():
    torch = pytest.importorskip("torch")
    t = torch.from_numpy(X)
    pairs = [
        (dm.unfold(X, 3, 3, 2), t.unfold(3, 3, 2)),
        (dm.unfold(X, -3, 12), t.unfold(-3, 12, 1)),
        (dm.flatten(X), t.flatten()),
        (dm.flatten(X, 1, -2), t.flatten(1, -2)),
        (dm.flatten(np.array(7.0)), torch.tensor(7.0).double().flatten()),
        (dm.unflatten(X, 1, (3, -1)), t.unflatten(1, (3, -1))),
        (dm.pixel_shuffle(X, 2), torch.nn.functional.pixel_shuffle(t, 2)),
        (dm.pixel_unshuffle(X, 2), torch.nn.functional.pixel_unshuffle(t, 2)),
        (dm.pixel_shuffle(X[0], 2), torch.nn.functional.pixel_shuffle(t[0], 2)),
        (dm.pixel_shuffle(X[None, None], 1), torch.nn.functional.pixel_shuffle(t[None, None], 1)),
        (dm.flip(X, (0, 3)), t.flip(0, 3)),
        (dm.roll(X, (5, -1), (1, 2)), t.roll((5, -1), (1, 2))),
        (dm.tile(X, (2, 1, 1, 3)), t.tile(2, 1, 1, 3)),
        (dm.repeat_elements(X, 3, 2), t.repeat_interleave(3, 2)),
        (dm.repeat_elements(X, [1, 0, 2, 5], 2), t.repeat_interleave(torch.tensor([1, 0, 2, 5]), 2)),
        (dm.take(X, [3, 3, 0], 1), t.index_select(1, torch.tensor([3, 3, 0]))),
        (dm.moveaxis(X, (0, 1), (2, 0)), t.movedim((0, 1), (2, 0))),
    ]
    for ours, theirs in pairs:
        np.testing.assert_array_equal(ours, theirs.numpy(), strict=True)


PATTERNS = [
    ("rearrange", "b c h w -> b h w c", {}),
    ("rearrange", "b (k c) h w -> b h w (c k)", {"k": 3}),
    ("rearrange", "b c (h h2) (w w2) -> b (c h2 w2) h w", {"h2": 2, "w2": 3}),
    ("rearrange", "... h w -> w (...) h", {}),
    ("rearrange", "b ... -> b (...)", {}),
    ("rearrange", "b c h w -> 1 b (c h) () w 1", {}),
    ("rearrange", "... -> (...)", {}),
    ("rearrange", "b c ...->... c b", {}),
    ("rearrange", "(b1 b2) c h w->b1 c(h w)b2", {"b2": 2, "c": 12}),
    ("repeat", "b c h w -> b (c r) h w", {"r": 3}),
    ("repeat", "b c h w -> 2 b c h w 3", {}),
    ("repeat", "b c h w -> b (2 c) (h 2) w", {}),
    ("repeat", "... -> ... r", {"r": 2}),
    ("repeat", "b c ... -> (b r) (c ...)", {"r": 2}),
    ("repeat", "b c h w -> b c h w r", {"r": 0}),
]


@pytest.mark.parametrize(("name", "pattern", "lengths"), PATTERNS)
def test_against_einops(name, pattern, lengths):
    einops = pytest.importorskip("einops")
    wanted = getattr(einops, name)(X, pattern, **lengths)
    np.testing.assert_array_equal(getattr(dm, name)(X, pattern, **lengths), wanted, strict=True)
    built = getattr(dm.Chain.of(X), name)(pattern, **lengths).build()
    assert built.passes == 1
    np.testing.assert_array_equal(built(X), wanted, strict=True)


def test_random_patterns_against_einops():
    einops = pytest.importorskip("einops")
    for seed in range(COUNT):
        choices = random.Random(seed)
        shape = random_source(choices).shape
        x = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
        name = choices.choice(["rearrange", "repeat"])
        text, lengths, _ = steps.pattern(choices, x, name == "repeat")
        wanted = getattr(einops, name)(x, text, **lengths)
        np.testing.assert_array_equal(getattr(dm, name)(x, text, **lengths), wanted, strict=True)


def test_kinds_of_arrays():
    torch = pytest.importorskip("torch")
    memory = dm.Memory(dm.MemoryDesc.of(X), buffer=X)
    for name, keywords in [
        ("flip", {"axis": 1}),
        ("take", {"indices": [0, 3, 1, 11, 2, 7, 5, 5, 6], "axis": 1}),
        ("rearrange", {"pattern": "b c h w -> b h w c"}),
    ]:
        wanted = eager(name, X, keywords)
        tensor = eager(name, torch.from_numpy(X), keywords)
        assert isinstance(tensor, torch.Tensor)
        assert np.array_equal(tensor.numpy(), wanted)
        result = eager(name, memory, keywords)
        assert isinstance(result, dm.Memory)
        assert np.array_equal(result.numpy(), wanted)
        lazy = steps.call(getattr(dm.chain(X), name), name, keywords)
        assert lazy.shape == wanted.shape
        assert np.array_equal(lazy.run(), wanted)
    blocked = dm.Memory(dm.MemoryDesc((2, 12, 4, 6), "f4", "nChw4c"))
    with pytest.raises(ValueError, match="blocked layout"):
        dm.flip(blocked)
    with pytest.raises(TypeError, match="data"):
        dm.flip([1, 2])


def test_take_of_many_random_indices_is_one_pass():
    choices = np.random.default_rng(0)
    x = choices.integers(0, 2**15, (300, 50, 7)).astype("u2")
    for axis in range(3):
        indices = choices.integers(-x.shape[axis], x.shape[axis], 1000)
        wanted = np.take(x, indices, axis)
        np.testing.assert_array_equal(dm.take(x, indices, axis), wanted, strict=True)
        for chain, then in [
            (dm.Chain.of(x).take(indices, axis), lambda a: a),
            (dm.Chain.of(x).take(indices, axis).transpose(), lambda a: a.T),
            (dm.Chain.of(x).take(indices, axis).flip(axis), lambda a, axis=axis: np.flip(a, axis)),
            (dm.Chain.of(x).take(indices, axis).flatten(), lambda a: a.ravel()),
        ]:
            built = chain.build()
            assert built.passes == 1
            np.testing.assert_array_equal(built(x), then(wanted), strict=True)


def test_take_after_a_cut_across_a_shuffle():
    """The axis lies in two blocks then; each gets those of the indices that it holds."""
    x = np.arange(116 * 49).reshape(116, 49)
    indices = np.random.default_rng(1).permutation(58)
    built = dm.Chain.of(x).shuffle_channels(0, 4).index(np.s_[7:65]).take(indices, 0).build()
    shuffled = x.reshape(4, 29, 49).swapaxes(0, 1).reshape(116, 49)
    assert built.passes == 1
    np.testing.assert_array_equal(built(x), shuffled[7:65][indices])


def test_windows_of_any_step():
    # What lies beyond the one window that fits says nothing, however far it is.
    x = np.arange(40, dtype="f4").reshape(8, 5)
    for step in (4, 5, 8, 9, 2**40, 2**63 - 1):
        expected = np.lib.stride_tricks.sliding_window_view(x, 4, 0)[::step]
        assert np.array_equal(dm.unfold(x, 0, 4, step), expected)
        assert np.array_equal(dm.Chain.of(x).shuffle(0, 4).shuffle(0, 2).unfold(0, 4, step).build()(x), expected)


def test_windows_of_any_axis_are_one_pass():
    x = np.arange(3 * 60, dtype="i2").reshape(3, 60)
    windows = np.lib.stride_tricks.sliding_window_view
    for chain, wanted in [
        (dm.Chain.of(x).unfold(1, 5), windows(x, 5, 1)),
        (dm.Chain.of(x).flip(1).unfold(1, 7, 3), windows(x[:, ::-1], 7, 1)[:, ::3]),
        (dm.Chain.of(x).flatten().unfold(0, 9, 4), windows(x.ravel(), 9)[::4]),
        (dm.Chain.of(x).roll(7, 1).unfold(1, 3), windows(np.roll(x, 7, 1), 3, 1)),
        (dm.Chain.of(x).unfold(0, 2).unfold(1, 50), windows(windows(x, 2, 0), 50, 1)),
    ]:
        built = chain.build()
        assert built.passes == 1
        np.testing.assert_array_equal(built(x), wanted)


@pytest.mark.parametrize(
    ("kind", "call", "words"),
    [
        (ValueError, lambda f: f("squeeze", 0), ["axis 0", "length 1", "data.shape[0] (2)"]),
        (ValueError, lambda f: f("expand_dims", (0, 0)), ["axis (0, 0)", "twice"]),
        (np.exceptions.AxisError, lambda f: f("expand_dims", 5), ["axis (5)", "[-5, 5)"]),
        (TypeError, lambda f: f("expand_dims", None), ["axis", "NoneType"]),
        (ValueError, lambda f: f("moveaxis", (0, 1), 2), ["source (0, 1)", "destination 2", "2 and 1"]),
        (ValueError, lambda f: f("moveaxis", (0, -4), (1, 2)), ["source (0, -4)", "axis 0 twice"]),
        (np.exceptions.AxisError, lambda f: f("moveaxis", 0, 4), ["destination (4)"]),
        (np.exceptions.AxisError, lambda f: f("swapaxes", 0, -5), ["axis2 (-5)"]),
        (ValueError, lambda f: f("flatten", 2, 1), ["start (2)", "end (1)"]),
        (np.exceptions.AxisError, lambda f: f("flatten", 0, 4), ["end (4)"]),
        (ValueError, lambda f: f("unflatten", 1, (5, 2)), ["sizes (5, 2)", "data.shape[1] (12)", "10"]),
        (ValueError, lambda f: f("unflatten", 1, (-1, -1)), ["sizes (-1, -1)", "twice"]),
        (ValueError, lambda f: f("unflatten", 1, (5, -1)), ["sizes (5, -1)", "12"]),
        (ValueError, lambda f: f("flip", (1, 1)), ["axis (1, 1)", "twice"]),
        (np.exceptions.AxisError, lambda f: f("flip", 4), ["axis (4)", "[-4, 4)"]),
        (TypeError, lambda f: f("flip", 1.0), ["axis", "float"]),
        (TypeError, lambda f: f("flip", True), ["axis", "bool"]),
        (ValueError, lambda f: f("roll", (1, 2), (0, 1, 2)), ["shift (1, 2)", "axis (0, 1, 2)"]),
        (TypeError, lambda f: f("roll", 1.5), ["shift", "float"]),
        (TypeError, lambda f: f("roll", None), ["shift", "NoneType"]),
        (np.exceptions.AxisError, lambda f: f("roll", 1, (0, 7)), ["axis (7)"]),
        (ValueError, lambda f: f("tile", (2, -1)), ["reps (2, -1)", "-1"]),
        (ValueError, lambda f: f("tile", [2] * 65), ["reps (2, 2,", "65 counts", "64 dimensions"]),
        (ValueError, lambda f: f("tile", (2**40, 2**40)), ["63 bits"]),
        (ValueError, lambda f: f("repeat_elements", -1, 0), ["repeats -1"]),
        (ValueError, lambda f: f("repeat_elements", [1, 2, 3], 0), ["repeats", "data.shape[0] (2)", "3"]),
        (TypeError, lambda f: f("repeat_elements", 2, None), ["axis", "NoneType"]),
        (IndexError, lambda f: f("take", [0, 12], 1), ["indices[1] (12)", "[-12, 12)", "data.shape[1] (12)"]),
        (IndexError, lambda f: f("take", [-13], 1), ["indices[0] (-13)"]),
        (TypeError, lambda f: f("take", [1.0], 1), ["indices[0]", "float"]),
        (TypeError, lambda f: f("take", np.array([1.0]), 1), ["indices", "float64"]),
        (TypeError, lambda f: f("take", [True], 1), ["indices[0]", "bool"]),
        (TypeError, lambda f: f("take", np.array([True]), 1), ["indices", "bool"]),
        (ValueError, lambda f: f("take", np.array([[1]]), 1), ["indices", "one-dimensional"]),
        (ValueError, lambda f: f("take", 1, 1), ["indices (1)", "list"]),
        (ValueError, lambda f: f("unfold", 0, 3), ["size (3)", "[1, 2]", "data.shape[0] (2)"]),
        (ValueError, lambda f: f("unfold", 0, 0), ["size (0)"]),
        (ValueError, lambda f: f("unfold", 0, 1, 0), ["step (0)", "at least 1"]),
        (ValueError, lambda f: f("space_to_depth", 4), ["block_size (4)", "data.shape[3] (6)"]),
        (ValueError, lambda f: f("space_to_depth", 0), ["block_size (0)", "at least 1"]),
        (ValueError, lambda f: f("depth_to_space", 3), ["block_size (3)", "data.shape[1] (12)"]),
        (ValueError, lambda f: f("depth_to_space", 2**40), [f"block_size ({2**40})"]),
        (ValueError, lambda f: f("depth_to_space", 2, "RCD"), ["mode ('RCD')", "'DCR'", "'CRD'"]),
        (TypeError, lambda f: f("depth_to_space", 2, None), ["mode", "NoneType"]),
        (ValueError, lambda f: f("pixel_shuffle", 3), ["factor (3)", "data.shape[1] (12)"]),
        (ValueError, lambda f: f("pixel_unshuffle", 3), ["factor (3)", "data.shape[2] (4)"]),
    ],
)
def test_errors(kind, call, words):
    """The eager function's, and the method's: led by the step, and else the same."""

    def raised(function):
        with pytest.raises(kind) as caught:
            call(function)
        return str(caught.value)

    eager_text = raised(lambda name, *arguments: getattr(dm, name)(X, *arguments))
    assert [word for word in words if word not in eager_text] == []
    names = []

    def method(name, *arguments):
        names.append(name)
        return getattr(dm.Chain.of(X), name)(*arguments)

    text = raised(method)
    assert text.startswith(f"step 1 ({names[0]}): ")
    if "63 bits" not in text:
        assert text == f"step 1 ({names[0]}): {eager_text}"


@pytest.mark.parametrize(
    ("name", "pattern", "lengths", "words"),
    [
        ("rearrange", "b c h w", {}, ["'b c h w'", "'->'"]),
        ("rearrange", "b c h w -> b c -> h w", {}, ["position 15", "second '->'"]),
        ("rearrange", "b c h w -> b c h", {}, ["position 6", "'w'", "left only"]),
        ("rearrange", "b c h w -> b c h w d", {}, ["position 19", "'d'", "right only"]),
        ("rearrange", "b c h h -> b c h", {}, ["position 6", "'h'", "twice"]),
        ("rearrange", "b (c h) w -> b c h w", {}, ["position 5", "'h'", "'c'", "h=..."]),
        ("rearrange", "b (c (k)) h w -> b c k h w", {}, ["position 5", "'('", "nested"]),
        ("rearrange", "b (c k h w -> b c k h w", {}, ["position 2", "'('", "not closed"]),
        ("rearrange", "b c) h w -> b c h w", {}, ["position 3", "')'", "closes no"]),
        ("rearrange", "b c h w -> b c .. w", {}, ["position 15", "'.'", "three dots"]),
        ("rearrange", "b ... h ... -> b h", {}, ["position 8", "'...'", "twice"]),
        ("rearrange", "b (... h) w -> b h ... w", {}, ["position 3", "'...'", "parentheses on the left"]),
        ("rearrange", "b c h w -> b c h w ...", {}, ["position 19", "'...'", "right only"]),
        ("rearrange", "b c h w -> b c h w 2", {}, ["position 19", "'2'", "repeat makes"]),
        ("rearrange", "b 12 h w -> b h w", {}, ["position 2", "'12'", "name it"]),
        ("rearrange", "b c* h w -> b c h w", {}, ["position 3", "'*'", "no meaning"]),
        ("rearrange", "b é* h w -> b c h w", {}, ["position 3", "'*'"]),
        ("rearrange", "b\tc h w -> b c h w", {}, ["position 1", "no meaning"]),
        ("rearrange", "b _c h w -> b _c h w", {}, ["position 2", "'_c'", "underscore"]),
        ("rearrange", "b 2c h w -> b 2c h w", {}, ["position 2", "'2c'", "digit"]),
        ("rearrange", "b 0 h w -> b 0 h w", {}, ["position 2", "'0'", "at least 1"]),
        ("rearrange", f"b {10**30} h w -> b h w", {}, ["position 2", "64 bits"]),
        ("rearrange", "b c h w -> b c h w", {"d": 3}, ["d (3)", "no axis", "'b c h w -> b c h w'"]),
        ("rearrange", "b c h w -> b c h w", {"c": 3}, ["'c' stands for data.shape[1] (12)", "c=3"]),
        ("rearrange", "b (c k) h w -> b c k h w", {"k": 5}, ["'(c k)' stands for data.shape[1] (12)", "k=5"]),
        ("rearrange", "b (c k) h w -> b c k h w", {"k": 0}, ["(12)", "k=0"]),
        ("rearrange", "b (c k) h w -> b c k h w", {"c": 5, "k": 2}, ["(12)", "c=5, k=2"]),
        ("rearrange", "b (c k) h w -> b c k h w", {"k": -2}, ["k (-2)", "at least 0"]),
        ("rearrange", "b 1 h w -> b h w", {}, ["'1' stands for data.shape[1] (12), not 1"]),
        ("rearrange", "b h w -> b h w", {}, ["3 dimensions", "(2, 12, 4, 6)"]),
        ("rearrange", "a b c d e ... -> a b c d e ...", {}, ["at least 5 dimensions", "(2, 12, 4, 6)"]),
        ("repeat", "b c h w -> b c h w r", {}, ["position 19", "'r'", "r=..."]),
        ("repeat", "b c h w -> b c h", {}, ["position 6", "'w'", "left only"]),
        ("repeat", "b 12 h w -> b 12 h w", {}, ["position 2", "'12'", "name it"]),
        ("repeat", "b c h w -> b c h w r", {"r": -1}, ["r (-1)", "at least 0"]),
    ],
)
def test_errors_of_patterns_point_into_them(name, pattern, lengths, words):
    with pytest.raises(ValueError, match="pattern") as caught:
        getattr(dm, name)(X, pattern, **lengths)
    text = str(caught.value)
    assert [word for word in [repr(pattern), *words] if word not in text] == []
    with pytest.raises(ValueError, match=rf"^step 1 \({name}\): ") as step:
        getattr(dm.Chain.of(X), name)(pattern, **lengths)
    assert str(step.value) == f"step 1 ({name}): {text}"


def test_einops_refuses_these_patterns_too():
    einops = pytest.importorskip("einops")
    for pattern in ["b c h w -> b c h", "b (c h) w -> b c h w", "b c h h -> b c h", "b c h w -> b c h w 2"]:
        with pytest.raises(einops.EinopsError):
            einops.rearrange(X, pattern)


def test_how_patterns_are_called():
    same = np.testing.assert_array_equal
    same(dm.rearrange(X, "b c h w -> b h w c", out=None), X.transpose(0, 2, 3, 1))
    for call in (
        lambda: dm.rearrange(X),
        lambda: dm.rearrange(pattern="b c h w -> b h w c", data=X),
        lambda: dm.rearrange(X, "b c h w -> b h w c", X),
        lambda: dm.Chain.of(X).rearrange(),
        lambda: dm.Chain.of(X).rearrange(pattern="b c h w -> b h w c"),
        lambda: dm.repeat(),
    ):
        with pytest.raises(TypeError, match="positional"):
            call()
    with pytest.raises(TypeError, match="pattern must be a str, not list"):
        dm.rearrange(X, ["b c h w -> b h w c"])
    for length in (2.0, True, "2", None):
        with pytest.raises(TypeError, match="k must be an integer"):
            dm.rearrange(X, "b (c k) h w -> b c k h w", k=length)
    # Names that are parameters elsewhere are names like others; only out is taken.
    same(dm.rearrange(X, "data (pattern self) h w -> data pattern self h w", self=3), X.reshape(2, 4, 3, 4, 6))
    with pytest.raises(TypeError, match="out"):
        dm.rearrange(X, "b (c out) h w -> b c out h w", out=3)
    with pytest.raises(TypeError, match="out is no name of an axis"):
        dm.Chain.of(X).rearrange("b (c out) h w -> b c out h w", out=3)


def test_many_axes_roll_in_one_pass():
    """Two blocks per axis would be 512."""
    x = np.arange(3**9).reshape((3,) * 9)
    built = dm.Chain.of(x).roll(1, range(9)).build()
    assert built.passes == 1
    np.testing.assert_array_equal(built(x), np.roll(x, 1, range(9)))
    np.testing.assert_array_equal(dm.roll(x, 1, range(9)), np.roll(x, 1, range(9)))


def test_out_is_checked():
    wanted = np.flip(X, 1)
    with pytest.raises(ValueError, match=r"out\.shape \(2, 12, 4\) must equal the result's, \(2, 12, 4, 6\)"):
        dm.flip(X, 1, out=np.zeros((2, 12, 4), "f4"))
    with pytest.raises(TypeError, match=r"out\.dtype"):
        dm.flip(X, 1, out=np.zeros(X.shape, "f8"))
    with pytest.raises(ValueError, match="shares memory"):
        dm.flip(X, 1, out=X)
    with pytest.raises(ValueError, match="share memory"):
        dm.flip(X, 1, out=np.lib.stride_tricks.as_strided(np.zeros(6, "f4"), X.shape, (0, 0, 0, 4)))
    locked = np.zeros_like(X)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        dm.flip(X, 1, out=locked)
    out = np.zeros_like(X)
    assert dm.flip(X, 1, out=out) is out
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("name", NAMES)
def test_chain_method_and_eager_function_are_documented_alike(name):
    method, function = getattr(dm.Chain, name), getattr(dm, name)
    assert method.__name__ == function.__name__ == name
    summary = function.__doc__.splitlines()[0]
    assert method.__doc__.splitlines()[0] == f"Add a step: {summary[0].lower()}{summary[1:]}"
    assert ">>> dm." in function.__doc__


def test_profiles_name_the_step():
    with dm.profile() as p:
        dm.flip(X, (0, 1))
        dm.rearrange(X, "b c h w -> b h w c")
    assert [record["name"] for record in p.records] == ["flip", "rearrange"]


def test_an_object_without_init_is_refused():
    for call in (lambda c: c.flip(), lambda c: c.rearrange("a -> a"), lambda c: c.transpose()):
        with pytest.raises(TypeError, match="not initialized"):
            call(dm.Chain.__new__(dm.Chain))


def test_chains_of_what_no_machine_holds_are_planned_and_explained():
    chain = dm.Chain(dm.MemoryDesc((2**30, 2**30), "i4"))
    assert chain.transpose().build().explain()
    assert chain.split(0, 2).broadcast((2, 2**29, 2**30)).build().explain()
    empty = dm.MemoryDesc((2**32, 0), "i4", (2**60, 1))
    assert dm.Chain(empty).transpose().build()(np.empty((2**32, 0), "i4")).shape == (0, 2**32)
    several = dm.MemoryDesc((2**36, 2**32, 0), "i4")
    assert dm.Transpose.Desc(several).dst_desc.dims == (0, 2**32, 2**36)
    assert dm.ShuffleChannels.Desc(several, axis=0, group=2).dst_desc == several


def test_every_nth_across_a_shuffle_is_found_without_a_search():
    # As many steps as elements would take the build of this chain some minutes.
    chain = dm.Chain(dm.MemoryDesc((2**36,), "u1")).shuffle_channels(0, 2)
    assert chain.unfold(0, 7, 2**31).build().passes == 1
    x = np.arange(2**12, dtype="u2")
    for step in (2, 3, 2**7, 100, 2**11):
        for group in (2, 2**5, 2**11):
            steps = dm.Chain.of(x).shuffle_channels(0, group).unfold(0, 7, step)
            shuffled = x.reshape(group, -1).T.reshape(-1)
            assert np.array_equal(steps.build()(x), np.lib.stride_tricks.sliding_window_view(shuffled, 7)[::step])


def test_none_is_refused_where_a_default_is_planned_already():
    x, images = np.zeros((2, 3, 4), "f4"), np.zeros((1, 4, 2, 2), "f4")
    for call, argument in (
        (lambda *more: dm.flatten(x, *more), "start"),
        (lambda *more: dm.unfold(x, 0, 2, *more), "step"),
        (lambda *more: dm.depth_to_space(images, 2, *more), "mode"),
    ):
        call()
        for _ in range(2):
            with pytest.raises(TypeError, match=f"{argument}.*NoneType"):
                call(None)

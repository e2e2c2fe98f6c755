"""Built chains called with another leading extent: what they give, when they refuse, threads and forks."""

import os
import random
import threading

import numpy as np
import pytest
from chains import blocks, random_chain

import dnnmove as dm

COUNT = {"quick": 300, "ci": 1500, "full": 20_000}.get(os.environ.get("DNNMOVE_TEST_PROFILE", "ci"), 1500)


def data(*shape, dtype="f4"):
    return np.random.default_rng(sum(shape)).integers(0, 2**15, shape).astype(dtype)


# name: steps that leave the leading extent open, what NumPy makes of them
OPEN = {
    "nothing": (lambda c: c, lambda x: x),
    "shuffle of another axis": (
        lambda c: c.shuffle_channels(1, 2),
        lambda x: x.reshape(-1, 2, 4, 6).swapaxes(1, 2).reshape(-1, 8, 6),
    ),
    "split of another axis": (lambda c: c.split(1, 2), lambda x: np.split(x, 2, 1)),
    "branches of another axis": (
        lambda c: c.split(1, 2).branch(1).transpose().branch(None).index(np.s_[..., 0:]),
        lambda x: [x[:, :4], x[:, 4:].T],
    ),
    "transpose": (
        lambda c: c.transpose().shuffle(0, 3),
        lambda x: x.T.reshape(2, 3, 8, -1).swapaxes(0, 1).reshape(x.T.shape),
    ),
    "reshape with -1": (lambda c: c.reshape((-1, 4, 12)), lambda x: x.reshape(-1, 4, 12)),
    "reshape that merges": (lambda c: c.reshape((-1, 6)).index(np.s_[:, 1]), lambda x: x.reshape(-1, 6)[:, 1]),
    "reshape to one axis": (lambda c: c.reshape([-1]), lambda x: x.ravel()),
    "reshape with a new axis": (lambda c: c.reshape((1, -1, 48)), lambda x: x.reshape(1, -1, 48)),
    "reshape behind another axis": (
        lambda c: c.transpose((1, 0, 2)).reshape((4, -1, 3)).transpose((1, 0, 2)),
        lambda x: x.transpose(1, 0, 2).reshape(4, -1, 3).transpose(1, 0, 2),
    ),
    "index of other axes": (
        lambda c: c.index(np.s_[:, ::-2, None, 1]).index(np.s_[...]),
        lambda x: x[:, ::-2, None, 1],
    ),
    "broadcast of other axes": (
        lambda c: c.index(np.s_[:, :1]).broadcast((5, 1), mode="bidirectional"),
        lambda x: np.broadcast_to(x[:, :1], (len(x), 5, 6)),
    ),
    "squeeze and expand_dims": (
        lambda c: c.expand_dims((0, 3)).squeeze(-2).squeeze(0).expand_dims(1).squeeze((1,)),
        lambda x: x,
    ),
    "moveaxis and swapaxes": (
        lambda c: c.moveaxis(0, -1).swapaxes(0, 1).index(np.s_[1:]),
        lambda x: x.transpose(2, 1, 0)[1:],
    ),
    "flatten": (lambda c: c.flatten(), lambda x: x.ravel()),
    "flatten of other axes": (lambda c: c.flatten(1), lambda x: x.reshape(-1, 48)),
    "flatten behind, unflatten before": (
        lambda c: c.swapaxes(0, 1).flatten(0, 1).unflatten(0, (8, -1)).swapaxes(0, 1),
        lambda x: x,
    ),
    "unflatten of axis 0": (lambda c: c.flatten(0, 1).unflatten(0, (-1, 4)), lambda x: x.reshape(-1, 4, 6)),
    "flip": (lambda c: c.flip((0, 2)), lambda x: x[::-1, :, ::-1]),
    "roll of another axis": (lambda c: c.roll((1, -2), (1, 2)), lambda x: np.roll(x, (1, -2), (1, 2))),
    "tile": (lambda c: c.tile((3, 1, 2)).tile((2, 1, 1, 1)), lambda x: np.tile(np.tile(x, (3, 1, 2)), (2, 1, 1, 1))),
    "repeat_elements": (
        lambda c: c.repeat_elements(2, 0).repeat_elements(range(8), 1),
        lambda x: np.repeat(np.repeat(x, 2, 0), range(8), 1),
    ),
    "take of another axis": (lambda c: c.take([5, 0, 0, 3], 2), lambda x: x[:, :, [5, 0, 0, 3]]),
    "unfold of another axis": (
        lambda c: c.unfold(1, 3, 2),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, 1)[:, ::2],
    ),
    "blocks": (
        lambda c: c.unflatten(1, (2, 4)).space_to_depth(2).depth_to_space(2).pixel_unshuffle(2).pixel_shuffle(2),
        lambda x: x.reshape(-1, 2, 4, 6),
    ),
    "rearrange": (
        lambda c: c.rearrange("b (c d) e -> d (b e) c", d=2),
        lambda x: x.reshape(-1, 4, 2, 6).transpose(2, 0, 3, 1).reshape(2, -1, 4),
    ),
    "rearrange of what is left": (
        lambda c: c.rearrange("... a b -> (a b) ...").rearrange("a (b c) -> b c a", c=1),
        lambda x: x.reshape(-1, 48)[:, None],
    ),
    "repeat": (
        lambda c: c.repeat("b ... -> (r b) ... 2", r=3),
        lambda x: np.repeat(np.tile(x, (3, 1, 1))[..., None], 2, 3),
    ),
    "broadcast to a new axis": (
        lambda c: c.broadcast((2, 1, 1, 1), mode="bidirectional"),
        lambda x: np.broadcast_to(x, (2, *x.shape)),
    ),
}


def same(results, expected):
    if not isinstance(expected, list):
        results, expected = [results], [expected]
    return all(np.array_equal(a, b) and a.shape == b.shape for a, b in zip(results, expected, strict=True))


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("max_nests", [1, 64])
def test_another_leading_extent(name, max_nests):
    steps, expected = OPEN[name]
    built = steps(dm.Chain.of(data(4, 8, 6))).build(max_nests=max_nests)
    for extent in (4, 3, 9, 1, 0, 3):
        x = data(extent, 8, 6)
        assert same(built(x), expected(x)), extent


# The step that fixes the leading extent, and its number.
FIXED = {
    "shuffle": (1, lambda c: c.shuffle(0, 2)),
    "shuffle_channels": (1, lambda c: c.shuffle_channels(0, 4)),
    "variadic_split": (1, lambda c: c.variadic_split(0, [1, -1])),
    "split": (2, lambda c: c.transpose().split(-1, 2)),
    "index(np.s_[1:])": (1, lambda c: c.index(np.s_[1:])),
    "index(np.s_[:4])": (1, lambda c: c.index(np.s_[:4])),
    "index(np.s_[::-1])": (1, lambda c: c.index(np.s_[::-1])),
    "index(np.s_[..., 0, :, :])": (1, lambda c: c.index(np.s_[..., 0, :, :])),
    "reshape(shape=(4, 48))": (1, lambda c: c.reshape((4, 48))),
    "reshape(shape=(4, -1))": (1, lambda c: c.reshape((4, -1))),
    "reshape(shape=(8, 4, -1))": (2, lambda c: c.transpose((1, 0, 2)).reshape((8, 4, -1))),
    "reshape(shape=(-1, 64))": (3, lambda c: c.transpose((1, 0, 2)).index(np.s_[:, :, :2]).reshape((-1, 64))),
    "broadcast": (1, lambda c: c.broadcast((2, 4, 8, 6))),
    "broadcast(target_shape=(4, 8, 6), axes_mapping": (
        1,
        lambda c: c.broadcast((4, 8, 6), axes_mapping=(0, 1, 2), mode="explicit"),
    ),
    "broadcast(target_shape=(4, 1, 1)": (1, lambda c: c.broadcast((4, 1, 1), mode="bidirectional")),
    "shuffle(axis=0": (3, lambda c: c.reshape((-1, 6)).index(np.s_[:, ::2]).shuffle(0, 8)),
    "squeeze(axis=None)": (1, lambda c: c.squeeze()),
    "unflatten(axis=0, sizes=(2, -1))": (1, lambda c: c.unflatten(0, (2, -1))),
    "unflatten(axis=0, sizes=(2, 2))": (1, lambda c: c.unflatten(0, (2, 2))),
    "unflatten(axis=0, sizes=(4, -1))": (3, lambda c: c.flip(0).flip(1).unflatten(0, (4, -1))),
    "roll(shift=1, axis=None)": (1, lambda c: c.roll(1)),
    "roll(shift=0, axis=(1, -3))": (1, lambda c: c.roll(0, (1, -3))),
    "take(indices=(0, 1), axis=0)": (1, lambda c: c.take([0, 1], 0)),
    "repeat_elements(repeats=(1, 2, 3, 4), axis=0)": (1, lambda c: c.repeat_elements([1, 2, 3, 4], 0)),
    "unfold(axis=0, size=1, step=1)": (1, lambda c: c.unfold(0, 1)),
    "rearrange('b c d -> c b d', b=4)": (1, lambda c: c.rearrange("b c d -> c b d", b=4)),
    "rearrange('(a b) c d -> a b c d', a=2)": (1, lambda c: c.rearrange("(a b) c d -> a b c d", a=2)),
    "split(axis=0": (3, lambda c: c.split(1, 2).branch(1).split(0, 4)),
}


@pytest.mark.parametrize("name", FIXED)
def test_a_step_that_fixes_the_extent_is_named(name):
    number, steps = FIXED[name]
    built = steps(dm.Chain.of(data(4, 8, 6))).build()
    built(data(4, 8, 6))
    for extent in (2, 8, 0):
        with pytest.raises(ValueError, match=r"x\.shape\[0\]") as caught:
            built(data(extent, 8, 6))
        for words in (f"is {extent}, ", "built for 4", f"step {number}, {name}", "fixes axis 0", f"({extent}, 8, 6)"):
            assert words in str(caught.value)


def test_a_1_before_the_open_length_may_name_an_extent_of_1():
    built = dm.Chain.of(data(1, 8, 6)).reshape((1, -1)).build()
    with pytest.raises(ValueError, match=r"step 1, reshape\(shape=\(1, -1\)\), fixes axis 0"):
        built(data(2, 8, 6))


def test_an_extent_that_a_reshape_cannot_divide():
    built = dm.Chain.of(data(4, 8, 6)).reshape((-1, 96)).build()
    assert same(built(data(6, 8, 6)), data(6, 8, 6).reshape(-1, 96))
    with pytest.raises(ValueError, match=r"x\.shape\[0\] is 3, .*step 1 \(reshape\): .*144"):
        built(data(3, 8, 6))


class Recorder:
    """A chain that remembers its steps, to take them again from another array."""

    def __init__(self, chain, calls=()):
        self.chain, self.calls = chain, calls

    def __getattr__(self, name):
        def call(*arguments, **keywords):
            made = getattr(self.chain, name)(*arguments, **keywords)
            return Recorder(made, (*self.calls, (name, arguments, keywords)))

        return call

    def again(self, array):
        chain = dm.Chain.of(array)
        for name, arguments, keywords in self.calls:
            chain = getattr(chain, name)(*arguments, **keywords)
        return chain


def answer(built, x):
    """What a call gives, and the message of its error."""
    try:
        return built(x), ""
    except ValueError as error:
        return None, str(error)


def test_a_random_chain_gives_what_one_built_for_the_extent_gives():
    taken = 0
    for seed in range(COUNT):
        choices = random.Random(seed)
        source, recorder, _, _ = random_chain(choices, lambda array: Recorder(dm.Chain.of(array)))
        if source.ndim == 0:
            continue
        source = np.ascontiguousarray(source)
        x = np.tile(source, (3, *(1,) * (source.ndim - 1)))[: choices.randint(0, 3 * len(source))]
        built = recorder.again(source).build()
        results, error = answer(built, x)
        if error:
            assert "fixes axis 0" in error or "do not fit" in error, error
            continue
        taken += len(x) != len(source)
        wanted = recorder.again(x).build()(x)
        if not isinstance(wanted, tuple):
            results, wanted = [results], [wanted]
        for a, b in zip(results, wanted, strict=True):
            assert a.shape == b.shape
            assert blocks(a).tobytes() == blocks(b).tobytes()
    assert taken > COUNT / 20


def test_out_and_execute_follow_the_extent():
    built = dm.Chain.of(data(4, 8, 6)).split(1, 2).build()
    x = data(3, 8, 6)
    outs = [np.zeros((3, 6, 4), "f4").swapaxes(1, 2) for _ in range(2)]
    assert built(x, out=outs)[0] is outs[0]
    assert same(outs, np.split(x, 2, 1))
    with pytest.raises(ValueError, match=r"out\[1\]\.shape \(4, 4, 6\) must equal the result's, \(3, 4, 6\)"):
        built(x, out=[outs[0], np.zeros((4, 4, 6), "f4")])
    source = dm.Memory(dm.MemoryDesc.of(x), buffer=x)
    parts = [dm.Memory(dm.MemoryDesc((3, 4, 6), "f4")) for _ in range(2)]
    built.execute(dm.Stream(), {dm.ARG_SRC: source, dm.ARG_MULTIPLE_DST: parts[0], dm.ARG_MULTIPLE_DST + 1: parts[1]})
    assert same([part.numpy() for part in parts], np.split(x, 2, 1))
    assert all(isinstance(part, dm.Memory) and part.desc.dims == (3, 4, 6) for part in built(source))
    with pytest.raises(ValueError, match=r"dst\[0\].*shape \(4, 4, 6\)"):
        built.execute(
            None,
            {dm.ARG_SRC: source, dm.ARG_MULTIPLE_DST: np.zeros((4, 4, 6), "f4"), dm.ARG_MULTIPLE_DST + 1: parts[1]},
        )
    with pytest.raises(ValueError, match="args lacks src"):
        built.execute(None, {})


def test_layouts_that_the_extent_moves():
    """In a layout whose batch is not the slowest axis, the slower strides follow the extent, or stay."""
    whole = np.asfortranarray(data(4, 8, 6))
    built = dm.Chain.of(whole).transpose().build()
    assert same(built(whole[:3]), whole[:3].T)
    assert same(built(np.asfortranarray(data(5, 8, 6))), data(5, 8, 6).T)
    with pytest.raises(ValueError, match=r"x\.strides\[0\] is 48 elements, .* built for 1 element"):
        built(data(3, 8, 6))
    single = dm.Chain.of(data(1, 8, 6)[:, :, ::-1]).build()
    x = data(5, 8, 6)[::2, :, ::-1]
    assert same(single(x), x)
    pitched = data(4, 8, 10)[:, :, :6]
    built = dm.Chain.of(pitched).build()
    assert same(built(data(7, 8, 10)[:, :, :6]), data(7, 8, 10)[:, :, :6])


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (data(4, 8), ["x has 2 dimensions, (4, 8)", "built for (4, 8, 6)", "build a chain"]),
        (data(4, 7, 6), ["x.shape[1] is 7", "(4, 7, 6)", "built for (4, 8, 6)", "build a chain"]),
        (data(3, 8, 5), ["x.shape[2] is 5", "(3, 8, 5)", "built for (4, 8, 6)"]),
        (data(4, 8, 6, dtype="f8"), ["x has dtype float64", "built for float32", "build a chain"]),
        (data(4, 6, 8).swapaxes(1, 2), ["x.strides[1] is 1 element,", "built for 6 elements", "ascontiguousarray"]),
        (data(4, 8, 6)[:, :, ::-1], ["x.strides[2] is -1 elements", "built for 1 element:", "Chain.of"]),
        (data(3, 8, 12)[:, :, :6], ["x.strides[0] is 96 elements", "built for 48 elements"]),
        (np.zeros((4, 8, 6), "u1,f4")["f1"], ["x.strides[0] is 60 elements", "built for 48 elements"]),
        (np.zeros((4, 8, 7), "u1,f4")["f1"][:, :, :6], ["x.strides[0] is 70 elements"]),
        (np.zeros((4, 8, 7), "V1,f4")["f1"][:, :, 1:], ["x.strides[0] is 70 elements"]),
        (np.zeros((4, 9, 6), "V1,f4")["f1"][:, 1:], ["x.strides[0] is no whole number of elements"]),
    ],
)
def test_errors_say_which_dimension_differs_in_elements(x, words):
    with pytest.raises(ValueError, match="chain was built for") as caught:
        dm.Chain.of(data(4, 8, 6)).build()(x)
    assert [word for word in words if word not in str(caught.value)] == []
    assert "byte" not in str(caught.value)


def test_copying_is_no_way_out_of_a_layout_that_is_not_contiguous():
    built = dm.Chain.of(data(4, 8, 6).transpose()).build()
    with pytest.raises(ValueError, match=r"build a chain for that layout \(Chain\.of\)$"):
        built(data(6, 8, 4))


def test_a_copy_is_the_way_out_of_strides_that_are_no_whole_elements():
    # Chain.of refuses such an array: it is no way out here.
    packed = np.zeros((4, 8, 6), "V1,f4")["f1"]
    with pytest.raises(ValueError, match=r": pass a copy \(np\.ascontiguousarray\)$"):
        dm.Chain.of(data(4, 8, 6)).build()(packed)
    with pytest.raises(ValueError, match=r": build a chain for np\.ascontiguousarray\(x\)$"):
        dm.Chain.of(data(6, 8, 4).transpose()).build()(packed)


def test_more_extents_than_are_kept():
    built = dm.Chain.of(data(4, 8, 6)).transpose().build()
    for extent in [*range(1, 60), 1]:
        assert same(built(data(extent, 8, 6)), data(extent, 8, 6).T)


def test_many_threads_with_many_extents():
    built = dm.Chain.of(data(4, 8, 6)).shuffle(1, 2).transpose().build()
    inputs = [data(extent, 8, 6) for extent in range(1, 33)]
    expected = [x.reshape(-1, 4, 2, 6).swapaxes(1, 2).reshape(-1, 8, 6).T for x in inputs]
    wrong = []
    start = threading.Barrier(8)

    def work(seed):
        order = random.Random(seed).choices(range(len(inputs)), k=400)
        start.wait()
        wrong.extend(i for i in order if not np.array_equal(built(inputs[i]), expected[i]))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_plans_other_extents_while_threads_of_the_parent_do():
    built = dm.Chain.of(data(4, 8, 6)).transpose().build()
    done = threading.Event()

    def work():
        extent = 0
        while not done.is_set():
            extent = extent % 40 + 1
            built(data(extent, 8, 6))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    code = 0 if all(same(built(data(n, 8, 6)), data(n, 8, 6).T) for n in (3, 41, 3)) else 2
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_chains_start_from_whole_elements_only():
    field = np.zeros((3, 4), np.dtype([("a", "u1"), ("b", "f4")]))["b"]
    for start in (dm.Chain.of, dm.chain):
        with pytest.raises(ValueError, match=r"array\.strides\[1\] \(5 bytes\)") as caught:
            start(field)
        assert "elements of 4 bytes" in str(caught.value)
        assert "np.ascontiguousarray(array)" in str(caught.value)
    one = field[:1, :1]
    assert repr(dm.Chain.of(one)) == "Chain(MemoryDesc((1, 1), 'float32'))"
    assert repr(dm.Chain.of(field[:0])) == "Chain(MemoryDesc((0, 4), 'float32'))"
    nothing = np.lib.stride_tricks.as_strided(np.empty((3, 4), np.dtype([])), strides=(3, 1))
    assert dm.Chain.of(nothing).transpose().build()(nothing).shape == (4, 3)

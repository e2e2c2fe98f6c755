"""How often the data of known chains crosses memory, with their results."""

import numpy as np
import pytest

import dnnmove as dm


def data(*shape, dtype="f4"):
    return np.random.default_rng(len(shape)).integers(0, 2**15, shape).astype(dtype)


def shuffled(x, axis, groups):
    shape = x.shape
    return (
        x.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
        .swapaxes(axis, axis + 1)
        .reshape(shape)
    )


N, C, H, W = 2, 12, 6, 10
B, S, HEADS, D = 2, 9, 4, 8
X = data(N, C, H, W)
LAST = data(N, H, W, C, dtype="u1")
QKV = data(B, S, 3 * HEADS * D)

# name, source, chain, what NumPy makes of it
ONE_PASS = {
    "shuffle_channels + split": (
        X,
        lambda c: c.shuffle_channels(axis=1, group=2).split(axis=1, num_splits=2),
        lambda x: np.split(shuffled(x, 1, 2), 2, 1),
    ),
    "shuffle_channels + split, channels last": (
        LAST,
        lambda c: c.shuffle_channels(axis=3, group=3).variadic_split(axis=3, split_lengths=[6, 6]),
        lambda x: np.split(shuffled(x, 3, 3), 2, 3),
    ),
    "shuffle_channels + a split across its digits": (
        X,
        lambda c: c.shuffle_channels(axis=1, group=3).variadic_split(axis=1, split_lengths=[1, 4, 7]),
        lambda x: np.split(shuffled(x, 1, 3), [1, 5], 1),
    ),
    "shuffle + transpose": (
        X,
        lambda c: c.shuffle(axis=1, group_size=3).transpose((0, 2, 3, 1)),
        lambda x: shuffled(x, 1, C // 3).transpose(0, 2, 3, 1),
    ),
    "split + transpose": (
        X,
        lambda c: c.split(axis=1, num_splits=3).transpose((0, 2, 3, 1)),
        lambda x: [part.transpose(0, 2, 3, 1) for part in np.split(x, 3, 1)],
    ),
    "broadcast + transpose": (
        data(C, 1, 1),
        lambda c: c.broadcast((N, C, H, W)).transpose((0, 2, 3, 1)),
        lambda x: np.broadcast_to(x, (N, C, H, W)).transpose(0, 2, 3, 1),
    ),
    "transpose + transpose": (
        X,
        lambda c: c.transpose((1, 2, 0, 3)).transpose((3, 0, 2, 1)),
        lambda x: x.transpose(1, 2, 0, 3).transpose(3, 0, 2, 1),
    ),
    "the unit of ShuffleNet v2, to channels last": (
        X,
        lambda c: c.shuffle_channels(axis=1, group=2).split(axis=1, num_splits=2).transpose((0, 2, 3, 1)),
        lambda x: [part.transpose(0, 2, 3, 1) for part in np.split(shuffled(x, 1, 2), 2, 1)],
    ),
    "attention heads": (
        QKV,
        lambda c: c.reshape((B, S, 3, HEADS, D)).transpose((2, 0, 3, 1, 4)).split(0, 3).reshape((B, HEADS, S, D)),
        lambda x: list(x.reshape(B, S, 3, HEADS, D).transpose(2, 0, 3, 1, 4)),
    ),
    "attention heads, split first": (
        QKV,
        lambda c: c.split(2, 3).reshape((B, S, HEADS, D)).transpose((0, 2, 1, 3)),
        lambda x: [part.reshape(B, S, HEADS, D).transpose(0, 2, 1, 3) for part in np.split(x, 3, 2)],
    ),
    "PixelShuffle": (
        X,
        lambda c: c.reshape((N, C // 4, 2, 2, H, W)).transpose((0, 1, 4, 2, 5, 3)).reshape((N, C // 4, 2 * H, 2 * W)),
        lambda x: x.reshape(N, C // 4, 2, 2, H, W).transpose(0, 1, 4, 2, 5, 3).reshape(N, C // 4, 2 * H, 2 * W),
    ),
    "DepthToSpace, DCR": (
        X,
        lambda c: c.reshape((N, 2, 2, C // 4, H, W)).transpose((0, 3, 4, 1, 5, 2)).reshape((N, C // 4, 2 * H, 2 * W)),
        lambda x: x.reshape(N, 2, 2, C // 4, H, W).transpose(0, 3, 4, 1, 5, 2).reshape(N, C // 4, 2 * H, 2 * W),
    ),
    "DepthToSpace, CRD": (
        X,
        lambda c: c.reshape((N, C // 4, 2, 2, H, W)).transpose((0, 1, 4, 2, 5, 3)).reshape((N, C // 4, 2 * H, -1)),
        lambda x: x.reshape(N, C // 4, 2, 2, H, W).transpose(0, 1, 4, 2, 5, 3).reshape(N, C // 4, 2 * H, 2 * W),
    ),
    "SpaceToDepth": (
        X,
        lambda c: (
            c.reshape((N, C, H // 2, 2, W // 2, 2)).transpose((0, 3, 5, 1, 2, 4)).reshape((N, 4 * C, H // 2, W // 2))
        ),
        lambda x: x.reshape(N, C, H // 2, 2, W // 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(N, 4 * C, H // 2, W // 2),
    ),
    "Tile": (
        X,
        lambda c: (
            c.reshape((1, N, 1, C, 1, H, 1, W)).broadcast((2, N, 3, C, 1, H, 4, W)).reshape((2 * N, 3 * C, H, 4 * W))
        ),
        lambda x: np.tile(x, (2, 3, 1, 4)),
    ),
    "Tile + shuffle + crop": (
        data(C, 1),
        lambda c: c.broadcast((C, 4)).reshape((4 * C,)).shuffle(0, 6).index(np.s_[5:40]),
        lambda x: np.repeat(x[:, 0], 4).reshape(-1, 6).T.ravel()[5:40],
    ),
    "image to planes, BGR to RGB": (
        data(N, H, W, 3, dtype="u1"),
        lambda c: c.index(np.s_[..., ::-1]).transpose((0, 3, 1, 2)),
        lambda x: x[..., ::-1].transpose(0, 3, 1, 2),
    ),
    "crop + flip + every other pixel": (
        LAST,
        lambda c: c.index(np.s_[:, 1:-1, ::-1]).index(np.s_[:, ::2, 1::3]).transpose((0, 3, 1, 2)),
        lambda x: x[:, 1:-1, ::-1][:, ::2, 1::3].transpose(0, 3, 1, 2),
    ),
    "two shuffles that share no digits": (
        data(36, 5),
        lambda c: c.shuffle(0, 4).shuffle(0, 9).shuffle(0, 6),
        lambda x: (
            x.reshape(9, 4, 5)
            .swapaxes(0, 1)
            .reshape(4, 9, 5)
            .swapaxes(0, 1)
            .reshape(6, 6, 5)
            .swapaxes(0, 1)
            .reshape(36, 5)
        ),
    ),
}


@pytest.mark.parametrize("name", ONE_PASS)
def test_one_pass(name):
    source, steps, expected = ONE_PASS[name]
    built = steps(dm.Chain(dm.MemoryDesc.of(source))).build()
    assert built.passes == 1
    results, wanted = built(source), expected(source)
    if isinstance(wanted, np.ndarray):
        results, wanted = [results], [wanted]
    assert len(results) == len(wanted)
    for result, array in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(result, array, strict=True)


PLAIN_COPIES = {
    "shuffle and its inverse": lambda c: c.shuffle(1, 3).shuffle(1, 4),
    "shuffle_channels and its inverse": lambda c: c.shuffle_channels(1, 3).shuffle_channels(1, 4),
    "transpose and its inverse": lambda c: c.transpose((1, 2, 3, 0)).transpose((3, 0, 1, 2)),
    "four rotations": lambda c: (
        c.transpose((1, 2, 3, 0)).transpose((1, 2, 3, 0)).transpose((1, 2, 3, 0)).transpose((1, 2, 3, 0))
    ),
    "two flips": lambda c: c.index(np.s_[:, ::-1]).index(np.s_[:, ::-1]),
    "reshapes": lambda c: c.reshape((5, -1)).reshape((32, 45)).reshape((N, C, H, W)),
    "nothing at all": lambda c: c,
}


@pytest.mark.parametrize("name", PLAIN_COPIES)
def test_steps_that_cancel_are_a_plain_copy(name):
    built = PLAIN_COPIES[name](dm.Chain.of(X)).build()
    assert "output 0: written by pass 1 in one copy of consecutive bytes" in built.explain()
    result = built(X)
    np.testing.assert_array_equal(result, X, strict=True)
    assert not np.may_share_memory(result, X)


def test_transposes_fold_into_one():
    built = dm.Chain.of(X).transpose((1, 2, 0, 3)).transpose((3, 0, 2, 1)).build()
    single = dm.Chain.of(X).transpose((3, 1, 0, 2)).build()
    assert built.explain().splitlines()[-1] == single.explain().splitlines()[-1]


def test_a_second_pass_where_digits_have_no_common_factors():
    x = data(3, 67, 61)
    built = dm.Chain.of(x).transpose().reshape((67, 61, 3)).transpose().build()
    assert built.passes == 2
    np.testing.assert_array_equal(built(x), x.T.reshape(67, 61, 3).T, strict=True)


def test_the_second_pass_starts_where_the_fewest_bytes_are():
    """The crop comes before the stop, the repetition after it."""
    x = data(31, 37, 41)
    chain = (
        dm.Chain.of(x)
        .transpose()
        .index(np.s_[:20])
        .reshape((37, 20, 31))
        .transpose()
        .reshape((1, 31, 20, 37))
        .broadcast((3, 31, 20, 37))
    )
    built = chain.build(max_nests=2)
    assert built.passes == 2
    assert f"written to memory here, {20 * 37 * 31 * 4} bytes" in built.explain()
    expected = np.broadcast_to(x.T[:20].reshape(37, 20, 31).T, (3, 31, 20, 37))
    np.testing.assert_array_equal(built(x), expected, strict=True)


def test_branches_share_their_passes():
    """Both branches stop in memory, each in an intermediate of its own, in the same two passes."""
    x = data(2, 31, 37)
    chain = dm.Chain.of(x).variadic_split(0, [1, 1]).index(0).transpose().reshape((31, 37)).transpose()
    built = chain.build(max_nests=4)
    assert built.passes == 2
    for result, part in zip(built(x), x, strict=True):
        np.testing.assert_array_equal(result, part.T.reshape(31, 37).T, strict=True)


@pytest.mark.parametrize("step", [701, 702, 699, -701, 64])
@pytest.mark.parametrize("start", [None, 3, -5])
def test_places_far_apart_are_read_where_they_are(step, start):
    """A diagonal of what is transposed, say: as boxes each place would be one of its own."""
    x = data(700, 700).T
    built = dm.Chain.of(x).flatten().index(np.s_[start::step]).build()
    assert built.passes == 1
    assert np.array_equal(built(x), x.ravel()[start::step])

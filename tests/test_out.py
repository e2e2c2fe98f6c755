"""`out`: what is taken, what is refused, and that a refusal writes nothing."""

import ml_dtypes
import numpy as np
import oracle
import pytest
import strategies as some

import dnnmove as dm

SHAPE = (4, 6)
X = some.dense(SHAPE, "f4")

# Every eager operation, as a call on X that returns one array of shape SHAPE.
CALLS = {
    "shuffle": lambda x, out: dm.shuffle(x, 1, 2, out=out),
    "shuffle_backward": lambda x, out: dm.shuffle_backward(x, 1, 2, out=out),
    "shuffle_channels": lambda x, out: dm.shuffle_channels(x, 1, 2, out=out),
    "transpose": lambda x, out: dm.transpose(x, (0, 1), out=out),
    "variadic_split": lambda x, out: dm.variadic_split(x, 1, [6], out=[out]),
    "split": lambda x, out: dm.split(x, 1, 1, out=[out]),
    "broadcast": lambda x, out: dm.broadcast(x, SHAPE, out=out),
    "concat": lambda x, out: dm.concat([x], 1, out=out),
}
PRIMITIVES = {
    "ShuffleForward": lambda md: dm.ShuffleForward(dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 2)),
    "ShuffleBackward": lambda md: dm.ShuffleBackward(dm.ShuffleBackward.Desc(md, 1, 2)),
    "ShuffleChannels": lambda md: dm.ShuffleChannels(dm.ShuffleChannels.Desc(md, 1, 2)),
    "Transpose": lambda md: dm.Transpose(dm.Transpose.Desc(md, (0, 1))),
    "Broadcast": lambda md: dm.Broadcast(dm.Broadcast.Desc(md, SHAPE)),
}


def every(x):
    """name -> call(x, out), the eager functions and the primitives."""
    calls = dict(CALLS)
    for name, make in PRIMITIVES.items():
        calls[name] = lambda x, out, make=make: make(dm.MemoryDesc.of(X))(x, out=out)
    return calls


ALL = every(X)
each = pytest.mark.parametrize("name", ALL)
each_eager = pytest.mark.parametrize("name", CALLS)


def refuse(name, kind, x, out, *words):
    before = [part.tobytes() for part in (x, out) if isinstance(part, np.ndarray)]
    with pytest.raises(kind) as caught:
        ALL[name](x, out)
    assert [part.tobytes() for part in (x, out) if isinstance(part, np.ndarray)] == before
    text = str(caught.value)
    assert "out" in text, text
    for word in words:
        assert word in text, text


@each
def test_is_written_and_returned(name):
    out = np.zeros_like(X)
    result = ALL[name](X, out)
    result = result[0] if type(result) is tuple else result
    assert result is out
    assert sorted(out.ravel().view("V4").tolist()) == sorted(X.ravel().view("V4").tolist())


@each
@pytest.mark.parametrize("shape", [(6, 4), (4, 5), (24,), (1, 4, 6), (), (4, 0)])
def test_of_another_shape(name, shape):
    refuse(name, ValueError, X, np.zeros(shape, "f4"), "(4, 6)", str(shape))


@each
@pytest.mark.parametrize("dtype", ["i4", "f8", "f2", ">f4", "V4", ml_dtypes.bfloat16])
def test_of_another_dtype(name, dtype):
    # A primitive was made for one descriptor: there it is the wrong value of the right type.
    kind = TypeError if name in CALLS else ValueError
    refuse(name, kind, X, np.zeros(SHAPE, dtype), "float32", "V4" if dtype == "V4" else np.dtype(dtype).name)


@each
def test_read_only(name):
    out = np.zeros(SHAPE, "f4")
    out.flags.writeable = False
    refuse(name, ValueError, X, out, "writ")


@each
@pytest.mark.parametrize(
    "out", [[[0.0] * 6] * 4, 3.0, "out", object(), np.ma.zeros(SHAPE, "f4")], ids=lambda out: type(out).__name__
)
def test_not_an_array(name, out):
    with pytest.raises(TypeError, match="out"):
        ALL[name](X, out)


@each
def test_in_place(name):
    x = X.copy()
    refuse(name, ValueError, x, x, "share")
    if name in CALLS:
        refuse(name, ValueError, x, x[::-1], "share")


@each_eager
@pytest.mark.parametrize(("x_at", "out_at"), [(0, 4), (4, 0), (0, 92), (92, 0), (0, 2), (1, 3)])
def test_shared_bytes(name, x_at, out_at):
    buffer = some.random_bytes(96 + 96, 3)
    x = np.ndarray(SHAPE, "f4", buffer, x_at)
    refuse(name, ValueError, x, np.ndarray(SHAPE, "f4", buffer, out_at), "share")


@each_eager
def test_interleaved_but_disjoint_views_are_fine(name):
    expected = ALL[name](X, np.zeros_like(X))
    expected = expected[0] if type(expected) is tuple else expected
    for x_at, out_at in [
        (np.s_[:, ::2], np.s_[:, 1::2]),
        (np.s_[:, :6], np.s_[:, 6:]),
        (np.s_[:, 10::-2], np.s_[:, 1::2]),
        (np.s_[::-1, ::2], np.s_[:, ::-2]),
    ]:
        buffer = np.zeros((4, 12), "f4")
        x, out = buffer[x_at], buffer[out_at]
        x[...] = X
        ALL[name](x, out)
        assert oracle.raw(out) == oracle.raw(expected)
        assert oracle.raw(x) == oracle.raw(X)


@each_eager
def test_interleaved_bytes_within_elements(name):
    # Records of 8 bytes: the input is one field of them, the output the other.
    records = np.zeros(SHAPE, [("x", "f4"), ("out", "f4")])
    records["x"] = X
    ALL[name](records["x"], records["out"])
    expected = ALL[name](X, np.zeros_like(X))
    expected = expected[0] if type(expected) is tuple else expected
    assert oracle.raw(records["out"]) == oracle.raw(expected)


@each_eager
@pytest.mark.parametrize("strides", [(0, 4), (4, 0), (0, 0), (4, 4), (20, 4), (24, 2), (-4, 4), (4, 8)])
def test_that_overlaps_itself(name, strides):
    buffer = np.zeros(400, "u1")
    refuse(name, ValueError, X, np.ndarray(SHAPE, "f4", buffer, 100, strides), "share memory", str(strides))


def test_strides_that_look_overlapping_but_are_not():
    # A 3 x 2 array whose rows interleave: element (i, j) lies at 2*i + 5*j, all six apart.
    x = some.dense((3, 2), "u1")
    buffer = np.zeros(16, "u1")
    out = np.ndarray((3, 2), "u1", buffer, 0, (2, 5))
    dm.transpose(x, (0, 1), out=out)
    assert oracle.raw(out) == oracle.raw(x)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0,)])
def test_empty_arrays_overlap_nothing(shape):
    x = np.zeros(shape, "f4")
    assert dm.transpose(x, range(x.ndim), out=x) is x
    out = np.ndarray(shape, "f4", np.zeros(1, "f4"), 0, (0,) * len(shape))
    assert dm.transpose(x, range(x.ndim), out=out) is out


def test_one_long_axes_may_have_any_stride():
    x = some.dense((1, 3, 1), "i2")
    buffer = np.zeros(3, "i2")
    for odd in (0, 2, -6, 7, 10**6):
        out = np.ndarray((1, 3, 1), "i2", buffer, 0, (odd, 2, odd))
        dm.shuffle(x, 1, 3, out=out)
        assert oracle.raw(out) == oracle.raw(x)


class TestSplit:
    """`out` of the splits: a sequence of arrays."""

    def outs(self):
        return [np.zeros((4, 2), "f4"), np.zeros((4, 4), "f4")]

    def call(self, out):
        return dm.variadic_split(X, 1, [2, 4], out=out)

    def test_a_sequence_of_the_wrong_length(self):
        for out in ([], self.outs()[:1], [*self.outs(), np.zeros((4, 0), "f4")]):
            with pytest.raises(ValueError, match="out") as caught:
                self.call(out)
            assert "2" in str(caught.value)
            assert str(len(out)) in str(caught.value)

    @pytest.mark.parametrize("out", [3, object(), 1.5])
    def test_not_a_sequence(self, out):
        with pytest.raises(TypeError, match="out"):
            self.call(out)

    def test_the_message_says_which(self):
        first, second = self.outs()
        with pytest.raises(ValueError, match=r"out\[1\]"):
            self.call([first, second[:, :3]])
        with pytest.raises(TypeError, match=r"out\[1\]"):
            self.call([first, second.astype("f8")])
        second.flags.writeable = False
        with pytest.raises(ValueError, match=r"out\[1\]"):
            self.call([first, second])
        assert not first.any()

    def test_outs_that_share_bytes(self):
        buffer = np.zeros((4, 6), "f4")
        for second in (buffer[:, 1:5], buffer[:, 4::-1][:, :4]):
            with pytest.raises(ValueError, match="share"):
                self.call([buffer[:, :2], second])
        same = np.zeros((4, 3), "f4")
        with pytest.raises(ValueError, match="share"):
            dm.split(X, 1, 2, out=[same, same])
        assert not buffer.any()
        assert not same.any()

    def test_an_out_that_shares_bytes_with_the_input(self):
        x = X.copy()
        with pytest.raises(ValueError, match="share"):
            dm.variadic_split(x, 1, [2, 4], out=[np.zeros((4, 2), "f4"), x[:, :4]])
        assert x.tobytes() == X.tobytes()


class TestConcat:
    """`out` of concat, against each of the inputs."""

    def test_shares_bytes_with_the_last_input(self):
        buffer = np.zeros((4, 12), "f4")
        buffer[:, 6:] = X
        before = buffer.tobytes()
        with pytest.raises(ValueError, match="share"):
            dm.concat([X, buffer[:, 6:]], 1, out=buffer)
        assert buffer.tobytes() == before


def bytes_of(array, buffer):
    """Where in `buffer` the elements of `array`, a u1 array over it, lie."""
    start = array.__array_interface__["data"][0] - buffer.__array_interface__["data"][0]
    places = start + sum(
        np.multiply.outer(np.arange(n), s).reshape([-1 if i == axis else 1 for i in range(array.ndim)])
        for axis, (n, s) in enumerate(zip(array.shape, array.strides, strict=True))
    )
    return places.ravel().tolist()


def test_overlap_is_decided_exactly_for_small_arrays():
    rng = np.random.default_rng(7)
    taken = 0
    for seed in range(400):
        ndim = int(rng.integers(1, 4))
        shape = tuple(int(n) for n in rng.integers(1, 5, ndim))
        buffer = some.random_bytes(400, seed)
        x, out = (
            np.ndarray(shape, "u1", buffer, int(rng.integers(0, 30)), tuple(int(s) for s in rng.integers(1, 40, ndim)))
            for _ in range(2)
        )
        reads, writes = bytes_of(x, buffer), bytes_of(out, buffer)
        before, expected = buffer.copy(), oracle.transpose(x, range(ndim))
        if len(set(writes)) < len(writes) or set(reads) & set(writes):
            with pytest.raises(ValueError, match="share"):
                dm.transpose(x, range(ndim), out=out)
            assert buffer.tobytes() == before.tobytes()
        else:
            taken += 1
            dm.transpose(x, range(ndim), out=out)
            before[writes] = expected.ravel()
            assert buffer.tobytes() == before.tobytes()
    assert taken > 20

"""The other byte order: NumPy's astype to newbyteorder, alone and among the steps of a chain."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnnmove as dm

DTYPES = [
    "u1",
    "?",
    "<i2",
    ">u2",
    "<f2",
    "<i4",
    ">f4",
    "<f8",
    "<M8[s]",
    ">m8[ms]",
    "<c8",
    ">c16",
    "S5",
    "V3",
    "<U3",
    ">U2",
]
DTYPES += ["g", "G", [("a", "<i4"), ("b", ">u2", (2, 3)), ("c", "S3"), ("d", [("e", "<c8")])], ml_dtypes.bfloat16]
DTYPES += [{"names": ["a", "b"], "formats": ["<i4", ">f8"], "offsets": [8, 16], "itemsize": 40}, ml_dtypes.float8_e5m2]


def random_of(dtype, shape, seed=0):
    dtype = np.dtype(dtype)
    raw = np.random.default_rng(seed).integers(0, 256, (*shape, max(dtype.itemsize, 1)), np.uint8)
    if dtype.kind == "U":
        raw = (
            np.random.default_rng(seed)
            .integers(1, 1000, (*shape, dtype.itemsize // 4))
            .astype(dtype.byteorder.replace("=", "<") + "u4")
            .view(np.uint8)
        )
    return (raw & 1 if dtype.kind == "b" else raw).view(dtype)[..., 0]


def words(dtype, offset=0):
    """Where the words of an element lie: (offset, bytes)."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return [each for k in range(int(np.prod(shape))) for each in words(base, offset + k * base.itemsize)]
    if dtype.names is not None:
        return [each for name in dtype.names for each in words(dtype.fields[name][0], offset + dtype.fields[name][1])]
    if dtype.num < 24 and dtype.kind in "SVb":
        return []
    size = {"c": dtype.itemsize // 2, "U": 4}.get(dtype.kind, dtype.itemsize)
    return [(at, size) for at in range(offset, offset + dtype.itemsize, size)]


def bytes_of(x):
    raw = x.view(np.dtype((np.void, x.dtype.itemsize)))  # padding too, which copies of structs leave out
    return np.ascontiguousarray(raw).view(np.uint8).reshape(*x.shape, x.dtype.itemsize)


def expected(x):
    before = bytes_of(x)
    raw = before.copy()
    for at, size in words(x.dtype):
        raw[..., at : at + size] = before[..., at : at + size][..., ::-1]
    return raw


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (5, 67), (3, 40, 50)])
def test_as_numpy(dtype, shape):
    x = random_of(dtype, shape)
    y = dm.byteswap(x)
    assert np.array_equal(bytes_of(y), expected(x))
    if words(x.dtype) and x.dtype.itemsize > 1:
        assert y.dtype == x.dtype.newbyteorder()
        assert y.dtype != x.dtype
    else:
        assert y.dtype == x.dtype
    if np.dtype(dtype).kind in "iufM" and np.dtype(dtype).num < 24:
        assert np.array_equal(y.view("u1"), x.astype(x.dtype.newbyteorder()).view("u1"))
    twice = dm.byteswap(y)
    assert twice.dtype == x.dtype
    assert np.array_equal(bytes_of(twice), bytes_of(x))
    out = np.empty((*x.shape[:-1], 2 * x.shape[-1]), y.dtype)[..., ::2]
    assert dm.byteswap(x[..., ::-1], out=out) is out
    assert np.array_equal(bytes_of(out), expected(x[..., ::-1]))


@given(data=st.data())
def test_among_other_steps(data):
    x = random_of(data.draw(st.sampled_from(["<i2", ">f4", "<f8", "<c16", [("a", "<i4"), ("b", ">u2")]])), (4, 6, 10))
    chain, want = dm.Chain.of(x), x
    swaps = 0
    for _ in range(data.draw(st.integers(1, 5))):
        step = data.draw(st.sampled_from(["swap", "transpose", "flip", "roll", "tile"]))
        if step == "swap":
            chain, swaps = chain.byteswap(), swaps + 1
        elif step == "transpose":
            order = data.draw(st.permutations(range(3)))
            chain, want = chain.transpose(order), want.transpose(order)
        elif step == "flip":
            chain, want = chain.flip(1), np.flip(want, 1)
        elif step == "roll":
            chain, want = chain.roll(1, 2), np.roll(want, 1, 2)
        elif want.size < 2000:
            chain, want = chain.tile((1, 2, 1)), np.tile(want, (1, 2, 1))
    built = chain.build()
    assert built.dst_desc.dtype == (x.dtype.newbyteorder() if swaps % 2 else x.dtype)
    assert np.array_equal(bytes_of(built(x)), expected(want) if swaps % 2 else bytes_of(want))


def test_a_stored_image_becomes_native_in_the_pass_that_turns_it():
    stored = np.linspace(-5, 5, 300 * 200).astype(">f4").reshape(300, 200)
    built = dm.Chain.of(stored).byteswap().transpose().convert("bfloat16", scale=3, shift=1).build()
    assert built.passes == 1
    want = (stored.T.astype("f4") * np.float32(3) + np.float32(1)).astype(ml_dtypes.bfloat16)
    assert built(stored).tobytes() == want.tobytes()
    plain = dm.Chain.of(stored).byteswap().convert("int8", scale=20).build()
    assert np.array_equal(plain(stored), np.clip(np.rint(stored.astype("f4") * np.float32(20)), -128, 127))
    counts = np.arange(70000, dtype=">i4")
    assert np.array_equal(dm.Chain.of(counts).byteswap().convert("float32").build()(counts), counts.astype("f4"))
    assert "bytes swapped" in built.explain()


def test_one_branch_alone():
    x = np.arange(12, dtype="<i4").reshape(2, 6)
    built = dm.Chain.of(x).split(1, 2).branch(1).byteswap().build()
    assert [desc.dtype for desc in built.dst_descs] == [np.dtype("<i4"), np.dtype(">i4")]
    a, b = built(x)
    assert np.array_equal(a, x[:, :3])
    assert np.array_equal(b, x[:, 3:])
    assert (a.dtype, b.dtype) == (np.dtype("<i4"), np.dtype(">i4"))
    out = [np.empty((2, 3), "<i4"), np.empty((2, 3), ">i4")]
    built(x, out=out)
    assert np.array_equal(out[1], x[:, 3:])
    with pytest.raises(TypeError, match=r"out\[1\]\.dtype"):
        built(x, out=[np.empty((2, 3), "<i4"), np.empty((2, 3), "<i4")])
    with pytest.raises(TypeError, match="in native byte order: byteswap first"):
        dm.Chain.of(x).split(1, 2).branch(1).byteswap().convert("float32")


def test_what_is_refused():
    shared = np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"], "offsets": [0, 2]})
    with pytest.raises(TypeError, match="share bytes"):
        dm.byteswap(np.zeros(3, shared))
    with pytest.raises(TypeError, match="share bytes"):
        dm.Chain.of(np.zeros(3, shared)).byteswap()
    with pytest.raises(TypeError):
        dm.byteswap([1, 2])
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"the result has dtype >f4, which torch\.Tensor does not have"):
        dm.byteswap(torch.zeros(3))
    assert dm.byteswap(torch.arange(3, dtype=torch.uint8)).tolist() == [0, 1, 2]


def test_a_memory_keeps_its_bytes():
    x = dm.Memory(dm.MemoryDesc((2, 3), ">f4"), buffer=np.arange(6, dtype=">f4").reshape(2, 3))
    y = dm.byteswap(x)
    assert y.desc.dtype == np.dtype("<f4")
    assert y.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]

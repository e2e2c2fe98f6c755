"""reorder: plain <-> blocked, any pair, every bit."""

import itertools

import numpy as np
import pytest

import dnnmove as dm

SHAPES = {
    "tail": (2, 20, 3, 5),
    "whole": (16, 32, 2, 2),
    "small": (1, 1, 1, 1),
    "odd": (33, 17, 2, 1),
    "no channels": (2, 0, 3, 3),
    "no rows": (3, 16, 0, 2),
}
TAGS = [
    "nchw",
    "nhwc",
    "chwn",
    "nChw16c",
    "nChw8c",
    "nChw4c",
    "ABcd16a16b",
    "ABcd4b16a4b",
    "ABcd8b8a",
    "NChw32n32c",
    "aBcd32b",
]
# Patterns of all kinds: NaN payloads, -0.0, denormals.
DTYPES = ["float32", "int32", "int8", "uint8", "float16", "bfloat16", "float8_e5m2", "float64", "int64", "S3"]


def random_bits(shape: tuple[int, ...], dtype: np.dtype, seed: int) -> np.ndarray:
    count = int(np.prod(shape)) * dtype.itemsize
    return np.random.default_rng(seed).integers(0, 256, count, dtype="u1").view(dtype).reshape(shape)


def dirty(md: dm.MemoryDesc) -> dm.Memory:
    mem = dm.Memory(md)
    mem.bytes[:] = 0xCD
    return mem


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_there_and_back_keeps_every_bit_and_zeroes_padding(shape: tuple[int, ...], dtype: str) -> None:
    plain = dm.MemoryDesc(shape, dtype)
    x = random_bits(shape, plain.dtype, seed=len(dtype))
    ones = int((np.frombuffer(x.tobytes(), "u1") != 0).sum())
    for first, second in itertools.product(TAGS, TAGS):
        a, b = (dirty(dm.MemoryDesc(shape, dtype, tag)) for tag in (first, second))
        y = dirty(plain)
        dm.reorder(dm.Memory(plain, buffer=x), a)
        dm.reorder(a, b)
        dm.reorder(b, y)
        assert y.numpy().tobytes() == x.tobytes(), (first, second)
        # Nothing but the elements is left in the bytes, so the padding is zero.
        assert int((b.bytes != 0).sum()) == ones, (first, second)


def test_a_blocked_layout_is_what_its_name_says() -> None:
    x = random_bits((2, 20, 3, 5), np.dtype("f4"), seed=5)
    mem = dirty(dm.MemoryDesc(x.shape, "f4", "nChw16c"))
    dm.reorder(dm.Memory(dm.MemoryDesc.of(x), buffer=x), mem)
    padded = np.zeros((2, 32, 3, 5), "f4")
    padded[:, :20] = x
    expected = padded.reshape(2, 2, 16, 3, 5).transpose(0, 1, 3, 4, 2)
    assert mem.bytes.tobytes() == expected.tobytes()


def test_dirty_padding_of_the_source_does_not_travel() -> None:
    src = dirty(dm.MemoryDesc((1, 20, 2, 2), "f4", "nChw16c"))
    dst = dirty(dm.MemoryDesc((1, 20, 2, 2), "f4", "nChw16c"))
    dm.reorder(src, dst)
    blocks = dst.bytes.reshape(2, 4, 16, 4)
    assert (blocks[0] == 0xCD).all()
    assert (blocks[1, :, :4] == 0xCD).all()
    assert not blocks[1, :, 4:].any()


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8"])
def test_strided_ends_and_their_gaps(dtype: str) -> None:
    x = random_bits((3, 8, 10), np.dtype(dtype), seed=1)
    source = x[::-1, ::2, 3:]
    raw = np.full((4, 9, 7), 0x7B, dtype)
    target = raw.transpose(1, 2, 0)[1:8:2, :, :3].transpose(2, 0, 1)
    expected = raw.copy()
    expected.transpose(1, 2, 0)[1:8:2, :, :3].transpose(2, 0, 1)[...] = source
    dm.reorder(
        dm.Memory(dm.MemoryDesc.of(source), buffer=source),
        dm.Memory(dm.MemoryDesc.of(target), buffer=target),
    )
    assert raw.tobytes() == expected.tobytes()


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 3, 4, 5, 6), (2,) * 12])
def test_ranks(shape: tuple[int, ...]) -> None:
    x = random_bits(shape, np.dtype("f4"), seed=2)
    target = np.zeros(shape[::-1], "f4").T
    dm.reorder(dm.Memory(dm.MemoryDesc.of(x), buffer=x), dm.Memory(dm.MemoryDesc.of(target), buffer=target))
    assert target.tobytes() == x.tobytes()


def test_a_repeated_source() -> None:
    x = np.broadcast_to(np.arange(3, dtype="f4"), (4, 3))
    dst = dm.Memory(dm.MemoryDesc((4, 3), "f4"))
    dm.reorder(dm.Memory(dm.MemoryDesc.of(x), buffer=x), dst, dm.Stream())
    assert np.array_equal(dst.numpy(), x)


def test_blocks_that_do_not_divide_each_other() -> None:
    x = random_bits((50, 70), np.dtype("i2"), seed=3)
    a = dirty(dm.MemoryDesc(x.shape, "i2", "AB48a16b"))
    b = dirty(dm.MemoryDesc(x.shape, "i2", "AB32a32b"))
    y = dirty(dm.MemoryDesc(x.shape, "i2"))
    dm.reorder(dm.Memory(dm.MemoryDesc.of(x), buffer=x), a)
    dm.reorder(a, b)
    dm.reorder(b, y)
    assert y.numpy().tobytes() == x.tobytes()
    assert int((b.bytes != 0).sum()) == int((x.view("u1") != 0).sum())


def test_large_elements_are_padded_with_zeroes() -> None:
    x = random_bits((2, 3), np.dtype("V5000"), seed=4)
    a = dirty(dm.MemoryDesc(x.shape, x.dtype, "AB8b8a"))
    y = dirty(dm.MemoryDesc(x.shape, x.dtype))
    dm.reorder(dm.Memory(dm.MemoryDesc.of(x), buffer=x), a)
    dm.reorder(a, y)
    assert y.numpy().tobytes() == x.tobytes()
    assert int((a.bytes != 0).sum()) == int((np.frombuffer(x.tobytes(), "u1") != 0).sum())


def memory(shape: tuple[int, ...], dtype: str = "f4", layout: object = None) -> dm.Memory:
    return dm.Memory(dm.MemoryDesc(shape, dtype, layout))


def test_what_cannot_be_reordered() -> None:
    mem = memory((2, 3))
    with pytest.raises(ValueError, match=r"dst_mem has dims \(3, 2\) but must have src_mem's \(2, 3\)"):
        dm.reorder(mem, memory((3, 2)))
    with pytest.raises(ValueError, match="dst_mem has dtype int32 but must have src_mem's float32"):
        dm.reorder(mem, memory((2, 3), "i4"))
    with pytest.raises(ValueError, match="dst_mem has dtype >f4"):
        dm.reorder(mem, memory((2, 3), ">f4"))
    with pytest.raises(ValueError, match="dst_mem shares bytes with src_mem"):
        dm.reorder(mem, mem)
    with pytest.raises(ValueError, match="dst_mem is read-only"):
        dm.reorder(mem, dm.Memory(mem.desc, buffer=bytes(24)))
    with pytest.raises(ValueError, match="dst_mem has elements that share bytes"):
        dm.reorder(mem, memory((2, 3), "f4", (0, 1)))
    with pytest.raises(TypeError):
        dm.reorder(mem, np.zeros((2, 3), "f4"))


def test_interleaved_memories_share_no_byte() -> None:
    raw = np.arange(12, dtype="f4")
    even, odd = raw[::2], raw[1::2]
    dm.reorder(dm.Memory(dm.MemoryDesc.of(even), buffer=even), dm.Memory(dm.MemoryDesc.of(odd), buffer=odd))
    assert raw.tolist() == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10]

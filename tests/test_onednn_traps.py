"""The traps of oneDNN: each gives the right answer or a clean error."""

import os
import threading

import ml_dtypes
import numpy as np
import oracle
import pytest
import strategies as some

import dnnmove as dm

SHAPE = (2, 12, 5, 4)
each_implementation = pytest.mark.parametrize("implementation", ["native", "onednn"])


def forward(md, axis=1, group_size=3, implementation="auto"):
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, axis, group_size)
    return dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation))


def implementations(md, axis=1, group_size=3):
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, axis, group_size)
    names = dm.ShuffleForward.PrimitiveDesc(desc).implementations
    bdesc = dm.ShuffleBackward.Desc(md, axis, group_size)
    assert names == dm.ShuffleBackward.PrimitiveDesc(bdesc).implementations
    return [name.split(":")[0] for name in names]


class TestTypesThatOneDnnGetsWrong:
    """oneDNN up to 3.8 leaves f64 untouched and says success; f16 and fp8 need an instruction set."""

    @pytest.mark.parametrize("tag", ["nchw", "nhwc", "nChw16c"])
    def test_f64_runs_natively(self, tag):
        md = dm.MemoryDesc(SHAPE, "f8", tag)
        data = some.dense(SHAPE, "f8")
        src, dst = dm.Memory(md), dm.Memory(md)
        src.bytes[:] = np.frombuffer(oracle.to_layout(data, tag), np.uint8)
        fwd = forward(md)
        fwd.execute(dm.Stream(), {dm.ARG_SRC: src, dm.ARG_DST: dst})
        assert dst.bytes.tobytes() == oracle.to_layout(oracle.shuffle(data, 1, 3), tag)

    def test_f64_is_not_offered_to_a_onednn_that_ignores_it(self):
        if tuple(map(int, dm.onednn_version().split(".")[:2])) > (3, 8):
            pytest.skip("this oneDNN shuffles f64")
        md = dm.MemoryDesc(SHAPE, "f8")
        assert implementations(md) == ["native"]
        with pytest.raises(dm.UnimplementedError):
            forward(md, implementation="onednn")
        with pytest.raises(NotImplementedError):
            dm.ShuffleBackward.PrimitiveDesc(dm.ShuffleBackward.Desc(md, 1, 3), implementation="onednn")

    @pytest.mark.parametrize("dtype", ["f2", ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
    @pytest.mark.parametrize("tag", ["nchw", "nhwc", "nChw16c"])
    def test_f16_and_fp8_run_with_any_instruction_set(self, dtype, tag):
        md = dm.MemoryDesc(SHAPE, dtype, tag)
        data = some.dense(SHAPE, dtype)
        offered = implementations(md)
        assert "native" in offered
        for implementation in offered:
            src, dst = dm.Memory(md), dm.Memory(md)
            src.bytes[:] = np.frombuffer(oracle.to_layout(data, tag), np.uint8)
            forward(md, implementation=implementation).execute(dm.Stream(), {dm.ARG_SRC: src, dm.ARG_DST: dst})
            assert dst.bytes.tobytes() == oracle.to_layout(oracle.shuffle(data, 1, 3), tag)
        if "onednn" not in offered:
            with pytest.raises(dm.UnimplementedError):
                forward(md, implementation="onednn")


class TestBareStatuses:
    """Where oneDNN returns a status without a reason: names and numbers."""

    @pytest.mark.parametrize("axis", [4, -5, 2**40])
    def test_bad_axis(self, axis, errors_name):
        md = dm.MemoryDesc(SHAPE, "f4")
        error = np.exceptions.AxisError
        errors_name(error, lambda: dm.ShuffleForward.Desc(dm.PropKind.forward, md, axis, 3), "axis", str(axis))
        errors_name(error, lambda: dm.ShuffleBackward.Desc(md, axis, 3), "axis", str(axis))

    @pytest.mark.parametrize("group_size", [0, -3, 5, 24, 13])
    def test_bad_group_size(self, group_size, errors_name):
        md = dm.MemoryDesc(SHAPE, "f4")
        words = f"group_size ({group_size})", "(12)"
        errors_name(ValueError, lambda: dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, group_size), *words)
        errors_name(ValueError, lambda: dm.ShuffleBackward.Desc(md, 1, group_size), *words)

    def test_no_channels(self):
        for group_size in (1, 4, 9):
            assert dm.shuffle(np.empty((2, 0, 5), "f4"), 1, group_size).shape == (2, 0, 5)

    def test_a_propagation_kind_that_is_none(self):
        md = dm.MemoryDesc(SHAPE, "f4")
        for bad in (dm.PropKind.backward_data, "forward", 64, None):
            with pytest.raises((TypeError, ValueError), match="prop_kind"):
                dm.ShuffleForward.Desc(bad, md, 1, 3)


class TestOverlap:
    """In place, oneDNN says success and writes wrong data."""

    @each_implementation
    def test_arrays_in_place(self, implementation):
        x = some.dense(SHAPE, "f4")
        before = x.tobytes()
        fwd = forward(dm.MemoryDesc.of(x), implementation=implementation)
        with pytest.raises(ValueError, match="share"):
            fwd.execute(dm.Stream(), {dm.ARG_SRC: x, dm.ARG_DST: x})
        with pytest.raises(ValueError, match="share"):
            fwd(x, out=x)
        assert x.tobytes() == before

    @each_implementation
    @pytest.mark.parametrize("tag", ["nchw", "nChw16c"])
    def test_memories_in_place(self, implementation, tag):
        md = dm.MemoryDesc(SHAPE, "f4", tag)
        memory = dm.Memory(md)
        with pytest.raises(ValueError, match="share"):
            forward(md, implementation=implementation).execute(dm.Stream(), {dm.ARG_SRC: memory, dm.ARG_DST: memory})
        bwd = dm.ShuffleBackward(
            dm.ShuffleBackward.PrimitiveDesc(dm.ShuffleBackward.Desc(md, 1, 3), implementation=implementation)
        )
        with pytest.raises(ValueError, match="share"):
            bwd.execute(dm.Stream(), {dm.ARG_DIFF_DST: memory, dm.ARG_DIFF_SRC: memory})

    @each_implementation
    def test_memories_that_share_a_part(self, implementation):
        md = dm.MemoryDesc((2, 12, 4), "f4")
        buffer = np.zeros(2 * 12 * 4 + 4, "f4")
        a, b = (buffer[at : at + 96].reshape(2, 12, 4) for at in (0, 4))
        with pytest.raises(ValueError, match="share"):
            forward(md, implementation=implementation).execute(
                dm.Stream(), {dm.ARG_SRC: dm.Memory(md, buffer=a), dm.ARG_DST: dm.Memory(md, buffer=b)}
            )


class TestMemoryThatDiffers:
    """oneDNN does not check that a memory fits its primitive."""

    @each_implementation
    @pytest.mark.parametrize(
        "other",
        [
            lambda: dm.MemoryDesc(SHAPE, "f4", "nhwc"),
            lambda: dm.MemoryDesc(SHAPE, "f4", "nChw16c"),
            lambda: dm.MemoryDesc(SHAPE, "i4"),
            lambda: dm.MemoryDesc(SHAPE, "u1"),
            lambda: dm.MemoryDesc((2, 12, 5, 3), "f4"),
            lambda: dm.MemoryDesc((1, 12, 5, 4), "f4"),
            lambda: dm.MemoryDesc((2, 12, 20), "f4"),
            lambda: dm.MemoryDesc((2, 12, 0, 4), "f4"),
        ],
    )
    def test_descriptors(self, implementation, other):
        md = dm.MemoryDesc(SHAPE, "f4")
        fwd = forward(md, implementation=implementation)
        right, wrong = dm.Memory(md), dm.Memory(other())
        right.bytes[:] = 7
        for arguments in ({dm.ARG_SRC: wrong, dm.ARG_DST: right}, {dm.ARG_SRC: right, dm.ARG_DST: wrong}):
            with pytest.raises(ValueError, match=r"(src|dst) \(argument"):
                fwd.execute(dm.Stream(), arguments)
        assert (right.bytes == 7).all()
        assert not wrong.bytes.any()

    @each_implementation
    def test_arrays(self, implementation):
        fwd = forward(dm.MemoryDesc(SHAPE, "f4"), implementation=implementation)
        x = np.zeros(SHAPE, "f4")
        for wrong in (x[:, :, :, :3], x[0], x.astype("f8"), x.view("i4"), np.zeros((2, 5, 4, 12), "f4")):
            for arguments in ({dm.ARG_SRC: wrong, dm.ARG_DST: x}, {dm.ARG_SRC: x, dm.ARG_DST: wrong}):
                with pytest.raises((TypeError, ValueError)):
                    fwd.execute(dm.Stream(), arguments)

    @pytest.mark.parametrize("size", [0, 1, 479 * 4, 480 * 4 - 1, 480 * 4 + 1, 10**4])
    def test_buffers_of_another_size(self, size, errors_name):
        md = dm.MemoryDesc(SHAPE, "f4")
        assert md.size == 480 * 4
        for buffer in (bytearray(size), np.zeros(size, "u1")):
            errors_name(ValueError, lambda buffer=buffer: dm.Memory(md, buffer=buffer), "buffer", str(size), "1920")

    def test_typed_arrays_are_never_reinterpreted(self):
        md = dm.MemoryDesc(SHAPE, "f4")
        for wrong in (np.zeros(480, "f4"), np.zeros(SHAPE, "i4"), np.zeros((2, 5, 4, 12), "f4"), np.zeros(240, "f8")):
            with pytest.raises((TypeError, ValueError), match="buffer"):
                dm.Memory(md, buffer=wrong)


@pytest.mark.parametrize("tag", ["nChw4c", "nChw8c", "nChw16c", "nhwc", "nchw"])
@pytest.mark.parametrize("shape", [(2, 12, 0, 4), (2, 12, 5, 0), (0, 12, 5, 4), (2, 12, 0, 0)])
def test_empty_images_do_not_divide_by_zero(tag, shape):
    md = dm.MemoryDesc(shape, "f4", tag)
    src, dst = dm.Memory(md), dm.Memory(md)
    for implementation in implementations(md):
        forward(md, implementation=implementation).execute(dm.Stream(), {dm.ARG_SRC: src, dm.ARG_DST: dst})
    if tag in ("nhwc", "nchw"):
        assert forward(md)(src.numpy()).shape == shape
    else:
        assert implementations(md) == ["native"]
        with pytest.raises(dm.UnimplementedError):
            forward(md, implementation="onednn")


@each_implementation
def test_a_part_of_a_larger_array_starts_where_it_starts(implementation):
    whole = some.dense((2, 20, 5, 8), "f4")
    target = np.zeros_like(whole)
    x, y = whole[:, 4:16, :, 2:6], target[:, 5:17, :, 4:]
    md = dm.MemoryDesc.of(x)
    fwd = forward(md, implementation=implementation)
    expected = np.zeros_like(whole)
    expected[:, 5:17, :, 4:] = oracle.shuffle(x, 1, 3)
    fwd.execute(dm.Stream(), {dm.ARG_SRC: x, dm.ARG_DST: y})
    assert target.tobytes() == expected.tobytes()
    target[...] = 0
    fwd.execute(dm.Stream(), {dm.ARG_SRC: dm.Memory(md, buffer=x), dm.ARG_DST: dm.Memory(md, buffer=y)})
    assert target.tobytes() == expected.tobytes()


@each_implementation
@pytest.mark.parametrize("width", [2, 3])
def test_interleaved_arrays_that_share_no_byte(implementation, width):
    whole = some.dense((2, 12, 5, 4 * width), "f4")
    x, y = whole[..., ::width], whole[..., width - 1 :: width]
    md = dm.MemoryDesc.of(x)
    expected = whole.copy()
    expected[..., width - 1 :: width] = oracle.shuffle(x, 1, 3)
    fwd = forward(md, implementation=implementation)
    fwd.execute(dm.Stream(), {dm.ARG_SRC: x, dm.ARG_DST: y})
    assert whole.tobytes() == expected.tobytes()


@pytest.mark.parametrize("strides", [(240, 0, 4, 1), (0, 20, 4, 1), (240, 20, 4, 0), (20, 20, 4, 1), (240, 19, 4, 1)])
def test_strides_that_overlap_in_a_descriptor(strides):
    md = dm.MemoryDesc(SHAPE, "f4", strides)
    with pytest.raises(ValueError, match=r"overlap|stride"):
        dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 3)
    with pytest.raises(ValueError, match=r"overlap|stride"):
        dm.ShuffleBackward.Desc(md, 1, 3)


@each_implementation
@pytest.mark.parametrize("channels", [1, 5, 12, 20])
def test_blocked_padding_is_zero(implementation, channels):
    shape = (2, channels, 3, 2)
    for tag in ("nChw8c", "nChw16c"):
        md = dm.MemoryDesc(shape, "f4", tag)
        data = some.dense(shape, "f4")
        src, dst = dm.Memory(md), dm.Memory(md)
        src.bytes[:] = np.frombuffer(oracle.to_layout(data, tag), np.uint8)
        dst.bytes[:] = 0xFF
        fwd = forward(md, 1, channels, implementation)
        fwd.execute(dm.Stream(), {dm.ARG_SRC: src, dm.ARG_DST: dst})
        assert dst.bytes.tobytes() == oracle.to_layout(oracle.shuffle(data, 1, channels), tag)


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_types_of_4_bits(dtype):
    with pytest.raises(ValueError, match="int4"):
        dm.MemoryDesc((2, 12, 4), dtype)
    x = np.arange(24).reshape(2, 12).astype(dtype)
    for result, expected in (
        (dm.shuffle(x, 1, 3), oracle.shuffle(x, 1, 3)),
        (dm.transpose(x), oracle.transpose(x)),
    ):
        oracle.assert_same(result, expected)


class TestArgumentsOfExecute:
    """Missing and unknown arguments are named."""

    @each_implementation
    def test_missing(self, implementation, errors_name):
        md = dm.MemoryDesc(SHAPE, "f4")
        memory = dm.Memory(md)
        fwd = forward(md, implementation=implementation)
        errors_name(ValueError, lambda: fwd.execute(dm.Stream(), {dm.ARG_SRC: memory}), "dst", str(dm.ARG_DST))
        errors_name(ValueError, lambda: fwd.execute(dm.Stream(), {dm.ARG_DST: memory}), "src", str(dm.ARG_SRC))
        errors_name(ValueError, lambda: fwd.execute(dm.Stream(), {}), "src", str(dm.ARG_SRC))
        bwd = dm.ShuffleBackward(dm.ShuffleBackward.Desc(md, 1, 3))
        errors_name(
            ValueError, lambda: bwd.execute(dm.Stream(), {dm.ARG_DIFF_DST: memory}), "diff_src", str(dm.ARG_DIFF_SRC)
        )
        errors_name(
            ValueError, lambda: bwd.execute(dm.Stream(), {dm.ARG_DIFF_SRC: memory}), "diff_dst", str(dm.ARG_DIFF_DST)
        )

    @each_implementation
    def test_unknown(self, implementation, errors_name):
        md = dm.MemoryDesc(SHAPE, "f4")
        src, dst = dm.Memory(md), dm.Memory(md)
        fwd = forward(md, implementation=implementation)
        arguments = {dm.ARG_SRC: src, dm.ARG_DST: dst}
        errors_name(ValueError, lambda: fwd.execute(dm.Stream(), {**arguments, 4242: src}), "4242")
        errors_name(
            ValueError, lambda: fwd.execute(dm.Stream(), {**arguments, dm.ARG_DIFF_SRC: dst}), str(dm.ARG_DIFF_SRC)
        )

    @pytest.mark.parametrize("key", ["src", 1.5, None])
    def test_keys_that_are_no_arguments(self, key):
        md = dm.MemoryDesc(SHAPE, "f4")
        with pytest.raises((TypeError, ValueError)):
            forward(md).execute(dm.Stream(), {key: dm.Memory(md), dm.ARG_SRC: dm.Memory(md), dm.ARG_DST: dm.Memory(md)})

    def test_of_a_split(self, errors_name):
        cut = dm.VariadicSplit(dm.VariadicSplit.Desc(dm.MemoryDesc((6,), "f4"), 0, [2, 4]))
        x, a = np.zeros(6, "f4"), np.zeros(2, "f4")
        arguments = {dm.ARG_SRC: x, dm.ARG_MULTIPLE_DST: a}
        errors_name(ValueError, lambda: cut.execute(dm.Stream(), arguments), str(dm.ARG_MULTIPLE_DST + 1))
        extra = {**arguments, dm.ARG_MULTIPLE_DST + 1: np.zeros(4, "f4"), dm.ARG_MULTIPLE_DST + 2: a}
        errors_name(ValueError, lambda: cut.execute(dm.Stream(), extra), "2")

    def test_things_that_are_no_memory(self):
        md = dm.MemoryDesc(SHAPE, "f4")
        for wrong in (None, 3, [1.0], "x", md):
            with pytest.raises(TypeError):
                forward(md).execute(dm.Stream(), {dm.ARG_SRC: wrong, dm.ARG_DST: dm.Memory(md)})

    def test_a_read_only_destination(self):
        md = dm.MemoryDesc(SHAPE, "f4")
        buffer = np.zeros(SHAPE, "f4")
        buffer.flags.writeable = False
        for dst in (buffer, dm.Memory(md, buffer=buffer)):
            with pytest.raises(ValueError, match=r"writ|read-only"):
                forward(md).execute(dm.Stream(), {dm.ARG_SRC: dm.Memory(md), dm.ARG_DST: dst})


@each_implementation
@pytest.mark.parametrize("tag", ["nchw", "nhwc", "nChw16c"])
def test_one_primitive_in_several_threads(implementation, tag):
    shape = (2, 60, 17, 19)
    md = dm.MemoryDesc(shape, "f4", tag)
    fwd = forward(md, 1, 20, implementation)
    wrong = []

    def work(seed):
        stream = dm.Stream()
        data = some.dense(shape, "f4", seed)
        src, dst = dm.Memory(md), dm.Memory(md)
        src.bytes[:] = np.frombuffer(oracle.to_layout(data, tag), np.uint8)
        expected = oracle.to_layout(oracle.shuffle(data, 1, 20), tag)
        for _ in range(20):
            dst.bytes[:] = 0
            fwd.execute(stream, {dm.ARG_SRC: src, dm.ARG_DST: dst})
            if dst.bytes.tobytes() != expected:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class TestImagesOf2GiB:
    """Offsets within one blocked image overflow 32 bits in oneDNN."""

    SHAPE = (1, 24, 8192, 8200)

    def test_are_native(self):
        for dtype, shape in (("i1", self.SHAPE), ("f4", (1, 16, 8192, 4100)), ("f4", (2, 8, 8192, 8200))):
            md = dm.MemoryDesc(shape, dtype, "nChw16c")
            assert md.size >= 2**31
            assert implementations(md, 1, 4) == ["native"]
            with pytest.raises(dm.UnimplementedError):
                forward(md, 1, 4, "onednn")

    def test_run(self, profile):
        if profile != "full" or os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 10 * 2**30:
            pytest.skip("only in the full profile, with 10 GiB of free memory")
        md = dm.MemoryDesc(self.SHAPE, "i1", "nChw16c")
        src, dst = dm.Memory(md), dm.Memory(md)
        pixels = self.SHAPE[2] * self.SHAPE[3]
        blocked = src.bytes.reshape(2, pixels, 16)
        values = some.random_bytes(24 * 300, 1).reshape(300, 24)
        places = np.linspace(0, pixels - 1, 300, dtype=np.int64)
        blocked[0, places], blocked[1, places, :8] = values[:, :16], values[:, 16:]
        forward(md, 1, 4).execute(dm.Stream(), {dm.ARG_SRC: src, dm.ARG_DST: dst})
        moved = dst.bytes.reshape(2, pixels, 16)
        expected = oracle.shuffle(values, 1, 4)
        assert (moved[0, places] == expected[:, :16]).all()
        assert (moved[1, places, :8] == expected[:, 16:]).all()
        assert not moved[1, :, 8:].any()
        assert np.count_nonzero(dst.bytes) == np.count_nonzero(values)


@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16, "f4", "f8"])
@pytest.mark.parametrize("tag", ["nhwc", "nChw8c", "nChw16c"])
def test_reorder_keeps_signalling_nans(dtype, tag):
    shape = (2, 12, 3, 4)
    data = some.dense(shape, dtype)
    bits = data.view(f"u{data.dtype.itemsize}")
    # Every exponent bit set, quiet bit clear, a payload: a signalling NaN.
    nan = {"float16": 0x7C01, "bfloat16": 0x7F81, "float32": 0x7F800001, "float64": 0x7FF0000000000001}
    bits[:, ::2] = nan[str(data.dtype)]
    plain, other, back = (dm.Memory(dm.MemoryDesc(shape, dtype, layout)) for layout in ("nchw", tag, "nchw"))
    plain.numpy()[...] = data.view(plain.numpy().dtype)
    plain.bytes[:] = data.reshape(-1).view("u1")
    dm.reorder(plain, other)
    assert other.bytes.tobytes() == oracle.to_layout(data, tag)
    dm.reorder(other, back)
    assert back.bytes.tobytes() == data.tobytes()


class TestManyDimensions:
    """oneDNN's objects hold 12 dimensions, the eager functions NumPy's."""

    def test_12_fit(self):
        shape = (2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 12)
        x = some.dense(shape, "f4")
        for implementation in ("native", "onednn"):
            oracle.assert_same(forward(dm.MemoryDesc.of(x), 11, 4, implementation)(x), oracle.shuffle(x, 11, 4))

    @pytest.mark.parametrize("ndim", [13, 20, 32])
    def test_more_are_a_clean_error(self, ndim, errors_name):
        md = dm.MemoryDesc((1,) * ndim, "f4")  # the package's own, which holds any number
        words = f"has {ndim} dimensions", "12"
        errors_name(ValueError, lambda: dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 1), "data_desc", *words)
        errors_name(ValueError, lambda: dm.ShuffleBackward.Desc(md, 1, 1), "diff_data_desc", *words)
        errors_name(ValueError, lambda: dm.Memory(md), "desc", *words)

    @pytest.mark.parametrize("ndim", [13, 20, 32, 64])
    def test_eager_calls_take_more(self, ndim):
        if ndim > 32 and np.lib.NumpyVersion(np.__version__) < "2.0.0":
            pytest.skip("this NumPy has 32 dimensions")
        shape = (2,) * 6 + (1,) * (ndim - 8) + (6, 3)
        x = some.dense(shape, "f4")
        order = range(ndim - 1, -1, -1)
        oracle.assert_same(dm.shuffle(x, ndim - 2, 3), oracle.shuffle(x, ndim - 2, 3))
        oracle.assert_same(dm.shuffle_backward(x, ndim - 2, 3), oracle.shuffle_backward(x, ndim - 2, 3))
        oracle.assert_same(dm.shuffle_channels(x, ndim - 2, 3), oracle.shuffle_channels(x, ndim - 2, 3))
        oracle.assert_same(dm.transpose(x, order), oracle.transpose(x, order))
        oracle.assert_same(dm.broadcast(x, shape), x)
        oracle.assert_same(dm.concat([x, x], -1), oracle.concat([x, x], -1))
        for part, right in zip(dm.split(x, -1, 3), oracle.split(x, -1, 3), strict=True):
            oracle.assert_same(part, right)

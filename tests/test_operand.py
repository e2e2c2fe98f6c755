"""Array arguments of every kind: what is read, what is refused, what comes back."""

import ml_dtypes
import numpy as np
import pytest

import dnnmove as dm

DTYPES = [
    "?",
    "i1",
    "<u2",
    ">i4",
    "f8",
    "c16",
    "M8[ns]",
    "S3",
    "U2",
    "V5",
    ml_dtypes.bfloat16,
    [("a", "i1"), ("b", "f8")],
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_fixed_size_dtype_keeps_its_bytes(dtype):
    dtype = np.dtype(dtype)
    x = np.random.default_rng(0).integers(0, 2, (6 * dtype.itemsize,), np.uint8).view(dtype).reshape(2, 3)
    y = dm.transpose(x)
    assert y.dtype == x.dtype
    assert y.flags.owndata
    assert y.tobytes() == np.ascontiguousarray(x.T).tobytes()


def test_items_without_bytes():
    records = np.zeros(3, [("text", "S0"), ("number", "i4")])
    result = dm.transpose(records["text"])
    assert result.dtype == np.dtype("S0")
    assert result.shape == (3,)
    assert dm.transpose(np.zeros((2, 3), "V0")).shape == (3, 2)


@pytest.mark.parametrize("shape", [(), (0, 3), (1,) * 40])
def test_ranks(shape):
    x = np.zeros(shape)
    assert dm.transpose(x).shape == shape[::-1]


def test_unaligned_and_broadcast_sources():
    raw = np.arange(49, dtype=np.uint8)[1:].view(np.uint8)
    x = raw.view("i4").reshape(3, 4)
    assert (dm.transpose(x) == x.T).all()
    repeated = np.broadcast_to(np.arange(4), (3, 4))
    assert (dm.transpose(repeated) == repeated.T).all()


def test_subclasses_give_base_arrays():
    class Tagged(np.ndarray):
        pass

    assert type(dm.transpose(np.zeros((2, 3)).view(Tagged))) is np.ndarray
    with pytest.raises(TypeError, match="masked"):
        dm.transpose(np.ma.zeros((2, 3)))


@pytest.mark.parametrize(
    "value",
    [[1, 2], (1,), 3, 2.5, b"ab", bytearray(2), "ab", np.float32(1), None, object()],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_array(value):
    with pytest.raises(TypeError, match="data must be an array"):
        dm.transpose(value)


def test_object_dtypes():
    for x in (np.array([None]), np.zeros(2, [("a", "i4"), ("b", "O")])):
        with pytest.raises(TypeError, match="dtype"):
            dm.transpose(x)


class Exported:
    """A minimal array library of the CPU, or of what `device` says."""

    def __init__(self, array, device=1):
        self.array = array
        self.device = device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device, 0


def test_unknown_libraries_give_numpy():
    x = np.arange(6.0).reshape(2, 3)
    result = dm.transpose(Exported(x))
    assert type(result) is np.ndarray
    assert (result == x.T).all()


def test_other_devices_are_refused():
    with pytest.raises(ValueError, match="CPU"):
        dm.transpose(Exported(np.zeros(3), device=2))


def test_failing_exporters_are_type_errors():
    class Broken(Exported):
        def __dlpack__(self, **options):
            raise BufferError("no such luck")

    with pytest.raises(TypeError, match="no such luck"):
        dm.transpose(Broken(np.zeros(3)))


def test_memory_gives_memory():
    x = np.arange(12, dtype="f4").reshape(3, 4)
    memory = dm.Memory(dm.MemoryDesc.of(x), buffer=x)
    result = dm.transpose(memory)
    assert type(result) is dm.Memory
    assert (result.numpy() == x.T).all()
    out = np.empty((4, 3), "f4")
    assert dm.transpose(memory, out=out) is out
    assert (out == x.T).all()


def test_blocked_memory():
    x = np.random.default_rng(0).random((2, 20, 3, 3), np.float32)
    blocked = dm.Memory(dm.MemoryDesc(x.shape, "f4", "nChw16c"))
    dm.reorder(dm.Memory(dm.MemoryDesc.of(x), buffer=x), blocked)
    shuffled = dm.shuffle(blocked, 1, 5)
    assert shuffled.desc == blocked.desc
    plain = dm.Memory(dm.MemoryDesc.of(x))
    dm.reorder(shuffled, plain)
    assert (plain.numpy() == dm.shuffle(x, 1, 5)).all()
    assert (dm.shuffle_backward(shuffled, 1, 5).bytes == blocked.bytes).all()
    for call in (dm.transpose, lambda data: dm.split(data, 1, 2), lambda data: dm.concat([data])):
        with pytest.raises(ValueError, match="reorder"):
            call(blocked)


class TestTorch:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    def test_kind_and_memory_order(self, torch):
        x = torch.randn(2, 8, 4, 3).contiguous(memory_format=torch.channels_last)
        result = dm.shuffle_channels(x, 1, 2)
        assert result.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(result, torch.channel_shuffle(x, 2))

    @pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "bool", "uint16"])
    def test_dtypes(self, torch, name):
        raw = torch.arange(24, dtype=torch.uint8) % 2
        x = raw.view(getattr(torch, name)).reshape(2, -1)
        result = dm.transpose(x)
        assert result.dtype == x.dtype
        assert torch.equal(result.view(torch.uint8), x.T.contiguous().view(torch.uint8))

    def test_kinds_of_out_may_mix(self, torch):
        x = np.arange(6.0).reshape(2, 3)
        out = torch.empty(3, 2, dtype=torch.float64)
        assert dm.transpose(x, out=out) is out
        assert (out.numpy() == x.T).all()

    def test_what_bytes_alone_do_not_say_is_refused(self, torch):
        complex_numbers = torch.zeros(3, dtype=torch.complex64).conj()
        for x in (
            complex_numbers,
            complex_numbers.imag,
            torch.eye(3).to_sparse(),
            torch.empty(3, device="meta"),
        ):
            with pytest.raises(TypeError):
                dm.transpose(x)


def test_jax_gives_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(6, dtype="bfloat16").reshape(2, 3)
    result = dm.transpose(x)
    assert isinstance(result, jax.Array)
    assert (np.asarray(result) == np.asarray(x).T).all()


@pytest.mark.parametrize(
    "order", [(1.0, 0), (True, False), np.array([1.0, 0.0]), np.array([True, False]), "10", {0, 1}, None]
)
def test_orders_of_the_wrong_type(order):
    with pytest.raises(TypeError, match="input_order"):
        dm.transpose(np.zeros((2, 3)), order)


@pytest.mark.parametrize("order", [[2**70, 0], 1, np.array(1), np.array([[1, 0]]), np.array([2**63, 0], np.uint64)])
def test_orders_of_the_wrong_value(order):
    with pytest.raises(ValueError, match="input_order"):
        dm.transpose(np.zeros((2, 3)), order)


@pytest.mark.parametrize("dtype", ["i1", "u1", ">i2", "i8", "<u4"])
def test_integer_arrays_are_orders(dtype):
    assert dm.transpose(np.zeros((2, 3, 4)), np.array([2, 9, 0, 9, 1], dtype)[::2]).shape == (4, 2, 3)


def test_impossible_sizes():
    for shape in ((2**40, 2**40, 3), (0, 2**40, 2**40, 3), (1,) * 64 + (3,)):
        with pytest.raises(ValueError, match="target_shape"):
            dm.broadcast(np.zeros(3), shape)
    with pytest.raises(MemoryError):
        dm.broadcast(np.zeros(3), (2**30, 2**20, 3))

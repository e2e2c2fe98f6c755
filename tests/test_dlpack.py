"""Any CPU object with __dlpack__ is an array: jax, and objects that only speak the protocol."""

import ctypes
import gc
import weakref

import ml_dtypes
import numpy as np
import oracle
import pytest
import strategies as some
from dlpack_structures import OnlyDlpack, Tensor, Unversioned

import dnnmove as dm


class OldDlpack(OnlyDlpack):
    """One that knows no option but stream, as before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


CALLS = {
    "shuffle": (1, 4),
    "shuffle_backward": (1, 4),
    "shuffle_channels": (1, 4),
    "transpose": ((2, 0, 1),),
    "broadcast": ((3, 2, 12, 5),),
}


@pytest.mark.parametrize("kind", [OnlyDlpack, OldDlpack])
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_every_dtype(kind, dtype):
    data = some.dense((2, 12, 5), "u1" if dtype == "?" else dtype)
    data = data > 127 if dtype == "?" else data
    for name, arguments in CALLS.items():
        oracle.assert_same(getattr(dm, name)(kind(data), *arguments), getattr(oracle, name)(data, *arguments))
    for part, right in zip(dm.split(kind(data), 1, 3), oracle.split(data, 1, 3), strict=True):
        oracle.assert_same(part, right)
    oracle.assert_same(dm.concat([kind(data), data]), oracle.concat([data, data]))


@pytest.mark.parametrize("index", [np.s_[:, ::2], np.s_[:, ::-1], np.s_[1:, 3:9, 1:4], np.s_[:, :, :0], np.s_[0, 0, 0]])
def test_strides(index):
    data = some.dense((2, 12, 5), "f4")[index] if index != np.s_[0, 0, 0] else some.dense((), "f4")
    oracle.assert_same(dm.transpose(OnlyDlpack(data)), oracle.transpose(data))


def test_a_library_without_a_namespace_gives_numpy():
    data = some.dense((4, 6), "f4")
    assert type(dm.transpose(OnlyDlpack(data))) is np.ndarray


def test_out():
    x, out = some.dense((4, 6), "f4"), np.zeros((6, 4), "f4")
    wrapped = OnlyDlpack(out)
    assert dm.transpose(OnlyDlpack(x), out=wrapped) is wrapped
    oracle.assert_same(out, oracle.transpose(x))


def test_the_memory_is_kept_while_it_is_read_and_then_let_go():
    data = some.dense((4, 6), "f4")
    expected = oracle.transpose(data)
    watch = weakref.ref(data)
    wrapped = OnlyDlpack(data)
    del data
    for _ in range(10):
        result = dm.transpose(wrapped)
    del wrapped
    gc.collect()
    assert watch() is None
    oracle.assert_same(result, expected)


class Broken:
    def __init__(self, capsule, device=(1, 0)):
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **options):
        if isinstance(self.capsule, Exception):
            raise self.capsule
        return self.capsule

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize(
    "broken",
    [
        Broken(None),
        Broken(3),
        Broken("capsule"),
        Broken(object()),
        Broken(BufferError("not now")),
        Broken(None, (2, 0)),
        Broken(None, None),
        Broken(None, "cpu"),
        Broken(np.ones(3).__dlpack__(), (2, 0)),
    ],
    ids=range(9),
)
def test_broken_exporters(broken):
    with pytest.raises((TypeError, ValueError, BufferError)):
        dm.transpose(broken)


def test_a_used_capsule():
    capsule = np.ones((2, 3)).__dlpack__()
    oracle.assert_same(dm.transpose(Broken(capsule)), np.ones((3, 2)))
    with pytest.raises((TypeError, ValueError, BufferError)):
        dm.transpose(Broken(capsule))


def test_a_capsule_of_something_else():
    datetime = pytest.importorskip("datetime")
    with pytest.raises((TypeError, ValueError, BufferError)):
        dm.transpose(Broken(datetime.datetime_CAPI))


@pytest.mark.parametrize(
    ("shape", "strides", "words"),
    [
        (None, None, "no shape"),
        ((-4,), None, "negative length, -4, on axis 0"),
        ((2,), (2**62,), "63 bits"),
        ((2,), (-(2**62),), "63 bits"),
        ((3, 3), (2**59, 2**59), "63 bits"),
        ((2**62,), None, "63 bits"),
        ((2**40, 2**40), None, "63 bits"),
        ((2**40, 2**40), (1, 2**40), "63 bits"),
    ],
)
def test_tensors_that_cannot_be(shape, strides, words):
    memory = np.arange(4.0)
    integers = [None if dims is None else (ctypes.c_int64 * len(dims))(*dims) for dims in (shape, strides)]
    tensor = Unversioned(Tensor(memory.ctypes.data, (1, 0), len(shape or (0,)), 2, 64, 1, *integers))
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    for call in (dm.transpose, lambda x: dm.split(x, 0, 1), lambda x: dm.concat([x, x]), dm.MemoryDesc.of):
        with pytest.raises((TypeError, ValueError), match=words):
            call(Broken(new_capsule(ctypes.addressof(tensor), b"dltensor", None)))


def test_the_class_itself_is_no_array():
    for thing in (OnlyDlpack, np.ndarray):
        with pytest.raises(TypeError):
            dm.transpose(thing)


@pytest.fixture(scope="module")
def jnp():
    return pytest.importorskip("jax.numpy")


class TestJax:
    """jax arrays in."""

    @pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64"])
    def test_every_dtype(self, jnp, dtype):
        data = (np.arange(120) % 7).reshape(2, 12, 5).astype(getattr(ml_dtypes, dtype, dtype))
        x = jnp.asarray(data)
        for name, arguments in CALLS.items():
            result = getattr(dm, name)(x, *arguments)
            assert type(result) is type(x)
            assert result.unsafe_buffer_pointer() % 64 == 0  # what we allocated: jax copies memory that lies worse
            oracle.assert_same(np.asarray(result), getattr(oracle, name)(data, *arguments))
        for part, right in zip(dm.variadic_split(x, 1, [5, -1]), oracle.variadic_split(data, 1, [5, 7]), strict=True):
            oracle.assert_same(np.asarray(part), right)

    def test_is_never_written(self, jnp):
        x = jnp.zeros((4, 6))
        with pytest.raises((TypeError, ValueError, BufferError)):
            dm.transpose(np.ones((6, 4), "f4"), out=x)
        assert not np.asarray(x).any()


class TestMemory:
    """Memory in, Memory out."""

    @pytest.mark.parametrize("layout", [None, "nhwc", "nchw"])
    def test_shuffles(self, layout):
        data = some.dense((2, 12, 5, 7), "f4")
        memory = dm.Memory(dm.MemoryDesc(data.shape, "f4", layout))
        memory.numpy()[...] = data
        for name in ("shuffle", "shuffle_backward", "shuffle_channels"):
            result = getattr(dm, name)(memory, 1, 4)
            assert type(result) is dm.Memory
            oracle.assert_same(result.numpy(), getattr(oracle, name)(data, 1, 4))
            assert result.desc == memory.desc

    def test_others(self):
        data = some.dense((2, 12, 5), "i2")
        memory = dm.Memory(dm.MemoryDesc.of(data), buffer=data)
        for result, expected in (
            (dm.transpose(memory, (2, 0, 1)), oracle.transpose(data, (2, 0, 1))),
            (dm.broadcast(memory, (3, 2, 12, 5)), oracle.broadcast(data, (3, 2, 12, 5))),
            (dm.concat([memory, memory], 1), oracle.concat([data, data], 1)),
        ):
            assert type(result) is dm.Memory
            assert result.desc == dm.MemoryDesc(expected.shape, "i2")
            oracle.assert_same(result.numpy(), expected)
        parts = dm.variadic_split(memory, 1, [5, -1])
        assert [type(part) for part in parts] == [dm.Memory, dm.Memory]
        for part, right in zip(parts, oracle.variadic_split(data, 1, [5, 7]), strict=True):
            oracle.assert_same(part.numpy(), right)

    def test_out(self):
        data = some.dense((4, 6), "f8")
        memory, out = dm.Memory(dm.MemoryDesc.of(data), buffer=data), dm.Memory(dm.MemoryDesc((6, 4), "f8"))
        assert dm.transpose(memory, out=out) is out
        oracle.assert_same(out.numpy(), oracle.transpose(data))
        with pytest.raises(ValueError, match="overlap"):
            dm.shuffle(memory, 1, 2, out=memory)

    def test_blocked_says_to_reorder(self):
        memory = dm.Memory(dm.MemoryDesc((2, 16, 3, 3), "f4", "nChw16c"))
        for call in (
            lambda: dm.transpose(memory),
            lambda: dm.split(memory, 1, 2),
            lambda: dm.broadcast(memory, (2, 16, 3, 3)),
            lambda: dm.concat([memory, memory]),
        ):
            with pytest.raises(ValueError, match="reorder"):
                call()

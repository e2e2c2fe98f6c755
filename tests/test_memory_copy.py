"""Copies of a Memory own their bytes: copy, deepcopy, and pickle in every protocol."""

import copy
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import dnnmove as dm

BITS = np.random.default_rng(3)
BASE = BITS.integers(0, 256, (6, 16), dtype="u1")
MEMORIES = {
    "dense": lambda: over(BASE.copy()),
    "bfloat16": lambda: over(BASE.view(ml_dtypes.bfloat16)),
    "float8": lambda: over(BASE.view(ml_dtypes.float8_e4m3fn)),
    "struct": lambda: over(BASE.view([("a", "S3"), ("b", ">f4"), ("c", "V1")])),
    "transposed": lambda: over(BASE.view("f4").T),
    "strided": lambda: over(BASE.view("i2")[::2, 1::3]),
    "reversed": lambda: over(BASE.view("i4")[::-1, ::-2]),
    "repeated": lambda: over(np.broadcast_to(BASE[0], (4, 16))),
    "windows": lambda: over(np.lib.stride_tricks.sliding_window_view(BASE[0], 5)),
    "scalar": lambda: over(BASE.view("f8")[0, :1].reshape(())),
    "empty": lambda: dm.Memory(dm.MemoryDesc((3, 0, 2), "f4")),
    "owned": lambda: filled(dm.MemoryDesc((2, 3, 4, 5), "f4", "nhwc")),
    "pitched": lambda: filled(dm.MemoryDesc((4, 3), "f4", (10, 1))),
    "blocked": lambda: filled(dm.MemoryDesc((2, 32, 3, 3), "f4", "nChw16c")),
    "padded": lambda: filled(dm.MemoryDesc((2, 20, 3, 3), "bfloat16", "nChw16c")),
    "part": lambda: part_of("f4", None),
    "blocked part": lambda: part_of("f4", "nChw16c"),
    "large": lambda: filled(dm.MemoryDesc((1 << 20,), "u1")),
}


def over(array):
    return dm.Memory(dm.MemoryDesc.of(array), buffer=array)


def filled(desc):
    memory = dm.Memory(desc)
    memory.bytes[:] = BITS.integers(0, 256, memory.bytes.size, dtype="u1")
    return memory


def part_of(dtype, tag):
    whole = filled(dm.MemoryDesc((2, 64, 3, 3), dtype, tag))
    return dm.Memory(whole.desc.submemory_desc((1, 32, 2, 3), (1, 16, 1, 0)), buffer=whole.bytes)


def elements(memory):
    """The bits of the elements, in C order."""
    if memory.desc.inner_blocks:
        plain = dm.Memory(dm.MemoryDesc(memory.desc.dims, memory.desc.dtype))
        dm.reorder(memory, plain)
        memory = plain
    return memory.numpy().tobytes()


def out_of_band(memory):
    buffers = []
    data = pickle.dumps(memory, 5, buffer_callback=buffers.append)
    assert len(data) < 2000
    return pickle.loads(data, buffers=buffers)


again = pytest.mark.parametrize(
    "again",
    [
        *(pytest.param(lambda m, p=p: pickle.loads(pickle.dumps(m, p)), id=f"pickle {p}") for p in range(6)),
        pytest.param(out_of_band, id="out of band"),
        copy.copy,
        copy.deepcopy,
    ],
)


@again
@pytest.mark.parametrize("name", MEMORIES)
def test_the_same_elements_in_bytes_of_its_own(again, name):
    memory = MEMORIES[name]()
    made = again(memory)
    assert type(made) is dm.Memory
    assert made.desc == memory.desc
    assert repr(made.desc) == repr(memory.desc)
    assert made.engine == memory.engine
    assert elements(made) == elements(memory)
    assert made.bytes.size == made.desc.size
    assert made.data_handle % 64 == 0
    if made.desc.is_dense:
        assert made.bytes.tobytes() == memory.bytes.tobytes()  # padding too
    assert not np.shares_memory(made.bytes, memory.bytes)
    assert made.bytes.flags.writeable
    before = elements(memory)
    del memory
    made.bytes[:] ^= 255
    assert not before or made.bytes.any()


def test_what_lies_between_the_elements_stays_at_home():
    secret = np.full((8, 10), 77, "u1")
    secret[:, :3] = 1
    for memory in (over(secret[:, :3]), over(secret[::2, ::-5])):
        wanted = elements(memory)
        for made in (copy.copy(memory), pickle.loads(pickle.dumps(memory))):
            assert elements(made) == wanted
            assert made.bytes.sum() == np.frombuffer(wanted, "u1").sum()
        if 77 not in wanted:
            assert bytes([77, 77]) not in pickle.dumps(memory)
    sparse = over(np.zeros((1 << 20,), "u1")[::1024])
    assert len(pickle.dumps(sparse)) < 4096


def test_out_of_band_buffers_are_the_memory_itself():
    memory = MEMORIES["large"]()
    buffers = []
    pickle.dumps(memory, 5, buffer_callback=buffers.append)
    (buffer,) = buffers
    assert np.frombuffer(buffer, "u1").ctypes.data == memory.data_handle
    made = pickle.loads(pickle.dumps(memory, 5, buffer_callback=lambda _: None), buffers=[bytes(buffer.raw())])
    assert made.bytes.tobytes() == memory.bytes.tobytes()
    assert made.bytes.flags.writeable


def test_data_of_another_size_are_refused():
    memory = MEMORIES["strided"]()
    restore, (cls, desc, engine, data) = memory.__reduce_ex__(4)[:2]
    for wrong in (b"", data[:-1], data + b"0"):
        with pytest.raises(ValueError, match=f"data has {len(wrong)} bytes, but must have {len(data)}"):
            restore(cls, desc, engine, wrong)
    for wrong in (int, "Memory"):
        with pytest.raises(TypeError, match="cls"):
            restore(wrong, desc, engine, data)
    with pytest.raises(TypeError):
        restore(cls, desc, engine, 3)


def test_a_read_only_memory():
    frozen = BASE.copy()
    frozen.flags.writeable = False
    for made in (copy.copy(over(frozen)), pickle.loads(pickle.dumps(over(frozen), 5)), out_of_band(over(frozen))):
        made.bytes[0] = 1


class Labelled(dm.Memory):
    """A Memory with attributes."""

    def __init__(self, desc, label):
        super().__init__(desc)
        self.label = label


@again
def test_subclasses_keep_their_attributes(again):
    memory = Labelled(dm.MemoryDesc((4,), "i4"), ["a"])
    memory.numpy()[:] = 5
    memory.me = memory
    made = again(memory)
    assert type(made) is Labelled
    assert made.label == ["a"]
    assert made.numpy().tolist() == [5] * 4
    assert made.label is not memory.label or again is copy.copy
    assert made.me is (memory if again is copy.copy else made)


def test_an_array_of_a_list_of_memories_is_copied_once():
    memory = MEMORIES["dense"]()
    first, second = copy.deepcopy([memory, memory])
    assert first is second


def test_no_protocol_ends_the_process():
    program = (
        "import copyreg, pickle, dnnmove as dm\n"
        "m = dm.Memory(dm.MemoryDesc((2, 3), 'f4'))\n"
        "for protocol in range(6):\n"
        "    assert pickle.loads(pickle.dumps(m, protocol)).desc == m.desc\n"
        "try:\n"
        "    copyreg._reduce_ex(m, 0)\n"
        "except TypeError:\n"
        "    pass\n"
        "try:\n"
        "    pickle.dumps(dm.Memory.__new__(dm.Memory), 0)\n"
        "except TypeError as error:\n"
        "    assert 'not initialized' in str(error), error\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

"""Arguments that run Python code while they are read, and change the others meanwhile: never a crash.

Each program runs in an interpreter of its own, since what fails here ends the process.
"""

import sys

import numpy as np
import pytest

import dnnmove as dm

# Kinds of objects whose reading runs `attack`, and what an attack does to an array that was read before.
PRELUDE = """
import ctypes, gc, sys
import numpy as np
import dnnmove as dm

class Exports:
    '''An array that only speaks DLPack and attacks while it is asked.'''
    def __init__(self, array, attack):
        self.array, self.attack = array, attack
    def __dlpack__(self, **options):
        self.attack()
        return self.array.__dlpack__(**options)
    def __dlpack_device__(self):
        return (1, 0)

class Items(list):
    '''A sequence whose iteration attacks.'''
    def __iter__(self):
        self.attack()
        return list.__iter__(self)

def spoil():
    # What was freed is used again, so that reading it shows.
    return [np.full(size, 0x5A, "u1") for size in (16, 32, 48, 64, 96, 128, 1024, 4096) for _ in range(64)]

def resize(array):
    def attack():
        array.resize((1,), refcheck=False)
        globals().setdefault("kept", []).append(spoil())
    return attack

def retype(array):
    def attack():
        array.dtype = "i8"
        globals().setdefault("kept", []).append(spoil())
    return attack

def reshape(array):
    def attack():
        array.shape = (array.size,)
        globals().setdefault("kept", []).append(spoil())
    return attack

def fresh():
    # A dtype object that nothing but its array keeps.
    return np.dtype("f8", metadata={"of": "one array"})

def zeros(*shape):
    # Large enough for memory of its own, which is unmapped when it shrinks.
    return np.zeros(shape, fresh())

def survive(call):
    try:
        call()
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        print(type(error).__name__, str(error)[:100])
"""

# The array x is read before the object that attacks it is.
CALLS = {
    "transpose out": "dm.transpose(x, out=Exports(zeros(2048, 2560), attack(x)))",
    "shuffle out": "dm.shuffle(x, 0, 2, out=Exports(zeros(2560, 2048), attack(x)))",
    "broadcast out": "dm.broadcast(x, (2, 2560, 2048), out=Exports(zeros(2, 2560, 2048), attack(x)))",
    "split out": "dm.split(x, 0, 2, out=[zeros(1280, 2048), Exports(zeros(1280, 2048), attack(x))])",
    "split earlier out": "dm.split(zeros(5120, 2048), 0, 2, out=[x, Exports(zeros(2560, 2048), attack(x))])",
    "split sequence": "dm.split(x, 0, 2, out=items)",
    "concat": "dm.concat([x, Exports(zeros(2560, 2048), attack(x))])",
    "concat out": "dm.concat([x, x], out=Exports(zeros(5120, 2048), attack(x)))",
    "primitive out": "transpose(x, out=Exports(zeros(2048, 2560), attack(x)))",
    "primitive execute": "transpose.execute(None, {dm.ARG_SRC: x, dm.ARG_DST: Exports(zeros(2048, 2560), attack(x))})",
    "primitive split": "split(x, out=[zeros(1280, 2048), Exports(zeros(1280, 2048), attack(x))])",
    "built chain": "built(x, out=Exports(zeros(2048, 2560), attack(x)))",
    "built chain of two passes": "staged(x, out=Exports(zeros(2560, 2048), attack(x)))",
}


@pytest.mark.parametrize("attack", ["resize", "retype", "reshape"])
def test_an_operand_changes_another_while_it_is_read(run_python, attack):
    calls = "".join(f"    {name!r}: lambda: {call},\n" for name, call in CALLS.items())
    run_python(
        PRELUDE
        + f"""
attack = {attack}
calls = {{
{calls}}}
for name in calls:
    print(name, flush=True)
    for _ in range(2):
        x = zeros(2560, 2048)
        md = dm.MemoryDesc(x.shape, fresh())
        transpose = dm.Transpose(dm.Transpose.Desc(md))
        split = dm.VariadicSplit(dm.VariadicSplit.Desc(md, 0, [1280, 1280]))
        built = dm.Chain(md).transpose().build()
        staged = dm.Chain(md).shuffle(0, 2).transpose().reshape((2560, 2048)).shuffle(1, 2).build(max_nests=1)
        items = Items([zeros(1280, 2048), zeros(1280, 2048)])
        items.attack = attack(x)
        survive(calls[name])
"""
    )


def test_a_finalizer_changes_an_operand_while_the_result_is_made(run_python):
    run_python(
        PRELUDE
        + """
class Bomb:
    def __init__(self):
        self.me = self
    def __del__(self):
        if x.size > 1:
            x.resize((1,), refcheck=False)

def explode_soon():
    # Whatever the collector follows and is made next may start it.
    gc.set_threshold(1, 1, 1)
    Bomb()

gc.disable()
for call in (
    lambda: dm.transpose(x),
    lambda: dm.split(x, 0, 2),
    lambda: dm.concat([x, x]),
    lambda: transpose(x),
    lambda: split(x),
    lambda: built(x),
    lambda: staged(x),
):
    x = zeros(2560, 2048)
    md = dm.MemoryDesc(x.shape, "f8")
    transpose = dm.Transpose(dm.Transpose.Desc(md))
    split = dm.VariadicSplit(dm.VariadicSplit.Desc(md, 0, [1280, 1280]))
    built = dm.Chain(md).transpose().build()
    staged = dm.Chain(md).shuffle(0, 2).transpose().reshape((2560, 2048)).shuffle(1, 2).build(max_nests=1)
    Bomb()
    gc.enable()
    gc.set_threshold(1, 1, 1)
    survive(call)
    gc.disable()
    gc.set_threshold(700, 10, 10)
"""
    )


def test_field_names_and_titles_are_compared_by_their_text_only(run_python):
    run_python(
        PRELUDE
        + """
class Text(str):
    __hash__ = str.__hash__
    def __eq__(self, other):
        x.resize((1,), refcheck=False)
        return str.__eq__(self, other)

class Title:
    def __eq__(self, other):
        x.resize((1,), refcheck=False)
        return True
    def __hash__(self):
        return 1

def dtype(i):
    if i == 0:
        return np.dtype([((Text("title"), "name"), "f4"), ("b", "f4")])
    if i == 1:
        return np.dtype({"names": [Text("a"), Text("b")], "formats": ["f4", "f4"]})
    return np.dtype({"names": ["a", "b"], "formats": ["f4", "f4"], "titles": [Title(), "second"]})

for i in range(3):
    for call in (
        lambda: dm.transpose(x, out=np.zeros(x.shape[::-1], dtype(i))),
        lambda: dm.concat([x, np.zeros(x.shape, dtype(i))]),
        lambda: dm.split(x, 0, 2, out=[np.zeros((1280, 2048), dtype(i)) for _ in range(2)]),
        lambda: dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc(x.shape, dtype(i))))(x),
        lambda: dm.Memory(dm.MemoryDesc(x.shape, dtype(i)), buffer=x),
    ):
        x = np.zeros((2560, 2048), dtype(i))
        survive(call)
        assert x.size > 1
"""
    )


def test_deleters_that_run_python_code_with_an_error_on_its_way(run_python):
    run_python(
        """
import ctypes
import numpy as np, dnnmove as dm

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
deleted = []

@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def deleter(address):
    deleted.append([int(str(k)) for k in range(3)])

data = np.arange(6.0)
shape = (ctypes.c_int64 * 2)(2, 3)

class Old:
    def __init__(self, raises):
        self.raises = raises
    def __dlpack__(self, stream=None):
        self.tensor = Tensor(data.ctypes.data, (1, 0), 2, 2, 64, 1, ctypes.addressof(shape), None, 0, None,
                             ctypes.cast(deleter, ctypes.c_void_p).value)
        return new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)
    def __dlpack_device__(self):
        return (1, 0)

class Failing:
    def __dlpack__(self, **options):
        raise KeyboardInterrupt
    def __dlpack_device__(self):
        return (1, 0)

assert (dm.transpose(Old(False)) == data.reshape(2, 3).T).all() and len(deleted) == 1
try:
    dm.concat([Old(False), Failing()])
except KeyboardInterrupt:
    pass
assert len(deleted) == 2
try:
    dm.transpose(np.ones((2, 3)), out=Old(False))
except ValueError as error:
    assert "read-only" in str(error)
assert len(deleted) == 3
"""
    )


def test_a_memory_is_an_array_of_integers(run_python):
    run_python(
        """
import numpy as np, dnnmove as dm
def memory(values, dtype="i8"):
    array = np.array(values, dtype)
    return dm.Memory(dm.MemoryDesc.of(array), buffer=array)
x = np.arange(24).reshape(4, 6)
for dtype in ("i8", ">i4", "u1"):
    assert [part.shape for part in dm.variadic_split(x, memory(1, dtype), [2, 4])] == [(4, 2), (4, 4)]
    assert [part.shape for part in dm.variadic_split(x, 1, memory([2, 4], dtype))] == [(4, 2), (4, 4)]
    assert (dm.transpose(x, memory([1, 0], dtype)) == x.T).all()
    assert dm.broadcast(x, memory([2, 4, 6], dtype)).shape == (2, 4, 6)
    assert dm.MemoryDesc(memory([2, 4], dtype), "f4").dims == (2, 4)
"""
    )


def test_what_builds_a_primitive_cannot_be_replaced():
    # It was an attribute of the type once, which whoever assigned to it replaced.
    assert not [name for name in dir(dm.Transpose) if "builder" in name]
    x = np.arange(6.0).reshape(2, 3)
    try:
        dm.Transpose._dnnmove_builder = lambda *_: 1 / 0
        assert (dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x)))(x) == x.T).all()
    finally:
        del dm.Transpose._dnnmove_builder


@pytest.mark.parametrize("device", [2**32 + 1, 2**64 + 1, -(2**32) + 1, 2, "1"])
def test_only_the_cpu_is_the_cpu(device):
    class Elsewhere:
        def __dlpack_device__(self):
            return device, 0

        def __dlpack__(self, **_):
            raise AssertionError("asked for its memory")

    with pytest.raises((ValueError, TypeError), match=r"device|DLPack"):
        dm.transpose(Elsewhere())


def test_chains_of_strides_that_are_no_whole_elements():
    packed = np.zeros(5, np.dtype([("a", "i2"), ("b", "f4")], align=False))["b"]
    assert packed.strides == (6,)
    with pytest.raises(ValueError, match=r"array.strides\[0\] \(6 bytes\) must be a whole number of elements"):
        dm.Chain.of(packed)
    one = packed[:1]  # a stride that takes no step says nothing
    assert dm.Chain.of(one).src_desc.strides == (1,)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the address space")
def test_threads_that_find_no_memory(run_python):
    program = """
import resource
import numpy as np
import dnnmove as dm

x = np.arange(1 << 24, dtype="i4").reshape(4096, 4096)
y = np.empty_like(x)
dm.set_num_threads(4096)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), used + (64 << 20)))
for _ in range(3):
    dm.transpose(x, out=y)
assert (y[::64] == x.T[::64]).all()
print("survived")
"""
    assert "survived" in run_python(program)
    assert "survived" in run_python(program.replace("64 << 20", "1 << 20"))


def test_a_memory_that_finds_no_memory_says_how_much():
    with pytest.raises(MemoryError, match=r"unable to allocate 140737488355328 bytes for a Memory of MemoryDesc"):
        dm.Memory(dm.MemoryDesc((2**45,), "f4"))

"""Objects that were made around their __init__, or by a class that is not meant to be called: never a crash."""

PRELUDE = """
import copy, pickle
import numpy as np
import dnnmove as dm

CLASSES = [dm.Memory, dm.MemoryDesc, dm.Engine, dm.Stream, dm.num_threads, dm.Chain, dm.ShuffleForward.Desc,
           dm.ShuffleForward.PrimitiveDesc, dm.ShuffleBackward.Desc, dm.ShuffleBackward.PrimitiveDesc,
           dm.ShuffleChannels.Desc, dm.Transpose.Desc, dm.VariadicSplit.Desc, dm.Broadcast.Desc]
PRIMITIVES = [dm.ShuffleForward, dm.ShuffleBackward, dm.ShuffleChannels, dm.Transpose, dm.VariadicSplit, dm.Broadcast]

def refused(call, *kinds):
    try:
        call()
    except kinds or (TypeError, AttributeError) as error:
        return str(error)
    raise AssertionError("not refused")
"""


def test_every_use_of_an_object_without_init_is_a_type_error(run_python):
    run_python(
        PRELUDE
        + """
md = dm.MemoryDesc((2, 3), "f4")
x = np.zeros((2, 3), "f4")
transpose = dm.Transpose(dm.Transpose.Desc(md))
for cls in CLASSES:
    class Early(cls):
        used = False
        def __init__(self, *arguments):
            if not Early.used:
                Early.used = True
                use_all(self, cls)
            super().__init__(*arguments)

    def use_all(thing, of):
        for name in dir(of):
            if name == "__init__" or name in vars(object):
                continue
            print(of, name, flush=True)
            try:
                attribute = getattr(thing, name)
            except TypeError as error:
                assert "is not initialized" in str(error), error
                continue
            for arguments in ((), (1,), (1, 1), ((1, 0),), (thing,)):
                try:
                    attribute(*arguments)
                except (TypeError, ValueError):
                    pass
        for call in (lambda: repr(thing), lambda: pickle.dumps(thing, 0), lambda: pickle.dumps(thing),
                     lambda: copy.copy(thing), lambda: copy.deepcopy(thing), lambda: thing == thing,
                     lambda: hash(thing)):
            try:
                call()
            except TypeError:
                pass

    thing = cls.__new__(cls)
    use_all(thing, cls)
    for call in (lambda: dm.transpose(thing), lambda: dm.transpose(x, out=thing), lambda: dm.concat([thing, thing]),
                 lambda: dm.variadic_split(x, 0, thing), lambda: dm.Memory(thing), lambda: dm.Memory(md, thing),
                 lambda: dm.Memory(md, None, thing), lambda: dm.MemoryDesc(thing, "f4"),
                 lambda: dm.MemoryDesc.of(thing), lambda: dm.Chain(thing), lambda: dm.Chain.of(thing),
                 lambda: dm.reorder(thing, thing), lambda: dm.Transpose.Desc(thing), lambda: dm.Stream(thing),
                 *(lambda p=p: p(thing) for p in PRIMITIVES), lambda: dm.ShuffleForward.PrimitiveDesc(thing),
                 lambda: transpose.execute(thing, {}), lambda: transpose(thing), lambda: md == thing or int("no")):
        refused(call, TypeError, ValueError)
    try:
        Early((2, 3), "f4")
    except (TypeError, ValueError):
        pass
message = refused(lambda: dm.Memory.__new__(dm.Memory).numpy())
assert "Memory object is not initialized: its __init__ was not called" in message
"""
    )


def test_base_classes_cannot_be_called(run_python):
    run_python(
        PRELUDE
        + """
for cls in CLASSES:
    base = cls.__base__
    refused(base)
    refused(lambda: base.__new__(base))
    refused(type("Derived", (base,), {}))
    assert type("Derived", (cls,), {"__init__": lambda self: None}).__new__
    refused(type("Derived", (cls,), {"__init__": lambda self: None}))
for cls in PRIMITIVES:
    refused(lambda: cls.__new__(cls))
    refused(lambda: object.__new__(cls))
refused(dm.BuiltChain)
refused(lambda: object.__new__(dm.BuiltChain))
refused(type(dm.reorder))
"""
    )


def test_what_primitives_are_made_by_cannot_be_replaced(run_python):
    run_python(
        PRELUDE
        + """
md = dm.MemoryDesc((2, 3), "f4")
for cls in PRIMITIVES:
    for name in list(vars(cls)):
        if name.startswith("_dnnmove"):
            setattr(cls, name, dm.Memory)
assert dm.Transpose(dm.Transpose.Desc(md))(np.zeros((2, 3), "f4")).shape == (3, 2)
assert not [name for cls in PRIMITIVES for name in vars(cls) if "dnnmove" in name]
"""
    )


def test_subinterpreters_are_refused(run_python):
    for before in ("", "import numpy", "import dnnmove"):
        run_python(
            f"""
{before}
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import sys
other = interpreters.create() if sys.version_info < (3, 13) else interpreters.create("legacy")
program = '''
import sys, warnings
warnings.simplefilter("ignore")
sys.path[:] = {{path!r}}
try:
    import dnnmove._core
except ImportError as error:
    assert "subinterpreter" in str(error) or "numpy" in str(error).lower() or "more than once" in str(error), error
else:
    raise AssertionError("imported")
'''.replace("{{path!r}}", repr(sys.path))
failed = interpreters.run_string(other, program)
assert failed is None, failed
""",
            timeout=60,
        )

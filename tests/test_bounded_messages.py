"""No message and no repr grows with what it quotes: 2,000 bytes hold any of them."""

import inspect
import itertools
import pickle

import numpy as np
import pytest

import dnnmove as dm

MOST = 2000
LONG = "x" * 10_000
MANY = [7] * 5_000
LARGE = 10**4000
STRUCT = np.dtype([(f"field_{i}_{'y' * 50}", "f4") for i in range(100)])
Named = type("N" * 10_000, (), {"__module__": "m" * 1000, "__repr__": lambda _: LONG})
HUGE = [
    LONG,
    "ä" * 5_000,
    LONG.encode(),
    MANY,
    tuple(MANY),
    range(5_000),
    [LARGE] * 3,
    LARGE,
    -LARGE,
    [LONG] * 3,
    {LONG: LONG},
    Named(),
    Named,
    np.zeros(5_000, "i8"),
    np.zeros((1,) * 32 + (2**40, 0), "i1"),
    np.zeros((1, 2), STRUCT),
    STRUCT,
    np.s_[1 : 2 : 10**30],
]
X = np.zeros((2, 4, 6, 8), "f4")
MD = dm.MemoryDesc.of(X)
FORWARD = dm.ShuffleForward.PrimitiveDesc(dm.ShuffleForward.Desc(dm.PropKind.forward, MD, 1, 2))


def check(error):
    assert isinstance(error, TypeError | ValueError | LookupError | AttributeError | OverflowError | dm.Error)
    for text in (str(error), "".join(map(str, error.args))):
        length = len(text.encode())
        assert 0 < length <= MOST, f"{type(error).__name__}: {text[:200]} ... {text[-200:]}"


def refused(call, *args, **keywords):
    """Whether the call is refused; as it should be told."""
    try:
        call(*args, **keywords)
    except Exception as error:
        check(error)
        return True
    return False


def public():
    """Every function, class and method, with what its self is."""
    chain = dm.Chain(MD)
    split = dm.VariadicSplit(dm.VariadicSplit.Desc(MD, 1, [1, 3]))
    owners = [
        chain,
        chain.build(),
        split,
        split.__class__,
        MD,
        dm.Memory(MD),
        dm.ShuffleForward,
        dm.ShuffleBackward,
        dm.Transpose,
        dm.ShuffleChannels,
        dm.Broadcast,
        dm.chain(X),
    ]
    for name in dm.__all__:
        thing = getattr(dm, name)
        # What Python's own machinery says, of enumerations, of files and of its functions' keywords, is Python's.
        if callable(thing) and name not in ("set_verbose", "profile", "DataType", "PropKind"):
            yield f"dm.{name}", thing
    for owner in owners:
        for name in dir(owner):
            thing = getattr(owner, name, None)
            special = name.startswith("_") and name not in ("__call__", "__getitem__", "__setstate__")
            if callable(thing) and not special:
                yield f"{type(owner).__name__}.{name}", thing


def written_in_python(call):
    return inspect.isfunction(getattr(call, "__init__" if isinstance(call, type) else "__func__", call))


CALLS = dict(public())


@pytest.mark.parametrize("name", CALLS)
def test_huge_arguments_anywhere(name):
    call = CALLS[name]
    refusals = 0
    firsts = [(), (X,), ([X, X],), (MD,), (dm.PropKind.forward, MD), (FORWARD,), (dm.Memory(MD),), (None,), (X, 1)]
    try:
        keywords = list(inspect.signature(call).parameters)[:8]
    except ValueError:
        keywords = []
    for value in HUGE:
        for first in firsts:
            refusals += refused(call, *first, value)
            refusals += refused(call, *first, value, value)
        refusals += refused(call, value, value, value)
        if not written_in_python(call):
            refusals += refused(call, **{LONG: value})
        for keyword in keywords:
            refusals += refused(call, **{keyword: value})
            refusals += refused(call, X, **{keyword: value})
            refusals += refused(call, MD, **{keyword: value})
    assert refusals > 0


def test_primitives_called_with_what_they_do_not_take():
    transpose = dm.Transpose(dm.Transpose.Desc(MD))
    split = dm.VariadicSplit(dm.VariadicSplit.Desc(dm.MemoryDesc((5000, 2), "f4"), 0, [1] * 5000))
    built = dm.Chain(MD).transpose().build()
    blocked = dm.Memory(dm.MemoryDesc((1, 3, 4, 4), "f4", "nChw16c"))
    for value in [*HUGE, blocked, [blocked] * 5000, dict.fromkeys(range(5000), X), {LARGE: X}, {LONG: X}]:
        for call in (transpose, split, built):
            assert refused(call, value)
            assert refused(call, X, out=value)
        assert refused(transpose.execute, None, value)
        assert refused(split.execute, None, value)
        assert refused(split.execute, None, {dm.ARG_SRC: value, 1: X})
    # 5000 arguments are known: not all of them are named.
    assert refused(split.execute, None, {dm.ARG_SRC: np.zeros((5000, 2), "f4"), 77: X})


def test_steps_that_do_not_fit():
    steps = dm.Chain(dm.MemoryDesc((2,) * 40, "i1"))
    names = " ".join(f"axis{i}" for i in range(3000))
    for pattern in (names, names + " -> " + names, "(" * 5_000, names + " -> 1", "a b -> " + "a " * 20_000):
        assert refused(steps.rearrange, pattern)
        assert refused(steps.repeat, pattern, **{f"axis{i}": 2 for i in range(3000)})
        assert refused(dm.rearrange, X, pattern)
    for order in itertools.chain([MANY, list(range(20_000)), [-(2**62)] * 20_000]):
        for call in (steps.transpose, steps.reshape, steps.broadcast, steps.flip, steps.squeeze, steps.expand_dims):
            assert refused(call, order)
        for call in (steps.variadic_split, steps.take, steps.unflatten):
            assert refused(call, 0, order) or call == steps.take
        assert refused(dm.variadic_split, X, 1, order)
        assert refused(dm.transpose, X, order)
        assert refused(dm.take, X, [2**62] * 20_000, 0)


def test_reprs():
    wide = dm.MemoryDesc((2**40,) + (1,) * 40 + (3,), STRUCT)
    shapes = dm.MemoryDesc((1, 20_000), "f4")
    chain = dm.Chain(dm.MemoryDesc((20_000,), "f4")).take(MANY, 0)
    for _ in range(200):
        chain = chain.flip(0)
    part = dm.MemoryDesc((64, 64), "f4")
    for _ in range(100):
        part = part.submemory_desc((32, 32), (1, 1)) if part.dims[0] > 32 else part.permute_axes((1, 0))
    split = dm.VariadicSplit.Desc(shapes, 1, [1] * 20_000)
    shuffle = dm.ShuffleForward.Desc(dm.PropKind.forward, dm.MemoryDesc((2, 4), STRUCT), 1, 2)
    things = [
        wide,
        part,
        chain,
        chain.build(),
        split,
        dm.VariadicSplit(split),
        shuffle,
        dm.ShuffleForward.PrimitiveDesc(shuffle),
        dm.ShuffleForward(shuffle),
        dm.Memory(dm.MemoryDesc((2, 4), STRUCT)),
        dm.chain(np.zeros((2, 4), STRUCT)).flip(0).tile([1] * 40),
        dm.Transpose.Desc(dm.MemoryDesc((1,) * 60, "f4"), list(range(60))),
    ]
    for thing in things:
        assert 0 < len(repr(thing).encode()) <= MOST


def test_what_is_abbreviated_is_still_whole():
    # Equality, hashes and pickles see all of what a repr leaves out.
    md = dm.MemoryDesc((20_000,), "f4")
    first, second = MANY[:1000], MANY[:1000]
    second[500] = 8
    a, b = dm.Chain(md).take(first, 0), dm.Chain(md).take(second, 0)
    assert a != b
    assert a == dm.Chain(md).take(first, 0)
    assert len({a, b}) == 2
    assert pickle.loads(pickle.dumps(b)) == b
    x = np.arange(20_000, dtype="f4")
    assert (b.build()(x) == x[second]).all()


def test_what_was_left_out_is_told():
    with pytest.raises(ValueError, match=r"^'x+\.\.\.x+' is no DataType; there are f16, bf16"):
        dm.DataType(LONG)
    with pytest.raises(ValueError, match=r"input_order.*\(7, 7, 7, 7, 7, 7, 7, 7, \.\.\., 7\) of length 5000"):
        dm.transpose(X, MANY)
    with pytest.raises(ValueError, match=r"'xxx.*\.\.\. \(\d+ more bytes\) \.\.\.x+'\) is not a oneDNN format tag"):
        dm.MemoryDesc((2, 3), "f4", LONG)

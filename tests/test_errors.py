"""What a caller can get wrong: the type of the error, and that it names the argument, its value and the rule."""

from fractions import Fraction

import numpy as np
import oracle
import pytest
import strategies as some
from numpy.exceptions import AxisError

import dnnmove as dm

X = some.dense((2, 8, 3), "f4")
FORWARD = dm.ShuffleForward.Desc(dm.PropKind.forward, dm.MemoryDesc.of(X), 1, 2)


class Index:
    """An integer by __index__ only."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


OPERATIONS = {
    "shuffle": lambda x: dm.shuffle(x, 1, 2),
    "shuffle_backward": lambda x: dm.shuffle_backward(x, 1, 2),
    "shuffle_channels": lambda x: dm.shuffle_channels(x, 1, 2),
    "transpose": lambda x: dm.transpose(x),
    "variadic_split": lambda x: dm.variadic_split(x, 1, [3, 5]),
    "split": lambda x: dm.split(x, 1, 2),
    "broadcast": lambda x: dm.broadcast(x, (2, 8, 3)),
    "concat": lambda x: dm.concat([x, x]),
}
each = pytest.mark.parametrize("name", OPERATIONS)

# One integer parameter at a time: call(value), and a value that it takes.
INTEGERS = {
    "shuffle axis": ("axis", lambda v: dm.shuffle(X, v, 2), 1),
    "shuffle group_size": ("group_size", lambda v: dm.shuffle(X, 1, v), 2),
    "shuffle_backward axis": ("axis", lambda v: dm.shuffle_backward(X, v, 2), 1),
    "shuffle_backward group_size": ("group_size", lambda v: dm.shuffle_backward(X, 1, v), 2),
    "shuffle_channels axis": ("axis", lambda v: dm.shuffle_channels(X, v, 2), 1),
    "shuffle_channels group": ("group", lambda v: dm.shuffle_channels(X, 1, v), 2),
    "variadic_split axis": ("axis", lambda v: dm.variadic_split(X, v, [3, 5]), 1),
    "split axis": ("axis", lambda v: dm.split(X, v, 2), 1),
    "split num_splits": ("num_splits", lambda v: dm.split(X, 1, v), 2),
    "concat axis": ("axis", lambda v: dm.concat([X, X], v), 1),
    "ShuffleForward axis": ("axis", lambda v: dm.ShuffleForward.Desc(dm.PropKind.forward, md(), v, 2), 1),
    "ShuffleForward group_size": ("group_size", lambda v: dm.ShuffleForward.Desc(dm.PropKind.forward, md(), 1, v), 2),
    "ShuffleBackward axis": ("axis", lambda v: dm.ShuffleBackward.Desc(md(), v, 2), 1),
    "ShuffleBackward group_size": ("group_size", lambda v: dm.ShuffleBackward.Desc(md(), 1, v), 2),
    "ShuffleChannels axis": ("axis", lambda v: dm.ShuffleChannels.Desc(md(), v, 2), 1),
    "ShuffleChannels group": ("group", lambda v: dm.ShuffleChannels.Desc(md(), 1, v), 2),
    "VariadicSplit axis": ("axis", lambda v: dm.VariadicSplit.Desc(md(), v, [3, 5]), 1),
}
LISTS = {
    "transpose": ("input_order", lambda v: dm.transpose(X, v), [2, 0, 1]),
    "variadic_split": ("split_lengths", lambda v: dm.variadic_split(X, 1, v), [1, 2, 5]),
    "broadcast": ("target_shape", lambda v: dm.broadcast(X, v), [2, 8, 3]),
    "axes_mapping": ("axes_mapping", lambda v: dm.broadcast(X, (2, 8, 3), v, "explicit"), [0, 1, 2]),
    "Transpose": ("input_order", lambda v: dm.Transpose.Desc(md(), v), [2, 0, 1]),
    "VariadicSplit": ("split_lengths", lambda v: dm.VariadicSplit.Desc(md(), 1, v), [1, 2, 5]),
    "Broadcast": ("target_shape", lambda v: dm.Broadcast.Desc(md(), v), [2, 8, 3]),
    "Broadcast axes_mapping": (
        "axes_mapping",
        lambda v: dm.Broadcast.Desc(md(), (2, 8, 3), v, "explicit"),
        [0, 1, 2],
    ),
}


def md():
    return dm.MemoryDesc((2, 8, 3), "f4")


@pytest.mark.parametrize("name", INTEGERS)
class TestIntegers:
    """An integer is anything with __index__, but no bool and no float."""

    def test_taken(self, name):
        _, call, good = INTEGERS[name]
        for kind in (int, np.int8, np.uint64, np.int64, np.array, Index):
            call(kind(good))

    @pytest.mark.parametrize(
        "bad", [True, np.True_, 2.0, np.float32(1), Fraction(1), "1", None, b"1", 1j, [[1]], {}], ids=repr
    )
    def test_other_types(self, name, bad, errors_name):
        argument, call, _ = INTEGERS[name]
        kinds = (TypeError, ValueError) if isinstance(bad, list) else TypeError
        errors_name(kinds, lambda: call(bad), argument)

    @pytest.mark.parametrize("bad", [2**31, 2**63 - 1, 2**63, 2**64 + 1, -(2**63), -(2**63) - 1, 10**40])
    def test_huge_values(self, name, bad, errors_name):
        argument, call, _ = INTEGERS[name]
        errors_name(ValueError, lambda: call(bad), argument)


@pytest.mark.parametrize("name", LISTS)
class TestListsOfIntegers:
    """A 1-D sequence of such integers, or a 1-D integer array."""

    def test_taken(self, name):
        _, call, good = LISTS[name]
        for kind in (list, tuple, np.array, lambda v: np.array(v, np.uint8), lambda v: np.array([*v, 0])[: len(v)]):
            call(kind(good))
        call([Index(v) for v in good])
        call(np.array(good)[::-1][::-1])
        call(np.array(good, ">i4"))

    @pytest.mark.parametrize("wrong", [float, bool, str, complex, lambda v: None, lambda v: Fraction(v)])
    def test_entries_of_other_types(self, name, wrong, errors_name):
        argument, call, good = LISTS[name]
        errors_name(TypeError, lambda: call([wrong(v) for v in good]), argument)
        errors_name(TypeError, lambda: call([*good[:-1], wrong(good[-1])]), argument)

    @pytest.mark.parametrize("dtype", ["f4", "f8", "?", "c8", "S1", "M8[s]", object])
    def test_arrays_of_other_types(self, name, dtype, errors_name):
        argument, call, good = LISTS[name]
        value = np.ones(len(good)).astype("i8").astype(dtype)
        if dtype is object:
            value[:] = [1.5] * len(good)
        errors_name(TypeError, lambda: call(value), argument)

    def test_an_empty_float_array(self, name, errors_name):
        argument, call, _ = LISTS[name]
        errors_name(TypeError, lambda: call(np.array([])), argument)

    @pytest.mark.parametrize("wrong", [lambda v: [v], lambda v: np.array([v]), lambda v: np.array(v[0])])
    def test_of_another_rank(self, name, wrong, errors_name):
        argument, call, good = LISTS[name]
        errors_name((TypeError, ValueError), lambda: call(wrong(good)), argument)

    @pytest.mark.parametrize("bad", [2**63, -(2**63) - 1, 10**30, 2**63 - 1, -(2**63)])
    def test_huge_entries(self, name, bad, errors_name):
        argument, call, good = LISTS[name]
        errors_name(ValueError, lambda: call([*good[:-1], bad]), argument)


class TestData:
    """What is no array of fixed-size elements."""

    @each
    @pytest.mark.parametrize(
        "data",
        [[[1, 2], [3, 4]], ((1, 2),), 3, 2.5, "text", b"bytes", None, {}, range(4), object(), memoryview(b"abc")],
        ids=lambda data: type(data).__name__,
    )
    def test_not_an_array(self, name, data):
        with pytest.raises(TypeError) as caught:
            OPERATIONS[name](data)
        assert "array" in str(caught.value)

    @each
    def test_masked_arrays(self, name):
        with pytest.raises(TypeError, match="mask"):
            OPERATIONS[name](np.ma.masked_array(X, X > 0))

    @each
    @pytest.mark.parametrize("dtype", [object, [("a", "i4"), ("b", object)], [("a", [("b", "O")], 3)]], ids=str)
    def test_objects(self, name, dtype):
        with pytest.raises(TypeError, match="object"):
            OPERATIONS[name](np.zeros((2, 8, 3), dtype))

    @each
    def test_strings_of_variable_width(self, name):
        string = getattr(np.dtypes, "StringDType", None)
        if string is None:
            pytest.skip("this NumPy has no StringDType")
        with pytest.raises(TypeError, match="StringDType"):
            OPERATIONS[name](np.full((2, 8, 3), "a string longer than any that fits in place", string()))

    def test_subclasses_give_plain_arrays(self, tmp_path):
        mapped = np.memmap(tmp_path / "x", "f4", "w+", shape=X.shape)
        mapped[...] = X
        for name, call in OPERATIONS.items():
            if name not in ("variadic_split", "split"):
                assert type(call(mapped)) is np.ndarray
                assert oracle.raw(call(mapped)) == oracle.raw(call(X))


AXES = {name: row for name, row in INTEGERS.items() if row[0] == "axis"}


@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("axis", [3, -4, 100, -100])
def test_axis_outside_the_rank(name, axis, errors_name):
    errors_name(AxisError, lambda: AXES[name][1](axis), "axis", str(axis), "3", "-3")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: dm.shuffle(x, 0, 1),
        lambda x: dm.shuffle(x, -1, 1),
        lambda x: dm.shuffle_backward(x, 0, 1),
        lambda x: dm.shuffle_channels(x, 0, 1),
        lambda x: dm.variadic_split(x, 0, [1]),
        lambda x: dm.split(x, 0, 1),
        lambda x: dm.concat([x], 0),
    ],
)
def test_rank_0_has_no_axis(call, errors_name):
    errors_name(AxisError, lambda: call(np.array(1.0)), "axis")


def test_the_default_axis_on_rank_1(errors_name):
    errors_name(AxisError, lambda: dm.shuffle_channels(np.arange(4)), "axis", "1")


@pytest.mark.parametrize("value", [0, -1, 3, 5, 16])
def test_groups_that_do_not_divide(value, errors_name):
    shape, desc = "data.shape[1] (8)", "[1] (8)"
    errors_name(ValueError, lambda: dm.shuffle(X, 1, value), f"group_size ({value})", shape)
    errors_name(ValueError, lambda: dm.shuffle_backward(X, 1, value), f"group_size ({value})", desc)
    errors_name(ValueError, lambda: dm.shuffle_channels(X, 1, value), f"group ({value})", shape)
    errors_name(ValueError, lambda: dm.split(X, 1, value), f"num_splits ({value})", shape)
    forward = dm.PropKind.forward
    errors_name(ValueError, lambda: dm.ShuffleForward.Desc(forward, md(), 1, value), f"group_size ({value})", desc)
    errors_name(ValueError, lambda: dm.ShuffleBackward.Desc(md(), 1, value), f"group_size ({value})", desc)
    errors_name(ValueError, lambda: dm.ShuffleChannels.Desc(md(), 1, value), f"group ({value})", desc)


def test_shuffle_errors_tell_size_from_number(errors_name):
    assert "group_size" in str(errors_name(ValueError, lambda: dm.shuffle(X, 1, 3)))
    assert "group_size" not in str(errors_name(ValueError, lambda: dm.shuffle_channels(X, 1, 3))).split("must")[0]


@pytest.mark.parametrize(
    "order", [[0, 1], [0, 1, 2, 3], [0, 0, 1], [0, 1, 3], [0, 2, -1], [-1, -2, -4], [5, 6, 7], [-1, -1, -1]]
)
def test_orders(order, errors_name):
    shown = "(" + ", ".join(map(str, order)) + ")"
    errors_name(ValueError, lambda: dm.transpose(X, order), "input_order", shown)
    errors_name(ValueError, lambda: dm.Transpose.Desc(md(), order), "input_order", shown)


@pytest.mark.parametrize("order", [True, np.True_, np.array(True), 1.0, np.float32(1), None])
def test_orders_that_are_no_integers(order, errors_name):
    errors_name(TypeError, lambda: dm.transpose(X, order), "input_order")


def test_orders_of_scalars(errors_name):
    errors_name(ValueError, lambda: dm.transpose(np.array(1.0), [0]), "input_order")


@pytest.mark.parametrize(
    "lengths",
    [[3, 4], [8, 1], [-1, 9], [-1, -1, 4], [-2, 10], [], [2**62, 2**62, 2**62, 2**62], [-1, 2**63 - 1, 2**63 - 1]],
)
def test_lengths(lengths, errors_name):
    errors_name(ValueError, lambda: dm.variadic_split(X, 1, lengths), "split_lengths", "data.shape[1] (8)")
    errors_name(ValueError, lambda: dm.VariadicSplit.Desc(md(), 1, lengths), "split_lengths", "[1] (8)")


@pytest.mark.parametrize(
    "axis", [1.0, [1], [1, 1], "1", None, True, np.array([1.0]), np.array([[1]]), np.array([1, 1])]
)
def test_axes_of_a_split(axis, errors_name):
    # An integer array of shape () or (1,) is fine, a list is not an array.
    errors_name((TypeError, ValueError), lambda: dm.variadic_split(X, axis, [3, 5]), "axis")


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ((8, 3), {}, ["target_shape", "(8, 3)", "(2, 8, 3)"]),
        ((2, 4, 3), {}, ["target_shape", "(2, 4, 3)", "(2, 8, 3)"]),
        ((1, 8, 3), {}, ["target_shape", "(1, 8, 3)", "(2, 8, 3)"]),
        ((2, 0, 3), {}, ["target_shape", "(2, 0, 3)"]),
        ((2, -1, 3), {}, ["target_shape", "-1"]),
        ((), {}, ["target_shape", "()"]),
        ((2, 8, 3), {"axes_mapping": [0, 1, 2]}, ["axes_mapping", "(0, 1, 2)", "explicit"]),
        ((2, 8, 3), {"axes_mapping": [], "mode": "numpy"}, ["axes_mapping", "()", "explicit"]),
        ((2, 8, 3), {"axes_mapping": [0, 1, 2], "mode": "bidirectional"}, ["axes_mapping", "explicit"]),
        ((2, 8, 3), {"mode": "explicit"}, ["axes_mapping", "None", "explicit"]),
        ((2, 8, 3), {"axes_mapping": [0, 1], "mode": "explicit"}, ["axes_mapping", "(0, 1)"]),
        ((2, 8, 3), {"axes_mapping": [0, 1, 1], "mode": "explicit"}, ["axes_mapping", "(0, 1, 1)"]),
        ((2, 8, 3), {"axes_mapping": [1, 0, 2], "mode": "explicit"}, ["axes_mapping", "(1, 0, 2)", "increasing"]),
        ((2, 8, 3), {"axes_mapping": [0, 1, 3], "mode": "explicit"}, ["axes_mapping", "3"]),
        ((2, 8, 3), {"axes_mapping": [-1, 1, 2], "mode": "explicit"}, ["axes_mapping", "-1"]),
        ((2, 8, 4), {"axes_mapping": [0, 1, 2], "mode": "explicit"}, ["target_shape", "(2, 8, 4)", "(2, 8, 3)"]),
        ((3, 8, 3), {"mode": "bidirectional"}, ["target_shape", "(3, 8, 3)", "(2, 8, 3)"]),
        ((2, 0, 3), {"mode": "bidirectional"}, ["target_shape", "(2, 0, 3)", "(2, 8, 3)"]),
        ((2, 8, 3), {"mode": "pdpd"}, ["mode", "pdpd", "numpy", "explicit", "bidirectional"]),
        ((2, 8, 3), {"mode": ""}, ["mode", "numpy", "explicit", "bidirectional"]),
    ],
)
def test_targets(target, options, words, errors_name):
    errors_name(ValueError, lambda: dm.broadcast(X, target, **options), *words)
    errors_name(ValueError, lambda: dm.Broadcast.Desc(md(), target, **options), *words)
    out = some.dense(tuple(max(n, 0) for n in target), "f4")
    before = out.tobytes()
    errors_name(ValueError, lambda: dm.broadcast(X, target, **options, out=out), *words)
    assert out.tobytes() == before


@pytest.mark.parametrize("mode", [None, 1, b"numpy", ["numpy"]])
def test_modes_of_other_types(mode, errors_name):
    errors_name(TypeError, lambda: dm.broadcast(X, (2, 8, 3), mode=mode), "mode")


@pytest.mark.parametrize("target", [(2**40, 2, 8, 3), (2**62, 2, 8, 3), (2**32, 2**31, 2, 8, 3)])
def test_targets_larger_than_any_memory(target):
    with pytest.raises((ValueError, MemoryError)):
        dm.broadcast(X, target)


def test_a_target_that_is_huge_but_empty():
    target = (0, 2**62, 2, 8, 3)
    try:
        expected = np.empty(target, "f4")
    except (ValueError, MemoryError):
        with pytest.raises((ValueError, MemoryError)):
            dm.broadcast(X, target)
    else:
        assert dm.broadcast(X, target).shape == expected.shape


@pytest.mark.parametrize(
    ("arrays", "kind", "words"),
    [
        ([], ValueError, ["arrays"]),
        ([X, X[:, :, :2]], ValueError, ["arrays[1]", "(2, 8, 2)", "(2, 8, 3)"]),
        ([X, X[0]], ValueError, ["arrays[1]", "(8, 3)"]),
        ([X, X, X.astype("f8")], TypeError, ["arrays[2]", "float64", "float32"]),
        ([X, X.astype(">f4")], TypeError, ["arrays[1]", "float32"]),
        ([X, [1.0]], TypeError, ["arrays[1]"]),
        (3, TypeError, ["arrays"]),
        (None, TypeError, ["arrays"]),
    ],
    ids=range(8),
)
def test_inputs_of_concat(arrays, kind, words, errors_name):
    errors_name(kind, lambda: dm.concat(arrays), *words)


@pytest.mark.parametrize(
    "name", ["ShuffleForward", "ShuffleBackward", "ShuffleChannels", "Transpose", "VariadicSplit", "Broadcast"]
)
class TestPrimitives:
    """Inputs of a primitive must be what its descriptor says."""

    def make(self, name):
        descs = {
            "ShuffleForward": lambda: dm.ShuffleForward.Desc(dm.PropKind.forward, md(), 1, 2),
            "ShuffleBackward": lambda: dm.ShuffleBackward.Desc(md(), 1, 2),
            "ShuffleChannels": lambda: dm.ShuffleChannels.Desc(md(), 1, 2),
            "Transpose": lambda: dm.Transpose.Desc(md()),
            "VariadicSplit": lambda: dm.VariadicSplit.Desc(md(), 1, [8]),
            "Broadcast": lambda: dm.Broadcast.Desc(md(), (2, 8, 3)),
        }
        return getattr(dm, name)(descs[name]())

    def test_another_shape(self, name, errors_name):
        primitive = self.make(name)
        for shape in ((2, 8, 4), (2, 8), (3, 8, 2), (1, 2, 8, 3), (0, 8, 3), ()):
            errors_name(ValueError, lambda shape=shape: primitive(np.zeros(shape, "f4")), str(shape), "(2, 8, 3)")

    def test_another_dtype(self, name):
        primitive = self.make(name)
        for dtype in ("f8", "i4", ">f4", "V4"):
            with pytest.raises((TypeError, ValueError), match="float32"):
                primitive(np.zeros(X.shape, dtype))

    def test_no_array(self, name):
        primitive = self.make(name)
        for data in ([1.0], 3, None, "x", np.ma.zeros((2, 8, 3), "f4"), np.zeros((2, 8, 3), object)):
            with pytest.raises(TypeError):
                primitive(data)

    def test_arguments_of_the_call(self, name):
        primitive = self.make(name)
        for call in (
            lambda: primitive(),
            lambda: primitive(X, X, X),
            lambda: primitive(X, outt=None),
            lambda: primitive(out=None),
        ):
            with pytest.raises(TypeError):
                call()

    def test_a_desc_of_another_kind(self, name):
        other = dm.Broadcast.Desc(md(), (2, 8, 3)) if name != "Broadcast" else dm.Transpose.Desc(md())
        for wrong in (None, 3, md(), X, "x", other):
            with pytest.raises(TypeError):
                getattr(dm, name)(wrong)

    def test_a_blocked_layout_says_to_reorder(self, name, errors_name):
        if name.startswith("Shuffle") and name != "ShuffleChannels":
            return
        blocked = dm.MemoryDesc((2, 16, 3, 3), "f4", "nChw16c")
        calls = {
            "ShuffleChannels": lambda: dm.ShuffleChannels.Desc(blocked, 1, 2),
            "Transpose": lambda: dm.Transpose.Desc(blocked),
            "VariadicSplit": lambda: dm.VariadicSplit.Desc(blocked, 1, [16]),
            "Broadcast": lambda: dm.Broadcast.Desc(blocked, (2, 16, 3, 3)),
        }
        errors_name(ValueError, calls[name], "reorder")


def test_the_error_classes():
    assert issubclass(dm.Error, RuntimeError)
    assert issubclass(dm.UnimplementedError, dm.Error)
    assert issubclass(dm.UnimplementedError, NotImplementedError)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda out: dm.shuffle(X, 1, 3, out=out), ValueError),
        (lambda out: dm.shuffle(X, 7, 2, out=out), AxisError),
        (lambda out: dm.shuffle(X, 1.0, 2, out=out), TypeError),
        (lambda out: dm.shuffle_backward(X, 1, 3, out=out), ValueError),
        (lambda out: dm.shuffle_channels(X, 1, 3, out=out), ValueError),
        (lambda out: dm.transpose(X, (0, 0, 1), out=out), ValueError),
        (lambda out: dm.variadic_split(X, 1, [9], out=[out]), ValueError),
        (lambda out: dm.split(X, 1, 3, out=[out, out, out]), ValueError),
        (lambda out: dm.broadcast(X, (2, 8, 4), out=out), ValueError),
        (lambda out: dm.concat([X, X[:1]], 1, out=out), ValueError),
    ],
)
def test_errors_write_nothing(call, kind):
    out = some.dense(X.shape, "f4", seed=9)
    before = out.tobytes()
    with pytest.raises(kind):
        call(out)
    assert out.tobytes() == before


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("dtype", lambda text: dm.MemoryDesc((2,), text)),
        ("layout", lambda text: dm.MemoryDesc((2,), "f4", text)),
        ("kind", lambda text: dm.Engine(text)),
        ("mode", lambda text: dm.broadcast(X, X.shape, mode=text)),
        ("implementation", lambda text: dm.ShuffleForward.PrimitiveDesc(FORWARD, implementation=text)),
        ("pattern", lambda text: dm.Chain.of(X).rearrange(text)),
        ("pattern", lambda text: dm.rearrange(X, text)),
    ],
)
def test_texts_that_are_no_unicode(name, call, errors_name):
    # As a file name or a wrongly decoded file may bring them.
    errors_name(ValueError, lambda: call("f4\udc80"), name, "'f4\\udc80'", "surrogates")

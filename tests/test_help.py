"""What a new user sees at the prompt: help(), dir(), repr(), the names of types."""

import inspect
import pydoc
import types

import numpy as np
import pytest

import dnnmove as dm

X = np.zeros((2, 6, 4), "f4")
MD = dm.MemoryDesc.of(X)
DESC = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, MD, 1, 2)


def helped():
    """All public things, and the classes in the primitives."""
    for name in dm.__all__:
        thing = getattr(dm, name)
        if callable(thing):
            yield name, thing
        for inner in ("Desc", "PrimitiveDesc"):
            if hasattr(thing, inner):
                yield f"{name}.{inner}", getattr(thing, inner)


HELPED = dict(helped())


@pytest.mark.parametrize("name", HELPED)
def test_help_shows_no_plumbing(name):
    text = pydoc.plain(pydoc.render_doc(HELPED[name]))
    for word in ("pybind11", "_core.function", "PyCapsule", "function_record", "__vectorcalloffset__", "object at 0x"):
        assert word not in text
    assert f"in module {dm.__name__}" in text.splitlines()[0]


@pytest.mark.parametrize("name", HELPED)
def test_names_are_the_package_s(name):
    thing = HELPED[name]
    assert thing.__qualname__ == name
    assert thing.__module__ == "dnnmove" or thing.__module__.startswith("dnnmove._")
    assert "_core" not in thing.__module__


def test_the_types_of_types_are_named():
    for thing in HELPED.values():
        if inspect.isclass(thing):
            for base in (*thing.__mro__, type(thing)):
                assert "pybind11" not in f"{base.__module__}.{base.__qualname__}"


def test_dir_is_what_is_public():
    names = dir(dm)
    dunders = {name for name in names if name.startswith("__") and name.endswith("__")}
    imported = {name for name, value in vars(dm).items() if isinstance(value, types.ModuleType) and name[0] != "_"}
    assert set(names) - dunders == (set(dm.__all__) - dunders) | imported
    assert imported <= {"tuning", "torch", "dask", "ir"}
    assert "dnnmove" not in names
    assert not hasattr(dm, "dnnmove")


def test_every_public_name_of_the_extension_is_exported():
    lacking = {name for name in vars(dm._core) if not name.startswith("_")} - set(dm.__all__)
    assert not lacking, f"{lacking}: neither imported nor in __all__ of src/dnnmove/__init__.py"


@pytest.mark.parametrize(
    ("thing", "shown"),
    [
        (dm.Engine(), "Engine('cpu', 0)"),
        (dm.Stream(), "Stream(Engine('cpu', 0))"),
        (dm.num_threads(2), "num_threads(2)"),
        (DESC, f"ShuffleForward.Desc(PropKind.forward_inference, {MD!r}, axis=1, group_size=2)"),
        (
            dm.ShuffleBackward.Desc(MD, 1, 2, tune=True),
            f"ShuffleBackward.Desc({MD!r}, axis=1, group_size=2, tune=True)",
        ),
        (dm.ShuffleChannels.Desc(MD, 1, 2), f"ShuffleChannels.Desc({MD!r}, axis=1, group=2)"),
        (dm.Transpose.Desc(MD, (0, -1, 1)), f"Transpose.Desc({MD!r}, input_order=(0, -1, 1))"),
        (dm.VariadicSplit.Desc(MD, 1, [2, -1]), f"VariadicSplit.Desc({MD!r}, axis=1, split_lengths=(2, -1))"),
        (dm.Broadcast.Desc(MD, (2, 6, 4)), f"Broadcast.Desc({MD!r}, target_shape=(2, 6, 4), mode='numpy')"),
        (dm.Memory(MD), f"Memory({MD!r})"),
        (dm.Chain(MD).transpose((0, 2, 1)), f"Chain({MD!r}).transpose(input_order=(0, 2, 1))"),
    ],
    ids=lambda value: value.split("(")[0] if isinstance(value, str) else "",
)
def test_reprs(thing, shown):
    assert repr(thing) == shown


@pytest.mark.parametrize("desc", [DESC, dm.Transpose.Desc(MD), dm.Broadcast.Desc(MD, (2, 6, 4), [0, 1, 2], "explicit")])
def test_a_desc_s_repr_makes_it(desc):
    assert repr(eval(repr(desc), vars(dm))) == repr(desc)


def test_reprs_of_what_runs():
    pd = dm.ShuffleForward.PrimitiveDesc(DESC, implementation="onednn")
    assert repr(pd) == f"<ShuffleForward.PrimitiveDesc of {MD!r}, axis=1, group_size=2: {pd.impl_info_str}>"
    fwd = dm.ShuffleForward(pd)
    assert repr(fwd) == f"<ShuffleForward of {MD!r}, axis=1, group_size=2: {pd.impl_info_str}>"
    move = dm.Transpose(dm.Transpose.Desc(MD, (2, 0, 1)))
    assert repr(move) == f"<Transpose of {MD!r}, input_order=(2, 0, 1): {move.impl_info_str}>"

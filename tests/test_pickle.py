"""Descriptors, primitive descriptors and primitives pickle and copy: made again from their parameters."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import oracle
import pytest

import dnnmove as dm

X = np.arange(24, dtype="f4").reshape(2, 3, 4)
MD = dm.MemoryDesc.of(X)
BLOCKED = dm.MemoryDesc((2, 20, 3, 3), "float32", "nChw16c")

DESCS = {
    "ShuffleForward": dm.ShuffleForward.Desc(dm.PropKind.forward_inference, MD, -1, 2),
    "ShuffleForward tuned": dm.ShuffleForward.Desc(dm.PropKind.forward_training, MD, 1, 3, tune=True),
    "ShuffleBackward": dm.ShuffleBackward.Desc(BLOCKED, 1, 4),
    "ShuffleChannels": dm.ShuffleChannels.Desc(MD, axis=2, group=2),
    "Transpose": dm.Transpose.Desc(MD, (0, -1, 1)),
    "Transpose tuned": dm.Transpose.Desc(MD, tune=True),
    "VariadicSplit": dm.VariadicSplit.Desc(MD, np.array([2]), [1, -1]),
    "Broadcast": dm.Broadcast.Desc(MD, (5, 2, 3, 4)),
    "Broadcast explicit": dm.Broadcast.Desc(MD, (2, 5, 3, 4), [0, 2, 3], "EXPLICIT"),
}
OTHERS = {
    "MemoryDesc": dm.MemoryDesc((2, 3), ">f4", (10, 1)),
    "MemoryDesc blocked": BLOCKED,
    "MemoryDesc of structs": dm.MemoryDesc((2,), [("a", "i1"), ("b", "f8")]),
    "Engine": dm.Engine(),
    "Stream": dm.Stream(),
    "PropKind": dm.PropKind.backward_data,
    "DataType": dm.DataType.bf16,
}


def pickled(protocol):
    return pytest.param(lambda thing: pickle.loads(pickle.dumps(thing, protocol)), id=f"pickle {protocol}")


again = pytest.mark.parametrize(
    "again",
    [*map(pickled, range(pickle.HIGHEST_PROTOCOL + 1)), copy.copy, copy.deepcopy],
)


@again
@pytest.mark.parametrize("name", DESCS | OTHERS)
def test_descriptors_and_the_rest(again, name):
    thing = (DESCS | OTHERS)[name]
    made = again(thing)
    assert type(made) is type(thing)
    assert repr(made) == repr(thing)
    if not name.startswith("Stream"):
        assert name in DESCS or made == thing


@again
@pytest.mark.parametrize("name", DESCS)
def test_primitives(again, name):
    desc = DESCS[name]
    primitive = getattr(dm, name.split()[0])(desc)
    made = again(primitive)
    assert type(made) is type(primitive)
    assert made.impl_info_str == primitive.impl_info_str
    assert repr(made) == repr(primitive)
    if name != "ShuffleBackward":
        expected, results = primitive(X), made(X)
        for a, b in zip(*((r if type(r) is tuple else (r,)) for r in (expected, results)), strict=True):
            oracle.assert_same(b, a)


@again
def test_the_choice_of_an_implementation_stays(again):
    desc = DESCS["ShuffleForward"]
    for choice in ("native", "onednn", dm.ShuffleForward.PrimitiveDesc(desc).implementations[-1]):
        pd = dm.ShuffleForward.PrimitiveDesc(desc, implementation=choice)
        made = again(pd)
        assert made.impl_info_str == pd.impl_info_str
        assert not made.next_impl() or choice in ("native", "onednn")
    hint = dm.ShuffleForward.PrimitiveDesc(dm.ShuffleForward.Desc(dm.PropKind.forward, BLOCKED, 1, 4))
    back = dm.ShuffleBackward.PrimitiveDesc(DESCS["ShuffleBackward"], hint_fwd_pd=hint, implementation="onednn")
    assert again(back).impl_info_str == back.impl_info_str


@again
def test_so_does_where_next_impl_has_come(again):
    pd = dm.ShuffleForward.PrimitiveDesc(DESCS["ShuffleForward"])
    assert pd.next_impl()
    made = again(pd)
    assert made.impl_info_str == pd.impl_info_str == pd.implementations[1]
    assert made.implementations == pd.implementations
    made.next_impl()
    assert pd.impl_info_str == pd.implementations[1]  # a copy moves on alone


def test_a_primitive_is_what_its_descriptor_was():
    pd = dm.ShuffleForward.PrimitiveDesc(DESCS["ShuffleForward"])
    primitive = dm.ShuffleForward(pd)
    pd.next_impl()
    assert primitive.impl_info_str in repr(primitive)
    assert pickle.loads(pickle.dumps(primitive)).impl_info_str == primitive.impl_info_str


def test_an_implementation_that_the_other_machine_lacks():
    pd = dm.ShuffleForward.PrimitiveDesc(DESCS["ShuffleForward"])
    program = (
        "import pickle, sys\n"
        f"pd = pickle.loads({pickle.dumps(pd)!r})\n"
        "assert pd.impl_info_str == 'native:scalar', pd.impl_info_str"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "DNNMOVE_ISA": "scalar"})


def test_functions_pickle_by_name():
    for function in (dm.reorder, dm.set_num_threads, dm.transpose, dm.MemoryDesc.of, dm.permute_dims):
        assert pickle.loads(pickle.dumps(function)) is function

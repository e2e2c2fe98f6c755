"""Chains and built chains: pickles, copies, equality and hashes."""

import copy
import os
import pickle
import random
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from chains import blocks, random_chain

import dnnmove as dm

COUNT = {"quick": 200, "ci": 1000, "full": 5000}.get(os.environ.get("DNNMOVE_TEST_PROFILE", "ci"), 1000)

# One chain per method, in every form of its arguments.
STEPS = {
    "nothing": lambda c: c,
    "shuffle": lambda c: c.shuffle(-2, group_size=np.int32(3)),
    "shuffle_channels": lambda c: c.shuffle_channels(group=2).shuffle_channels(),
    "transpose": lambda c: c.transpose().transpose([-1, 0, 1]).transpose(np.array([2, 1, 0])),
    "variadic_split": lambda c: c.variadic_split(1, [2, -1, 0]),
    "split": lambda c: c.split(np.array([1]), 3),
    "broadcast": lambda c: (
        c.broadcast((5, 2, 6, 4))
        .broadcast((2, 5, 2, 6, 4), (1, 2, 3, 4), "EXPLICIT")
        .broadcast([4], mode="bidirectional")
    ),
    "reshape": lambda c: c.reshape([-1, 4]).reshape((1, 48)),
    "index": lambda c: (
        c.index(np.s_[..., None, 1:-1:2]).index(np.s_[-1]).index(()).index(np.s_[::-1, None]).index(slice(None, 3))
    ),
    "axes": lambda c: (
        c.squeeze()
        .expand_dims(0)
        .expand_dims((0, -1))
        .squeeze(0)
        .squeeze((-1,))
        .moveaxis(0, -1)
        .moveaxis([0, 1], (1, 0))
    ),
    "swapaxes": lambda c: c.swapaxes(0, -1).flatten().unflatten(0, [-1, 4]).flatten(0, 1),
    "selections": lambda c: (
        c.flip()
        .flip(1)
        .flip((0, -1))
        .roll(3)
        .roll((1, 2), (0, 1))
        .roll(1, axis=0)
        .take(np.array([1, 0, 0]), 1)
        .unfold(0, 2)
    ),
    "repeats": lambda c: c.tile(2).tile((2, 1)).repeat_elements(2, 0).repeat_elements([1, 0, 2, 3, 1, 0, 1, 1], axis=2),
    "blocks": lambda c: (
        c.expand_dims(0)
        .space_to_depth(2)
        .depth_to_space(2)
        .depth_to_space(1, "CRD")
        .pixel_unshuffle(2)
        .pixel_shuffle(2)
    ),
    "patterns": lambda c: c.rearrange("a (b c) d -> (d a) b c", c=2).repeat("... x -> ... x y 2", y=3),
    "branch": lambda c: c.split(1, 2).branch(-1).transpose().branch(None).index(np.s_[:1]),
}


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", STEPS)
def test_a_pickle_brings_back_the_chain(name, protocol):
    x = np.arange(48, dtype="f4").reshape(2, 6, 4)
    chain = STEPS[name](dm.Chain.of(x))
    again = pickle.loads(pickle.dumps(chain, protocol))
    assert again == chain
    assert hash(again) == hash(chain)
    assert repr(again) == repr(chain)
    built = chain.build(max_nests=3, tune=False)
    rebuilt = pickle.loads(pickle.dumps(built, protocol))
    assert rebuilt == built
    assert hash(rebuilt) == hash(built)
    assert rebuilt.explain() == built.explain()
    for a, b in zip(parts(built(x)), parts(rebuilt(x)), strict=True):
        assert np.array_equal(a, b)


def test_pickles_of_random_chains():
    for seed in range(COUNT):
        source, chain, expected, splits = random_chain(random.Random(seed), dm.Chain.of)
        again = pickle.loads(pickle.dumps(chain))
        assert again == chain
        results = pickle.loads(pickle.dumps(chain.build()))(source)
        for a, b in zip(results if splits else [results], expected, strict=True):
            assert blocks(a).tobytes() == blocks(b).tobytes()


@pytest.mark.parametrize(
    "source",
    [
        np.zeros((3, 4), "f4").T,
        np.zeros((3, 4), ">i2")[::-1, ::2],
        np.zeros((3, 4), [("a", "u1"), ("b", "f8", (2,))]),
        np.zeros((3, 4), ml_dtypes.bfloat16),
        np.zeros((3, 4), ml_dtypes.int4),
        np.zeros((3, 4), np.dtype([])),
        np.zeros((3, 0), "M8[us]"),
        np.array(7, "S5"),
    ],
    ids=str,
)
def test_pickles_of_any_source(source):
    chain = dm.Chain.of(source).transpose()
    again = pickle.loads(pickle.dumps(chain))
    assert again == chain
    assert again.src_desc == chain.src_desc
    assert again.src_desc.dtype == source.dtype
    assert again.build()(source).tobytes() == np.ascontiguousarray(source.T).tobytes()


def test_a_pickle_keeps_the_name_of_the_layout():
    chain = dm.Chain(dm.MemoryDesc((2, 6, 3, 4), "f4", "nhwc")).split(1, 2)
    assert "'nhwc'" in repr(pickle.loads(pickle.dumps(chain)))


def test_a_pickle_keeps_the_options():
    x = np.arange(48, dtype="f4").reshape(2, 6, 4)
    chain = dm.Chain.of(x).transpose().reshape((6, 8)).transpose()
    options = [{}, {"max_nests": 1}, {"tune": True}, {"max_nests": 1, "tune": True}]
    built = [chain.build(**each) for each in options]
    again = [pickle.loads(pickle.dumps(each)) for each in built]
    assert [a == b for a in again for b in built] == [i == k for i in range(4) for k in range(4)]
    assert [each.passes for each in again] == [each.passes for each in built]


def test_copies_are_the_chain_itself():
    chain = dm.Chain.of(np.zeros((2, 3))).transpose()
    for thing in (chain, chain.build()):
        assert copy.copy(thing) is thing
        assert copy.deepcopy(thing) is thing
        assert copy.deepcopy([thing])[0] is thing


def test_equality_of_built_chains():
    chain = dm.Chain.of(np.zeros((2, 3)))
    built = chain.transpose().build()
    assert built == chain.transpose().build()
    assert built != chain.transpose((0, 1)).build()
    assert built != chain.transpose()
    assert built != 1
    assert len({built, chain.transpose().build(), chain.build()}) == 2


def test_a_lazy_array_is_copied_and_pickled_with_its_array():
    x = np.arange(6).reshape(2, 3)
    lazy = dm.chain(x).transpose()
    for again in (copy.copy(lazy), copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        assert np.array_equal(again.run(), x.T)


def test_a_pickle_crosses_processes(tmp_path):
    x = np.arange(48, dtype="f4").reshape(2, 6, 4)
    built = dm.Chain.of(x).split(1, 2).branch(1).transpose().build()
    (tmp_path / "chain").write_bytes(pickle.dumps((built, x)))
    code = (
        "import pickle, sys, numpy as np\n"
        "built, x = pickle.load(open(sys.argv[1], 'rb'))\n"
        "a, b = built(x)\n"
        "assert np.array_equal(a, x[:, :3]) and np.array_equal(b, x[:, 3:].T)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "chain")], check=True)

"""``dnnmove bench``: its table, its picture, and peers that do the same."""

import json

import numpy as np
import pytest
import strategies as some
from oracle import assert_same

import dnnmove as dm

pytest.importorskip("click")
pytest.importorskip("defusedxml")

from command_line import ARRAY, invoke

from dnnmove._cli.peers import STEPS, jax_peer, numpy_peer, torch_peer
from dnnmove._cli.steps import read_step


def test_bench(tmp_path):
    text = invoke("bench", ARRAY, "transpose((0,2,3,1))", "--seconds", 0, "--threads", 1)
    assert text.splitlines()[0].startswith(f"{ARRAY} transpose((0,2,3,1)): 0.0 MB, 1 threads, 1 runs each")
    assert [line.split()[0] for line in text.splitlines()[2:5]] == ["dnnmove", "memcpy", "numpy"]
    found = json.loads(invoke("bench", ARRAY, "flip(0)", "--seconds", 0, "--json"))
    assert [row["name"] for row in found["results"]] == ["dnnmove", "memcpy"]
    assert found["missing"]["numpy"] == "the comparison has no flip"
    assert found["bytes"] == 2 * 4 * 480
    assert all(row["median"] == found["seconds"][row["name"]][0] for row in found["results"])


def test_bench_draws(tmp_path):
    pytest.importorskip("matplotlib")
    invoke("bench", "(64,64) uint8 (1,64)", "transpose()", "--seconds", 0, "--plot", tmp_path / "rates.png")
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "-1", "601", "two"])
def test_bench_refuses_seconds(seconds):
    """NaN lies in every range: the run would never end."""
    assert "Invalid value for '--seconds'" in invoke("bench", ARRAY, "transpose()", "--seconds", seconds, code=2)


@pytest.mark.parametrize(("name", "word"), [("x.what", "png"), ("x", "png"), ("no/where.png", "No such file")])
def test_bench_refuses_pictures_before_it_measures(name, word, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("dnnmove._cli.bench._measure", lambda *_: pytest.fail("measured"))
    assert word in invoke("bench", "(8,8)", "transpose()", "--plot", tmp_path / name, code=1)


@pytest.mark.parametrize(
    "steps",
    [
        ["shuffle(1, 4)"],
        ["shuffle_channels(1, 3)"],
        ["shuffle_channels(axis=-1, group=2)"],
        ["transpose()"],
        ["transpose([3, 0, 2, 1])"],
        ["variadic_split(1, (3, -1, 4))", "transpose()"],
        ["split(axis=1, num_splits=2)"],
        ["broadcast((3, 2, 12, 5, 4))"],
        ["broadcast((2, 12, 5, 4, 2), (0, 1, 2, 3), 'explicit')"],
        ["broadcast((3, 1, 1, 5, 1), mode='bidirectional')"],
        ["reshape((24, 20))", "index[::2, None, 3:]"],
        ["index[-1, -3:, 0]"],
    ],
)
def test_peers_do_the_same(steps):
    read = [read_step(step) for step in steps]
    assert {name for name, _, _ in read} <= set(STEPS)
    x = np.nan_to_num(some.dense((2, 12, 5, 4), "f4"))
    chain = dm.Chain(dm.MemoryDesc.of(x))
    for name, arguments, named in read:
        chain = getattr(chain, name)(*arguments, **named)
    expected = chain.build()(x)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for mine, right in zip(numpy_peer(x, read)(), expected, strict=True):
        assert_same(mine, right)
    pytest.importorskip("torch")
    for mine, right in zip(torch_peer(x, read, 2)(), expected, strict=True):
        assert_same(mine.numpy(), right)
    pytest.importorskip("jax")
    for mine, right in zip(jax_peer(x, read)(), expected, strict=True):
        assert_same(np.asarray(mine), right)


def test_torch_takes_no_negative_steps():
    pytest.importorskip("torch")
    for key in ("::-1", "0, ::-2"):
        why = torch_peer(np.zeros((3, 4), "f4"), [read_step(f"index[{key}]")], 1)
        assert why == "torch slices with no negative step"


def test_jax_computes_no_other_type_instead():
    """Of 64 bits it takes 32, unless it is told not to."""
    pytest.importorskip("jax")
    step = [read_step("transpose()")]
    assert jax_peer(np.zeros((2, 3)), step).startswith("jax takes no float64")
    assert jax_peer(np.zeros((2, 3), "S3"), step).startswith("jax takes no such array")
    assert jax_peer(np.zeros((2, 3)), [read_step("flip(0)")]) == "the comparison has no flip"


def test_peers_take_arrays_without_axes():
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    x = np.array(3.0, "f4")
    for steps, shape in ((["transpose()"], ()), (["broadcast([])"], ()), (["broadcast([2, 3])"], (2, 3))):
        read = [read_step(step) for step in steps]
        for peer in (numpy_peer(x, read), torch_peer(x, read, 2), jax_peer(x, read)):
            assert_same(np.asarray(peer()[0]), np.full(shape, 3.0, "f4"))

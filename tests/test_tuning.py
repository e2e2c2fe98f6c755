"""Measured plans: every variant gives the same bits; what was found is kept and saved; bad files are refused."""

import json
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracle
import pytest

import dnnmove as dm
from dnnmove import tuning

RANDOM = np.random.default_rng(7)


def random(shape, dtype="f4"):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return RANDOM.integers(0, 256, size, np.uint8).view(dtype).reshape(shape)


def tuned_transpose(x, order=()):
    return dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x), order, tune=True))


PRIMITIVES = {
    "transpose": lambda x: dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x), (2, 0, 1), tune=True)),
    "split": lambda x: dm.VariadicSplit(dm.VariadicSplit.Desc(dm.MemoryDesc.of(x), 2, [70, -1, 7], tune=True)),
    "broadcast": lambda x: dm.Broadcast(dm.Broadcast.Desc(dm.MemoryDesc.of(x), (3, *x.shape), tune=True)),
    "shuffle_channels": lambda x: dm.ShuffleChannels(
        dm.ShuffleChannels.Desc(dm.MemoryDesc.of(x), axis=1, group=5, tune=True)
    ),
    "shuffle_forward": lambda x: dm.ShuffleForward(
        dm.ShuffleForward.Desc(dm.PropKind.forward_training, dm.MemoryDesc.of(x), 1, 6, tune=True)
    ),
    "shuffle_backward": lambda x: dm.ShuffleBackward(
        dm.ShuffleBackward.Desc(dm.MemoryDesc.of(x), axis=1, group_size=6, tune=True)
    ),
    "chain": lambda x: dm.Chain.of(x).transpose((1, 0, 2)).split(2, 2).build(tune=True),
    "chain of two passes": lambda x: dm.Chain.of(x).transpose((2, 0, 1)).reshape((-1, 7)).build(max_nests=1, tune=True),
}
EXPECTED = {
    "transpose": lambda x: [oracle.transpose(x, (2, 0, 1))],
    "split": lambda x: oracle.variadic_split(x, 2, [70, 53, 7]),
    "broadcast": lambda x: [np.broadcast_to(x, (3, *x.shape))],
    "shuffle_channels": lambda x: [oracle.shuffle_channels(x, 1, 5)],
    "shuffle_forward": lambda x: [oracle.shuffle(x, 1, 6)],
    "shuffle_backward": lambda x: [oracle.shuffle_backward(x, 1, 6)],
    "chain": lambda x: np.split(x.transpose((1, 0, 2)), 2, axis=2),
    "chain of two passes": lambda x: [x.transpose((2, 0, 1)).reshape((-1, 7))],
}


@pytest.mark.parametrize("name", PRIMITIVES)
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_the_first_call_and_the_next_give_the_same_bits(name, dtype):
    x = random((21, 30, 130), dtype)
    expected = EXPECTED[name](x)
    prim = PRIMITIVES[name](x)
    assert "to be tuned by the first call" in prim.explain()
    for _ in range(2):
        results = prim(x)
        results = results if isinstance(results, tuple) else (results,)
        assert len(results) == len(expected)
        for result, value in zip(results, expected, strict=True):
            assert oracle.raw(result) == oracle.raw(np.ascontiguousarray(value))
    assert "tuned: " in prim.explain()
    assert "to be tuned" not in prim.explain()
    assert tuning.problems()


def test_explain_does_not_wait_for_another_threads_measurement():
    x = random((1500, 1700))
    for _ in range(10):
        tuning.clear()
        prim = tuned_transpose(x)
        thread = threading.Thread(target=prim, args=(x,))
        thread.start()
        time.sleep(0.02)
        text = prim.explain()
        thread.join()
        if "to be tuned by the first call" in text:  # asked while it was measured
            break
    assert "to be tuned by the first call" in text
    assert "  tuned: " in prim.explain()


def test_calls_do_not_wait_for_another_threads_measurement():
    x = random((900, 1100))
    expected = oracle.raw(np.ascontiguousarray(x.T))
    prim = tuned_transpose(x)
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda _: oracle.raw(prim(x)), range(30)))
    assert results == [expected] * 30
    assert "  tuned: " in prim.explain()


def test_nothing_around_the_output_is_written():
    x = random((64, 96))
    frame = np.zeros(16 + x.size + 16, "f4")
    out = frame[16:-16].reshape(96, 64)
    tuned_transpose(x)(x, out=out)
    assert oracle.raw(out) == oracle.raw(x.T)
    assert not frame[:16].any()
    assert not frame[-16:].any()


def test_execute_tunes_too():
    x = random((40, 50))
    prim = tuned_transpose(x)
    y = np.empty((50, 40), "f4")
    prim.execute(None, {dm.ARG_SRC: x, dm.ARG_DST: y})
    assert oracle.raw(y) == oracle.raw(x.T)
    assert len(tuning.problems()) == 1


def test_blocked_layouts_are_tuned():
    desc = dm.MemoryDesc((2, 20, 5, 7), "f4", "nChw8c")
    src, dst, expected = dm.Memory(desc), dm.Memory(desc), dm.Memory(desc)
    plain = random((2, 20, 5, 7))
    dm.reorder(dm.Memory(dm.MemoryDesc.of(plain), buffer=plain), src)
    args = {dm.ARG_SRC: src, dm.ARG_DST: dst}
    problem = (dm.PropKind.forward_inference, desc, 1, 5)
    dm.ShuffleForward(dm.ShuffleForward.Desc(*problem, tune=True)).execute(None, args)
    dm.ShuffleForward(dm.ShuffleForward.Desc(*problem)).execute(None, args | {dm.ARG_DST: expected})
    assert dst.bytes.tobytes() == expected.bytes.tobytes()
    assert len(tuning.problems()) == 1


def test_onednn_has_nothing_to_tune():
    x = random((2, 6, 4, 4))
    desc = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, dm.MemoryDesc.of(x), 1, 3, tune=True)
    prim = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation="onednn"))
    assert oracle.raw(prim(x)) == oracle.raw(oracle.shuffle(x, 1, 3))
    assert tuning.problems() == {}


def test_a_problem_is_measured_once():
    x = random((300, 200))
    tuned_transpose(x)(x)
    found = tuning.problems()
    tuned_transpose(x)(x)
    assert tuning.problems() == found
    tuned_transpose(x, (0, 1))(x)
    assert len(tuning.problems()) == 2


def test_empty_arrays_and_copies_of_nothing():
    x = np.empty((0, 3), "f4")
    assert tuned_transpose(x)(x).shape == (3, 0)
    assert tuning.problems() == {}


def test_many_threads_make_the_first_call():
    x = random((500, 700))
    prim = tuned_transpose(x)
    results = [None] * 6
    gate = threading.Barrier(len(results))

    def call(k):
        gate.wait()
        results[k] = prim(x)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        assert oracle.raw(result) == oracle.raw(x.T)
    assert len(tuning.problems()) == 1


@pytest.fixture
def turns():
    """How often another thread got the GIL, as a list of one number: here only where it was let go."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    count, done = [0], threading.Event()

    def take():
        while not done.wait(0.0005):
            count[0] += 1

    other = threading.Thread(target=take)
    other.start()
    yield count
    done.set()
    other.join()
    sys.setswitchinterval(interval)


SMALL = {
    "a call": (tuned_transpose, lambda runs, x, y: runs(x, out=y)),
    "execute": (tuned_transpose, lambda runs, x, y: runs.execute(None, {dm.ARG_SRC: x, dm.ARG_DST: y})),
    "a chain": (lambda x: dm.Chain.of(x).transpose((1, 0)).build(tune=True), lambda runs, x, y: runs(x, out=y)),
    "a chain's execute": (
        lambda x: dm.Chain.of(x).transpose((1, 0)).build(tune=True),
        lambda runs, x, y: runs.execute(None, {dm.ARG_SRC: x, dm.ARG_DST: y}),
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_other_threads_run_while_a_small_problem_is_tuned(name, turns):
    make, call = SMALL[name]
    x, y = random((64, 60)), np.empty((60, 64), "f4")
    runs = make(x)
    before = turns[0]
    call(runs, x, y)
    assert turns[0] > before
    assert oracle.raw(y) == oracle.raw(x.T)
    # Once tuned, it is a small copy as others: done before another thread could take over.
    before, start = turns[0], time.perf_counter()
    while time.perf_counter() - start < 0.02:
        call(runs, x, y)
    assert turns[0] == before


@pytest.mark.parametrize("value", [1, 0, None, "yes", np.True_])
def test_tune_is_a_bool(value):
    md = dm.MemoryDesc((4, 6), "f4")
    for make in (
        lambda: dm.Transpose.Desc(md, tune=value),
        lambda: dm.ShuffleChannels.Desc(md, 1, 2, tune=value),
        lambda: dm.VariadicSplit.Desc(md, 1, [2, 4], tune=value),
        lambda: dm.Broadcast.Desc(md, (2, 4, 6), tune=value),
        lambda: dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 2, tune=value),
        lambda: dm.ShuffleBackward.Desc(md, 1, 2, tune=value),
        lambda: dm.Chain(md).build(tune=value),
    ):
        with pytest.raises(TypeError, match="tune must be a bool, not"):
            make()


def test_repr_says_so():
    md = dm.MemoryDesc((4, 6), "f4")
    assert repr(dm.Transpose.Desc(md, tune=True)).endswith("tune=True)")
    assert "tune" not in repr(dm.Transpose.Desc(md))
    assert "tune=True" in repr(dm.ShuffleBackward.Desc(md, 1, 2, tune=True))


@pytest.fixture
def saved(tmp_path):
    """A file with one problem, tuned here, and the input of it."""
    x = random((600, 500))
    tuned_transpose(x)(x)
    path = tmp_path / "tuning.json"
    tuning.save(path)
    return path, x


def rewrite(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_saved_and_loaded(saved):
    path, _ = saved
    found = tuning.problems()
    tuning.clear()
    assert tuning.problems() == {}
    assert tuning.load(path) == 1
    assert tuning.problems() == found
    assert tuning.load(str(path)) == 1  # again: replaced


CUT_OFF = """
import resource, sys
from dnnmove import tuning
tuning.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
try:
    tuning.save(sys.argv[1])
except OSError as error:
    print(error.filename)
"""


def test_a_save_that_fails_leaves_the_file_as_it_was(saved):
    path, _ = saved
    before = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", CUT_OFF, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_saved_by_a_link_to_a_pipe_and_not_over_a_protected_file(saved, tmp_path):
    path, _ = saved
    link = tmp_path / "link.json"
    link.symlink_to(path)
    tuning.save(link)
    assert link.is_symlink()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDWR)  # so that nobody waits for the other side
    tuning.save(pipe)
    assert os.read(end, 1 << 16) == path.read_bytes()
    os.close(end)
    assert pipe.is_fifo()
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(OSError, match="symbolic links"):
        tuning.save(circle)
    assert circle.is_symlink()
    path.chmod(0o640)
    tuning.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(IsADirectoryError):
        tuning.save(tmp_path)
    with pytest.raises(FileNotFoundError) as absent:
        tuning.save(tmp_path / "absent" / "tuning.json")
    assert absent.value.filename == str(tmp_path / "absent" / "tuning.json")
    if os.geteuid() != 0:  # who may write everything
        path.chmod(0o440)
        with pytest.raises(PermissionError):
            tuning.save(path)


def test_a_private_file_is_private_while_it_is_saved(saved, monkeypatch):
    path, _ = saved
    path.chmod(0o600)
    modes = []
    monkeypatch.setattr(os, "fsync", lambda file: modes.append(stat.S_IMODE(os.fstat(file).st_mode)))
    tuning.save(path)
    assert modes == [0o600]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_saved_where_files_have_no_rights(saved, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    path, _ = saved
    path.write_text("old")
    monkeypatch.setattr(type(path), "chmod", refuse)
    tuning.save(path)
    assert tuning.load(path) == 1


def narrow_panels(document):
    """Gives the one problem a variant that the planner does not choose, and a gain to know it by."""
    (entry,) = document["problems"].values()
    entry.update(kernel=0, stores="automatic", panel=64, gain=2.5)


def test_what_was_loaded_decides_the_plan(saved):
    path, x = saved
    tuning.clear()
    desc = dm.Transpose.Desc(dm.MemoryDesc.of(x))
    plain = dm.Transpose(desc)
    plain(x)
    rewrite(path, narrow_panels)
    tuning.load(path)
    loaded = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x)))
    assert oracle.raw(loaded(x)) == oracle.raw(x.T)
    assert "tuned: 2.50 times faster" in loaded.explain()
    assert "source rows 600 in tiles of 16" in loaded.explain()
    assert "source rows 600 in tiles of 16" not in plain.explain()  # keeps its plan
    assert oracle.raw(dm.transpose(x)) == oracle.raw(x.T)


def test_what_changes_elements_is_another_problem(saved):
    path, x = saved
    tuning.clear()
    chain = dm.Chain(dm.MemoryDesc.of(x)).transpose()
    before = [steps.build().explain() for steps in (chain.byteswap(), chain.convert("float32", scale=2))]
    rewrite(path, narrow_panels)
    tuning.load(path)
    assert "tuned: 2.50 times faster" in chain.build().explain()
    assert [steps.build().explain() for steps in (chain.byteswap(), chain.convert("float32", scale=2))] == before


@pytest.mark.parametrize("tune", [False, True])
def test_explain_knows_what_was_loaded_before_the_first_call(saved, tune):
    path, x = saved
    rewrite(path, narrow_panels)
    tuning.load(path)
    prim = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x), tune=tune))
    before = prim.explain()
    assert "tuned: 2.50 times faster" in before
    assert "to be tuned" not in before
    assert "source rows 600 in tiles of 16" in before
    prim(x)
    assert prim.explain() == before


@pytest.mark.parametrize("kernel", range(4))
@pytest.mark.parametrize("stores", ["cached", "nontemporal"])
@pytest.mark.parametrize("panel", [0, 64, 512, 4096])
def test_any_loaded_variant_gives_the_same_bits(saved, kernel, stores, panel):
    path, x = saved
    rewrite(path, lambda d: next(iter(d["problems"].values())).update(kernel=kernel, stores=stores, panel=panel))
    tuning.load(path)
    assert oracle.raw(dm.transpose(x)) == oracle.raw(x.T)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="something"), "must be a file that dnnmove.tuning.save wrote"),
        (lambda d: d.update(dnnmove="0.0.1"), "saved with dnnmove '0.0.1', this is"),
        (lambda d: d.update(cpu="another"), "saved with cpu 'another', this is"),
        (lambda d: d.update(problems=[1]), "must hold problems"),
        (lambda d: d["problems"].update(more=3), "no entry of dnnmove.tuning"),
        (lambda d: d["problems"].update(more={"kernel": 0}), "no entry of dnnmove.tuning"),
    ]
    + [
        (lambda d, k=k, v=v: next(iter(d["problems"].values())).update({k: v}), "no entry of dnnmove.tuning")
        for k, v in (
            ("kernel", -1),
            ("kernel", 1.5),
            ("kernel", True),
            ("kernel", 10**30),
            ("stores", "both"),
            ("stores", None),
            ("panel", -64),
            ("panel", "64"),
            ("panel", 100),
            ("panel", 2**40),
            ("gain", "x"),
            ("gain", float("nan")),
        )
    ],
)
def test_files_that_are_refused(saved, change, message):
    path, _ = saved
    tuning.clear()
    rewrite(path, change)
    with pytest.raises(ValueError, match=message) as caught:
        tuning.load(path)
    assert str(path) in str(caught.value)
    assert tuning.problems() == {}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"7"])
def test_no_such_file(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"must be a file that dnnmove\.tuning\.save wrote"):
        tuning.load(path)
    with pytest.raises(FileNotFoundError):
        tuning.load(tmp_path / "absent")


@pytest.mark.parametrize("path", [5, None, b"tuning.json", ["tuning.json"]])
def test_what_is_no_path(path):
    for call in (tuning.load, tuning.save):
        with pytest.raises(TypeError, match=r"path \(.*\) must be a str or os.PathLike"):
            call(path)


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "text",
    [
        nested(100_000),
        '{"format": "dnnmove tuning 1", "problems": ' + nested(100_000) + "}",
        '{"format": ' + "9" * 5000 + "}",
        "\ufeff{}",
        '"' + "x" * 100_000 + '"',
    ],
)
def test_hostile_texts(tmp_path, text):
    path = tmp_path / "tuning.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"tuning\.json") as caught:
        tuning.load(path)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("problem", "change"),
    [
        ("\ud800", {}),  # no text that UTF-8 can hold
        ("\u00e9", {}),
        ("more", {"kernel": True}),
        ("more", {"panel": False}),
        ("more", {"gain": True}),
        ("more", {"gain": float("nan")}),
        ("more", {"gain": float("inf")}),
        ("more", {"kernel": 2**70}),
        ("more", {"panel": 64.0}),
        ("more", {"stores": ["cached"]}),
        ("more", {"stores": "x" * 100_000}),
        ("x" * 100_000, {"stores": 1}),
    ],
)
def test_one_wrong_entry_behind_right_ones_loads_nothing(saved, problem, change):
    path, _ = saved
    tuning.clear()
    rewrite(path, lambda d: d["problems"].update({problem: {**next(iter(d["problems"].values())), **change}}))
    with pytest.raises(ValueError, match=r"no entry of dnnmove\.tuning") as caught:
        tuning.load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 2000
    assert tuning.problems() == {}

"""``dnnmove run``: models on files, errors in one line, and nothing half-written whatever happens."""

import functools
import os
import signal
import subprocess
import sys
import time

import ml_dtypes
import numpy as np
import pytest
import strategies as some
from oracle import assert_same

import dnnmove as dm

pytest.importorskip("click")
pytest.importorskip("defusedxml")

from command_line import ended, files, invoke, layer, net, saved, start, write_transposing

from dnnmove.ir._slabs import slabs


@pytest.fixture
def transposing(tmp_path):
    """Writes the model into the folder of the test."""
    return functools.partial(write_transposing, tmp_path)


@pytest.fixture
def branching(tmp_path):
    """A model of two inputs: the first split in three, of which two are results, the second joined with the third."""
    layers = [
        layer(0, "Parameter", 0, 1, '<data shape="?,6,4" element_type="u8"/>'),
        layer(1, "Parameter", 0, 1, '<data shape="?,2,4" element_type="u8"/>'),
        layer(2, "Const", 0, 1, '<data shape="" element_type="i64" offset="0" size="8"/>'),
        layer(3, "Split", 2, 3, '<data num_splits="3"/>'),
        layer(4, "Concat", 2, 1, '<data axis="2"/>'),
        *(layer(number, "Result", 1, 0) for number in (5, 6, 7)),
    ]
    edges = [(0, 0, 3, 0), (2, 0, 3, 1), (3, 2, 5, 0), (3, 4, 6, 0), (3, 3, 4, 0), (1, 0, 4, 1), (4, 2, 7, 0)]
    path = tmp_path / "branching.xml"
    path.write_text(net(layers, edges))
    path.with_suffix(".bin").write_bytes(np.array(1).astype("<i8").tobytes())
    return path


@pytest.mark.parametrize("shape", [(300, 7000), (1, 5), (0, 4), (3, 1)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_run(transposing, tmp_path, shape, order):
    x = np.asarray(some.dense(shape, "f4"), order=order)
    source, target = saved(tmp_path, "x.npy", x), tmp_path / "y.npy"
    assert invoke("run", transposing(), "-i", source, "-o", target, "--slab", 1) == ""
    result = np.load(target)
    assert_same(result, dm.transpose(x))
    assert result.flags.c_contiguous
    assert files(tmp_path) == ["model.bin", "model.xml", "x.npy", "y.npy"]
    assert target.stat().st_mode == source.stat().st_mode


def test_run_of_several(branching, tmp_path):
    a, b = some.dense((9, 6, 4), "u1"), some.dense((9, 2, 4), "u1")
    sources = [saved(tmp_path, "a.npy", a), saved(tmp_path, "b.npy", b)]
    targets = [tmp_path / f"{name}.npy" for name in "pqr"]
    given = [option for path in sources for option in ("-i", path)] + [o for path in targets for o in ("-o", path)]
    invoke("run", branching, *given)
    for path, expected in zip(targets, [a[:, :2], a[:, 4:], np.concatenate([a[:, 2:4], b], 2)], strict=True):
        assert_same(np.load(path), np.ascontiguousarray(expected))


def test_types_that_files_do_not_know(transposing, tmp_path):
    x = some.dense((5, 7), ml_dtypes.bfloat16)
    source, target = saved(tmp_path, "x.npy", x), tmp_path / "y.npy"
    assert np.load(source).dtype == "V2"
    invoke("run", transposing("bf16"), "-i", source, "-o", target)
    assert_same(np.load(target).view(ml_dtypes.bfloat16), dm.transpose(x))


def test_a_file_may_be_its_own_target(transposing, tmp_path):
    x = some.dense((40, 60), "f4")
    path = saved(tmp_path, "x.npy", x)
    link = tmp_path / "link.npy"
    link.symlink_to(path)
    invoke("run", transposing(), "-i", path, "-o", link, "--threads", 1)
    assert link.is_symlink()
    assert_same(np.load(path), dm.transpose(x))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nowhere.xml"], 1, ["nowhere.xml", "No such file"]),
        (["model.xml"], 2, ["-i must be given 1 times, not 0: Parameter0 (?, ?) float32"]),
        (["model.xml", "-i", "x.npy"], 2, ["-o must be given 1 times, not 0: Result3"]),
        (["model.xml", "-i", "none.npy", "-o", "y.npy"], 1, ["none.npy", "No such file"]),
        (["model.xml", "-i", "model.bin", "-o", "y.npy"], 1, ["model.bin"]),
        (["model.xml", "-i", "whole.npz", "-o", "y.npy"], 1, ["one array"]),
        (["model.xml", "-i", "object.npy", "-o", "y.npy"], 1, ["object.npy"]),
        (["model.xml", "-i", "cut.npy", "-o", "y.npy"], 1, ["cut.npy"]),
        (["model.xml", "-i", "int.npy", "-o", "y.npy"], 1, ["input 0 ('Parameter0') must have the dtype float32"]),
        (["model.xml", "-i", "cube.npy", "-o", "y.npy"], 1, ["must have the shape (?, ?), not (2, 2, 2)"]),
        (["model.xml", "-i", "empty.npy", "-o", "y.npy"], 1, ["empty.npy", "No data left"]),
        (["model.xml", "-i", "x.npy", "-o", "no/where/y.npy"], 1, ["no/where/y.npy: No such file"]),
        (["model.xml", "-i", "x.npy", "-o", "."], 1, ["is no regular file"]),
        (["model.xml", "-i", "x.npy", "-o", "loop.npy"], 1, ["loop.npy: Too many levels of symbolic links"]),
        (["model.xml", "-i", "x.npy", "-o", "y.npy", "--slab", "0"], 2, ["--slab"]),
        (["model.xml", "-i", "x.npy", "-o", "y.npy", "--weights", "none.bin"], 1, ["none.bin"]),
        (["x.npy"], 1, ["not well-formed XML"]),
    ],
)
def test_run_refuses(transposing, tmp_path, monkeypatch, arguments, code, words):
    transposing()
    monkeypatch.chdir(tmp_path)
    x = np.zeros((3, 4), "f4")
    for name, array in (("x", x), ("int", x.astype("i4")), ("cube", np.zeros((2, 2, 2), "f4"))):
        np.save(f"{name}.npy", array)
    np.save("object.npy", np.array([{}]), allow_pickle=True)
    np.savez("whole.npz", x=x)
    (tmp_path / "empty.npy").touch()
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-8])
    before = files(tmp_path)
    text = invoke("run", *arguments, code=code)
    assert files(tmp_path) == before
    assert "Traceback" not in text
    for word in words:
        assert word in text
    assert code == 2 or text.count("\n") == 1


def test_a_file_that_is_replaced_keeps_its_rights(transposing, tmp_path):
    x, target = saved(tmp_path, "x.npy", some.dense((3, 4), "f4")), tmp_path / "y.npy"
    for mode in (0o600, 0o664, 0o200, 0o446):
        target.touch()
        target.chmod(mode)
        invoke("run", transposing(), "-i", x, "-o", target)
        assert target.stat().st_mode & 0o7777 == mode
        target.chmod(0o600)
        assert np.load(target).shape == (4, 3)


def test_what_may_not_be_written_stays(transposing, tmp_path, monkeypatch):
    """A rename could replace it, where the folder may be written."""
    x, target = saved(tmp_path, "x.npy", some.dense((3, 4), "f4")), saved(tmp_path, "y.npy", np.zeros(1))
    model, before = transposing(), target.read_bytes()
    monkeypatch.setattr(os, "access", lambda path, mode, **_: str(path) != str(target))
    assert f"{target}: Permission denied" in invoke("run", model, "-i", x, "-o", target, code=1)
    assert target.read_bytes() == before


def test_what_may_not_be_read_is_an_error_and_no_wrong_usage(transposing, tmp_path, monkeypatch):
    x = saved(tmp_path, "x.npy", some.dense((3, 4), "f4"))
    monkeypatch.setattr(os, "access", lambda path, mode, **_: mode != os.R_OK)  # click need not look
    assert invoke("run", transposing(), "-i", x, "-o", tmp_path / "y.npy") == ""


def test_nothing_half_written_stays(branching, tmp_path, monkeypatch):
    """The second result fails: the first one's file, which is complete, does not appear either."""
    from dnnmove.ir import _slabs

    a, b = saved(tmp_path, "a.npy", some.dense((9, 6, 4), "u1")), saved(tmp_path, "b.npy", some.dense((9, 2, 4), "u1"))
    (tmp_path / "q.npy").write_text("as it was")
    before = files(tmp_path)

    def fail(self, places, most, done):
        places[0][...] = 1
        raise ValueError("no\nmore")

    monkeypatch.setattr(_slabs.Slabs, "run", fail)
    text = invoke("run", branching, "-i", a, "-i", b, *(f"-o{tmp_path / name}.npy" for name in "pqr"), code=1)
    assert text == "Error: no more\n"
    assert files(tmp_path) == before
    assert (tmp_path / "q.npy").read_text() == "as it was"


def test_a_full_disk_is_an_error(transposing, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    source = saved(tmp_path, "x.npy", np.zeros((3, 4), "f4"))
    text = invoke("run", transposing(), "-i", source, "-o", tmp_path / "y.npy", code=1)
    assert "No space left on device" in text
    assert files(tmp_path) == ["model.bin", "model.xml", "x.npy"]


@pytest.mark.parametrize(
    ("shape", "most", "count"),
    [((4, 5), 10**6, 1), ((4, 5), 10, 2), ((4, 5), 2, 12), ((2, 1, 3), 1, 6), ((0, 3), 1, 1)],
)
def test_slabs_cover_all_in_order(shape, most, count):
    keys = list(slabs(shape, 1, most))
    array = np.arange(np.prod(shape)).reshape(shape)
    assert len(keys) == count
    assert np.concatenate([np.ravel(array[key]) for key in keys]).tolist() == array.ravel().tolist()


def test_progress(transposing, tmp_path):
    source = saved(tmp_path, "x.npy", np.zeros((1024, 1024), "f4"))
    process = start("run", transposing(), "-i", source, "-o", tmp_path / "y.npy", "--progress", "--slab", 1)
    code, out, err = ended(process)
    assert (code, out) == (0, "")
    assert "dnnmove run" in err
    code, out, err = ended(start("run", transposing(), "-i", source, "-o", tmp_path / "y.npy"))
    assert (code, out, err) == (0, "", "")  # no terminal


@pytest.mark.unsanitized
def test_memory_does_not_grow_with_the_arrays(transposing, tmp_path, run_python):
    """The pages of mapped files are the system's; what the process itself takes stays small."""
    x = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype="f4", shape=(8192, 8192))  # 256 MiB
    x[::64] = np.arange(8192, dtype="f4")
    x.flush()
    program = f"""
import re, sys
from dnnmove.ir import _slabs
from dnnmove._cli import cli
run = _slabs.Slabs.run
most = 0
def watched(self, places, size, done):
    def look(count):
        global most
        most = max(most, int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
        done(count)
    run(self, places, size, look)
_slabs.Slabs.run = watched
cli(["run", {str(transposing())!r}, "-i", {str(tmp_path / "x.npy")!r}, "-o", {str(tmp_path / "y.npy")!r}],
    standalone_mode=False)
print(most)
"""
    assert int(run_python(program)) < 128  # MiB
    y = np.load(tmp_path / "y.npy", mmap_mode="r")
    assert np.array_equal(y[:, ::64], np.repeat(np.arange(8192, dtype="f4")[:, None], 128, 1))
    assert not y[:, 1::64].any()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals(transposing, tmp_path, number, code):
    """The file in the making vanishes, whenever the signal comes."""
    np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype="u1", shape=(1 << 15, 1 << 14)).flush()
    for _ in range(5):
        process = start("run", transposing("u8"), "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy", "--slab", 1)
        until = time.monotonic() + 60
        while not any(name.endswith(".part") for name in files(tmp_path)) and time.monotonic() < until:
            assert process.poll() is None, ended(process)
            time.sleep(0.005)
        process.send_signal(number)
        found, _, err = ended(process)
        if found != 0 or not (tmp_path / "y.npy").exists():
            break
        (tmp_path / "y.npy").unlink()  # it was over before this process, on a busy machine, saw it begin
    assert found == code, err
    assert "Traceback" not in err
    assert err.count("\n") <= 1
    assert files(tmp_path) == ["model.bin", "model.xml", "x.npy"]


def test_run_without_standard_streams(transposing, tmp_path):
    """As services are started."""
    x = some.dense((3, 4), "f4")
    path = saved(tmp_path, "x.npy", x)
    command = [sys.executable, "-m", "dnnmove", "run", str(transposing()), "-i", str(path), "-o", "y.npy"]
    closed = "import os, sys; [os.close(n) for n in range(3)]; os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", closed, *command], cwd=tmp_path, timeout=120)
    assert done.returncode == 0
    assert_same(np.load(tmp_path / "y.npy"), dm.transpose(x))

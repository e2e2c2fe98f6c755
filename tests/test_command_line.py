"""The command line: what it prints, its exit codes, that an error takes one line and leaves nothing half-written."""

import json
import os
import re
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

from click.testing import CliRunner

from dnnmove._cli import cli
from dnnmove._cli.peers import STEPS, numpy_peer, torch_peer
from dnnmove._cli.steps import read_step
from dnnmove.ir._slabs import slabs

ARRAY = "(2,12,5,4) float32"


def invoke(*arguments, code=0):
    """Standard output, and standard error if `code` is not 0."""
    done = CliRunner().invoke(cli, list(map(str, arguments)), prog_name="dnnmove")
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


def start(*arguments, **options):
    command = [sys.executable, "-m", "dnnmove", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def ended(process, timeout=120):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


# info, explain


def test_info():
    text = invoke("info")
    for word in (dm.__version__, dm.onednn_version(), np.__version__, "nChw16c", dm.build_info()["isa"]):
        assert word in text
    found = json.loads(invoke("info", "--json"))
    assert found["threads"] == dm.get_num_threads()
    assert found["build"]["isa"] == dm.build_info()["isa"]
    (entry,) = (e for e in found["shuffles"] if (e["layout"], e["dtype"]) == ("nchw", "float64"))
    assert entry["implementations"] == [f"native:{dm.build_info()['isa']}"]


def test_info_where_one_implementation_is_forced(monkeypatch):
    monkeypatch.setenv("DNNMOVE_IMPLEMENTATION", "onednn")
    found = {(e["layout"], e["dtype"]): e["implementations"] for e in json.loads(invoke("info", "--json"))["shuffles"]}
    assert found["nchw", "float64"] == []
    assert found["nchw", "float32"]
    assert re.search(r"nchw .*float64 +none\n", invoke("info"))


def test_explain():
    steps = ["shuffle_channels(axis=1, group=2)", "split(1, 2)", "branch(-1)", "index[:, ::-1, 0]", "transpose()"]
    chain = dm.Chain(dm.MemoryDesc((2, 12, 5, 4), "f4")).shuffle_channels(1, 2).split(1, 2).branch(-1)
    chain = chain.index((slice(None), slice(None, None, -1), 0)).transpose()
    assert invoke("explain", ARRAY, *steps) == chain.build().explain().rstrip() + "\n"
    assert "MemoryDesc((2, 3), 'bfloat16')" in invoke("explain", "(2,3) bfloat16", "rearrange('a b -> b a')")
    assert "float32" in invoke("explain", "[4]", "tile([2, 2])")
    assert "1 pass" in invoke("explain", "(2,8,4,4) int8 nhwc", "transpose((0, 2, 3, 1))")
    assert "1 pass" in invoke("explain", "(2,3) int8 (1,2)", "flip()")


def test_explain_draws(tmp_path):
    picture = tmp_path / "chain.svg"
    text = invoke("explain", "(2,3) int8", "transpose()", "--svg", str(picture))
    built = dm.Chain(dm.MemoryDesc((2, 3), "int8")).transpose().build()
    assert text == built.explain().rstrip() + "\n"
    assert picture.read_text() == built.draw()
    assert str(tmp_path) in invoke(
        "explain", "(2,3) int8", "transpose()", "--svg", str(tmp_path / "no" / "x.svg"), code=1
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([ARRAY], 2, ["Missing argument 'STEP...'"]),
        (["2,3 float32", "transpose()"], 2, ["must be a shape and a dtype"]),
        (["(2,3) floaty", "transpose()"], 2, ["floaty"]),
        (["(2,x) float32", "transpose()"], 2, ["(2, x) must be a literal"]),
        (["(2,__import__('os').system('true'))", "transpose()"], 2, ["must be a shape and a dtype"]),
        (["[2,__import__('os').system('true')]", "transpose()"], 2, ["must be a literal"]),
        (["(2,3) float32 nchw", "transpose()"], 2, ["nchw"]),
        ([ARRAY, "__import__('os').system('true')"], 2, ["must be a call"]),
        ([ARRAY, "build()"], 2, ["build is none of the steps"]),
        ([ARRAY, "transpose(open('x'))"], 2, ["open('x') must be a literal"]),
        ([ARRAY, "transpose(**{})"], 2, ["one by one"]),
        ([ARRAY, "transpose((0,1)"], 2, ["cannot be read"]),
        ([ARRAY, "index[f()]"], 2, ["f() must be a literal"]),
        ([ARRAY, "transpose(" + "(" * 5000 + ")"], 2, ["cannot be read"]),
        ([ARRAY, "transpose(" + "0," * 10_000 + ")"], 2, ["more than 10000 characters"]),
        ([ARRAY, "transpose((0,1))"], 1, ["Error: step 1 (transpose): input_order (0, 1)"]),
        ([ARRAY, "shuffle_channels(1, groups=2)"], 1, ["did you mean 'group'?"]),
        ([ARRAY, "index[9]"], 1, ["Error: step 1 (index)"]),
        (["(2,16,4,4) float32 nChw16c", "transpose()"], 1, ["Error"]),
    ],
)
def test_explain_refuses(arguments, code, words):
    text = invoke("explain", *arguments, code=code)
    assert "Traceback" not in text
    for word in words:
        assert word in text
    assert code == 2 or text.count("\n") == 1


# run


def layer(number, kind, inputs, outputs, data=""):
    ends = [
        "".join(f'<port id="{port}"/>' for port in ports) for ports in (range(inputs), range(inputs, inputs + outputs))
    ]
    return (
        f'<layer id="{number}" name="{kind}{number}" type="{kind}" version="opset1">{data}'
        f"<input>{ends[0]}</input><output>{ends[1]}</output></layer>"
    )


def net(layers, edges):
    joined = "".join(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>' for a, b, c, d in edges)
    return f'<net name="m" version="11"><layers>{"".join(layers)}</layers><edges>{joined}</edges></net>'


@pytest.fixture
def transposing(tmp_path):
    """Writes a model that turns (rows, columns) around, of a dtype."""

    def write(dtype="f32", shape="?,?"):
        layers = [
            layer(0, "Parameter", 0, 1, f'<data shape="{shape}" element_type="{dtype}"/>'),
            layer(1, "Const", 0, 1, '<data shape="2" element_type="i64" offset="0" size="16"/>'),
            layer(2, "Transpose", 2, 1),
            layer(3, "Result", 1, 0),
        ]
        path = tmp_path / "model.xml"
        path.write_text(net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)]))
        path.with_suffix(".bin").write_bytes(np.array([1, 0]).astype("<i8").tobytes())
        return path

    return write


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


def saved(folder, name, array):
    path = folder / name
    np.save(path, array)
    return path


def files(folder):
    return sorted(path.name for path in folder.iterdir())


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


# bench


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


def test_peers_take_arrays_without_axes():
    pytest.importorskip("torch")
    x = np.array(3.0, "f4")
    for steps, shape in ((["transpose()"], ()), (["broadcast([])"], ()), (["broadcast([2, 3])"], (2, 3))):
        read = [read_step(step) for step in steps]
        for peer in (numpy_peer(x, read), torch_peer(x, read, 2)):
            assert_same(np.asarray(peer()[0]), np.full(shape, 3.0, "f4"))


# The process


def test_run_without_standard_streams(transposing, tmp_path):
    """As services are started."""
    x = some.dense((3, 4), "f4")
    path = saved(tmp_path, "x.npy", x)
    command = [sys.executable, "-m", "dnnmove", "run", str(transposing()), "-i", str(path), "-o", "y.npy"]
    closed = "import os, sys; [os.close(n) for n in range(3)]; os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", closed, *command], cwd=tmp_path, timeout=120)
    assert done.returncode == 0
    assert_same(np.load(tmp_path / "y.npy"), dm.transpose(x))


def test_without_click():
    code = "import sys; sys.modules['click'] = None; from dnnmove.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "dnnmove: the command line needs click: pip install dnnmove[cli]\n"


@pytest.mark.parametrize("variable", ["ISA", "NUM_THREADS", "VERBOSE", "POOL", "IMPLEMENTATION"])
@pytest.mark.parametrize("way", ["module", "script"])
def test_the_environment_is_an_argument_too(variable, way, tmp_path):
    """A value that nothing understands fails the import of the package: one line, as other errors."""
    script = tmp_path / "dnnmove"  # as pip writes it
    script.write_text("from dnnmove.__main__ import main\nmain()\n")
    command = {"module": ["-m", "dnnmove"], "script": [str(script)]}[way]
    environment = {**os.environ, f"DNNMOVE_{variable}": "wrong"}
    done = subprocess.run([sys.executable, *command, "info"], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: DNNMOVE_{variable} (")
    assert done.stderr.count("\n") == 1


def test_help_has_examples():
    code, out, err = ended(start("--help"))
    assert (code, err) == (0, "")
    for name in ("bench", "explain", "info", "run"):
        assert f"\n  {name} " in out
        assert f"dnnmove {name}" in invoke(name, "--help").split("Examples:")[1]
    assert invoke("--version") == f"dnnmove, version {dm.__version__}\n"
    assert "No such command 'fly'" in invoke("fly", code=2)


def test_a_reader_that_goes_away():
    process = start("info")
    process.stdout.close()
    assert process.wait(60) == 1
    assert process.stderr.read() == ""
    process.stderr.close()


def test_an_interrupt_before_the_command():
    code = "import sys\nclass Stop:\n def find_spec(*_): raise KeyboardInterrupt\nsys.meta_path.insert(0, Stop)\n"
    program = f"import dnnmove.__main__ as m\n{code}m.main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")

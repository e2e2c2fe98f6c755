"""What runs is printed in the format of oneDNN's verbose output, oneDNN's own work by oneDNN itself."""

import os
import re
import subprocess
import sys

import pytest

import dnnmove as dm

PROGRAM = """
import numpy as np
import dnnmove as dm
{before}
x = np.arange(2 * 12 * 5 * 7, dtype="f4").reshape(2, 12, 5, 7)
md = dm.MemoryDesc.of(x)
fpd = dm.ShuffleForward.PrimitiveDesc(
    dm.ShuffleForward.Desc(dm.PropKind.forward_inference, md, 1, 3), implementation="{implementation}")
y = dm.ShuffleForward(fpd)(x)
bpd = dm.ShuffleBackward.PrimitiveDesc(dm.ShuffleBackward.Desc(md, 1, 3), implementation="{implementation}")
assert np.array_equal(dm.ShuffleBackward(bpd)(y), x)
print(flush=True)
"""
EXECUTED = re.compile(r"^(?:one)?dnnl?_verbose,.*exec,cpu,shuffle,.*$", re.MULTILINE)
COLUMNS = ["marker", "operation", "engine", "primitive", "implementation", "prop_kind", "memory_descriptors"]
COLUMNS += ["attributes", "auxiliary", "problem_desc", "exec_time", "bandwidth"]


def lines(run_python, implementation, before="", **environment):
    text = run_python(PROGRAM.format(before=before, implementation=implementation), **environment)
    return EXECUTED.findall(text)


def native_lines(text, operation="exec"):
    """The lines of native work as dicts of their columns; a line with others fails."""
    rows = [line.split(",") for line in text.splitlines() if line.startswith(f"dnnmove_verbose,{operation}")]
    columns = COLUMNS if operation == "exec" else COLUMNS[:-1]
    return [dict(zip(columns, row, strict=True)) for row in rows]


def run_traced(run_python, program, level="1", **environment):
    head = "import numpy as np, dnnmove as dm\nx = np.arange(840, dtype='f4').reshape(2, 12, 5, 7)\n"
    return run_python(head + program, DNNMOVE_VERBOSE=level, **environment)


@pytest.mark.parametrize("how", ["environment", "call"])
def test_onednn_executes(how, run_python):
    before, environment = ("", {"ONEDNN_VERBOSE": "1"}) if how == "environment" else ("dm.set_verbose(1)", {})
    seen = lines(run_python, "onednn", before, **environment)
    assert len(seen) == 2
    assert "forward_inference" in seen[0]
    assert "backward" in seen[1]
    for line in seen:
        assert "axis:1 group:3" in line
        assert "2x12x5x7" in line


@pytest.mark.parametrize("how", ["environment", "call"])
def test_onednn_prints_nothing_for_native_work(how, run_python):
    before, environment = ("", {"ONEDNN_VERBOSE": "1"}) if how == "environment" else ("dm.set_verbose(1)", {})
    assert lines(run_python, "native", before, **environment) == []


def test_verbose_can_be_turned_off(run_python):
    assert lines(run_python, "onednn", "dm.set_verbose(0)", ONEDNN_VERBOSE="1") == []
    assert lines(run_python, "onednn") == []
    text = run_traced(run_python, "dm.set_verbose(0); dm.transpose(x); dm.set_verbose(1); dm.split(x, 0, 2)")
    assert [line["primitive"] for line in native_lines(text)] == ["split"]


@pytest.mark.parametrize("bad", [-1, 3, 100, 2**40])
def test_levels(bad, errors_name):
    errors_name(ValueError, lambda: dm.set_verbose(bad), "level", str(bad))


@pytest.mark.parametrize("bad", ["1", 1.0, None])
def test_types_of_levels(bad):
    with pytest.raises(TypeError):
        dm.set_verbose(bad)


@pytest.mark.parametrize("bad", ["3", "-1", "on", "1.0", " 1"])
def test_a_wrong_environment_variable_fails_the_import(bad):
    done = subprocess.run(
        [sys.executable, "-c", "import dnnmove"],
        env=os.environ | {"DNNMOVE_VERBOSE": bad},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert f"DNNMOVE_VERBOSE ({bad}) must be 0, 1 or 2" in done.stderr


def test_an_empty_environment_variable_is_none(run_python):
    assert "verbose" not in run_traced(run_python, "dm.transpose(x)", level="")


def test_each_library_can_be_asked_alone(run_python):
    program = PROGRAM.format(before="", implementation="onednn") + "dm.transpose(x)"
    both = run_python(program, DNNMOVE_VERBOSE="1")
    native = run_python(program, DNNMOVE_VERBOSE="1", ONEDNN_VERBOSE="0")
    onednn = run_python(program, ONEDNN_VERBOSE="1")
    assert [len(EXECUTED.findall(text)) for text in (both, native, onednn)] == [2, 0, 2]
    assert [len(native_lines(text)) for text in (both, native, onednn)] == [1, 1, 0]


def test_the_head_tells_what_runs_and_names_the_columns(run_python):
    head = [line for line in run_traced(run_python, "dm.transpose(x)").splitlines() if ",info," in line]
    mine = [line for line in head if line.startswith("dnnmove_verbose")]
    assert f"dnnmove v{dm.__version__}" in mine[0]
    assert dm.build_info()["isa"] in mine[2]
    assert mine[3].split("prim_template:")[1].split(",") == COLUMNS[1:]


ABCD = "f32::blocked:abcd::f0"
CASES = [
    ("dm.transpose(x, (0, 2, 3, 1))", "transpose", f"src_{ABCD} dst_{ABCD}", "input_order:0x2x3x1"),
    ("dm.transpose(x)", "transpose", f"src_{ABCD} dst_{ABCD}", "input_order:3x2x1x0"),
    (
        "dm.transpose(x[:, ::2, ::-1], (1, 0, 2, -1))",
        "transpose",
        f"src_f32::blocked:abdc:420x70x-7x1:f0 dst_{ABCD}",
        "input_order:1x0x2x3",
    ),
    (
        "dm.transpose(np.zeros((3, 4), 'i1,f4')['f1'])",
        "transpose",
        "src_f32::blocked:ab:20Bx5B:f0 dst_f32::blocked:ab::f0",
        "input_order:1x0",
    ),
    (
        "dm.transpose(np.zeros((3, 4), 'i1,f4'))",
        "transpose",
        "src_V5::blocked:ab::f0 dst_V5::blocked:ab::f0",
        "input_order:1x0",
    ),
    (
        "dm.transpose(np.zeros((3, 4), '>i2'))",
        "transpose",
        "src_>i2::blocked:ab::f0 dst_>i2::blocked:ab::f0",
        "input_order:1x0",
    ),
    (
        "dm.transpose(np.zeros((1,) * 30, 'i8'))",
        "transpose",
        "src_int64::blocked:*::f0 dst_int64::blocked:*::f0",
        "input_order:" + "x".join(map(str, range(29, -1, -1))),
    ),
    ("dm.shuffle(x, -3, 3)", "shuffle", f"data_{ABCD}", "axis:1 group:3"),
    (
        "dm.shuffle(x, 1, 3, out=np.empty((2, 5, 7, 12), 'f4').transpose(0, 3, 1, 2))",
        "shuffle",
        f"src_{ABCD} dst_f32::blocked:acdb::f0",
        "axis:1 group:3",
    ),
    ("dm.shuffle_channels(x, 1, 3)", "shuffle_channels", f"src_{ABCD} dst_{ABCD}", "axis:1 groups:3"),
    (
        "dm.variadic_split(x, 1, [4, -1])",
        "variadic_split",
        f"src_{ABCD} dst_{ABCD} dst_{ABCD}",
        "axis:1 split_lengths:4x-1",
    ),
    ("dm.split(x, 0, 2)", "split", f"src_{ABCD} dst_{ABCD} dst_{ABCD}", "axis:0 num_splits:2"),
    (
        "dm.broadcast(x[0, :, 0, 0].copy(), (2, 12, 5), [1], 'explicit')",
        "broadcast",
        "src_f32::blocked:a::f0 dst_f32::blocked:abc::f0",
        "mode:explicit target_shape:2x12x5 axes_mapping:1",
    ),
    (
        "dm.broadcast(np.array(1.0), (3,))",
        "broadcast",
        "src_f64::blocked:::f0 dst_f64::blocked:a::f0",
        "mode:numpy target_shape:3",
    ),
    ("dm.concat([x, x], 1)", "concat", f"src_{ABCD} src_{ABCD} dst_{ABCD}", "axis:1"),
    (
        "dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x), (0, 2, 3, 1)))(x)",
        "transpose",
        f"src_{ABCD} dst_{ABCD}",
        "input_order:0x2x3x1",
    ),
    (
        "dm.Chain(dm.MemoryDesc.of(x)).transpose((0, 2, 3, 1)).reshape((-1,)).build()(x)",
        "chain",
        f"src_{ABCD} dst_f32::blocked:a::f0",
        "pass:1/1 steps:transpose+reshape",
    ),
    (
        "dm.variadic_split(x, 2, [0, 5])",
        "variadic_split",
        f"src_{ABCD} dst_{ABCD} dst_{ABCD}",
        "axis:2 split_lengths:0x5",
    ),
    (
        "dm.variadic_split(np.zeros(100, 'u1'), 0, [1] * 100)",
        "variadic_split",
        "src_u8::blocked:a::f0" + " dst_u8::blocked:a::f0" * 15 + " and 85 more",
        "axis:0 split_lengths:" + "x".join(["1"] * 16) + "x...",
    ),
]


def test_lines_of_native_work(run_python):
    calls = "; ".join(call for call, *_ in CASES)
    rows = native_lines(run_traced(run_python, calls))
    assert len(rows) == len(CASES)
    for row, (call, kind, descriptors, auxiliary) in zip(rows, CASES, strict=True):
        assert (row["primitive"], row["memory_descriptors"], row["auxiliary"]) == (kind, descriptors, auxiliary), call
        assert row["engine"] == "cpu"
        assert row["implementation"] == f"native:{dm.build_info()['isa']}"
        assert row["prop_kind"] == ("forward_inference" if kind == "shuffle" else "undef")
        assert float(row["exec_time"]) < 1e3
        assert float(row["bandwidth"]) > 0
    problems = [row["problem_desc"] for row in rows]
    assert problems[0] == "2x12x5x7"
    assert problems[14] == "2x12x5x7:2x12x5x7"  # of the concat


def test_propagation_kinds(run_python):
    program = """
md = dm.MemoryDesc.of(x)
for prop in (dm.PropKind.forward_training, dm.PropKind.forward_inference):
    dm.ShuffleForward(dm.ShuffleForward.Desc(prop, md, 1, 3))(x)
dm.ShuffleBackward(dm.ShuffleBackward.Desc(md, 1, 3))(x)
dm.shuffle_backward(x, 1, 3)
"""
    rows = native_lines(run_traced(run_python, program))
    assert [row["prop_kind"] for row in rows] == [
        "forward_training",
        "forward_inference",
        "backward_data",
        "backward_data",
    ]
    assert {row["primitive"] for row in rows} == {"shuffle"}


def test_bandwidth_is_that_of_bytes_read_and_written(run_python):
    rows = native_lines(run_traced(run_python, "dm.transpose(x); dm.broadcast(x[:1].copy(), (100, 12, 5, 7))"))
    for row, size in zip(rows, (2 * 840 * 4, 101 * 420 * 4), strict=True):
        assert float(row["bandwidth"]) == pytest.approx(size / float(row["exec_time"]) * 1e-6, rel=1e-3)


LAYOUTS = ["nhwc", "acbd", "dcba", "nChw8c", "nChw16c", "ABcd16b16a", "aBCd4c4b", (1000, 70, 10, 1), (4096, 1, 512, 64)]


def test_memory_descriptors_are_written_as_onednn_writes_them(run_python):
    """The same shuffles, by oneDNN's implementation and by the native one."""
    program = f"""
for dims in ((2, 12, 5, 7), (1, 24, 1, 6), (3, 1, 1, 1)):
    for layout in {LAYOUTS}:
        md = dm.MemoryDesc(dims, "f4", layout)
        desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 1)
        for implementation in ("onednn", "native"):
            try:
                pd = dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation)
            except dm.UnimplementedError:
                break
            memories = dm.Memory(md), dm.Memory(md)
            dm.ShuffleForward(pd).execute(None, dict(zip((dm.ARG_SRC, dm.ARG_DST), memories)))
"""
    text = run_traced(run_python, program)
    wanted = [row.split(",")[6] for row in text.splitlines() if row.startswith("onednn_verbose,exec")]
    got = [row["memory_descriptors"] for row in native_lines(text)]
    assert len(wanted) > 20
    assert got == wanted


def test_a_line_for_each_pass_of_a_chain(run_python):
    program = """
c = dm.Chain(dm.MemoryDesc.of(x)).shuffle(1, 3).reshape((24, 35)).transpose().shuffle(0, 5).reshape((7, 5, 2, 12))
f = c.transpose().shuffle(0, 3).build(max_nests=1)
y = f(x)
f(x, out=y)
f.execute(None, {dm.ARG_SRC: x, dm.ARG_DST: y})
print(f.passes, flush=True)
"""
    text = run_traced(run_python, program)
    passes = int(text.splitlines()[-1])
    rows = native_lines(text)
    assert passes > 1
    assert len(rows) == 3 * passes
    for k, row in enumerate(rows):
        assert row["primitive"] == "chain"
        assert row["auxiliary"].startswith(f"pass:{k % passes + 1}/{passes} steps:shuffle+reshape+transpose+")
    assert rows[0]["memory_descriptors"].split()[0] == f"src_{ABCD}"
    assert rows[passes - 1]["memory_descriptors"].split()[-1] == f"dst_{ABCD}"
    assert rows[0]["memory_descriptors"].split()[1][3:] == rows[1]["memory_descriptors"].split()[0][3:]


def test_plans_are_created_once(run_python):
    program = """
p = dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc.of(x)))
for _ in range(3):
    dm.transpose(x, (0, 2, 3, 1))
    p(x)
"""
    text = run_traced(run_python, program, level="2")
    created = native_lines(text, "create:cache_miss")
    executed = native_lines(text)
    assert len(executed) == 6
    columns = COLUMNS[2:-2]
    assert [[row[c] for c in columns] for row in created] == [[row[c] for c in columns] for row in executed[:2]]
    assert native_lines(run_traced(run_python, program), "create:cache_miss") == []


def test_lines_of_many_threads_do_not_mix(run_python):
    program = """
from concurrent.futures import ThreadPoolExecutor
big = np.zeros((100, 400))
with ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda k: dm.transpose(big if k % 50 == 0 else x), range(2000)))
"""
    rows = native_lines(run_traced(run_python, program))
    assert len(rows) == 2000
    assert sum(row["problem_desc"] == "100x400" for row in rows) == 40


def test_a_reader_in_the_same_process_does_not_deadlock(run_python):
    """Whoever prints into a full pipe has let go of the GIL."""
    program = """
import os, threading
read, write = os.pipe()
kept = os.dup(1)
os.dup2(write, 1)
os.close(write)
chunks = []
def drain():
    while chunk := os.read(read, 1 << 16):
        chunks.append(chunk)
reader = threading.Thread(target=drain)
reader.start()
for _ in range(2000):
    dm.transpose(x)
os.dup2(kept, 1)
reader.join()
print(sum(chunk.count(b"dnnmove_verbose,exec") for chunk in chunks))
"""
    assert run_traced(run_python, program).split()[-1] == "2000"


def test_lines_after_a_fork_amid_lines(run_python):
    program = """
import os, threading, warnings
warnings.simplefilter("ignore")  # of forks of processes with threads
stop = threading.Event()
def work():
    while not stop.is_set():
        dm.transpose(x)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        dm.split(x, 0, 2)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads: thread.join()
"""
    rows = native_lines(run_traced(run_python, program))
    assert sum(row["primitive"] == "split" for row in rows) == 20

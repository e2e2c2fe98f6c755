"""The pipelines of the benchmarks: one pass each, NumPy's bytes, and on the page that shows them."""

import inspect
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

import dnnmove as dm  # noqa: E402
from benchmarks.case import dtype_of  # noqa: E402
from benchmarks.contestants import load_peers, pipeline_peers, strided  # noqa: E402
from benchmarks.contestants.contestant import UnsupportedError  # noqa: E402
from benchmarks.grid.pipelines import case_of  # noqa: E402
from benchmarks.measure import Method, WrongResultError, check  # noqa: E402
from benchmarks.memory import Memory  # noqa: E402
from benchmarks.operations import build, bytes_needed  # noqa: E402
from benchmarks.pipelines import __main__ as command  # noqa: E402
from benchmarks.pipelines import chains, tools  # noqa: E402
from benchmarks.pipelines.catalogue import BY_NAME, PIPELINES  # noqa: E402
from benchmarks.runner import run_case  # noqa: E402

# Shapes that a test can afford, of the same kind as the measured ones.
SMALL = {
    "llama4-experts": (3, 24, 20),
    "qwen2-vl-video": (4, 3, 56, 84),
    "qwen2-vl-images": (2, 3, 56, 28),
    "swin-windows": (2, 14, 21, 5),
    "swin-windows-back": (2 * 64, 49, 3),
    "split-heads": (2, 5, 3 * 12 * 4),
    "merge-heads": (2, 12, 5, 4),
    "kv-nhd-to-hnd": (2, 3, 4, 5, 8),
    "kv-hnd-to-nhd": (2, 3, 5, 4, 8),
    "repeat-kv": (2, 7, 3, 8),
    "columns-to-rows": (50, 7),
    "collate-float32": (9, 7, 3),
    "collate-bfloat16": (9, 7, 3),
    "fits-to-native": (5, 7),
}


def small(name):
    """The sources of a test."""
    sources = BY_NAME[name].sources
    return replace(sources, shape=SMALL[name], count=min(sources.count, 3))


def problem_of(name):
    case = case_of(BY_NAME[name], small(name))
    return build(case, Memory(*bytes_needed(case)), 1)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_pipeline_is_one_pass_and_gives_what_numpy_gives(name):
    problem = problem_of(name)
    results = problem.built(problem.inputs if len(problem.inputs) > 1 else problem.inputs[0])
    results = results if isinstance(results, tuple) else (results,)
    assert problem.built.passes == 1
    assert len(results) == len(problem.expected)
    for result, wanted in zip(results, problem.expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda pipeline: pipeline.name)
def test_a_pipeline_is_one_pass_as_measured_and_as_reported(pipeline):
    assert pipeline.build().passes == pipeline.build(pipeline.full).passes == 1


@pytest.mark.parametrize("name", BY_NAME)
def test_torch_gives_the_same_bytes(name):
    pytest.importorskip("torch")
    problem = problem_of(name)
    for contestant in pipeline_peers.torch(problem):
        check(problem, contestant)


@pytest.mark.parametrize(("name", "tool"), [(p.name, tool) for p in PIPELINES for tool in p.tools])
def test_a_tool_that_is_installed_gives_the_same(name, tool):
    problem = problem_of(name)
    try:
        (contestant,) = pipeline_peers.tool(problem, tool)
    except (ImportError, RuntimeError) as error:
        pytest.skip(str(error))
    check(problem, contestant)


def test_results_of_other_arithmetic_may_be_close_but_not_wrong(monkeypatch):
    problem = problem_of("columns-to-rows")
    pipeline = replace(problem.pipeline, tolerance=1e-6, tools={"near": tools.pandas_rows})
    (near,) = pipeline_peers.tool(replace(problem, pipeline=replace(pipeline, tools={"near": nearly})), "near")
    check(problem, near)
    (far,) = pipeline_peers.tool(replace(problem, pipeline=replace(pipeline, tools={"far": doubled})), "far")
    with pytest.raises(WrongResultError, match="result 0 differs"):
        check(problem, far)
    near.tolerance = 0.0
    with pytest.raises(WrongResultError, match="result 0 differs"):
        check(problem, near)


def nearly(sources):
    return lambda: [np.ascontiguousarray(sources[0]) * np.float32(1 + 2e-7)]


def doubled(sources):
    return lambda: [np.ascontiguousarray(sources[0]) * 2]


def test_a_run_says_passes_and_ratios(monkeypatch, capsys):
    monkeypatch.setattr(command, "case_of", lambda pipeline, full: case_of(pipeline, small(pipeline.name)))
    threads = str(dm.get_num_threads())  # those that the peers keep for the rest of the process
    assert (
        command.main(["split-heads", "repeat-kv", "--seconds", "0.01", "--peers", "numpy", "--threads", threads]) == 0
    )
    out = capsys.readouterr().out
    rows = [line.split("|") for line in out.splitlines() if line.startswith(("| split", "| repeat"))]
    assert [row[1].strip() for row in rows] == ["split-heads", "repeat-kv"]
    assert all(row[7].strip() == "1" and row[8].strip().endswith("x") for row in rows)
    assert "geometric mean" in out


def test_absent_peers_are_named(capsys):
    with pytest.raises(SystemExit, match="no pipeline nonsense"):
        command.main(["nonsense"])


def test_peers_that_are_not_there_say_what_names_them(monkeypatch):
    monkeypatch.setenv("DNNMOVE_HPTT", "/nowhere/libhptt.so")
    monkeypatch.setenv("DNNMOVE_MKL", "/nowhere/libmkl_rt.so")
    present, absent = load_peers(("numpy", "hptt", "mkl"), 1)
    assert list(present) == ["numpy"]
    assert "DNNMOVE_HPTT" in absent["hptt"]
    assert "DNNMOVE_MKL" in absent["mkl"]


@pytest.mark.parametrize(
    ("shape", "order", "sizes", "permuted"),
    [
        ((4, 6), (1, 0), (4, 6), (1, 0)),
        ((2, 3, 4), (2, 0, 1), (6, 4), (1, 0)),
        ((2, 3, 4), (0, 2, 1), (2, 3, 4), (0, 2, 1)),
        ((2, 1, 4), (1, 0, 2), (8,), (0,)),
    ],
)
def test_permutations_for_libraries_that_want_dense_axes(shape, order, sizes, permuted):
    src = np.zeros(shape, "f4").transpose(order)
    found = strided.permutation(np.zeros(src.shape, "f4"), src)
    assert (found.sizes, found.order) == (sizes, permuted)
    with pytest.raises(UnsupportedError, match="dense"):
        strided.permutation(np.zeros((2, 3), "f4"), np.zeros((2, 6), "f4")[:, ::2])


def test_a_pipelines_ceiling_copies_what_it_reads_and_writes():
    problem = problem_of("repeat-kv")
    assert problem.bytes_written == 4 * problem.bytes_read
    assert problem.bytes_copied == 5 * problem.bytes_read // 2
    record = run_case(problem.case, Memory(*bytes_needed(problem.case)), dm.get_num_threads(), {}, Method(budget=0.01))
    assert "memcpy" in record.contestants
    assert str(problem.bytes_copied) in record.contestants["memcpy"]["statement"]
    assert dtype_of("float8_e4m3fn").itemsize == 1


def test_the_page_shows_the_code_that_is_measured():
    page = (ROOT / "docs" / "pipelines.md").read_text()
    shown = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    functions = inspect.getmembers(chains, inspect.isfunction)
    assert len(functions) >= 10
    for name, function in functions:
        assert inspect.getsource(function).rstrip() in shown, name

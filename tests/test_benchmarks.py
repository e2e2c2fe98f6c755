"""The benchmark harness: a grid of consistent cases, correctness before timing, honest verdicts."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dnnmove as dm

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from benchmarks import (  # noqa: E402
    alone,
    cli,
    compare,
    machine,
    operations,
    plots,
    random_calls,
    random_shapes,
    report,
    targets,
    workers,
)
from benchmarks.calls import FUNCTIONS, call, result_shape  # noqa: E402
from benchmarks.case import Case, Source  # noqa: E402
from benchmarks.contestants import PEERS, jax_peer, numpy_peer, ours, torch_peer  # noqa: E402
from benchmarks.contestants.contestant import Contestant, UnsupportedError  # noqa: E402
from benchmarks.contestants.words import in_words  # noqa: E402
from benchmarks.grid import all_cases  # noqa: E402
from benchmarks.measure import WrongResultError, check  # noqa: E402
from benchmarks.memory import Memory  # noqa: E402
from benchmarks.results import Record  # noqa: E402

OTHER_TARGETS = {"ShuffleForward", "small calls", "new output", "chains", "pipelines"}


def record(name: str, ours: float, ceiling: float, peers: dict[str, float], **more: object) -> Record:
    """A made-up measurement of 64 MB; times in seconds."""
    roles = {"ours": ("ours", ours), "memcpy": ("ceiling", ceiling)} | {k: ("peer", v) for k, v in peers.items()}
    contestants = {
        k: {"role": role, "statement": "", "min": t, "median": t, "samples": 3} for k, (role, t) in roles.items()
    }
    size = 64 << 20
    data = {"name": name, "group": name.split("/")[0], "targets": [], "bytes_read": size, "bytes_written": size}
    return Record(data | {"contestants": contestants, "refused": {}, "threads": 2, "shape": [1]} | more)


def test_names_are_unique_and_targets_known() -> None:
    cases = all_cases(4)
    assert len({case.name for case in cases}) == len(cases) > 600
    assert {target for case in cases for target in case.targets} <= set(targets.FRACTIONS) | OTHER_TARGETS
    assert set(targets.FRACTIONS) <= {target for case in cases for target in case.targets}


def test_random_shapes_come_from_their_seed() -> None:
    kinds = [random_shapes.GROUP + kind for kind in random_shapes.KINDS]
    count = 4 * len(kinds)
    cases = random_shapes.cases(count, 7)
    assert cases == random_shapes.cases(count, 7) != random_shapes.cases(count, 8)
    assert len({case.name for case in cases}) == count
    assert [case.group for case in cases[: len(kinds)]] == kinds
    for case in cases:
        assert math.prod(case.shape) * case.itemsize < 10 * random_shapes.LARGEST
        assert sorted(case.params.get("order", ())) == list(range(len(case.shape) if case.op == "transpose" else 0))
        assert targets.in_grid(Record({"group": case.group}))


def test_random_calls_come_from_their_seed() -> None:
    count = 3 * len(random_calls.KINDS)
    cases = random_calls.cases(count, 7)
    assert cases == random_calls.cases(count, 7) != random_calls.cases(count, 8)
    assert len({case.name for case in cases}) == count
    assert {case.params["function"] for case in cases if case.op == "call"} == set(FUNCTIONS)
    for case in cases:
        written = sum(math.prod(shape) for shape in operations.output_shapes(case)) * case.itemsize
        assert 0 < written < 6 * random_calls.LARGEST


CALLS = [
    call("pad", (5, 7), "f4", pad_width=((1, 2), (0, 3)), mode="constant"),
    call("pad", (5, 7), "f4", pad_width=((1, 2), (0, 3)), mode="edge"),
    call("roll", (5, 7), "f4", shift=(3, 2), axis=(0, 1)),
    call("flip", (5, 7), "f4", axis=(0, 1)),
    call("tile", (5, 7), "f4", reps=(2, 3)),
    call("repeat_elements", (5, 7), "f4", repeats=3, axis=0),
    call("byteswap", (5, 7), "f4"),
    call("unfold", (5, 7), "f4", axis=1, size=3, step=2),
    call("space_to_depth", (2, 3, 4, 6), "f4", block_size=2),
    call("depth_to_space", (2, 12, 2, 3), "f4", block_size=2),
    call("pixel_unshuffle", (2, 3, 4, 6), "f4", factor=2),
    call("pixel_shuffle", (2, 12, 2, 3), "f4", factor=2),
]


def test_every_function_has_a_call() -> None:
    assert {case.params["function"] for case in CALLS} == set(FUNCTIONS)


@pytest.fixture
def peers_as_before() -> Iterator[None]:
    """What the peers' modules set for the process is for the benchmarks."""
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    wide, threads = jax.config.jax_enable_x64, torch.get_num_threads()
    yield
    jax.config.update("jax_enable_x64", wide)
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("peers_as_before")
@pytest.mark.parametrize("case", CALLS, ids=lambda case: case.name)
def test_contestants_of_a_call_write_the_same_bytes(memory: Memory, case: Case) -> None:
    problem = operations.build(case, memory, 1)
    assert problem.outs[0].shape == result_shape(case)
    known = FUNCTIONS[case.params["function"]]
    for peer, has in ((ours, True), (numpy_peer, True), (torch_peer, known.torch), (jax_peer, known.jax)):
        peer.start(dm.get_num_threads())
        lacks = not has or (peer is torch_peer and case.params["arguments"].get("mode") == "edge")
        with pytest.raises(UnsupportedError) if lacks else contextlib.nullcontext():
            for contestant in peer.contestants(problem):
                check(problem, contestant)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [((1, 1), [[0, 1, 2], [3, 4, 5]]), ((-1, 1), [[3, 4, 5], [0, 1, 2]]), ((1, -2), [[4, 2, 0], [10, 8, 6]])],
)
def test_source_slices(steps: tuple[int, int], expected: list[list[int]]) -> None:
    source = Source(steps=steps)
    parent = source.parent_shape((2, 3))
    array = np.arange(np.prod(parent)).reshape(parent)[source.slices((2, 3))]
    assert array.tolist() == expected


def test_source_windows() -> None:
    parent = np.arange(2 * 7).reshape(2, 7)
    cut = Source(parent=(2, 7), windows=((1, 3, 2),)).cut(parent, (2, 3, 3))
    assert cut.tolist() == [[[0, 1, 2], [2, 3, 4], [4, 5, 6]], [[7, 8, 9], [9, 10, 11], [11, 12, 13]]]
    assert np.shares_memory(cut, parent)


@pytest.fixture
def memory() -> Memory:
    return Memory(1 << 16, 1 << 16)


def transpose_problem(memory: Memory, dtype: str = "f4") -> operations.Problem:
    return operations.build(Case("t/x", "transpose", (8, 12), dtype, {"order": (1, 0)}), memory, 1)


def test_check_accepts_the_right_bytes(memory: Memory) -> None:
    problem = transpose_problem(memory)
    check(problem, Contestant("right", "out[...] = x.T", {"out": problem.outs[0], "x": problem.inputs[0]}))
    right = Contestant("new", "y = x.T.copy()", {"x": problem.inputs[0]}, lambda scope: [scope["y"]])
    check(problem, right)


def test_check_refuses_a_wrong_byte_and_one_behind_the_output(memory: Memory) -> None:
    problem = transpose_problem(memory)
    names = {"out": problem.outs[0], "x": problem.inputs[0], "behind": memory.dst.bytes[memory.dst.used :]}
    with pytest.raises(WrongResultError, match="differs"):
        check(problem, Contestant("wrong", "out[...] = x.T; out.view('u1')[3, 5] ^= 1", names))
    with pytest.raises(WrongResultError, match="differs"):
        check(problem, Contestant("beyond", "out[...] = x.T; behind[0] ^= 1", names))
    with pytest.raises(WrongResultError, match="result 0 differs"):
        check(problem, Contestant("new", "y = x.copy()", names, lambda scope: [scope["y"]]))


@pytest.mark.parametrize("dtype", ["V3", "V12", "c16", "f8", "i2"])
def test_words_are_the_same_memory(memory: Memory, dtype: str) -> None:
    problem = transpose_problem(memory, dtype)
    words = in_words(problem, {1: "u1", 4: "f4"})
    dst, src = words.pairs[0]
    np.copyto(dst, src)
    assert problem.outs[0].tobytes() == problem.expected[0].tobytes()
    assert words.params["order"] == ((1, 0, 2) if words.axes else (1, 0))


@pytest.mark.parametrize("layout", ["nchw", "nhwc", "nChw8c", "nChw16c"])
def test_reference_of_shuffle_forward_keeps_padding_zero(memory: Memory, layout: str) -> None:
    params = {"axis": 1, "group": 2, "layout": layout}
    problem = operations.build(Case("s/x", "shuffle_forward", (2, 12, 3, 3), "i1", params), memory, 1)

    def plain(physical: np.ndarray) -> np.ndarray:
        if physical.ndim == 5:
            n, blocks, height, width, block = physical.shape
            return np.moveaxis(physical, 4, 2).reshape(n, blocks * block, height, width)
        return physical.transpose(0, 3, 1, 2) if layout == "nhwc" else physical

    got, source = plain(problem.expected[0]), plain(problem.inputs[0])
    want = source[:, :12].reshape(2, 2, 6, 3, 3).swapaxes(1, 2).reshape(2, 12, 3, 3)
    assert np.array_equal(got[:, :12], want)
    assert not got[:, 12:].any()


def test_verdicts_name_what_misses() -> None:
    rows = {"targets": ["rows"]}
    fast = record("transpose/fast", 1.0, 0.99, {"numpy": 5.0, "torch.cat": 4.0}, **rows)
    slow = record("transpose/slow", 2.0, 0.6, {"numpy": 1.8}, **rows)
    verdicts = {(v.what, v.target): v for v in targets.verdicts([fast, slow])}
    never = verdicts["every case against the best peer", "never slower (>= 0.97)"]
    assert [name for name, _ in never.misses] == ["transpose/slow"]
    assert not never.met
    assert [name for name, _ in verdicts["rows", ">= 0.95 of the ceiling"].misses] == ["transpose/slow"]
    assert targets.family_ratio(fast, "torch") == 4.0
    assert all(v.met for v in targets.verdicts([fast]))


def test_pipelines_have_targets_of_their_own() -> None:
    pipelines = [
        record(f"pipeline/{i}", 1.0, f, {"torch": 3.0}, targets=["pipelines"]) for i, f in enumerate((0.8, 0.7))
    ]
    verdicts = {v.target: v for v in targets.verdicts(pipelines) if v.what.startswith("a pipeline")}
    assert verdicts["geomean >= 2x"].met
    assert verdicts["geomean >= 0.70 of the ceiling"].met
    slow = record("pipeline/slow", 4.0, 0.1, {"torch": 3.0}, targets=["pipelines"])
    verdicts = {v.target: v for v in targets.verdicts([slow]) if v.what.startswith("a pipeline")}
    assert not any(v.met for v in verdicts.values())
    assert [name for name, _ in verdicts["never slower (>= 0.97)"].misses] == ["pipeline/slow"]


def test_comparison_lists_what_became_slower() -> None:
    old = [record("transpose/a", 1.0, 0.9, {}), record("transpose/b", 1.0, 0.9, {})]
    new = [record("transpose/a", 2.0, 0.9, {}), record("transpose/b", 1.01, 0.9, {})]
    text = compare.text(old, new)
    assert "slower: 1" in text
    assert "faster: 0" in text
    assert "0.50x  transpose/a" in text


def test_plots_show_every_peer(tmp_path: Path) -> None:
    measured = record("transpose/a", 1.0, 0.9, dict.fromkeys(PEERS, 2.0), series=True)
    assert plots.draw(tmp_path, [measured]) == ["transpose.png"]
    assert (tmp_path / "transpose.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_writes_and_resumes_its_results(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "benchmarks", "--peers", "numpy", "--no-plots", "--seconds", "0.001"]
        where = ["--out", str(tmp_path)]
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
        return subprocess.run([*command, *where, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)

    first = run("--only", "^small/transpose/2d/4x4")
    assert first.returncode == 0, first.stderr
    second = run("--only", "^small/(transpose/2d/4x4|broadcast/row)", "--resume")
    assert second.returncode == 0, second.stderr
    assert "[  1/2]" in second.stderr
    content = json.loads((tmp_path / "results.json").read_text())
    assert len(content["cases"]) == 4
    assert {"ours", "numpy", "memcpy", "stream copy"} <= content["cases"][0]["contestants"].keys()
    assert content["machine"]["versions"]["numpy"] == np.__version__
    assert "## Targets" in (tmp_path / "results.md").read_text()
    assert "no case matches" in run("--only", "nothing like this").stderr


def test_builds_run_against_each_other() -> None:
    folder = Path(dm.__file__).parent.parent
    arguments = ["--against", str(folder), "--only", "^transpose/2d/256x512/f4$", "--seconds", "0.01"]
    command = [sys.executable, "-m", "benchmarks", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "The same build" in done.stdout
    assert done.stdout.count("transpose/2d/256x512/f4") == 1
    assert "all: 1 cases" in done.stdout


def test_losses_are_timed_again_in_a_process_each() -> None:
    lost = record("transpose/2d/256x512/f4", 2.0, 0.5, {"numpy": 1.0, "torch": 1.5, "jax": 9.0})
    won = record("transpose/2d/512x512/f4", 1.0, 0.9, {"numpy": 1.1})
    cases = [case for case in all_cases(1) if case.name == lost.name]
    assert alone.faster(lost) == {"numpy", "torch"}
    assert alone.faster(won) == set()
    alone.measure([lost, won], cases, 1, 0.01, ("numpy",))
    assert lost.data["alone"].keys() == {"numpy"}
    assert 0 < lost.data["alone"]["numpy"] < math.inf  # how much is not for a test to say
    assert "alone" not in won.data
    assert lost.best_alone == min(lost.data["alone"]["numpy"], 0.75)
    assert won.best_alone == 1.1
    verdicts = {v.what: v for v in targets.verdicts([lost, won])}
    assert [name for name, _ in verdicts["every case, losses in a process each"].misses] == [lost.name]
    assert f"| 0.50x | {lost.best_alone:.2f}x |" in report.losses([lost, won])


def test_a_library_that_cannot_run_a_case_has_no_times() -> None:
    cases = [case for case in all_cases(1) if case.name == "broadcast/scalar/1-to-4000x4000/i1"]
    roles = (workers.Role(), workers.Role("onednn"))
    ((ours, theirs),) = workers.timed(roles, cases, 1, 0.01)
    assert ours.keys() == {"ours"}
    assert theirs == {}


def test_a_machine_with_no_more_than_avx2_is_one_for_the_peers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("DNNMOVE_ISA", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        monkeypatch.setenv(variable, "before")
    monkeypatch.setenv("XLA_FLAGS", "--other")
    machine.cap("avx2")
    assert os.environ["DNNMOVE_ISA"] == "avx2"
    assert os.environ["ONEDNN_MAX_CPU_ISA"] == "AVX2"
    assert os.environ["ATEN_CPU_CAPABILITY"] == "avx2"
    assert os.environ["XLA_FLAGS"] == "--other --xla_cpu_max_isa=AVX2"
    assert machine.describe(1, {})["peers_capped"]
    machine.cap("avx512_vbmi")
    assert not machine.describe(1, {})["peers_capped"]


def test_builds_are_not_compared_by_nothing() -> None:
    with pytest.raises(SystemExit, match="none of the cases chosen"):
        cli.main(["--against", "nowhere", "--only", "^small/", "--no-plots"])

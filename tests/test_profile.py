"""Profiles gather the calls of all threads while they are entered."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.exceptions import AxisError

import dnnmove as dm

NATIVE = f"native:{dm.build_info()['isa']}"
X = np.arange(2 * 12 * 5 * 7, dtype="f4").reshape(2, 12, 5, 7)
SHAPE = X.shape
MD = dm.MemoryDesc.of(X)
BLOCKED = dm.MemoryDesc(SHAPE, "f4", "nChw16c")


def two_passes():
    chain = dm.Chain(MD).shuffle(1, 3).reshape((24, 35)).transpose().shuffle(0, 5).reshape((7, 5, 2, 12))
    built = chain.transpose().shuffle(0, 3).build(max_nests=1)
    assert built.passes > 1
    return built


def shuffle_primitive(implementation, desc=MD):
    problem = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, desc, 1, 3)
    return dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(problem, implementation=implementation))


def backward(x):
    return dm.ShuffleBackward(dm.ShuffleBackward.Desc(MD, 1, 3))(x)


def split_primitive():
    return dm.VariadicSplit(dm.VariadicSplit.Desc(MD, 1, [4, 8]))


HALVES = ((2, 6, 5, 7), (2, 6, 5, 7))
PARTS = ((2, 4, 5, 7), (2, 8, 5, 7))
SIZE = 2 * X.nbytes
CALLS = {
    "transpose": (lambda: dm.transpose(X, (0, 2, 3, 1)), "transpose", (SHAPE, (2, 5, 7, 12)), SIZE),
    "transpose out": (
        lambda: dm.transpose(X, (0, 2, 3, 1), out=np.empty((2, 5, 7, 12), "f4")),
        "transpose",
        (SHAPE, (2, 5, 7, 12)),
        SIZE,
    ),
    "shuffle": (lambda: dm.shuffle(X, 1, 3), "shuffle", (SHAPE, SHAPE), SIZE),
    "shuffle_backward": (lambda: dm.shuffle_backward(X, 1, 3), "shuffle_backward", (SHAPE, SHAPE), SIZE),
    "shuffle_channels": (lambda: dm.shuffle_channels(X, 1, 3), "shuffle_channels", (SHAPE, SHAPE), SIZE),
    "variadic_split": (lambda: dm.variadic_split(X, 1, [4, 8]), "variadic_split", (SHAPE, *PARTS), SIZE),
    "split": (lambda: dm.split(X, 1, 2), "split", (SHAPE, *HALVES), SIZE),
    "broadcast": (
        lambda: dm.broadcast(X[:1], (9, *SHAPE[1:])),
        "broadcast",
        ((1, *SHAPE[1:]), (9, *SHAPE[1:])),
        SIZE * 5 // 2,
    ),
    "concat": (lambda: dm.concat([X, X], 1), "concat", (SHAPE, SHAPE, (2, 24, 5, 7)), 2 * SIZE),
    "blocked shuffle": (lambda: dm.shuffle(dm.Memory(BLOCKED), 1, 3), "shuffle", (SHAPE, SHAPE), None),
    "reorder": (
        lambda: dm.reorder(dm.Memory(dm.MemoryDesc(SHAPE, "f2")), dm.Memory(dm.MemoryDesc(SHAPE, "f2", "nhwc"))),
        "reorder",
        (SHAPE, SHAPE),
        SIZE // 2,
    ),
    "ShuffleForward": (lambda: shuffle_primitive("native")(X), "shuffle", (SHAPE, SHAPE), SIZE),
    "ShuffleBackward": (lambda: backward(X), "shuffle_backward", (SHAPE, SHAPE), SIZE),
    "VariadicSplit": (lambda: split_primitive()(X), "variadic_split", (SHAPE, *PARTS), SIZE),
    "execute": (
        lambda: split_primitive().execute(
            None, {dm.ARG_SRC: X, **{dm.ARG_MULTIPLE_DST + i: np.empty(part, "f4") for i, part in enumerate(PARTS)}}
        ),
        "variadic_split",
        (SHAPE, *PARTS),
        SIZE,
    ),
    "chain": (lambda: dm.Chain(MD).transpose().split(3, 2).build()(X), "chain", (SHAPE, *[(7, 5, 12, 1)] * 2), SIZE),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_record_of_each_kind_of_call(call):
    run, name, shapes, size = CALLS[call]
    with dm.profile() as p:
        run()
    (record,) = p.records
    assert record["name"] == name
    assert record["implementation"] == NATIVE
    assert record["shapes"] == shapes
    assert record["inputs"] == (2 if call == "concat" else 1)
    assert record["dtype"] == np.dtype("f2" if call == "reorder" else "f4")
    assert size is None or record["bytes"] == size
    assert record["passes"] == 1
    assert 0 < record["seconds"] < 60


def test_onednn_is_seen_too():
    with dm.profile() as p:
        shuffle_primitive("onednn")(X)
    assert [record["name"] for record in p.records] == ["shuffle"]
    for record in p.records:
        assert record["implementation"].startswith("onednn:")
        assert len(record["implementation"]) > len("onednn:")
        assert record["bytes"] == SIZE


def test_the_passes_of_a_chain():
    built = two_passes()
    with dm.profile() as p:
        y = built(X)
        built(X, out=y)
        built.execute(None, {dm.ARG_SRC: X, dm.ARG_DST: y})
    assert [record["passes"] for record in p.records] == [built.passes] * 3
    assert {record["bytes"] for record in p.records} == {SIZE * built.passes}
    assert {record["shapes"] for record in p.records} == {(SHAPE, y.shape)}


def test_nested_profiles_each_see_the_calls():
    with dm.profile() as outer:
        dm.transpose(X)
        with dm.profile() as inner:
            dm.split(X, 0, 2)
        dm.shuffle(X, 1, 3)
    dm.transpose(X)
    assert [record["name"] for record in outer.records] == ["transpose", "split", "shuffle"]
    assert inner.records == outer.records[1:2]
    inner.records[0]["name"] = "mine"
    assert outer.records[1]["name"] == "split"


def test_profiles_that_end_in_another_order():
    first, second = dm.profile(), dm.profile()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    dm.transpose(X)
    second.__exit__(None, None, None)
    dm.transpose(X)
    assert (len(first.records), len(second.records)) == (0, 1)


def test_a_profile_is_entered_again_but_not_twice(errors_name):
    p = dm.profile()
    for _ in range(2):
        with p:
            dm.transpose(X)
            errors_name(ValueError, p.__enter__, "entered already")
    assert len(p.records) == 2


def test_calls_of_all_threads():
    with dm.profile() as p, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: dm.split(X, 0, 2) if k % 2 else dm.transpose(X), range(400)))
    assert sorted(record["name"] for record in p.records) == ["split"] * 200 + ["transpose"] * 200


def test_profiles_come_and_go_while_others_work():
    stop = threading.Event()

    def work():
        while not stop.is_set():
            dm.transpose(X)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(50):
            with dm.profile() as p:
                dm.split(X, 0, 2)
            assert sum(record["name"] == "split" for record in p.records) == 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_what_fails_or_moves_nothing_is_no_call():
    with dm.profile() as p:
        with pytest.raises(ValueError, match="group"):
            dm.shuffle_channels(X, 1, 5)
        with pytest.raises(ValueError, match="shares memory"):
            dm.transpose(X, out=X.T)
        dm.transpose(np.zeros((0, 3)))
        dm.concat([X[:0], X[:0]])
        dm.Transpose(dm.Transpose.Desc(dm.MemoryDesc((0, 3), "f4")))(np.zeros((0, 3), "f4"))
        dm.reorder(dm.Memory(dm.MemoryDesc((0, 3), "f2")), dm.Memory(dm.MemoryDesc((0, 3), "f2", "ba")))
    assert p.records == []


def test_an_exception_ends_the_profile():
    p = dm.profile()
    with pytest.raises(AxisError), p:
        dm.split(X, 9, 2)
    dm.transpose(X)
    assert p.records == []


def test_results_are_the_same():
    with dm.profile():
        assert np.array_equal(dm.transpose(X, (0, 2, 3, 1)), X.transpose(0, 2, 3, 1))
        assert np.array_equal(two_passes()(X), two_passes()(X.copy()))
        assert np.array_equal(shuffle_primitive("native")(X), shuffle_primitive("onednn")(X))


def test_data_types_of_other_libraries():
    torch = pytest.importorskip("torch")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with dm.profile() as p:
        dm.transpose(torch.zeros(3, 4, dtype=torch.bfloat16))
        dm.transpose(np.zeros((3, 4), "i4,V3"))
    assert p.records[0]["dtype"] == np.dtype(ml_dtypes.bfloat16)
    assert p.records[1]["dtype"] == np.dtype("i4,V3")


def test_bytes_of_windows_count_once():
    frames = np.lib.stride_tricks.sliding_window_view(np.zeros(1000, "f4"), 400)[::100]
    with dm.profile() as p:
        dm.transpose(frames)
    assert p.records[0]["bytes"] == 4 * (1000 + 7 * 400)


def test_table():
    with dm.profile() as p:
        for _ in range(3):
            dm.transpose(np.zeros((300, 200), "f8"))
        dm.split(X, 1, 12)
        dm.concat([X, X])
    head, *rows, total = (line.split() for line in p.table().splitlines())
    assert head == ["name", "implementation", "shapes", "dtype", "calls", "total", "ms", "mean", "us", "GB/s", "share"]
    assert {row[0]: row[-5] for row in rows} == {"transpose": "3", "split": "1", "concat": "1"}
    assert "300x200 -> 200x300" in p.table()
    assert "2x12x5x7 -> 2x1x5x7 and 11 more" in p.table()
    assert "2x12x5x7, 2x12x5x7 -> 4x12x5x7" in p.table()
    times = [float(row[-4]) for row in rows]
    assert times == sorted(times, reverse=True)
    assert total[0] == "all"
    assert total[1] == "5"
    seconds = sum(record["seconds"] for record in p.records)
    assert float(total[2]) == pytest.approx(seconds * 1e3, abs=1e-3)
    assert total[-1] == "100.0%"
    assert repr(p) == f"<profile of 5 calls, {seconds * 1e3:.3f} ms>"


def test_an_empty_table():
    assert dm.profile().table().splitlines()[-1].split()[:2] == ["all", "0"]


def test_nothing_is_printed(run_python):
    program = "import numpy as np, dnnmove as dm\nwith dm.profile(): dm.transpose(np.zeros((3, 4)))"
    assert run_python(program) == ""


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore")  # other libraries of this process warn of any fork
def test_a_forked_child_has_records_of_its_own():
    with dm.profile() as p:
        dm.transpose(X)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            dm.split(X, 0, 2)
            os.write(write, ",".join(record["name"] for record in p.records).encode())
            os._exit(0)
        os.close(write)
        assert os.read(read, 100) == b"transpose,split"
        os.close(read)
        assert os.waitpid(child, 0)[1] == 0
    assert len(p.records) == 1

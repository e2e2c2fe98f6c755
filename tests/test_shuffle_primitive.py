"""ShuffleForward and ShuffleBackward: the oneDNN flow, both implementations, every trap."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dnnmove as dm

FORWARD = dm.PropKind.forward_inference

PROBLEMS = [
    ("nchw", (2, 12, 3, 5)),
    ("nhwc", (2, 12, 3, 5)),
    ("chwn", (3, 12, 4, 5)),
    ("nChw16c", (2, 12, 3, 5)),
    ("nChw16c", (2, 48, 3, 5)),
    ("nChw8c", (2, 20, 7, 7)),
    ("nChw4c", (2, 30, 3, 5)),
    ("nCdhw16c", (2, 20, 2, 3, 5)),
    ("ncdhw", (2, 6, 2, 3, 5)),
    ("ABcd16a16b", (20, 12, 3, 2)),
    ("ABcd4b16a4b", (20, 24, 3, 2)),
    ("nc", (3, 12)),
    ("a", (12,)),
    ((1000, 70, 10, 2), (2, 12, 3, 5)),
]


def random_bits(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    count = int(np.prod(shape)) * dtype.itemsize
    return np.random.default_rng(count).integers(0, 256, count, dtype="u1").view(dtype).reshape(shape)


def expected(x: np.ndarray, axis: int, group_size: int) -> np.ndarray:
    """oneDNN's formula, index by index."""
    length = x.shape[axis]
    rows = length // group_size
    index = np.empty(length, int)
    for u in range(rows):
        for v in range(group_size):
            index[u + v * rows] = u * group_size + v
    return np.take(x, index, axis)


def in_layout(x: np.ndarray, md: dm.MemoryDesc) -> dm.Memory:
    mem = dm.Memory(md)
    dm.reorder(dm.Memory(dm.MemoryDesc.of(x), buffer=x), mem)
    return mem


def forward_desc(md: dm.MemoryDesc, axis: int, group_size: int) -> "dm.ShuffleForward.Desc":
    return dm.ShuffleForward.Desc(FORWARD, md, axis, group_size)


def forward_pd(shape: tuple[int, ...] = (2, 8), dtype: str = "f4", layout: object = None, **keywords: object):
    axis, group_size = int(keywords.pop("axis", 1)), int(keywords.pop("group_size", 2))
    return dm.ShuffleForward.PrimitiveDesc(
        forward_desc(dm.MemoryDesc(shape, dtype, layout), axis, group_size), **keywords
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32", "int8", "uint8", "float64", "int64"])
@pytest.mark.parametrize(("layout", "shape"), PROBLEMS)
def test_every_implementation_gives_the_same_bits(layout: object, shape: tuple[int, ...], dtype: str) -> None:
    md = dm.MemoryDesc(shape, dtype, layout)
    x = random_bits(shape, md.dtype)
    src = in_layout(x, md)
    for axis, length in enumerate(shape):
        for group_size in (g for g in range(1, length + 1) if length % g == 0):
            for backward in (False, True):
                want = in_layout(expected(x, axis, length // group_size if backward else group_size), md)
                if backward:
                    pd = dm.ShuffleBackward.PrimitiveDesc(dm.ShuffleBackward.Desc(md, axis, group_size))
                    make, args = dm.ShuffleBackward, (dm.ARG_DIFF_DST, dm.ARG_DIFF_SRC)
                else:
                    pd = dm.ShuffleForward.PrimitiveDesc(forward_desc(md, axis, group_size))
                    make, args = dm.ShuffleForward, (dm.ARG_SRC, dm.ARG_DST)
                seen = []
                while True:
                    dst = dm.Memory(md)
                    want_bytes = want.bytes.copy()
                    if md.is_dense:
                        dst.bytes[:] = 0xAB  # padding must come out zero
                    make(pd).execute(dm.Stream(), {args[0]: src, args[1]: dst})
                    assert np.array_equal(dst.bytes, want_bytes), (axis, group_size, backward, pd.impl_info_str)
                    seen.append(pd.impl_info_str)
                    if not pd.next_impl():
                        break
                assert seen == pd.implementations


def test_the_implementations_that_are_expected() -> None:
    for layout in ("nchw", "nhwc", "nChw16c"):
        kinds = {name.split(":")[0] for name in forward_pd((2, 32, 4, 4), "f4", layout).implementations}
        assert kinds == {"native", "onednn"}


@pytest.mark.parametrize("implementation", ["native", "onednn"])
def test_gaps_between_rows_are_untouched(implementation: str) -> None:
    raw_in = random_bits((3, 16), np.dtype("f4"))
    raw_out = np.full((3, 16), 7, "f4")
    x, out = raw_in[:, :12], raw_out[:, :12]
    fwd = dm.ShuffleForward(
        dm.ShuffleForward.PrimitiveDesc(forward_desc(dm.MemoryDesc.of(x), 1, 3), implementation=implementation)
    )
    assert fwd.impl_info_str.startswith(implementation)
    fwd(x, out=out)
    assert out.tobytes() == expected(x, 1, 3).tobytes()
    assert (raw_out[:, 12:] == 7).all()


def test_the_worked_examples() -> None:
    x = np.arange(6, dtype="f4")
    md = dm.MemoryDesc.of(x)
    assert dm.ShuffleForward(forward_desc(md, 0, 3))(x).tolist() == [0, 3, 1, 4, 2, 5]
    assert dm.ShuffleBackward(dm.ShuffleBackward.Desc(md, 0, 3))(x).tolist() == [0, 2, 4, 1, 3, 5]
    y = np.arange(8, dtype="f4")
    assert dm.ShuffleForward(forward_desc(dm.MemoryDesc.of(y), 0, 2))(y).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


def test_queries() -> None:
    md = dm.MemoryDesc((2, 8, 3, 3), "f4", "nhwc")
    pd = dm.ShuffleForward.PrimitiveDesc(dm.ShuffleForward.Desc(dm.PropKind.forward, md, -3, 4), dm.Engine())
    assert pd.src_desc == pd.dst_desc == md
    assert (pd.axis, pd.group_size, pd.prop_kind) == (1, 4, dm.PropKind.forward_training)
    assert pd.engine == dm.Engine()
    assert pd.scratchpad_desc.dtype == np.uint8
    assert pd.impl_info_str == pd.implementations[0]
    bwd = dm.ShuffleBackward.PrimitiveDesc(dm.ShuffleBackward.Desc(md, 1, 4), hint_fwd_pd=pd)
    assert bwd.diff_src_desc == bwd.diff_dst_desc == md
    assert bwd.prop_kind == dm.PropKind.backward_data
    assert dm.ShuffleForward(pd).impl_info_str in dm.ShuffleForward(pd).explain()


def test_next_impl_stops_at_the_last() -> None:
    pd = forward_pd()
    whole = list(pd.implementations)
    for name in whole[1:]:
        assert pd.next_impl() is True
        assert pd.impl_info_str == name
    assert pd.next_impl() is False
    assert pd.impl_info_str == whole[-1]
    assert pd.implementations == whole


def test_forced_implementations() -> None:
    assert forward_pd(implementation="native").impl_info_str.startswith("native:")
    assert forward_pd(implementation="onednn").impl_info_str.startswith("onednn:")
    for name in forward_pd().implementations:
        assert forward_pd(implementation=name).impl_info_str == name
    native = forward_pd(implementation="native")
    assert native.next_impl() is False
    with pytest.raises(ValueError, match=r"implementation \('jit'\) must be one of 'auto', 'native', 'onednn'"):
        forward_pd(implementation="jit")


def test_the_environment_sets_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DNNMOVE_IMPLEMENTATION", "onednn")
    assert forward_pd().impl_info_str.startswith("onednn:")
    assert forward_pd(implementation="native").impl_info_str.startswith("native:")
    monkeypatch.setenv("DNNMOVE_IMPLEMENTATION", "fastest")
    with pytest.raises(ValueError, match=r"DNNMOVE_IMPLEMENTATION \('fastest'\)"):
        forward_pd()


@pytest.mark.parametrize(
    ("shape", "dtype", "layout"),
    [
        ((2, 8), "f8", None),
        ((2, 8), "i8", None),
        ((2, 8), ">f4", None),
        ((2, 8), "f4", (-8, 1)),
        ((2, 16, 0, 4), "f4", "nChw16c"),
        ((1, 64, 8192, 8192), "i1", "nChw16c"),  # an image of 4 GiB; nothing is allocated
        ((1, 16, 8192, 8192, 2), "i1", "nCdhw16c"),
    ],
)
def test_where_onednn_is_wrong_or_absent_only_native_runs(shape: tuple[int, ...], dtype: str, layout: object) -> None:
    assert [name.split(":")[0] for name in forward_pd(shape, dtype, layout).implementations] == ["native"]
    with pytest.raises(dm.UnimplementedError, match="implementation") as caught:
        forward_pd(shape, dtype, layout, implementation="onednn")
    assert isinstance(caught.value, (dm.Error, NotImplementedError))
    assert caught.value.status == 3


def test_the_negative_strides_that_only_native_can() -> None:
    x = np.arange(24, dtype="f4").reshape(3, 8)[::-1, ::-1]
    md = dm.MemoryDesc.of(x)
    y = dm.ShuffleForward(forward_desc(md, 1, 4))(x)
    assert y.tobytes() == expected(x, 1, 4).tobytes()
    assert dm.MemoryDesc.of(y) == md


@pytest.mark.parametrize("shape", [(0, 8, 2, 2), (2, 8, 0, 2), (2, 8, 2, 0)])
@pytest.mark.parametrize("layout", ["nchw", "nhwc", "nChw16c"])
def test_empty_images(shape: tuple[int, ...], layout: str) -> None:
    md = dm.MemoryDesc(shape, "f4", layout)
    for primitive in (dm.ShuffleForward(forward_desc(md, 1, 4)), dm.ShuffleBackward(dm.ShuffleBackward.Desc(md, 1, 4))):
        assert primitive(dm.Memory(md)).desc == md


@pytest.mark.parametrize(
    ("axis", "group_size", "error", "message"),
    [
        (2, 2, np.exceptions.AxisError, r"axis \(2\) must lie in \[-2, 2\)"),
        (-3, 2, np.exceptions.AxisError, r"axis \(-3\)"),
        (1, 3, ValueError, r"group_size \(3\) must divide data_desc.dims\[1\] \(8\)"),
        (1, 16, ValueError, r"group_size \(16\) must divide data_desc.dims\[1\] \(8\)"),
        (1, 0, ValueError, r"group_size \(0\)"),
        (1, -2, ValueError, r"group_size \(-2\)"),
        (1.0, 2, TypeError, "axis must be an integer"),
        (1, True, TypeError, "group_size must be an integer"),
    ],
)
def test_bad_parameters(axis: object, group_size: object, error: type[Exception], message: str) -> None:
    md = dm.MemoryDesc((2, 8), "f4")
    with pytest.raises(error, match=message):
        dm.ShuffleForward.Desc(FORWARD, md, axis, group_size)
    with pytest.raises(error, match=message.replace("data_desc", "diff_data_desc")):
        dm.ShuffleBackward.Desc(md, axis, group_size)


@pytest.mark.parametrize(
    ("md", "message"),
    [
        (dm.MemoryDesc((2, 0), "f4"), r"data_desc.dims\[1\] \(0\) must be at least 1"),
        (dm.MemoryDesc((2, 8), "f4", (8, 0)), "share bytes"),
        (dm.MemoryDesc((2, 8), "f4", (3, 1)), "share bytes"),
        (dm.MemoryDesc((1,) * 13, "f4"), "13 dimensions, oneDNN objects have at most 12"),
    ],
)
def test_bad_descriptors(md: dm.MemoryDesc, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dm.ShuffleForward.Desc(FORWARD, md, 1, 1)


def test_bad_types() -> None:
    md = dm.MemoryDesc((2, 8), "f4")
    with pytest.raises(TypeError, match="prop_kind"):
        dm.ShuffleForward.Desc(64, md, 1, 2)
    with pytest.raises(ValueError, match="prop_kind"):
        dm.ShuffleForward.Desc(dm.PropKind.backward_data, md, 1, 2)
    with pytest.raises(TypeError, match="data_desc"):
        dm.ShuffleForward.Desc(FORWARD, (2, 8), 1, 2)
    with pytest.raises(np.exceptions.AxisError):
        dm.ShuffleForward.Desc(FORWARD, dm.MemoryDesc((), "f4"), 0, 1)
    with pytest.raises(TypeError):
        dm.ShuffleForward(md)


def test_hints_that_disagree() -> None:
    desc = dm.ShuffleBackward.Desc(dm.MemoryDesc((8, 8), "f4"), 1, 2)
    pd = dm.ShuffleBackward.PrimitiveDesc
    with pytest.raises(ValueError, match=r"hint_fwd_pd.group_size \(4\)"):
        pd(desc, hint_fwd_pd=forward_pd((8, 8), group_size=4))
    with pytest.raises(ValueError, match=r"hint_fwd_pd.axis \(0\)"):
        pd(desc, hint_fwd_pd=forward_pd((8, 8), axis=0))
    with pytest.raises(TypeError, match="hint_fwd_pd"):
        pd(desc, hint_fwd_pd=desc)
    assert pd(desc, hint_fwd_pd=forward_pd((8, 8))).group_size == 2


@pytest.mark.parametrize("implementation", ["native", "onednn"])
def test_what_execute_refuses(implementation: str) -> None:
    fwd = dm.ShuffleForward(forward_pd(implementation=implementation))
    md = dm.MemoryDesc((2, 8), "f4")
    x, y = np.arange(16, dtype="f4").reshape(2, 8), np.full((2, 8), -1, "f4")
    stream = dm.Stream()
    refused = [
        ({dm.ARG_SRC: x}, ValueError, r"args lacks dst \(argument 17\)"),
        ({dm.ARG_DST: y}, ValueError, r"args lacks src \(argument 1\)"),
        ({}, ValueError, "args lacks src"),
        ({dm.ARG_SRC: x, dm.ARG_DST: y, 33: y}, ValueError, "unknown argument 33"),
        ({dm.ARG_DIFF_SRC: x, dm.ARG_DST: y}, ValueError, "unknown argument 129"),
        ({dm.ARG_SRC: x, dm.ARG_DST: x}, ValueError, "shares (bytes|memory)"),
        ({dm.ARG_SRC: x, dm.ARG_DST: x.astype("i4")}, ValueError, "dst"),
        ({dm.ARG_SRC: x.astype(">f4"), dm.ARG_DST: y}, ValueError, "src"),
        ({dm.ARG_SRC: x.T.copy().T, dm.ARG_DST: y}, ValueError, "src"),
        ({dm.ARG_SRC: x[:1], dm.ARG_DST: y}, ValueError, "src"),
        ({dm.ARG_SRC: dm.Memory(dm.MemoryDesc((2, 8), "i4")), dm.ARG_DST: y}, ValueError, "src"),
        ({dm.ARG_SRC: x, dm.ARG_DST: dm.Memory(md, buffer=bytes(64))}, ValueError, "read-only"),
        ({dm.ARG_SRC: x.tolist(), dm.ARG_DST: y}, TypeError, r"src \(argument 1\)"),
        ({dm.ARG_SRC: None, dm.ARG_DST: y}, TypeError, "src"),
        ({dm.ARG_SRC: np.ma.array(x), dm.ARG_DST: y}, TypeError, "mask"),
        ({"src": x, dm.ARG_DST: y}, TypeError, "args key"),
        ([x, y], TypeError, "args"),
    ]
    for args, error, message in refused:
        with pytest.raises(error, match=message):
            fwd.execute(stream, args)
    with pytest.raises(TypeError, match="stream"):
        fwd.execute("cpu", {dm.ARG_SRC: x, dm.ARG_DST: y})
    with pytest.raises(ValueError, match=r"shares (bytes|memory)"):
        fwd(x, out=x)
    assert (y == -1).all()
    fwd.execute(stream, {dm.ARG_SRC: x, dm.ARG_DST: y})
    assert np.array_equal(y, expected(x, 1, 2))


@pytest.mark.parametrize("implementation", ["native", "onednn"])
def test_views_that_interleave_but_share_nothing(implementation: str) -> None:
    raw = np.arange(32, dtype="f4").reshape(2, 16)
    x, out = raw[:, ::2], raw[:, 1::2]
    want = expected(x, 1, 2)
    fwd = dm.ShuffleForward(
        dm.ShuffleForward.PrimitiveDesc(forward_desc(dm.MemoryDesc.of(x), 1, 2), implementation=implementation)
    )
    assert fwd(x, out=out) is out
    assert np.array_equal(out, want)


def test_an_offset_into_a_larger_buffer() -> None:
    raw = np.arange(100, dtype="f4")
    x = raw[36:100].reshape(4, 16)
    for implementation in ("native", "onednn"):
        y = dm.ShuffleForward(forward_pd((4, 16), group_size=4, implementation=implementation))(x)
        assert np.array_equal(y, expected(x, 1, 4))


def test_the_result_is_of_the_callers_kind() -> None:
    x = np.arange(16, dtype="f4").reshape(2, 8)
    fwd = dm.ShuffleForward(forward_pd())
    assert type(fwd(x)) is np.ndarray
    assert fwd(x).flags.owndata
    mem = fwd(dm.Memory(dm.MemoryDesc.of(x), buffer=x))
    assert isinstance(mem, dm.Memory)
    assert np.array_equal(mem.numpy(), fwd(x))


def test_torch_in_torch_out() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(16, dtype=torch.bfloat16).reshape(2, 8)
    y = dm.ShuffleForward(dm.ShuffleForward.Desc(FORWARD, dm.MemoryDesc.of(x), 1, 2))(x)
    assert isinstance(y, torch.Tensor)
    assert torch.equal(y, x.reshape(2, 4, 2).transpose(1, 2).reshape(2, 8))


@pytest.mark.parametrize("implementation", ["native", "onednn"])
@pytest.mark.parametrize("layout", ["nchw", "nhwc", "nChw16c"])
def test_eight_threads_on_one_primitive(layout: str, implementation: str) -> None:
    md = dm.MemoryDesc((4, 48, 20, 20), "f4", layout)
    desc = forward_desc(md, 1, 3)
    fwd = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation))
    stream = dm.Stream()

    def job(seed: int) -> bool:
        x = np.random.default_rng(seed).random((4, 48, 20, 20), dtype="f4")
        src, dst, want = in_layout(x, md), dm.Memory(md), in_layout(expected(x, 1, 3), md)
        for _ in range(5):
            dst.bytes[:] = 0
            fwd.execute(stream, {dm.ARG_SRC: src, dm.ARG_DST: dst})
            if not np.array_equal(dst.bytes, want.bytes):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(job, range(8)))


FORK = """
import os, sys
import numpy as np
import dnnmove as dm
md = dm.MemoryDesc((8, 64, 32, 32), "f4", "nChw16c")
plain = dm.MemoryDesc((8, 64, 32, 32), "f4")
dm.set_num_threads(4)
def work():
    src, dst, back = dm.Memory(md), dm.Memory(md), dm.Memory(plain)
    x = np.random.default_rng(0).random((8, 64, 32, 32), dtype="f4")
    want = x.reshape(8, 16, 4, 32, 32).swapaxes(1, 2).reshape(x.shape)
    dm.reorder(dm.Memory(plain, buffer=x), src)
    for implementation in ("native", "onednn"):
        desc = dm.ShuffleForward.Desc(dm.PropKind.forward, md, 1, 4)
        fresh = dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation=implementation))
        for fwd in [fresh] + kept:
            dst.bytes[:] = 0
            fwd.execute(None, {dm.ARG_SRC: src, dm.ARG_DST: dst})
            dm.reorder(dst, back)
            assert np.array_equal(back.numpy(), want)
        if len(kept) < 2:
            kept.append(fresh)
kept = []
work()
child = os.fork()
if child == 0:
    work()
    os._exit(17)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
work()
print("both done")
"""


def test_a_fork_after_parallel_work() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "both done\n", done.stderr


def test_onednn_verbose_shows_its_shuffle() -> None:
    code = (
        "import numpy as np, dnnmove as dm\n"
        "x = np.zeros((2, 8), 'f4')\n"
        "desc = dm.ShuffleForward.Desc(dm.PropKind.forward, dm.MemoryDesc.of(x), 1, 2)\n"
        "dm.ShuffleForward(dm.ShuffleForward.PrimitiveDesc(desc, implementation='%s'))(x)\n"
    )
    shown = {}
    for implementation in ("onednn", "native"):
        done = subprocess.run(
            [sys.executable, "-c", code % implementation],
            env={**os.environ, "ONEDNN_VERBOSE": "1", "DNNL_VERBOSE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        shown[implementation] = [line for line in done.stdout.splitlines() if "exec" in line and "shuffle" in line]
    assert len(shown["onednn"]) == 1
    assert not shown["native"]


def test_scratchpads_are_accepted() -> None:
    pd = forward_pd(implementation="onednn")
    x, y = np.arange(16, dtype="f4").reshape(2, 8), np.empty((2, 8), "f4")
    scratch = dm.Memory(pd.scratchpad_desc)
    dm.ShuffleForward(pd).execute(None, {dm.ARG_SRC: x, dm.ARG_DST: y, dm.ARG_SCRATCHPAD: scratch})
    assert np.array_equal(y, expected(x, 1, 2))

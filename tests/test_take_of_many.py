"""take of many places: the list is read anew by each call, whatever it is, and no part of a plan."""

import gc

import numpy as np
import pytest

import dnnmove as dm

RNG = np.random.default_rng(7)


def indices_of(length, count):
    return RNG.integers(-length, length, count)


@pytest.mark.parametrize("dtype", ["u1", "f2", "V3", "f4", "f8", "V12", "c16"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((300,), 0), ((50, 7), 0), ((50, 70), 1), ((9, 40, 33), 1), ((4, 5, 6, 7), -4)]
)
def test_as_numpy(dtype, shape, axis):
    x = RNG.integers(0, 256, (*shape, np.dtype(dtype).itemsize), "u1").view(dtype)[..., 0]
    for count in (64, 65, 1000):
        indices = indices_of(shape[axis], count)
        for given in (indices, indices.tolist(), indices.astype("i4"), indices.astype("i2"), indices[::-1][::-1]):
            np.testing.assert_array_equal(dm.take(x, given, axis), np.take(x, indices, axis), strict=True)


def test_every_call_has_its_own_list():
    x = RNG.standard_normal((80, 30)).astype("f4")
    indices = indices_of(80, 200)
    out = np.empty((200, 30), "f4")
    for _ in range(50):
        indices[:] = indices_of(80, 200)
        assert dm.take(x, indices, 0, out=out) is out
        np.testing.assert_array_equal(out, x[indices])


@pytest.mark.parametrize("threads", [1, 2])
def test_beyond_the_caches(threads, profile):
    rows = {"quick": 200_000}.get(profile, 900_000)
    for width, dtype in ((1, "f4"), (5, "u2"), (24, "f4"), (64, "f4")):
        x = RNG.integers(0, 200, (rows, width)).astype(dtype)
        indices = indices_of(rows, rows)
        with dm.num_threads(threads):
            np.testing.assert_array_equal(dm.take(x, indices, 0), x[indices])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_any_layout(axis):
    x = RNG.standard_normal((40, 30, 20)).astype("f4")
    for data in (
        x,
        x.transpose(1, 0, 2),
        x.transpose(2, 0, 1),
        x[::-2, ::3],
        x[..., ::2],
        np.broadcast_to(x[:, :1], x.shape),
    ):
        indices = indices_of(data.shape[axis], 90)
        wanted = np.take(data, indices, axis)
        np.testing.assert_array_equal(dm.take(data, indices, axis), wanted, strict=True)
        out = np.empty(wanted.shape[::-1], "f4").transpose()
        dm.take(data, indices, axis, out=out)
        np.testing.assert_array_equal(out, wanted)


def test_nothing_to_take():
    assert dm.take(np.empty((5, 0), "f4"), indices_of(5, 100), 0).shape == (100, 0)
    with pytest.raises(IndexError, match="indices\\[0\\]"):
        dm.take(np.empty((0, 5), "f4"), np.zeros(100, int), 0)


def test_wrong_calls_write_nothing():
    x = np.arange(30.0).reshape(10, 3)
    good = indices_of(10, 100)
    out = np.full((100, 3), -1.0)
    bad = good.copy()
    bad[77] = 10
    for call, error, words in (
        (lambda: dm.take(x, bad, 0, out=out), IndexError, "indices[77] (10) must lie in [-10, 10)"),
        (lambda: dm.take(x, np.full(100, -(2**63)), 0, out=out), IndexError, "indices[0]"),
        (lambda: dm.take(x, good, 2, out=out), np.exceptions.AxisError, "axis (2)"),
        (lambda: dm.take(x, good.astype("f8"), 0, out=out), TypeError, "indices must hold integers"),
        (lambda: dm.take(x, good.reshape(10, 10), 0, out=out), ValueError, "one-dimensional"),
        (lambda: dm.take(x, good, 0, out=out[:-1]), ValueError, "out.shape"),
        (lambda: dm.take(x, good, 0, out=out.astype("f4")), TypeError, "out"),
        (lambda: dm.take(out, good, 0, out=out), ValueError, "shares memory"),
    ):
        with pytest.raises(error) as raised:
            call()
        assert words in str(raised.value)
    assert (out == -1).all()


@pytest.mark.parametrize("count", [100, 50_000])
@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_an_output_over_the_indices_is_as_numpy_makes_it(count, dtype):
    x = RNG.integers(0, 1000, 1000).astype(dtype)
    indices = indices_of(1000, count).astype(dtype)
    wanted = x[indices]
    assert dm.take(x, indices, 0, out=indices) is indices
    np.testing.assert_array_equal(indices, wanted)
    both = np.empty(count + 70, dtype)
    both[:count] = indices_of(1000, count)
    wanted = x[both[:count]]
    dm.take(x, both[:count], 0, out=both[70:])
    np.testing.assert_array_equal(both[70:], wanted)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">i8"])
@pytest.mark.parametrize("step", [1, 3, -2])
def test_indices_of_every_integer(dtype, step):
    x = RNG.standard_normal((120, 3)).astype("f4")
    indices = RNG.integers(-120 if np.dtype(dtype).kind == "i" else 0, 120, 9000).astype(dtype)[::step]
    np.testing.assert_array_equal(dm.take(x, indices, 0), x[indices])


@pytest.mark.parametrize("kind", ["int64", "int32", "int16", "uint8"])
@pytest.mark.parametrize("step", [1, 2])
def test_torch(kind, step):
    torch = pytest.importorskip("torch")
    x, indices = torch.arange(120.0).reshape(40, 3), torch.randint(0, 40, (180,)).to(getattr(torch, kind))[::step]
    wanted = x.index_select(0, indices.long())
    for data in (x, x.numpy()):
        for given in (indices, indices.numpy()):
            result = dm.take(data, given, 0)
            assert type(result) is type(data)
            assert torch.equal(torch.as_tensor(result), wanted)
    out = torch.empty_like(wanted)
    assert dm.take(x, indices, 0, out=out) is out
    assert torch.equal(out, wanted)
    with pytest.raises(IndexError, match=r"indices\[0\] \(40\)"):
        dm.take(x, indices + 40 - indices, 0, out=out)
    assert torch.equal(out, wanted)
    assert torch.equal(indices.long(), indices.long().clamp(0, 39))


def test_indices_in_a_memory():
    x, indices = RNG.standard_normal((40, 3)).astype("f4"), indices_of(40, 90).astype("i4")
    memory = dm.Memory(dm.MemoryDesc((90,), "i4"), dm.Engine(), indices)
    np.testing.assert_array_equal(dm.take(x, memory, 0), x[indices])


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_indices_that_begin_anywhere(dtype):
    """Also where no integer of their size does."""
    x, indices = RNG.standard_normal((40, 3)).astype("f4"), indices_of(40, 90).astype(dtype)
    for shift in range(9):
        raw = np.zeros(indices.nbytes + shift, "u1")
        raw[shift:] = indices.view("u1")
        np.testing.assert_array_equal(dm.take(x, raw[shift:].view(dtype), 0), x[indices])


@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("threads", [1, 2])
def test_one_wrong_index_of_very_many(dtype, threads):
    x = np.arange(1000.0)
    indices = indices_of(1000, 600_000).astype(dtype)
    out = np.full(len(indices), -1.0)
    with dm.num_threads(threads):
        for place in (0, 77_777, 299_999, 300_000, 599_999):
            for wrong in (1000, -1001, np.iinfo(dtype).min, np.iinfo(dtype).max):
                bad = indices.copy()
                bad[place] = wrong
                with pytest.raises(IndexError) as raised:
                    dm.take(x, bad, 0, out=out)
                assert f"indices[{place}] ({wrong})" in str(raised.value)
        assert (out == -1).all()
        np.testing.assert_array_equal(dm.take(x, indices, 0, out=out), x[indices])


def test_new_lists_cost_no_plan():
    x = np.zeros((500, 4), "f4")
    dm.take(x, indices_of(500, 300), 0)
    before = dm._core._cached_plans()
    for _ in range(20):
        dm.take(x, indices_of(500, 300), 0)
    assert dm._core._cached_plans() == before


class Exporter:
    """What DLPack reads, once; `before` runs as it is read."""

    def __init__(self, array, before=lambda: None):
        self.array, self.before, self.consumed = array, before, False

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        assert not self.consumed
        self.consumed = True
        self.before()
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("count", [5, 100])
def test_indices_that_change_as_the_data_are_read(count):
    x = np.arange(600.0).reshape(200, 3)
    for data in (x, x[:, ::2]):
        indices = np.arange(count)
        dm.take(Exporter(data, lambda indices=indices: indices.fill(7)), indices, 0)
        np.testing.assert_array_equal(dm.take(data, np.arange(count), 0), data[:count])


@pytest.mark.parametrize("count", [5, 100])
def test_arguments_are_read_once(count):
    x = np.arange(1200.0).reshape(200, 6)
    indices = np.arange(count)
    np.testing.assert_array_equal(np.asarray(dm.take(x, Exporter(indices), 0)), x[:count])
    for data in (x, x[:, ::2]):
        np.testing.assert_array_equal(np.asarray(dm.take(Exporter(data), indices, 0)), data[:count])
    out = np.empty((6, count)).T
    np.testing.assert_array_equal(np.asarray(dm.take(Exporter(x), indices, 0, out=out)), x[:count])
    with pytest.raises(np.exceptions.AxisError):
        dm.take(Exporter(x), indices, 7)


@pytest.mark.parametrize(("dtype", "count"), [("u1", 79), ("u2", 100), ("u1", 256), ("u1", 257)])
def test_of_many_short_rows_the_places_are_known_to_the_plan(dtype, count):
    """As long as a row is short; either way each call has its own."""
    rng = np.random.default_rng(count)
    x = rng.integers(0, 200, (20_000, 200)).astype(dtype)
    for _ in range(3):
        indices = rng.integers(-200, 200, count)
        out = np.zeros((20_000, count), dtype)
        assert dm.take(x, indices, 1, out=out) is out
        assert out.tobytes() == np.take(x, indices, 1).tobytes()
    with pytest.raises(IndexError):
        dm.take(x, [*range(199), 200], 1)


def test_indices_that_shrink_as_the_result_is_made():
    """Garbage collection may run Python code whenever an object is made."""
    indices = np.arange(1 << 20) % 100
    x = np.arange(300.0).reshape(100, 3)
    armed = False

    def shrink(phase, info):
        if armed:
            indices.resize(100, refcheck=False)

    before = gc.get_threshold()
    gc.callbacks.append(shrink)
    try:
        gc.set_threshold(1)
        armed = True
        results, messages = [], []
        for _ in range(20):
            try:
                results.append(dm.take(x, indices, 0))
            except RuntimeError as error:
                messages.append(str(error))
    finally:
        armed = False
        gc.callbacks.remove(shrink)
        gc.set_threshold(*before)
    assert len(results) + len(messages) == 20
    assert all("indices was given another shape" in message for message in messages)
    for result in results:
        np.testing.assert_array_equal(result, x[np.arange(len(result)) % 100])


def test_a_list_is_a_list():
    class Both(list):
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **options):
            raise AssertionError

    x = np.arange(300.0)
    np.testing.assert_array_equal(dm.take(x, Both([1] * 80), 0), x[[1] * 80])
    np.testing.assert_array_equal(dm.take(x, range(80), 0), x[:80])

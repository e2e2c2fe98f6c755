"""Chains of several sources: stack and concat before further steps, and the eager stack."""

import copy
import gc
import pickle
import random as rnd
import threading

import numpy as np
import oracle
import pytest
import strategies as some
from chains import blocks, random_sources_chain
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_new, assert_same

import dnnmove as dm


def same_bits(result, expected):
    return (
        result.dtype == expected.dtype
        and result.shape == expected.shape
        and np.array_equal(blocks(np.ascontiguousarray(result)), blocks(np.ascontiguousarray(expected)))
    )


@st.composite
def stacks(draw):
    shape = draw(some.shapes(0, max_elements=120))
    dtype = draw(some.dtypes)
    count = draw(st.integers(1, 5))
    return [draw(some.strided(shape, dtype)) for _ in range(count)], draw(some.axes(len(shape) + 1))


@given(stacks(), st.sampled_from([list, tuple]))
def test_eager_stack_of_any_arrays(problem, kind):
    inputs, axis = problem
    arrays = kind(data.array for data in inputs)
    result = dm.stack(arrays, axis)
    assert_same(result, np.stack([blocks(array) for array in arrays], axis).view(arrays[0].dtype))
    assert_new(result, *arrays)


@given(stacks(), st.data())
def test_eager_stack_into_any_strides(problem, draw):
    inputs, axis = problem
    arrays = [data.array for data in inputs]
    expected = np.stack([blocks(array) for array in arrays], axis).view(arrays[0].dtype)
    out = draw.draw(some.strided(expected.shape, expected.dtype, zeros=False))
    buffer = out.expected_after(expected)
    assert dm.stack(arrays, axis=axis, out=out.array) is out.array
    assert out.buffer.tobytes() == buffer.tobytes()


@given(st.integers(0, 2**32))
def test_random_chains(seed):
    random = rnd.Random(seed)
    sources, chain, expected, splits = random_sources_chain(random, lambda of: dm.Chain.of(of))
    for max_nests in (64, 3):
        built = chain.build(max_nests=max_nests)
        results = built(sources)
        results = results if splits else (results,)
        assert len(results) == len(expected)
        for result, wanted in zip(results, expected, strict=True):
            assert same_bits(result, wanted), chain
        outs = [np.zeros(wanted.shape + (2,), wanted.dtype)[..., 0] for wanted in expected]
        built(sources, out=outs if splits else outs[0])
        for out, wanted in zip(outs, expected, strict=True):
            assert same_bits(out, wanted), chain
    assert pickle.loads(pickle.dumps(chain)) == chain
    chain.build().explain()


def images(count, shape=(6, 5, 3), dtype="u1"):
    return [some.dense(shape, dtype, seed=i) for i in range(count)]


def test_a_batch_of_images_is_one_pass_without_a_copy():
    batch = images(7)
    built = dm.Chain([dm.MemoryDesc.of(image) for image in batch]).stack(axis=0).transpose((0, 3, 1, 2)).build()
    assert built.passes == 1
    assert_same(built(batch), np.stack(batch).transpose(0, 3, 1, 2))
    assert "one strided copy from each of 7 sources" in built.explain()


def test_thousands_of_sources_are_one_copy():
    batch = images(2000, (4, 4, 3))
    built = dm.Chain.of(batch).stack().transpose((0, 3, 1, 2)).split(1, 3).build()
    assert built.passes == 1
    text = built.explain()
    assert "input 0 to 1999: (4, 4, 3)" in text
    assert len(text) < 4000
    for result, expected in zip(built(batch), np.split(np.stack(batch).transpose(0, 3, 1, 2), 3, 1), strict=True):
        assert_same(result, expected)


def test_sources_of_different_layouts_and_lengths():
    rows = [some.dense((i % 5, 6), "i2", seed=i) for i in range(400)]
    rows[1::2] = [np.asfortranarray(row) for row in rows[1::2]]
    built = dm.Chain.of(rows).concat().transpose().variadic_split(0, [1, 5]).build()
    assert built.passes == 1
    expected = np.concatenate(rows).T
    for result, wanted in zip(built(rows), (expected[:1], expected[1:]), strict=True):
        assert_same(result, np.ascontiguousarray(wanted))


def test_any_order_of_sources():
    batch = images(300, (2, 3), "f4")
    order = rnd.Random(1).sample(range(300), 300)
    built = dm.Chain.of(batch).stack().take(order, 0).build()
    assert built.passes == 1
    assert_same(built(batch), np.stack(batch)[order])
    flipped = dm.Chain.of(batch).stack(1).flip(1).reshape((2, 30, 10, 3)).transpose((2, 0, 3, 1)).build()
    assert flipped.passes == 1
    expected = np.flip(np.stack(batch, 1), 1).reshape(2, 30, 10, 3).transpose(2, 0, 3, 1)
    assert_same(flipped(batch), np.ascontiguousarray(expected))


def test_fields_of_records_and_records_of_fields():
    columns = [some.dense((1000,), "f4", seed=i) for i in range(40)]
    assert_same(dm.stack(columns, -1), np.stack(columns, -1))
    assert_same(
        dm.concat([column.reshape(-1, 2) for column in columns], 1),
        np.concatenate([c.reshape(-1, 2) for c in columns], 1),
    )
    pixels = images(20, (100, 3))
    parts = dm.Chain.of(pixels).stack().split(2, 3).build()(pixels)
    for part, expected in zip(parts, np.split(np.stack(pixels), 3, 2), strict=True):
        assert_same(part, expected)


@pytest.mark.parametrize("order", [(0, 3, 1, 2), (0, 1, 2, 3), (3, 0, 1, 2)])
@pytest.mark.parametrize(("count", "shape"), [(5, (6, 7, 3)), (37, (33, 17, 3)), (300, (8, 8, 3))])
def test_numbers_of_several_sources_are_converted_in_the_same_pass(order, count, shape):
    batch = images(count, shape)
    batch[1] = np.asfortranarray(batch[1])
    axis = order.index(3)
    scale, shift = [1 / 128, 1 / 64, 1 / 32], [0.5, 0.25, 0.125]
    steps = dm.Chain.of(batch).stack().transpose(order)
    built = steps.convert("float32", scale=scale, shift=shift, axis=axis).build()
    assert built.passes == 1
    spread = [3 if k == axis else 1 for k in range(4)]
    expected = np.stack(batch).transpose(order).astype("f4") * np.reshape(np.array(scale, "f4"), spread)
    assert_same(built(batch), np.ascontiguousarray(expected + np.reshape(np.array(shift, "f4"), spread)))


def test_each_source_has_a_scale_of_its_own():
    batch = images(40, (5, 3))
    order = rnd.Random(2).sample(range(40), 40)
    scale = [float(k) for k in range(40)]
    expected = np.stack(batch)[order].astype("f4") * np.array(scale, "f4").reshape(-1, 1, 1)
    assert_same(dm.chain(batch).stack().take(order, 0).convert("float32", scale=scale, axis=0).run(), expected)
    plain = dm.chain(batch).stack().convert("float32", scale=scale, axis=0).run()
    assert_same(plain, np.stack(batch).astype("f4") * np.array(scale, "f4").reshape(-1, 1, 1))


def test_bytes_of_several_sources_are_swapped():
    rows = [some.dense((3, k + 1), "i4", seed=k) for k in range(9)]
    result = dm.chain(rows).concat(1).byteswap().transpose().run()
    assert result.dtype.byteorder == ">"
    assert np.array_equal(result, np.concatenate(rows, 1).T)


def test_one_array_many_times():
    x = some.dense((3, 4), "f8")
    built = dm.Chain.of([x, x[::-1], x]).concat(1).build()
    assert_same(built([x, x[::-1], x]), np.concatenate([x, x[::-1], x], 1))


def test_broadcast_and_empty_sources():
    wide = np.broadcast_to(np.arange(4, dtype="i4"), (3, 4))
    column = np.zeros((3, 0), "i4")
    assert_same(dm.chain([wide, column, wide]).concat(axis=1).run(), np.concatenate([wide, wide], 1))
    assert dm.chain([column, column]).stack().run().shape == (2, 3, 0)
    nothing = dm.Chain.of([column]).concat(axis=0).split(1, 1).build()
    assert nothing([column])[0].shape == (3, 0)


def test_one_source_in_a_list():
    x = some.dense((3, 4), "u2")
    built = dm.Chain([dm.MemoryDesc.of(x)]).stack().build()
    assert_same(built([x]), x[None])
    assert built != dm.Chain(dm.MemoryDesc.of(x)).expand_dims(0).build()


def test_shared_memory_of_out_and_any_source(errors_name):
    buffer = np.zeros(64, "i2")
    a, b, c = buffer[:8], buffer[8:16], buffer[16:24]
    built = dm.Chain.of([a, b, c]).stack().build()
    errors_name(ValueError, lambda: built([a, b, c], out=buffer[20:44].reshape(3, 8)), "out shares memory with x[2]")
    errors_name(
        ValueError, lambda: dm.stack([a, b, c], out=buffer[20:44].reshape(3, 8)), "out shares memory with arrays[2]"
    )
    many = [buffer[i : i + 1] for i in range(40)]
    errors_name(
        ValueError, lambda: dm.Chain.of(many).concat().build()(many, out=buffer[20:60]), "out shares memory with x[20]"
    )
    assert_same(built([a, b, c], out=buffer[24:48].reshape(3, 8)), np.zeros((3, 8), "i2"))


def test_another_leading_extent_of_all_sources():
    batch = images(3, (4, 6), "f4")
    built = dm.Chain.of(batch).stack(1).transpose((1, 0, 2)).build()
    for length in (2, 9, 0):
        other = images(3, (length, 6), "f4")
        assert_same(built(other), np.stack(other))
    joined = dm.Chain.of(batch).concat(0).build()
    other = images(3, (7, 6), "f4")
    assert_same(joined(other), np.concatenate(other))
    outs = np.zeros((3, 7, 6), "f4")
    built.execute(None, {dm.ARG_MULTIPLE_SRC + i: x for i, x in enumerate(other)} | {dm.ARG_DST: outs})
    assert_same(outs, np.stack(other))


def test_leading_extents_that_are_not_alike(errors_name):
    batch = images(3, (4, 6), "f4")
    built = dm.Chain.of(batch).concat(0).build()
    errors_name(
        ValueError,
        lambda: built([batch[0], batch[1], images(1, (5, 6), "f4")[0]]),
        "x[2].shape[0] is 5, but x[0].shape[0] is 4",
        "in all sources alike",
    )
    uneven = dm.Chain.of([batch[0], batch[1][:3]]).concat(0).build()
    errors_name(
        ValueError,
        lambda: uneven([batch[0][:2], batch[1][:2]]),
        "x[0].shape[0] is 2, but the chain was built for 4",
        "step 1, concat(axis=0), fixes axis 0",
    )
    errors_name(
        ValueError,
        lambda: dm.Chain.of(batch).stack().flip(1).roll(1, 1).build()([x[:2] for x in batch]),
        "step 3, roll(shift=1, axis=1), fixes axis 0",
    )


X = np.zeros((2, 3), "f4")
MD = dm.MemoryDesc((2, 3), "float32")


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: dm.Chain([]), ValueError, ["data_desc must hold at least one source, but is empty"]),
        (lambda: dm.Chain.of([]), ValueError, ["array must hold at least one source"]),
        (lambda: dm.Chain([MD, X]), TypeError, ["data_desc[1] (numpy.ndarray) must be a MemoryDesc"]),
        (lambda: dm.Chain.of([X, MD]), TypeError, ["array[1] must be an array"]),
        (lambda: dm.Chain.of([X, [1.0]]), TypeError, ["array[1] must be an array", "list"]),
        (
            lambda: dm.Chain([MD, dm.MemoryDesc((2, 3), "int32")]),
            TypeError,
            ["data_desc[1] has dtype int32, which must equal that of data_desc[0], float32"],
        ),
        (
            lambda: dm.Chain([MD, dm.MemoryDesc((8, 16, 2, 2), "float32", "nChw16c")]),
            ValueError,
            ["data_desc[1]", "plain"],
        ),
        (lambda: dm.Chain([MD, MD]).build(), ValueError, ["2 sources: its first step must be stack or concat"]),
        (lambda: dm.Chain([MD]).build(), ValueError, ["1 source in a list: its first step must be stack or concat"]),
        (
            lambda: dm.Chain([MD, MD]).transpose(),
            ValueError,
            ["step 1 (transpose): the chain has 2 sources: its first step"],
        ),
        (lambda: dm.Chain([MD, MD]).branch(0), ValueError, ["step 1 (branch): the chain has 2 sources"]),
        (lambda: dm.Chain(MD).stack(), ValueError, ["step 1 (stack): it joins the sources of a chain of several"]),
        (lambda: dm.Chain([MD, MD]).stack().concat(), ValueError, ["step 2 (concat): it joins the sources"]),
        (
            lambda: dm.Chain([MD, MD]).stack(4),
            np.exceptions.AxisError,
            ["step 1 (stack): axis (4) must lie in [-3, 3)"],
        ),
        (
            lambda: dm.Chain([MD, dm.MemoryDesc((2, 4), "float32")]).stack(),
            ValueError,
            ["step 1 (stack): arrays[1].shape (2, 4) must equal arrays[0].shape (2, 3)"],
        ),
        (
            lambda: dm.Chain([MD, dm.MemoryDesc((3, 4), "float32")]).concat(),
            ValueError,
            ["step 1 (concat): arrays[1].shape (3, 4) must equal arrays[0].shape (2, 3) except along axis 0"],
        ),
        (lambda: dm.Chain([MD, MD]).stack(1.0), TypeError, ["step 1 (stack): axis", "float"]),
        (
            lambda: dm.stack([X, X.astype("i4")]),
            TypeError,
            ["arrays[1].dtype (int32) must equal arrays[0].dtype (float32)"],
        ),
        (lambda: dm.stack([X, X.T]), ValueError, ["arrays[1].shape (3, 2) must equal arrays[0].shape (2, 3)"]),
        (lambda: dm.stack([]), ValueError, ["arrays must hold at least one array, but is empty"]),
        (lambda: dm.stack(X), TypeError, ["arrays must be a list or tuple of arrays", "stack([a, b], axis)"]),
        (lambda: dm.stack([X], 3), np.exceptions.AxisError, ["axis (3) must lie in [-3, 3)"]),
        (lambda: dm.stack([X], True), TypeError, ["axis"]),
        (lambda: dm.stack([X, X], out=X), ValueError, ["out.shape (2, 3) must equal the result's, (2, 2, 3)"]),
        (lambda: dm.Chain([MD, MD]).dst_desc, AttributeError, ["no step joins the sources"]),
        (
            lambda: dm.Chain([MD, MD]).src_desc,
            AttributeError,
            ["src_desc: this chain has several sources, see src_descs"],
        ),
    ],
)
def test_refusals(call, kind, words, errors_name):
    errors_name(kind, call, *words)


BUILT = dm.Chain([MD, MD]).stack().build()


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: BUILT(X), TypeError, ["x must be a list or tuple of 2 arrays, one per source, not numpy.ndarray"]),
        (lambda: BUILT([X]), ValueError, ["x must hold 2 arrays, one per source, but holds 1"]),
        (lambda: BUILT([X, X, X]), ValueError, ["x must hold 2 arrays, one per source, but holds 3"]),
        (lambda: BUILT([X, 3]), TypeError, ["x[1] must be an array"]),
        (lambda: BUILT([X, X.astype("i4")]), ValueError, ["x[1] has dtype int32", "built for float32"]),
        (lambda: BUILT([X, X[:, :2]]), ValueError, ["x[1].shape[1] is 2"]),
        (
            lambda: BUILT([X, np.asfortranarray(X)]),
            ValueError,
            ["x[1].strides[0] is 1 element, but the chain was built for 3"],
        ),
        (lambda: BUILT([X, X[0]]), ValueError, ["x[1] has 1 dimensions"]),
        (
            lambda: BUILT([X, X], out=np.zeros((2, 2, 3))),
            TypeError,
            ["out.dtype (float64) must equal x[0].dtype (float32)"],
        ),
        (
            lambda: BUILT([X, X], out=np.zeros((2, 3), "f4")),
            ValueError,
            ["out.shape (2, 3) must equal the result's, (2, 2, 3)"],
        ),
        (lambda: BUILT.src_desc, AttributeError, ["see src_descs"]),
        (lambda: BUILT.execute(None, {dm.ARG_SRC: X}), ValueError, ["unknown argument 1", "src[0] (argument 1024)"]),
        (
            lambda: BUILT.execute(None, {dm.ARG_MULTIPLE_SRC: X, dm.ARG_DST: np.zeros((2, 2, 3), "f4")}),
            ValueError,
            ["args lacks src[1] (argument 1025)"],
        ),
        (lambda: BUILT.execute(None, {"x": X}), TypeError, ["ARG_MULTIPLE_SRC + i, or ARG_DST"]),
        (
            lambda: dm.Chain([MD] * 1025).stack().build().execute(None, {}),
            ValueError,
            ["execute numbers at most 1024 sources, but the chain has 1025"],
        ),
    ],
)
def test_refusals_of_calls(call, kind, words, errors_name):
    errors_name(kind, call, *words)


def test_execute_with_arrays_and_memory():
    a, b = images(2, (2, 3), "f4")
    out = np.zeros((2, 2, 3), "f4")
    assert dm.ARG_MULTIPLE_SRC == 1024
    BUILT.execute(
        dm.Stream(), {dm.ARG_MULTIPLE_SRC: a, dm.ARG_MULTIPLE_SRC + 1: dm.Memory(MD, None, b), dm.ARG_DST: out}
    )
    assert_same(out, np.stack([a, b]))
    split = dm.Chain([MD, MD]).concat().split(0, 2).build()
    outs = [np.zeros((2, 3), "f4") for _ in range(2)]
    split.execute(None, {1024: a, 1025: b, dm.ARG_MULTIPLE_DST: outs[0], dm.ARG_MULTIPLE_DST + 1: outs[1]})
    assert_same(outs[0], a)
    assert_same(outs[1], b)


def test_kinds_of_arrays():
    torch = pytest.importorskip("torch")
    a, b = (torch.arange(6, dtype=torch.float32).reshape(2, 3) + i for i in range(2))
    assert torch.equal(BUILT([a, b]), torch.stack([a, b]))
    assert torch.equal(dm.stack([a, b], 1), torch.stack([a, b], 1))
    assert torch.equal(dm.chain((a, b)).concat(1).run(), torch.cat([a, b], 1))
    out = torch.zeros(2, 2, 3)
    assert BUILT([a, b.numpy()], out=out) is out
    assert torch.equal(out, torch.stack([a, b]))
    memory = BUILT([dm.Memory(MD, None, a.numpy()), dm.Memory(MD, None, b.numpy())])
    assert_same(memory.numpy(), np.stack([a.numpy(), b.numpy()]))


def test_equality_hash_copies_and_pickles():
    chain = dm.Chain([MD, MD]).stack()
    assert chain == dm.Chain((MD, MD)).stack()
    assert hash(chain) == hash(dm.Chain([MD, MD]).stack())
    assert chain != dm.Chain([MD, MD, MD]).stack()
    assert chain != dm.Chain([MD, MD]).concat()
    assert chain != dm.Chain([MD, dm.MemoryDesc((2, 3), "float32", (1, 2))]).stack()
    assert copy.deepcopy(chain) is chain
    for thing in (chain, BUILT, dm.Chain([MD, MD])):
        again = pickle.loads(pickle.dumps(thing))
        assert again == thing
        assert hash(again) == hash(thing)
    assert chain.src_descs == (MD, MD)
    assert dm.Chain([MD, MD]).dst_descs == (MD, MD)
    assert BUILT.src_descs == (MD, MD)
    assert repr(chain) == "Chain([MemoryDesc((2, 3), 'float32'), MemoryDesc((2, 3), 'float32')]).stack(axis=0)"
    assert "... 9 in all])" in repr(dm.Chain([MD] * 9).stack())
    assert eval(repr(chain), {"Chain": dm.Chain, "MemoryDesc": dm.MemoryDesc}) == chain


def test_lazy_chain():
    a, b = images(2, (2, 3), "f4")
    arrays = [a, b]
    lazy = dm.chain(arrays).stack(axis=2).transpose()
    arrays.append(a)
    assert lazy.shape == (2, 3, 2)
    assert lazy.dtype == np.float32
    assert_same(np.asarray(lazy), np.stack([a, b], 2).T.copy())
    assert "stack(axis=2)" in repr(lazy)
    assert repr(dm.chain([a, b])).startswith("<LazyArray of shapes")


def test_pictures_and_tables():
    built = dm.Chain([MD, MD, dm.MemoryDesc((2, 3), "float32", (1, 2))]).stack().transpose().build()
    svg = built.draw()
    assert "3 inputs" in svg
    assert "and others that lie otherwise" in svg
    assert "each of 2 inputs" in svg
    assert "2@source" in dm.Chain([MD, MD]).stack().draw()
    assert "and 2 more" in built._repr_html_()
    staged = dm.Chain.of(images(3, (4, 9), "u1")).stack().transpose().reshape((12, 9)).transpose().build(max_nests=1)
    assert staged.passes > 1
    assert "intermediate 0" in staged.draw()


def test_several_passes():
    batch = images(5, (6, 4), "i2")
    built = dm.Chain.of(batch).stack().transpose((2, 0, 1)).reshape((8, 15)).transpose().build(max_nests=1)
    assert built.passes == 2
    assert_same(built(batch), np.stack(batch).transpose(2, 0, 1).reshape(8, 15).T.copy())


def test_profiles_and_tuning():
    batch = images(4, (64, 64, 3))
    with dm.profile() as prof:
        expected = dm.Chain.of(batch).stack().transpose((0, 3, 1, 2)).build()(batch)
        tuned = dm.Chain.of(batch).stack().transpose((0, 3, 1, 2)).build(tune=True)(batch)
        dm.stack(batch)
    assert_same(tuned, expected)
    names = [row["name"] for row in prof.records] if hasattr(prof, "records") else str(prof)
    assert "chain" in names
    assert "stack" in names


def test_many_threads_at_once():
    batch = images(50, (30, 40, 3))
    built = dm.Chain.of(batch).stack().transpose((0, 3, 1, 2)).build()
    expected = np.stack(batch).transpose(0, 3, 1, 2)
    failures = []

    def work():
        for _ in range(20):
            if not np.array_equal(built(batch), expected):
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_large_sources_on_several_threads():
    batch = images(3, (1000, 700), "f4")
    with dm.num_threads(3):
        assert_same(dm.stack(batch), np.stack(batch))
        assert_same(dm.chain(batch).stack().transpose((0, 2, 1)).run(), np.stack([x.T for x in batch]))


def test_no_memory_is_kept():
    batch = images(3, (2, 3), "f4")
    built = dm.Chain.of(batch).stack().build()
    del batch
    gc.collect()
    again = images(3, (2, 3), "f4")
    assert_same(built(again), np.stack(again))


def test_dask_refuses(errors_name):
    pytest.importorskip("dask")
    from dnnmove import dask as dd

    errors_name(ValueError, lambda: dd.chain(BUILT), "chain must have one source, not a list of 2")


def test_oracle_of_concat_is_unchanged():
    arrays = images(3, (2, 3), "f4")
    assert_same(dm.concat(arrays, -1), oracle.concat(arrays, -1))

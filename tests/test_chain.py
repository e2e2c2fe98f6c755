"""Chains against NumPy, step by step; what they take, refuse and say."""

import inspect
import os
import random
import threading

import numpy as np
import pytest
from chains import blocks, random_chain, random_finish, random_sources_chain
from hypothesis import given, settings
from hypothesis import strategies as st

import dnnmove as dm

COUNTS = {"quick": 300, "ci": 1500, "full": 20_000}
COUNT = int(os.environ.get("DNNMOVE_TEST_CHAINS", COUNTS.get(os.environ.get("DNNMOVE_TEST_PROFILE", "ci"), 1500)))


def same_bits(result, expected):
    return (
        result.dtype == expected.dtype
        and result.shape == expected.shape
        and blocks(result).tobytes() == blocks(expected).tobytes()
    )


def mismatches(made, **build):
    """What is wrong with one random chain; nothing if all is well."""
    source, chain, expected, splits = made
    built = chain.build(**build)
    results = built(source)
    if isinstance(results, tuple) != splits:
        return f"{chain!r} gives {type(results)}"
    results = results if splits else (results,)
    if len(results) != len(expected) or tuple(d.dims for d in built.dst_descs) != tuple(r.shape for r in results):
        return f"{chain!r} gives {len(results)} results"
    for i, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        if not (result.flags.c_contiguous and result.flags.writeable and same_bits(result, wanted)):
            return f"{chain!r}: output {i} differs"
    return ""


def wrong(seeds, **build):
    return [text for seed in seeds if (text := mismatches(random_chain(random.Random(seed), dm.Chain.of), **build))]


def test_random_chains():
    assert wrong(range(COUNT)) == []


@pytest.mark.parametrize("sources", [random_chain, random_sources_chain])
def test_long_random_chains_that_convert_or_swap_in_the_end(sources):
    """As long as the search for their intermediates is bounded; what changes elements is done by the last pass."""
    for seed in range(COUNT // 5):
        choices = random.Random(seed)
        source, chain, arrays, splits = sources(choices, dm.Chain.of, most_steps=20)
        assert mismatches((source, *random_finish(choices, chain, arrays), splits)) == ""


@pytest.mark.parametrize("max_nests", [1, 2, 7])
def test_random_chains_in_several_passes(max_nests):
    """With few nests per output more intermediates stop in memory; the results stay the same."""
    assert wrong(range(10**6, 10**6 + COUNT // 5), max_nests=max_nests) == []


@settings(max_examples=200)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 4, 64]))
def test_any_chain(choices, max_nests):
    assert mismatches(random_chain(choices, dm.Chain.of), max_nests=max_nests) == ""


@given(st.randoms(use_true_random=False), st.sampled_from([1, 64]))
def test_out_of_any_strides(choices, max_nests):
    source, chain, expected, splits = random_chain(choices, dm.Chain.of)
    outs = []
    for wanted in expected:
        order = choices.sample(range(wanted.ndim), wanted.ndim)
        step = choices.choice([1, 2, -1])
        room = np.zeros([wanted.shape[axis] * abs(step) for axis in order], wanted.dtype)
        outs.append(room.transpose(np.argsort(order))[(..., *(slice(None, None, step),) * wanted.ndim)])
    result = chain.build(max_nests=max_nests)(source, out=tuple(outs) if splits else outs[0])
    results = result if splits else (result,)
    assert all(a is b for a, b in zip(results, outs, strict=True))
    assert all(same_bits(a, b) for a, b in zip(outs, expected, strict=True))


def image(shape=(2, 6, 3, 4), dtype="f4"):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def test_a_chain_is_immutable():
    x = image()
    start = dm.Chain.of(x)
    turned = start.transpose()
    assert start.dst_descs == (dm.MemoryDesc.of(x),)
    assert turned.dst_descs[0].dims == (4, 3, 6, 2)
    assert same_bits(start.build()(x), x)
    assert same_bits(turned.build()(x), np.ascontiguousarray(x.T))
    assert same_bits(turned.transpose().build()(x), x)


def test_equality_and_repr():
    x = image()
    a, b = dm.Chain.of(x).split(1, 2), dm.Chain(dm.MemoryDesc.of(x)).split(axis=1, num_splits=2)
    assert a == b
    assert hash(a) == hash(b)
    assert a != b.transpose()
    assert a != "a"
    assert repr(a) == "Chain(MemoryDesc((2, 6, 3, 4), 'float32')).split(axis=1, num_splits=2)"


def test_properties():
    x = image()
    built = dm.Chain.of(x).transpose().build()
    assert isinstance(built, dm.BuiltChain)
    assert built.src_desc == dm.MemoryDesc.of(x)
    assert built.dst_desc.dims == (4, 3, 6, 2)
    assert built.dst_descs == (built.dst_desc,)
    assert built.impl_info_str.startswith("native:")
    split = dm.Chain.of(x).split(1, 2).build()
    assert [desc.dims for desc in split.dst_descs] == [(2, 3, 3, 4)] * 2
    with pytest.raises(AttributeError, match="dst_descs"):
        _ = split.dst_desc
    chain = dm.Chain.of(x).transpose()
    assert chain.dst_desc == built.dst_desc
    with pytest.raises(AttributeError, match="dst_descs"):
        _ = chain.split(1, 3).dst_desc


def test_branches_come_out_flat_and_depth_first():
    x = np.arange(12, dtype="u1").reshape(4, 3)
    parts = dm.Chain.of(x).variadic_split(0, [1, 3]).split(1, 3).build()(x)
    assert [part.tolist() for part in parts] == [
        x[a, b].tolist() for a in (slice(1), slice(1, 4)) for b in (slice(1), slice(1, 2), slice(2, 3))
    ]


def test_one_part_is_still_a_tuple_and_none_an_empty_one():
    x = image()
    (only,) = dm.Chain.of(x).split(0, 1).build()(x)
    assert same_bits(only, x)
    empty = np.zeros((0, 3), "f4")
    built = dm.Chain.of(empty).variadic_split(0, []).transpose().build()
    assert built(empty) == ()
    assert built(empty, out=()) == ()


def test_rank_zero_and_empty_arrays():
    scalar = np.array(7, "i2")
    assert same_bits(dm.Chain.of(scalar).build()(scalar), scalar)
    assert same_bits(dm.Chain.of(scalar).broadcast((2, 0)).build()(scalar), np.zeros((2, 0), "i2"))
    empty = np.zeros((3, 0, 2), "f8")
    results = dm.Chain.of(empty).shuffle(0, 3).reshape((0, 5)).split(1, 5).build()(empty)
    assert [part.shape for part in results] == [(0, 1)] * 5


def test_execute_follows_onednns_flow():
    x = image()
    built = dm.Chain(dm.MemoryDesc.of(x)).split(axis=1, num_splits=2).build()
    memories = [dm.Memory(desc) for desc in built.dst_descs]
    args = {dm.ARG_SRC: dm.Memory(dm.MemoryDesc.of(x), buffer=x)}
    args |= {dm.ARG_MULTIPLE_DST + i: memory for i, memory in enumerate(memories)}
    assert built.execute(dm.Stream(), args) is None
    assert all(same_bits(memory.numpy(), part) for memory, part in zip(memories, np.split(x, 2, 1), strict=True))
    single = dm.Chain.of(x).transpose().build()
    y = np.zeros(single.dst_desc.dims, "f4")
    single.execute(None, {dm.ARG_SRC: x, dm.ARG_DST: y})
    assert same_bits(y, np.ascontiguousarray(x.T))
    with pytest.raises(ValueError, match="dst"):
        single.execute(None, {dm.ARG_SRC: x})
    with pytest.raises(ValueError, match="unknown"):
        single.execute(None, {dm.ARG_SRC: x, dm.ARG_MULTIPLE_DST: y})
    with pytest.raises(ValueError, match="shares"):
        dm.Chain.of(x).build().execute(None, {dm.ARG_SRC: x, dm.ARG_DST: x})


def test_memory_in_memory_out():
    x = image()
    memory = dm.Memory(dm.MemoryDesc.of(x), buffer=x)
    result = dm.Chain.of(x).transpose().build()(memory)
    assert isinstance(result, dm.Memory)
    assert same_bits(result.numpy(), np.ascontiguousarray(x.T))
    for max_nests in (1, 64):
        chain = dm.Chain.of(x).transpose().reshape((8, 18)).split(1, 3)
        parts = chain.build(max_nests=max_nests)(memory)
        wanted = np.split(np.ascontiguousarray(x.T).reshape(8, 18), 3, 1)
        assert all(same_bits(part.numpy(), array) for part, array in zip(parts, wanted, strict=True))
    blocked = dm.Memory(dm.MemoryDesc((2, 6, 3, 4), "f4", "nChw8c"))
    with pytest.raises(ValueError, match="nChw8c"):
        dm.Chain.of(x).build()(blocked)
    with pytest.raises(ValueError, match="nChw8c"):
        dm.Chain.of(x).build()(x, out=blocked)


def test_torch_in_torch_out():
    torch = pytest.importorskip("torch")
    x = torch.arange(24.0).reshape(2, 3, 4).to(torch.bfloat16)
    result = dm.Chain.of(x).transpose((2, 0, 1)).build()(x)
    assert isinstance(result, torch.Tensor)
    assert result.is_contiguous()
    assert torch.equal(result, x.permute(2, 0, 1))


@pytest.mark.parametrize("max_nests", [1, 64])
def test_a_source_of_its_own_strides(max_nests):
    x = np.arange(3 * 4 * 6, dtype="i4").reshape(3, 4, 6)[::-1, ::2, 1:]
    built = dm.Chain.of(x).reshape((5, 6)).transpose().build(max_nests=max_nests)
    assert same_bits(built(x), np.ascontiguousarray(x.reshape(5, 6).T))
    with pytest.raises(ValueError, match=r"x\.strides\[0\] is 10 elements, but the chain was built for -24"):
        built(np.ascontiguousarray(x))


@pytest.mark.parametrize(
    ("kind", "call", "words"),
    [
        (
            ValueError,
            lambda c: c.transpose().shuffle(1, 4),
            ["step 2 (shuffle): ", "group_size (4)", "data.shape[1] (3)"],
        ),
        (ValueError, lambda c: c.shuffle_channels(group=4), ["step 1 (shuffle_channels): ", "group (4)", "(6)"]),
        (
            ValueError,
            lambda c: c.transpose([0, 1, 2, 2]),
            ["step 1 (transpose): ", "input_order (0, 1, 2, 2)", "twice"],
        ),
        (TypeError, lambda c: c.transpose([0, 1, 2, 3.0]), ["step 1 (transpose): ", "input_order[3]", "float"]),
        (TypeError, lambda c: c.transpose([0, 1, 2, True]), ["step 1 (transpose): ", "input_order[3]", "bool"]),
        (
            ValueError,
            lambda c: c.variadic_split(1, [1, 7]),
            ["step 1 (variadic_split): ", "split_lengths (1, 7)", "(6)"],
        ),
        (ValueError, lambda c: c.variadic_split(1, [-1, 8]), ["step 1 (variadic_split): ", "(-1, 8)"]),
        (TypeError, lambda c: c.variadic_split(1, [1.0, 5]), ["step 1 (variadic_split): ", "split_lengths[0]"]),
        (ValueError, lambda c: c.split(1, 4), ["step 1 (split): ", "num_splits (4)", "(6)"]),
        (np.exceptions.AxisError, lambda c: c.split(4, 2), ["step 1 (split): ", "axis (4)", "[-4, 4)"]),
        (TypeError, lambda c: c.split(1, True), ["step 1 (split): ", "num_splits", "bool"]),
        (ValueError, lambda c: c.split(1, 2).shuffle(1, 2), ["step 2 (shuffle), branch 0: ", "(3)"]),
        (ValueError, lambda c: c.broadcast((2, 2, 3, 4)), ["step 1 (broadcast): ", "target_shape (2, 2, 3, 4)"]),
        (ValueError, lambda c: c.broadcast((2, 6, 3, 4), [0, 1, 2, 3]), ["step 1 (broadcast): ", "axes_mapping"]),
        (
            ValueError,
            lambda c: c.broadcast((2, 6, 3, 4), mode="any"),
            ["step 1 (broadcast): ", "mode ('any')", "explicit"],
        ),
        (ValueError, lambda c: c.broadcast((2**60, 2, 6, 3, 4)), ["step 1 (broadcast): ", "bytes"]),
        (ValueError, lambda c: c.reshape((5, 5)), ["step 1 (reshape): ", "shape (5, 5)", "144"]),
        (ValueError, lambda c: c.reshape((-1, -1)), ["step 1 (reshape): ", "-1 occurs twice"]),
        (ValueError, lambda c: c.reshape((-1, 0)), ["step 1 (reshape): ", "(-1, 0)"]),
        (ValueError, lambda c: c.reshape((1,) * 65 + (144,)), ["step 1 (reshape): ", "66 dimensions"]),
        (TypeError, lambda c: c.reshape("ab"), ["step 1 (reshape): ", "shape"]),
        (IndexError, lambda c: c.index(2), ["step 1 (index): ", "np.s_[2]", "[-2, 2)"]),
        (IndexError, lambda c: c.index(-(2**70)), ["step 1 (index): ", "64 bits"]),
        (ValueError, lambda c: c.index(np.s_[::0]), ["step 1 (index): ", "step 0"]),
        (IndexError, lambda c: c.index(np.s_[..., ...]), ["step 1 (index): ", "ellipsis"]),
        (
            IndexError,
            lambda c: c.index(np.s_[0, 0, 0, 0, 0]),
            ["step 1 (index): ", "5 axes", "4 dimensions"],
        ),
        (TypeError, lambda c: c.index([0, 1]), ["step 1 (index): ", "list"]),
        (TypeError, lambda c: c.index(np.array([0])), ["step 1 (index): ", "ndarray"]),
        (TypeError, lambda c: c.index(True), ["step 1 (index): ", "bool"]),
        (IndexError, lambda c: c.branch(1), ["step 1 (branch): ", "i (1)", "[-1, 1)", "1 output"]),
        (IndexError, lambda c: c.split(1, 2).branch(-3), ["step 2 (branch): ", "i (-3)", "[-2, 2)", "2 outputs"]),
        (TypeError, lambda c: c.branch(True), ["step 1 (branch): ", "i must be", "bool"]),
        (TypeError, lambda c: c.branch(0.0), ["step 1 (branch): ", "i must be", "float"]),
        (ValueError, lambda c: c.split(1, 2).branch(1).shuffle(1, 2), ["step 3 (shuffle), branch 1: ", "(3)"]),
        (TypeError, lambda c: c.index(np.s_[:1.5]), ["step 1 (index): ", "float"]),
        (ValueError, lambda c: c.build(max_nests=0), ["max_nests (0)", "[1, 256]"]),
    ],
)
def test_errors_are_the_eager_ones_and_name_the_step(kind, call, words):
    with pytest.raises(kind) as caught:
        call(dm.Chain.of(image()))
    assert [word for word in words if word not in str(caught.value)] == []


def test_the_message_of_a_step_is_the_eager_functions():
    x = image()
    for name, keywords in [
        ("shuffle", {"axis": 1, "group_size": 4}),
        ("shuffle_channels", {"axis": 9}),
        ("transpose", {"input_order": [0]}),
        ("variadic_split", {"axis": 1, "split_lengths": [7]}),
        ("split", {"axis": 0.5, "num_splits": 2}),
        ("broadcast", {"target_shape": [3]}),
    ]:
        with pytest.raises((TypeError, ValueError)) as eager:
            getattr(dm, name)(x, **keywords)
        with pytest.raises(type(eager.value)) as step:
            getattr(dm.Chain.of(x), name)(**keywords)
        assert str(step.value) == f"step 1 ({name}): {eager.value}"


def test_what_a_chain_starts_from():
    with pytest.raises(TypeError, match="MemoryDesc"):
        dm.Chain(image())
    with pytest.raises(ValueError, match="reorder"):
        dm.Chain(dm.MemoryDesc((1, 16, 2, 2), "float32", "nChw16c"))
    with pytest.raises(TypeError, match="array"):
        dm.Chain.of([1, 2])
    with pytest.raises(TypeError, match="object"):
        dm.Chain.of(np.array([None]))


@pytest.mark.parametrize("max_nests", [1, 64])
def test_out_is_checked_before_anything_is_written(max_nests):
    x = image()
    built = dm.Chain.of(x).transpose().reshape((8, 18)).split(0, 2).build(max_nests=max_nests)
    good = np.zeros((4, 18), "f4")
    overlapping = np.zeros((8, 18), "f4")
    locked = np.zeros((4, 18), "f4")
    locked.flags.writeable = False
    for kind, out, word in [
        (TypeError, good, "list or tuple"),
        (ValueError, [good], "2 arrays"),
        (ValueError, [good, np.zeros((18, 4), "f4")], "out[1].shape"),
        (TypeError, [good, np.zeros((4, 18), ">f4")], "out[1].dtype"),
        (ValueError, [good, locked], "out[1] is read-only"),
        (ValueError, [good, good], "out[1]"),
        (ValueError, [overlapping[:4], overlapping[3:7]], "out[1]"),
        (ValueError, [good, np.lib.stride_tricks.as_strided(good, (4, 18), (0, 4))], "out[1]"),
        (ValueError, [good, x.reshape(8, 18)[4:]], "out[1]"),
    ]:
        with pytest.raises(kind) as caught:
            built(x, out=out)
        assert word in str(caught.value)
        assert not good.any()
    built(x, out=[overlapping[::2], overlapping[1::2]])
    assert same_bits(np.concatenate([overlapping[::2], overlapping[1::2]]), np.ascontiguousarray(x.T).reshape(8, 18))


@pytest.mark.parametrize("max_nests", [1, 64])
def test_one_built_chain_on_many_threads(max_nests):
    inputs = [np.random.default_rng(i).integers(0, 256, (6, 35, 64), np.uint8) for i in range(4)]
    built = (
        dm.Chain.of(inputs[0])
        .transpose((2, 1, 0))
        .reshape((35, 64, 6))
        .shuffle(1, 16)
        .transpose()
        .build(max_nests=max_nests)
    )
    expected = [
        x.transpose(2, 1, 0).reshape(35, 4, 16, 6).swapaxes(1, 2).reshape(35, 64, 6).transpose(2, 1, 0) for x in inputs
    ]
    good = [False] * len(inputs)

    def work(i):
        good[i] = all(np.array_equal(built(inputs[i]), expected[i]) for _ in range(50))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(good)


def test_explain_names_every_step_and_every_intermediate():
    x = image()
    chain = dm.Chain.of(x).shuffle(1, 2).shuffle(1, 3).transpose().reshape((8, 18)).transpose()
    text = chain.build(max_nests=1).explain()
    for words in [
        "chain of 5 steps on MemoryDesc((2, 6, 3, 4), 'float32'): 2 passes",
        "input\n    (2, 6, 3, 4): [2@288, 6@48, 3@16, 4@4]",
        "step 1 shuffle(axis=1, group_size=2)\n    (2, 6, 3, 4): [2@288, 2@48 3@96, 3@16, 4@4]",
        "step 2 shuffle(axis=1, group_size=3)\n    (2, 6, 3, 4): [2@288, 6@48, 3@16, 4@4], the input again",
        "written to memory here, 576 bytes by pass 1, and read again by pass 2",
        "more than 1 strided copy (max_nests)",
        "step 5 transpose(input_order=())",
        "output 0: written by pass 2 in 1 strided copy",
        "pass 2, native:",
    ]:
        assert words in text
    assert "written to memory" not in chain.build().explain()


def test_explain_of_branches():
    x = image()
    f = dm.Chain.of(x).split(1, 3).branch(1).shuffle(1, 1).branch(None).transpose().branch(0).index(np.s_[1:3]).build()
    text = f.explain()
    for words in [
        "step 1 split(axis=1, num_splits=3): 3 outputs\n    output 0: (2, 2, 3, 4): [2@288, 2@48, 3@16, 4@4]\n    ",
        "step 2 branch(1): to output 1 of 3\nstep 3 shuffle(axis=1, group_size=1)\n    output 1: ",
        ", nothing changes\nstep 4 branch(None): to every output again\nstep 5",
        "output 2: written by pass 1 in 1 strided copy\npass 1, native:",
    ]:
        assert words in text
    many = dm.Chain.of(np.zeros((100, 4))).split(0, 100).reshape((4,)).build().explain()
    assert many.count("...") == 3


@pytest.fixture(params=["chain", "lazy"])
def run(request):
    """Runs steps on an array: `run(x, lambda c: c.transpose())`."""
    if request.param == "chain":
        return lambda x, steps: steps(dm.Chain.of(x)).build()(x)
    return lambda x, steps: steps(dm.chain(x)).run()


def test_a_step_after_branch_applies_to_that_output_alone(run):
    x = image()
    a, b, c = run(x, lambda chain: chain.split(2, 3).branch(1).transpose((0, 2, 3, 1)))
    parts = np.split(x, 3, 2)
    assert same_bits(a, np.ascontiguousarray(parts[0]))
    assert same_bits(b, np.ascontiguousarray(parts[1].transpose(0, 2, 3, 1)))
    assert same_bits(c, np.ascontiguousarray(parts[2]))


def test_a_split_inside_a_branch_passes_on_to_its_parts(run):
    x = np.arange(12)
    results = run(x, lambda c: c.split(0, 2).branch(0).split(0, 3).index(np.s_[::-1]))
    assert [part.tolist() for part in results] == [[1, 0], [3, 2], [5, 4], [6, 7, 8, 9, 10, 11]]


def test_a_later_branch_counts_all_outputs_anew(run):
    x = np.arange(12)
    results = run(x, lambda c: c.split(0, 2).branch(0).split(0, 3).branch(-1).reshape((2, 3)).branch(2).index(0))
    assert [part.tolist() for part in results] == [[0, 1], [2, 3], 4, [[6, 7, 8], [9, 10, 11]]]


def test_branch_none_turns_to_all_again(run):
    x = np.arange(8)
    results = run(x, lambda c: c.split(0, 2).branch(1).index(np.s_[::-1]).branch(None).reshape((2, 2)))
    assert [part.tolist() for part in results] == [[[0, 1], [2, 3]], [[7, 6], [5, 4]]]


def test_branch_of_a_chain_that_does_not_split(run):
    x = np.arange(4)
    assert run(x, lambda c: c.branch(-1).index(np.s_[1:])).tolist() == [1, 2, 3]
    empty = np.zeros((0, 3))
    with pytest.raises(IndexError, match="0 outputs"):
        run(empty, lambda c: c.variadic_split(0, []).branch(0))
    assert run(empty, lambda c: c.variadic_split(0, []).branch(None).transpose()) == ()


def test_branches_are_written_in_one_pass():
    x = image((4, 8, 16))
    f = dm.Chain.of(x).split(2, 2).branch(1).transpose().branch(0).split(0, 2).shuffle(1, 2).build()
    assert f.passes == 1
    assert [desc.dims for desc in f.dst_descs] == [(2, 8, 8), (2, 8, 8), (8, 8, 4)]
    assert "step 2 branch(1)" in f.explain()
    outs = [np.zeros(desc.dims, "f4") for desc in f.dst_descs]
    f(x, out=outs)
    assert all(same_bits(out, result) for out, result in zip(outs, f(x), strict=True))


def test_grouped_query_attention(run):
    # One projection to q of eight heads, k and v of two: these two are repeated for the groups, q is not.
    batch, length, queries, keys, width = 2, 5, 8, 2, 4
    x = image((batch, length, (queries + 2 * keys) * width))

    def steps(chain):
        chain = chain.unflatten(2, (queries + 2 * keys, width)).variadic_split(2, [queries, keys, keys])
        chain = chain.branch(1).repeat_elements(queries // keys, 2).branch(2).repeat_elements(queries // keys, 2)
        return chain.branch(None).transpose((0, 2, 1, 3))

    parts = np.split(x.reshape(batch, length, -1, width), [queries, queries + keys], axis=2)
    wanted = [parts[0], *(np.repeat(part, queries // keys, 2) for part in parts[1:])]
    for result, part in zip(run(x, steps), wanted, strict=True):
        assert same_bits(result, np.ascontiguousarray(part.transpose(0, 2, 1, 3)))
    assert steps(dm.Chain.of(x)).build().passes == 1


def test_branch_is_part_of_what_a_chain_is():
    x = image()
    split = dm.Chain.of(x).split(1, 2)
    assert split.branch(0).transpose() != split.branch(1).transpose()
    assert split.branch(0).transpose() == split.branch(0).transpose()
    assert repr(split.branch(np.int8(-1)).branch(None)).endswith(".branch(-1).branch(None)")


def test_the_lazy_form_gives_what_the_chain_gives():
    x = image()
    lazy = (
        dm.chain(x)
        .shuffle(1, 2)
        .shuffle_channels(1, 3)
        .transpose((0, 2, 1, 3))
        .index(np.s_[:, ::-1])
        .reshape((2, 3, 6, 4, 1))
    )
    lazy = lazy.broadcast((2, 3, 6, 4, 2)).split(0, 2).variadic_split(2, [-1, 2])
    results = lazy.run()
    expected = lazy.steps.build()(x)
    assert len(results) == 4
    assert all(same_bits(a, b) for a, b in zip(results, expected, strict=True))
    outs = [np.zeros_like(part) for part in results]
    assert lazy.run(out=outs)[0] is outs[0]
    assert all(same_bits(a, b) for a, b in zip(outs, expected, strict=True))
    assert "8 steps" in lazy.explain()
    assert "variadic_split" in repr(lazy)


def test_the_lazy_form_runs_only_when_asked():
    x = image()
    lazy = dm.chain(x).transpose()
    x[...] = 7
    assert (lazy.run() == 7).all()
    with pytest.raises(ValueError, match=r"step 2 \(split\)"):
        lazy.split(0, 3)
    with pytest.raises(TypeError, match="array"):
        dm.chain([1, 2])


def test_the_lazy_form_says_what_it_will_give():
    lazy = dm.chain(image()).transpose((1, 0, 2, 3)).index(np.s_[:, 0])
    assert (lazy.shape, lazy.shapes, lazy.dtype) == ((6, 3, 4), ((6, 3, 4),), np.dtype("f4"))
    assert repr(lazy) == (
        "<LazyArray of shape (6, 3, 4) and dtype float32: Chain(MemoryDesc((2, 6, 3, 4), 'float32'))"
        ".transpose(input_order=(1, 0, 2, 3)).index(np.s_[:, 0])>"
    )
    parts = lazy.split(0, 3)
    assert parts.shapes == ((2, 3, 4),) * 3
    assert "<LazyArray of shapes [(2, 3, 4), (2, 3, 4), (2, 3, 4)] and dtype float32: " in repr(parts)
    assert not hasattr(parts, "shape")
    with pytest.raises(AttributeError, match="shapes"):
        _ = parts.shape
    many = repr(dm.chain(np.zeros((100, 1))).split(0, 100))
    assert "and 94 more]" in many


def test_numpy_runs_the_lazy_form():
    x = image()
    lazy = dm.chain(x).transpose()
    for result in (np.asarray(lazy), np.array(lazy), np.asarray(lazy, dtype=">f8"), np.ascontiguousarray(lazy)):
        assert np.array_equal(result, x.T)
        assert not np.may_share_memory(result, x)
    assert np.asarray(lazy, dtype=">f8").dtype == np.dtype(">f8")
    assert np.array_equal(np.add(lazy, 1), x.T + 1)
    memory = dm.Memory(dm.MemoryDesc.of(x), buffer=x)
    assert np.array_equal(np.asarray(dm.chain(memory).transpose()), x.T)
    with pytest.raises(TypeError, match=r"split, into 2 arrays.*run\(\)"):
        np.asarray(lazy.split(0, 2))
    with pytest.raises(TypeError, match="split, into 1 arrays"):
        np.asarray(lazy.split(0, 1))
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="copy=False"):
            np.asarray(lazy, copy=False)


STEPS = [
    "shuffle",
    "shuffle_channels",
    "transpose",
    "variadic_split",
    "split",
    "broadcast",
    "reshape",
    "index",
    "branch",
]


@pytest.mark.parametrize("name", STEPS)
def test_methods_of_the_lazy_form_are_the_chains(name):
    lazy, chain = getattr(dm.LazyArray, name), getattr(dm.Chain, name)
    assert str(inspect.signature(lazy)) == str(inspect.signature(chain))
    assert lazy.__name__ == name
    assert lazy.__qualname__ == f"LazyArray.{name}"
    assert lazy.__doc__.splitlines()[0] == chain.__doc__.splitlines()[0]
    assert "LazyArray" in lazy.__doc__
    assert "\nChain\n" not in lazy.__doc__


def test_repr_of_a_built_chain():
    x = image()
    assert repr(dm.Chain.of(x).transpose().build()) == (
        "<BuiltChain of Chain(MemoryDesc((2, 6, 3, 4), 'float32')).transpose(input_order=()), "
        "outputs: (4, 3, 6, 2), passes: 1>"
    )
    text = repr(dm.Chain.of(x).split(1, 2).build())
    assert text.endswith(".split(axis=1, num_splits=2), outputs: [(2, 3, 3, 4), (2, 3, 3, 4)], passes: 1>")
    many = repr(dm.Chain.of(np.zeros((100, 1))).split(0, 100).build())
    assert many.endswith("(1, 1), (1, 1) and 94 more], passes: 1>")


def test_a_chain_that_is_not_built_says_so_when_it_is_called():
    x = image()
    for call in (lambda c: c(x), lambda c: c(x, out=x), lambda c: c()):
        with pytest.raises(TypeError, match=r"not built: call \.build\(\) first"):
            call(dm.Chain.of(x).transpose())

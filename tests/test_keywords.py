"""Calls that do not fit a signature: what the error says, in the user's words and never in C++'s."""

import numpy as np
import pytest

import dnnmove as dm

X = np.arange(24, dtype="f4").reshape(2, 3, 4)
MD = dm.MemoryDesc.of(X)
DESC = dm.ShuffleForward.Desc(dm.PropKind.forward, MD, 1, 3)
ENGINE = dm.Engine()


@pytest.mark.parametrize(
    ("call", "keyword", "meant"),
    [
        (lambda **k: dm.transpose(X, **k), "axes", "input_order"),
        (lambda **k: dm.transpose(X, **k), "perm", "input_order"),
        (lambda **k: dm.transpose(X, **k), "dims", "input_order"),
        (lambda **k: dm.transpose(X, **k), "order", "input_order"),
        (lambda **k: dm.transpose(**k), "x", "data"),
        (lambda **k: dm.transpose(**k), "a", "data"),
        (lambda **k: dm.transpose(**k), "input", "data"),
        (lambda **k: dm.transpose(**k), "array", "data"),
        (lambda **k: dm.shuffle(X, group_size=3, **k), "dim", "axis"),
        (lambda **k: dm.shuffle_channels(X, **k), "groups", "group"),
        (lambda **k: dm.shuffle_channels(X, **k), "num_groups", "group"),
        (lambda **k: dm.shuffle_backward(axis=1, group_size=3, **k), "grad_output", "diff_dst"),
        (lambda **k: dm.broadcast(X, **k), "shape", "target_shape"),
        (lambda **k: dm.broadcast(X, (2, 3, 4), **k), "mapping", "axes_mapping"),
        (lambda **k: dm.split(X, 1, **k), "sections", "num_splits"),
        (lambda **k: dm.split(X, 1, **k), "indices_or_sections", "num_splits"),
        (lambda **k: dm.variadic_split(X, 1, **k), "indices_or_sections", "split_lengths"),
        (lambda **k: dm.variadic_split(X, 1, **k), "split_size_or_sections", "split_lengths"),
        (lambda **k: dm.concat(**k), "tensors", "arrays"),
        (lambda **k: dm.concat([X], **k), "dim", "axis"),
        (lambda **k: dm.transpose(X, **k), "outt", "out"),
        (lambda **k: dm.transpose(X, **k), "Input_Order", "input_order"),
        (lambda **k: dm.MemoryDesc(dtype="f4", **k), "shape", "dims"),
        (lambda **k: dm.MemoryDesc((2,), **k), "data_type", "dtype"),
        (lambda **k: dm.MemoryDesc((2,), "f4", **k), "strides", "layout"),
        (lambda **k: dm.MemoryDesc((2,), "f4", **k), "format_tag", "layout"),
        (lambda **k: dm.Memory(**k), "md", "desc"),
        (lambda **k: dm.Memory(MD, **k), "handle", "buffer"),
        (lambda **k: dm.reorder(dst_mem=dm.Memory(MD), **k), "src", "src_mem"),
        (lambda **k: dm.Engine(**k), "engine_kind", "kind"),
        (lambda **k: dm.set_num_threads(**k), "num_threads", "n"),
        (lambda **k: dm.num_threads(**k), "threads", "n"),
        (lambda **k: dm.Transpose.Desc(MD, **k), "axes", "input_order"),
        (lambda **k: dm.ShuffleForward.Desc(dm.PropKind.forward, axis=1, group_size=3, **k), "md", "data_desc"),
        (lambda **k: dm.ShuffleForward.PrimitiveDesc(DESC, **k), "impl", "implementation"),
        (lambda **k: dm.ShuffleForward(**k), "primitive_desc", "pd"),
        (lambda **k: dm.Transpose(dm.Transpose.Desc(MD))(**k), "data", "x"),
        (lambda **k: dm.Transpose(dm.Transpose.Desc(MD)).execute(None, **k), "arguments", "args"),
        (lambda **k: dm.Chain(MD).transpose(**k), "axes", "input_order"),
        (lambda **k: dm.Chain(MD).split(1, **k), "sections", "num_splits"),
        (lambda **k: dm.Chain(MD).reshape(**k), "newshape", "shape"),
        (lambda **k: dm.Chain(**k), "desc", "data_desc"),
        (lambda **k: dm.Chain.of(**k), "x", "array"),
        (
            lambda **k: dm.ShuffleForward.PrimitiveDesc(ENGINE, dst_desc=MD, axis=1, group_size=3, **k),
            "src_md",
            "src_desc",
        ),
    ],
)
def test_the_word_of_another_library(call, keyword, meant):
    with pytest.raises(TypeError) as caught:
        call(**{keyword: None})
    assert str(caught.value).endswith(f"() got an unexpected keyword argument '{keyword}': did you mean '{meant}'?")


def test_size_and_number_of_groups_are_told_apart():
    with pytest.raises(TypeError, match=r"'groups'.*size of one group; shuffle_channels counts groups"):
        dm.shuffle(X, 1, groups=3)
    with pytest.raises(TypeError, match=r"'group'.*size of one group; shuffle_channels counts groups"):
        dm.ShuffleForward.Desc(dm.PropKind.forward, MD, 1, group=3)
    with pytest.raises(TypeError, match=r"'group_size'.*number of groups; shuffle takes the size of one"):
        dm.shuffle_channels(X, 1, group_size=1)


def test_a_word_of_nobody_gets_the_list():
    with pytest.raises(TypeError, match=r"'dtype'; it takes 'data', 'input_order' and 'out'$"):
        dm.transpose(X, dtype="f4")
    with pytest.raises(TypeError, match=r"onednn_version\(\) got .* 'x'; it takes no arguments$"):
        dm.onednn_version(x=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dm.MemoryDesc(), r"MemoryDesc\(\) missing required argument 'dims'"),
        (lambda: dm.MemoryDesc((2,)), r"MemoryDesc\(\) missing required argument 'dtype'"),
        (lambda: dm.MemoryDesc((2,), "f4", "a", 1), r"MemoryDesc\(\) takes at most 3 positional arguments, but 4 were"),
        (lambda: dm.MemoryDesc((2,), "f4", dims=(2,)), r"MemoryDesc\(\) got multiple values for argument 'dims'"),
        (lambda: dm.transpose(X, (), X), r"transpose\(\) takes at most 2 .*'out' is given by keyword only"),
        (lambda: dm.Stream(1, 2), r"Stream\(\) takes at most 1 positional argument, but 2 were given"),
        (lambda: dm.get_num_threads(1), r"get_num_threads\(\) takes no positional arguments, but 1 was given"),
        (lambda: dm.Transpose(), r"Transpose\(\) missing required argument 'desc'"),
        (lambda: dm.Transpose(1, 2), r"Transpose\(\) takes at most 1 positional argument, but 2 were given"),
        (lambda: dm.ShuffleBackward(), r"ShuffleBackward\(\) missing required argument 'pd'"),
        (lambda: dm.Transpose.Desc(MD, (), True), r"Transpose.Desc\(\) takes .*'tune' is given by keyword only"),
        (
            lambda: dm.ShuffleForward.PrimitiveDesc(),
            r"ShuffleForward.PrimitiveDesc\(\) missing .* 'desc'",
        ),
        (
            lambda: dm.ShuffleForward.PrimitiveDesc(ENGINE, dm.PropKind.forward, MD, MD, 1),
            r"ShuffleForward.PrimitiveDesc\(\) missing required argument 'group_size'",
        ),
        (
            lambda: dm.ShuffleForward.PrimitiveDesc(ENGINE, dm.PropKind.forward),
            r"is an Engine: after it come prop_kind, src_desc, dst_desc, axis and group_size, or give a Desc first",
        ),
        (lambda: dm.Transpose(dm.Transpose.Desc(MD))(), r"Transpose primitive\(\) missing required argument 'x'"),
        (lambda: dm.Transpose(dm.Transpose.Desc(MD)).execute(None), r"Transpose.execute\(\) missing .* 'args'"),
        (lambda: dm.Chain(MD).transpose((), 1), r"Chain.transpose\(\) takes at most 1 positional argument, but 2"),
        (lambda: dm.MemoryDesc.of(), r"MemoryDesc.of\(\) missing required argument 'array'"),
        (lambda: dm.MemoryDesc.reshape(X, ()), r"MemoryDesc.reshape\(\) is a method: .* on a MemoryDesc, not on numpy"),
        (lambda: dm.Stream.wait(), r"Stream.wait\(\) is a method: it must be called on a Stream"),
        (lambda: dm.Memory.numpy(X), r"Memory.numpy\(\) is a method: .* on a Memory, not on numpy.ndarray"),
    ],
)
def test_numbers_of_arguments(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_arguments_in_a_message_stay_on_one_line():
    with pytest.raises(TypeError) as caught:
        dm.Transpose(X)
    assert "\n" not in str(caught.value)


def test_methods_behave_as_python_s():
    chain = dm.Chain(MD)
    bound = chain.transpose
    assert bound((2, 1, 0)) == dm.Chain.transpose(chain, (2, 1, 0))
    assert dm.MemoryDesc.of(X) == MD == dm.MemoryDesc.__new__(dm.MemoryDesc).__class__.of(X)
    assert dm.set_num_threads.__name__ == "set_num_threads"
    assert dm.MemoryDesc.reshape.__qualname__ == "MemoryDesc.reshape"
    assert repr(dm.MemoryDesc.reshape) == "<function dnnmove.MemoryDesc.reshape>"

"""The names, order, defaults and kinds of all parameters, as documented; calls by keyword and their errors."""

import inspect
import operator

import numpy as np
import oracle
import pytest
import strategies as some

import dnnmove as dm

X = some.dense((2, 6, 4), "f4")

# Parameters before "*", then keyword-only ones; "=" marks a default.
SIGNATURES = {
    "shuffle": "(data, axis, group_size, *, out=None)",
    "shuffle_backward": "(diff_dst, axis, group_size, *, out=None)",
    "shuffle_channels": "(data, axis=1, group=1, *, out=None)",
    "transpose": "(data, input_order=(), *, out=None)",
    "variadic_split": "(data, axis, split_lengths, *, out=None)",
    "split": "(data, axis, num_splits, *, out=None)",
    "broadcast": "(data, target_shape, axes_mapping=None, mode='numpy', *, out=None)",
    "concat": "(arrays, axis=0, *, out=None)",
}
ARGUMENTS = {
    "shuffle": {"data": X, "axis": 1, "group_size": 2},
    "shuffle_backward": {"diff_dst": X, "axis": 1, "group_size": 2},
    "shuffle_channels": {"data": X, "axis": 1, "group": 2},
    "transpose": {"data": X, "input_order": (2, 0, 1)},
    "variadic_split": {"data": X, "axis": 1, "split_lengths": [2, 4]},
    "split": {"data": X, "axis": 1, "num_splits": 3},
    "broadcast": {"data": X, "target_shape": (3, 2, 6, 4), "axes_mapping": [1, 2, 3], "mode": "explicit"},
    "concat": {"arrays": [X, X], "axis": 1},
}
each = pytest.mark.parametrize("name", SIGNATURES)


def plain(signature):
    """Without annotations and without the / that a C function may show."""
    parameters = [
        p.replace(
            annotation=p.empty,
            kind=p.POSITIONAL_OR_KEYWORD if p.kind is p.POSITIONAL_ONLY else p.kind,
        )
        for p in signature.parameters.values()
    ]
    return str(inspect.Signature(parameters))


@each
def test_signature(name):
    assert plain(inspect.signature(getattr(dm, name))) == SIGNATURES[name]


def parts(result):
    return [oracle.raw(part) for part in (result if type(result) is tuple else (result,))]


@each
def test_every_argument_by_keyword(name):
    call, arguments = getattr(dm, name), ARGUMENTS[name]
    expected = parts(getattr(oracle, name)(*arguments.values()))
    for positional in range(len(arguments) + 1):
        values = list(arguments.values())[:positional]
        keywords = dict(list(arguments.items())[positional:])
        assert parts(call(*values, **keywords)) == expected
        assert parts(call(*values, **dict(reversed(keywords.items())), out=None)) == expected
        assert parts(call(*values, **{"".join(list(key)): v for key, v in keywords.items()})) == expected


@each
def test_out_is_keyword_only(name):
    with pytest.raises(TypeError):
        getattr(dm, name)(*ARGUMENTS[name].values(), None)


@each
def test_unknown_keywords(name):
    with pytest.raises(TypeError, match="dtype"):
        getattr(dm, name)(**ARGUMENTS[name], dtype="f4")
    for odd in ("", "out\0", "dät", "\ud800"):
        with pytest.raises(TypeError):
            getattr(dm, name)(**ARGUMENTS[name], **{odd: None})


@each
def test_missing_arguments_are_named(name):
    required = [
        p.name for p in inspect.signature(getattr(dm, name)).parameters.values() if p.default is inspect.Parameter.empty
    ]
    for argument in required:
        keywords = {key: value for key, value in ARGUMENTS[name].items() if key != argument}
        with pytest.raises(TypeError, match=argument):
            getattr(dm, name)(**keywords)
    with pytest.raises(TypeError):
        getattr(dm, name)()


@each
def test_an_argument_given_twice(name):
    arguments = ARGUMENTS[name]
    first = next(iter(arguments))
    with pytest.raises(TypeError, match=first):
        getattr(dm, name)(arguments[first], **arguments)


@each
def test_documentation(name):
    text = getattr(dm, name).__doc__
    for argument in [*ARGUMENTS[name], "out"]:
        assert argument in text
    assert getattr(dm, name).__name__ == name


def test_shuffle_and_shuffle_channels_point_at_each_other():
    assert "group_size" in dm.shuffle_channels.__doc__
    assert "shuffle_channels" in dm.shuffle.__doc__


def test_primitives_by_keyword():
    md = dm.MemoryDesc(dims=(2, 6, 4), dtype="f4", layout=None)
    kind = dm.PropKind.forward
    desc = dm.ShuffleForward.Desc(prop_kind=kind, data_desc=md, axis=1, group_size=2)
    pd = dm.ShuffleForward.PrimitiveDesc(desc, engine=None, implementation="auto")
    bdesc = dm.ShuffleBackward.Desc(diff_data_desc=md, axis=1, group_size=2)
    bpd = dm.ShuffleBackward.PrimitiveDesc(bdesc, engine=dm.Engine(kind="cpu", index=0), hint_fwd_pd=pd)
    y = dm.ShuffleForward(pd)(X)
    oracle.assert_same(y, oracle.shuffle(X, 1, 2))
    oracle.assert_same(dm.ShuffleBackward(bpd)(y), X)
    oracle.assert_same(dm.ShuffleForward(desc)(X), y)
    made = [
        (dm.ShuffleChannels, {"data_desc": md, "axis": 1, "group": 2}, dm.shuffle_channels(X, 1, 2)),
        (dm.ShuffleChannels, {"data_desc": md}, X),
        (dm.Transpose, {"data_desc": md, "input_order": (1, 2, 0)}, dm.transpose(X, (1, 2, 0))),
        (dm.Transpose, {"data_desc": md}, dm.transpose(X)),
        (
            dm.Broadcast,
            {"data_desc": md, "target_shape": (2, 6, 4), "axes_mapping": None, "mode": "numpy"},
            X,
        ),
    ]
    for primitive, keywords, expected in made:
        oracle.assert_same(primitive(primitive.Desc(**keywords))(X), expected)
    cut = dm.VariadicSplit(dm.VariadicSplit.Desc(data_desc=md, axis=1, split_lengths=[2, -1]))
    assert [part.shape for part in cut(X)] == [(2, 2, 4), (2, 4, 4)]
    stream = dm.Stream(engine=dm.Engine())
    memory = dm.Memory(md, engine=None, buffer=X.copy())
    dm.reorder(memory, dm.Memory(md), stream=stream)
    assert stream.wait() is None


def test_argument_numbers_are_onednn_s():
    assert (dm.ARG_SRC, dm.ARG_DST) == (1, 17)
    assert (dm.ARG_DIFF_SRC, dm.ARG_DIFF_DST) == (129, 145)
    assert (dm.ARG_SCRATCHPAD, dm.ARG_MULTIPLE_DST) == (80, 2048)


def test_prop_kinds():
    assert dm.PropKind.forward is dm.PropKind.forward_training or dm.PropKind.forward == dm.PropKind.forward_training
    assert dm.PropKind.forward_inference != dm.PropKind.forward_training
    assert dm.PropKind.backward_data not in (dm.PropKind.forward_training, dm.PropKind.forward_inference)


@pytest.mark.parametrize("kind", ["ShuffleForward", "ShuffleChannels", "Transpose", "Broadcast"])
def test_primitives_take_out_by_keyword_only(kind):
    md = dm.MemoryDesc.of(X)
    arguments = {
        "ShuffleForward": (dm.PropKind.forward, md, 1, 2),
        "ShuffleChannels": (md, 1, 2),
        "Transpose": (md, (0, 1, 2)),
        "Broadcast": (md, (2, 6, 4)),
    }[kind]
    cls = getattr(dm, kind)
    primitive = cls(cls.Desc(*arguments))
    out = np.empty_like(X)
    with pytest.raises(TypeError):
        primitive(X, out)
    assert primitive(X, out=out) is out
    oracle.assert_same(primitive(X, out=None), out)


OTHERS = {
    "Engine": "(kind='cpu', index=0)",
    "Stream": "(engine=None)",
    "Stream.wait": "(self)",
    "MemoryDesc": "(dims, dtype, layout=None)",
    "MemoryDesc.of": "(array)",
    "Memory": "(desc, engine=None, buffer=None)",
    "Memory.numpy": "(self)",
    "reorder": "(src_mem, dst_mem, stream=None)",
    "ShuffleForward": "(pd)",
    "ShuffleForward.Desc": "(prop_kind, data_desc, axis, group_size, *, tune=False)",
    "ShuffleForward.PrimitiveDesc": "(desc, engine=None, implementation='auto')",
    "ShuffleForward.PrimitiveDesc.next_impl": "(self)",
    "ShuffleForward.execute": "(self, stream, args)",
    "ShuffleBackward": "(pd)",
    "ShuffleBackward.Desc": "(diff_data_desc, axis, group_size, *, tune=False)",
    "ShuffleBackward.PrimitiveDesc": "(desc, engine=None, hint_fwd_pd=None, implementation='auto')",
    "ShuffleChannels.Desc": "(data_desc, axis=1, group=1, *, tune=False)",
    "Transpose.Desc": "(data_desc, input_order=(), *, tune=False)",
    "VariadicSplit.Desc": "(data_desc, axis, split_lengths, *, tune=False)",
    "Broadcast.Desc": "(data_desc, target_shape, axes_mapping=None, mode='numpy', *, tune=False)",
    "Chain": "(data_desc)",
    "Chain.of": "(array)",
    "Chain.shuffle": "(self, axis, group_size)",
    "Chain.shuffle_channels": "(self, axis=1, group=1)",
    "Chain.transpose": "(self, input_order=())",
    "Chain.variadic_split": "(self, axis, split_lengths)",
    "Chain.split": "(self, axis, num_splits)",
    "Chain.broadcast": "(self, target_shape, axes_mapping=None, mode='numpy')",
    "Chain.reshape": "(self, shape)",
    "Chain.index": "(self, key)",
    "Chain.branch": "(self, i)",
    "Chain.stack": "(self, axis=0)",
    "stack": "(arrays, axis=0, *, out=None)",
    "Chain.concat": "(self, axis=0)",
    "Chain.squeeze": "(self, axis=None)",
    "squeeze": "(data, axis=None, *, out=None)",
    "Chain.expand_dims": "(self, axis)",
    "expand_dims": "(data, axis, *, out=None)",
    "Chain.moveaxis": "(self, source, destination)",
    "moveaxis": "(data, source, destination, *, out=None)",
    "Chain.swapaxes": "(self, axis1, axis2)",
    "swapaxes": "(data, axis1, axis2, *, out=None)",
    "Chain.flatten": "(self, start=0, end=-1)",
    "flatten": "(data, start=0, end=-1, *, out=None)",
    "Chain.unflatten": "(self, axis, sizes)",
    "unflatten": "(data, axis, sizes, *, out=None)",
    "Chain.flip": "(self, axis=None)",
    "flip": "(data, axis=None, *, out=None)",
    "Chain.roll": "(self, shift, axis=None)",
    "roll": "(data, shift, axis=None, *, out=None)",
    "Chain.pad": "(self, pad_width, mode='constant', constant_value=0)",
    "pad": "(data, pad_width, mode='constant', constant_value=0, *, out=None)",
    "Chain.tile": "(self, reps)",
    "tile": "(data, reps, *, out=None)",
    "Chain.repeat_elements": "(self, repeats, axis)",
    "repeat_elements": "(data, repeats, axis, *, out=None)",
    "Chain.take": "(self, indices, axis)",
    "take": "(data, indices, axis, *, out=None)",
    "Chain.unfold": "(self, axis, size, step=1)",
    "unfold": "(data, axis, size, step=1, *, out=None)",
    "Chain.space_to_depth": "(self, block_size)",
    "space_to_depth": "(data, block_size, *, out=None)",
    "Chain.depth_to_space": "(self, block_size, mode='DCR')",
    "depth_to_space": "(data, block_size, mode='DCR', *, out=None)",
    "Chain.pixel_shuffle": "(self, factor)",
    "pixel_shuffle": "(data, factor, *, out=None)",
    "Chain.pixel_unshuffle": "(self, factor)",
    "pixel_unshuffle": "(data, factor, *, out=None)",
    "Chain.rearrange": "(self, pattern, **lengths)",
    "rearrange": "(data, pattern, *, out=None, **lengths)",
    "Chain.repeat": "(self, pattern, **lengths)",
    "repeat": "(data, pattern, *, out=None, **lengths)",
    "Chain.byteswap": "(self)",
    "byteswap": "(data, *, out=None)",
    "Chain.convert": "(self, dtype, scale=None, shift=None, axis=None)",
    "convert": "(data, dtype, scale=None, shift=None, axis=None, *, out=None)",
    "Chain.build": "(self, *, max_nests=64, tune=False)",
    "set_num_threads": "(n)",
    "get_num_threads": "()",
    "num_threads": "(n)",
    "build_info": "()",
    "onednn_version": "()",
    "set_verbose": "(level)",
    "set_primitive_cache_capacity": "(n)",
    "get_primitive_cache_capacity": "()",
    "clear_caches": "()",
    "tuning.problems": "()",
    "tuning.save": "(path)",
    "tuning.load": "(path)",
    "tuning.clear": "()",
}


@pytest.mark.parametrize("name", OTHERS)
def test_signatures_of_everything_else(name):
    thing = operator.attrgetter(name)(dm)
    shown = inspect.signature(thing).replace(return_annotation=inspect.Signature.empty)
    assert plain(shown) == OTHERS[name]
    assert thing.__doc__
    assert "object at 0x" not in thing.__doc__


MD = dm.MemoryDesc((2, 4), "f4")
DESC = dm.ShuffleForward.Desc(dm.PropKind.forward, MD, 1, 2)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda bad: dm.Engine(bad), "kind"),
        (lambda bad: dm.Stream(bad), "engine"),
        (lambda bad: dm.Memory(bad), "desc"),
        (lambda bad: dm.Memory(MD, bad), "engine"),
        (lambda bad: dm.reorder(bad, dm.Memory(MD)), "src_mem"),
        (lambda bad: dm.reorder(dm.Memory(MD), bad), "dst_mem"),
        (lambda bad: dm.reorder(dm.Memory(MD), dm.Memory(MD), bad), "stream"),
        (lambda bad: dm.ShuffleForward.PrimitiveDesc(bad), "desc"),
        (lambda bad: dm.ShuffleForward.PrimitiveDesc(DESC, bad), "engine"),
        (lambda bad: dm.ShuffleForward.PrimitiveDesc(DESC, None, bad), "implementation"),
        (lambda bad: dm.ShuffleBackward.PrimitiveDesc(bad), "desc"),
    ],
)
def test_objects_of_other_types_are_named(call, argument, errors_name):
    for bad in (1, 2.5, MD if argument != "desc" else "MD", [1]):
        error = errors_name(TypeError, lambda bad=bad: call(bad), argument)
        assert repr(bad) in str(error)
        assert str(error).startswith(argument)

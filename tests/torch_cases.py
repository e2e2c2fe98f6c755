"""What the tests of dnnmove.torch share: its functions with arguments, what torch makes of the same, and tensors."""

import torch

import dnnmove as dm
import dnnmove.torch as dt

SHAPE = (2, 6, 4, 3)


def some(shape=SHAPE, dtype=torch.float64, seed=0, **options):
    """Random numbers."""
    values = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return values.to(dtype).requires_grad_(options.get("requires_grad", False))


def parts(result):
    return result if isinstance(result, tuple | list) else (result,)


def built_for(x):
    """A chain that splits, and takes nothing from axis 0 that other batches would not have."""
    chain = dm.Chain(dm.MemoryDesc(x.shape, str(x.dtype).removeprefix("torch.")))
    return chain.shuffle_channels(1, 3).variadic_split(1, [2, 4]).transpose((0, 2, 3, 1)).build()


def shuffled(x, groups):
    """channel_shuffle by views, for the dtypes that torch's own lacks."""
    return x.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2).contiguous()


# name: (the function of dnnmove.torch, the same by torch's own operations)
FUNCTIONS = {
    "channel_shuffle": (lambda x: dt.channel_shuffle(x, 3), lambda x: shuffled(x, 3)),
    "transpose": (lambda x: dt.transpose(x, (0, 2, 3, 1)), lambda x: x.permute(0, 2, 3, 1).contiguous()),
    "variadic_split": (
        lambda x: dt.variadic_split(x, 1, [2, -1]),
        lambda x: tuple(part.contiguous() for part in x.split([2, 4], 1)),
    ),
    "broadcast": (
        lambda x: dt.broadcast(x, (5, *x.shape)),
        lambda x: x.expand(5, *x.shape).contiguous(),
    ),
    "concat": (
        lambda x: dt.concat([x, x[:, :2], x.flip(1)], 1),
        lambda x: torch.cat([x, x[:, :2], x.flip(1)], 1).contiguous(),
    ),
    "stack": (lambda x: dt.stack((x, x.flip(1)), -1), lambda x: torch.stack((x, x.flip(1)), -1).contiguous()),
    "chain": (
        lambda x: dt.chain(built_for(x))(x),
        lambda x: tuple(y.permute(0, 2, 3, 1).contiguous() for y in shuffled(x, 3).split([2, 4], 1)),
    ),
}
CHAIN = dt.chain(built_for(some()))._text
# name: the arguments of torch.ops.dnnmove.NAME that do the same
OPERATORS = {
    "channel_shuffle": lambda x: (x, 3),
    "transpose": lambda x: (x, [0, 2, 3, 1]),
    "variadic_split": lambda x: (x, 1, [2, 4]),
    "broadcast": lambda x: (x, [5, *SHAPE]),
    "concat": lambda x: ([x, x[:, :2], x.flip(1)], 1),
    "stack": lambda x: ([x, x.flip(1)], -1),
    "chain": lambda x: (x, CHAIN),
}


def by_operator(name):
    """The operator as a function of one tensor."""
    operator, arguments = getattr(torch.ops.dnnmove, name), OPERATORS[name]
    return lambda x: operator(*arguments(x))


def assert_same(results, expected):
    """Equal bits, shapes and strides."""
    assert type(results) is type(expected)
    for a, b in zip(parts(results), parts(expected), strict=True):
        assert torch.equal(a, b)
        assert a.stride() == b.stride()
        assert a.dtype is b.dtype

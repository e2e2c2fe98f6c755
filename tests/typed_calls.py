"""Calls as type checkers see them: `mypy` reads this file, nothing runs it."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import dnnmove as dm

Floats = npt.NDArray[np.float32]


def calls() -> None:
    x = np.zeros((2, 3, 4), np.float32)

    # Results of another rank: what is unpacked need not have the input's.
    (_,) = dm.flatten(x).shape
    _, _, _, _ = dm.expand_dims(x, 0).shape
    _, _, _, _ = dm.broadcast(x, (5, 2, 3, 4)).shape
    _, _, _, _ = dm.stack([x, x]).shape
    _, _, _, _ = dm.unfold(x, 0, 2).shape
    _, _ = dm.rearrange(x, "a b c -> (a b) c").shape
    _, _ = dm.squeeze(x, 0).shape
    assert_type(dm.flatten(x), Floats)
    assert_type(dm.stack([x, x]), Floats)
    assert_type(dm.repeat(x, "a b c -> a b c d", d=2), Floats)
    # Of another dtype.
    assert_type(dm.convert(x, "int8"), npt.NDArray[Any])
    # Of the same rank, and of other kinds of arrays.
    _, _, _ = dm.transpose(x, (0, 2, 1)).shape
    memory = dm.Memory(dm.MemoryDesc((2, 3), "float32"))
    assert_type(dm.flatten(memory), dm.Memory)
    assert_type(dm.convert(memory, "int8"), dm.Memory)
    assert_type(dm.flatten(x, out=memory), dm.Memory)
    # Of primitives.
    desc = dm.MemoryDesc.of(x)
    spread = dm.Broadcast(dm.Broadcast.Desc(desc, (5, 2, 3, 4)))
    _, _, _, _ = spread(x).shape
    assert_type(spread(memory), dm.Memory)
    assert_type(spread(x, out=memory), dm.Memory)
    assert_type(dm.Reorder(dm.Reorder.Desc(desc, dm.MemoryDesc((2, 3, 4), "int8")))(x), npt.NDArray[Any])
    _, _, _ = dm.Transpose(dm.Transpose.Desc(desc))(x).shape
    assert_type(dm.Transpose.Desc(desc).input_order, tuple[int, ...])
    # Axes are integers of any kind.
    dm.permute_dims(x, np.array([2, 0, 1]))
    dm.unstack(x, np.array(1))

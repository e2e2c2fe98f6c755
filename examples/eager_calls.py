"""The eager functions: no descriptors; arrays of any strides and dtype in, new arrays (or `out`) back."""

import numpy as np

import dnnmove as dm

x = np.random.default_rng(0).integers(0, 256, (4, 12, 10, 10), dtype=np.uint8)

# oneDNN counts the channels of one group, OpenVINO counts groups: 12 channels in 3 groups of 4.
shuffled = dm.shuffle(x, axis=1, group_size=4)
assert np.array_equal(shuffled, x.reshape(4, 3, 4, 10, 10).swapaxes(1, 2).reshape(x.shape))
assert np.array_equal(shuffled, dm.shuffle_channels(x, axis=1, group=3))
assert np.array_equal(dm.shuffle_backward(shuffled, axis=1, group_size=4), x)

# Views of any strides are fine as sources; the result is new and C-contiguous.
flipped = dm.transpose(x[:, ::-1, :, 2:8], (0, 2, 3, 1))
assert flipped.flags.c_contiguous
assert np.array_equal(flipped, x[:, ::-1, :, 2:8].transpose(0, 2, 3, 1))

# Splitting and joining; -1 takes what is left.
parts = dm.variadic_split(x, axis=1, split_lengths=[5, -1])
assert [part.shape[1] for part in parts] == [5, 7]
assert np.array_equal(dm.concat(parts, axis=1), x)
assert np.array_equal(dm.split(x, axis=0, num_splits=4)[3], x[3:])

# With out= nothing is allocated; any strides will do.
out = np.empty((4, 10, 10, 16), np.uint8)[..., :12]
dm.transpose(x, (0, 2, 3, 1), out=out)
assert np.array_equal(out, x.transpose(0, 2, 3, 1))

# Every fixed-size dtype, moved bit by bit: NaN payloads and struct padding too.
pixels = np.zeros((2, 3), dtype=[("rgb", "u1", 3), ("depth", "f4")])
assert dm.broadcast(pixels, (5, 2, 3)).dtype == pixels.dtype
print("eager calls: exact")

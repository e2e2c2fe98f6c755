"""The channel shuffle between two ShuffleNet v2 units, and the split into branches after it, in one pass."""

import numpy as np

import dnnmove as dm

# 1. Describe the input: 116 channels, the two branches of the unit before side by side.
x = np.random.default_rng(0).random((8, 116, 28, 28), dtype=np.float32)
data_desc = dm.MemoryDesc.of(x)

# 2. Compose: shuffle the channels of the two branches together, split them for the next unit.
unit = dm.Chain(data_desc).shuffle_channels(axis=1, group=2).variadic_split(axis=1, split_lengths=[58, 58]).build()
print(unit.explain())

# 3. Run: both branches are written directly, the shuffled tensor never exists.
identity, convolved = unit(x)
assert unit.passes == 1

# 4. In a loop, write to the same outputs again and again.
unit(x, out=(identity, convolved))

# 5. The same in NumPy makes the shuffled tensor first.
shuffled = x.reshape(8, 2, 58, 28, 28).swapaxes(1, 2).reshape(x.shape)
assert np.array_equal(identity, shuffled[:, :58])
assert np.array_equal(convolved, shuffled[:, 58:])

# Channels last is the same chain on another layout of the same numbers.
last = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
unit = dm.Chain(dm.MemoryDesc.of(last)).shuffle_channels(axis=-1, group=2).split(axis=-1, num_splits=2).build()
a, b = unit(last)
assert unit.passes == 1
assert np.array_equal(a.transpose(0, 3, 1, 2), identity)
assert np.array_equal(b.transpose(0, 3, 1, 2), convolved)
print("one pass, both layouts")

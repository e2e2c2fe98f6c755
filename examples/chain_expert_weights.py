"""Loads the FP8 weights of a mixture of experts: transposed, cut into gate and up, some experts only, in one pass."""

import ml_dtypes
import numpy as np

import dnnmove as dm

experts, wide, narrow = 4, 512, 256
mine = [1, 3]  # the experts of this rank

# 1. What a checkpoint of Llama 4 holds: the projections of all experts fused, (experts, in, 2 * out), one byte each.
random = np.random.default_rng(0)
weights = random.integers(0, 256, (experts, wide, 2 * narrow), np.uint8).view(ml_dtypes.float8_e4m3fn)

# 2. Compose: a loader takes its experts, turns them round and splits them.
load = dm.Chain(dm.MemoryDesc.of(weights)).take(mine, axis=0).swapaxes(-1, -2).split(axis=-2, num_splits=2).build()
print(load.explain())

# 3. Run, into arrays that are there: parameters of a model, shared memory or a file.
gate, up = (np.empty((len(mine), narrow, wide), weights.dtype) for _ in range(2))
load(weights, out=(gate, up))
assert load.passes == 1

# 4. NumPy's way, for comparison, byte by byte: FP8 has several NaNs.
turned = weights[mine].swapaxes(-1, -2)
assert gate.tobytes() == turned[:, :narrow].tobytes()
assert up.tobytes() == turned[:, narrow:].tobytes()
print(f"gate and up of {len(mine)} experts, {gate.shape} each, in {load.passes} pass")

"""OpenVINO's VariadicSplit: channels into branches of uneven width; -1 takes what is left."""

import numpy as np

import dnnmove as dm

N, C, H, W = 8, 240, 28, 28

# 1. The engine that computes and the stream that runs primitives.
engine = dm.Engine("cpu")
stream = dm.Stream(engine)

# 2. Memory: a descriptor of the source.
data_desc = dm.MemoryDesc((N, C, H, W), "float32", "nchw")
src = np.random.default_rng(0).random((N, C, H, W), dtype=np.float32)

# 3. The operation's descriptor: it knows every destination's.
desc = dm.VariadicSplit.Desc(data_desc, axis=1, split_lengths=[60, 120, -1])
branches = [np.empty(branch.dims, np.float32) for branch in desc.dst_descs]

# 4. The primitive.
split = dm.VariadicSplit(desc)

# 5. Execute, with one argument per output, and wait for the stream.
outputs = {dm.ARG_MULTIPLE_DST + i: branch for i, branch in enumerate(branches)}
split.execute(stream, {dm.ARG_SRC: src, **outputs})
stream.wait()

for branch, expected in zip(branches, np.split(src, [60, 180], axis=1), strict=True):
    assert np.array_equal(branch, expected)
assert np.array_equal(dm.concat(branches, axis=1), src)  # concat is its inverse
print(f"{split.impl_info_str}: exact, into {[branch.shape[1] for branch in branches]} channels")

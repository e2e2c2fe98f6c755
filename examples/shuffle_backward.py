"""oneDNN's shuffle, backward: the gradient of the source from the gradient of the destination."""

import numpy as np

import dnnmove as dm

N, C, H, W = 8, 116, 28, 28
GROUP_SIZE = 58  # channels in one group, so 2 groups

# 1. The engine that computes and the stream that runs primitives.
engine = dm.Engine("cpu")
stream = dm.Stream(engine)

# 2. Memory: descriptors, here over arrays that exist already (zero copy).
data_desc = dm.MemoryDesc((N, C, H, W), "float32", "nchw")
diff_dst = np.random.default_rng(0).random((N, C, H, W), dtype=np.float32)
diff_src = np.empty_like(diff_dst)
diff_dst_memory = dm.Memory(data_desc, engine, buffer=diff_dst)
diff_src_memory = dm.Memory(data_desc, engine, buffer=diff_src)

# 3. Descriptors: the forward operation is the hint of the backward one.
forward_desc = dm.ShuffleForward.Desc(dm.PropKind.forward_training, data_desc, axis=1, group_size=GROUP_SIZE)
desc = dm.ShuffleBackward.Desc(data_desc, axis=1, group_size=GROUP_SIZE)

# 4. Primitive descriptors and primitives.
forward_pd = dm.ShuffleForward.PrimitiveDesc(forward_desc, engine)
pd = dm.ShuffleBackward.PrimitiveDesc(desc, engine, hint_fwd_pd=forward_pd)
forward = dm.ShuffleForward(forward_pd)
backward = dm.ShuffleBackward(pd)

# 5. Execute, and wait for the stream.
backward.execute(stream, {dm.ARG_DIFF_DST: diff_dst_memory, dm.ARG_DIFF_SRC: diff_src_memory})
stream.wait()

expected = diff_dst.reshape(N, GROUP_SIZE, C // GROUP_SIZE, H, W).swapaxes(1, 2).reshape(diff_dst.shape)
assert np.array_equal(diff_src, expected)
assert np.array_equal(forward(diff_src), diff_dst)  # backward undoes forward, and the other way round
print(f"{pd.impl_info_str}: exact")

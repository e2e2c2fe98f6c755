"""OpenVINO's Broadcast in its three modes: numpy, explicit and bidirectional."""

import numpy as np

import dnnmove as dm

N, C, H, W = 8, 256, 28, 28

# 1. The engine that computes and the stream that runs primitives.
engine = dm.Engine("cpu")
stream = dm.Stream(engine)

# 2. Memory: a descriptor of the source, one value per channel.
data_desc = dm.MemoryDesc((C,), "float32")
src = np.random.default_rng(0).random(C, dtype=np.float32)

# 3. The operation's descriptor: the source's one axis becomes axis 1 of the target.
desc = dm.Broadcast.Desc(data_desc, (N, C, H, W), axes_mapping=[1], mode="explicit")
dst = np.empty(desc.dst_desc.dims, np.float32)

# 4. The primitive.
broadcast = dm.Broadcast(desc)

# 5. Execute, and wait for the stream.
broadcast.execute(stream, {dm.ARG_SRC: src, dm.ARG_DST: dst})
stream.wait()

assert np.array_equal(dst, np.broadcast_to(src.reshape(1, C, 1, 1), dst.shape))
print(f"{broadcast.impl_info_str}: exact")

# The other modes, through the eager function: right-aligned one way, and both ways.
planes = src.reshape(C, 1, 1)
assert np.array_equal(dm.broadcast(planes, (N, C, H, W)), dst)
assert dm.broadcast(planes, (N, 1, H, W), mode="bidirectional").shape == (N, C, H, W)

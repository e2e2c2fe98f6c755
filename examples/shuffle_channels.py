"""OpenVINO's ShuffleChannels: its parameter counts groups, where oneDNN's shuffle takes the size of one."""

import numpy as np

import dnnmove as dm

N, C, H, W = 8, 240, 28, 28
GROUP = 3  # groups, of 80 channels each

# 1. The engine that computes and the stream that runs primitives.
engine = dm.Engine("cpu")
stream = dm.Stream(engine)

# 2. Memory: a descriptor, and two arrays that it describes.
data_desc = dm.MemoryDesc((N, C, H, W), "int8", "nchw")
src = np.random.default_rng(0).integers(-128, 128, (N, C, H, W), dtype=np.int8)
dst = np.empty_like(src)

# 3. The operation's descriptor.
desc = dm.ShuffleChannels.Desc(data_desc, axis=1, group=GROUP)

# 4. The primitive.
shuffle = dm.ShuffleChannels(desc)

# 5. Execute, and wait for the stream.
shuffle.execute(stream, {dm.ARG_SRC: src, dm.ARG_DST: dst})
stream.wait()

expected = src.reshape(N, GROUP, C // GROUP, H, W).swapaxes(1, 2).reshape(src.shape)
assert np.array_equal(dst, expected)
assert np.array_equal(dst, dm.shuffle(src, axis=1, group_size=C // GROUP))
print(f"{shuffle.impl_info_str}: exact")

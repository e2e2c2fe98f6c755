"""OpenVINO's Transpose: images from NHWC to NCHW."""

import numpy as np

import dnnmove as dm

N, H, W, C = 8, 224, 224, 3

# 1. The engine that computes and the stream that runs primitives.
engine = dm.Engine("cpu")
stream = dm.Stream(engine)

# 2. Memory: a descriptor of the source. Its dims are in the array's own order.
data_desc = dm.MemoryDesc((N, H, W, C), "uint8")
src = np.random.default_rng(0).integers(0, 256, (N, H, W, C), dtype=np.uint8)

# 3. The operation's descriptor: it knows the destination's.
desc = dm.Transpose.Desc(data_desc, input_order=(0, 3, 1, 2))
dst = np.empty(desc.dst_desc.dims, np.uint8)

# 4. The primitive.
transpose = dm.Transpose(desc)

# 5. Execute, and wait for the stream.
transpose.execute(stream, {dm.ARG_SRC: src, dm.ARG_DST: dst})
stream.wait()

assert np.array_equal(dst, src.transpose(0, 3, 1, 2))
assert np.array_equal(transpose(src), dst)  # a primitive is also a function, with out= where wanted
print(f"{transpose.impl_info_str}: exact")

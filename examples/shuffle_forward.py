"""oneDNN's shuffle, forward: the channels of an NHWC activation, by the native engine and by oneDNN itself."""

import numpy as np

import dnnmove as dm

N, C, H, W = 8, 240, 28, 28
GROUP_SIZE = 80  # channels in one group, so 3 groups

# 1. The engine that computes and the stream that runs primitives.
engine = dm.Engine("cpu")
stream = dm.Stream(engine)

# 2. Memory: a descriptor (logical dims N, C, H, W, stored as NHWC) and two memories of that kind.
data_desc = dm.MemoryDesc((N, C, H, W), "float32", "nhwc")
src = dm.Memory(data_desc, engine)
dst = dm.Memory(data_desc, engine)
src.numpy()[...] = np.random.default_rng(0).random((N, C, H, W), dtype=np.float32)

# 3. The operation's descriptor: what to compute.
desc = dm.ShuffleForward.Desc(dm.PropKind.forward_inference, data_desc, axis=1, group_size=GROUP_SIZE)

x = src.numpy()
expected = x.reshape(N, C // GROUP_SIZE, GROUP_SIZE, H, W).swapaxes(1, 2).reshape(x.shape)

for implementation in ("native", "onednn"):
    # 4. The primitive descriptor (how: it knows every implementation) and the primitive.
    pd = dm.ShuffleForward.PrimitiveDesc(desc, engine, implementation=implementation)
    shuffle = dm.ShuffleForward(pd)

    # 5. Execute, and wait for the stream.
    dst.numpy()[...] = 0
    shuffle.execute(stream, {dm.ARG_SRC: src, dm.ARG_DST: dst})
    stream.wait()

    assert np.array_equal(dst.numpy(), expected)
    print(f"{pd.impl_info_str}: exact")

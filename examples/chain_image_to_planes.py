"""A camera's image, NHWC bytes in BGR order, cropped and turned into the NCHW planes in RGB order of a network."""

import numpy as np

import dnnmove as dm

# 1. Frames as OpenCV delivers them.
frames = np.random.default_rng(0).integers(0, 256, (4, 256, 340, 3), dtype=np.uint8)

# 2. Compose: the middle 224 x 224 pixels, colours reversed, channels first.
to_planes = dm.Chain(dm.MemoryDesc.of(frames)).index(np.s_[:, 16:240, 58:282, ::-1]).transpose((0, 3, 1, 2)).build()
print(to_planes.explain())

# 3. Run.
planes = to_planes(frames)
assert to_planes.passes == 1
assert np.array_equal(planes, frames[:, 16:240, 58:282, ::-1].transpose(0, 3, 1, 2))

# The lazy form says the same for an array at hand; here mirrored as well.
mirrored = dm.chain(frames).index(np.s_[:, 16:240, 281:57:-1, ::-1]).transpose((0, 3, 1, 2)).run()
assert np.array_equal(mirrored, planes[..., ::-1])
print(f"{frames.shape} BGR to {planes.shape} RGB in {to_planes.passes} pass")

"""PixelShuffle, the upscaling step of super-resolution networks: channels become pixels, in one pass."""

import numpy as np

import dnnmove as dm


def pixel_shuffle(data_desc, factor):
    """(N, C*factor*factor, H, W) to (N, C, H*factor, W*factor), as torch.nn.PixelShuffle."""
    n, c, h, w = data_desc.dims
    return (
        dm.Chain(data_desc)
        .reshape((n, -1, factor, factor, h, w))
        .transpose((0, 1, 4, 2, 5, 3))
        .reshape((n, c // factor**2, h * factor, w * factor))
        .build()
    )


# 1. Nine sub-pixel planes for each of the three colours.
planes = np.random.default_rng(0).random((2, 27, 120, 160), dtype=np.float32)

# 2. Compose, 3. run.
upscale = pixel_shuffle(dm.MemoryDesc.of(planes), factor=3)
image = upscale(planes)
print(upscale.explain())

# 4. Pixel (y, x) comes from plane (y % 3) * 3 + x % 3 of its colour.
assert upscale.passes == 1
assert image.shape == (2, 3, 360, 480)
for y in range(3):
    for x in range(3):
        assert np.array_equal(image[:, :, y::3, x::3], planes[:, y * 3 + x :: 9])
print(f"{planes.shape} to {image.shape} in {upscale.passes} pass")

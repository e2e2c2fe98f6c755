"""Shifts an image, cuts it into windows as Swin does, and puts it together again: one pass each way."""

import numpy as np

import dnnmove as dm

size, shift = 7, 3

# 1. Activations, channels last.
image = np.random.default_rng(0).random((2, 28, 28, 96), dtype=np.float32)
height, width = image.shape[1:3]

# 2. Compose both ways. A roll is no view, and still no pass of its own.
cut = (
    dm.Chain(dm.MemoryDesc.of(image))
    .roll((-shift, -shift), (1, 2))
    .rearrange("b (h p) (w q) c -> (b h w) (p q) c", p=size, q=size)
    .build()
)
back = (
    dm.Chain(cut.dst_desc)
    .rearrange("(b h w) (p q) c -> b (h p) (w q) c", h=height // size, w=width // size, p=size, q=size)
    .roll((shift, shift), (1, 2))
    .build()
)
print(cut.explain())

# 3. Run.
windows = cut(image)
assert cut.passes == back.passes == 1
assert np.array_equal(back(windows), image)

# 4. NumPy's way, for comparison.
rolled = np.roll(image, (-shift, -shift), (1, 2)).reshape(2, height // size, size, width // size, size, 96)
assert np.array_equal(windows, rolled.transpose(0, 1, 3, 2, 4, 5).reshape(windows.shape))
print(f"{len(windows)} windows of {size * size} pixels in {cut.passes} pass, and back in {back.passes}")

"""Cuts a video into the rows of pixels that Qwen2-VL's vision encoder takes, in one pass."""

import numpy as np

import dnnmove as dm

temporal, merge, patch = 2, 2, 14

# 1. Frames as a processor has normalised them: (time, channels, height, width).
frames = np.random.default_rng(0).random((8, 3, 112, 168), dtype=np.float32)

# 2. Compose: one row a patch of two frames; the four patches that the model merges later follow each other.
patches = (
    dm.Chain(dm.MemoryDesc.of(frames))
    .rearrange("(t s) c (h m p) (w n q) -> (t h w m n) (c s p q)", s=temporal, m=merge, n=merge, p=patch, q=patch)
    .build()
)
print(patches.explain())

# 3. Run.
rows = patches(frames)
assert patches.passes == 1

# 4. transformers' way, for comparison: view, permute, reshape.
time, channels, height, width = frames.shape
down, across = height // patch // merge, width // patch // merge
cut = frames.reshape(time // temporal, temporal, channels, down, merge, patch, across, merge, patch)
expected = cut.transpose(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(rows.shape)
assert np.array_equal(rows, expected)
print(f"{rows.shape[0]} patches of {rows.shape[1]} numbers in {patches.passes} pass")

"""Splits the fused QKV projection of attention, (B, S, 3*H*D), into three of (B, H, S, D) in one pass."""

import numpy as np

import dnnmove as dm

batch, sequence, heads, width = 4, 128, 12, 64

# 1. What a fused projection writes: for every token the queries, keys and values of all heads.
qkv = np.random.default_rng(0).random((batch, sequence, 3 * heads * width), dtype=np.float32)

# 2. Compose. After the split each step applies to q, k and v alike.
split_heads = (
    dm.Chain(dm.MemoryDesc.of(qkv))
    .split(axis=2, num_splits=3)
    .reshape((batch, sequence, heads, width))
    .transpose((0, 2, 1, 3))
    .build()
)
print(split_heads.explain())

# 3. Run.
q, k, v = split_heads(qkv)
assert split_heads.passes == 1

# 4. NumPy's way, for comparison.
expected = qkv.reshape(batch, sequence, 3, heads, width).transpose(2, 0, 3, 1, 4)
assert all(np.array_equal(ours, theirs) for ours, theirs in zip((q, k, v), expected, strict=True))
print(f"q, k, v of shape {q.shape} in {split_heads.passes} pass")

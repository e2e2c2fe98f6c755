"""Grouped-query attention: splits a fused projection and repeats keys and values for their groups, in one pass."""

import numpy as np

import dnnmove as dm

batch, sequence, heads, groups, width = 4, 128, 12, 3, 64
shared = heads // groups  # query heads that share one head of keys and values

# 1. What the projection writes for every token: all heads of the queries, fewer of the keys and values.
lengths = [heads * width, groups * width, groups * width]
qkv = np.random.default_rng(0).random((batch, sequence, sum(lengths)), dtype=np.float32)

# 2. Compose. Heads come before the sequence everywhere; keys and values are repeated, the queries are not.
chain = dm.Chain(dm.MemoryDesc.of(qkv)).variadic_split(axis=2, split_lengths=lengths)
chain = chain.reshape((batch, sequence, -1, width)).transpose((0, 2, 1, 3))
for i in (1, 2):
    chain = (
        chain.branch(i)
        .broadcast((batch, groups, shared, sequence, width), axes_mapping=(0, 1, 3, 4), mode="explicit")
        .reshape((batch, heads, sequence, width))
    )
attention = chain.branch(None).build()
print(attention.explain())

# 3. Run.
q, k, v = attention(qkv)
assert attention.passes == 1

# 4. NumPy's way, which copies keys and values twice.
parts = np.split(qkv, np.cumsum(lengths)[:2], axis=2)
expected = [part.reshape(batch, sequence, -1, width).transpose(0, 2, 1, 3) for part in parts]
expected[1:] = [np.repeat(part, shared, axis=1) for part in expected[1:]]
assert all(np.array_equal(ours, theirs) for ours, theirs in zip((q, k, v), expected, strict=True))
print(f"q, k, v of shape {q.shape} in {attention.passes} pass")

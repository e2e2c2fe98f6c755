"""Draw a chain: every step, the branches of a split, and the loop nest that runs, as an SVG file."""

import sys
import tempfile
from pathlib import Path

import dnnmove as dm

# ShuffleNet's unit: shuffle the channels, split them in two, one half for a convolution that wants NHWC.
data = dm.MemoryDesc((8, 116, 28, 28), "float32")
chain = (
    dm.Chain(data)
    .shuffle_channels(axis=1, group=2)
    .variadic_split(axis=1, split_lengths=[58, 58])
    .branch(1)
    .transpose((0, 2, 3, 1))
)

target = Path(sys.argv[1] if len(sys.argv) > 1 else f"{tempfile.mkdtemp()}/chain.svg")
chain.draw(target)  # in a notebook the chain shows itself
print(f"{target}: {target.stat().st_size} bytes")

# Without a file it is the text; a built chain draws the plan that runs.
built = chain.build()
assert built.draw() == target.read_text(encoding="utf-8")
assert f"pass 1 of {built.passes}" in built.draw()

"""tune=True: measure a plan on the machine it runs on, keep the fastest, and carry it to the next process."""

import tempfile
from pathlib import Path

import numpy as np

import dnnmove as dm

# 1. A problem that will be run many times.
x = np.random.default_rng(0).random((1200, 1000), dtype=np.float32)
desc = dm.Transpose.Desc(dm.MemoryDesc.of(x), tune=True)

# 2. The first call measures variants of the plan on the memory it is given.
transpose = dm.Transpose(desc)
y = np.empty((1000, 1200), np.float32)
transpose(x, out=y)
assert np.array_equal(y, x.T)
print(transpose.explain())

# 3. What was found can be looked at.
for problem, found in dm.tuning.problems().items():
    print(f"{problem}: {found}")

# 4. Saved, the next process loads it: eager calls and other primitives of the same problem run in the same way.
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "tuning.json"
    dm.tuning.save(file)
    dm.tuning.clear()
    assert dm.tuning.load(file) == 1
assert np.array_equal(dm.transpose(x), x.T)

"""A model that OpenVINO saved, run without OpenVINO's runtime: a ShuffleNet unit's movement in one trip."""

import pathlib
import tempfile

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from dnnmove import ir

N, C, H, W = 4, 116, 28, 28

# 1. What an exporter does: shuffle, split into two branches, one of them to channels last; the batch stays open.
image = ops.parameter([-1, C, H, W], np.float32, name="image")
shuffled = ops.shuffle_channels(image, 1, 2)
left, right = ops.variadic_split(shuffled, ops.constant(1), ops.constant([C // 2, -1])).outputs()
last = ops.transpose(right, ops.constant([0, 2, 3, 1]))
exported = ov.Model([left, last.output(0)], [image], "unit")

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "unit.xml")
    ov.save_model(exported, path)

    # 2. Read: whatever is wrong in the file would be an error here.
    model = ir.read_model(path)
print(model)

# 3. Run: any batch, each planned once.
x = np.random.default_rng(0).random((N, C, H, W), dtype=np.float32)
a, b = model(x)

# 4. The same bytes as OpenVINO's.
expected = ov.Core().compile_model(exported, "CPU")(x)
assert np.array_equal(a, expected[0])
assert np.array_equal(b, expected[1])
print(model.explain((N, C, H, W)).splitlines()[1], "for 3 layers: exact")

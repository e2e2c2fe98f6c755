"""The command line on a model that OpenVINO saved: files in, files out, mapped into memory and never half-written."""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import openvino as ov
from openvino import opset13 as ops

N, C, H, W = 8, 116, 28, 28


def dnnmove(*arguments):
    """What the command `dnnmove` prints."""
    command = [sys.executable, "-m", "dnnmove", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)

    # 1. A model: shuffle the channels of a batch and split them into two branches.
    image = ops.parameter([-1, C, H, W], np.float32, name="image")
    halves = ops.split(ops.shuffle_channels(image, 1, 2), ops.constant(1), 2)
    ov.save_model(ov.Model(halves.outputs(), [image], "unit"), folder / "unit.xml")

    # 2. A batch in a file.
    x = np.random.default_rng(0).random((N, C, H, W), dtype=np.float32)
    np.save(folder / "x.npy", x)

    # 3. dnnmove run unit.xml -i x.npy -o left.npy -o right.npy
    left, right = folder / "left.npy", folder / "right.npy"
    dnnmove("run", folder / "unit.xml", "-i", folder / "x.npy", "-o", left, "-o", right)

    # 4. The same bytes as NumPy's.
    shuffled = x.reshape(N, 2, C // 2, H, W).swapaxes(1, 2).reshape(x.shape)
    assert np.array_equal(np.load(left), shuffled[:, : C // 2])
    assert np.array_equal(np.load(right), shuffled[:, C // 2 :])

print(dnnmove("explain", f"({N},{C},{H},{W}) float32", "shuffle_channels(1, 2)", "split(1, 2)").splitlines()[0])
print("files: exact")

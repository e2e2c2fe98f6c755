"""Every example and the README's code run to their end; examples assert their own results against NumPy."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dnnmove as dm

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NEEDS = {
    "command_line": ["click", "defusedxml", "openvino"],
    "dask_larger_than_memory": ["distributed"],
    "demo": ["matplotlib"],
    "mpi_transpose": ["mpi4py"],
    "openvino_model": ["defusedxml", "openvino"],
    "torch_shufflenet": ["sklearn", "torch"],
    "torch_tensors": ["torch"],
}


def run(script, *arguments, cwd):
    command = [sys.executable, "-W", "error", str(script), *arguments]
    # The package under test, wherever it lies: a relative PYTHONPATH would lead elsewhere from `cwd`.
    paths = [str(Path(dm.__file__).resolve().parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)


def test_there_is_one_example_per_operation():
    operations = {"shuffle_forward", "shuffle_backward", "shuffle_channels", "transpose", "variadic_split", "broadcast"}
    assert operations <= {script.stem for script in SCRIPTS}


def marks(script):
    limits_memory = script.stem == "dask_larger_than_memory"
    return [pytest.mark.unsanitized] if limits_memory or "openvino" in NEEDS.get(script.stem, []) else []


@pytest.mark.parametrize("script", [pytest.param(script, marks=marks(script), id=script.stem) for script in SCRIPTS])
def test_example(script, tmp_path):
    for module in NEEDS.get(script.stem, []):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{script.name} needs {module}")
    done = run(script, *(["--quick"] if script.stem == "demo" else []), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout  # it says what it found


def pixels(x, factor):
    n, c, h, w = x.shape
    cut = x.reshape(n, c // factor**2, factor, factor, h, w).transpose(0, 1, 4, 2, 5, 3)
    return cut.reshape(n, c // factor**2, h * factor, w * factor)


# What README's recipes say of themselves: that each gives the bytes of NumPy's way. By a word of the block's code.
RECIPES = {
    "images": lambda n: [(n["batch"], n["planes"] * n["scale"][:, None, None] + n["shift"][:, None, None])],
    "heads": lambda n: [
        (part, n["x"].reshape(2, 16, 3, 4, 8)[:, :, i].transpose(0, 2, 1, 3))
        for i, part in enumerate(n["heads"](n["x"]))
    ],
    "sliding_window_view": lambda n: [(n["columns"], n["windows"].transpose(0, 2, 3, 1, 4, 5).reshape(2, 64, 27))],
    "steps": lambda n: [(n["y"], pixels(n["x"], 2))],
    "asfortranarray": lambda n: [(n["rows"], n["table"]), (n["turned"], n["weights"].T)],
}


def test_the_code_in_the_readme_runs_and_says_the_truth():
    readme = (EXAMPLES.parent / "README.md").read_text()
    names = {}
    checked = set()
    for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL):
        exec(block, names)
        for word in [word for word in RECIPES if re.search(rf"\b{word}\b", block) and word not in checked]:
            checked.add(word)
            for result, expected in RECIPES[word](names):
                same = result.tobytes() == np.ascontiguousarray(expected, result.dtype).tobytes()
                assert same, word
                assert result.flags.c_contiguous
    assert checked == set(RECIPES)
    assert names["heads"].passes == names["steps"].build().passes == 1  # "one trip through memory"
    x = names["src"].numpy()
    expected = x.reshape(32, 3, 80, 28, 28).swapaxes(1, 2).reshape(x.shape)
    assert np.array_equal(names["dst"].numpy(), expected)
    # The table of group_size against group: which source channel lands at position 1.
    channels = np.arange(12)
    assert dm.shuffle(channels, 0, 4)[1] == 4
    assert dm.shuffle_channels(channels, 0, 4)[1] == 12 // 4
    assert np.array_equal(dm.shuffle_channels(channels, 0, 3), dm.shuffle(channels, 0, 12 // 3))
    assert np.array_equal(dm.shuffle_backward(dm.shuffle(channels, 0, 4), 0, 4), channels)

"""Runs the command line, within the process and as one of its own; for its tests."""

import subprocess
import sys

import numpy as np
from click.testing import CliRunner

from dnnmove._cli import cli

ARRAY = "(2,12,5,4) float32"


def invoke(*arguments, code=0):
    """Standard output, and standard error if `code` is not 0."""
    done = CliRunner().invoke(cli, list(map(str, arguments)), prog_name="dnnmove")
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


# A program that a shell starts in the background inherits that interrupts and hang-ups are ignored.
HEED_SIGNALS = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def start(*arguments, **options):
    command = [sys.executable, "-c", HEED_SIGNALS, "-m", "dnnmove", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def ended(process, timeout=120):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def saved(folder, name, array):
    path = folder / name
    np.save(path, array)
    return path


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def layer(number, kind, inputs, outputs, data=""):
    ends = [
        "".join(f'<port id="{port}"/>' for port in ports) for ports in (range(inputs), range(inputs, inputs + outputs))
    ]
    return (
        f'<layer id="{number}" name="{kind}{number}" type="{kind}" version="opset1">{data}'
        f"<input>{ends[0]}</input><output>{ends[1]}</output></layer>"
    )


def net(layers, edges):
    joined = "".join(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>' for a, b, c, d in edges)
    return f'<net name="m" version="11"><layers>{"".join(layers)}</layers><edges>{joined}</edges></net>'


def write_transposing(folder, dtype="f32", shape="?,?"):
    """Writes a model that turns (rows, columns) around, of a dtype; gives its path."""
    layers = [
        layer(0, "Parameter", 0, 1, f'<data shape="{shape}" element_type="{dtype}"/>'),
        layer(1, "Const", 0, 1, '<data shape="2" element_type="i64" offset="0" size="16"/>'),
        layer(2, "Transpose", 2, 1),
        layer(3, "Result", 1, 0),
    ]
    path = folder / "model.xml"
    path.write_text(net(layers, [(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0)]))
    path.with_suffix(".bin").write_bytes(np.array([1, 0]).astype("<i8").tobytes())
    return path

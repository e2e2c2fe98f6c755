"""oneDNN's verbose output shows its primitive at work, and only where it works."""

import re

import pytest

import dnnmove as dm

PROGRAM = """
import numpy as np
import dnnmove as dm
{before}
x = np.arange(2 * 12 * 5 * 7, dtype="f4").reshape(2, 12, 5, 7)
md = dm.MemoryDesc.of(x)
fpd = dm.ShuffleForward.PrimitiveDesc(
    dm.ShuffleForward.Desc(dm.PropKind.forward_inference, md, 1, 3), implementation="{implementation}")
y = dm.ShuffleForward(fpd)(x)
bpd = dm.ShuffleBackward.PrimitiveDesc(dm.ShuffleBackward.Desc(md, 1, 3), implementation="{implementation}")
assert np.array_equal(dm.ShuffleBackward(bpd)(y), x)
print(flush=True)
"""
EXECUTED = re.compile(r"^(?:one)?dnnl?_verbose,.*exec,cpu,shuffle,.*$", re.MULTILINE)


def lines(run_python, implementation, before="", **environment):
    text = run_python(PROGRAM.format(before=before, implementation=implementation), **environment)
    return EXECUTED.findall(text)


@pytest.mark.parametrize("how", ["environment", "call"])
def test_onednn_executes(how, run_python):
    before, environment = ("", {"ONEDNN_VERBOSE": "1"}) if how == "environment" else ("dm.set_verbose(1)", {})
    seen = lines(run_python, "onednn", before, **environment)
    assert len(seen) == 2
    assert "forward_inference" in seen[0]
    assert "backward" in seen[1]
    for line in seen:
        assert "axis:1 group:3" in line
        assert "2x12x5x7" in line


@pytest.mark.parametrize("how", ["environment", "call"])
def test_native_does_not(how, run_python):
    before, environment = ("", {"ONEDNN_VERBOSE": "1"}) if how == "environment" else ("dm.set_verbose(1)", {})
    assert lines(run_python, "native", before, **environment) == []


def test_verbose_can_be_turned_off(run_python):
    assert lines(run_python, "onednn", "dm.set_verbose(0)", ONEDNN_VERBOSE="1") == []
    assert lines(run_python, "onednn") == []


@pytest.mark.parametrize("bad", [-1, 3, 100, 2**40])
def test_levels(bad, errors_name):
    errors_name(ValueError, lambda: dm.set_verbose(bad), "level", str(bad))


@pytest.mark.parametrize("bad", ["1", 1.0, None])
def test_types_of_levels(bad):
    with pytest.raises(TypeError):
        dm.set_verbose(bad)

"""The command line: info and explain, what is common to all commands, and that an error takes one line."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import dnnmove as dm

pytest.importorskip("click")
pytest.importorskip("defusedxml")

from command_line import ARRAY, ended, invoke, start


def test_info():
    text = invoke("info")
    for word in (dm.__version__, dm.onednn_version(), np.__version__, "nChw16c", dm.build_info()["isa"]):
        assert word in text
    found = json.loads(invoke("info", "--json"))
    assert found["threads"] == dm.get_num_threads()
    assert found["build"]["isa"] == dm.build_info()["isa"]
    (entry,) = (e for e in found["shuffles"] if (e["layout"], e["dtype"]) == ("nchw", "float64"))
    assert entry["implementations"] == [f"native:{dm.build_info()['isa']}"]


def test_info_where_one_implementation_is_forced(monkeypatch):
    monkeypatch.setenv("DNNMOVE_IMPLEMENTATION", "onednn")
    found = {(e["layout"], e["dtype"]): e["implementations"] for e in json.loads(invoke("info", "--json"))["shuffles"]}
    assert found["nchw", "float64"] == []
    assert found["nchw", "float32"]
    assert re.search(r"nchw .*float64 +none\n", invoke("info"))


def test_explain():
    steps = ["shuffle_channels(axis=1, group=2)", "split(1, 2)", "branch(-1)", "index[:, ::-1, 0]", "transpose()"]
    chain = dm.Chain(dm.MemoryDesc((2, 12, 5, 4), "f4")).shuffle_channels(1, 2).split(1, 2).branch(-1)
    chain = chain.index((slice(None), slice(None, None, -1), 0)).transpose()
    assert invoke("explain", ARRAY, *steps) == chain.build().explain().rstrip() + "\n"
    assert "MemoryDesc((2, 3), 'bfloat16')" in invoke("explain", "(2,3) bfloat16", "rearrange('a b -> b a')")
    assert "float32" in invoke("explain", "[4]", "tile([2, 2])")
    assert "1 pass" in invoke("explain", "(2,8,4,4) int8 nhwc", "transpose((0, 2, 3, 1))")
    assert "1 pass" in invoke("explain", "(2,3) int8 (1,2)", "flip()")
    assert "MemoryDesc((2, 3), '>i8')" in invoke("explain", "(2,3) >i8", "byteswap()")
    assert "MemoryDesc((2,), 'float32', (3,))" in invoke("explain", "(2,) f4[3]", "flip()")
    assert "datetime64[ns]" in invoke("explain", "(2,3)datetime64[ns] (1,2)", "transpose()")


def test_explain_draws(tmp_path):
    picture = tmp_path / "chain.svg"
    text = invoke("explain", "(2,3) int8", "transpose()", "--svg", str(picture))
    built = dm.Chain(dm.MemoryDesc((2, 3), "int8")).transpose().build()
    assert text == built.explain().rstrip() + "\n"
    assert picture.read_text() == built.draw()
    assert str(tmp_path) in invoke(
        "explain", "(2,3) int8", "transpose()", "--svg", str(tmp_path / "no" / "x.svg"), code=1
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([ARRAY], 2, ["Missing argument 'STEP...'"]),
        (["2,3 float32", "transpose()"], 2, ["must be a shape and a dtype"]),
        (["(2,3) floaty", "transpose()"], 2, ["floaty"]),
        (["(2,x) float32", "transpose()"], 2, ["(2, x) must be a literal"]),
        (["(2,__import__('os').system('true'))", "transpose()"], 2, ["must be a shape and a dtype"]),
        (["[2,__import__('os').system('true')]", "transpose()"], 2, ["must be a literal"]),
        (["(2,3) float32 nchw", "transpose()"], 2, ["nchw"]),
        ([ARRAY, "__import__('os').system('true')"], 2, ["must be a call"]),
        ([ARRAY, "build()"], 2, ["build is none of the steps"]),
        ([ARRAY, "transpose(open('x'))"], 2, ["open('x') must be a literal"]),
        ([ARRAY, "transpose(**{})"], 2, ["one by one"]),
        ([ARRAY, "transpose((0,1)"], 2, ["cannot be read"]),
        ([ARRAY, "index[f()]"], 2, ["f() must be a literal"]),
        ([ARRAY, "transpose(" + "(" * 5000 + ")"], 2, ["cannot be read"]),
        ([ARRAY, "transpose(" + "0," * 10_000 + ")"], 2, ["more than 10000 characters"]),
        ([ARRAY, "transpose(" + "-" * 900 + "1)"], 2, ["nested so deep must be a literal"]),
        (["(2,3) >f9", "transpose()"], 2, [">f9"]),
        (["(2,3) datetime64[parsec]", "transpose()"], 2, ["parsec"]),
        ([ARRAY, "transpose((0,1))"], 1, ["Error: step 1 (transpose): input_order (0, 1)"]),
        ([ARRAY, "shuffle_channels(1, groups=2)"], 1, ["did you mean 'group'?"]),
        ([ARRAY, "index[9]"], 1, ["Error: step 1 (index)"]),
        (["(2,16,4,4) float32 nChw16c", "transpose()"], 1, ["Error"]),
    ],
)
def test_explain_refuses(arguments, code, words):
    text = invoke("explain", *arguments, code=code)
    assert "Traceback" not in text
    for word in words:
        assert word in text
    assert code == 2 or text.count("\n") == 1


def test_without_click():
    code = "import sys; sys.modules['click'] = None; from dnnmove.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "dnnmove: the command line needs click: pip install dnnmove[cli]\n"


@pytest.mark.parametrize("variable", ["ISA", "NUM_THREADS", "VERBOSE", "POOL", "IMPLEMENTATION"])
@pytest.mark.parametrize("way", ["module", "script"])
def test_the_environment_is_an_argument_too(variable, way, tmp_path):
    """A value that nothing understands fails the import of the package: one line, as other errors."""
    script = tmp_path / "dnnmove"  # as pip writes it
    script.write_text("from dnnmove.__main__ import main\nmain()\n")
    command = {"module": ["-m", "dnnmove"], "script": [str(script)]}[way]
    environment = {**os.environ, f"DNNMOVE_{variable}": "wrong"}
    done = subprocess.run([sys.executable, *command, "info"], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: DNNMOVE_{variable} (")
    assert done.stderr.count("\n") == 1


def test_help_has_examples():
    code, out, err = ended(start("--help"))
    assert (code, err) == (0, "")
    for name in ("bench", "explain", "info", "run"):
        assert f"\n  {name} " in out
        assert f"dnnmove {name}" in invoke(name, "--help").split("Examples:")[1]
    assert invoke("--version") == f"dnnmove, version {dm.__version__}\n"
    assert "No such command 'fly'" in invoke("fly", code=2)


def test_a_reader_that_goes_away():
    process = start("info")
    process.stdout.close()
    assert process.wait(60) == 1
    assert process.stderr.read() == ""
    process.stderr.close()


def test_an_interrupt_before_the_command():
    code = "import sys\nclass Stop:\n def find_spec(*_): raise KeyboardInterrupt\nsys.meta_path.insert(0, Stop)\n"
    program = f"import dnnmove.__main__ as m\n{code}m.main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")

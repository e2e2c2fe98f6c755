"""The pages under docs/: their code runs, and explain() uses no word that they do not."""

import re
from pathlib import Path

import dnnmove as dm

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_the_code_runs():
    for block in re.findall(r"```python\n(.*?)```", (DOCS / "onednn.md").read_text(), re.DOTALL):
        exec(block, {})


def test_kernels_are_explained():
    page = (DOCS / "explain.md").read_text()
    md = dm.MemoryDesc((64, 60, 10), "uint8")
    problems = [
        dm.Transpose(dm.Transpose.Desc(md, (0, 2, 1))),
        dm.Transpose(dm.Transpose.Desc(md)),
        dm.ShuffleChannels(dm.ShuffleChannels.Desc(md, 2, 2)),
        dm.Broadcast(dm.Broadcast.Desc(dm.MemoryDesc((64, 60, 1), "uint8"), (64, 60, 10))),
        dm.Chain(md).index((slice(None), slice(None, None, 2), slice(None, None, 3))).build(),
    ]
    for problem in problems:
        for kernel in re.findall(r"kernel ([a-z ]+),", problem.explain()):
            assert any(kernel in line for line in page.splitlines() if line.startswith("| ")), kernel
        assert not re.search(r"\b(weave|deal|turned|cells|runs|strips)\b", problem.explain())

"""The pages under docs/: their code runs, and explain() uses no word that they do not."""

import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import dnnmove as dm

NEEDS = {
    "arrays.md": ["torch"],
    "command_line.md": ["click", "defusedxml"],
    "dask.md": ["dask.array"],
    "ir.md": ["defusedxml"],
    "torch.md": ["torch"],
}
INTEGRATIONS = {"dnnmove.dask": ["dask.array"], "dnnmove.ir": ["defusedxml"], "dnnmove.torch": ["torch"]}
DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own, as it loads inductor
@pytest.mark.parametrize("page", sorted(page.name for page in DOCS.glob("*.md")))
def test_the_code_runs(page, tmp_path, monkeypatch):
    """Each page's blocks in their order, in one namespace and an empty folder."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for module in NEEDS.get(page, []):
        pytest.importorskip(module)
    for language, block in re.findall(r"```(python|sh)\n(.*?)```", (DOCS / page).read_text(), re.DOTALL):
        if language == "python":
            exec(block, names)
        for command in re.findall(r"^dnnmove (.*)$", block, re.MULTILINE) if language == "sh" else []:
            done = subprocess.run(
                [sys.executable, "-m", "dnnmove", *shlex.split(command)], capture_output=True, text=True
            )
            assert (done.returncode, done.stderr) == (0, ""), command
    # torch.compile keeps the namespace of what it compiled (and looks for its own names there in the end), and with it
    # every array of the page.
    for name in [name for name in names if not name.startswith("__")]:
        del names[name]


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_the_examples_of_integrations_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module in INTEGRATIONS[name]:
        pytest.importorskip(module)
    found = importlib.import_module(name)
    tests = [found] if not hasattr(found, "__path__") else [found, *map(importlib.import_module, below(found))]
    failures = [doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed for module in tests]
    assert not any(failures)


def below(package):
    return [module.name for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")]


def described():
    """The kernels' names in explain(): the first words of what each strategy's `describe` returns."""
    for path in sorted((DOCS.parent / "src" / "core" / "plan").rglob("*.[ch]pp")):
        text = path.read_text()
        signature = r"StrategyWords (?:\w+::)?describe\(\) const(?: override| final)?"
        bodies = re.findall(signature + r" \{(.*?)(?:\n    \}|\}\n)", text, re.DOTALL)
        declared = re.findall(signature + r"(?: = 0)?;", text)
        assert len(bodies) + len(declared) == len(re.findall(r"StrategyWords (?:\w+::)?describe\(", text)), path
        for body in bodies:
            yield from re.findall(r'"([^"]+)"', re.split(r'", ', body.split("{", 1)[1])[0] + '"')


def test_kernels_are_explained():
    names = set(described())
    assert {"transpose", "transpose by whole lines", "transpose, then gather", "gather", "rows", "interleave"} <= names
    rows = re.findall(r"^\| ([^|]+?) \|", (DOCS / "explain.md").read_text(), re.MULTILINE)
    # "interleave, deinterleave" are two names, "transpose, then gather" is one.
    explained = {name for row in rows for name in ((row,) if row in names else row.split(", "))}
    assert not names - explained, "rows of their own in docs/explain.md"


def test_explain_uses_no_word_of_the_code():
    md = dm.MemoryDesc((64, 60, 10), "uint8")
    problems = [
        dm.Transpose(dm.Transpose.Desc(md, (0, 2, 1))),
        dm.Transpose(dm.Transpose.Desc(md)),
        dm.ShuffleChannels(dm.ShuffleChannels.Desc(md, 2, 2)),
        dm.Broadcast(dm.Broadcast.Desc(dm.MemoryDesc((64, 60, 1), "uint8"), (64, 60, 10))),
        dm.Chain(md).index((slice(None), slice(None, None, 2), slice(None, None, 3))).build(),
    ]
    names = set(described())
    for problem in problems:
        for kernel in re.findall(r"kernel ([a-z ]+),", problem.explain()):
            assert any(name.startswith(kernel) for name in names), kernel
        assert not re.search(r"\b(weave|deal|turned|cells|runs|strips)\b", problem.explain())


def test_the_page_of_examples_has_them_all():
    page = (DOCS / "examples.md").read_text()
    scripts = {path.name for path in (DOCS.parent / "examples").glob("*.py")}
    assert set(re.findall(r"^\| `(\w+\.py)`", page, re.MULTILINE)) == scripts
    for script in scripts:
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `{script}`"))
        imported = set(
            re.findall(r"^(?:import|from) (\w+)", (DOCS.parent / "examples" / script).read_text(), re.MULTILINE)
        )
        for module, word in {
            "torch": "torch",
            "distributed": "dask",
            "openvino": "openvino",
            "sklearn": "scikit",
        }.items():
            assert (word in row.split("|")[3]) == (module in imported), row


def test_links_of_the_readme_lead_somewhere():
    readme = (DOCS.parent / "README.md").read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", readme) if "://" not in link]
    assert len(links) > 5
    assert not [link for link in links if not any(DOCS.parent.glob(link))]


def test_the_walk_through_the_tree_leads_somewhere():
    page = (DOCS / "architecture.md").read_text()
    stations = re.findall(r"^\| `(\w+)` \| `([\w/.]+)` \|", page, re.MULTILINE)
    assert len(stations) == 12 + 4  # and the steps of planning
    for name, path in stations:
        assert re.search(rf"\b{name}\b", (DOCS.parent / path).read_text()), (name, path)
    paths = re.findall(r"`((?:src|bindings|benchmarks|tests)/[\w/.]+\.\w+)`", page)
    assert len(paths) > 20
    assert [path for path in paths if not (DOCS.parent / path).exists()] == []

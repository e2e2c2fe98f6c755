"""Every public name has a numpydoc docstring, whose examples run and say the truth."""

import doctest
import importlib.util
import inspect
import re
import types

import pytest

import dnnmove as dm

NOTHING = {  # return nothing
    "Memory.set_data_handle",
    "clear_caches",
    "reorder",
    "set_num_threads",
    "set_primitive_cache_capacity",
    "set_verbose",
    "tuning.clear",
    "tuning.load",
    "tuning.save",
}


def public_things():
    """Name and object of all that is public: functions, classes, their methods, properties and nested classes."""
    found = {}

    def visit(name, thing, owner=None):
        if not (callable(thing) or isinstance(thing, (property, types.GetSetDescriptorType, types.ModuleType))):
            return
        found[name] = thing
        if inspect.isclass(thing) or isinstance(thing, types.ModuleType):
            names = thing.__all__ if isinstance(thing, types.ModuleType) else vars(thing)
            for member in names:
                if not member.startswith("_"):
                    visit(f"{name}.{member}", getattr(thing, member))

    for name in dm.__all__:
        if not name.startswith("_"):
            visit(name, getattr(dm, name))
    if importlib.util.find_spec("torch") is not None:
        visit("torch", importlib.import_module("dnnmove.torch"))
    return found


THINGS = public_things()


def says_more(name):
    """Whether more than a sentence is wanted: LazyArray's steps are Chain's, enumerations are called by nobody."""
    thing = THINGS[name]
    if name.startswith("LazyArray.") and hasattr(dm.Chain, name.split(".")[1]):
        return False
    return callable(thing) and not (inspect.isclass(thing) and issubclass(thing, (int, Exception)))


CALLABLE = [name for name in THINGS if says_more(name)]


def sections(doc):
    """Titles that are underlined, as numpydoc has them."""
    return set(re.findall(r"^ *(\w[\w ]*)\n *-+$", doc, re.MULTILINE))


@pytest.mark.parametrize("name", THINGS)
def test_there_is_a_docstring(name):
    doc = inspect.getdoc(THINGS[name])
    assert doc
    paragraph = doc.split("\n\n")[0]
    assert paragraph[0].isupper() or paragraph.startswith("oneDNN")
    assert paragraph.endswith(".")


@pytest.mark.parametrize("name", CALLABLE)
def test_every_parameter_is_documented(name):
    thing = THINGS[name]
    try:
        parameters = [p for p in inspect.signature(thing).parameters if p != "self"]
    except ValueError:  # objects that only the package makes
        return
    doc = inspect.getdoc(thing)
    if parameters:
        assert "Parameters" in sections(doc)
    described = re.split(r"^Parameters\n-+\n", doc, flags=re.MULTILINE)[-1]
    entries = re.findall(r"^\**(\w[\w, ]*)(?: :.*)?$", described, re.MULTILINE)
    named = {word.strip() for entry in entries for word in entry.split(",")}
    assert set(parameters) <= named


@pytest.mark.parametrize("name", CALLABLE)
def test_results_and_examples_are_documented(name):
    thing = THINGS[name]
    found = sections(inspect.getdoc(thing))
    top = name.count(".") == (1 if name.startswith(("tuning.", "torch.")) else 0)
    if not inspect.isclass(thing) and name not in NOTHING and not name.endswith((".wait", ".execute")):
        assert "Returns" in found
    if top and name not in (
        "BuiltChain",
        "LazyArray",
        "torch.ChainFunction",
    ):  # only made by others, whose examples they are in
        assert "Examples" in found


@pytest.mark.parametrize("name", [name for name, thing in THINGS.items() if ">>>" in (inspect.getdoc(thing) or "")])
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    doc = inspect.getdoc(THINGS[name])
    example = doctest.DocTestParser().get_doctest(doc, {}, name, None, None)
    output = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=output.append)
    assert runner.failures == 0, "".join(output)

"""The docstrings of the extension are texts of the package, which scripts/make_reference.py turns into headers."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXTS = sorted((ROOT / "src" / "dnnmove" / "_reference").glob("*.txt"))


@pytest.fixture
def make_reference(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return pytest.importorskip("make_reference", reason="the source tree's scripts are not here")


@pytest.fixture
def docstrings(make_reference, tmp_path):
    """Of a text, beside given passages."""

    def read(text, passages="=== {{axis}}\naxis : int\n    One.\n"):
        (tmp_path / "passages.txt").write_text(passages)
        (tmp_path / "some.txt").write_text(text)
        make_reference.header(tmp_path / "some.txt")
        return make_reference.Text(tmp_path / "some.txt").docstrings()

    return read


def test_passages_stand_where_they_are_included(docstrings):
    text = "# A comment.\n\n=== {{both}}\n{{axis}}\nand {{axis}}\n\n\n=== Chain.of\n\nOf.\n\n{{both}}, too\n"
    text += "\n=== of\n{-1: {2: 3}}\n"
    assert docstrings(text) == {
        "Chain.of": "Of.\n\naxis : int\n    One.\nand axis : int\n    One., too\n",
        "of": "{-1: {2: 3}}\n",
    }


FORMS = "=== <step>\n{{Summary}}\n{{Notes}}\n{{axis}}\n=== Chain.<step>\nAdd: {{summary}} ({{name}})\n"


def test_a_form_is_filled_in_for_each_entry(docstrings):
    text = FORMS + "=== step flip\nTurn it.\n\nNotes\n-----\nWith {{axis}}\n\n=== step roll_on\nMove.\n"
    assert docstrings(text) == {
        "flip": "Turn it.\nWith axis : int\n    One.\naxis : int\n    One.\n",
        "roll_on": "Move.\naxis : int\n    One.\n",
        "Chain.flip": "Add: turn it. (flip)\n",
        "Chain.roll_on": "Add: move. (roll_on)\n",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=== f\nOne.\n\n{{axes}}\n", "some.txt:4: no passage is called 'axes'"),
        ("=== f\n\nOne {{axis}.\n{{ax\n", "some.txt: 'f' holds {{ without }}, or what ends a string of C++: )doc\""),
        ('=== f\n)doc"\n', "some.txt: 'f' holds {{ without }}, or what ends a string of C++: )doc\""),
        ("=== f\nOne.\n=== g\n\n=== f\nTwo.\n", "some.txt:5: 'f' is a section already, in line 1"),
        ("=== {{axis}}\nTwo.\n", "some.txt:1: '{{axis}}' is a passage of passages.txt already"),
        ("=== {{a}}\n{{b}}\n=== {{b}}\n\n{{a}}\n=== f\n{{a}}\n", "some.txt:5: the passage 'a' stands in itself"),
        ("One.\n", "some.txt:1: text above the first heading (=== NAME) begins with #"),
        ("=== f\n=== g\nOne.\n", "some.txt:1: nothing stands below this heading"),
        (
            "=== f(x)\nOne.\n",
            "some.txt:1: 'f(x)' is no heading: NAME, {{PASSAGE}}, KIND NAME or Chain.<KIND>",
        ),
        ("=== A.b_c\nOne.\n=== A.b.c\nTwo.\n", "some.txt: 'A.b_c' and 'A.b.c' are one constant, kABC"),
        ("=== <step>\n{{Summary}}\n", "some.txt:1: no entry is called 'step NAME'"),
        (FORMS + "=== step f\nOne.\n", "some.txt:3: no entry has 'Notes', and no passage is called so"),
        ("=== <step>\n{{name}}\n=== step f\nF.\n\nSees\n----\nG.\n", "some.txt:6: no form with <step> has {{Sees}}"),
        ("=== step f\nF.\n\nNotes\n-----\nG.\n", "some.txt:4: no form with <step> has {{Notes}}"),
    ],
)
def test_what_is_wrong_is_one_line(make_reference, docstrings, tmp_path, monkeypatch, capsys, text, message):
    with pytest.raises(make_reference.TextError) as error:
        docstrings(text)
    assert str(error.value) == f"{tmp_path}/{message}"
    target = tmp_path / "new" / "some.hpp"
    monkeypatch.setattr(sys, "argv", ["make_reference.py", str(tmp_path / "some.txt"), str(target)])
    assert make_reference.main() == 1
    assert capsys.readouterr() == ("", f"{tmp_path}/{message}\n")
    assert not target.exists()


def test_a_header_has_a_constant_for_each_name(make_reference, docstrings, tmp_path, monkeypatch):
    docstrings("=== Chain.space_to_depth\nOne.\n\n=== __call__\nTwo.\n")
    target = tmp_path / "new" / "some.hpp"
    monkeypatch.setattr(sys, "argv", ["make_reference.py", str(tmp_path / "some.txt"), str(target)])
    assert make_reference.main() == 0
    text = target.read_text()
    assert "namespace dnnmove::reference::some {" in text
    assert re.findall(r"constexpr const char\* (\w+) = R\"doc\((.*)\n", text) == [
        ("kChainSpaceToDepth", "One."),
        ("kCall", "Two."),
    ]


def test_every_docstring_is_somebody_s(make_reference):
    bindings = "".join(path.read_text() for path in (ROOT / "bindings").rglob("*.cpp"))
    used = set(re.findall(r"reference::\w+::\w+", bindings))
    texts = [path for path in TEXTS if path.name != make_reference.PASSAGES]
    made = {
        f"reference::{path.stem}::{make_reference.constant(name)}"
        for path in texts
        for name in make_reference.Text(path).docstrings()
    }
    assert made
    assert made == used


def test_a_passage_stands_in_several_places(make_reference):
    text = "".join(path.read_text(encoding="utf-8") for path in TEXTS)
    for name in re.findall(r"^=== \{\{(\w+)\}\}$", text, re.MULTILINE):
        assert len(re.findall(rf"^(?!=== ).*\{{\{{{name}\}}\}}", text, re.MULTILINE)) > 1, name

"""Chains, descriptors and primitives show themselves: SVG and HTML that say what explain() says, escaped."""

import os
import re
import stat
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

import dnnmove as dm

MD = dm.MemoryDesc((2, 116, 28, 28), "float32")
SVG = "{http://www.w3.org/2000/svg}"


def unit():
    return dm.Chain(MD).shuffle_channels(axis=1, group=2).variadic_split(axis=1, split_lengths=[58, 58])


def staged():
    """One that needs two passes."""
    return dm.Chain(dm.MemoryDesc((7, 11, 13), "float32")).transpose((2, 0, 1)).reshape((77, 13)).build(max_nests=1)


def many_branches():
    return dm.Chain(dm.MemoryDesc((4, 1000), "uint8")).split(axis=1, num_splits=1000)


def many_steps():
    chain = dm.Chain(dm.MemoryDesc((8, 8), "uint8"))
    for _ in range(120):
        chain = chain.transpose((1, 0)).flip(0)
    return chain


def many_axes():
    return dm.Chain(dm.MemoryDesc((2,) * 16, "uint8")).transpose(tuple(range(15, -1, -1)))


CHAINS = {
    "none": lambda: dm.Chain(MD),
    "one branch": lambda: dm.Chain(MD).transpose((0, 2, 3, 1)),
    "two branches": lambda: unit().branch(0).transpose((0, 2, 3, 1)).branch(None).flip(0),
    "staged": staged,
    "many branches": many_branches,
    "many steps": many_steps,
    "many axes": many_axes,
    "empty": lambda: dm.Chain(dm.MemoryDesc((0, 3), "float32")).transpose((1, 0)),
    "scalar": lambda: dm.Chain(dm.MemoryDesc((), "float32")).expand_dims(0),
    "broadcast": lambda: dm.Chain(dm.MemoryDesc((1, 5), "float32")).broadcast((6, 5)),
    "table": lambda: dm.Chain(dm.MemoryDesc((50, 5), "float32")).take([3, 1, 4, 1, 5, 9, 2, 6], 0),
    "blocks": lambda: dm.Chain(dm.MemoryDesc((10, 6), "float32")).roll(3, 0),
    "pattern": lambda: dm.Chain(dm.MemoryDesc((6, 8), "float32")).rearrange("(a b) c -> c b a", a=2),
    "long arguments": lambda: dm.Chain(dm.MemoryDesc((400,), "uint8")).take(list(range(0, 400, 3))[::-1], 0),
    "struct": lambda: dm.Chain(dm.MemoryDesc((4, 6), [("<&\x01\ufffe", "i1"), ("]]>", "f4")])).transpose((1, 0)),
}
all_chains = pytest.mark.parametrize("name", CHAINS)


def built(chain):
    return chain.build() if isinstance(chain, dm.Chain) else chain


def texts(svg):
    """What is written in the picture."""
    return [element.text for element in ET.fromstring(svg).iter(SVG + "text") if element.text] + [
        child.tail for element in ET.fromstring(svg).iter(SVG + "text") for child in element if child.tail
    ]


@all_chains
def test_the_picture_is_xml_of_bounded_size(name):
    chain = CHAINS[name]()
    svg = chain.draw()
    root = ET.fromstring(svg)
    assert root.tag == SVG + "svg"
    assert svg == built(chain).draw() == chain.draw(None)
    assert len(svg) < 120_000
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {width:.1f} {height:.1f}"
    assert 200 < width < 3000
    assert 100 < height < 6000
    for element in root.iter():
        for key in ("x", "y", "width", "height"):
            assert float(element.get(key, 0)) >= 0, element
    for rect in root.iter(SVG + "rect"):
        assert float(rect.get("x")) + float(rect.get("width")) <= width
        assert float(rect.get("y")) + float(rect.get("height")) <= height


def test_the_picture_says_what_explain_says():
    f = CHAINS["two branches"]().build()
    said = "\n".join(texts(f.draw()))
    flat = re.sub(r"\s+", "", said)
    for step in re.findall(r"^step \d+ (.*?)(?:: .*)?$", f.explain(), re.MULTILINE):
        assert re.sub(r"\s+", "", step) in flat
    for shape in re.findall(r"output \d: (\(.*?\)): \[", f.explain()):
        assert shape in said
    for loop in re.findall(r"\d+@-?\d+", f.explain()):
        assert loop in said
    for kernel in re.findall(r"kernel ([a-z ]+), element (\d+) B, stores ([a-z -]+?),", f.explain()):
        name, element, stores = kernel
        assert f"kernel {name}, element {int(element):,} B, stores {stores}" in said
    for counts in re.findall(r"(\w+ \w+) (\d+) in tiles of (\d+)", f.explain()):
        assert f"{int(counts[1]):,} {counts[0]} in tiles of {int(counts[2]):,}" in said
    assert "pass 1 of 1" in said
    assert f.impl_info_str in said


def test_branches_are_drawn_as_branches():
    svg = ET.fromstring(CHAINS["two branches"]().draw())
    edges = [path.get("d") for path in svg.iter(SVG + "path")]
    # input -> shuffled -> two parts; part 0 -> transposed -> flipped -> output, part 1 -> flipped -> output.
    assert len(edges) == 8
    starts = [re.match(r"M([\d.]+) ([\d.]+)", edge).groups() for edge in edges]
    assert len(set(starts)) == 7  # the two parts begin at one box


def test_passes_and_what_is_written_between_them():
    f = staged()
    assert f.passes == 2
    said = "\n".join(texts(f.draw()))
    assert "pass 1 of 2" in said
    assert "pass 2 of 2" in said
    assert "written to memory by pass 1, read again by pass 2" in said
    assert "input → intermediate 0" in said
    assert "intermediate 0 → output" in said


def test_what_is_left_out_is_said():
    assert "outputs, 994 more" in texts(many_branches().draw())
    steps = texts(many_steps().draw())
    assert "… 200 more steps" in steps
    assert {"1", "20", "239", "240"} <= set(steps)
    assert not {"21", "120", "220"} & set(steps)


def test_a_plan_that_has_run_is_the_one_that_is_drawn():
    f = CHAINS["one branch"]().build()
    before = f.draw()
    f(np.zeros(MD.dims, "f4"))
    assert f.draw() == before or f.explain() != CHAINS["one branch"]().build().explain()


class TestFiles:
    """draw(path)."""

    def test_written(self, tmp_path):
        chain = CHAINS["one branch"]()
        for path in (tmp_path / "a.svg", str(tmp_path / "B.SVG")):
            assert chain.draw(path) is None
            with open(path, encoding="utf-8") as file:
                assert file.read() == chain.draw()
        mask = os.umask(0)
        os.umask(mask)
        assert stat.S_IMODE((tmp_path / "a.svg").stat().st_mode) == 0o666 & ~mask
        assert sorted(path.name for path in tmp_path.iterdir()) == ["B.SVG", "a.svg"]
        assert built(chain).draw(path=tmp_path / "a.svg") is None

    def test_replaced_whole(self, tmp_path):
        target = tmp_path / "a.svg"
        target.write_text("old")
        target.chmod(0o640)
        (tmp_path / "link.svg").symlink_to(target)
        CHAINS["one branch"]().draw(tmp_path / "link.svg")
        assert target.read_text().startswith("<svg")
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
        assert (tmp_path / "link.svg").is_symlink()

    @pytest.mark.parametrize("call", ["fsync", "replace"])
    def test_an_error_leaves_the_old_file(self, tmp_path, monkeypatch, call):
        target = tmp_path / "a.svg"
        target.write_text("old")

        def fail(*_):
            raise OSError("no space left")

        monkeypatch.setattr(os, call, fail)
        with pytest.raises(OSError, match="no space left"):
            CHAINS["one branch"]().draw(target)
        monkeypatch.undo()
        assert target.read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]

    @pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no folder where nobody may write")
    def test_errors_name_the_file(self):
        with pytest.raises(OSError, match=r"'/proc/drawn\.svg'$") as caught:
            CHAINS["one branch"]().draw("/proc/drawn.svg")
        assert caught.value.filename == "/proc/drawn.svg"

    def test_paths_that_cannot_be(self, tmp_path):
        chain = CHAINS["one branch"]()
        for target in (chain, chain.build()):
            for path in (3, b"a.svg", ["a.svg"], object()):
                with pytest.raises(TypeError, match="path"):
                    target.draw(path)
            for path in ("a.png", "svg", "", tmp_path / "a"):
                with pytest.raises(ValueError, match=r"must end in \.svg"):
                    target.draw(path)
            with pytest.raises(FileNotFoundError, match=r"must lie in a folder that is there: .*nowhere"):
                target.draw(tmp_path / "nowhere" / "a.svg")
            (tmp_path / "folder.svg").mkdir(exist_ok=True)
            with pytest.raises(IsADirectoryError, match="is a folder"):
                target.draw(tmp_path / "folder.svg")
            with pytest.raises(TypeError):
                target.draw("a.svg", "b.svg")
        assert [path.name for path in tmp_path.iterdir()] == ["folder.svg"]


class Balanced(HTMLParser):
    """Holds tags against one another, and gathers text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.words = [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


SHUFFLE = dm.ShuffleForward.Desc(dm.PropKind.forward_training, dm.MemoryDesc((2, 32, 5, 5), "float32", "nChw16c"), 1, 4)
THINGS = {
    "MemoryDesc": (
        dm.MemoryDesc((2, 20, 5, 5), "float32", "nChw16c"),
        ["padded_dims", "(2, 32, 5, 5)", "nChw16c", "6400"],
    ),
    "ShuffleForward.Desc": (SHUFFLE, ["ShuffleForward.Desc"]),
    "ShuffleForward.PrimitiveDesc": (
        dm.ShuffleForward.PrimitiveDesc(SHUFFLE),
        ["group_size", "4", "implementations", "native:"],
    ),
    "ShuffleForward": (dm.ShuffleForward(SHUFFLE), ["impl_info_str", "native:", "kind", "shuffle", "kernel"]),
    "ShuffleBackward.Desc": (dm.ShuffleBackward.Desc(MD, 1, 4), ["ShuffleBackward.Desc"]),
    "ShuffleBackward": (dm.ShuffleBackward(dm.ShuffleBackward.Desc(MD, 1, 4)), ["(2, 116, 28, 28)"]),
    "Transpose.Desc": (
        dm.Transpose.Desc(MD, (0, 2, 3, 1)),
        ["input_order=(0, 2, 3, 1)", "dst_desc", "(2, 28, 28, 116)"],
    ),
    "Transpose": (dm.Transpose(dm.Transpose.Desc(MD, (0, 2, 3, 1))), ["input_order=(0, 2, 3, 1)", "kernel transpose"]),
    "VariadicSplit.Desc": (dm.VariadicSplit.Desc(MD, 1, [1] * 116), ["dst_descs", "and 108 more"]),
    "ShuffleChannels.Desc": (dm.ShuffleChannels.Desc(MD, 1, 4), ["src_desc"]),
    "Broadcast.Desc": (dm.Broadcast.Desc(dm.MemoryDesc((1,), "int8"), (3,)), ["(3,)"]),
    "Chain": (
        CHAINS["two branches"](),
        ["variadic_split(axis=1, split_lengths=(58, 58))", "passes", "kernel rows"],
    ),
    "BuiltChain": (CHAINS["two branches"]().build(), ["explain()", "output 1", "passes"]),
}


@pytest.mark.parametrize("name", THINGS)
def test_html(name):
    thing, words = THINGS[name]
    html = thing._repr_html_()
    said = "".join(Balanced(html).words)
    for word in [name, *words]:
        assert word in said
    assert len(html) < 60_000


def test_html_escapes_everything():
    md = dm.MemoryDesc((4, 6), [("<script>alert(1)</script>", "i1"), ("&\"'", "f4")])
    for thing in (
        md,
        dm.Transpose.Desc(md),
        dm.Transpose(dm.Transpose.Desc(md)),
        dm.Chain(md),
        dm.Chain(md).transpose().build(),
    ):
        html = thing._repr_html_()
        assert "<script" not in html
        assert "&lt;script&gt;" in html
        Balanced(html)


@all_chains
def test_chains_in_html_hold_their_picture(name):
    chain = CHAINS[name]()
    html = chain._repr_html_()
    assert chain.draw() in html
    Balanced(html)


def test_an_uninitialized_object_has_no_table():
    for kind in (dm.MemoryDesc, dm.Chain):
        with pytest.raises(TypeError, match="not initialized"):
            kind.__new__(kind)._repr_html_()

"""Every format tag of oneDNN's headers means here what it means there."""

import re
import sysconfig
from pathlib import Path

import pytest

import dnnmove as dm
from dnnmove import _core

TAGS = _core._onednn_tags()


def header_aliases() -> dict[str, str]:
    """Alias -> canonical tag, read from the installed header."""
    roots = [Path(sysconfig.get_path("data")), Path(sysconfig.get_path("include")).parents[1]]
    for root in roots:
        header = root / "include" / "oneapi" / "dnnl" / "dnnl_types.h"
        if header.is_file():
            pairs = re.findall(r"^\s*dnnl_(\w+)\s*=\s*dnnl_(\w+)\s*,", header.read_text(), re.M)
            return {alias: canonical for alias, canonical in pairs if canonical in TAGS}
    return {}


ALIASES = header_aliases()


def dims_for(tag: str, tails: bool) -> tuple[int, ...]:
    """Small dims that hold whole blocks, or end inside one."""
    letters = re.match(r"[a-zA-Z]+", tag)
    assert letters is not None
    dims = []
    for k in range(len(letters[0])):
        block = 1
        for length, letter in re.findall(r"(\d+)([a-z])", tag[letters.end() :]):
            block *= int(length) if letter == chr(ord("a") + k) else 1
        dims.append(2 * block + (block // 2 if tails else 0) if block > 1 else k % 3 + 2)
    return tuple(dims)


def test_the_library_has_the_tags_that_this_file_is_about() -> None:
    assert {"a", "abcd", "acdb", "aBcd16b", "ABcd4b16a4b", "abcdefghijkl"} <= set(TAGS)
    assert len(TAGS) > 500


@pytest.mark.parametrize("tails", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_canonical_tags_lie_where_onednn_puts_them(dtype: str, tails: bool) -> None:
    wrong = []
    for tag, number in TAGS.items():
        dims = dims_for(tag, tails)
        md = dm.MemoryDesc(dims, dtype, tag)
        if _core._layout(md)[1:5] != _core._onednn_layout(number, dims, dtype):
            wrong.append(tag)
        if md.size != _core._onednn_size(md):
            wrong.append(tag + " (size)")
    assert not wrong


@pytest.mark.skipif(not ALIASES, reason="oneDNN's headers are not installed")
def test_aliases_are_the_canonical_tags_of_the_header() -> None:
    assert len(ALIASES) > 500
    wrong = []
    for alias, canonical in ALIASES.items():
        dims = dims_for(canonical, tails=True)
        if dm.MemoryDesc(dims, "int8", alias) != dm.MemoryDesc(dims, "int8", canonical):
            wrong.append(alias)
    assert not wrong


@pytest.mark.parametrize(
    ("alias", "canonical"),
    [("nchw", "abcd"), ("nhwc", "acdb"), ("nChw16c", "aBcd16b"), ("OIhw4i16o4i", "ABcd4b16a4b"), ("tnc", "abc")]
    + [("ldigo", "abcde"), ("ldgoi", "abdec"), ("goihw", "abcde"), ("hwio", "cdba"), ("ndhwc", "acdeb"), ("x", "a")],
)
def test_aliases(alias: str, canonical: str) -> None:
    dims = dims_for(canonical, tails=False)
    assert dm.MemoryDesc(dims, "float32", alias) == dm.MemoryDesc(dims, "float32", canonical)


@pytest.mark.parametrize(
    "tag",
    ["any", "undef", "", "16c", "nchw16", "nchw16c", "nChw", "nChw16", "nChw0c", "nChw1c", "nChw16x", "aacd", "abd"]
    + ["NCHW", "nChw17c", "nchw ", "nçhw", "nChw99999999999999999999c", "last", "abcdefghijklm", "n\0hw"],
)
def test_what_is_no_tag_is_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="layout"):
        dm.MemoryDesc((2, 16, 3, 4), "float32", tag)


def test_the_rank_of_the_tag_must_be_that_of_dims() -> None:
    with pytest.raises(ValueError, match=r"layout \('nchw'\) has 4 dimensions, dims \(2, 3\) has 2"):
        dm.MemoryDesc((2, 3), "float32", "nchw")

"""A step has all its places, which CONTRIBUTING.md lists under "A new step": those that no other test would miss."""

import re
from pathlib import Path

import pytest
import steps
from test_signatures import OTHERS, SIGNATURES

import dnnmove as dm

ROOT = Path(__file__).resolve().parent.parent
STEPS = set(dm._core._steps)
EAGER = {step for step in STEPS if hasattr(dm, step)}
# Steps with tests of their own in the tests of chains.
WITH_OWN_TESTS = {
    *("branch", "broadcast", "byteswap", "concat", "convert", "index", "reshape", "shuffle", "shuffle_channels"),
    *("split", "stack", "transpose", "variadic_split"),
}


def missing(names, where):
    return f"{', '.join(sorted(names))} must be in {where}: see 'A new step' in CONTRIBUTING.md"


def test_random_chains_take_every_step():
    lacking = STEPS - WITH_OWN_TESTS - {step.__name__ for step in steps.ALL}
    assert not lacking, missing(lacking, "tests/steps.py, with what NumPy makes of it")


def test_every_step_has_its_signature_tested():
    named = OTHERS.keys() | SIGNATURES.keys()
    lacking = (EAGER | {f"Chain.{step}" for step in STEPS}) - named
    assert not lacking, missing(lacking, "OTHERS of tests/test_signatures.py")


def test_dask_has_every_eager_function():
    pytest.importorskip("dask.array")
    from dnnmove import dask as dd

    lacking = EAGER - set(dd.__all__)
    assert not lacking, missing(lacking, "src/dnnmove/dask")
    page = (ROOT / "docs" / "dask.md").read_text()
    lacking = {step for step in EAGER if f"`{step}`" not in page}
    assert not lacking, missing(lacking, "the list of functions in docs/dask.md")


def test_the_reference_has_every_public_name():
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    public = {name for name in dm.__all__ if callable(getattr(dm, name))}
    lacking = {name for name in public if not re.search(rf"dnnmove\.{name}\b", pages)}
    assert not lacking, missing(lacking, "a page of docs/reference")

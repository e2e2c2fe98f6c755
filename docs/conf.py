"""How sphinx builds the documentation: pages in Markdown, the reference from the docstrings, pictures drawn here."""

from __future__ import annotations

import sys
from pathlib import Path

import sphinx.util.inspect

import dnnmove

sys.path.insert(0, str(Path(__file__).parent))

import pictures

project = "dnnmove"
author = "the dnnmove developers"
version = release = dnnmove.__version__
html_title = f"dnnmove {version}"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",  # for its role alone
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["generated/*.inc"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {"navigation_with_keys": False, "show_toc_level": 2, "header_links_before_dropdown": 9}
html_sidebars = {page: [] for page in ("index", "tutorial", "layouts", "engine")}  # these have nothing below them
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_sourcelink = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3  # pages link to each other's headings; a missing one is a warning, and so an error

default_role = "autolink"  # `name` in a docstring links to what has the name, where something has
autosummary_generate = False
nitpick_ignore_regex = [("py:obj", r"array|xml|copy\.\w+")]  # arguments, and what is Python's own
nitpicky = True  # a name in a docstring that links nowhere is a warning, too
autodoc_typehints = "none"  # the docstrings say it, with shapes and units
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# The methods of the extension are of a type of its own, which sphinx would list as attributes.
_is_attribute = sphinx.util.inspect.isattributedescriptor
sphinx.util.inspect.isattributedescriptor = lambda found: (
    not isinstance(found, type(dnnmove.Chain.build)) and _is_attribute(found)
)

pictures.draw_all(Path(__file__).parent / "generated")

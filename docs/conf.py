"""Sphinx settings: ``make docs`` builds the pages from nothing but this repository, without the network."""

from __future__ import annotations

import re
import sys
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

import fenchel  # noqa: E402 (from this repository)

project = "Fenchel"
author = "The Fenchel developers"
copyright = "The Fenchel developers"
release = version = fenchel.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc"]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
nitpicky = False

# the pages in Markdown: formulas, definition lists, and the headings that links point to
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

# one page for each public name, with its methods
autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "inherited-members": "object,ABC,BaseEstimator,Enum,Exception,NamedTuple,tuple,Protocol,Generic",
}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_attributes_as_param_list = True

html_theme = "pydata_sphinx_theme"
html_title = "Fenchel"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 8,
}


def relocate(app: Any, relative_path: Path, parent_docname: str, content: list[str]) -> None:
    """Point the links of CONTRIBUTING.md, which is included from the root, to their places as seen from docs/."""
    content[0] = re.sub(r"\]\(docs/", "](", re.sub(r"\]\((src|tests)/", r"](../\1/", content[0]))


def redirect(app: Any, docname: str, source: list[str]) -> None:
    """Point links to CONTRIBUTING.md, right as they are on GitHub, to the page that includes it."""
    source[0] = source[0].replace("](../CONTRIBUTING.md)", "](contributing.md)")


def skip(app: Any, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn documents, with links that lead nowhere here, and fields, which are Parameters."""
    if (getattr(member, "__module__", None) or "").startswith("sklearn"):
        return True
    described = callable(member) or isinstance(member, (property, cached_property, classmethod, staticmethod, Enum))
    return None if what != "class" or described else True


def setup(app: Any) -> None:
    """Register what Sphinx calls."""
    app.connect("include-read", relocate)
    app.connect("source-read", redirect)
    app.connect("autodoc-skip-member", skip)

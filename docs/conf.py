"""Sphinx settings: ``make docs`` builds the site from this repository, see ``docs/build.py``."""

from __future__ import annotations

import os
import re
import sys
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs")]

import fenchel  # noqa: E402 (from this repository)

project = "Fenchel"
author = "The Fenchel developers"
copyright = "The Fenchel developers"
release = version = fenchel.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]

# a reference to a name of ours that leads nowhere is an error
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(fractions|numpy|scipy|sklearn)\..*")]

# the pages in Markdown: formulas, definition lists, and the headings that links point to
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

# one page for each public name, with its methods
autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autodoc_default_options = {
    "members": True,
    "inherited-members": "object,ABC,BaseEstimator,Enum,Exception,NamedTuple,tuple,Protocol,Generic",
}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_attributes_as_param_list = True

#: the sections of the gallery in their order
GALLERY = ("certificates", "classification", "regression", "structured", "extending")
# the gallery: every script in examples/gallery runs at each build after which it or the package has changed
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("fenchel",),
    "reference_url": {"fenchel": None},
    "subsection_order": [f"../examples/gallery/{name}" for name in GALLERY],
    "thumbnail_size": (480, 320),
    "reset_modules": ("gallery_style.reset",),
    "reset_modules_order": "both",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1000,
    "remove_config_comments": True,
    "capture_repr": (),
    "image_srcset": ["2x"],
}

html_theme = "pydata_sphinx_theme"
html_title = "Fenchel"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"index": [], "getting-started": [], "choosing": [], "faq": [], "glossary": []}
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

# MathJax as docs/build.py fetched it; a site that was built without npm loads it from the network when it is read
_MATHJAX = ROOT / "out" / "site-static" / "mathjax" / "tex-chtml.js"
if _MATHJAX.exists():
    html_static_path.append("../out/site-static")
    mathjax_path = "mathjax/tex-chtml.js"


#: files elsewhere that pages of the site include
INCLUDED = {
    ROOT / "benchmarks" / "README.md": ROOT / "docs" / "benchmarks-tables.md",
    ROOT / "reproductions" / "README.md": ROOT / "docs" / "reproduction-items.md",
    **{
        ROOT / "reproductions" / name / "README.md": ROOT / "docs" / f"reproduction-{name}.md"
        for name in ("saha2009", "wang2021", "zhang2002", "zhang2012")
    },
}


def relocate(app: Any, relative_path: Path, parent_docname: str, content: list[str]) -> None:
    """Point the links of an included file, which lies elsewhere, to their places as seen from docs/."""
    folder, docs = (ROOT / "docs" / relative_path).resolve().parent, ROOT / "docs"

    def seen_from_docs(link: re.Match[str]) -> str:
        target = (folder / link["target"]).resolve()
        target = INCLUDED.get(target, target)
        seen = os.path.relpath(target, docs)
        if target.suffix == ".md" and docs not in target.parents:
            # no page of the site: a file to look into
            return "{download}`" + link["text"].replace("`", "") + f" <{seen}>`"
        return f"[{link['text']}]({seen}{link['place'] or ''})"

    pattern = r"\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<target>[^)#]+)(?P<place>#[^)]*)?\)"
    content[0] = re.sub(pattern, seen_from_docs, content[0])


def redirect(app: Any, docname: str, source: list[str]) -> None:
    """Point links to CONTRIBUTING.md, right as they are on GitHub, to the page that includes it."""
    source[0] = source[0].replace("](../CONTRIBUTING.md)", "](contributing.md)")


def skip(app: Any, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn documents, with links that lead nowhere here, and fields, which are Parameters."""
    if (getattr(member, "__module__", None) or "").startswith("sklearn"):
        return True
    described = callable(member) or isinstance(member, (property, cached_property, classmethod, staticmethod, Enum))
    return None if what != "class" or described else True


def of_package(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Find a name that a docstring of a submodule, inherited from the top level, refers to without its module."""
    if node.get("refdomain") != "py":
        return None
    for module in ("fenchel", "fenchel.plotting"):
        target = f"{module}.{node['reftarget']}"
        found = env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, contnode)
        if found is not None:
            return found
    return None


def setup(app: Any) -> None:
    """Register what Sphinx calls."""
    app.connect("include-read", relocate)
    app.connect("source-read", redirect)
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", of_package)

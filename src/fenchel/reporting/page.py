"""The page of a report: one HTML file without a network, light and dark, for desks and phones."""

from __future__ import annotations

import platform
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn

import fenchel
from fenchel.errors import FenchelError
from fenchel.markup import Markup, element, joined, table
from fenchel.replacing import replacing


class Section(NamedTuple):
    """A part of a report: its anchor, its heading and its content."""

    anchor: str
    heading: str
    content: Markup


#: no resource of the page comes from elsewhere, and no script runs
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

_STYLE = """
:root { color-scheme: light dark; --text: #1d2430; --soft: #5b6675; --page: #fbfcfd; --card: #fff; --line: #dde3ea;
  --accent: #0072b2; --good: #00795a; --warn: #a85300; }
@media (prefers-color-scheme: dark) { :root { --text: #e6eaf0; --soft: #a2adba; --page: #12161c; --card: #1a2029;
  --line: #323b47; --accent: #6fbdea; --good: #4fd3ab; --warn: #f0a35e; }
  figure img { filter: invert(1) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--text);
  background: var(--page); overflow-wrap: anywhere; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .2em 0 .5em; }
h2 { font-size: 1.2rem; margin: 0 0 .6rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem;
  margin: 1.1rem 0; }
nav { display: flex; flex-wrap: wrap; gap: .3rem .9rem; font-size: .92rem; margin: .8rem 0; }
a { color: var(--accent); }
p { margin: .45em 0; }
.lead { font-size: 1.08rem; border-left: 4px solid var(--good); padding-left: .8rem; }
.lead.open { border-color: var(--warn); }
.note { color: var(--soft); font-size: .94rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 1rem;
  align-items: start; }
.figures > *, .tiles > * { min-width: 0; }
figure { margin: .5rem 0; }
figure img { display: block; max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .9rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .7rem; margin: 1rem 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .6rem .8rem; }
.tile b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; line-height: 1.3; }
.tile span { color: var(--soft); font-size: .85rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; margin: .5rem 0; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { color: var(--soft); font-weight: 600; }
.listed td, .listed th { white-space: nowrap; padding-right: .55rem; }
.listed thead th { white-space: normal; overflow-wrap: normal; vertical-align: bottom; }
tbody th { font-weight: 500; color: var(--soft); min-width: 7rem; }
code { font: .9em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--accent); }
footer { color: var(--soft); font-size: .85rem; }
"""


def page(title: str, lead: Markup, tiles: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    """The whole file: a title, a sentence, the main figures, and the sections with links to them."""
    links = [element("a", one.heading, href=f"#{one.anchor}") for one in sections]
    cards = [element("div", element("b", value), element("span", name), class_="tile") for name, value in tiles]
    body = [element("section", element("h2", one.heading), one.content, id=one.anchor) for one in sections]
    main = element(
        "main",
        element("h1", title),
        lead,
        element("div", *cards, class_="tiles"),
        element("nav", *links, aria_label="Sections"),
        *body,
        element("footer", element("p", _made_by())),
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", content="width=device-width, initial-scale=1", name="viewport"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("title", title),
        element("style", Markup(_STYLE)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, element('body', main), lang='en')}\n"


def scrolling(header: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Markup:
    """A table that scrolls by itself on a narrow screen."""
    return element("div", table(header, rows), class_="scroll listed" if header else "scroll")


def note(words: str) -> Markup:
    """A remark, such as why a section does not apply."""
    return element("p", words, class_="note")


def folded(summary: str, *content: Markup) -> Markup:
    """Content behind a line that opens it."""
    return element("details", element("summary", summary), joined(content))


def checked_target(path: Any) -> Path:
    """The path of the file to write; an error unless it is new or a regular file in a folder that exists."""
    if not isinstance(path, (str, Path)):
        raise FenchelError(f"path must be the name of the HTML file to write, got {type(path).__name__}")
    target = Path(path)
    if target.suffix.lower() not in ("", ".html", ".htm"):
        raise FenchelError(f"path={str(target)!r} must end in .html: a report is one HTML file")
    # a link is followed; a broken one is where a new file goes
    real = target.resolve()
    if real.exists() and not stat.S_ISREG(real.stat().st_mode):
        what = "a folder" if real.is_dir() else "not a regular file"
        raise FenchelError(f"path={str(target)!r} is {what}: a report never replaces it; give the name of a file")
    if not real.parent.is_dir():
        raise FenchelError(f"path={str(target)!r}: the folder {str(real.parent)!r} does not exist; create it first")
    return target


def write(path: Path, text: str) -> Path:
    """Write the file as a whole: an interrupted write leaves the former one."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8", errors="replace"))
    return path


def _made_by() -> str:
    versions = {"NumPy": np.__version__, "SciPy": scipy.__version__, "scikit-learn": sklearn.__version__}
    made = ", ".join(f"{name} {version}" for name, version in versions.items())
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"Made by Fenchel {fenchel.__version__} on {now} (Python {platform.python_version()}, {made})."

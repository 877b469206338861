"""Finds links within a built site that lead nowhere, and files that a page would load from the network.

    python docs/links.py out/docs

Every ``href`` and ``src`` without a host must name a file of the site and, after ``#``, an id of that page.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: elements whose address is loaded with the page, unlike that of a link
LOADED = {"script", "img", "link", "iframe", "source"}


class Page(HTMLParser):
    """The addresses and the ids of one page."""

    def __init__(self, text: str) -> None:
        """Parse the text."""
        super().__init__()
        self.addresses: list[tuple[str, str]] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the element points to, and its id."""
        given = {name: value for name, value in attrs if value}
        if tag == "link" and given.get("rel") in ("canonical", "author"):
            return
        self.addresses += [(tag, given[name]) for name in ("href", "src") if name in given]
        self.ids |= {given[name] for name in ("id", "name") if name in given}


def broken(site: Path, *, remote_scripts: bool = False) -> list[str]:
    """A sentence for each link that leads nowhere, and for each file that is loaded from the network."""
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        for tag, address in page.addresses:
            problem = _problem(path, tag, address, pages, remote_scripts)
            if problem:
                found.append(f"{path.relative_to(site)}: {problem}")
    return sorted(set(found))


def _problem(path: Path, tag: str, address: str, pages: dict[Path, Page], remote_scripts: bool) -> str | None:
    parts = urlsplit(address)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        loaded = tag in LOADED and not (remote_scripts and tag == "script")
        return f"<{tag}> loads {address} from the network" if loaded else None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return f"{address} does not exist"
    known = pages[target].ids if target in pages else None
    if parts.fragment and known is not None and unquote(parts.fragment) not in known:
        return f"{address} has no such id"
    return None


if __name__ == "__main__":
    problems = broken(Path(sys.argv[1]).resolve())
    print("\n".join(problems) or "every link of the site leads somewhere")
    sys.exit(bool(problems))

"""HTML of notebooks and reports: every text is escaped, and only this file writes tags."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any


class Markup(str):
    """Text that is HTML already; any other text is escaped."""

    __slots__ = ()


#: elements without an end tag
_VOID = {"img", "meta", "br", "hr"}
#: of the tables in cards, whose columns stand apart in any notebook
_TABLE = "border-collapse:separate;border-spacing:1.1em .1em;margin:.2em 0 .2em -1.1em;font-size:90%;text-align:left"
#: of cards: proved, not proved, and wrong
PROVED, OPEN, WRONG = "#009E73", "#E69F00", "#D55E00"


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """An element with its children; ``class_`` is the attribute class, and None omits one."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    start = tag + "".join(f' {key}="{html.escape(str(value))}"' for key, value in given.items())
    if tag in _VOID:
        return Markup(f"<{start}>")
    return Markup(f"<{start}>{joined(children)}</{tag}>")


def joined(children: Iterable[Any]) -> Markup:
    """Pieces of HTML side by side; those that are no Markup are escaped."""
    return Markup("".join(one if isinstance(one, Markup) else html.escape(str(one)) for one in children))


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]], **attributes: Any) -> Markup:
    """A table; without a header the first column names the rows."""
    head = element("thead", element("tr", *(element("th", one, scope="col") for one in header))) if header else ""
    named = not header
    lines = [
        element(
            "tr",
            *(
                element("th" if named and not k else "td", cell, scope="row" if named and not k else None)
                for k, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    return element("table", *([head] if head else []), element("tbody", *lines), **attributes)


def card(shade: str, sentences: Sequence[str], header: Sequence[Any] = (), rows: Sequence[Sequence[Any]] = ()) -> str:
    """What a notebook shows of an object: sentences beside a coloured line, and a small table."""
    border = f"border-left:4px solid {shade};padding:.2em .9em;margin:.4em 0;max-width:60em"
    parts = [element("p", sentence, style="margin:.25em 0") for sentence in sentences]
    parts += [table(header, rows, style=_TABLE)] if rows else []
    return str(element("div", *parts, style=border))

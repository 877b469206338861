"""Draws docs/choosing.svg, the decision picture of docs/choosing.md: what you predict, and the estimator for it.

    python docs/decision.py

The boxes are links, and colours follow the light or dark theme of the page, so the SVG is part of the HTML.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

PICTURE = Path(__file__).with_name("choosing.svg")
WIDTH, ROW, TOP = 760, 46, 56
#: left edges and widths of the three columns: kind of target, what it is, estimator
COLUMNS = ((4, 150), (204, 270), (524, 232))


class Leaf(NamedTuple):
    """A line of the picture."""

    question: str
    estimator: str
    page: str


TREE: dict[str, list[Leaf]] = {
    "a class": [
        Leaf("two classes, or several", "LinearClassifier", "classes"),
        Leaf("positives are rare", "MeasureClassifier", "imbalanced"),
        Leaf("classes have an order", "OrdinalClassifier", "ordered"),
        Leaf("not linear in the features", "KernelClassifier", "kernels"),
        Leaf("examples arrive as a stream", "OnlineClassifier", "larger-data"),
    ],
    "a number": [
        Leaf("its mean, or a sparse model of it", "LinearRegressor", "sparse"),
        Leaf("a quantile, a count, wrong targets", "LinearRegressor(loss)", "quantiles"),
        Leaf("not linear in the features", "KernelRegressor", "kernels"),
    ],
    "a structure": [
        Leaf("several labels for each example", "MultilabelClassifier", "multilabel"),
        Leaf("the order of rows within a query", "LinearRanker", "ranking"),
        Leaf("a label for each token of a sequence", "SequenceClassifier", "sequences"),
    ],
    "weights": [
        Leaf("under constraints, or probabilities", "Problem, solve", "constraints"),
    ],
}


def picture() -> str:
    """The SVG as text."""
    rows = sum(map(len, TREE.values()))
    height = TOP + ROW * rows
    parts = [
        f'<div class="decision"><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="decision-title">',
        '<title id="decision-title">Which estimator: by what you predict</title>',
    ]
    for (left, width), title in zip(COLUMNS, ("You predict …", "… and it is", "Use"), strict=True):
        parts.append(_text(left + width / 2, 30, title, "head"))
    row = 0
    for kind, leaves in TREE.items():
        middle = TOP + ROW * (row + (len(leaves) - 1) / 2)
        for leaf in leaves:
            y = TOP + ROW * row
            parts.append(_curve(COLUMNS[0][0] + COLUMNS[0][1], middle + 17, COLUMNS[1][0], y + 17))
            parts.append(_curve(COLUMNS[1][0] + COLUMNS[1][1], y + 17, COLUMNS[2][0], y + 17))
            parts.append(_box(COLUMNS[1], y, leaf.question, "question"))
            box = _box(COLUMNS[2], y, leaf.estimator, "estimator")
            parts.append(f'<a href="{leaf.page}.html">{box}</a>')
            row += 1
        parts.append(_box(COLUMNS[0], middle, kind, "kind"))
    return "\n".join([*parts, "</svg></div>", ""])


def _box(column: tuple[int, int], y: float, text: str, kind: str) -> str:
    left, width = column
    rectangle = f'<rect x="{left}" y="{y:g}" width="{width}" height="34" rx="6" class="{kind}"/>'
    return rectangle + _text(left + width / 2, y + 22, text, f"{kind}-text")


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle" class="{kind}">{escape(text)}</text>'


def _curve(x1: float, y1: float, x2: float, y2: float) -> str:
    middle = (x1 + x2) / 2
    return f'<path d="M{x1:g},{y1:g} C{middle:g},{y1:g} {middle:g},{y2:g} {x2:g},{y2:g}"/>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")

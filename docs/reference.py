"""Writes the pages docs/api/losses.rst, regularizers.rst and risks.rst: the public names of these rooms, by section.

``make docs`` runs it, and a test keeps the pages current.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from fenchel import losses, regularizers, risks

PAGES = Path(__file__).with_name("api")
#: a heading, and whether a name belongs under it; a name goes to the first section that takes it
Section = tuple[str, Callable[[Any], bool]]

_LOSSES: list[Section] = [
    ("Base classes", lambda thing: thing not in losses.NAMED.values()),
    ("Classification", lambda loss: loss.task == "classification" and not loss.infinite),
    ("Regression", lambda loss: loss.task == "regression" and not loss.infinite),
    ("Constraints and losses that may be infinite", lambda loss: loss.infinite),
]
_REGULARIZERS: list[Section] = [
    ("Base class", lambda thing: thing in (regularizers.Regularizer, regularizers.check_regularizer)),
    ("Regularizers with a name", lambda kind: kind in regularizers.REGULARIZERS.values()),
    ("Regularizers that need an argument", lambda kind: True),
]
_RISKS: list[Section] = [
    ("Base classes", lambda kind: kind in (risks.Risk, risks.MulticlassRisk, risks.ContingencyRisk, risks.check_risk)),
    ("Means of losses", lambda kind: kind is risks.MeanRisk),
    ("Performance measures", lambda kind: kind.__module__.startswith("fenchel.risks.measures")),
    ("Rankings", lambda kind: kind in risks.RANKINGS.values()),
    ("Several classes or labels", lambda kind: True),
]
_ROOMS: list[tuple[ModuleType, str, str, list[Section]]] = [
    (
        losses,
        "Losses",
        "Functions :math:`f(s, y)` of one score and one label, for :class:`fenchel.risks.MeanRisk` and the ``loss`` of "
        "estimators.",
        _LOSSES,
    ),
    (
        regularizers,
        "Regularizers",
        r"Functions :math:`\Omega(w)` of the weights, for the ``regularizer`` of problems and estimators.",
        _REGULARIZERS,
    ),
    (risks, "Risks", "Functions :math:`R(s)` of all scores, for the ``risk`` of problems.", _RISKS),
]


def pages() -> dict[Path, str]:
    """The text of every page."""
    return {PAGES / f"{room.__name__.rpartition('.')[2]}.rst": _page(room, *rest) for room, *rest in _ROOMS}


def _page(room: ModuleType, title: str, purpose: str, sections: list[Section]) -> str:
    title = f"{title} ({room.__name__})"
    parts = [f"{title}\n{'=' * len(title)}\n", f".. module:: {room.__name__}\n", f"{purpose}\n"]
    # constants are not classes or functions
    names = [name for name in room.__all__ if callable(getattr(room, name))]
    for heading, belongs in sections:
        own = [name for name in names if belongs(getattr(room, name))]
        names = [name for name in names if name not in own]
        parts.append(f"{heading}\n{'-' * len(heading)}\n")
        parts.append("\n   ".join([".. autosummary::", ":toctree: generated", ":nosignatures:\n", *own]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")

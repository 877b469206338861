"""The sections about predictions: thresholds, and which predictions are proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fenchel.certificate import CertifiedPredictions
from fenchel.errors import FenchelError
from fenchel.estimators.proved import ProvedPredictions
from fenchel.markup import Markup, element, joined
from fenchel.plotting import plot_thresholds
from fenchel.reporting.figures import picture, side_by_side
from fenchel.reporting.page import Section, note, scrolling
from fenchel.reporting.subject import Rows, Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def thresholds_section(subject: Subject) -> Section:
    """The measure against the threshold, on training and on held-out data."""
    parts: list[Markup] = []
    try:
        parts.append(side_by_side(*(_thresholds(subject, rows, name) for name, rows in _parts(subject))))
        used = subject.fitted.get("thresholds_")
        if used is not None:
            shown = ", ".join(f"{value:.5g}" for value in np.atleast_1d(used)[:12])
            parts.append(note(f"Thresholds of the scores X w in use: {shown}{', …' if np.size(used) > 12 else ''}."))
    except FenchelError as refusal:
        parts = [note(f"{refusal}.")]
    return Section("thresholds", "Thresholds", joined(parts))


def _parts(subject: Subject) -> list[tuple[str, Rows]]:
    held = [] if subject.test is None else [("held-out data", subject.test)]
    return [("training data", subject.train), *held]


def _thresholds(subject: Subject, rows: Rows, name: str) -> Markup:
    def draw(ax: Axes) -> None:
        ax.set_title(f"Measure and threshold ({name})", fontsize="medium")
        plot_thresholds(subject.estimator, rows.X, rows.y, ax=ax)

    return picture(draw, f"The measure against the threshold, {name}")


def proved_section(subject: Subject) -> Section:
    """The share of predictions that every exact optimum makes."""
    heading = "Proved predictions"
    if not isinstance(subject.estimator, ProvedPredictions):
        why = f"{subject.name} does not prove predictions: LinearClassifier, LinearRegressor and their relatives do."
        return Section("proved", heading, note(why))
    try:
        found = [(name, subject.estimator.certified_predictions(rows.X)) for name, rows in _parts(subject)]
    except FenchelError as refusal:
        return Section("proved", heading, note(f"{subject.name} does not prove its predictions: {refusal}."))
    cells = [(name, f"{len(one.proved):,}", *_figures(one)) for name, one in found]
    second = "median half-width" if found[0][1].kind == "score" else "predictions proved"
    words = element("p", str(found[-1][1]))
    return Section("proved", heading, joined([words, scrolling(("data", "rows", second), cells)]))


def _figures(found: CertifiedPredictions) -> tuple[str]:
    if found.kind != "score":
        return (f"{int(np.sum(found.proved)):,} ({found.share_proved:.2%})",)
    half = 0.5 * (found.upper - found.lower)
    return (f"{float(np.median(half)):.3g}" if half.size else "0",)

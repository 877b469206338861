"""The measure of a classifier against the threshold of its scores, with the chosen threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fenchel.arrays import ArrayLike, Floats, MatrixLike
from fenchel.estimators.threshold_curves import ThresholdCurve, curves_of_scores, threshold_curves
from fenchel.plotting.display import Display
from fenchel.plotting.models import fitted_part
from fenchel.plotting.style import PALETTE, colour, finish, one_axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: points of a curve: more are not seen
_MOST_POINTS = 1000
#: share of the scores that is drawn on either side of the chosen threshold at least
_TAIL = 0.002


@dataclass
class ThresholdDisplay(Display):
    """Picture of a measure against the threshold.

    Parameters
    ----------
    curves : sequence of ThresholdCurve
        The measure as a function of each threshold of the model.
    measure : str
        The measure in words.
    title : str, default=""
        The title of the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the picture.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : list of matplotlib Line2D
        The curves.
    line_ : matplotlib Line2D
        The first of them.

    See Also
    --------
    plot_thresholds : Draw it in one call.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from fenchel.plotting import ThresholdDisplay
    >>> display = ThresholdDisplay.from_predictions([0, 1, 0, 1], [-1.0, 0.5, 0.2, 2.0])
    >>> display.ax_.get_ylabel()
    'F1'
    """

    curves: Sequence[ThresholdCurve]
    measure: str
    title: str = ""

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike,
        y: ArrayLike,
        *,
        measure: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the measure of a fitted classifier on these rows.

        Parameters
        ----------
        model : fitted classifier
            A MeasureClassifier, MultilabelClassifier or OrdinalClassifier, or a classifier of two classes.
        X, y : array-like
            Rows and their labels.
        measure : str or callable, default=None
            The measure, as in MeasureClassifier; None is that of the model, else "f1".
        name : str, default=None
            The name of a single curve in the legend, such as "held-out".
        ax : matplotlib Axes, default=None
            The axes to draw on.

        Returns
        -------
        ThresholdDisplay
            The picture.
        """
        found = threshold_curves(model, X, y, measure)
        title = f"Thresholds of {type(fitted_part(model)).__name__}"
        return cls(_named(found.curves, name), found.measure, title).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        scores: Any,
        *,
        threshold: float = 0.0,
        measure: Any = "f1",
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the measure of given scores of two classes.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            The labels.
        scores : array-like of shape (n,)
            Larger ones speak for the positive label.
        threshold : float, default=0.0
            The threshold in use.
        measure : str or callable, default="f1"
            The measure, as in MeasureClassifier.
        pos_label : object, default=None
            The positive label; None is the second of the sorted ones.
        name : str, default=None
            The name of the curve in the legend.
        ax : matplotlib Axes, default=None
            The axes to draw on.

        Returns
        -------
        ThresholdDisplay
            The picture.
        """
        found = curves_of_scores(y_true, scores, threshold, measure, pos_label)
        return cls(_named(found.curves, name), found.measure, "Thresholds").plot(ax)

    def _drawn(self, ax: Axes) -> Any:
        ax = one_axes("plot_thresholds", ax)
        # on axes that have curves already the colours go on
        first, self.lines_ = len(ax.get_lines()) // 2, []
        shown = self.curves[: len(PALETTE)]
        for k, curve in enumerate(shown):
            x, values = _thinned(curve)
            own = {"color": colour(first + k)}
            known = np.isfinite(curve.value)
            label = f"{short(curve.label)}: {f'{curve.value:.3g}' if known else 'not defined'} at {curve.chosen:.3g}"
            alone = "." if np.sum(np.isfinite(values)) < 3 else None
            self.lines_ += ax.plot(x, values, linewidth=1.5, marker=alone, label=label, **own)
            if known:
                ax.plot([curve.chosen], [curve.value], "o", markersize=7, markeredgecolor="white", zorder=3, **own)
            else:
                ax.axvline(curve.chosen, linestyle="--", linewidth=1, **own)
        left = len(self.curves) - len(shown)
        more = f" ({left} more not drawn)" if left > 0 else ""
        finish(ax, self.title + more, xlabel="threshold of the score", ylabel=self.measure)
        self._scale(ax, shown)
        ax.legend(frameon=False, fontsize="small", title="at the threshold in use (dot)", title_fontsize="small")
        self.line_ = self.lines_[0]
        return ax

    @staticmethod
    def _scale(ax: Axes, shown: Sequence[ThresholdCurve]) -> None:
        """Without the tails of a few extreme scores, but with every threshold in use."""
        chosen = [curve.chosen for curve in shown]
        low = min([*chosen, *(float(np.quantile(curve.thresholds, _TAIL)) for curve in shown)])
        high = max([*chosen, *(float(np.quantile(curve.thresholds, 1.0 - _TAIL)) for curve in shown)])
        margin = 0.04 * (high - low) or 1.0
        ax.set_xlim(low - margin, high + margin)


def plot_thresholds(
    model: Any, X: MatrixLike, y: ArrayLike, *, measure: Any = None, name: str | None = None, ax: Axes | None = None
) -> Any:
    """Draw the measure of a classifier on these rows against the threshold of its scores.

    Parameters
    ----------
    model : fitted classifier
        A MeasureClassifier, MultilabelClassifier or OrdinalClassifier, or any classifier of two classes with a
        ``decision_function``.  A dot marks the threshold in use.
    X, y : array-like
        Rows and their labels, of the training or held out.
    measure : str or callable, default=None
        The measure, as in :class:`MeasureClassifier`; None is that of the model, and "f1" for a model without one.  For
        ordered classes it is the share of examples on the wrong side of each threshold.
    name : str, default=None
        The name of a single curve in the legend, such as "held-out"; None is the positive label.
    ax : matplotlib Axes, default=None
        The axes to draw on; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes of the drawing.

    See Also
    --------
    MeasureClassifier : Chooses the threshold that is best for its measure.
    fenchel.plotting.ThresholdDisplay : The same with access to its lines, and from given scores.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_classification
    >>> from fenchel import MeasureClassifier, plot_thresholds
    >>> X, y = make_classification(300, weights=[0.8], random_state=0)
    >>> ax = plot_thresholds(MeasureClassifier("f1", random_state=0).fit(X, y), X, y)
    >>> ax.get_ylabel()
    'F1'
    """
    return ThresholdDisplay.from_estimator(model, X, y, measure=measure, name=name, ax=ax).ax_


def _named(curves: list[ThresholdCurve], name: str | None) -> list[ThresholdCurve]:
    """The curves, with this name if there is one only."""
    return [curves[0]._replace(label=name)] if name is not None and len(curves) == 1 else curves


def _thinned(curve: ThresholdCurve) -> tuple[Floats, Floats]:
    """The points of a curve, at most ``_MOST_POINTS`` of them."""
    count = len(curve.thresholds)
    places = np.unique(np.linspace(0, count - 1, min(count, _MOST_POINTS)).astype(np.int64))
    return curve.thresholds[places], curve.values[places]

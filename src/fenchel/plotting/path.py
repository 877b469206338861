"""Regularization paths: weights with names, the objective within its proved band, and the proved gap for every C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fenchel.arrays import Floats
from fenchel.certificate import Certificate
from fenchel.errors import FenchelError
from fenchel.plotting.display import Display
from fenchel.plotting.models import attributes, feature_names
from fenchel.plotting.style import NOTE, PALETTE, PROVED, beside, checked_axes, counted, finish, pyplot, short

#: values of C at which the gap between the points of a path is drawn, and weights that are drawn at most
_VALUES, _LINES = 400, 30
#: points of a path up to which each has a marker; of more, the gap is drawn as the largest one of each stretch of C,
#: since a peak between each two points would be one dark area
_MARKED, _STRETCHES = 60, 60
#: weights with a name and a colour of their own
_NAMED = len(PALETTE)
#: decades of the axis of gaps below the largest one
_DECADES = 6


@dataclass
class PathDisplay(Display):
    """Picture of a regularization path.

    Parameters
    ----------
    path : RegularizationPath
        The result of :func:`fenchel.regularization_path`.
    feature_names : sequence of str, default=None
        Names of the features; None numbers them.

    Attributes
    ----------
    ax_ : sequence of matplotlib Axes
        The axes of the weights, of the objective if there are three, and of the gap.
    figure_ : matplotlib Figure
        The figure of the weights.
    lines_ : list of matplotlib Line2D
        The lines of the named weights, largest first.
    others_ : list of matplotlib Line2D
        The lines of the other weights.
    gap_line_ : matplotlib Line2D
        The gap that is proved for every C.

    See Also
    --------
    plot_path : Draw it in one call.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_classification
    >>> from fenchel import regularization_path
    >>> from fenchel.plotting import PathDisplay
    >>> X, y = make_classification(60, 5, random_state=0)
    >>> display = PathDisplay.from_path(regularization_path(X, y, Cs=[0.01, 0.1, 1.0], random_state=0))
    >>> len(display.lines_)
    5
    """

    path: Any
    feature_names: Sequence[str] | None = None

    @classmethod
    def from_path(cls, path: Any, *, feature_names: Sequence[str] | None = None, ax: Any = None) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : RegularizationPath
            The result of :func:`fenchel.regularization_path`.
        feature_names : sequence of str, default=None
            Names of the features.
        ax : matplotlib Axes or a sequence of two or three of them, default=None
            The axes to draw on; one is divided into two.

        Returns
        -------
        PathDisplay
            The picture.
        """
        if "coefs" not in attributes(path):
            raise FenchelError(
                f"path must be a RegularizationPath, as regularization_path returns, got {type(path).__name__}"
            )
        return cls(path, feature_names).plot(ax)

    def _drawn(self, ax: Any) -> Any:
        names = self._names()
        plt = pyplot("plot_path")
        if ax is None:
            ax = plt.subplots(2, 1, figsize=(7.2, 6.4), sharex=True, layout="constrained", height_ratios=(1.4, 1.0))[1]
        if np.size(ax) == 1:
            ax = _two_in_one(np.ravel(ax)[0])
        if np.size(ax) not in (2, 3):
            raise FenchelError(
                "ax must be two matplotlib Axes, for the weights and for the gap, or three, with the objective between "
                f"them, or one, which is divided, got {np.size(ax)}"
            )
        for each in ax:
            checked_axes(each)
        values = np.unique(np.concatenate([np.geomspace(self.path.Cs[0], self.path.Cs[-1], _VALUES), self.path.Cs]))
        # rounding moves the ends
        proved = [self.path.at(C)[2] for C in np.clip(values, self.path.Cs[0], self.path.Cs[-1])]
        self._draw_weights(ax[0], names)
        if np.size(ax) == 3:
            self._draw_objective(ax[1], values, proved)
        self._draw_gap(ax[-1], values, proved)
        return ax

    def _names(self) -> list[str]:
        """A name for each weight, those of all classes side by side."""
        *_, features = self.path.coefs.shape
        names = feature_names(self.path, features, self.feature_names)
        if self.path.coefs.ndim == 2:
            return names
        return [f"{name}, {label}" for label in self.path.classes for name in names]

    def _draw_weights(self, ax: Any, names: Sequence[str]) -> None:
        coefs = self.path.coefs.reshape(len(self.path.Cs), -1)
        sizes = np.max(np.abs(coefs), axis=0)
        order = np.argsort(-sizes, kind="stable")
        # a weight that is never used is no line
        shown = [k for k in order[:_LINES] if sizes[k] > 0.0]
        marker = {"marker": "o", "markersize": 3} if len(self.path.Cs) < 8 else {}
        self.lines_, self.others_ = [], []
        for place, k in enumerate(shown[:_NAMED]):
            own = {"color": PALETTE[place], "linewidth": 1.8, "label": short(names[k], 22)}
            self.lines_ += ax.plot(self.path.Cs, coefs[:, k], **own, **marker)
        for k in shown[_NAMED:]:
            self.others_ += ax.plot(self.path.Cs, coefs[:, k], linewidth=0.8, color="0.75", zorder=1, **marker)
        if self.others_:
            self.others_[0].set_label(counted(len(self.others_), "other weight"))
        ax.axhline(0.0, color="0.4", linewidth=0.8, zorder=0)
        used = int(np.sum(sizes > 0.0))
        weights = counted(len(names), "weight")
        weights = f"{used:,} of {weights} used" if used < len(names) else weights
        title = f"Regularization path: {counted(len(self.path.Cs), 'point')}, {weights}"
        finish(ax, title, xscale="log", ylabel="weight")
        if shown:
            beside(ax)

    def _draw_objective(self, ax: Any, values: Floats, proved: Sequence[Certificate]) -> None:
        upper, lower = [one.upper for one in proved], [one.lower for one in proved]
        ax.fill_between(values, lower, upper, color=PROVED, alpha=0.3, linewidth=0, label="proved: the optimum is here")
        ax.plot(values, upper, color=PROVED, linewidth=1, label="objective of the model")
        finish(ax, "", xscale="log", ylabel="objective")
        beside(ax)

    def _draw_gap(self, ax: Any, values: Floats, proved: Sequence[Certificate]) -> None:
        between, points = (_resolved(found) for found in (proved, self.path.certificates))
        label = "proved for every C"
        if len(self.path.Cs) > _MARKED:
            between, label = _largest_of_stretches(between), "proved for every C (its peaks)"
        tops = [gap for gap in (*between, *points) if np.isfinite(gap)]
        tops += [] if self.path.accuracy is None else [self.path.accuracy]
        top = max(tops, default=1.0)
        bottom = min(max(min(tops, default=top) / 3.0, top * 10.0**-_DECADES), top / 20.0)
        heights = np.where(np.isfinite(between), np.maximum(between, bottom), bottom)
        ax.fill_between(values, bottom, heights, color=PROVED, alpha=0.25, linewidth=0)
        (self.gap_line_,) = ax.plot(values, heights, color=PROVED, linewidth=1.2, label=label)
        if len(self.path.Cs) <= _MARKED:
            self._draw_points(ax, points, bottom)
        if self.path.accuracy is not None:
            label = f"accuracy = {self.path.accuracy:g}"
            ax.axhline(self.path.accuracy, linestyle="--", linewidth=1, color=NOTE, label=label)
        finish(ax, "", xscale="log", yscale="log", xlabel="C", ylabel="certified relative gap")
        ax.set_ylim(bottom, 2.0 * top)
        beside(ax)

    def _draw_points(self, ax: Any, points: Floats, bottom: float) -> None:
        seen = np.isfinite(points) & (points >= bottom)
        ax.plot(self.path.Cs[seen], points[seen], "o", color=PALETTE[0], markersize=4, label="points of the path")
        if not np.all(seen):
            below = "within rounding" if not np.any(np.isfinite(points[~seen])) else f"below {bottom:.0e}"
            ax.plot(self.path.Cs[~seen], np.full(int(np.sum(~seen)), bottom), "v", color=PALETTE[0], markersize=5,
                    markerfacecolor="none", clip_on=False, label=f"points of the path, {below}")  # fmt: skip


def _two_in_one(ax: Any) -> list[Any]:
    """Two Axes, one below the other, in the place of a subplot."""
    place = checked_axes(ax).get_subplotspec()
    if place is None:
        raise FenchelError("ax must be a subplot, as plt.subplots()[1] is, to be divided; or pass two Axes")
    ax.set_axis_off()
    grid = place.subgridspec(2, 1, height_ratios=(1.4, 1.0))
    upper = ax.figure.add_subplot(grid[0])
    return [upper, ax.figure.add_subplot(grid[1], sharex=upper)]


def _largest_of_stretches(gaps: Floats) -> Floats:
    """Each gap replaced by the largest one of its stretch of neighbours; NaN where none is resolved."""
    stretches = np.array_split(gaps, min(_STRETCHES, len(gaps)))
    return np.concatenate([np.full(len(one), np.fmax.reduce(one)) for one in stretches])


def _resolved(certificates: Sequence[Certificate]) -> Floats:
    """The relative gaps; NaN where they are rounding."""
    return np.array([np.nan if one.at_floor else one.relative_gap for one in certificates])


def plot_path(path: Any, *, ax: Any = None, feature_names: Sequence[str] | None = None) -> Any:
    """Draw a regularization path: the weights, and the relative duality gap proved for every C.

    Parameters
    ----------
    path : RegularizationPath
        The result of :func:`regularization_path`.  The 8 weights that become largest have names and colours; with more
        than 30 weights, the 30 that become largest are drawn.
    ax : matplotlib Axes or a sequence of two or three of them, default=None
        The axes to draw on, the weights on the first and the gap on the last; with three, the objective and the band in
        which the optimum is proved to lie are on the second.  One is divided into two.  None makes a new figure.
    feature_names : sequence of str, default=None
        Names of the features; None numbers them, x0, x1, ….

    Returns
    -------
    sequence of matplotlib Axes
        The axes of the weights and of the certified relative gap.

    See Also
    --------
    regularization_path : Fit a model for many values of C.
    plot_convergence : Draw the duality gap of one fit over time.
    fenchel.plotting.PathDisplay : The same with access to its lines.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_classification
    >>> from fenchel import plot_path, regularization_path
    >>> X, y = make_classification(60, 5, random_state=0)
    >>> path = regularization_path(X, y, Cs=[0.01, 0.1, 1.0], random_state=0)
    >>> weights, gap = plot_path(path)
    >>> gap.get_ylabel()
    'certified relative gap'
    """
    return PathDisplay.from_path(path, feature_names=feature_names, ax=ax).ax_

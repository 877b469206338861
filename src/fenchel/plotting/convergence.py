"""How the proved gap fell: certificates as markers, the solver's own estimate dashed, several models overlaid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fenchel.plotting.display import Display
from fenchel.plotting.gap_curves import MOST_NAMED, GapCurve, curves_and_title
from fenchel.plotting.style import (
    MARKERS,
    NOTE,
    beside,
    colour,
    counted,
    dash,
    finish,
    foreground,
    one_axes,
    scale_axis,
    short,
)
from fenchel.validation import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: relative gaps below this are rounding, whatever the objective
_SMALLEST = 1e-16
#: the axis ends at most this factor above tol and the gaps: estimates of the first epoch may be huge
_HIGHEST = 30.0
#: certificates of a curve with a marker each; of more some have one, since they would cover the line
_MOST_MARKERS = 30
#: ratio of the times or passes of several models from which their axis is logarithmic
_LOG_FROM = 6.0


@dataclass
class ConvergenceDisplay(Display):
    """Picture of the relative duality gaps that fits proved over time.

    Parameters
    ----------
    curves : list of GapCurve
        The proved and the expected gaps of each solve.
    title : str, default=""
        The title of the picture.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the picture.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : list of matplotlib Line2D
        The line of each curve, with a marker for each certificate.
    estimates_ : list of matplotlib Line2D
        The dashed lines of the solvers' own estimates, for curves that have some.

    See Also
    --------
    plot_convergence : Draw it in one call.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import LinearClassifier
    >>> from fenchel.plotting import ConvergenceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearClassifier(random_state=0).fit(X[:100], y[:100])
    >>> display = ConvergenceDisplay.from_estimator(model, against="passes")
    >>> display.ax_.get_xlabel()
    'passes over the data'
    """

    curves: Sequence[GapCurve]
    title: str = ""

    @classmethod
    def from_estimator(
        cls, model: Any, *, ax: Axes | None = None, against: str = "seconds", labels: Any = None
    ) -> Self:
        """Draw the trace of a fitted estimator or a Solution, or of several of them.

        Parameters
        ----------
        model : fitted estimator, Solution, or a sequence or mapping of them
            What is drawn; the keys of a mapping are labels.
        ax : matplotlib Axes, default=None
            The axes to draw on; None makes a new figure.
        against : {"seconds", "passes"}, default="seconds"
            The horizontal axis.
        labels : sequence of str, default=None
            Names of several models for the legend.

        Returns
        -------
        ConvergenceDisplay
            The picture.
        """
        check_choice("against", against, ("seconds", "passes"))
        return cls(*curves_and_title(model, labels)).plot(ax, against=against)

    def plot(self, ax: Axes | None = None, *, against: str = "seconds") -> Self:
        """Draw on these axes, or on those of a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on.
        against : {"seconds", "passes"}, default="seconds"
            The horizontal axis.

        Returns
        -------
        ConvergenceDisplay
            The picture.
        """
        return self._keep(self._drawn(ax, against))

    def _drawn(self, ax: Axes, against: str = "seconds") -> Any:
        ax = one_axes("plot_convergence", ax)
        several = len(self.curves) > MOST_NAMED and len({curve.label for curve in self.curves}) == 1
        self.lines_: list[Any] = []
        self.estimates_: list[Any] = []
        for k, curve in enumerate(self.curves):
            own = {"color": colour(0), "alpha": 0.5} if several else {"color": colour(k), "linestyle": dash(k)}
            label = counted(len(self.curves), "problem") if several and not k else None
            self._draw_curve(
                ax,
                curve,
                against,
                own,
                label if several else short(curve.label, 40),
                "o" if several else MARKERS[k % 8],
            )
        if self.estimates_:
            # of all curves alike
            ax.plot([], [], color=NOTE, linestyle=(0, (3, 2)), linewidth=1, label="estimate of the solver")
        self._tolerances(ax)
        floor = max(
            (curve.floor for curve in self.curves if np.min(curve.gaps, initial=1.0) <= curve.floor), default=0.0
        )
        if floor > 0.0:
            ax.axhspan(0.0, floor, color=NOTE, alpha=0.15, linewidth=0, label="rounding")
        finish(ax, self.title, xlabel="seconds" if against == "seconds" else "passes over the data")
        self._scale(ax, against)
        ax.set_ylabel("certified relative gap")
        beside(ax)
        return ax

    def _draw_curve(
        self, ax: Axes, curve: GapCurve, against: str, own: dict[str, Any], label: Any, marker: str
    ) -> None:
        x = curve.seconds if against == "seconds" else curve.passes
        estimated = curve.expected_seconds if against == "seconds" else curve.expected_passes
        heights = np.maximum(curve.gaps, max(curve.floor, _SMALLEST))
        if len(estimated):
            dashed = {**own, "linestyle": (0, (3, 2)), "alpha": 0.8, "linewidth": 1}
            expected = np.maximum(curve.expected_gaps, max(curve.floor, _SMALLEST))
            self.estimates_ += ax.plot(estimated, expected, **dashed)
        every = max(1, len(x) // _MOST_MARKERS)
        marks = {"marker": marker, "markersize": 5, "markevery": every}
        self.lines_ += ax.plot(x, heights, linewidth=1.5, label=label, **marks, **own)

    def _tolerances(self, ax: Axes) -> None:
        for tol in sorted({curve.tol for curve in self.curves if curve.tol > 0.0}):
            ax.axhline(tol, linestyle=":", linewidth=1.6, color=foreground(), label=f"tol = {tol:g}")

    def _scale(self, ax: Axes, against: str) -> None:
        """Logarithmic axes, without the decades that only the estimates of the first epoch reach."""
        x = np.concatenate([curve.seconds if against == "seconds" else curve.passes for curve in self.curves])
        # of several models the fastest is to be seen beside the slowest
        scale_axis(ax, x.tolist(), _LOG_FROM if len(self.curves) > 1 else 10.0 * _LOG_FROM)
        if ax.get_xscale() == "linear":
            # a fit with one certificate would be a point without a scale
            ax.set_xlim(left=0.0)
        ax.set_yscale("log")
        gaps = np.concatenate([np.maximum(curve.gaps, max(curve.floor, _SMALLEST)) for curve in self.curves])
        known = [*gaps.tolist(), *(curve.tol for curve in self.curves if curve.tol > 0.0)]
        if known:
            ax.set_ylim(0.3 * min(known), max(_HIGHEST * min(known), 3.0 * max(known)))


def plot_convergence(model: Any, *, ax: Axes | None = None, against: str = "seconds", labels: Any = None) -> Any:
    """Draw how the certified relative duality gap fell during a fit, or during several.

    Certificates are markers.  Dashed is the gap that the solver itself expected in between, which proves nothing.

    Parameters
    ----------
    model : fitted estimator, Solution, or a sequence or mapping of them
        Its ``trace_`` or ``trace`` is drawn: one line for each problem that was solved.  Several models, as a list or
        with their names as a dict, have one line each, with the sum of their problems.
    ax : matplotlib Axes, default=None
        The axes to draw on; None makes a new figure.
    against : {"seconds", "passes"}, default="seconds"
        The horizontal axis: seconds, or passes over the data.
    labels : sequence of str, default=None
        Names of several models for the legend; None names their classes and solvers.

    Returns
    -------
    matplotlib Axes
        The axes of the drawing.

    See Also
    --------
    plot_path : Draw a regularization path.
    fenchel.plotting.ConvergenceDisplay : The same with access to its lines.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import LinearClassifier, plot_convergence
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_convergence(LinearClassifier(random_state=0).fit(X[:100], y[:100]), against="passes")
    >>> ax.get_xlabel()
    'passes over the data'
    """
    return ConvergenceDisplay.from_estimator(model, ax=ax, against=against, labels=labels).ax_

"""How the proved gap fell: certificates as markers, the solver's own estimate dashed, several models overlaid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Self

import numpy as np

from fenchel.arrays import Floats
from fenchel.certificate import Certificate
from fenchel.errors import FenchelError
from fenchel.plotting.models import attributes, fitted_part, problem_names
from fenchel.plotting.style import (
    MARKERS,
    NOTE,
    beside,
    checked_axes,
    colour,
    counted,
    dash,
    finish,
    one_axes,
    scale_of,
    short,
)
from fenchel.solving.solution import Solution, TracePoint
from fenchel.validation import check_choice

#: problems of one model, up to which each has a colour and a name of its own
_MOST_NAMED = 8
#: relative gaps below this are rounding, whatever the objective
_SMALLEST = 1e-16
#: the axis ends at most this factor above tol and the gaps: estimates of the first epoch may be huge
_HIGHEST = 30.0
#: ratio of the times or passes of several models from which their axis is logarithmic
_LOG_FROM = 6.0


class GapCurve(NamedTuple):
    """The relative gaps that a solve proved, and those that its solver expected in between.

    Parameters
    ----------
    label : str
        The name in the legend.
    seconds, passes, gaps : ndarray
        Of the certificates: the time, the passes over the data, and the relative gap that is proved.
    expected_seconds, expected_passes, expected_gaps : ndarray
        The same of the solver's estimates.
    floor : float, default=0.0
        The relative rounding floor of the last certificate; 0 if unknown.
    tol : float, default=0.0
        The relative gap that was asked for; 0 if unknown.

    See Also
    --------
    ConvergenceDisplay : Draws several of them.

    Examples
    --------
    >>> from fenchel.plotting import GapCurve
    >>> GapCurve.point("another library", seconds=0.5, gap=1e-3).label
    'another library'
    """

    label: str
    seconds: Floats
    passes: Floats
    gaps: Floats
    expected_seconds: Floats
    expected_passes: Floats
    expected_gaps: Floats
    floor: float = 0.0
    tol: float = 0.0

    @classmethod
    def point(cls, label: str, seconds: float, gap: float) -> Self:
        """One certificate of a model that another library fitted in so many seconds."""
        none = np.zeros(0)
        return cls(label, np.array([seconds]), np.array([math.nan]), np.array([gap]), none, none, none)


@dataclass
class ConvergenceDisplay:
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
    def from_estimator(cls, model: Any, *, ax: Any = None, against: str = "seconds", labels: Any = None) -> Self:
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
        return cls(*_curves_and_title(model, labels)).plot(ax, against=against)

    def plot(self, ax: Any = None, *, against: str = "seconds") -> Self:
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
        ax = one_axes("plot_convergence", None if ax is None else checked_axes(ax))
        several = len(self.curves) > _MOST_NAMED and len({curve.label for curve in self.curves}) == 1
        self.lines_: list[Any] = []
        self.estimates_: list[Any] = []
        for k, curve in enumerate(self.curves):
            own = {"color": colour(0), "alpha": 0.5} if several else {"color": colour(k), "linestyle": dash(k)}
            label = counted(len(self.curves), "problem") if several and not k else None
            self._draw(ax, curve, against, own, label if several else short(curve.label, 40), MARKERS[k % 8])
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
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(self, ax: Any, curve: GapCurve, against: str, own: dict[str, Any], label: Any, marker: str) -> None:
        x = curve.seconds if against == "seconds" else curve.passes
        estimated = curve.expected_seconds if against == "seconds" else curve.expected_passes
        heights = np.maximum(curve.gaps, max(curve.floor, _SMALLEST))
        if len(estimated):
            dashed = {**own, "linestyle": (0, (3, 2)), "alpha": 0.8, "linewidth": 1}
            expected = np.maximum(curve.expected_gaps, max(curve.floor, _SMALLEST))
            self.estimates_ += ax.plot(estimated, expected, **dashed)
        self.lines_ += ax.plot(x, heights, marker=marker, markersize=5, linewidth=1.5, label=label, **own)

    def _tolerances(self, ax: Any) -> None:
        for tol in sorted({curve.tol for curve in self.curves if curve.tol > 0.0}):
            ax.axhline(tol, linestyle=":", linewidth=1.6, color="0.2", label=f"tol = {tol:g}")

    def _scale(self, ax: Any, against: str) -> None:
        """Logarithmic axes, without the decades that only the estimates of the first epoch reach."""
        x = np.concatenate([curve.seconds if against == "seconds" else curve.passes for curve in self.curves])
        # of several models the fastest is to be seen beside the slowest
        ax.set_xscale(scale_of(x.tolist(), _LOG_FROM if len(self.curves) > 1 else 10.0 * _LOG_FROM))
        ax.set_yscale("log")
        gaps = np.concatenate([np.maximum(curve.gaps, max(curve.floor, _SMALLEST)) for curve in self.curves])
        known = [*gaps.tolist(), *(curve.tol for curve in self.curves if curve.tol > 0.0)]
        if known:
            ax.set_ylim(0.3 * min(known), max(_HIGHEST * min(known), 3.0 * max(known)))


def plot_convergence(model: Any, *, ax: Any = None, against: str = "seconds", labels: Any = None) -> Any:
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


def _curves_and_title(model: Any, labels: Any) -> tuple[list[GapCurve], str]:
    if isinstance(model, Mapping):
        if labels is not None:
            raise FenchelError("labels are for a sequence of models: the keys of a mapping are the labels")
        return [total_curve(one, str(label)) for label, one in model.items()], "Convergence"
    if isinstance(model, (list, tuple)) and not isinstance(model, GapCurve):
        names = [None] * len(model) if labels is None else list(labels)
        if not model or len(names) != len(model):
            raise FenchelError(f"labels must have a name for each of the {len(model)} models, got {len(names)}")
        return [total_curve(one, label) for one, label in zip(model, names, strict=True)], "Convergence"
    if labels is not None and (isinstance(labels, str) or len(labels) != 1):
        raise FenchelError(f"labels must be a sequence of one name for one model, got {labels!r}")
    traces, solved = _traces(model), fitted_part(model)
    name, solver = type(solved).__name__, _solver_of(solved)
    title = f"Convergence of {name} ({short(solver, 50)})" if solver else f"Convergence of {name}"
    if len(traces) == 1:
        return [_curve(traces[0], "certificates" if labels is None else str(labels[0]), solved)], title
    problems = problem_names(solved, len(traces))
    # too many for a legend
    problems = [""] * len(problems) if len(problems) > _MOST_NAMED else problems
    return [
        _curve(trace, label, solved, k) for k, (trace, label) in enumerate(zip(traces, problems, strict=True))
    ], title


def _traces(model: Any) -> list[Sequence[TracePoint]]:
    """The certificates of each problem that was solved."""
    solved = fitted_part(model)
    fitted = attributes(solved)
    trace = fitted.get("trace_") or fitted.get("trace")
    if not isinstance(trace, list) or not trace:
        raise FenchelError(
            f"model must be a fitted estimator or a Solution, whose trace is drawn, got {type(solved).__name__}: call "
            "fit or solve first"
        )
    return trace if isinstance(trace[0], list) else [trace]


def _solver_of(model: Any) -> str:
    return str(model.solver if isinstance(model, Solution) else attributes(model).get("solver_", ""))


def certificates_of(model: Any) -> list[Certificate]:
    """The certificates of the problems of a fitted estimator or a Solution; none if it has none."""
    if isinstance(model, Solution):
        return [model.certificate]
    return list(attributes(model).get("certificates_", ()))


def _curve(trace: Sequence[TracePoint], label: str, model: Any, problem: int = 0) -> GapCurve:
    """The curve of one problem: the best model and the best bound so far, as the certificate keeps them."""
    primal = np.minimum.accumulate([point.primal for point in trace])
    dual = np.maximum.accumulate([point.dual for point in trace])
    scale = np.maximum(np.maximum(np.abs(primal), np.abs(dual)), np.finfo(float).tiny)
    known = np.isfinite(primal) & np.isfinite(dual)
    seconds = np.array([point.seconds_solving + point.seconds_certifying for point in trace])
    passes = np.array([point.passes for point in trace])
    estimates = vars(trace).get("estimates", ()) if hasattr(trace, "__dict__") else ()
    expected = np.array([estimate for estimate in estimates if estimate.gap > 0.0]).reshape(-1, 3)
    size = float(scale[known][-1]) if np.any(known) else 1.0
    found = certificates_of(model)
    floor = found[problem].rounding_floor / size if problem < len(found) and np.any(known) else 0.0
    gaps = (primal[known] - dual[known]) / scale[known]
    tol = attributes(model).get("tol", 0.0)
    by_seconds, by_passes, expected_gaps = expected.T
    points = seconds[known], passes[known], gaps
    return GapCurve(label, *points, by_seconds, by_passes, expected_gaps / size, floor, float(tol or 0.0))


def total_curve(model: Any, label: str | None) -> GapCurve:
    """The curve of one of several models; of several problems that of their sum, as if they were solved in turn."""
    if isinstance(model, GapCurve):
        return model if label is None else model._replace(label=label)
    traces, solved = _traces(model), fitted_part(model)
    solver = _solver_of(solved)
    label = label or (f"{type(solved).__name__}, {solver}" if solver else type(solved).__name__)
    if len(traces) == 1:
        return _curve(traces[0], label, solved)
    ends = [trace[-1] for trace in traces]
    seconds = sum(end.seconds_solving + end.seconds_certifying for end in ends)
    found = certificates_of(solved)
    total = reduce(add, found) if found else Certificate(sum(e.primal for e in ends), sum(e.dual for e in ends))
    tol = float(attributes(solved).get("tol", 0.0) or 0.0)
    one = GapCurve.point(label, seconds, total.relative_gap)
    return one._replace(passes=np.array([sum(end.passes for end in ends) / len(ends)]), tol=tol)

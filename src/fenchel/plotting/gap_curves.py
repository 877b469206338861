"""The gaps that a fit proved, and those that its solver expected: what pictures of convergence draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Self

import numpy as np

from fenchel.arrays import Floats
from fenchel.certificate import Certificate
from fenchel.errors import FenchelError
from fenchel.plotting.models import attributes, fitted_part, not_drawn, problem_names
from fenchel.plotting.style import short
from fenchel.solving.solution import Solution, TracePoint

#: problems of one model, up to which each has a colour and a name of its own
MOST_NAMED = 8


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
        """The certificate of a model of another library, at the seconds of its fit."""
        none = np.zeros(0)
        return cls(label, np.array([seconds]), np.array([math.nan]), np.array([gap]), none, none, none)


def curves_and_title(model: Any, labels: Any) -> tuple[list[GapCurve], str]:
    """The curves of a model, one for each problem, or of several models; and the title of their picture."""
    if isinstance(model, Mapping):
        if not model:
            raise FenchelError("model must hold at least one fitted estimator or Solution, got an empty mapping")
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
    problems = [""] * len(problems) if len(problems) > MOST_NAMED else problems
    return [
        _curve(trace, label, solved, k) for k, (trace, label) in enumerate(zip(traces, problems, strict=True))
    ], title


def _traces(model: Any) -> list[Sequence[TracePoint]]:
    """The certificates of each problem that was solved."""
    solved = fitted_part(model)
    fitted = attributes(solved)
    trace = fitted.get("trace_") or fitted.get("trace")
    if not isinstance(trace, list) or not trace:
        raise not_drawn(
            "model",
            "a fitted estimator or a Solution, whose trace is drawn",
            solved,
            "draw its seconds and its gap as GapCurve.point(label, seconds, certify(model, X, y).relative_gap)",
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

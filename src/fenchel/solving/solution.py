"""The result of a solve: model, witness, certificate, status and trace."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from fenchel.certificate import Certificate, OptimumSketch, PathCertificate
from fenchel.markup import OPEN, PROVED, card
from fenchel.problem import Model, Witness


class Status(enum.Enum):
    """Why a solve ended; the value is a sentence.

    See Also
    --------
    Solution : Has a ``status``.

    Examples
    --------
    >>> from fenchel import Status
    >>> Status.CONVERGED.value
    'the relative duality gap reached tol'
    """

    CONVERGED = "the relative duality gap reached tol"
    FLOOR = "the duality gap is within rounding errors"
    UNRESOLVED = (
        "rounding errors are too large a share of the objective to prove tol (scale X and the targets to moderate "
        "numbers, or decrease C)"
    )
    PREDICTIONS_PROVED = "the share of the predictions that stop_when asks for is proved"
    DECAYED = "the duality gap fell below decay times the gap after the first pass"
    INFEASIBLE = (
        "the constraints are infeasible: the dual bound exceeds the objective of every model with scores up to 1e7"
    )
    STALLED = "the solver stalled: its steps no longer improve the gap"
    MAX_ITER = "max_iter data passes were used up"
    TIME_LIMIT = "the time limit was reached"
    INTERRUPTED = "the solve was interrupted"
    CALLBACK = "the callback stopped the solve"


#: the statuses of a solve that did not end by itself: what follows it has no time
STOPS = (Status.TIME_LIMIT, Status.INTERRUPTED)


class TracePoint(NamedTuple):
    """One certificate during a solve; times and passes are cumulative.

    Parameters
    ----------
    seconds_solving : float
        Seconds in the solver so far.
    seconds_certifying : float
        Seconds in the evaluation of certificates so far.
    passes : float
        Passes over the data so far.
    primal : float
        The primal objective of the model at this point, not of the best one so far.
    dual : float
        The dual objective of the dual point at this point.

    See Also
    --------
    Solution : Has a ``trace``.
    Progress : What a callback receives.

    Examples
    --------
    >>> from fenchel import TracePoint
    >>> point = TracePoint(0.5, 0.1, passes=3.0, primal=1.0, dual=0.9)
    >>> point.passes
    3.0
    """

    seconds_solving: float
    seconds_certifying: float
    passes: float
    primal: float
    dual: float


class Estimate(NamedTuple):
    """The duality gap that a solver expected between two certificates; nothing is proved by it."""

    seconds: float
    passes: float
    gap: float


#: ratio of the data passes of two estimates that are kept: a few hundred of them at most
_BETWEEN_ESTIMATES = 1.02


class Trace(list[TracePoint]):
    """The certificates of a solve in order, and in ``estimates`` what the solver expected between them."""

    def __init__(self, points: Iterable[TracePoint] = (), estimates: Iterable[Estimate] = ()) -> None:
        super().__init__(points)
        self.estimates = list(estimates)

    def expect(self, estimate: Estimate) -> None:
        """Keep an estimate, unless the last one is hardly older."""
        if not self.estimates or estimate.passes > _BETWEEN_ESTIMATES * self.estimates[-1].passes:
            self.estimates.append(estimate)

    def then(self, after: Trace) -> Self:
        """The trace of two solves in turn: times and passes stay cumulative."""
        solving, certifying, passes, *_ = self[-1] if self else (0.0, 0.0, 0.0)
        later = [TracePoint(solving + p[0], certifying + p[1], passes + p[2], p.primal, p.dual) for p in after]
        estimates = [Estimate(solving + certifying + e.seconds, passes + e.passes, e.gap) for e in after.estimates]
        return type(self)([*self, *later], [*self.estimates, *estimates])


@dataclass(frozen=True)
class Progress:
    """What a callback of :func:`solve` receives after each certificate.

    Parameters
    ----------
    certificate : Certificate
        The best one so far, of the best model with the best dual point.
    passes : float
        Passes over the data so far.
    seconds : float
        Seconds since the beginning, without the time spent in callbacks.
    present : TracePoint
        The certificate just computed, with separate seconds of the solver and of the certificates.
    model : Model
        The model just certified.

    See Also
    --------
    solve : Takes a ``callback``.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, Progress, solve
    >>> from fenchel.risks import MeanRisk
    >>> def enough(progress: Progress) -> bool:
    ...     return progress.certificate.gap < 0.1
    >>> problem = Problem(np.eye(2), MeanRisk("squared", [1.0, 2.0]), lam=1.0)
    >>> solve(problem, callback=enough).certificate.gap < 0.1
    True
    """

    certificate: Certificate
    passes: float
    seconds: float
    present: TracePoint
    model: Model


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The best model and the best dual point that a solve found, with their certificate.

    Parameters
    ----------
    model : Model
        The model with the smallest primal objective.
    witness : Witness
        The dual point with the largest dual objective.
    certificate : Certificate
        The duality gap of the two; print it.
    status : Status
        Why the solve ended.
    converged : bool
        Whether the certificate proves ``tol`` (or ``decay`` was reached), whatever ended the solve.
    passes : float
        Passes over the data.
    solver : str
        The name of the solver, or the names of all solvers that took part in turn.
    trace : list of TracePoint
        All certificates of the solve.  Its attribute ``estimates`` has the gaps that the solver expected between them.
    handovers : list of str
        A sentence for each solver that was replaced by the next one.
    path_certificate : PathCertificate, default=None
        Certificates of this model and dual point for other values of ``lam``.
    optimum : OptimumSketch, default=None
        What is proved about the optimum without the data, which estimators keep.

    See Also
    --------
    solve : Returns a Solution.
    plot_convergence : Draw the trace.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MeanRisk
    >>> solution = solve(Problem(np.eye(2), MeanRisk("squared", [1.0, 2.0]), lam=1.0))
    >>> solution.status.name
    'CONVERGED'
    >>> np.round(solution.model.weights, 3)
    array([0.333, 0.667])
    """

    model: Model
    witness: Witness
    certificate: Certificate
    status: Status
    converged: bool
    passes: float
    solver: str
    trace: Trace = field(default_factory=Trace)
    handovers: list[str] = field(default_factory=list)
    path_certificate: PathCertificate | None = None
    optimum: OptimumSketch | None = None

    def __str__(self) -> str:
        return f"{self.certificate} ({self.solver}, {self.passes:.4g} data passes: {self.status.value}.)"

    def __repr__(self) -> str:
        return (
            f"Solution(status={self.status.name}, relative_gap={self.certificate.relative_gap:.3g}, "
            f"objective={self.certificate.primal:.6g}, solver={self.solver!r}, passes={self.passes:.4g})"
        )

    def _repr_html_(self) -> str:
        seconds = f"{self.trace[-1].seconds_solving + self.trace[-1].seconds_certifying:.3g}" if self.trace else ""
        header = ("status", "solver", "data passes", "seconds", "certificates")
        row = (self.status.name.lower(), self.solver, f"{self.passes:.4g}", seconds, len(self.trace))
        sentences = [str(self.certificate), f"Why it ended: {self.status.value}.", *self.handovers]
        return card(PROVED if self.converged else OPEN, sentences, header, [row])

"""What a solve returns: the model, its proof, and how it got there."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

from fenchel.certificate import Certificate, PathCertificate
from fenchel.problem import Model, Witness


class Status(enum.Enum):
    """Why a solve ended, as a sentence."""

    CONVERGED = "the relative duality gap reached tol"
    FLOOR = "the duality gap reached the rounding floor: no better proof exists in floating point"
    UNRESOLVED = (
        "rounding is no small share of the objective, so that the arithmetic can't resolve the problem (scale X and "
        "the targets to moderate numbers, or lower C)"
    )
    DECAYED = "the duality gap fell below the asked share of the gap after the first pass"
    INFEASIBLE = (
        "no model meets the constraints of the loss: a dual point proves that its weights would be beyond all reason"
    )
    STALLED = "the solver can't improve its point any more"
    MAX_ITER = "max_iter data passes were used up"
    TIME_LIMIT = "the time limit was reached"
    INTERRUPTED = "it was interrupted"
    CALLBACK = "a callback asked to stop"


class TracePoint(NamedTuple):
    """One certificate on the way; the times are cumulative."""

    seconds_solving: float
    seconds_certifying: float
    passes: float
    primal: float
    dual: float


@dataclass(frozen=True)
class Progress:
    """What a callback is told after each certificate."""

    #: the best so far, of the best model with the best witness
    certificate: Certificate
    passes: float
    #: since the beginning, without the time spent in callbacks
    seconds: float
    #: what was certified just now, with the seconds of the solver and of its judge apart
    present: TracePoint
    #: the model that was certified just now
    model: Model


@dataclass(frozen=True, eq=False)
class Solution:
    """The best model and the best witness that were found, with the certificate that they make together."""

    model: Model
    witness: Witness
    certificate: Certificate
    status: Status
    #: whether the certificate proves what was asked for, whatever ended the solve
    converged: bool
    passes: float
    #: the solver, or all that took part in turn
    solver: str
    trace: list[TracePoint] = field(default_factory=list)
    #: a sentence for each solver that handed over to the next one
    handovers: list[str] = field(default_factory=list)
    #: what this model and witness prove for other strengths of the regularization
    path_certificate: PathCertificate | None = None

    def __str__(self) -> str:
        return f"{self.certificate} ({self.solver}, {self.passes:.4g} data passes: {self.status.value}.)"

"""What a solver is: options, a state of its own, bounded steps and proposals.  It never judges itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from fenchel.certificate import Certificate, PathCertificate
from fenchel.problem import Model, Problem, Witness

#: returned by ``step`` when nothing moves any more
STALLED: Final = -1.0


@dataclass(frozen=True)
class Hint:
    """What the loop tells a solver.  It may adapt its inner accuracy to this; it never stops on it."""

    #: the best certificate so far
    certificate: Certificate | None
    #: the absolute gap that would end the solve
    target_gap: float
    #: whether the user wants to stop or time is up: a solver with long steps should return soon
    stop_requested: Callable[[], bool]


class Warm(Protocol):
    """Anything with a model and a witness can start a solver, a Solution for one; a ``path_certificate`` saves work."""

    @property
    def model(self) -> Model: ...

    @property
    def witness(self) -> Witness: ...


@dataclass(frozen=True, eq=False)
class Start:
    """A model and a dual point to start from that are not a Solution."""

    model: Model
    witness: Witness
    #: what a judge found out about them, if they were judged for the same data
    path_certificate: PathCertificate | None = None


class Solver(Protocol):
    """A method.  Instances hold options only; everything that changes is in the state."""

    @property
    def name(self) -> str: ...

    def supports(self, problem: Problem) -> str | None:
        """None, or the reason why this solver can't take this problem."""
        ...

    def start(self, problem: Problem, warm: Warm | None) -> Any:
        """A state to begin with."""
        ...

    def step(self, state: Any, hint: Hint) -> float:
        """Do a bounded amount of work; the data passes it took, or STALLED."""
        ...

    def expected_gap(self, state: Any) -> float:
        """What the solver guesses its gap to be, NaN if it can't: it decides when to certify, never when to stop.

        Optional: a solver without this method is certified on schedule.  A solver may also have
        ``expected_objective(state)``, about what the objective is: the scale of a relative gap before the first
        certificate.
        """
        ...

    def propose(self, state: Any) -> tuple[Model, Witness]:
        """The present model and dual point, as copies."""
        ...

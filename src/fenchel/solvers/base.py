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
    """What :func:`fenchel.solve` tells a solver in each step.

    A solver may adapt its inner accuracy to it; it never stops on it.

    Parameters
    ----------
    certificate : Certificate or None
        The best certificate so far.
    target_gap : float
        The duality gap that would end the solve.
    stop_requested : callable
        Returns whether the user wants to stop or time is up: a solver with long steps should return soon.

    See Also
    --------
    Solver : Receives a hint in ``step``.

    Examples
    --------
    >>> from fenchel.solvers import Hint
    >>> Hint(None, target_gap=1e-3, stop_requested=lambda: False).target_gap
    0.001
    """

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
    """Protocol of solvers: options, a state of their own, bounded steps and proposals.

    Instances hold options only; everything that changes is in the state that ``start`` returns.  A solver never judges
    itself: :func:`fenchel.solve` calls ``step`` until a certificate is due, asks ``propose`` for a model and a dual
    point, and computes their duality gap from the data.

    Attributes
    ----------
    name : str
        The name that users pass as ``solver=``.

    See Also
    --------
    fenchel.solve : The loop that runs a solver.
    Hint : What a solver receives in each step.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Model, Problem, Witness, solve
    >>> from fenchel.risks import MeanRisk
    >>> class GradientDescent:
    ...     name = "gradient_descent"
    ...     def supports(self, problem):
    ...         return None if problem.risk.smooth else "gradient_descent needs a smooth risk"
    ...     def start(self, problem, warm):
    ...         return {"problem": problem, "w": np.zeros(problem.weights_shape)}
    ...     def step(self, state, hint):
    ...         problem, w = state["problem"], state["w"]
    ...         theta = -problem.risk.subgradient(problem.design.scores(w))
    ...         state["w"] = w - 0.5 * (problem.lam * w - problem.design.adjoint(theta))
    ...         return 1.0  # one pass over the data
    ...     def propose(self, state):
    ...         theta = -state["problem"].risk.subgradient(state["problem"].design.scores(state["w"]))
    ...         return Model(state["w"].copy(), 0.0), Witness(theta)
    >>> solve(Problem(np.eye(2), MeanRisk("squared", [1.0, 2.0]), 1.0), GradientDescent()).converged
    True
    """

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

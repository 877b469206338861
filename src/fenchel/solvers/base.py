"""Base class of solvers, with the requirements, hints and starting points that they receive."""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from fenchel.certificate import Certificate, PathCertificate
from fenchel.problem import Model, Problem, Witness
from fenchel.validation import processors

#: return value of ``step`` when no further progress is possible
STALLED: Final = -1.0


@dataclass(frozen=True)
class Hint:
    """Information that :func:`fenchel.solve` passes to a solver in each step.

    A solver may adapt its inner accuracy to it; it never stops on it.

    Parameters
    ----------
    certificate : Certificate or None
        The best certificate so far.
    target_gap : float
        The duality gap that would end the solve.
    stop_requested : callable
        Returns whether the user or the time limit requests a stop: a solver with long steps should then return early.
    certificates : int, default=0
        The number of certificates so far: a solver that shrinks its working set of examples restores it when this
        changes.
    passes : float, default=1.0
        The data passes until the next certificate.  On small data a step may use them all, which saves the time between
        steps.
    early : float, default=0.0
        The data passes before which there is no certificate, whatever gap the solver expects; at most ``passes``.

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
    #: returns whether the user or the time limit requests a stop: a solver with long steps should then return early
    stop_requested: Callable[[], bool]
    #: number of certificates so far: a solver that shrinks its working set of examples restores it when this changes
    certificates: int = 0
    passes: float = 1.0
    early: float = 0.0


class Warm(Protocol):
    """A warm start: a Solution or a ``Start``."""

    @property
    def model(self) -> Model: ...

    @property
    def witness(self) -> Witness: ...

    @property
    def path_certificate(self) -> PathCertificate | None: ...


@dataclass(frozen=True, eq=False)
class Start:
    """A warm start from a model and a dual point.

    Parameters
    ----------
    model : Model
        The weights and the intercept.
    witness : Witness
        The dual point.
    path_certificate : PathCertificate, default=None
        Their path certificate, if one was computed for the same data.

    See Also
    --------
    fenchel.solve : Accepts it as ``warm_start``.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Model, Problem, Witness, solve
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import Start
    >>> problem = Problem(np.eye(2), MeanRisk("squared", [1.0, 2.0]), 1.0)
    >>> start = Start(Model(np.zeros(2), 0.0), Witness(np.zeros(2)))
    >>> solve(problem, warm_start=start).converged
    True
    """

    model: Model
    witness: Witness
    #: their path certificate, if one was computed for the same data
    path_certificate: PathCertificate | None = None


class SolvedOutputs(NamedTuple):
    """What a solver proposes for all outputs of a problem, and the data passes of each.

    Without a witness, for one output with a quadratic loss, certificates take that of the residuals.
    """

    model: Model
    witness: Witness | None
    passes: Sequence[float]


def with_present_intercept(problem: Problem, model: Model, present: ArrayLike) -> Model:
    """Return a model with the intercepts that a solver has: the search for the best ones takes several passes."""
    if not problem.intercept:
        return model
    found = np.array(present, dtype=np.float64)
    return replace(model, intercept=found.item() if problem.risk.outputs is None else found)


@dataclass(frozen=True)
class Need:
    """A requirement that a solver has of a problem.

    Parameters
    ----------
    met : callable
        Returns whether a problem meets the requirement.
    sentence : str or callable
        The error message for a problem that does not, or a function of the problem that returns it, without the
        subject, which is the name of the solver.

    See Also
    --------
    Solver : Lists its requirements in ``needs``.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import Need
    >>> need = Need(lambda problem: problem.risk.smooth, "requires a smooth risk")
    >>> need.refusal(Problem(np.eye(2), MeanRisk("hinge", [1.0, -1.0]), 1.0))
    'requires a smooth risk'
    """

    #: returns whether a problem meets the requirement
    met: Callable[[Problem], bool]
    #: message for a problem that does not, without the subject, which is the name of the solver: "requires a smooth
    #: loss"
    sentence: str | Callable[[Problem], str]

    def refusal(self, problem: Problem) -> str | None:
        """Return None, or the message for a problem that does not meet this requirement."""
        if self.met(problem):
            return None
        return self.sentence if isinstance(self.sentence, str) else self.sentence(problem)

    def unless(self, exempt: Callable[[Problem], bool]) -> Need:
        """Return the same requirement for all but the exempt problems."""
        return Need(lambda problem: exempt(problem) or self.met(problem), self.sentence)


@dataclass(frozen=True)
class Solver(abc.ABC):
    """Base class of solvers: options, a state of their own, bounded steps and proposals.

    Instances hold options only; everything that changes is in the state that ``start`` returns.  A solver does not
    certify its own solution: :func:`fenchel.solve` calls ``step`` until a certificate is due, asks ``propose`` for a
    model and a dual point, and computes their duality gap from the data.

    Subclass it for a solver of your own: set ``name``, list what it requires in ``needs``, and implement ``start``,
    ``step`` and ``propose``.  A subclass with options is a frozen dataclass; options named ``seed`` and ``n_jobs`` that
    are None take the values that ``solve`` was given.

    Attributes
    ----------
    name : str
        The name that users pass as ``solver=``.

    See Also
    --------
    fenchel.solve : The loop that runs a solver.
    Hint : The information that a solver receives in each step.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Model, Problem, Witness, solve
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import Need, Solver
    >>> class GradientDescent(Solver):
    ...     name = "gradient_descent"
    ...     needs = (Need(lambda problem: problem.risk.smooth, "requires a smooth risk"),)
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

    name: ClassVar[str]
    #: whether ``expected_gap`` is computed from all examples at the present point: a certificate is hardly smaller
    computes_gap: ClassVar[bool] = False

    def computes_gap_of(self, problem: Problem) -> bool:
        """Whether expected gaps are about those of certificates: of a smoothed mean they are those for one mu."""
        smoothed = problem.risk.separable() is not None and not problem.risk.smooth
        return self.computes_gap and not smoothed

    @property
    def needs(self) -> tuple[Need, ...]:
        """Requirements that a problem must meet; each may assume that the previous ones are met."""
        return ()

    def supports(self, problem: Problem) -> str | None:
        """Return None, or a message about the first requirement that this problem does not meet."""
        for need in self.needs:
            refusal = need.refusal(problem)
            if refusal is not None:
                return f"{self.name} {refusal}"
        return None

    @abc.abstractmethod
    def start(self, problem: Problem, warm: Warm | None) -> Any:
        """Return the initial state."""

    @abc.abstractmethod
    def step(self, state: Any, hint: Hint) -> float:
        """Do a bounded amount of work; return the number of data passes, or STALLED.

        Ctrl-C, or a limit at a stop point (``fenchel.stopping``), may end it anywhere: ``propose`` must work then.
        """

    @abc.abstractmethod
    def propose(self, state: Any) -> tuple[Model, Witness]:
        """Return copies of the current model and dual point."""

    def propose_after_stop(self, state: Any) -> tuple[Model, Witness]:
        """Like ``propose``, in the middle of a step that a limit ended; omits work that only improves the proposal."""
        return self.propose(state)

    def propose_path(self, problem: Problem, lams: Sequence[float], tol: float) -> Iterator[list[Model]] | None:
        """Return models for many values of lam, some at a time, where that is faster than one by one.

        ``problem.lam`` is not used.  The certificate takes the dual point of each from the risk at its scores.
        Proposals that do not meet ``tol`` are warm starts.
        """
        return None

    def solve_outputs(self, problem: Problem, tol: float, max_iter: float) -> SolvedOutputs | None:
        """Solve the outputs of a mean of losses, each as a problem of its own, or a joint problem.

        None: ``step`` has to do it.

        Each is solved until its expected gap is ``tol`` times its objective, or for ``max_iter`` data passes.
        """
        return None

    def expected_gap(self, state: Any) -> float:
        """Return an estimate of the gap, or NaN; it decides when to certify, never when to stop."""
        return math.nan

    def expected_objective(self, state: Any) -> float:
        """Return an estimate of the objective, or NaN; it scales relative gaps before the first certificate."""
        return math.nan

    def with_defaults(self, seed: int | None, n_jobs: int) -> Self:
        """Return a copy with these values for the options ``seed`` and ``n_jobs`` where they are None."""
        # dataclasses.replace would fail for subclasses with another constructor
        completed, given = copy.copy(self), {"seed": seed, "n_jobs": n_jobs}
        for name in {field.name for field in fields(self)} & given.keys():
            own = getattr(self, name)
            own = processors(own) if name == "n_jobs" and own is not None else own
            object.__setattr__(completed, name, given[name] if own is None else own)
        return completed

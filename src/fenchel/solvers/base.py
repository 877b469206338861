"""What a solver is: options, a state of its own, bounded steps and proposals.  It never judges itself."""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Protocol, Self

from fenchel.certificate import Certificate, PathCertificate
from fenchel.problem import Model, Problem, Witness
from fenchel.validation import processors

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
    #: the number of certificates made so far: a solver that set examples aside takes all of them back when it changes
    certificates: int = 0


class Warm(Protocol):
    """What can start a solver: a Solution, or a ``Start``."""

    @property
    def model(self) -> Model: ...

    @property
    def witness(self) -> Witness: ...

    @property
    def path_certificate(self) -> PathCertificate | None: ...


@dataclass(frozen=True, eq=False)
class Start:
    """A model and a dual point to start from that are not a Solution."""

    model: Model
    witness: Witness
    #: what a judge found out about them, if they were judged for the same data
    path_certificate: PathCertificate | None = None


@dataclass(frozen=True)
class Need:
    """Something that a solver requires of a problem."""

    #: whether a problem has it
    met: Callable[[Problem], bool]
    #: for a problem that does not: a sentence whose subject is the solver's name, such as "requires a smooth loss"
    sentence: str | Callable[[Problem], str]

    def refusal(self, problem: Problem) -> str | None:
        """None, or the sentence for a problem that does not meet this need."""
        if self.met(problem):
            return None
        return self.sentence if isinstance(self.sentence, str) else self.sentence(problem)

    def unless(self, exempt: Callable[[Problem], bool]) -> Need:
        """The same need, of all but the exempt problems."""
        return Need(lambda problem: exempt(problem) or self.met(problem), self.sentence)


@dataclass(frozen=True)
class Solver(abc.ABC):
    """Base class of solvers: options, a state of their own, bounded steps and proposals.

    Instances hold options only; everything that changes is in the state that ``start`` returns.  A solver never judges
    itself: :func:`fenchel.solve` calls ``step`` until a certificate is due, asks ``propose`` for a model and a dual
    point, and computes their duality gap from the data.

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
    Hint : What a solver receives in each step.

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

    @property
    def needs(self) -> tuple[Need, ...]:
        """What it requires of a problem; a need may rely on those before it."""
        return ()

    def supports(self, problem: Problem) -> str | None:
        """None, or the first need that this problem does not meet, as a sentence."""
        for need in self.needs:
            refusal = need.refusal(problem)
            if refusal is not None:
                return f"{self.name} {refusal}"
        return None

    @abc.abstractmethod
    def start(self, problem: Problem, warm: Warm | None) -> Any:
        """A state to begin with."""

    @abc.abstractmethod
    def step(self, state: Any, hint: Hint) -> float:
        """Do a bounded amount of work; the data passes it took, or STALLED."""

    @abc.abstractmethod
    def propose(self, state: Any) -> tuple[Model, Witness]:
        """The present model and dual point, as copies."""

    def expected_gap(self, state: Any) -> float:
        """An estimate of the gap, NaN without one: it decides when to certify, never when to stop."""
        return math.nan

    def expected_objective(self, state: Any) -> float:
        """An estimate of the objective, NaN without one: the scale of a relative gap before the first certificate."""
        return math.nan

    def with_defaults(self, seed: int | None, n_jobs: int) -> Self:
        """A copy with the options ``seed`` and ``n_jobs`` filled in where they are None."""
        # not dataclasses.replace: a subclass may have another constructor
        completed, given = copy.copy(self), {"seed": seed, "n_jobs": n_jobs}
        for name in {field.name for field in fields(self)} & given.keys():
            own = getattr(self, name)
            own = processors(own) if name == "n_jobs" and own is not None else own
            object.__setattr__(completed, name, given[name] if own is None else own)
        return completed

r"""L-BFGS on groups of rows: one evaluation of the risk and its gradient is one task a group (``objective``).

The method is that of Nocedal and Wright (Numerical Optimization, 2nd ed., 2006), Sec. 7.2, for smooth risks that are
sums over examples, with steps that satisfy Wolfe's conditions (Sec. 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array
from fenchel.certificate import HeldWitness, rows_in_groups
from fenchel.dask.objective import Objective, Point
from fenchel.dask.requirements import SHARDED
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.numerics.line_search import wolfe_step
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm, with_present_intercept
from fenchel.solvers.smoothing.lbfgs import Pairs
from fenchel.validation import check_integer

#: the method stalls after this many steps without a smaller objective
_MAX_STEPS_WITHOUT_PROGRESS = 10


@dataclass
class State:
    """The present point and the pairs."""

    objective: Objective
    point: Point
    pairs: Pairs
    steps_without_progress: int = 0
    stalled: bool = field(default=False)


@dataclass(frozen=True)
class LBFGS(Solver):
    """L-BFGS for smooth sums of losses whose rows lie on workers.

    Each evaluation sends the weights to the workers and adds up their gradients: d numbers each way for each group of
    partitions.  Requires ridge (L2).

    Parameters
    ----------
    memory : int, default=20
        The number of pairs of L-BFGS.

    See Also
    --------
    NewtonCG : Fewer steps, of several products with the Hessian each.
    CoCoA : Losses with kinks.
    fenchel.solvers.Smoothing : L-BFGS with rows in memory, also for measures.

    References
    ----------
    .. [1] C. H. Teo, S. V. N. Vishwanathan, A. J. Smola and Q. V. Le. "Bundle methods for regularized risk
           minimization." JMLR 11, 2010.

    Examples
    --------
    >>> from fenchel.dask import LBFGS
    >>> LBFGS(memory=10).name
    'lbfgs'
    """

    memory: int = 20
    name: ClassVar[str] = "lbfgs"

    def __post_init__(self) -> None:
        check_integer("memory", self.memory, least=1)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            SHARDED,
            Need(lambda problem: problem.risk.smooth, "requires a smooth risk; use newton_cg or cocoa"),
            Need(lambda problem: problem.risk.part(slice(0, 1)) is not None, "requires a risk that sums over examples"),
            needs.NO_OVERFLOW,
            needs.RIDGE,
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        needs.check_scale(problem)
        objective, shape = Objective.of(problem), problem.theta_shape[1:]
        weights, intercept = np.zeros(problem.weights_shape), np.zeros(shape)
        fits = warm is not None and problem.fits(warm.model)
        if warm is not None and fits:
            weights = np.array(warm.model.weights, dtype=np.float64)
        if problem.intercept:
            known = warm.model.intercept if warm is not None and fits else problem.risk.constant_intercept
            known = problem.best_intercept(problem.design.scores(weights)) if known is None else known
            intercept = np.array(known, dtype=np.float64)
        return State(objective, objective.point(weights, intercept), Pairs(self.memory))

    def step(self, state: State, hint: Hint) -> float:
        objective, point = state.objective, state.point
        before = objective.value(point)
        if state.stalled or objective.gap(point) <= OBJECTIVE_ROUNDING * abs(before):
            return STALLED
        gradient = objective.gradient(point)
        direction, evaluations = -state.pairs.times(gradient, dot, None), 0

        def at_step(length: float) -> tuple[float, float, Point]:
            nonlocal evaluations
            evaluations += 1
            there = objective.moved(point, length * direction)
            return dot(objective.gradient(there), direction), objective.value(there) - before, there

        derivative = dot(gradient, direction)
        found = wolfe_step(at_step, derivative, _first_length(state, direction)) if derivative < 0.0 else None
        if found is None:
            # not a descent direction: reset; stall if repeated
            state.stalled = len(state.pairs) == 0
            state.pairs.stored.clear()
            return max(1, evaluations)
        length, state.point = found
        state.pairs.append(length * direction, objective.gradient(state.point) - gradient, dot)
        progress = objective.value(state.point) < before - OBJECTIVE_ROUNDING * abs(before)
        state.steps_without_progress = 0 if progress else state.steps_without_progress + 1
        state.stalled = state.steps_without_progress >= _MAX_STEPS_WITHOUT_PROGRESS
        return evaluations

    def expected_gap(self, state: State) -> float:
        return state.objective.gap(state.point)

    def expected_objective(self, state: State) -> float:
        return state.objective.value(state.point)

    def propose(self, state: State) -> tuple[Model, Witness]:
        """Return a copy of the weights; theta is computed beside the rows where certificates are."""
        problem, point = state.objective.problem, state.point
        model = with_present_intercept(problem, Model(point.weights.copy(), problem.no_intercept()), point.intercept)
        rows = rows_in_groups(problem)
        if rows is not None:
            return model, HeldWitness(rows, None)
        return model, Witness(-problem.risk.subgradient(problem.design.scores(point.weights) + point.intercept))


def dot(first: Array, second: Array) -> float:
    """The inner product of two vectors."""
    return float(np.dot(first, second))


def _first_length(state: State, direction: Array) -> float:
    """Return 1; without pairs the length that moves no score by more than one margin."""
    if len(state.pairs):
        return 1.0
    size = state.point.weights.size
    norms = np.linalg.norm(direction[:size]) * state.objective.design.largest_row_norm
    return 1.0 / float((norms + np.max(np.abs(direction[size:]), initial=0.0)) or 1.0)

r"""Truncated Newton method on groups of rows: products with the Hessian by one task a group.

Minimizes :math:`J(w, b) = \tfrac\lambda2\|w\|^2 + R(Xw + b)` by the line-search Newton-CG method of Nocedal and Wright,
Numerical Optimization (2nd ed., 2006), algorithm 7.1, with preconditioning.  Losses with kinks are smoothed around the
last dual point with a decreasing :math:`\mu`: the proximal point method on the dual of ``solvers.newton``, with its
rules.  :math:`\theta` of the smoothed risk is feasible for the unsmoothed one.

In each step the workers compute the second derivatives of the risk once and keep them (``local_points``); a product
with the Hessian

.. math:: H = \lambda\begin{pmatrix}I&\\&0\end{pmatrix} + \sum_i \binom{x_i}{1} h_i \binom{x_i}{1}^T

then sends a direction and adds up its images: d numbers each way, as an evaluation of the gradient.  Of losses with
kinks only the active rows, those with :math:`h_i > 0`, are read.  The line search moves numbers alone, as the workers
keep the scores and their change, and tries several steps in each exchange.

With few features each group sends a matrix of d x d: H, if few rows are active, and a step then takes about three
exchanges; else H of a sample of the active rows, which preconditions the conjugate gradients.  With many features they
are preconditioned by the diagonal of H.  They end at a tenth of the gradient or at the accuracy that the
target gap needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate import HeldWitness, rows_in_groups
from fenchel.dask import local_points as local
from fenchel.dask import shard as on_shard
from fenchel.dask.design import ShardedDesign, sharded
from fenchel.dask.newton_point import Hessian, State
from fenchel.dask.requirements import SHARDED
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.numerics.line_search import parallel_line_search
from fenchel.numerics.linear_algebra import conjugate_gradients
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm, with_present_intercept
from fenchel.solvers.newton.rules import INNER_ACCURACY, INNER_GAP, LINE_SEARCH_TOLERANCE
from fenchel.validation import check_integer

#: relative residual at which conjugate gradients end
_CG_TOLERANCE = 0.1
#: they also end at this share of the target gap, provided the relative residual is at most _EARLY_TOLERANCE
_TARGET_SHARE, _EARLY_TOLERANCE = 0.3, 0.5
#: the first mu of a cold start, relative to R(0): at 1 the dual variables of the hinge are at their bound where scores
#: are zero, and the first steps have no second derivatives (1, 1.5, 2 and 4 were tried with hinge and absolute loss, on
#: the data of benchmarks/dask_scaling.py and exchanges.py)
_FIRST_MU = 2.0
#: the method stalls after this many steps without a gap below this multiple of the smallest gap so far
_MAX_STEPS_WITHOUT_PROGRESS, _PROGRESS = 100, 0.99


def _centres(problem: Problem, design: ShardedDesign, warm: Warm | None) -> Sequence[Any]:
    """The dual point of a warm start over the c_i, beside each group, if it has the right shape; else None."""
    place, witness = design.groups.place, None if warm is None else warm.witness
    if isinstance(witness, HeldWitness) and witness.parts is not None:
        return place(local.centre, design.parts(problem.risk), witness.parts)
    theta = None if witness is None else np.asarray(witness.theta, dtype=np.float64)
    if theta is None or theta.shape != problem.theta_shape or not np.all(np.isfinite(theta)):
        return place(on_shard.beside, [None] * len(design.spans))
    return place(on_shard.beside, design.split(local.per_share(problem.risk, problem.closed_form.project(theta))))


def _has_second_derivatives(problem: Problem) -> bool:
    mean = problem.risk.separable()
    return needs.dual_block(problem) == "entropy" if mean is None else mean.loss.has_hess_conjugate


@dataclass(frozen=True)
class NewtonCG(Solver):
    """Truncated Newton method for sums of losses whose rows lie on workers.

    A step takes several products with the Hessian, each of which moves as many numbers as a gradient.  Losses with
    kinks are smoothed around the last dual point, which makes it a proximal point method on the dual.  Requires ridge
    (L2).

    Parameters
    ----------
    max_products : int, default=60
        The largest number of products with the Hessian in a step.

    See Also
    --------
    LBFGS : Gradients alone.
    fenchel.solvers.Newton, fenchel.solvers.NewtonCG : Newton's method with rows in memory.

    Examples
    --------
    >>> from fenchel.dask import NewtonCG
    >>> NewtonCG(max_products=30).name
    'newton_cg'
    """

    max_products: int = 60
    name: ClassVar[str] = "newton_cg"

    def __post_init__(self) -> None:
        check_integer("max_products", self.max_products, least=1)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            SHARDED,
            Need(_has_second_derivatives, "requires a loss with second derivatives, or the multinomial risk"),
            needs.NO_OVERFLOW,
            needs.RIDGE,
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        needs.check_scale(problem)
        design = sharded(problem)
        assert design is not None
        weights, intercept = np.zeros(problem.weights_shape), np.zeros(problem.theta_shape[1:])
        usable = warm if warm is not None and problem.fits(warm.model) else None
        if usable is not None:
            weights = np.array(usable.model.weights, dtype=np.float64)
        if problem.intercept:
            known = usable.model.intercept if usable is not None else problem.risk.constant_intercept
            known = problem.best_intercept(problem.design.scores(weights)) if known is None else known
            intercept = np.array(known, dtype=np.float64)
        kinks = not problem.risk.smooth
        mu = (problem.risk.value_at_zero or 1.0) * (_FIRST_MU if usable is None else 1.0) if kinks else 0.0
        centres = _centres(problem, design, usable if kinks else None)
        state = State(problem, design, design.parts(problem.risk), centres, weights, intercept, mu)
        with np.errstate(over="ignore", invalid="ignore"):
            state.update()
        return state

    def step(self, state: State, hint: Hint) -> float:
        if state.stalled or state.gap <= OBJECTIVE_ROUNDING * abs(state.objective):
            return STALLED
        passes, target = 0.0, hint.target_gap
        with np.errstate(over="ignore", invalid="ignore"):
            if state.mu > 0.0 and (
                (state.predicted_decrease <= INNER_ACCURACY * state.risk_gap and state.risk_gap > 0.5 * target)
                or state.regularizer_gap <= INNER_GAP * state.risk_gap
            ):
                state.move_centre()
                passes += 1.0
            passes += self._newton_step(state, hint)
        progress = state.gap < _PROGRESS * state.best_gap
        state.steps_without_progress = 0 if progress else state.steps_without_progress + 1
        state.best_gap = min(state.best_gap, state.gap)
        state.stalled = state.stalled or state.steps_without_progress >= _MAX_STEPS_WITHOUT_PROGRESS
        return passes

    def _newton_step(self, state: State, hint: Hint) -> float:
        """Minimize the quadratic model, then the smoothed objective along its minimizer; return the passes."""
        gradient, lam, groups = state.gradient, state.problem.lam, state.design.groups
        direction, passes = self._direction(state, gradient, hint)
        at, derivative = state.in_two(direction), float(gradient @ direction)
        if not (derivative < 0.0 and np.isfinite(derivative)):
            state.stalled = True
            return passes
        state.predicted_decrease = -0.5 * derivative
        changes, square = groups.place(local.score_change, **at), 0.0
        first = lam * float(np.vdot(state.weights, at["weights"]))
        second = lam * float(np.vdot(at["weights"], at["weights"]))

        def derivatives(steps: Array) -> tuple[Floats, Floats]:
            nonlocal square
            own = state.parts, state.centres, state.points, changes
            found, add = groups.map(local.slopes, *own, steps=steps, mu=state.mu), state.design.ordered_sum
            square = math.fsum(one.square for one in found)
            slopes = add([one.first for one in found]), add([one.second for one in found])
            return first + steps * second + slopes[0], second + slopes[1]

        step = parallel_line_search(derivatives, derivative, LINE_SEARCH_TOLERANCE)
        weights, intercept = state.weights + step * at["weights"], state.intercept + step * at["intercept"]
        if np.array_equal(weights, state.weights) and np.array_equal(intercept, state.intercept):
            # only another centre can change the weights now
            state.predicted_decrease, state.stalled = 0.0, state.mu == 0.0
        state.weights, state.intercept = weights, intercept
        state.radius = abs(step) * math.sqrt(square / math.prod(state.problem.theta_shape))
        state.update()
        return passes + 1.5

    def _direction(self, state: State, gradient: Array, hint: Hint) -> tuple[Floats, float]:
        """Return the minimizer of the quadratic model, and the passes that it took."""
        hessian, lam, size, products = Hessian(state), state.problem.lam, state.weights.size, 0
        if hessian.exact:
            return hessian.precondition(-gradient), state.active / state.design.shape[0]

        def product(vector: Array) -> Floats:
            nonlocal products
            products += 1
            return hessian.times(vector)

        def stop(residual: Array, decrease: float) -> bool:
            gap = float(residual[:size] @ residual[:size]) / (2.0 * lam) + float(np.sum(np.abs(residual[size:])))
            return (gap <= _TARGET_SHARE * hint.target_gap and decrease <= _EARLY_TOLERANCE**2) or hint.stop_requested()

        found = conjugate_gradients(
            product,
            -gradient,
            hessian.precondition,
            tolerance=_CG_TOLERANCE,
            max_products=self.max_products,
            stop=stop,
        )
        if not np.any(found):
            found = hessian.precondition(-gradient)
        # of all rows products read those with second derivatives, and so does the preconditioner
        return found, (products + 1.0) * state.active / state.design.shape[0]

    def expected_gap(self, state: State) -> float:
        return state.gap

    def expected_objective(self, state: State) -> float:
        return state.objective

    def propose(self, state: State) -> tuple[Model, Witness]:
        """Return a copy of the weights; theta stays beside the rows where certificates are computed there."""
        problem, groups = state.problem, state.design.groups
        # w and b converge together, also those of losses with kinks
        model = with_present_intercept(problem, Model(state.weights.copy(), problem.no_intercept()), state.intercept)
        rows = rows_in_groups(problem)
        if rows is not None:
            return model, HeldWitness(rows, groups.place(local.theta_of, state.points))
        return model, Witness(np.concatenate(groups.map(local.theta_of, state.points)))

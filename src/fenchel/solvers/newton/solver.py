r"""Semismooth Newton method on a smoothed problem, for many more examples than features and for high accuracy.

Solves :math:`\min_{w,b} \lambda\,\Omega(w) + \sum_i c_i f(x_i\cdot w + b, y_i)` for ridge, the elastic net and q-norms
with q > 2.  A loss with kinks is smoothed around a centre :math:`\bar\alpha`:

.. math:: f_\mu(s) = \max_a\; -f^*(-a) - a s - \tfrac{\mu}{2}(a - \bar\alpha)^2

The maximizer a is the dual step (13) of Zhang (On the dual formulation of regularized linear systems with convex risks,
Machine Learning 46, 2002) from :math:`\bar\alpha` with curvature :math:`\mu`, so every loss with an exact dual step can
be smoothed.  :math:`\theta_i = c_i a_i` is feasible for the unsmoothed problem.  Its duality gap is the sum of two
Fenchel-Young gaps: that of the risk, :math:`\sum c_i [f(s_i) + f^*(-a_i) + a_i s_i]`, which is due to smoothing, and
that of the regularizer, :math:`\lambda[\Omega(w) + \Omega^*(v) - w\cdot v]`.  With :math:`\bar\alpha = 0` the smoothing
is Nesterov's (Smooth minimization of non-smooth functions, Mathematical Programming 103, 2005).  With
:math:`\bar\alpha` at the last dual point the method is a proximal point method on the dual (an augmented Lagrangian of
s = Xw; Rockafellar, Mathematics of Operations Research 1, 1976).  Its gap vanishes although :math:`\mu` does not, so
:math:`\mu` can stay large and few Newton steps are needed.

1. Smooth losses have :math:`\mu = 0` throughout.  For other losses :math:`\mu` starts at R(0).
2. Each step minimizes the quadratic model (``newton.direction``), whose Hessian contains only the active rows, those
   where a is strictly between its bounds, and then the smoothed objective along this direction.
3. Where scores pass through the curvature of a loss, as of smoothed losses and the Huberized hinge, the Hessian is
   averaged over a share of the way that the scores moved in the last step, so that it contains the rows that are about
   to become active.  This avoids most of the short steps of semismooth Newton methods.
4. When the predicted decrease of a step is below a tenth of the gap of the risk, the centre moves to the dual point and
   :math:`\mu` is halved.
5. With many more rows than features the first steps use a sample of the rows, which grows by a factor of four as soon
   as the decrease in reach is below its sampling error.  For smooth losses that is Takeuchi's
   :math:`\operatorname{tr}(H^{-1}G)/(2n)` (Suri-Kagaku 153, 1976), where G is the mean square of the gradients of
   examples, with :math:`d \sum c_i f'^2_i / \sum c_i f''_i` for the trace: what a sample gains below that is lost on
   the others.

===================  ==========================================================
symbol               here
===================  ==========================================================
w, b                 ``weights``, ``intercept``
:math:`\mu`          ``mu``
:math:`\bar\alpha`   ``sample.centre``
:math:`\theta`       ``sample.theta``
v                    ``v``, :math:`X^T\theta/\lambda`
===================  ==========================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import Hint, Need, SolvedOutputs, Warm, with_present_intercept
from fenchel.solvers.newton.direction import MOST_FEATURES
from fenchel.solvers.newton.least_squares import least_squares
from fenchel.solvers.newton.rules import CLEARLY_ABOVE_ROUNDING, INNER_ACCURACY, INNER_GAP, MU_FACTOR
from fenchel.solvers.newton.sample import Sample, dense_rows, is_small
from fenchel.solvers.newton.sampling import SampledNewton, State
from fenchel.solvers.newton.step import OutputState
from fenchel.solvers.newton.tiny import TinySteps, is_tiny, solve_tiny
from fenchel.solvers.threads import pool_of
from fenchel.validation import check_bool, check_seed, processors

#: rows that are read at most where max_iter is infinite
_MOST_ROWS = 2**53
#: largest absolute mean of labels -1 and 1 for which that mean is near the best intercept
_MIXED = 0.98


@dataclass(frozen=True)
class Newton(SampledNewton):
    """Semismooth Newton method, for many more examples than features and for high accuracy.

    Losses with kinks are smoothed around the last dual point, which makes it a proximal point method on the v.  For
    ridge, the elastic net and q-norms with q > 2.

    Parameters
    ----------
    seed : int, default=None
        Seed of the samples; None uses the ``seed`` of :func:`fenchel.solve`.
    n_jobs : int, default=None
        Threads for the sums over examples; None uses the ``n_jobs`` of :func:`fenchel.solve`.  The result does not
        depend on it.
    sampling : bool, default=True
        Whether the first steps use samples of the rows where there are many more rows than features.

    See Also
    --------
    NewtonCG : The multinomial loss.
    ProxNewton : The lasso.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import Newton
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> solution = solve(Problem(X, MeanRisk("logistic", y), 0.1), Newton(sampling=False))
    >>> solution.solver, solution.converged
    ('newton', True)
    """

    #: seed of the samples; None uses that of ``solve``
    seed: int | None = None
    #: threads for the sums over examples; None uses that of ``solve``.  The result does not depend on it.
    n_jobs: int | None = None
    #: whether the first steps use samples of the rows
    sampling: bool = True
    name: ClassVar[str] = "newton"
    rows_per_feature: ClassVar[int] = 20
    max_steps_without_progress: ClassVar[int] = 100
    progress: ClassVar[float] = 0.99

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_bool("sampling", self.sampling)
        processors(self.n_jobs)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            needs.MEAN_OF_LOSSES,
            needs.HESS_CONJUGATE,
            Need(
                lambda problem: problem.regularizer.singular_hess or problem.regularizer.l1_ratio not in (None, 1.0),
                lambda problem: (
                    f"requires 'l2', 'elastic_net' or a q-norm with q > 2, got the regularizer "
                    f"{problem.regularizer.name!r}"
                ),
            ),
            Need(
                lambda problem: problem.regularizer.l1_ratio == 0.0 or problem.design.shape[1] <= MOST_FEATURES,
                lambda problem: f"supports the elastic net and q-norms with up to {MOST_FEATURES} features",
            ),
        )

    def first_iterates(self, problem: Problem, selected: Array, warm: Warm | None) -> Iterator[OutputState]:
        pool = pool_of(self.n_jobs)
        for k, labels in enumerate(np.atleast_2d(problem.mean_risk.labels.T)):
            weights, intercept = np.zeros(problem.design.shape[1]), 0.0
            if warm is not None:
                weights = np.atleast_2d(np.asarray(warm.model.weights, dtype=np.float64))[k].copy()
            if problem.intercept and warm is not None and warm.model.intercept is not None:
                intercept = float(np.atleast_1d(np.asarray(warm.model.intercept))[k])
            sample, mu = Sample(problem, labels, selected, pool), 0.0
            if problem.intercept and (warm is None or warm.model.intercept is None):
                intercept = self._first_intercept(problem, sample, k, weights)
            if warm is not None:
                sample.multiply(weights, intercept, sample.scores)
            else:
                sample.scores[:] = intercept
            if not problem.risk.smooth:
                constant_scores = np.full(len(sample.labels), intercept)
                mu = float(sample.shares @ problem.mean_risk.loss.value(constant_scores, sample.labels))
                mu = mu if mu > 0.0 else 1.0
                if warm is not None:
                    self._warm_centre(problem, sample, warm, k)
            yield OutputState(problem, weights, intercept, sample=sample, labels=labels, mu=mu)

    def _first_intercept(self, problem: Problem, sample: Sample, k: int, weights: Array) -> float:
        """Return the intercept of output k that minimizes the risk for its weights, or one near it."""
        mean = problem.mean_risk
        if not np.any(weights):
            return self._constant(problem, sample.labels, sample.shares, k)
        labels = np.atleast_2d(mean.labels.T)[k]
        return float(mean.loss.best_intercept(problem.design.scores(weights), labels, mean.shares))

    def _constant(self, problem: Problem, labels: Array, shares: Array, k: int) -> float:
        """Return the intercept of output k that minimizes the risk without weights, or one near it."""
        mean = problem.mean_risk
        if mean.smooth and mean.loss.task == "classification":
            mixture = float(shares @ labels)
            if abs(mixture) <= _MIXED:
                known = mean.loss.constant_intercept(mixture)
                # the Huberized hinge has one near that of the squared hinge
                return mixture if known is None else known
        return float(np.atleast_1d(problem.risk.constant_intercept)[k])

    def _warm_centre(self, problem: Problem, sample: Sample, warm: Warm, k: int) -> None:
        """Put the centre of the smoothing at the dual point of the warm start, if that has the right shape."""
        theta = np.asarray(warm.witness.theta, dtype=np.float64)
        if theta.shape == problem.theta_shape and np.all(np.isfinite(theta)):
            theta = np.atleast_2d(problem.closed_form.project(theta).T)[k]
            sample.centre[:] = theta[sample.selected] / problem.risk.shares[sample.selected]

    def improve(self, state: State, output: OutputState, target: float, hint: Hint) -> int:
        """Move the centre if step 4 requires it, and make a Newton step; return the rows read."""
        rows_read, sample = 0, output.sample
        if sample.few:
            rows = int(hint.passes * len(sample.selected))
            read = output.small_steps(target, self.max_steps_without_progress, rows)
            if read:
                return read
        if output.mu > 0.0 and (
            (output.predicted_decrease <= INNER_ACCURACY * output.risk_gap and output.risk_gap > 0.5 * target)
            or output.regularizer_gap <= INNER_GAP * output.risk_gap
        ):
            # 4. the centre moves to the dual point
            output.move_centre()
            # at kinks of the loss the gap of the risk is the rounding error of the scores
            if not output.is_rounding(output.risk_gap, float(sample.shares @ np.abs(sample.scores))):
                # once the gap of the risk is rounding error, a smaller mu would only add noise to theta
                output.mu *= MU_FACTOR
            output.predicted_decrease = np.inf
            rows_read += output.update_dual_point()
        return rows_read + output.newton_step(state.random)

    def solve_outputs(self, problem: Problem, tol: float, max_iter: float) -> SolvedOutputs | None:
        rows = problem.design.shape[0]
        if is_tiny(problem, rows):
            model = least_squares(problem) if max_iter >= 1.0 else None
            return self._solve_tiny(problem, tol, max_iter) if model is None else SolvedOutputs(model, None, [1.0])
        if not is_small(problem, rows) or self.first_rows(problem, rows) < rows:
            return None
        if not problem.risk.smooth and tol < CLEARLY_ABOVE_ROUNDING:
            # the steps at kinks end above such a gap, which those of smooth losses overshoot
            return None
        state = self.start(problem, None)
        if not all(state.uses_all_rows(output) and output.sample.small is not None for output in state.outputs):
            return None
        scales = [one.risk.value_at_zero for one in problem.outputs_apart]
        most = int(min(max_iter * rows, _MOST_ROWS))
        solve, pool = partial(self._solve_output, tol=tol, most=most), pool_of(self.n_jobs)
        read = list((map if pool is None else pool.map)(solve, state.outputs, scales))
        passes = [count / rows for count in read if count is not None]
        return SolvedOutputs(*self.propose(state), passes) if len(passes) == len(read) else None

    def _solve_tiny(self, problem: Problem, tol: float, max_iter: float) -> SolvedOutputs | None:
        """``solve_outputs`` of a tiny problem, without samples."""
        mean, (rows, features) = problem.mean_risk, problem.design.shape
        labels, shares = np.atleast_2d(mean.labels.T), mean.shares
        selected = np.flatnonzero(shares > 0)
        if len(selected) < rows:
            labels, shares = labels[:, selected], shares[selected]
        labels, shares = np.ascontiguousarray(labels), shares / np.sum(shares)
        intercepts = np.zeros(len(labels))
        if problem.intercept:
            intercepts[:] = [self._constant(problem, one, shares, k) for k, one in enumerate(labels)]
        steps = TinySteps(problem, dense_rows(problem.design, selected), labels, shares)
        scales, most = [one.risk.value_at_zero for one in problem.outputs_apart], max_iter * rows
        found = solve_tiny(steps, intercepts, tol, scales, most)
        if found is None:
            return None
        unknowns, theta, read = found
        if len(selected) < rows:
            theta_of_rows = theta
            theta = np.zeros((len(labels), rows))
            theta[:, selected] = theta_of_rows
        weights = np.ascontiguousarray(unknowns[:, :features]).reshape(problem.weights_shape)
        model = Model(weights, None if problem.intercept else problem.no_intercept())
        model = with_present_intercept(problem, model, unknowns[:, -1])
        witness = Witness(np.ascontiguousarray(theta.T).reshape(problem.theta_shape))
        return SolvedOutputs(model, witness, [count / rows for count in read])

    def _solve_output(self, output: OutputState, scale: float, tol: float, most: int) -> int | None:
        """Make steps until the gap is tol times the objective, which is at most ``scale``; return the rows read.

        None if that takes more than ``most``, or if no step is possible.
        """
        target, read = tol * scale, 0
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            while read < most:
                found = output.small_steps(target, self.max_steps_without_progress, most - read)
                read, gap = read + found, output.gap
                if gap <= OBJECTIVE_ROUNDING * scale:
                    return read
                target = tol * min(scale, abs(output.objective))
                if gap <= target:
                    return read
                if not found:
                    break
        return None

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem = state.problem
        weights = np.stack([output.weights for output in state.outputs]).reshape(problem.weights_shape)
        theta = np.zeros((len(state.outputs), problem.design.shape[0]))
        for k, output in enumerate(state.outputs):
            if state.uses_all_rows(output):
                if output.sample.few and math.isinf(output.risk_gap):
                    # no step was made
                    output.update_dual_point()
                theta[k, output.sample.selected] = output.sample.theta
        model = Model(weights, None if problem.intercept else problem.no_intercept())
        if problem.risk.smooth and all(map(state.uses_all_rows, state.outputs)):
            # w and b of a smooth loss converge together
            model = self._with_intercept(state, model)
        return model, Witness(np.ascontiguousarray(theta.T).reshape(problem.theta_shape))

    def propose_after_stop(self, state: State) -> tuple[Model, Witness]:
        model, witness = self.propose(state)
        return self._with_intercept(state, model), witness

    def _with_intercept(self, state: State, model: Model) -> Model:
        return with_present_intercept(state.problem, model, [output.intercept for output in state.outputs])

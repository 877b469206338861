r"""Proximal Newton method with working sets and gap-safe screening, for smooth losses and the lasso.

Solves :math:`\min_{w,b} \lambda\|w\|_1 + \sum_i c_i f(x_i\cdot w + b, y_i)`.  At the optimum most weights are zero, so
almost all work is done on the columns of a working set of features.  Only these columns are copied (in float64); with
few features nothing is.

1. Gap: :math:`\theta = -\nabla R(s)`, :math:`v = X^T\theta`, and the duality gap of :math:`t\theta` for the largest
   :math:`t \le 1` with :math:`t|v_j| \le \lambda` for all j.
2. Gap-safe screening (Ndiaye, Fercoq, Gramfort and Salmon, JMLR 18, 2017).  With :math:`f'' \le L` the dual is
   strongly concave, :math:`\tfrac1{2L}\sum_i(\theta_i - \theta^*_i)^2/c_i \le \text{gap}`, so by the Cauchy-Schwarz
   inequality a feature with

   .. math:: t|v_j| + \sqrt{2L\,\text{gap}}\,\sqrt{\textstyle\sum_i c_i x_{ij}^2} < \lambda

   has :math:`|X^T\theta^*|_j < \lambda` and weight zero at the optimum.  It is removed for the rest of the solve.
3. Working set (Massias, Gramfort and Salmon, ICML 2018): the features with nonzero weights, and those with the smallest
   :math:`(\lambda - |v_j|)/\sqrt{\sum_i c_i x_{ij}^2}`, after those with the largest :math:`|v_j| > \lambda`, which are
   not divided by the norm.  The reference takes :math:`t|v_j|`: far from the optimum t is small wherever a single
   feature is large, and the order is that of the norms alone.  The set is kept while it has the 2m nearest features
   (at least 100), where m is the number of nonzero weights; a new one has 4m (at least 1200).
4. Proximal Newton steps (Lee, Sun and Saunders, SIAM J. Optimization 24, 2014) on the working set until that is
   solved (``newton_step``; on small dense data ``loop_small``).  Minus the gradient of a quadratic model at its
   minimizer is nearly feasible, as near as the model was minimized, where :math:`-\nabla R` at the new scores has the
   error of the model: as a dual point it ends solves a step earlier.  Continue with 1.

With the squared loss and few features the first step minimizes over all of them by the Gram matrix, and many values of
:math:`\lambda` share that (``gram_path``).

===================================  ==========================================
symbol                               here
===================================  ==========================================
:math:`v = X^T\theta`                ``x_theta``
t                                    ``scale``
:math:`\sqrt{\sum_i c_i x_{ij}^2}`   ``output.norms``
===================================  ==========================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array
from fenchel.certificate import moments_of
from fenchel.designs.base import COLUMN_SQUARES
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import MeanRisk
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, SolvedOutputs, Solver, Warm, with_present_intercept
from fenchel.solvers.l1.gram_path import minimize_at_once, minimize_by_gram, propose_points, shares_gram
from fenchel.solvers.l1.newton_step import newton_step, small_problem, small_steps
from fenchel.solvers.l1.working_set import OutputState, columns_of, feasible_scale, reused
from fenchel.solvers.quadratic_l1 import kkt_violation
from fenchel.validation import check_bool

#: smallest size of a working set, and its size as a multiple of the number of nonzero weights
_SMALLEST_WORKING_SET, _WORKING_SET_FACTOR = 600, 2
#: fewest nearest features that a working set has which is kept
_FEWEST_NEAREST = 100
#: share of the features at most that screening keeps: to remove a few takes the time of several operations on all
_WORTH_SCREENING = 0.9
#: the working set contains all features if there are at most this many times as many
_NEARLY_ALL = 1.5
#: a new working set has this many times the features that are wanted, so that the next ones need not be copied
_SURPLUS = 2
#: a working set is kept while it has at most this many times the features that are wanted
_LARGEST_SURPLUS = 6
#: largest working set whose Hessian is formed, and the same for one that further values of lam reuse
_MOST_FORMED, _MOST_REUSED = 300, 1000
_EPS = float(np.finfo(np.float64).eps)


@dataclass
class State:
    """The outputs, and the one of the next step."""

    problem: Problem
    outputs: list[OutputState]
    turn: int = 0
    #: the gap to reach in the first step
    first_target: float | None = None


@dataclass(frozen=True)
class ProxNewton(Solver):
    """Proximal Newton method for the lasso with smooth losses, on working sets of features.

    Gap-safe screening [1]_ removes features whose weights are zero at the optimum; working sets [2]_ contain the
    features that are likely to have nonzero weights.

    Parameters
    ----------
    screening : bool, default=True
        Whether features are screened; otherwise only working sets omit features.

    See Also
    --------
    BasisPursuit : The lasso with constraints.
    fenchel.regularizers.L1 : The regularizer.

    References
    ----------
    .. [1] E. Ndiaye, O. Fercoq, A. Gramfort and J. Salmon. "Gap safe screening rules for sparsity enforcing
           penalties." JMLR 18, 2017.
    .. [2] M. Massias, A. Gramfort and J. Salmon. "Celer: a fast solver for the lasso with dual extrapolation."
           ICML, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.regularizers import L1
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import ProxNewton
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = X[:, 0]
    >>> solution = solve(Problem(X, MeanRisk("squared", y), 0.1, L1()), ProxNewton(screening=False))
    >>> solution.solver, solution.converged
    ('prox_newton', True)
    """

    #: whether features are screened; otherwise only working sets omit features
    screening: bool = True
    name: ClassVar[str] = "prox_newton"
    computes_gap: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_bool("screening", self.screening)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            needs.MEAN_OF_LOSSES,
            Need(lambda problem: problem.risk.smooth, "requires a smooth loss"),
            needs.HESS_CONJUGATE,
            needs.LASSO,
            Need(lambda problem: problem.design.has_columns, "requires an X whose columns can be selected"),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        design, risk = problem.design, problem.mean_risk
        (squares,) = reused(design, COLUMN_SQUARES, risk.shares, lambda: (design.column_squares(risk.shares),))
        needs.check_norms(squares)
        fits = warm is not None and problem.fits(warm.model)
        weights = np.array(warm.model.weights, dtype=np.float64) if warm and fits else np.zeros(problem.weights_shape)
        # the weight of a feature without entries is zero
        weights = np.atleast_2d(np.where(squares > 0.0, weights, 0.0))
        nonzero = np.flatnonzero(squares > 0.0)
        norms, outputs = np.sqrt(squares[nonzero]), []
        same_data = warm is not None and warm.path_certificate is not None and warm.path_certificate.fits(problem)
        most_formed = _MOST_REUSED if same_data and risk.conjugate_curvature is not None else _MOST_FORMED
        for label, first in zip(np.atleast_2d(risk.labels.T), weights, strict=True):
            # the outputs of a mean risk are separate problems
            own = replace(problem, risk=MeanRisk(risk.loss, label, risk.shares)) if risk.outputs else problem
            found = OutputState(own, first, design.scores(first), nonzero, norms, most_formed=most_formed)
            found.by_gram = design.shape[1] <= most_formed and risk.conjugate_curvature is not None
            found.small = small_problem(own) if risk.conjugate_curvature is None else None
            if found.small is not None and not own.intercept and not np.any(first):
                # the first working set has all features
                found.working_set, found.design, found.select_next = np.arange(design.shape[1]), design, False
                found.objective = found.present_objective = own.risk.value_at_zero
            outputs.append(found)
        return State(problem, outputs)

    def step(self, state: State, hint: Hint) -> float:
        if all(output.stalled for output in state.outputs):
            return STALLED
        while state.outputs[state.turn].stalled:
            state.turn = (state.turn + 1) % len(state.outputs)
        output, target = state.outputs[state.turn], self._target(state, hint)
        if output.by_gram:
            output.by_gram = False
            return minimize_by_gram(output, target) / len(state.outputs)
        if not output.select_next:
            used = 0.0 if output.small is None else small_steps(output, output.small, target, hint.passes)
            return (used + newton_step(output, self._target(state, hint))) / len(state.outputs)
        passes = self._select_working_set(output, target if hint.certificate is None else -np.inf)
        state.turn = (state.turn + 1) % len(state.outputs)
        return passes / len(state.outputs)

    def propose_path(self, problem: Problem, lams: Sequence[float], tol: float) -> Iterator[list[Model]] | None:
        return propose_points(problem, lams, tol) if shares_gram(problem, lams, tol) else None

    def solve_outputs(self, problem: Problem, tol: float, max_iter: float) -> SolvedOutputs | None:
        known = moments_of(problem) if problem.design.shape[1] <= _MOST_FORMED and max_iter >= 1.0 else None
        model = None if known is None else minimize_at_once(problem, known, tol)
        if known is None or model is None:
            return None
        # as ``start`` keeps them
        squares = np.diagonal(known.gram).copy()
        reused(problem.design, COLUMN_SQUARES, problem.risk.shares, lambda: (squares,))
        needs.check_norms(squares)
        return SolvedOutputs(model, None, [1.0])

    def expected_gap(self, state: State) -> float:
        return sum(output.gap for output in state.outputs)

    def expected_objective(self, state: State) -> float:
        return sum(output.present_objective for output in state.outputs)

    def _target(self, state: State, hint: Hint) -> float:
        """The gap of each output that would end the solve."""
        target = hint.target_gap
        if hint.certificate is None:
            # the first target is relative to R(0), and the present objective is nearer to the optimum
            state.first_target = state.first_target or target
            zero = max(abs(state.problem.risk.value_at_zero), float(np.finfo(np.float64).tiny))
            target = min(target, abs(self.expected_objective(state)) / zero * state.first_target)
        return target / len(state.outputs)

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem = state.problem
        weights = np.stack([output.weights for output in state.outputs]).reshape(problem.weights_shape)
        theta = np.stack([output.proposed_theta() for output in state.outputs], axis=1)
        intercept = None if problem.intercept else problem.no_intercept()
        return Model(weights, intercept), Witness(theta.reshape(problem.theta_shape))

    def propose_after_stop(self, state: State) -> tuple[Model, Witness]:
        model, witness = self.propose(state)
        return with_present_intercept(state.problem, model, [output.intercept for output in state.outputs]), witness

    def _select_working_set(self, output: OutputState, enough: float) -> float:
        """1. to 3.: the gap over all features, screening, and the next working set; return the data passes.

        No working set is made where the gap is at most ``enough``: a certificate follows.
        """
        problem, before = output.problem, (output.objective, output.gap)
        risk, lam = problem.mean_risk, problem.lam
        # from the weights, which removes the rounding errors of many updates
        if output.entries:
            scores = output.scores_of(output.weights[output.working_set])
        else:
            scores = output.scores - output.intercept
        if problem.intercept:
            # at the best intercept the gradient sums to zero, as that of a model does up to its tolerance only
            output.intercept, output.witness = float(problem.best_intercept(scores)), None
        output.scores = scores + output.intercept
        theta, output.dual_of_model = output.proposed_theta(), None
        adjoint = problem.design.adjoint(theta)
        x_theta = adjoint if len(adjoint) == len(output.unscreened) else adjoint[output.unscreened]
        support = output.support
        sizes, at_support = np.abs(x_theta), x_theta[support]
        scale = feasible_scale(lam, sizes)
        distance = lam - sizes
        sizes[support] = 0.0
        violation = kkt_violation(lam, output.weights[output.unscreened[support]], -at_support)
        output.violation = max(violation, float(np.max(sizes, initial=0.0)) - lam)
        output.objective = lam * float(np.sum(np.abs(output.weights))) + risk.value(output.scores)
        output.present_objective = output.objective
        output.gap = output.objective + risk.conjugate(scale * theta, feasible=True)
        if output.gap <= enough:
            return 0.5
        if self.screening:
            radius = np.sqrt(2.0 * risk.loss.largest_curvature * max(output.gap, 0.0) + _EPS * abs(output.objective))
            kept = lam - scale * (lam - distance) <= radius * output.norms + 8.0 * _EPS * lam
            if np.count_nonzero(kept) <= _WORTH_SCREENING * len(kept):
                self._screen(output, kept)
                distance = distance[kept]
                support = output.support
        np.divide(distance, output.norms, out=distance, where=distance > 0.0)
        distance[support] = -np.inf
        passes = 0.5 + self._set_working_set(output, distance, len(support))
        output.select_next = output.working_set.size == 0
        output.x_theta = adjoint if output.design is problem.design and output.witness is None else None
        better = output.objective < before[0] or output.gap < before[1]
        progress = better and not output.select_next
        output.rounds_without_progress = 0 if progress else output.rounds_without_progress + 1
        return passes

    def _screen(self, output: OutputState, kept: Array) -> None:
        """2. remove features whose weights are zero at the optimum."""
        removed = output.unscreened[~kept]
        if np.any(output.weights[removed]):
            output.weights[removed] = 0.0
            output.scores = output.problem.design.scores(output.weights) + output.intercept
        output.unscreened, output.norms = output.unscreened[kept], output.norms[kept]

    def _set_working_set(self, output: OutputState, distances: Array, nonzero: int) -> float:
        """3. the features nearest to their limits; return the data passes of the copy of their columns."""
        wanted = _WORKING_SET_FACTOR * nonzero
        size = max(_SMALLEST_WORKING_SET, wanted)
        if output.entries and len(output.working_set) <= _LARGEST_SURPLUS * size:
            nearest = self._nearest(output, distances, max(_FEWEST_NEAREST, wanted))
            if np.all(np.isin(nearest, output.working_set, assume_unique=True)):
                return 0.0
        if output.problem.design.shape[1] <= output.most_formed:
            # only products with X are needed, so nothing is copied
            output.working_set, output.design = np.arange(output.problem.design.shape[1]), output.problem.design
            return 0.0
        working_set = self._nearest(output, distances, _SURPLUS * size)
        output.working_set, output.design, output.columns = working_set, None, None
        if len(working_set) > output.most_formed:
            output.columns = columns_of(output.problem.design, working_set)
        else:
            output.design = output.problem.design.narrowed(working_set)
        return 0.5

    def _nearest(self, output: OutputState, distances: Array, size: int) -> Array:
        """The features with the smallest distances, all that are not screened if there are few others."""
        if _NEARLY_ALL * size >= len(distances):
            return output.unscreened
        return np.sort(output.unscreened[np.argpartition(distances, size)[:size]])

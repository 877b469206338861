r"""Semismooth Newton method on a smoothed problem, for many more examples than features and for high accuracy.

Solves :math:`\min_{w,b} \lambda\,\Omega(w) + \sum_i c_i f(x_i\cdot w + b, y_i)` for the square, the elastic net and
q-norms with q > 2.  A loss with kinks is smoothed around a centre :math:`\bar\alpha`:

.. math:: f_\mu(s) = \max_a\; -f^*(-a) - a s - \tfrac{\mu}{2}(a - \bar\alpha)^2

The maximizer a is a dual step (13) of Zhang (2002) from :math:`\bar\alpha` with curvature :math:`\mu`, so every loss
with an exact step has its smoothing, and :math:`\theta_i = c_i a_i` is feasible: it certifies the unsmoothed problem,
with a gap that is the sum of what smoothing leaves, :math:`\sum c_i [f(s_i) + f^*(-a_i) + a_i s_i]`, and of how far w
is from the weights that :math:`\theta` makes.  With :math:`\bar\alpha = 0` this is Nesterov's smoothing.  Moving the
centre to the last dual point makes it a proximal point method on the dual (an augmented Lagrangian of s = Xw), whose
gap vanishes although :math:`\mu` does not, so that :math:`\mu` can stay large and the Newton steps few.

1. Smooth losses have :math:`\mu = 0` throughout.  Others begin with :math:`\mu = R(0)`.
2. A step minimizes the quadratic model (``newton_direction``), whose Hessian only sees rows inside the band where a
   is strictly between its bounds, and then the smoothed objective along this direction.
3. The curvature is averaged over as far as the scores moved in the last step: rows that are about to enter the band
   count, which saves most of the short steps that semismooth methods are prone to.
4. When a step can win less than a tenth of what smoothing leaves, the centre moves and :math:`\mu` is halved.
5. With many more rows than features the first steps use a sample of the rows, fourfold larger each time.

===================  ==========================================================
symbol               here
===================  ==========================================================
w, b                 ``weights``, ``intercept``
:math:`\mu`          ``mu``
:math:`\bar\alpha`   ``sample.centre``
:math:`\theta`       ``sample.theta``
v                    ``dual``, :math:`X^T\theta/\lambda`
===================  ==========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError
from fenchel.numerics.line_search import line_minimum
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.newton.direction import MOST_FEATURES, Quadratic
from fenchel.solvers.newton.penalty import bend_of, slope_of, threshold_of
from fenchel.solvers.newton.sample import Sample
from fenchel.solvers.newton.state import OutputState, State
from fenchel.solvers.threads import pool_of
from fenchel.validation import check_bool, check_seed, processors

#: mu is multiplied by this when the centre moves
_SHRINK = 0.5
#: the centre moves when a step can win less than this share of the gap that smoothing leaves
_INNER = 0.1
#: the curvature is averaged over this share of the root mean square change of the scores in the last step
_RADIUS = 0.3
#: the line search ends when the derivative is down to this share
_LINE = 0.1
#: the first sample has at least so many rows, and so many per feature; the next ones are larger by the factor
_FIRST_ROWS, _ROWS_PER_FEATURE, _LARGER = 1000, 20, 4
#: a sample is used up when the gap on it is this many times features / rows of the objective
_STATISTICAL = 0.3
#: or when w is closer than this share of it to the weights of theta
_SETTLED = 0.01
#: a gap of this share of the objective is rounding
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
#: and one above this share of R(0) is not
_CLEAR = 1e-10
#: curvatures beyond this leave no bits for the weights
_STEEPEST = 1e100
#: steps without a gap below this share of the smallest so far, before the method says that it stalls
_PATIENCE, _SMALLER = 100, 0.99


@dataclass(frozen=True)
class Newton(Solver):
    """Semismooth Newton method, for many more examples than features and for high accuracy.

    Losses with kinks are smoothed around the last dual point, which makes it a proximal point method on the dual.  For
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

    #: of the samples; None takes the seed that ``solve`` was given
    seed: int | None = None
    #: threads for the sums over examples; None takes what ``solve`` was given.  The result does not depend on it.
    n_jobs: int | None = None
    #: begin on samples of the rows where there are many more rows than features
    sampling: bool = True
    name: ClassVar[str] = "newton"

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

    def start(self, problem: Problem, warm: Warm | None) -> State:
        if not (np.isfinite(problem.design.largest_row_norm) and np.isfinite(problem.design.mean_square)):
            raise FenchelError("X holds NaN or infinity, or its norms overflow: repair or scale X")
        if not problem.design.mean_square / problem.lam < _STEEPEST:
            lam = problem.lam
            raise FenchelError(f"lam={lam:.3g} is too small for the size of X: scale X, or raise lam (a smaller C)")
        random = np.random.default_rng(self.seed or 0)
        counted = np.flatnonzero(problem.risk.shares > 0)
        index = np.uint32 if problem.design.shape[0] < 2**32 else np.uint64
        order: NDArray = random.permutation(counted).astype(index)
        state = State(problem, order, pool_of(self.n_jobs), random, [])
        labels = np.atleast_2d(problem.mean_risk.labels.T)
        usable = warm is not None and problem.fits(warm.model)
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(len(labels)):
                state.outputs.append(self._begin(state, labels[k], k, warm if usable else None))
        return state

    def _begin(self, state: State, labels: NDArray, k: int, warm: Warm | None) -> OutputState:
        problem = state.problem
        weights, intercept, rows = np.zeros(problem.design.shape[1]), 0.0, len(state.order)
        if warm is not None:
            weights = np.atleast_2d(np.asarray(warm.model.weights, dtype=np.float64))[k].copy()
        if problem.intercept and warm is not None and warm.model.intercept is not None:
            intercept = float(np.atleast_1d(np.asarray(warm.model.intercept))[k])
        elif problem.intercept:
            scores = problem.design.scores(weights) if warm is not None else np.zeros(len(labels))
            intercept = float(problem.mean_risk.loss.best_intercept(scores, labels, problem.risk.shares))
        if self.sampling and warm is None:
            fewest = max(_FIRST_ROWS, _ROWS_PER_FEATURE * len(weights))
            while rows >= _LARGER * fewest:
                rows //= _LARGER
        sample = self._sample(state, labels, rows)
        sample.multiply(weights, intercept, sample.scores)
        mu = 0.0
        if not problem.risk.smooth:
            mu = float(
                sample.shares @ problem.mean_risk.loss.value(np.full(len(sample.labels), intercept), sample.labels)
            )
            mu = mu if mu > 0.0 else 1.0
        output = OutputState(labels, weights, intercept, sample, mu)
        if warm is not None:
            self._warm_centre(problem, output, warm, k)
        self._look(problem, output)
        return output

    def _warm_centre(self, problem: Problem, output: OutputState, warm: Warm, k: int) -> None:
        """Start the smoothing at the dual point of the warm start, if it has one for these rows."""
        theta = np.asarray(warm.witness.theta, dtype=np.float64)
        if problem.risk.smooth or theta.shape != problem.theta_shape or not np.all(np.isfinite(theta)):
            return
        theta = np.atleast_2d(problem.closed_form.project(theta).T)[k]
        sample = output.sample
        sample.centre[:] = theta[sample.selected] / problem.risk.shares[sample.selected]

    def _sample(self, state: State, labels: NDArray, rows: int) -> Sample:
        # in the order of storage, which is kinder to memory
        return Sample(state.problem, labels, np.sort(state.order[:rows]), state.pool)

    def step(self, state: State, hint: Hint) -> float:
        if all(output.stalled for output in state.outputs):
            return STALLED
        while state.outputs[state.turn].stalled:
            state.turn = (state.turn + 1) % len(state.outputs)
        output = state.outputs[state.turn]
        state.turn = (state.turn + 1) % len(state.outputs)
        with np.errstate(over="ignore", invalid="ignore"):
            visited = self._advance(state, output, hint)
        return visited / (state.problem.design.shape[0] * len(state.outputs))

    def expected_gap(self, state: State) -> float:
        return sum(self._gap(state, output) for output in state.outputs)

    def expected_objective(self, state: State) -> float:
        return sum(self._objective(state.problem, output) for output in state.outputs)

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem = state.problem
        weights = np.stack([output.weights for output in state.outputs]).reshape(problem.weights_shape)
        theta = np.zeros((len(state.outputs), problem.design.shape[0]))
        for k, output in enumerate(state.outputs):
            if len(output.sample.selected) == len(state.order):
                theta[k, output.sample.selected] = output.sample.theta
        intercept = None if problem.intercept else problem.no_intercept()
        return Model(weights, intercept), Witness(np.ascontiguousarray(theta.T).reshape(problem.theta_shape))

    def _gap(self, state: State, output: OutputState) -> float:
        """The gap on the sample; infinite unless that is everything."""
        if len(output.sample.selected) < len(state.order):
            return np.inf
        return output.smoothing + output.distance + self._unbalanced(state, output)

    def _unbalanced(self, state: State, output: OutputState) -> float:
        return abs(output.total) * (1.0 + abs(output.intercept)) if state.problem.intercept else 0.0

    def _look(self, problem: Problem, output: OutputState) -> int:
        """Dual point, curvature and what they say about the gap; the rows that were visited."""
        sample = output.sample
        output.smoothing, output.total = sample.slopes(output.mu)
        output.dual = sample.pull() / problem.lam
        penalty = problem.regularizer.value(output.weights) + problem.regularizer.conjugate(output.dual)
        output.distance = problem.lam * max(0.0, penalty - float(output.weights @ output.dual))
        return int(np.count_nonzero(sample.theta))

    def _advance(self, state: State, output: OutputState, hint: Hint) -> int:
        """Take a larger sample or move the centre where that is due, and make one Newton step; the rows visited."""
        visited, target = 0, hint.target_gap / len(state.outputs)
        if len(output.sample.selected) < len(state.order):
            worth = _STATISTICAL * len(output.weights) / len(output.sample.selected)
            target = max(target, worth * self._objective(state.problem, output))
            if output.smoothing + min(output.distance, output.promise) <= target:
                return self._enlarge(state, output)
        if output.mu > 0.0 and (
            (output.promise <= _INNER * output.smoothing and output.smoothing > 0.5 * target)
            or output.distance <= _SETTLED * output.smoothing
        ):
            # 4. the centre moves to the dual point
            output.sample.centre[:] = output.sample.theta / output.sample.shares
            if not self._is_rounding(state.problem, output, output.smoothing, kinks=True):
                # below that a smaller mu would only make theta noisier
                output.mu *= _SHRINK
            output.promise = np.inf
            visited += self._look(state.problem, output)
        visited += self._newton(state, output)
        self._watch(state, output)
        return visited

    def _objective(self, problem: Problem, output: OutputState) -> float:
        """The unsmoothed objective on the sample."""
        sample = output.sample
        risk = float(sample.shares @ problem.mean_risk.loss.value(sample.scores, sample.labels))
        return problem.lam * problem.regularizer.value(output.weights) + risk

    def _is_rounding(self, problem: Problem, output: OutputState, gap: float, kinks: bool = False) -> bool:
        """Whether a gap can't be told from rounding; R(0) tells most of them without a look at the objective.

        Where all scores lie on kinks, what smoothing leaves can't be told from the rounding of scores: ``kinks``.
        """
        if gap > _CLEAR * problem.risk.value_at_zero:
            return False
        scores = float(output.sample.shares @ np.abs(output.sample.scores)) if kinks else 0.0
        return gap <= _ROUNDING * (self._objective(problem, output) + scores)

    def _enlarge(self, state: State, output: OutputState) -> int:
        """5. a sample of more rows, with the centre where the smoothed loss at the present scores puts it."""
        rows = len(output.sample.selected) * _LARGER
        rows = rows if rows * 2 <= len(state.order) else len(state.order)
        output.sample = sample = self._sample(state, output.labels, rows)
        sample.multiply(output.weights, output.intercept, sample.scores)
        if output.mu > 0.0:
            sample.slopes(output.mu)
            sample.centre[:] = sample.theta / sample.shares
        output.promise, output.best, output.idle = np.inf, np.inf, 0
        return len(sample.selected) + self._look(state.problem, output)

    def _newton(self, state: State, output: OutputState) -> int:
        """2. minimize the quadratic model, then the smoothed objective along its minimizer; the rows visited."""
        problem, sample, lam, free = state.problem, output.sample, state.problem.lam, state.problem.intercept
        threshold, square, across = lam * threshold_of(problem), *bend_of(problem, output.weights, output.dual)
        gradient = slope_of(problem, output.weights) - lam * output.dual
        if free:
            gradient = np.append(gradient, -output.total)
        if output.mu > 0.0 and output.radius > 0.0:
            # 3. curvature over as far as the scores are going to move
            sample.mean_bend(output.mu, _RADIUS * output.radius)
        quadratic = Quadratic(sample, square, free, state.random, whole=threshold > 0.0, across=across)
        if threshold > 0.0:
            direction = quadratic.solve_with_threshold(gradient, output.weights, threshold)
        else:
            direction = quadratic.solve(-gradient)
        change, shift = direction[: len(output.weights)], float(direction[-1]) if free else 0.0
        sample.multiply(change, shift, sample.change)
        slope = float(gradient @ direction)
        slope += threshold * float(np.sum(np.abs(output.weights + change)) - np.sum(np.abs(output.weights)))
        output.promise = max(0.0, -0.5 * slope)

        def derivative(step: float) -> tuple[float, float]:
            first, second = sample.slope_along(step, output.mu)
            moved = output.weights + step * change
            first += float((slope_of(problem, moved) + threshold * np.sign(moved)) @ change)
            # where weights become zero the derivative is an interval
            kink = threshold * float(np.sum(np.abs(change[moved == 0.0])))
            return np.sign(first) * max(0.0, abs(first) - kink), second + float((square * change) @ change)

        if not np.all(np.isfinite(sample.change)):
            # beyond what floats hold: the present point is the best there is
            output.stalled = True
            return quadratic.visited + len(sample.selected)
        step = line_minimum(derivative, slope, _LINE)
        moved, intercept = output.weights + step * change, output.intercept + step * shift
        if np.array_equal(moved, output.weights) and intercept == output.intercept:
            # nothing but a move of the centre can change anything now
            output.promise, output.stalled = 0.0, output.mu == 0.0
        output.weights, output.intercept = moved, intercept
        sample.scores += step * sample.change
        output.radius = abs(step) * float(np.sqrt(np.mean(sample.change**2)))
        return quadratic.visited + len(sample.selected) + self._look(problem, output)

    def _watch(self, state: State, output: OutputState) -> None:
        """Notice when the gap does not get smaller any more."""
        gap = output.smoothing + output.distance
        output.idle = 0 if gap < _SMALLER * output.best else output.idle + 1
        output.best = min(output.best, gap)
        left = gap + self._unbalanced(state, output)
        if output.idle >= _PATIENCE or self._is_rounding(state.problem, output, left):
            output.stalled = True
        if output.stalled and len(output.sample.selected) < len(state.order):
            # that was the sample, not the problem
            output.stalled = False
            self._enlarge(state, output)

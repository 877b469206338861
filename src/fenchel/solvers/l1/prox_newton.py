r"""Newton's method for smooth losses and the absolute values, on working sets of features.

Solves :math:`\min_{w,b} \lambda\|w\|_1 + \sum_i c_i f(x_i\cdot w + b, y_i)`.  At the optimum most weights are zero, so
nearly all work is done on the columns of few features, the working set.  Only these columns are copied (in float64):
with few features that may be all of X.

1. A look at all features: :math:`\theta = -\nabla R(s)`, :math:`v = X^T\theta`, and the gap of the best multiple
   :math:`t\theta` with :math:`t|v_j| \le \lambda` that is at most 1.
2. Gap-safe screening (Ndiaye, Fercoq, Gramfort and Salmon, 2017).  With :math:`f'' \le L` the dual is strongly concave,
   :math:`\tfrac1{2L}\sum_i(\theta_i - \theta^*_i)^2/c_i \le \text{gap}`, so by Cauchy and Schwarz a feature with

   .. math:: t|v_j| + \sqrt{2L\,\text{gap}}\,\sqrt{\textstyle\sum_i c_i x_{ij}^2} < \lambda

   has :math:`|X^T\theta^*|_j < \lambda` and no weight at the optimum: it never takes part again.
3. The working set: features with a weight, and those nearest to their limit, :math:`(\lambda - t|v_j|)` divided by the
   same root; about twice as many as there are weights (Massias, Gramfort and Salmon, 2018).
4. Newton steps on the working set until its own gap is a share of the whole one: the quadratic model of the risk plus
   the absolute values is minimized, then the objective along the way there.  Back to 1.

The quadratic model of a working set of moderate size is formed, and minimized by descent along coordinates and full
steps on the face of the signs that they find (``newton_direction.settle``): its accuracy does not suffer from features
that are much alike.  That of a large one is minimized by coordinate descent over columns (``loops.columns``).  Both are
in ``working_set``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.primitives.example_sums import slope_along, slopes
from fenchel.errors import FenchelError
from fenchel.numerics.line_search import line_minimum
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import MeanRisk
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.l1.working_set import (
    LEAST_LIFT,
    SHORT,
    Part,
    by_columns,
    by_matrix,
    lift_up,
    violation_of,
    with_kinks,
)
from fenchel.validation import check_bool

#: features in a working set at least, and for each one with a weight
_FEWEST, _PER_WEIGHT = 600, 2
#: all features make the working set if they are at most so many times as many
_NEARLY_ALL = 1.5
#: up to so many features the quadratic model is formed
_FORMED = 300
#: the working set is done when its gap is this share of the whole one
_SHARE = 0.1
#: the quadratic model is solved until its slopes are this share of the worst violation
_INNER_SHARE = 0.05
#: the search along a Newton step ends when the slope is this share of the first
_ALONG = 0.3
#: smaller multiples of a dual point mean that nothing is done yet
_FAR = 0.5
_EPS = float(np.finfo(np.float64).eps)


@dataclass
class State:
    """All outputs, and whose turn it is."""

    problem: Problem
    parts: list[Part]
    turn: int = 0
    buffers: list[NDArray[np.float64]] = field(default_factory=list)


@dataclass(frozen=True)
class ProxNewton(Solver):
    """Proximal Newton method for the lasso with smooth losses, on working sets of features.

    Gap-safe screening [1]_ removes features for good; working sets [2]_ hold the features that are likely to have a
    weight.

    Parameters
    ----------
    screening : bool, default=True
        Whether features are screened for good; otherwise only working sets leave them out.

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

    #: whether features are screened for good; without it only working sets leave them out
    screening: bool = True
    name: ClassVar[str] = "prox_newton"

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
        squares = design.column_squares(risk.shares)
        if not np.all(np.isfinite(squares)):
            raise FenchelError("X holds NaN or infinity, or its squared norms overflow: repair or scale X")
        fits = warm is not None and problem.fits(warm.model)
        weights = np.array(warm.model.weights, dtype=np.float64) if warm and fits else np.zeros(problem.weights_shape)
        labels, several = np.atleast_2d(risk.labels.T), np.atleast_2d(weights)
        parts = []
        # a feature without entries never gets a weight
        alive = np.flatnonzero(squares > 0.0)
        lengths = np.sqrt(squares[alive])
        for k in range(len(labels)):
            # the outputs of a mean risk are separate problems
            own = replace(problem, risk=MeanRisk(risk.loss, labels[k], risk.shares)) if risk.outputs else problem
            part = Part(own, several[k].copy(), 0.0, np.zeros(len(labels[k])), alive, lengths, np.zeros(0, dtype=int))
            part.weights[squares == 0.0] = 0.0
            part.scores = design.scores(part.weights)
            parts.append(part)
        return State(problem, parts, 0, [np.zeros(len(risk.shares)) for _ in range(3)])

    def step(self, state: State, hint: Hint) -> float:
        if all(part.stalled for part in state.parts):
            return STALLED
        while state.parts[state.turn].stalled:
            state.turn = (state.turn + 1) % len(state.parts)
        part = state.parts[state.turn]
        if not part.looking:
            return self._improve(state, part) / len(state.parts)
        used = self._look(part)
        state.turn = (state.turn + 1) % len(state.parts)
        return used / len(state.parts)

    def expected_gap(self, state: State) -> float:
        return sum(part.gap for part in state.parts)

    def expected_objective(self, state: State) -> float:
        return sum(part.objective for part in state.parts)

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem = state.problem
        weights = np.stack([part.weights for part in state.parts]).reshape(problem.weights_shape)
        theta = np.stack([-part.problem.risk.subgradient(part.scores) for part in state.parts], axis=1)
        intercept = None if problem.intercept else problem.no_intercept()
        return Model(weights, intercept), Witness(theta.reshape(problem.theta_shape))

    def _look(self, part: Part) -> float:
        """1 to 3: the gap over all features, screening, and the next working set; the data passes it took."""
        problem, before = part.problem, (part.objective, part.gap)
        risk, lam = problem.mean_risk, problem.lam
        # without the roundings of many steps
        raw = part.scores - part.intercept if part.design is None else part.design.scores(part.weights[part.chosen])
        if problem.intercept:
            part.intercept = float(problem.best_intercept(raw))
        part.scores = raw + part.intercept
        theta = -risk.subgradient(part.scores)
        pulls = problem.design.adjoint(theta)
        pulls = np.abs(pulls if len(pulls) == len(part.alive) else pulls[part.alive])
        scale = min(1.0, lam / max(float(np.max(pulls, initial=0.0)), np.finfo(np.float64).tiny))
        part.objective = lam * float(np.sum(np.abs(part.weights))) + risk.value(part.scores)
        part.gap = part.objective + risk.conjugate(scale * theta, feasible=True)
        room = lam - scale * pulls
        if self.screening:
            reach = np.sqrt(2.0 * risk.loss.largest_curvature * max(part.gap, 0.0) + _EPS * abs(part.objective))
            kept = room <= reach * part.lengths + 8.0 * _EPS * lam
            if not np.all(kept):
                self._remove(part, kept)
                room = room[kept]
        used = 0.5 + self._choose(part, room / part.lengths)
        part.looking = part.chosen.size == 0
        better = part.objective < before[0] or part.gap < before[1]
        part.idle = 0 if better and not part.looking else part.idle + 1
        return used

    def _remove(self, part: Part, kept: NDArray) -> None:
        """2: features that have no weight at the optimum have none from now on."""
        lost = part.alive[~kept]
        if np.any(part.weights[lost]):
            part.weights[lost] = 0.0
            part.scores = part.problem.design.scores(part.weights) + part.intercept
        part.alive, part.lengths = part.alive[kept], part.lengths[kept]

    def _choose(self, part: Part, priority: NDArray) -> float:
        """3: the working set; the data passes that it took to copy its columns."""
        having = part.weights[part.alive] != 0.0
        size = max(_FEWEST, _PER_WEIGHT * int(np.count_nonzero(having)))
        priority = np.where(having, -np.inf, priority)
        if _NEARLY_ALL * size < len(priority):
            chosen = np.sort(part.alive[np.argpartition(priority, size)[:size]])
        else:
            chosen = part.alive
        if part.design is not None and np.array_equal(chosen, part.chosen):
            return 0.0
        part.chosen, part.design, part.columns = chosen, part.problem.design.narrowed(chosen), None
        if len(chosen) > _FORMED:
            part.columns = part.design.transposed()
        return 0.5

    def _improve(self, state: State, part: Part) -> float:
        """4: one Newton step on the working set; the data passes it took."""
        problem, lam, design = part.problem, part.problem.lam, part.design
        assert design is not None
        risk, (theta, bend, centre) = problem.mean_risk, state.buffers
        n, weights, share = len(theta), part.weights[part.chosen], design.stored_entries / problem.design.stored_entries
        data = (risk.loss.compiled(), risk.labels, risk.shares, centre, part.scores)
        slopes(*data, 0.0, theta, bend, 0, n)
        pulls = design.adjoint(theta)
        violation = violation_of(weights, pulls, lam)
        if violation <= 4.0 * _EPS * lam or _is_done(part, weights, pulls, theta, bend):
            part.looking = True
            return share
        lift_up(bend, risk, part.lift)
        direction = by_matrix if part.columns is None else by_columns
        change, shift, passes = direction(part, weights, theta, bend, pulls, _INNER_SHARE * violation)
        along = design.scores(change) + shift

        def derivative(step: float) -> tuple[float, float]:
            first, second = slope_along(*data, along, step, 0.0, 0, n)
            return with_kinks(first, lam, weights + step * change, change), second

        start = with_kinks(-float(theta @ along), lam, weights, change, right=True)
        if start < 0.0:
            step = line_minimum(derivative, start, _ALONG)
            # a step that is cut short comes from a model with too little curvature
            part.lift = min(10.0 * part.lift, 1.0) if step < SHORT else max(0.1 * part.lift, LEAST_LIFT)
            part.weights[part.chosen] = weights + step * change
            part.scores += step * along
            part.intercept += step * shift
        else:
            part.looking = True
        return (passes + 2.0) * share


def _is_done(part: Part, weights: NDArray, pulls: NDArray, theta: NDArray, bend: NDArray) -> bool:
    """Whether the gap of the working set is a small share of the whole one."""
    lam, risk = part.problem.lam, part.problem.mean_risk
    scale = min(1.0, lam / max(float(np.max(np.abs(pulls), initial=0.0)), np.finfo(np.float64).tiny))
    if scale < _FAR:
        return False
    slope, size, curved = float(weights @ pulls), lam * float(np.sum(np.abs(weights))), bend > 0.0
    curve = float(np.sum(theta[curved] ** 2 / bend[curved]))
    # R*(-t theta) as its quadratic at t = 1 first, which costs little, then as it is
    if size - scale * slope + 0.5 * (1.0 - scale) ** 2 * curve > _SHARE * part.gap:
        return False
    return size + risk.value(part.scores) + risk.conjugate(scale * theta, feasible=True) <= _SHARE * part.gap

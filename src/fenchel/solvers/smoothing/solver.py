r"""L-BFGS on a smoothed objective, with mu going down: SMS of Zhang, Saha and Vishwanathan (2012).

Solves :math:`\min_{w,b} \tfrac\lambda2\|w\|^2 + R(Xw + b)` for every risk that can be smoothed (``risks.smoothing``)
through :math:`J_\mu`, see ``smoothed``.

1. When smoothing is what the gap consists of, mu shrinks.  Scores do not change; only :math:`X^T\theta` does.
2. The direction is :math:`-H\nabla J_\mu`, H from the last pairs of moves and changes of the gradient (Nocedal and
   Wright, Alg. 7.4).  It begins with a multiple of the identity or, where X has few columns, with the inverse of the
   curvature (``measure_curvature``), made anew every few steps when so many steps have cost as much as it does: a
   Newton-type method whose pairs correct what kinks spoil.  ``benchmarks/pairs.py`` compares both.
3. Along it the scores are :math:`s + t\,Xp`, so a line search costs no product with X: it goes on until the
   derivative has lost a tenth of its size, by secants within a bracket.  J falls in every step.

A step is one pair of products, Xp and :math:`X^T\theta` (in ``spaces`` the other way round where X is wide), which
counts as one pass over the data.  ``fixed`` is the
paper's method: :math:`\mu = c_\mu\,\varepsilon/D` throughout, with :math:`c_\mu = 10` in most of its experiments.

=====================  ==========================================================
symbol                 here
=====================  ==========================================================
w, b, s                ``point.weights``, ``point.intercept``, ``point.scores``
:math:`\hat\theta`     ``point.at.theta``
D                      ``risk.smoothing_range``
=====================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.risks.smoothing import Smoothed
from fenchel.solvers.base import STALLED, Hint, Warm
from fenchel.solvers.smoothing.curvature import Curvature, curvature_for
from fenchel.solvers.smoothing.objective import Point, SmoothedObjective, SmoothedSolver, Standing
from fenchel.solvers.smoothing.spaces import Features
from fenchel.validation import check_bool, check_integer

#: pairs that are remembered: more of them take fewer steps (a9a, w8a), but cost more where X has many columns
_FEWEST, _MOST = 10, 80
#: the line search ends when the derivative is down to this share
_LINE = 0.9
#: points of a line that are looked at, at most
_LOOKS = 40
#: how much of the decrease that the slope promises there has to be
_DECREASE = 1e-4
#: a secant step stays so far away from both ends of its bracket, as a share of it
_INSIDE = 0.05
#: scores are computed anew after so many steps, before roundings add up
_REFRESH = 100
#: steps without a smaller objective or mu, before the method says that it stalls
_PATIENCE = 10
#: the curvature is made anew after so many steps at the soonest
_SELDOM = 4.0
_EPS = float(np.finfo(np.float64).eps)


@dataclass
class State(Standing):
    """Where the method stands."""

    #: the last moves of (w, b) and changes of the gradient, newest last
    moves: list[NDArray[np.float64]] = field(default_factory=list)
    changes: list[NDArray[np.float64]] = field(default_factory=list)
    #: pairs that are remembered, steps made, risks evaluated, and steps without progress
    memory: int = 20
    #: makes the first matrix of L-BFGS where X has few columns; its inverse, and steps since it was made
    curvature: Curvature | None = None
    inverse: Callable[[NDArray], NDArray] | None = None
    since: int = 0
    steps: int = 0
    looks: int = 0
    idle: int = 0
    stalled: bool = False


@dataclass(frozen=True)
class Smoothing(SmoothedSolver):
    """L-BFGS on a smoothed objective whose smoothing parameter decreases.

    For performance measures such as ROC AUC and for means of losses with ridge.  A step costs one product with X and
    one with its transpose; the line search costs none.

    Parameters
    ----------
    fixed : bool, default=False
        Whether the smoothing parameter is fixed at ``c_mu * epsilon / D``, as in [1]_, instead of decreasing.
    epsilon : float, default=0.001
        The accuracy for which a fixed smoothing parameter is chosen.
    c_mu : float, default=10.0
        The factor of a fixed smoothing parameter.
    n_jobs : int, default=None
        Threads for the products with X; None uses the ``n_jobs`` of :func:`fenchel.solve`.  The result does not depend
        on it.
    memory : int, default=None
        The number of pairs that L-BFGS keeps; None chooses as many as cost about as much as the products with X.
    curvature : bool, default=True
        Whether L-BFGS starts from an approximate Hessian of the risk where X has few columns, instead of a multiple of
        the identity.

    See Also
    --------
    AGM : The accelerated gradient method on the same objective.
    Bundle : Any risk.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan. "Smoothing multivariate performance measures." JMLR 13,
           2012.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import RocAUC
    >>> from fenchel.solvers import Smoothing
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> solution = solve(Problem(X, RocAUC(y), 0.1), Smoothing(curvature=False))
    >>> solution.solver, solution.converged
    ('smoothing', True)
    """

    #: pairs that are remembered; None takes as many as cost about as much as the products with X
    memory: int | None = None
    #: begin L-BFGS with the curvature where X has few columns (``measure_curvature``)
    curvature: bool = True
    name: ClassVar[str] = "smoothing"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("curvature", self.curvature)
        check_integer("memory", self.memory, least=1, optional=True)

    def start(self, problem: Problem, warm: Warm | None) -> State:
        with np.errstate(over="ignore", invalid="ignore"):
            begin = self.beginning(problem, warm)
        state = State(begin.objective, begin.point)
        affordable = problem.design.stored_entries // max(1, state.point.weights.size)
        state.memory = self.memory or min(max(affordable, _FEWEST), _MOST)
        state.curvature = curvature_for(problem, begin.objective.parts) if self.curvature else None
        return state

    def step(self, state: State, hint: Hint) -> float:
        if state.stalled or state.objective.is_done(state.point, self.fixed):
            return STALLED
        with np.errstate(over="ignore", invalid="ignore"):
            passes = self._shrink(state, hint)
            passes += self._bend(state)
            return passes + self._descend(state)

    def _shrink(self, state: State, hint: Hint) -> float:
        """1. a smaller mu at the same scores; the passes used."""
        mu = state.objective.next_mu(state.point, hint, self.fixed)
        if mu == state.objective.mu:
            return 0.0
        state.objective, state.idle = replace(state.objective, mu=mu), 0
        state.point = state.objective.from_scores(state.point.weights, state.point.intercept, state.point.scores)
        state.looks += 1
        return state.objective.space.pulling

    def _bend(self, state: State) -> float:
        """The curvature here, when steps have cost about as much as it does; the passes used."""
        curvature, objective, point = state.curvature, state.objective, state.point
        if curvature is None or state.since < max(curvature.cost, _SELDOM):
            state.since += 1
            return 0.0
        state.inverse = curvature.inverse(point.scores, point.at.theta, objective.mu)
        state.since = 1
        state.moves.clear()
        state.changes.clear()
        return curvature.passes

    def _descend(self, state: State) -> float:
        """2. and 3.: one step; the passes used."""
        point, objective, space = state.point, state.objective, state.objective.space
        gradient = _gradient(objective, point)
        direction = -_two_loops(space, gradient, state.moves, state.changes, state.inverse)
        size = point.weights.size
        change, shift = direction[:size].reshape(point.weights.shape), direction[size:]
        by_score = space.scores(change)
        if len(shift):
            by_score += shift.reshape(point.intercept.shape)
        found = self._search(state, change, by_score, space.dot(gradient, direction))
        if found is None:
            # not a descent direction: reset L-BFGS; stall if repeated
            state.stalled = not state.moves and state.inverse is None
            state.inverse, state.since = None, 0
            state.moves.clear()
            state.changes.clear()
            return space.scoring
        length, at = found
        intercept = point.intercept + length * shift.reshape(point.intercept.shape) if len(shift) else point.intercept
        weights, scores = point.weights + length * change, point.scores + length * by_score
        state.steps += 1
        passes = 1.0
        if state.steps % _REFRESH == 0:
            state.point, passes = objective.point(space.refreshed(weights), intercept), 2.0
        else:
            state.point = objective.from_scores(weights, intercept, scores, at)
        self._remember(state, length * direction, _gradient(objective, state.point) - gradient)
        before, after = objective.value(point), objective.value(state.point)
        state.idle = 0 if after < before - 4.0 * _EPS * abs(before) else state.idle + 1
        state.stalled = state.idle >= _PATIENCE
        return passes

    def _remember(self, state: State, move: NDArray, change: NDArray) -> None:
        dot = state.objective.space.dot
        if dot(move, change) > 1e-10 * np.sqrt(max(0.0, dot(move, move) * dot(change, change))):
            state.moves.append(move)
            state.changes.append(change)
        del state.moves[: -state.memory], state.changes[: -state.memory]

    def _search(self, state: State, change: NDArray, by_score: NDArray, slope: float) -> tuple[float, Smoothed] | None:
        """A length where the derivative is small and J smaller, with the risk there; None if there is none."""
        point, problem, mu = state.point, state.objective.problem, state.objective.mu
        bend = problem.lam * state.objective.space.dot(change, change)
        first = problem.lam * state.objective.space.dot(point.weights, change)
        largest = float(np.max(np.abs(by_score)))
        if not (slope < 0.0 and np.isfinite(largest)):
            return None
        low, low_slope, high, high_slope = 0.0, slope, np.inf, np.nan
        # without experience scores move by about one margin
        length = 1.0 if state.moves or state.inverse is not None or largest == 0.0 else 1.0 / largest
        for _ in range(_LOOKS):
            at = state.objective.evaluate(point.scores + length * by_score, mu)
            state.looks += 1
            here = first + length * bend - float(np.vdot(at.theta, by_score))
            gain = length * (first + 0.5 * length * bend) + (at.value - point.at.value)
            # J is convex: it falls as far as its derivative is negative, whatever roundings say
            falls = here <= 0.0 or gain <= _DECREASE * length * slope
            if falls and abs(here) <= _LINE * abs(slope):
                return length, at
            if here > 0.0 or not falls:
                high, high_slope = length, max(here, 0.0)
            else:
                low, low_slope = length, here
            following = _secant(low, low_slope, high, high_slope)
            if following in (low, high):
                return (length, at) if falls else None
            length = following
        return (length, at) if falls else None


def _secant(low: float, low_slope: float, high: float, high_slope: float) -> float:
    """Where the derivative would vanish if it were linear, well inside the bracket."""
    if np.isinf(high):
        return 4.0 * low
    share = low_slope / (low_slope - high_slope) if high_slope > low_slope else 0.5
    return low + min(max(share, _INSIDE), 1.0 - _INSIDE) * (high - low)


def _gradient(objective: SmoothedObjective, point: Point) -> NDArray[np.float64]:
    """Of J in w and, where it is free, b."""
    gradient = (objective.problem.lam * point.weights - point.pull).ravel()
    if objective.problem.intercept:
        gradient = np.append(gradient, -np.sum(point.at.theta, axis=0))
    return gradient


def _two_loops(
    space: Features,
    gradient: NDArray,
    moves: list[NDArray],
    changes: list[NDArray],
    inverse: Callable[[NDArray], NDArray] | None,
) -> NDArray[np.float64]:
    """H times the gradient."""
    if not moves:
        return gradient.copy() if inverse is None else inverse(gradient)
    result, shares = gradient.copy(), []
    scales = [1.0 / space.dot(move, change) for move, change in zip(moves, changes, strict=True)]
    for move, change, scale in zip(reversed(moves), reversed(changes), reversed(scales), strict=True):
        share = scale * space.dot(move, result)
        result -= share * change
        shares.append(share)
    if inverse is None:
        result *= 1.0 / (scales[-1] * space.dot(changes[-1], changes[-1]))
    else:
        result = inverse(result)
    for move, change, scale, share in zip(moves, changes, scales, reversed(shares), strict=True):
        result += (share - scale * space.dot(change, result)) * move
    return result

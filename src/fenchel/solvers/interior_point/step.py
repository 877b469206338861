"""State and predictor-corrector step of the interior-point method: see ``interior_point.solver`` for the formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.problem import Problem
from fenchel.solvers.interior_point.pair_matrix import Rows, Solve, complete, inverse, star

#: share of the largest step to the boundary that is taken (Wright 1997, chapter 10)
_BOUNDARY_SHARE = 0.995
#: Gondzio's K: largest number of centrality corrections, made as long as the step length is below _LONG_STEP
_MAX_CORRECTIONS, _LONG_STEP = 2, 0.9
#: Gondzio's delta_alpha: the increase of the step length that a correction aims at
_DELTA_ALPHA = 0.3
#: Gondzio's gamma: a correction is accepted if it attains this share of the intended increase
_GAMMA = 0.1
#: Gondzio's beta_min (with beta_max = 1 / beta_min): products within these multiples of the centre are not corrected
_BETA_MIN = 0.1
#: largest number of solves per linear system: the second and third are iterative refinement
_MAX_SOLVES = 3
#: refinement ends when the residual contributes less than this share to the duality gap
_RESIDUAL_SHARE = 1e-3


class Point(NamedTuple):
    """Primal and dual variables, or a direction in them."""

    #: (k, features), or with the intercepts as last column
    weights: Floats
    #: (n, k), zero at the labels and where a is zero
    beta: Floats
    t: Floats
    #: (n, k), or (n, 1) for Crammer-Singer
    u: Floats
    xi: Floats

    def moved(self, direction: Point, step: float) -> Point:
        """Return the point after a step along a direction."""
        return Point(*(value + step * by for value, by in zip(self, direction, strict=True)))


@dataclass
class State:
    """The constant parts of a problem and the state of the method."""

    problem: Problem
    rows: Rows
    #: a, zero at the labels
    costs: Floats
    #: where a > 0
    positive_cost: NDArray[np.bool_]
    #: a of the slacks: (n, k), or (n, 1) for Crammer-Singer
    bound_costs: Floats
    #: lam for a weight, zero for an intercept
    ridge: Floats
    point: Point
    #: z at the point
    z: Floats
    #: data passes of the current step
    passes: float = 0.0
    objective: float = np.inf
    gap: float = np.inf
    #: the point of the smallest gap so far, and that gap
    best_point: Point | None = None
    best_gap: float = np.inf
    steps_without_progress: int = 0
    stalled: bool = False

    @property
    def one_bound(self) -> bool:
        """Whether the wrong classes of an example share one slack (Crammer-Singer)."""
        return self.bound_costs.shape[1] == 1

    def sum_over_bound(self, values: Array) -> Floats:
        """Return the sums over the classes that share a slack."""
        return np.sum(values, axis=1, keepdims=True) if self.one_bound else values

    def theta(self, beta: Array) -> Floats:
        """Return the dual point of beta."""
        theta = -self.costs * beta
        theta[np.arange(len(theta)), self.rows.classes] = -np.sum(theta, axis=1)
        return theta

    def margins(self, weights: Array, margin: float) -> Floats:
        """Return z for margin 1, or the change of z by a change of the weights for margin 0."""
        scores = self.rows.scores(weights)
        return scores + (margin - scores[np.arange(len(scores)), self.rows.classes][:, None])

    def complementarity(self, point: Point) -> float:
        """Return the mean complementarity product, weighted by a."""
        total = float(np.vdot(self.costs, point.beta * point.t) + np.vdot(self.bound_costs, point.u * point.xi))
        return total / max(float(np.sum(self.costs) + np.sum(self.bound_costs)), 1e-300)

    def largest_step(self, direction: Point) -> float:
        """Return the largest step, at most 1, that keeps all variables nonnegative."""
        pairs = zip(self.point[1:], direction[1:], strict=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return min(1.0, *(float(np.min(np.where(by < 0.0, -value / by, np.inf))) for value, by in pairs))


def next_point(state: State) -> Point | None:
    """1. to 4.: return the next point, or None if the step cannot be computed in double precision."""
    point = state.point
    h, mean = point.beta / point.t, state.complementarity(point)
    solve = _newton_solver(state, h)
    if solve is None or not mean > 0.0:
        return None
    # 1. predictor
    predictor = _direction(state, h, solve, np.zeros_like(point.t), np.zeros_like(point.u), 1)
    # 2. centring
    length = state.largest_step(predictor)
    predicted = state.complementarity(point.moved(predictor, length))
    centre = mean * min(1.0, max(predicted / mean, 0.0) ** 3)
    # 3. corrector
    targets = centre - predictor.beta * predictor.t, centre - predictor.u * predictor.xi
    direction = _direction(state, h, solve, *targets, _MAX_SOLVES)
    length = state.largest_step(direction)
    for _ in range(_MAX_CORRECTIONS):
        if length >= _LONG_STEP:
            break
        trial = point.moved(direction, min(1.0, length + _DELTA_ALPHA))
        corrections = _towards_centre(trial.beta * trial.t, centre), _towards_centre(trial.u * trial.xi, centre)
        trial_targets = targets[0] + corrections[0], targets[1] + corrections[1]
        trial_direction = _direction(state, h, solve, *trial_targets, _MAX_SOLVES)
        trial_length = state.largest_step(trial_direction)
        if trial_length < length + _GAMMA * _DELTA_ALPHA:
            break
        targets, direction, length = trial_targets, trial_direction, trial_length
    # 4. the step
    found = point.moved(direction, min(1.0, _BOUNDARY_SHARE * length))
    return found if all(np.all(np.isfinite(part)) for part in found) else None


def _newton_solver(state: State, h: Array) -> Solve | None:
    """Return the inverse of the matrix of this step; None if the matrix overflows."""
    u, xi = state.point.u, state.point.xi
    if state.one_bound:
        # the slack of the bound takes the place of the label
        full = h.copy()
        full[np.arange(len(h)), state.rows.classes] = (u / xi)[:, 0]
        blocks = complete(state.rows, full, state.bound_costs[:, 0] / np.sum(full, axis=1))
    else:
        blocks = star(state.rows, state.costs * h * (u / xi) / (u / xi + h))
    if not np.all(np.isfinite(blocks)):
        return None
    return inverse(blocks, state.ridge)


def _direction(state: State, h: Array, solve: Solve, m: Array, m_bound: Array, max_solves: int) -> Point:
    """Solve the linearized conditions for the products m of beta, t and m_bound of u, xi."""
    weights, beta, t, u, xi = state.point
    r = np.where(state.positive_cost, state.z - xi + t, 0.0)
    start = np.where(state.positive_cost, m / t - beta, 0.0)
    g = u / xi + state.sum_over_bound(h)

    def eliminated(dz: Array | float) -> tuple[Array, Array]:
        """Return the changes of beta and xi for a change of z."""
        e = start + h * (dz + r)
        change = (m_bound / xi - u + state.sum_over_bound(e)) / g
        return e - h * change, change

    dw, (dbeta, dxi) = np.zeros_like(weights), eliminated(0.0)
    for solves in range(max_solves):
        residual = state.rows.adjoint(state.theta(beta + dbeta)) - state.ridge * (weights + dw)
        gap = float(np.vdot(residual, residual)) / (2.0 * state.problem.lam)
        if solves > 0 and gap <= _RESIDUAL_SHARE * state.gap:
            break
        state.passes += 1.0
        dw = dw + solve(residual)
        dz = state.margins(dw, 0.0)
        dbeta, dxi = eliminated(dz)
    dt = np.where(state.positive_cost, dxi - dz - r, 0.0)
    return Point(dw, dbeta, dt, -state.sum_over_bound(dbeta), dxi)


def _towards_centre(products: Array, centre: float) -> Floats:
    """Return the change that moves products into the range around the centre, bounded as in Gondzio (1996)."""
    low, high = _BETA_MIN * centre, centre / _BETA_MIN
    return np.maximum(np.clip(products, low, high) - products, -high)

"""State and steps of the excessive gap method with stored dual points: see ``reference.pragam`` for the formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.problem import Problem
from fenchel.solvers.base import Hint
from fenchel.solvers.reference.class_intercepts import BalancedClasses
from fenchel.solvers.reference.dual_sets import DualSet, largest_tau, squared_length

#: mu at the first restart, relative to its first value
_FIRST_RESTART = 1e-3
#: largest mu D_2 at a restart, relative to R(0)
_RESTART_GAP = 0.1
#: relative rounding error that the test of L allows
_ROUNDING = 1e-12


@dataclass
class State:
    """State of the method."""

    problem: Problem
    dual_set: DualSet
    #: centre of the proximal function
    centre: Floats
    theta: Floats
    #: X^T theta; only with an adaptive L
    x_theta: Floats | None
    weights: Floats
    scores: Floats
    mu: float
    lipschitz: float
    #: last accepted L
    accepted: float
    #: upper bound on L
    lipschitz_bound: float
    steps: int = 0
    #: the mu of the next restart, and its ratio to the first mu
    restart_mu: float = 0.0
    restart_ratio: float = _FIRST_RESTART
    #: the last computed gap, and the step of the next computation
    gap: float = math.inf
    gap_due: float = 0.0


class Move(NamedTuple):
    """tau, w(beta) with its scores, and v(beta) with its X^T theta."""

    tau: float
    weights: Floats
    scores: Floats
    theta: Floats
    x_theta: Floats | None


def gap_of(state: State, x_theta: Array) -> float:
    """Return J(w) - D(theta), with the best intercept if one is free, or the multipliers for several classes."""
    problem, risk, scores = state.problem, state.problem.risk, state.scores
    squares = (
        problem.lam * float(np.vdot(state.weights, state.weights)) + float(np.vdot(x_theta, x_theta)) / problem.lam
    )
    intercept = intercept_of(state)
    value = risk.value(scores + (problem.best_intercept(scores) if intercept is None else intercept))
    return 0.5 * squares + value + problem.closed_form.conjugate(state.theta, feasible=True)


def intercept_of(state: State) -> Any:
    """Return None for a single free intercept, which the certificate computes, or the multipliers of (23)."""
    if not state.problem.intercept:
        return state.problem.no_intercept()
    if isinstance(state.dual_set, BalancedClasses):
        return state.dual_set.intercepts(state.centre, state.scores, state.mu)
    return None


def restart(state: State, centre: Array, x_theta: Array, weights: Array, scores: Array) -> float:
    """Step 1 with trials of L; return the data passes."""
    passes, lipschitz = 0.5, state.lipschitz
    while True:
        theta = state.dual_set.step(centre, scores, lipschitz)
        found = state.problem.design.adjoint(theta)
        if _is_large_enough(state, lipschitz, theta - centre, found - x_theta):
            break
        lipschitz, passes = min(2.0 * lipschitz, state.lipschitz_bound), passes + 0.5
    state.centre, state.theta, state.x_theta, state.weights, state.scores = centre, theta, found, weights, scores
    state.mu = state.lipschitz = state.accepted = lipschitz
    state.restart_mu = min(
        state.restart_ratio * lipschitz, _RESTART_GAP * state.problem.risk.value_at_zero / state.dual_set.d_range
    )
    return passes


def given_move(state: State, nearest: Array) -> tuple[Move, float]:
    """Step 3 with a given L."""
    design, tau = state.problem.design, 2.0 / (state.steps + 3.0)
    beta = (1.0 - tau) * state.theta + tau * nearest
    weights = design.adjoint(beta) / state.problem.lam
    scores = design.scores(weights)
    return Move(tau, weights, scores, state.dual_set.step(beta, scores, state.lipschitz), None), 1.0


def adaptive_move(state: State, last_x_theta: Array, nearest: Array, hint: Hint) -> tuple[Move | None, float]:
    """Step 3 with trials of L; no move if a stop is requested before one is accepted."""
    design, x_theta_nearest, passes = state.problem.design, state.problem.design.adjoint(nearest), 0.5
    while True:
        tau = largest_tau(state.mu, state.lipschitz)
        beta = (1.0 - tau) * state.theta + tau * nearest
        x_theta_beta = (1.0 - tau) * last_x_theta + tau * x_theta_nearest
        weights = x_theta_beta / state.problem.lam
        scores = design.scores(weights)
        theta = state.dual_set.step(beta, scores, state.lipschitz)
        x_theta = design.adjoint(theta)
        passes += 1.0
        if _is_large_enough(state, state.lipschitz, theta - beta, x_theta - x_theta_beta):
            state.accepted, state.lipschitz = state.lipschitz, 0.5 * state.lipschitz
            return Move(tau, weights, scores, theta, x_theta), passes
        state.lipschitz = min(2.0 * state.lipschitz, state.lipschitz_bound)
        if hint.stop_requested():
            return None, passes


def _is_large_enough(state: State, lipschitz: float, move: Array, x_theta: Array) -> bool:
    """Return whether L is at least the curvature of D along this move."""
    curvature = float(np.vdot(x_theta, x_theta)) / state.problem.lam
    allowed = lipschitz * squared_length(state.problem.risk, move)
    return curvature <= (1.0 + _ROUNDING) * allowed or lipschitz >= state.lipschitz_bound

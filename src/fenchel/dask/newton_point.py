"""The state of Newton-CG on groups of rows (``newton``): its point, held by the workers, and the Hessian there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.dask import local_points as local
from fenchel.dask.design import ShardedDesign
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.numerics.linear_algebra import cholesky_solver
from fenchel.problem import Problem
from fenchel.solvers.newton.rules import AVERAGING_RADIUS, MU_FACTOR

#: smallest curvature of an intercept, relative to the largest
_SMALLEST_CURVATURE = 1e-3
#: features up to which groups send H of a sample, 8 MB each
_MOST_SAMPLED_FEATURES = 1000
#: active rows per unknown in that sample, as in ``solvers.newton.direction``
_ROWS_PER_UNKNOWN = 8


@dataclass
class State:
    """The present point, of which the workers hold the numbers of the examples."""

    problem: Problem
    design: ShardedDesign
    #: the term of the risk of each group, the centre of its smoothing and its point, held on its worker
    parts: Sequence[Any]
    centres: Sequence[Any]
    weights: Floats
    intercept: Floats
    mu: float
    points: Sequence[Any] = ()
    #: rows with second derivatives
    active: int = 0
    risk: float = math.inf
    #: R(s) + R*(-theta) + theta . s
    risk_gap: float = math.inf
    x_theta: Floats = field(default_factory=lambda: np.zeros(0))
    balance: Floats = field(default_factory=lambda: np.zeros(()))
    predicted_decrease: float = math.inf
    #: root mean square change of the scores in the last step
    radius: float = 0.0
    best_gap: float = math.inf
    steps_without_progress: int = 0
    stalled: bool = False
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def update(self) -> None:
        """Compute the points of the groups at the weights, and their sums."""
        groups, at = self.design.groups, {"weights": self.weights, "intercept": self.intercept, "mu": self.mu}
        self.points = groups.place(local.local_point, self.parts, self.centres, **at)
        self._add_up()

    def _add_up(self) -> None:
        found = self.design.groups.map(local.sums, self.parts, self.points)
        self.risk, self.risk_gap = (math.fsum(one[k] for one in found) for k in (0, 1))
        self.active = sum(one.active for one in found)
        self.x_theta = self.design.ordered_sum([one.x_theta for one in found])
        self.balance = self.design.ordered_sum([one.balance for one in found])

    def move_centre(self) -> None:
        """Move the centre of the smoothing to the dual point, and decrease mu."""
        groups = self.design.groups
        self.centres = groups.place(local.alpha, self.parts, self.points)
        if self.risk_gap > OBJECTIVE_ROUNDING * self.objective:
            # once the gap of the risk is rounding error, a smaller mu would only add noise to theta
            self.mu *= MU_FACTOR
        self.predicted_decrease = math.inf
        self.points = groups.place(local.recentred, self.parts, self.centres, self.points, mu=self.mu)
        self._add_up()

    @property
    def objective(self) -> float:
        """J, not smoothed."""
        return 0.5 * self.problem.lam * float(np.vdot(self.weights, self.weights)) + self.risk

    @property
    def gradient(self) -> Floats:
        """The gradient of the smoothed J in w and, if it is free, b."""
        gradient = (self.problem.lam * self.weights - self.x_theta).ravel()
        return np.append(gradient, -self.balance) if self.problem.intercept else gradient

    @property
    def regularizer_gap(self) -> float:
        residual = self.problem.lam * self.weights - self.x_theta
        return float(np.vdot(residual, residual)) / (2.0 * self.problem.lam)

    @property
    def gap(self) -> float:
        """The duality gap; with a free intercept an estimate, as theta need not sum to zero."""
        cost = float(np.sum(np.abs(self.balance) * (1.0 + np.abs(self.intercept)))) if self.problem.intercept else 0.0
        return self.risk_gap + self.regularizer_gap + cost

    def in_two(self, direction: Array) -> dict[str, Floats]:
        """The parts of a direction in w and in b."""
        size, intercept = self.weights.size, np.zeros(self.problem.theta_shape[1:])
        if self.problem.intercept:
            intercept = direction[size:].reshape(intercept.shape)
        return {"weights": direction[:size].reshape(self.weights.shape), "intercept": intercept}


class Hessian:
    """H at a point: products with it, and a preconditioner."""

    def __init__(self, state: State) -> None:
        self.state, self.lam, self.ridge = state, state.problem.lam, 0.0
        #: averaged over as far as the scores are expected to move
        self.radius = AVERAGING_RADIUS * state.radius if state.mu > 0.0 else 0.0
        #: whether ``precondition`` solves with H itself
        self.exact = False
        few = state.weights.ndim == 1 and state.weights.size <= _MOST_SAMPLED_FEATURES
        self.precondition = self._sampled() if few else self._diagonal()

    @cached_property
    def points(self) -> Sequence[Any]:
        """The points of the groups with the second derivatives of H, on the workers."""
        state = self.state
        if self.radius == 0.0:
            return state.points
        own = state.parts, state.centres, state.points
        return state.design.groups.place(local.averaged, *own, mu=state.mu, radius=self.radius)

    def _sampled(self) -> Callable[[Array], Array]:
        """Solutions with H of a sample of the active rows."""
        state = self.state
        share = min(1.0, _ROWS_PER_UNKNOWN * state.weights.size / max(1, state.active))
        self.exact = share == 1.0
        own = state.parts, state.centres, state.points, [span.start for span in state.design.spans]
        numbers = {"mu": state.mu, "radius": self.radius, "share": share, "offset": float(state.random.random())}
        found = state.design.groups.map(local.hess_of_sample, *own, **numbers)
        add = state.design.ordered_sum
        gram, border = add([one.gram for one in found]), add([one.border for one in found])
        matrix = gram + self.lam * np.eye(len(gram))
        if state.problem.intercept:
            total = self._curvature(np.array([math.fsum(one.total for one in found)]))
            matrix = np.block([[matrix, border[:, None]], [border[None, :], total[None, :]]])
        return cholesky_solver(matrix)

    def _diagonal(self) -> Callable[[Array], Array]:
        """Quotients by the diagonal of H."""
        state = self.state
        weights, intercept = self._sum(state.design.groups.map(local.hess_diagonal, self.points))
        diagonal = np.tile(weights + self.lam, state.weights.size // len(weights))
        if state.problem.intercept:
            diagonal = np.append(diagonal, self._curvature(np.atleast_1d(intercept)))
        return lambda residual: residual / diagonal

    def _curvature(self, intercept: Array) -> Floats:
        """The diagonal of H in the intercepts, with a ridge where no row is active, so that H is regular."""
        largest = float(np.max(intercept))
        self.ridge = 0.0 if largest > 0.0 else min(self.lam, 1.0)
        return np.maximum(intercept, _SMALLEST_CURVATURE * largest) + self.ridge

    def _sum(self, terms: Sequence[local.Product]) -> tuple[Floats, Floats]:
        add = self.state.design.ordered_sum
        return add([term.weights for term in terms]), add([term.intercept for term in terms])

    def times(self, direction: Array) -> Floats:
        """Return H times a direction: one broadcast and one ordered sum."""
        state, at = self.state, self.state.in_two(direction)
        image, total = self._sum(state.design.groups.map(local.hess_product, self.points, **at))
        found = (image + self.lam * at["weights"]).ravel()
        return np.append(found, total + self.ridge * at["intercept"]) if state.problem.intercept else found

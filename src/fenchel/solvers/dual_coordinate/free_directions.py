r"""The state of the augmented Lagrangian on a problem with free directions: Zhang (2002), App. D, eqs. (36)-(38).

The equalities :math:`Cv = b` of ``FreeDirections``, and :math:`\sum\theta = 0` of a free intercept, are read in the
scores: with :math:`Z = [XC^T, \mathbf 1]` they say :math:`Z^T\theta = \lambda(b, 0)`.  Two changes of variables leave
the problem as it is and its conditioning much better:

- the directions are mixed, :math:`B = ZT`, so that the columns of B are orthonormal in the weights of the examples.
  One that is a combination of the others, on these data, is left out: its multiplier is zero;
- the rows are centred, :math:`x_i - MB_i` with :math:`M = X^T\mathrm{diag}(c)B`, the regression of the features on the
  free directions; for a free intercept alone M is the mean.

=====================  =====================================================================
symbol                 here
=====================  =====================================================================
s                      ``FreeOutput.multipliers``
:math:`Cv - b`         ``FreeOutput.residual``, in the mixed directions
:math:`\lambda n/\mu`  ``FreeOutput.penalty``
:math:`\hat w`         :math:`v + C^T\sigma` with :math:`(\sigma, \beta) = T(s + \kappa e - M^Tv)`, eq. (38)
=====================  =====================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from fenchel.arrays import Array, Floats
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import Warm
from fenchel.solvers.curvature import check_curvatures, squared_distances, squared_norms
from fenchel.solvers.dual_coordinate.loop import ALPHA, CURVATURE, LABEL, SCALE
from fenchel.solvers.dual_coordinate.loop_free_directions import Equalities, epoch_with_equalities
from fenchel.solvers.shrinking import ActiveSet, random_state

#: entries of X that one step of the solver may read
_STEP_ENTRIES = 1 << 25
#: a column of Z is a combination of others if its distance from their span is below this share of its length
_DEPENDENT = 1e-9
#: kappa, the weight of the quadratic term, as a share of the mean squared norm of the centred rows
_WEIGHT = 0.1
#: kappa is at least this many times lam, where little or nothing is regularized
_PROXIMAL = 10.0


@dataclass
class FreeOutput:
    """The dual variables of one output, its multipliers, and the sums that follow from them."""

    table: Floats
    #: X^T theta / lam
    v: Floats
    #: e and t of ``loop_free_directions``
    residual: Floats
    offset: Floats
    multipliers: Floats
    penalty: float
    active_set: ActiveSet
    #: epochs since the multipliers or the penalty changed, and the largest entry of ``residual`` then
    inner_epochs: int = 0
    last_residual: float = math.inf


@dataclass
class FreeState:
    """What does not change during a solve with free directions, and the state of each output."""

    problem: Problem
    rows: Any
    loss: Any
    #: T, M and b in the mixed directions
    mixing: Floats
    means: Floats
    target: Floats
    #: B_i, p_i and q_i of each example, side by side
    sides: Floats
    #: squared lengths of the centred rows, and of B_i
    norms: Floats
    side_norms: Floats
    random: NDArray[np.uint64]
    outputs: list[FreeOutput] = field(default_factory=list)
    turn: int = 0
    certificates: int = 0

    @classmethod
    def of(cls, problem: Problem, warm: Warm | None, seed: int, weight: float | None, stretch: float) -> FreeState:
        """Begin at a warm start or at zero; without a ``weight`` one is chosen as ``dual_coordinate`` does."""
        shares, norms = problem.risk.shares, squared_norms(problem)
        sides, mixing, target = _mixed(problem)
        means = problem.design.adjoint(shares[:, None] * sides).reshape(-1, problem.design.shape[1])
        projections = problem.design.scores(means).reshape(len(shares), -1)
        inner = sides @ (means @ means.T)
        terms = norms + np.einsum("ij,ij->i", sides, inner)
        norms = squared_distances(terms, np.einsum("ij,ij->i", sides, projections))
        if weight is None:
            weight = max(_WEIGHT * float(shares @ norms), _PROXIMAL * problem.lam)
        state = cls(
            problem,
            problem.design.rows(),
            problem.mean_risk.loss.compiled(),
            mixing,
            means,
            target,
            np.ascontiguousarray(np.hstack([sides, projections, inner - projections])),
            norms,
            np.einsum("ij,ij->i", sides, sides),
            random_state(seed),
        )
        check_curvatures(problem, norms + weight * state.side_norms)
        state._begin(warm, weight, stretch)
        return state

    def _begin(self, warm: Warm | None, weight: float, stretch: float) -> None:
        problem, shares = self.problem, self.problem.risk.shares
        thetas, models = _first(problem, warm)
        labels = np.atleast_2d(problem.mean_risk.labels.T)
        for theta, label, model in zip(thetas, labels, models, strict=True):
            table = np.zeros((len(shares), 4))
            table[:, LABEL] = label
            np.divide(theta, shares, out=table[:, ALPHA], where=shares > 0)
            table[:, SCALE] = shares / problem.lam
            active_set = ActiveSet(np.flatnonzero(shares > 0), len(shares))
            count = len(self.target)
            residual, offset, multipliers = np.zeros((3, count))
            v = np.zeros(problem.design.shape[1])
            output = FreeOutput(table, v, residual, offset, multipliers, weight, active_set)
            self.set_curvatures(output, stretch)
            self.refresh(output)
            if model is not None:
                # B s reproduces the scores of the model in the free directions
                wanted = self._free_scores(model)
                output.multipliers = self.sides[:, :count].T @ (shares * wanted) + self.means @ self.centred(output)
                self.refresh(output)
            self.outputs.append(output)

    def _free_scores(self, model: tuple[Array, float]) -> Floats:
        weights, intercept = model
        regularizer = self.problem.free_directions
        part = regularizer.directions.T @ regularizer.multipliers(weights - regularizer.origin)
        return self.problem.design.scores(np.asarray(part)) + intercept

    def set_curvatures(self, output: FreeOutput, stretch: float) -> None:
        """The curvature of (**) for each example."""
        output.table[:, CURVATURE] = output.table[:, SCALE] * (self.norms + output.penalty * self.side_norms) / stretch

    def centred(self, output: FreeOutput) -> Floats:
        """The weights v - M e of centred rows."""
        return output.v - output.residual @ self.means

    def residual_size(self, output: FreeOutput) -> float:
        """The sum of the sizes of the terms that cancel in ``residual``, at most."""
        theta = self.problem.risk.shares * np.abs(output.table[:, ALPHA])
        sizes = theta @ np.abs(self.sides[:, : len(self.target)]) / self.problem.lam + np.abs(self.target)
        return float(np.max(sizes, initial=0.0))

    def advance(self, output: FreeOutput, shrinking: bool) -> tuple[int, bool]:
        """One part of the present epoch: turns of examples, and whether the epoch ended."""
        design = self.problem.design
        entries_per_row = max(1, design.stored_entries // design.shape[0]) + self.sides.shape[1]
        part = output.active_set.next_part(_STEP_ENTRIES // entries_per_row, self.random, shrinking)
        equalities = Equalities(self.sides, output.residual, output.offset, output.penalty)
        tally = epoch_with_equalities(self.rows, self.loss, output.table, output.v, equalities, part)
        return part.end - part.begin, output.active_set.record(tally, part.end, self.problem.lam)

    def refresh(self, output: FreeOutput) -> None:
        """Recompute what the loop keeps as running sums."""
        theta = self.problem.risk.shares * output.table[:, ALPHA]
        output.v[:] = self.problem.design.adjoint(theta) / self.problem.lam
        output.residual[:] = theta @ self.sides[:, : len(self.target)] / self.problem.lam - self.target
        output.offset[:] = output.multipliers - self.means @ self.centred(output)

    def propose(self) -> tuple[Model, Witness]:
        """(38), with the intercept left to the judge, and theta."""
        problem = self.problem
        regularizer, weights = problem.free_directions, []
        for output in self.outputs:
            sigma = self.mixing @ (output.offset + output.penalty * output.residual)
            unregularized = regularizer.directions.T @ sigma[: len(regularizer.prices)]
            weights.append(self.centred(output) + np.asarray(unregularized))
        theta = np.stack([problem.risk.shares * output.table[:, ALPHA] for output in self.outputs], axis=1)
        intercept = None if problem.intercept else problem.no_intercept()
        return Model(np.stack(weights).reshape(problem.weights_shape), intercept), Witness(
            theta.reshape(problem.theta_shape)
        )

    def objective(self) -> float:
        """About the dual at the present point."""
        theta = self.propose()[1].theta
        squares = sum(float(np.sum(self.centred(output) ** 2)) for output in self.outputs)
        return -0.5 * self.problem.lam * squares - self.problem.closed_form.conjugate(theta, feasible=True)


def _mixed(problem: Problem) -> tuple[Floats, Floats, Floats]:
    """B, T and b in the mixed directions."""
    regularizer, root = problem.free_directions, np.sqrt(problem.risk.shares)
    sparse = sp.issparse(regularizer.directions)
    sides = problem.design.scores(regularizer.directions.toarray() if sparse else regularizer.directions)
    target = regularizer.prices
    if problem.intercept:
        sides, target = np.column_stack([sides, np.ones(len(sides))]), np.append(target, 0.0)
    sizes = np.sqrt(problem.risk.shares @ sides**2)
    sizes[sizes == 0.0] = 1.0
    _, upper, order = qr(root[:, None] * (sides / sizes), mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(upper))
    rank = int(np.count_nonzero(diagonal > _DEPENDENT * diagonal[0])) if diagonal[0] > 0.0 else 0
    mixing = np.zeros((len(target), rank))
    mixing[order[:rank]] = solve_triangular(upper[:rank, :rank], np.eye(rank))
    mixing /= sizes[:, None]
    return sides @ mixing, mixing, mixing.T @ target


def _first(problem: Problem, warm: Warm | None) -> tuple[Array, list[tuple[Array, float] | None]]:
    """The dual point and the models to start from, output by output."""
    count = problem.risk.outputs or 1
    theta, models = np.zeros((count, problem.design.shape[0])), [None] * count
    if warm is None or not problem.fits(warm.model):
        return theta, list(models)
    if np.shape(warm.witness.theta) == problem.theta_shape and np.all(np.isfinite(warm.witness.theta)):
        theta = np.atleast_2d(problem.closed_form.project(warm.witness.theta).T)
    weights = np.atleast_2d(np.asarray(warm.model.weights, dtype=np.float64))
    known = 0.0 if warm.model.intercept is None else warm.model.intercept
    intercepts = np.broadcast_to(np.asarray(known, dtype=np.float64), (count,))
    return theta, list(zip(weights, intercepts.tolist(), strict=True))

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
s                      ``intercept[CENTRE]``, in the mixed directions
:math:`Cv - b`         ``intercept[SUM]``, in the mixed directions
:math:`\lambda n/\mu`  ``constant``
:math:`\hat w`         :math:`v + C^T\sigma` with :math:`(\sigma, \beta) = T(s + \kappa e - M^Tv)`, eq. (38)
=====================  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular

from fenchel.arrays import Array, Floats
from fenchel.problem import Model, Problem, Witness
from fenchel.regularizers import L2
from fenchel.solvers.base import Warm
from fenchel.solvers.curvature import check_curvatures, squared_distances, squared_norms
from fenchel.solvers.dual_coordinate.loop import ALPHA, CENTRE, CURVATURE, OFFSET, SCALE, SUM
from fenchel.solvers.dual_coordinate.state import OutputState, State
from fenchel.solvers.shrinking import random_state
from fenchel.solvers.whitening import in_features

#: a column of Z is a combination of others if its distance from their span is below this share of its length
_DEPENDENT = 1e-9
#: kappa, the weight of the quadratic term, as a share of the mean squared norm of the centred rows
WEIGHT = 0.1
#: kappa is at least this many times lam, where little or nothing is regularized
PROXIMAL = 10.0
#: an equality holds if its residual is this share of the sum of the sizes of its terms (rounding)
_RESIDUAL_ROUNDING = 1e-13


@dataclass(kw_only=True)
class FreeState(State):
    """A state whose ``mean``, ``projection`` and intercepts are those of the mixed directions."""

    #: T and b in the mixed directions
    mixing: Floats
    target: Floats

    @classmethod
    def of(
        cls,
        problem: Problem,
        warm: Warm | None,
        seed: int,
        weight: float | None,
        stretch: float,
        root: Floats | None = None,
    ) -> FreeState:
        """Begin at a warm start or at zero; without a ``weight`` one is chosen as ``dual_coordinate`` does."""
        shares, norms = problem.risk.shares, squared_norms(problem)
        sides, mixing, target = mixed(problem)
        means = problem.design.adjoint(shares[:, None] * sides).reshape(-1, problem.design.shape[1])
        projections = problem.design.scores(means).reshape(len(shares), -1)
        inner = sides @ (means @ means.T)
        terms = norms + np.einsum("ij,ij->i", sides, inner)
        norms = squared_distances(terms, np.einsum("ij,ij->i", sides, projections))
        if weight is None:
            weight = max(WEIGHT * float(shares @ norms), PROXIMAL * problem.lam)
        state = cls(
            problem=problem,
            rows=problem.design.rows(),
            loss=problem.mean_risk.loss.compiled(),
            regularizer=L2().compiled(),
            mean=means,
            projection=np.ascontiguousarray(np.hstack([sides, projections, inner - projections])),
            random=random_state(seed),
            mixing=mixing,
            target=target,
            side_norms=np.einsum("ij,ij->i", sides, sides),
            root=root,
        )
        curvatures = norms + weight * state.side_norms
        check_curvatures(problem, curvatures)
        thetas, models = first(problem, warm)
        for theta, label, model in zip(thetas, np.atleast_2d(problem.mean_risk.labels.T), models, strict=True):
            v, intercept = np.zeros(problem.design.shape[1]), np.zeros((3, len(target)))
            output = state.new_output(label, theta, v, intercept, weight)
            output.table[:, CURVATURE] = output.table[:, SCALE] * curvatures / stretch
            state.refresh(output)
            if model is not None:
                # B s reproduces the scores of the model in the free directions
                wanted = sides.T @ (shares * state.free_scores(model))
                output.intercept[CENTRE] = wanted + means @ state.centred(output)
                state.refresh(output)
        return state

    def free_scores(self, model: tuple[Array, float]) -> Floats:
        """The scores of the part of a model in the free directions."""
        weights, intercept = model
        regularizer = self.problem.free_directions
        part = regularizer.directions.T @ regularizer.multipliers(weights - regularizer.origin)
        return self.problem.design.scores(np.asarray(part)) + intercept

    def centred(self, output: OutputState) -> Floats:
        """The weights v - M e of centred rows."""
        return output.v - output.intercept[SUM] @ self.mean

    def residual_rounding(self, output: OutputState) -> float:
        theta = self.problem.risk.shares * np.abs(output.table[:, ALPHA])
        sizes = theta @ np.abs(self.projection[:, : len(self.target)]) / self.problem.lam + np.abs(self.target)
        return _RESIDUAL_ROUNDING * float(np.max(sizes, initial=0.0))

    def move_centre(self, output: OutputState, eta: float) -> None:
        moved = eta * output.constant * output.intercept[SUM]
        output.intercept[[OFFSET, CENTRE]] += moved

    def refresh(self, output: OutputState) -> None:
        theta = self.problem.risk.shares * output.table[:, ALPHA]
        output.v[:] = self.problem.design.adjoint(theta) / self.problem.lam
        output.intercept[SUM] = theta @ self.projection[:, : len(self.target)] / self.problem.lam - self.target
        output.intercept[OFFSET] = output.intercept[CENTRE] - self.mean @ self.centred(output)

    def propose(self) -> tuple[Model, Witness]:
        """(38), with the intercept left to the certificate, and theta."""
        problem, weights = self.problem, []
        regularizer = problem.free_directions
        for output in self.outputs:
            regularized, multipliers = self.parts(output)
            unregularized = regularizer.directions.T @ (self.mixing @ multipliers)[: len(regularizer.prices)]
            weights.append(regularized + np.asarray(unregularized))
        intercept = None if problem.intercept else problem.no_intercept()
        found = in_features(np.stack(weights).reshape(problem.weights_shape), self.root)
        return self.repair(Model(found, intercept), Witness(self.theta()))

    def parts(self, output: OutputState) -> tuple[Floats, Floats]:
        """The weights without their part in the free directions, and that part in the mixed directions."""
        return self.centred(output), output.intercept[OFFSET] + output.constant * output.intercept[SUM]

    def dual_square(self, theta: Array) -> float:
        return 0.5 * self.problem.lam * sum(float(np.sum(self.centred(output) ** 2)) for output in self.outputs)


def mixed(problem: Problem) -> tuple[Floats, Floats, Floats]:
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


def first(problem: Problem, warm: Warm | None) -> tuple[Array, list[tuple[Array, float] | None]]:
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

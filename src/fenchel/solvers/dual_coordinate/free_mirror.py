r"""The state of the augmented Lagrangian on a problem with free features and a base other than ridge.

Zhang (2002), App. D, eqs. (36)-(38), as in ``free_directions``, with :math:`\bar h` the conjugate of the base:

.. math:: \bar h_{s,\mu}(v) = \bar h(v) + s\cdot e + \tfrac{\kappa}{2}\|e\|^2, \qquad
    e = B^T\theta/\lambda - b, \qquad \hat w = \nabla\bar h(v) + C^T\sigma

In App. C :math:`\bar h` may be any function that agrees with the conjugate where the equalities hold.  Here it does
not depend on :math:`v_F`, and dense rows are centred, :math:`x_i - MB_i` with the weights :math:`\nabla\bar h(v - Me)`,
so that features far from zero do not slow steps down.  The loop sees a copy of X for that; a sparse one is not centred.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import Design, as_design
from fenchel.designs.rows import DenseRows
from fenchel.problem import Problem
from fenchel.regularizers.free_features import FreeFeatures
from fenchel.solvers.base import Warm
from fenchel.solvers.curvature import check_curvatures
from fenchel.solvers.dual_coordinate.free_directions import PROXIMAL, WEIGHT, FreeState, first, mixed
from fenchel.solvers.dual_coordinate.loop import ALPHA, CENTRE, CURVATURE, OFFSET, SCALE, SUM
from fenchel.solvers.dual_coordinate.mirror import MirrorState
from fenchel.solvers.dual_coordinate.state import OutputState
from fenchel.solvers.shrinking import random_state
from fenchel.solvers.whitening import scaled_columns

if TYPE_CHECKING:
    from fenchel.solvers.dual_coordinate.solver import DualCoordinate


@dataclass(kw_only=True)
class FreeMirrorState(FreeState):
    """A state whose ``projection`` holds the examples in the mixed directions."""

    @classmethod
    def begun(
        cls, problem: Problem, warm: Warm | None, solver: DualCoordinate, weight: float | None
    ) -> FreeMirrorState:
        """Begin at a warm start or at zero; without a ``weight`` one is chosen as ``dual_coordinate`` does."""
        base, features = problem.free_directions.base, problem.design.shape[1]
        sides, mixing, target = mixed(problem)
        design, means = _centred(problem, sides)
        # the steps are those without the equalities
        relaxed = replace(problem, design=design, regularizer=base, intercept=False)
        state = cls(
            problem=problem,
            rows=relaxed.design.rows(),
            loss=problem.mean_risk.loss.compiled(),
            regularizer=base.compiled_mirror_map(features),
            mean=means,
            projection=np.ascontiguousarray(sides),
            random=random_state(solver.seed or 0),
            mixing=mixing,
            target=target,
            side_norms=np.einsum("ij,ij->i", sides, sides),
        )
        thetas, models = first(problem, warm)
        for theta, label, model in zip(thetas, np.atleast_2d(problem.mean_risk.labels.T), models, strict=True):
            output = state.new_output(label, theta, np.zeros(features), np.zeros((3, len(target))), weight or 0.0)
            output.mirror, curvatures = MirrorState.of(relaxed, solver, output.table, output.v)
            if weight is None:
                output.constant = state.chosen_weight(curvatures)
            check_curvatures(problem, curvatures + output.constant * state.side_norms)
            if model is not None:
                wanted = sides.T @ (problem.risk.shares * state.free_scores(model))
                output.intercept[[OFFSET, CENTRE]] = wanted + means @ _regularized(problem, model[0])
            state.refresh(output)
        return state

    def chosen_weight(self, curvatures: Array) -> float:
        """Kappa, from the curvatures along the rows."""
        return max(WEIGHT * float(self.problem.risk.shares @ curvatures), PROXIMAL * self.problem.lam)

    def adapt_constant(self, output: OutputState) -> None:
        """Kappa follows the curvatures that steps met, unless those have no bound."""
        if self.problem.free_directions.base.singular_hess:
            return
        scale = output.table[:, SCALE]
        met = np.divide(output.table[:, CURVATURE], scale, out=np.zeros_like(scale), where=scale > 0)
        output.constant = self.chosen_weight(met)

    def refresh(self, output: OutputState) -> None:
        theta = self.problem.risk.shares * output.table[:, ALPHA]
        output.intercept[SUM] = theta @ self.projection / self.problem.lam - self.target
        v = self.problem.design.adjoint(theta) / self.problem.lam - output.intercept[SUM] @ self.mean
        output.v[:] = _free_features(self.problem).fixed(v)
        if output.mirror is not None:
            output.mirror.begin(self, output)

    def parts(self, output: OutputState) -> tuple[Floats, Floats]:
        """The weights of the base, and the multipliers: all of the weights of free features."""
        weights = _regularized(self.problem, self.problem.free_directions.base.grad_conjugate(output.v))
        free = output.intercept[CENTRE] + output.constant * output.intercept[SUM]
        return weights, free - self.mean @ weights

    def free_scores(self, model: tuple[Array, float]) -> Floats:
        weights, intercept = model
        return self.problem.design.scores(weights - _regularized(self.problem, weights)) + intercept

    def dual_square(self, theta: Array) -> float:
        base = self.problem.free_directions.base
        return self.problem.lam * sum(base.conjugate(output.v) for output in self.outputs)


def _free_features(problem: Problem) -> FreeFeatures:
    found = problem.free_directions.free_features
    assert found is not None
    return found


def _regularized(problem: Problem, weights: Array) -> Floats:
    """The weights with zeros for the free features."""
    found = np.array(weights, dtype=np.float64)
    found[_free_features(problem).indices] = 0.0
    return found


def _centred(problem: Problem, sides: Array) -> tuple[Design, Floats]:
    """A copy of X for the loop, without free features and, if it is dense, with centred rows; and M."""
    kept, rows = np.ones(problem.design.shape[1]), problem.design.rows()
    kept[_free_features(problem).indices] = 0.0
    means = np.zeros((sides.shape[1], len(kept)))
    if not isinstance(rows, DenseRows):
        return scaled_columns(problem.design, kept), means
    means = problem.design.adjoint(problem.risk.shares[:, None] * sides).reshape(means.shape) * kept
    return as_design((rows.values - sides @ means) * kept), means

r"""Repair of models for hard constraints, and dual points that prove infeasibility.

Dual ascent satisfies the constraints of ``losses.constraint`` only in the limit, and the objective of a model that
violates one by a rounding error is infinite.  Proposals are therefore repaired:

- ``hard_margin``: weights that separate the classes are scaled until the smallest margin (with the best intercept) is
  just above one.  The smallest margin of the optimum is one, so the objective hardly changes near it.
- ``interpolation``: the change of the weights of least norm that makes the residuals zero is added, by LSQR (Paige and
  Saunders, ACM TOMS 8, 1982).

If that fails repeatedly, a ray :math:`\rho` of the dual is computed: in the domain, with :math:`X^T\rho = 0` (and
:math:`\sum\rho = 0` for a free intercept) and :math:`g = -R^*(-\rho) > 0`.  A feasible model would satisfy
:math:`g \le \rho^T s = \rho^T X w \le \|X^T\rho\|\,\|w\|`, so none exists (Farkas' lemma).  For ``hard_margin`` the ray
is the solution of a linear program (``solvers.farkas``); for ``interpolation`` it is the residual of the least squares
fit.  In floating point :math:`X^T\rho` is only nearly zero.  The ray is scaled so that it proves a large lower bound on
the objective, which ``certificate`` recomputes; the problem is infeasible if the bound exceeds the objective of every
model with scores up to 1e7.

===================  ==========================================================
symbol               here
===================  ==========================================================
:math:`\rho`         ``ray``
g                    ``gain``
===================  ==========================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from fenchel.arrays import Array, Floats
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.farkas import infeasible_ray, scaled_ray

#: distance of the smallest margin above one, multiplied by ten in each attempt, and the largest number of attempts
_CLEARANCE, _MAX_ATTEMPTS = 1e-14, 4
#: number of infeasible proposals after which a ray is computed
_MAX_INFEASIBLE = 3
#: relative tolerances of LSQR: below the rounding unit, so that it runs to full accuracy
_LSQR_TOLERANCE = 1e-15


@dataclass
class Repair:
    """Repairs the proposals of one solve."""

    problem: Problem
    #: infeasible proposals so far
    infeasible: int = 0
    #: the ray, once computed; zero if there is none
    ray: Floats | None = None

    def __call__(self, model: Model, witness: Witness) -> tuple[Model, Witness]:
        """Return the repaired model, or after several failures a dual point that proves infeasibility."""
        constraint = self.problem.mean_risk.loss.constraint
        if constraint is None:
            return model, witness
        repaired = (
            self._scaled_to_margin(model.weights) if constraint == "margin" else self._interpolating(model.weights)
        )
        if repaired is not None:
            return Model(repaired, model.intercept), witness
        self.infeasible += 1
        if self.ray is None and self.infeasible >= _MAX_INFEASIBLE:
            margin, problem = constraint == "margin", self.problem
            self.ray = infeasible_ray(problem) if margin else scaled_ray(problem, self._residuals(model.weights)[1])
        if self.ray is not None and np.any(self.ray):
            return model, Witness(self.ray)
        return model, witness

    def _scaled_to_margin(self, weights: Array) -> Array | None:
        """Return the weights scaled to margin one, or None if they do not separate the classes."""
        risk, scaled, clearance = self.problem.mean_risk, weights, _CLEARANCE
        weighted = risk.shares > 0
        for _ in range(_MAX_ATTEMPTS):
            scores = self.problem.design.scores(scaled)
            if self.problem.intercept:
                scores = scores + risk.best_intercept(scores)
            smallest = float(np.min((risk.labels * scores)[weighted]))
            if not smallest > 0.0:
                return None
            if smallest >= 1.0 and scaled is not weights:
                return scaled
            clearance *= 10.0
            scaled = scaled * ((1.0 + clearance) / smallest)
        return scaled

    def _interpolating(self, weights: Array) -> Array | None:
        """Return the nearest interpolating weights, or None if their residuals exceed the tolerance."""
        change, residuals = self._residuals(weights)
        if np.max(np.abs(residuals[self.problem.risk.shares > 0])) <= self.problem.mean_risk.loss.tolerance:
            return weights + change
        return None

    def _residuals(self, weights: Array) -> tuple[Array, Array]:
        """Return the least-norm change of the weights that minimizes the residuals, and these residuals."""
        design, risk, (n, d) = self.problem.design, self.problem.mean_risk, self.problem.design.shape
        weighted = (risk.shares > 0).astype(np.float64)

        def centred(values: Array) -> Array:
            # a free intercept absorbs the mean
            return weighted * (values - (weighted @ values / weighted.sum() if self.problem.intercept else 0.0))

        operator = LinearOperator(
            (n, d),
            matvec=lambda x: centred(design.scores(np.ascontiguousarray(x).ravel())),
            rmatvec=lambda theta: design.adjoint(centred(theta.ravel())),
            dtype=np.float64,
        )
        change, residuals = np.zeros(d), centred(risk.labels - design.scores(weights))
        for _ in range(2):
            # the second solve is iterative refinement
            change += lsqr(
                operator, residuals, atol=_LSQR_TOLERANCE, btol=_LSQR_TOLERANCE, conlim=0.0, iter_lim=4 * (d + n)
            )[0]
            residuals = centred(risk.labels - design.scores(weights + change))
        return change, residuals

r"""Models that meet the constraints of ``losses.constraint``, or a dual point which proves that there are none.

Dual ascent meets constraints in the limit only, and the objective of a model that misses one by a rounding is
infinite.  So a proposal is repaired:

- ``hard_margin``: weights that separate the classes are scaled until the smallest margin (with the best intercept) is
  just above one.  The optimum has a smallest margin of one, so little is lost near it.
- ``interpolation``: the shortest change of the weights that makes the residuals zero is added, by LSQR.

If that fails, a ray :math:`\rho` of the dual is looked for: in the domain, with :math:`X^T\rho = 0` (and
:math:`\sum\rho = 0` for a free intercept) and :math:`g = -R^*(-\rho) > 0`.  Since
:math:`g \le \rho^T s = \rho^T X w \le \|X^T\rho\|\,\|w\|` for every model that meets the constraints, there is none
(Farkas).  For ``hard_margin`` it is the solution of a linear program (``solvers.rays``); for ``interpolation`` the
residuals of the least squares fit.  In floats :math:`X^T\rho` is not quite zero: the ray, made long, proves a lower
bound on the objective that ``certificate`` recomputes, and calls the problem infeasible when that is beyond all reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lsqr

from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.farkas import infeasible_ray

#: the smallest margin is above one by this, times ten for each attempt
_CLEARANCE, _ATTEMPTS = 1e-14, 4
#: proposals that miss the constraints before a proof is looked for that nothing meets them
_PATIENCE = 3


@dataclass
class Repair:
    """Repairs the proposals of one solve."""

    problem: Problem
    missed: int = 0
    #: a ray that was looked for; zero if there is none
    ray: NDArray[np.float64] | None = None

    def __call__(self, model: Model, witness: Witness) -> tuple[Model, Witness]:
        """The model if it can be repaired; otherwise, sooner or later, a witness that nothing can."""
        constraint = self.problem.mean_risk.loss.constraint
        if constraint is None:
            return model, witness
        repaired = self._separating(model.weights) if constraint == "margin" else self._through(model.weights)
        if repaired is not None:
            return Model(repaired, model.intercept), witness
        self.missed += 1
        if self.ray is None and self.missed >= _PATIENCE:
            if constraint == "margin":
                self.ray = infeasible_ray(self.problem)
            else:
                self.ray = self._long(self._residuals(model.weights)[1])
        if self.ray is not None and np.any(self.ray):
            return model, Witness(self.ray)
        return model, witness

    def _separating(self, weights: NDArray) -> NDArray | None:
        """The weights, scaled to the margin one; None if they do not separate the classes."""
        risk, scaled, clearance = self.problem.mean_risk, weights, _CLEARANCE
        counted = risk.shares > 0
        for _ in range(_ATTEMPTS):
            scores = self.problem.design.scores(scaled)
            if self.problem.intercept:
                scores = scores + risk.best_intercept(scores)
            smallest = float(np.min((risk.labels * scores)[counted]))
            if not smallest > 0.0:
                return None
            if smallest >= 1.0 and scaled is not weights:
                return scaled
            clearance *= 10.0
            scaled = scaled * ((1.0 + clearance) / smallest)
        return scaled

    def _through(self, weights: NDArray) -> NDArray | None:
        """The weights that are nearest among those that fit; None if these do not fit either."""
        change, left = self._residuals(weights)
        if np.max(np.abs(left[self.problem.risk.shares > 0])) <= self.problem.mean_risk.loss.tolerance:
            return weights + change
        return None

    def _residuals(self, weights: NDArray) -> tuple[NDArray, NDArray]:
        """The shortest change of the weights that makes the residuals smallest, and those residuals."""
        design, risk, (n, d) = self.problem.design, self.problem.mean_risk, self.problem.design.shape
        counted = (risk.shares > 0).astype(np.float64)

        def seen(values: NDArray) -> NDArray:
            # an intercept takes the mean away
            return counted * (values - (counted @ values / counted.sum() if self.problem.intercept else 0.0))

        operator = LinearOperator(
            (n, d),
            matvec=lambda x: seen(design.scores(np.ascontiguousarray(x).ravel())),
            rmatvec=lambda theta: design.adjoint(seen(theta.ravel())),
            dtype=np.float64,
        )
        change, left = np.zeros(d), seen(risk.labels - design.scores(weights))
        for _ in range(2):
            # once more for what rounding left
            change += lsqr(operator, left, atol=1e-15, btol=1e-15, conlim=0.0, iter_lim=4 * (d + n))[0]
            left = seen(risk.labels - design.scores(weights + change))
        return change, left

    def _long(self, ray: NDArray) -> NDArray[np.float64]:
        """The ray, made so long that it proves an objective beyond all reason, if it is one."""
        gain = -self.problem.closed_form.conjugate(ray)
        return ray * (4.0 * self.problem.level_bound / gain) if gain > 0.0 else ray

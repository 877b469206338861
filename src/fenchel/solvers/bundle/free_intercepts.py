r"""Free intercepts of a joint risk of several outputs in the bundle method: proximal steps in b.

The minimum of such a risk over its intercepts is a linear program of the size of the data, so the planes are not
balanced one by one (``bundle.oracle``).  Instead X gets a column of a constant M, whose weights u are regularized like
the others, and the intercepts are :math:`b = \hat b + Mu`:

.. math:: \min_{w, u}\; \tfrac\lambda2\|w\|^2 + \tfrac\lambda2\|u\|^2 + R(Xw + \mathbf 1(\hat b + Mu)^T)

is a proximal step from :math:`\hat b` with the curvature :math:`\lambda/M^2` (Rockafellar, SIAM J. Control and
Optimization 14, 1976).  Each step of the bundle moves :math:`\hat b` to the best point, so that u, and with it the sums
:math:`\sum_i\theta_i = \lambda u/M` of the dual point, tend to zero; the certificate cancels what remains of them
(``Risk.balance``).  In the weights (w, u) a plane :math:`a, c` of R has the offset :math:`c + \hat b\cdot\sum_i a_i`:
moving :math:`\hat b` changes offsets only.

===================  ==========================================================
symbol               here
===================  ==========================================================
M                    ``scale``
u                    the last column of the weights
:math:`\hat b`       ``PlaneOracle.centre``
===================  ==========================================================
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import Design
from fenchel.designs.rows import Rows
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import Start, Warm
from fenchel.solvers.bundle.line_search import Point
from fenchel.solvers.bundle.planes import Planes

#: M relative to the root mean square of the norms of the rows
_SCALE = 10.0


class WithConstant(Design):
    """A design with one more column of a constant, without a copy."""

    def __init__(self, design: Design, scale: float) -> None:
        self.plain, self.scale = design, scale
        self.shape = (design.shape[0], design.shape[1] + 1)

    def scores(self, weights: Array) -> Floats:
        return self.plain.scores(np.ascontiguousarray(weights[..., :-1])) + self.scale * weights[..., -1]

    def adjoint(self, theta: Array) -> Floats:
        sums = self.scale * np.sum(theta, axis=0)
        return np.concatenate([self.plain.adjoint(theta), np.asarray(sums)[..., None]], axis=-1)

    @property
    def squared_row_norms(self) -> Floats:
        return self.plain.squared_row_norms + self.scale**2

    @property
    def largest_row_norm(self) -> float:
        return math.hypot(self.plain.largest_row_norm, self.scale)

    @property
    def mean_square(self) -> float:
        return self.plain.mean_square + self.scale**2

    @property
    def stored_entries(self) -> int:
        return self.plain.stored_entries + self.shape[0]

    def part(self, begin: int, end: int) -> Design:
        return WithConstant(self.plain.part(begin, end), self.scale)

    def rows(self) -> Rows:
        raise NotImplementedError("no compiled loop reads the constant")


def are_free(problem: Problem) -> bool:
    """Return whether a problem has free intercepts of a joint risk of several outputs."""
    return problem.intercept and problem.risk.outputs is not None and problem.risk.separable() is None


def with_constant(problem: Problem, warm: Warm | None) -> tuple[Problem, Warm | None, Floats]:
    """Return the problem in (w, u), a warm start in the same weights, and the intercepts to begin with."""
    scale = _SCALE * (math.sqrt(problem.design.mean_square) or 1.0)
    inner = replace(problem, design=WithConstant(problem.design, scale), intercept=False)
    if warm is None or not problem.fits(warm.model):
        return inner, None, np.asarray(problem.risk.constant_intercept)
    weights = np.asarray(warm.model.weights, dtype=np.float64)
    known = warm.model.intercept
    centre = problem.best_intercept(problem.design.scores(weights)) if known is None else np.asarray(known, dtype=float)
    longer = np.concatenate([weights, np.zeros((len(weights), 1))], axis=1)
    theta = np.asarray(warm.witness.theta, dtype=np.float64)
    intercepts = problem.risk.intercepts()
    if theta.shape == problem.theta_shape and np.all(np.isfinite(theta)) and intercepts is not None:
        # the plane of a balanced point has the same offset for every centre
        theta, _ = intercepts.balance(problem.closed_form.project(theta))
    return inner, Start(Model(longer), Witness(theta)), centre


def recentred(problem: Problem, planes: Planes, best: Point) -> Point:
    """Move the centre to the best point: its weights u become zero, and the planes have other offsets."""
    design, u = problem.design, best.weights[:, -1]
    assert isinstance(design, WithConstant)
    planes.offsets = planes.offsets + planes.vectors.reshape(planes.count, *best.weights.shape)[:, :, -1] @ u
    weights = best.weights.copy()
    weights[:, -1] = 0.0
    moved = design.scale * u
    plane = replace(best.plane, intercept=best.plane.intercept + moved)
    return Point(weights, best.scores - moved, plane, best.value - 0.5 * problem.lam * float(u @ u))


def plain_model(problem: Problem, best: Point) -> Model:
    """Return the model in w and b."""
    design = problem.design
    assert isinstance(design, WithConstant)
    return Model(best.weights[:, :-1].copy(), best.plane.intercept + design.scale * best.weights[:, -1])

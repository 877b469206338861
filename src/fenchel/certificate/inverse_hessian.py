r"""The norm of the inverse Hessian of the squared loss, in which its optimum is confined more tightly.

For the loss :math:`f = (s - y)^2/(2\kappa)` P is strongly convex in the norm of
:math:`H = \lambda\sigma I + \tfrac1\kappa\sum_i c_i(x_i - \bar x)(x_i - \bar x)^T` (:math:`\bar x` is zero without an
intercept), hence :math:`|(x - \bar x)\cdot(w - w^*)| \le \sqrt{2(P - D)\,(x - \bar x)^TH^{-1}(x - \bar x)}`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from fenchel.arrays import Array, Floats
from fenchel.certificate.intercept_interval import quadratic_interval
from fenchel.certificate.optimum import OptimumBall, parts
from fenchel.numerics.rounding import UNIT, gamma
from fenchel.problem import Problem
from fenchel.risks import MeanRisk

#: features at most for which H is inverted
MOST_HESSIAN_FEATURES = 500
#: covers roundings of a bound by sums of non-negative terms
_UPWARDS = 1.0 + 1e-9


def curvature_of(problem: Problem) -> float | None:
    """1/kappa for a loss (s - y)^2 / (2 kappa), else None; also None for a kernel, whose features are not known."""
    mean = problem.risk.separable()
    kappa = None if mean is None or problem.design.kernel() is not None else mean.conjugate_curvature
    return 1.0 / kappa if kappa else None


class CentredHessian(NamedTuple):
    """H as computed, and a bound on the norm of its rounding error."""

    matrix: Floats
    error: float


def centred_hessian(problem: Problem, curvature: float, reference: Array, sigma: float) -> CentredHessian | None:
    """H, one pass over the data; None for too many features."""
    design, d = problem.design, problem.design.shape[1]
    if d > MOST_HESSIAN_FEATURES:
        return None
    hessian, size = problem.lam * sigma * np.eye(d), 0.0
    for rows, part in parts(design, d):
        centred = part.scores(np.eye(d)) - reference
        shares = curvature * problem.risk.shares[rows, None]
        hessian += centred.T @ (shares * centred)
        size += float(np.sum(shares * (np.abs(centred) + 4.0 * gamma(design.shape[0] + 8) * np.abs(reference)) ** 2))
    # roundings of the entries of H, of the mean and of the shares, and of the products of ``inverse_root``
    away = float(np.sum(np.square(reference))) * curvature
    wrong = gamma(2.0 * design.shape[0] + 64) * (size + math.sqrt(size * away)) + 8.0 * UNIT * problem.lam * sigma
    return CentredHessian(hessian, wrong)


def inverse_root(hessian: CentredHessian) -> Floats | None:
    r"""A matrix A with :math:`\|Ax\|^2 \ge x^TH^{-1}x`, or None where that is not proved.

    If :math:`\|AHA^T - I\| \le \eta < 1`, then :math:`H^{-1} \preceq A^TA/(1 - \eta)`.
    """
    matrix, d = hessian.matrix, len(hessian.matrix)
    try:
        root = solve_triangular(cholesky(matrix, lower=True), np.eye(d), lower=True)
    except LinAlgError:
        return None
    magnitudes = np.abs(root) @ np.abs(matrix) @ np.abs(root.T)
    residual = root @ matrix @ root.T - np.eye(d)
    eta = float(np.linalg.norm(residual)) + gamma(2.0 * d + 8) * float(np.linalg.norm(magnitudes))
    eta = _UPWARDS * (eta + hessian.error * float(np.sum(root**2)))
    return _UPWARDS / math.sqrt(1.0 - eta) * root if eta < 0.5 else None


def quadratic_ball(
    hessian: CentredHessian | None,
    weights: Floats,
    within: float,
    mean: MeanRisk | None,
    mean_error: float,
    ball: OptimumBall,
) -> OptimumBall:
    """The ball of a squared loss in the norm of its Hessian, where that is known, with the bracket of its intercept.

    ``within`` is its radius around the weights, and ``mean_error`` the last argument of ``quadratic_interval``.
    """
    root = None if hessian is None else inverse_root(hessian)
    if root is not None:
        ball = replace(ball, centre=weights, radius=within, root=root)
    if mean is None:
        return ball
    low, high = quadratic_interval(mean, ball.reference, ball.centre, np.full(mean.outputs or 1, mean_error))
    return replace(ball, intercept_lower=low, intercept_upper=high)

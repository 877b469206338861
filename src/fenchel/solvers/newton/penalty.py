"""What Newton's method asks of a regularizer: its slope, its second derivative, and its absolute values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.regularizers import QNorm


def is_bent(problem: Problem) -> bool:
    """Whether the regularizer has a second derivative that is no multiple of the identity."""
    return isinstance(problem.regularizer, QNorm) and problem.regularizer.q > 2.0


def slope_of(problem: Problem, weights: NDArray) -> NDArray[np.float64]:
    """lam times the derivative of the regularizer, without absolute values."""
    if is_bent(problem):
        return problem.lam * problem.regularizer.gradient(weights)
    return problem.lam * problem.regularizer.strong_convexity * weights


def bend_of(
    problem: Problem, weights: NDArray, dual: NDArray
) -> tuple[float | NDArray, tuple[NDArray[np.float64], float] | None]:
    """lam times its second derivative: a multiple of the identity, or a diagonal with a vector and a factor."""
    if not isinstance(problem.regularizer, QNorm):
        return problem.lam * problem.regularizer.strong_convexity, None
    found = problem.regularizer.curvature(weights, dual)
    return problem.lam * found.diagonal, (found.vector, problem.lam * found.outer)


def threshold_of(problem: Problem) -> float:
    """rho of the elastic net, zero for the others."""
    return float(getattr(problem.regularizer, "l1_ratio", 0.0))

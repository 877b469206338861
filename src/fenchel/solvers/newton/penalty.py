"""What Newton's method asks of a regularizer: its slope, its second derivative, and its absolute values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem


def slope_of(problem: Problem, weights: NDArray) -> NDArray[np.float64]:
    """lam times the derivative of the regularizer, without absolute values."""
    if problem.regularizer.singular_hess:
        return problem.lam * problem.regularizer.gradient(weights)
    return problem.lam * problem.regularizer.strong_convexity * weights


def bend_of(
    problem: Problem, weights: NDArray, dual: NDArray
) -> tuple[float | NDArray, tuple[NDArray[np.float64], float] | None]:
    """lam times its second derivative: a multiple of the identity, or a diagonal with a vector and a factor."""
    found = problem.regularizer.hessian(weights, dual)
    if found is None:
        return problem.lam * problem.regularizer.strong_convexity, None
    return problem.lam * found.diagonal, (found.vector, problem.lam * found.outer)


def threshold_of(problem: Problem) -> float:
    """rho of the elastic net, zero for the others."""
    return problem.regularizer.l1_ratio or 0.0

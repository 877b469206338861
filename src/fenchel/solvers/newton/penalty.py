"""The derivatives of a regularizer that Newton's method needs: gradient, Hessian, and the weight of the l1 norm."""

from __future__ import annotations

from fenchel.arrays import Array, Floats
from fenchel.problem import Problem


def gradient_of(problem: Problem, weights: Array) -> Floats:
    """Return lam times the gradient of the regularizer without its l1 norm."""
    if problem.regularizer.singular_hess:
        return problem.lam * problem.regularizer.gradient(weights)
    return problem.lam * problem.regularizer.strong_convexity * weights


def hess_of(problem: Problem, weights: Array, v: Array) -> tuple[float | Array, tuple[Floats, float] | None]:
    """Return lam times the Hessian of the regularizer: a diagonal, and (u, k) for k u u^T, or None without that."""
    found = problem.regularizer.hessian(weights, v)
    if found is None:
        return problem.lam * problem.regularizer.strong_convexity, None
    return problem.lam * found.diagonal, (found.vector, problem.lam * found.outer)


def l1_ratio_of(problem: Problem) -> float:
    """Return rho of the elastic net, zero for other regularizers."""
    return problem.regularizer.l1_ratio or 0.0

r"""Truncated Newton method on groups of rows: products with the Hessian by one task a group.

Minimizes :math:`J(w, b) = \tfrac\lambda2\|w\|^2 + R(Xw + b)` (``objective``) by the line-search Newton-CG method of
Nocedal and Wright, Numerical Optimization (2nd ed., 2006), algorithm 7.1, with preconditioning.  In each step the
workers compute the second derivatives of the risk once and keep them; a product with the Hessian

.. math:: H = \lambda\begin{pmatrix}I&\\&0\end{pmatrix} + \sum_i \binom{x_i}{1} h_i \binom{x_i}{1}^T

then sends a direction and adds up its images: d numbers each way, as an evaluation of the gradient.  The diagonal of H
preconditions the conjugate gradients, which end at a tenth of the gradient or at the accuracy that the target gap
needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.dask.descent import Descent, Direction, State
from fenchel.dask.objective import Objective, Point
from fenchel.dask.second_derivatives import Product, hess_diagonal, hess_product, second_derivatives
from fenchel.numerics.linear_algebra import conjugate_gradients
from fenchel.problem import Problem
from fenchel.solvers import needs
from fenchel.solvers.base import Hint, Need
from fenchel.validation import check_integer

#: relative residual at which conjugate gradients end
_CG_TOLERANCE = 0.1
#: they also end at this share of the target gap, provided the relative residual is at most _EARLY_TOLERANCE
_TARGET_SHARE, _EARLY_TOLERANCE = 0.3, 0.5
#: smallest curvature of an intercept, relative to the largest
_SMALLEST_CURVATURE = 1e-3


class Hessian:
    """H at a point: its diagonal, and products with it."""

    def __init__(self, objective: Objective, point: Point) -> None:
        self.objective, self.shape = objective, point.weights.shape
        groups = objective.design.groups
        at = {"weights": point.weights, "intercept": point.intercept}
        #: on the workers
        self.held: Sequence[Any] = groups.place(second_derivatives, objective.parts, **at)
        weights, intercept = self._sum(groups.map(hess_diagonal, self.held))
        lam, outputs = objective.problem.lam, point.weights.size // len(weights)
        self.diagonal = np.tile(weights + lam, outputs)
        if objective.problem.intercept:
            curvature = np.atleast_1d(intercept)
            least = _SMALLEST_CURVATURE * float(np.max(curvature))
            self.diagonal = np.append(self.diagonal, np.maximum(curvature, least) if least > 0.0 else lam + curvature)

    def _sum(self, terms: Sequence[Product]) -> tuple[Floats, Floats]:
        add = self.objective.design.ordered_sum
        return add([term.weights for term in terms]), add([term.intercept for term in terms])

    def times(self, direction: Array) -> Floats:
        """Return H times a direction: one broadcast and one ordered sum."""
        problem, size = self.objective.problem, int(np.prod(self.shape))
        intercept = np.zeros(problem.theta_shape[1:])
        if problem.intercept:
            intercept = direction[size:].reshape(intercept.shape)
        weights = direction[:size].reshape(self.shape)
        terms = self.objective.design.groups.map(hess_product, self.held, weights=weights, intercept=intercept)
        image, total = self._sum(terms)
        found = (image + problem.lam * weights).ravel()
        return np.append(found, total) if problem.intercept else found


def _has_second_derivatives(problem: Problem) -> bool:
    mean = problem.risk.separable()
    return needs.dual_block(problem) == "entropy" if mean is None else mean.loss.has_hess_conjugate


@dataclass(frozen=True)
class NewtonCG(Descent):
    """Truncated Newton method for smooth sums of losses whose rows lie on workers.

    A step takes several products with the Hessian, each of which moves as many numbers as a gradient.  For tight
    tolerances and weak regularization, where L-BFGS needs many steps.  Requires ridge (L2).

    Parameters
    ----------
    max_products : int, default=60
        The largest number of products with the Hessian in a step.

    See Also
    --------
    LBFGS : Gradients alone.
    fenchel.solvers.Newton, fenchel.solvers.NewtonCG : Newton's method with rows in memory.

    Examples
    --------
    >>> from fenchel.dask import NewtonCG
    >>> NewtonCG(max_products=30).name
    'newton_cg'
    """

    max_products: int = 60
    name: ClassVar[str] = "newton_cg"

    def __post_init__(self) -> None:
        check_integer("max_products", self.max_products, least=1)

    @property
    def needs(self) -> tuple[Need, ...]:
        known = Need(_has_second_derivatives, "requires a loss with second derivatives: use lbfgs")
        return (*super().needs, known)

    def memory_at_start(self) -> None:
        return None

    def direction(self, state: State, gradient: Array, hint: Hint) -> Direction:
        objective, size = state.objective, state.point.weights.size
        hessian, lam = Hessian(objective, state.point), objective.problem.lam
        products = 0

        def product(vector: Array) -> Floats:
            nonlocal products
            products += 1
            return hessian.times(vector)

        def stop(residual: Array, decrease: float) -> bool:
            gap = float(residual[:size] @ residual[:size]) / (2.0 * lam) + float(np.sum(np.abs(residual[size:])))
            return (gap <= _TARGET_SHARE * hint.target_gap and decrease <= _EARLY_TOLERANCE**2) or hint.stop_requested()

        found = conjugate_gradients(
            product,
            -gradient,
            lambda residual: residual / hessian.diagonal,
            tolerance=_CG_TOLERANCE,
            max_products=self.max_products,
            stop=stop,
        )
        if not np.any(found):
            found = -gradient / hessian.diagonal
        # the second derivatives and their diagonal take one pass
        return Direction(found, 1.0, products + 1.0)

r"""The direction of a Newton step on the multinomial risk, by preconditioned conjugate gradients.

.. math:: H = \lambda I + \sum_i c_i (\operatorname{diag}(p_i) - p_ip_i^T)\otimes\tilde x_i\tilde x_i^T

A direction is an array (d, k), or (d + 1, k) with a last row for free intercepts.  The gradients of the classes sum to
zero, and so do the directions: the method works in the subspace of zero sums over the classes.  There are three
preconditioners; the best one is used whose cost is small compared with the products with H that it saves:

- joint: H itself over a sample of the rows, factorized;
- per class: the matrix :math:`\lambda I + \sum_i c_ip_{ij}(1-p_{ij})\tilde x_i\tilde x_i^T` of each class over a
  sample of the rows, factorized; the mean over the classes is subtracted from the result;
- diagonal: the same with the diagonals of these matrices, over all rows.

Rows are sampled with probabilities that are half uniform, half proportional to :math:`c_i(1 - \|p_i\|^2)`, the trace of
the Hessian of an example.

===================  ==========================================================
symbol               here
===================  ==========================================================
:math:`p_i`          ``sample.probabilities``
:math:`\tilde x_i`   a centred row, followed by a one for the intercept
d, k                 ``sample.features``, ``sample.count``
===================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import dsyrk

from fenchel.arrays import Array, Floats
from fenchel.numerics.linear_algebra import cholesky_solver, conjugate_gradients
from fenchel.solvers.newton.multinomial_sample import SoftmaxSample

#: sampled rows per unknown of a preconditioner, at least and at most
_ROWS_PER_UNKNOWN, _MOST_ROWS_PER_UNKNOWN = 4, 20
#: largest cost of a preconditioner, in products with H; and the share of it that rows beyond the minimum may cost
_MAX_COST, _CHEAP = 20.0, 0.25
#: speed of BLAS as a multiple of that of the loops over sparse rows
_BLAS_SPEED = 8.0
#: largest number of entries of a matrix (512 MB)
_MAX_ENTRIES = 1 << 26
#: relative residual at which conjugate gradients end, and the largest number of products with H
_CG_TOLERANCE, _MAX_PRODUCTS = 0.1, 100
#: they also end at this share of the target gap, provided the relative residual is at most _EARLY_TOLERANCE
_TARGET_SHARE, _EARLY_TOLERANCE = 0.3, 0.5
#: smallest curvature of a class's intercept, relative to the largest: a class that is certain for all rows has almost
#: none
_SMALLEST_CURVATURE = 1e-3
_TINY = 1e-300
#: unknowns of a class up to which the inverse of its matrix is formed
_SMALL_MATRIX = 128

#: M^-1 r for a residual of the shape of a direction
Apply = Callable[[Array], Array]


def newton_direction(
    sample: SoftmaxSample,
    lam: float,
    gradient: Array,
    apply: Apply,
    target_gap: float,
    stop_requested: Callable[[], bool],
) -> tuple[Floats, int]:
    """Return the minimizer of the quadratic model, and the rows read.

    The change of the scores along the direction is stored in ``sample.change``.
    """
    sample.change[:] = 0.0
    change, d = np.zeros_like(sample.change), sample.features
    products = 0

    def product(direction: Array) -> Floats:
        nonlocal products
        products += 1
        result = np.empty_like(direction)
        # the sum over no free intercepts is zero
        result[:d], total = sample.hess_product(direction[:d], np.sum(direction[d:], axis=0), change)
        result[:d] += lam * direction[:d]
        result[d:] = total
        return result

    def accumulate(step: float) -> None:
        np.multiply(change, step, out=change)
        sample.change += change

    def stop(residual: Array, decrease: float) -> bool:
        gap = float(np.vdot(residual[:d], residual[:d])) / (2.0 * lam) + balance_cost(residual[d:].ravel(), lam)
        return (gap <= _TARGET_SHARE * target_gap and decrease <= _EARLY_TOLERANCE**2) or stop_requested()

    found = conjugate_gradients(
        product, -gradient, apply, tolerance=_CG_TOLERANCE, max_products=_MAX_PRODUCTS, on_step=accumulate, stop=stop
    )
    return found, products * len(sample.selected)


def balance_cost(theta_sums: Array, lam: float) -> float:
    """Return an estimate of the dual objective that a correction of theta to zero sums costs, to second order."""
    return float(theta_sums @ theta_sums) * (len(theta_sums) + 1.0 / (2.0 * lam))


class Preconditioner(NamedTuple):
    """An approximate inverse of H, the rows read to make it, and whether it is expensive enough to be reused."""

    apply: Apply
    rows_read: int
    reusable: bool


def preconditioner(sample: SoftmaxSample, lam: float, random: np.random.Generator) -> Preconditioner:
    """Return the best preconditioner whose cost is small compared with the products that it saves."""
    kind, size = preconditioner_kind(sample), sample.features + 1
    if kind == "diagonal":
        return Preconditioner(_diagonal(sample, lam), len(sample.selected), False)
    if kind == "joint":
        rows, shares = _draw_rows(sample, _ROWS_PER_UNKNOWN * sample.count * size, random)
        return Preconditioner(_joint(sample, lam, rows, shares), len(rows), True)
    # more rows than the minimum, as long as their cost is a small share of the allowed one
    cheap = int(_CHEAP * _allowed_cost(sample) / (sample.count * size**2))
    count = min(max(cheap, _ROWS_PER_UNKNOWN * size), _MOST_ROWS_PER_UNKNOWN * size)
    rows, shares = _draw_rows(sample, count, random)
    return Preconditioner(_per_class(sample, lam, rows, shares), len(rows), True)


def _allowed_cost(sample: SoftmaxSample) -> float:
    """Return the largest cost of a preconditioner, in multiplications by BLAS."""
    rows = len(sample.selected)
    speed = 1.0 if sample.design.blocks(sample.selected[:1], 1) is not None else _BLAS_SPEED
    entries = sample.design.stored_entries * rows / sample.design.shape[0]
    return _MAX_COST * 4.0 * speed * sample.count * (entries + 2.0 * rows)


def preconditioner_kind(sample: SoftmaxSample) -> str:
    """Return the best preconditioner of allowed cost: "joint", "per_class" or "diagonal"."""
    rows, size, count = len(sample.selected), sample.features + 1, sample.count
    for kind, matrices, order in (("joint", 1, count * size), ("per_class", count, size)):
        cost = matrices * (min(rows, _ROWS_PER_UNKNOWN * order) * order**2 + order**3 / 3.0)
        if matrices * order**2 <= _MAX_ENTRIES and cost <= _allowed_cost(sample):
            return kind
    return "diagonal"


def _draw_rows(sample: SoftmaxSample, count: int, random: np.random.Generator) -> tuple[Array, Array]:
    """Return sorted positions of rows and their shares; all rows if there are at most twice ``count``."""
    rows = len(sample.selected)
    if rows <= 2 * count:
        return np.arange(rows), sample.shares
    traces = sample.shares * (1.0 - np.einsum("ij,ij->i", sample.probabilities, sample.probabilities))
    traces = np.maximum(traces, 0.0)
    chances = 0.5 / rows + 0.5 * traces / max(float(np.sum(traces)), _TINY)
    chances /= np.sum(chances)
    times = np.bincount(random.choice(rows, count, p=chances), minlength=rows)
    drawn = np.flatnonzero(times)
    return drawn, sample.shares[drawn] * times[drawn] / (count * chances[drawn])


def _joint(sample: SoftmaxSample, lam: float, rows: Array, shares: Array) -> Apply:
    values, p = sample.dense_rows(rows), sample.probabilities[rows]
    size, count = values.shape[1], sample.count
    upper = np.zeros((count * size, count * size), order="F")
    height = max(64, _MAX_ENTRIES // (8 * count * size))
    for start in range(0, len(rows), height):
        part = slice(start, start + height)
        spread = (p[part] * np.sqrt(shares[part])[:, None])[:, :, None] * values[part][:, None, :]
        upper = dsyrk(-1.0, spread.reshape(-1, count * size).T, beta=1.0, c=upper, overwrite_c=True)
    matrix = np.triu(upper) + np.triu(upper, 1).T
    blocks, total = matrix.reshape(count, size, count, size), np.zeros((size, size))
    for j in range(count):
        gram = values.T @ (values * (shares * p[:, j])[:, None])
        blocks[j, :, j, :] += gram
        total += gram
    # vectors with zero sums over the classes are in the null space of this term, which makes the matrix regular
    blocks += (total / count**2)[None, :, None, :]
    matrix[np.diag_indices_from(matrix)] += np.tile(_ridge(sample, lam), count)
    solve = cholesky_solver(matrix)

    def apply(residual: Array) -> Floats:
        return _centred(solve(residual.T.ravel()).reshape(count, size).T)

    return apply


def _per_class(sample: SoftmaxSample, lam: float, rows: Array, shares: Array) -> Apply:
    values, p = sample.dense_rows(rows), sample.probabilities[rows]
    size, solvers = values.shape[1], []
    for j in range(sample.count):
        hess = shares * p[:, j] * (1.0 - p[:, j])
        matrix = values.T @ (values * hess[:, None])
        matrix[np.diag_indices_from(matrix)] += _ridge(sample, lam)
        solvers.append(cholesky_solver(matrix))
    if size <= _SMALL_MATRIX:
        # one product for all classes: calls of LAPACK for each of them take several times as long as their arithmetic
        inverses = np.stack([solve(np.eye(size)) for solve in solvers])
        return lambda residual: _centred(np.matmul(inverses, residual.T[:, :, None])[:, :, 0].T)

    def apply(residual: Array) -> Floats:
        return _centred(np.stack([solve(residual[:, j]) for j, solve in enumerate(solvers)], axis=1))

    return apply


def _diagonal(sample: SoftmaxSample, lam: float) -> Apply:
    hess = sample.hess_diag()
    weights = sample.weights_hess_diag(hess) + lam
    intercept = np.sum(hess, axis=0)
    intercept = np.maximum(intercept, _SMALLEST_CURVATURE * float(np.max(intercept)) + _TINY)
    diagonal = np.vstack([weights, intercept[None, :][: sample.free]])

    def apply(residual: Array) -> Floats:
        return _centred(residual / diagonal)

    return apply


def _ridge(sample: SoftmaxSample, lam: float) -> Floats:
    """Return the diagonal of the regularizer's Hessian for one class: intercepts are not regularized."""
    return np.append(np.full(sample.features, lam), np.zeros(sample.free))


def _centred(direction: Array) -> Floats:
    """Return a direction minus its mean over the classes."""
    return direction - np.mean(direction, axis=1, keepdims=True)

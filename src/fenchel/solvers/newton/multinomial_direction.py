r"""The direction of a Newton step on the multinomial risk, by preconditioned conjugate gradients.

.. math:: H = \lambda I + \sum_i c_i (\operatorname{diag}(p_i) - p_ip_i^T)\otimes\tilde x_i\tilde x_i^T

Gradients of the classes add up to zero, and so do the steps: everything happens where sums over the classes vanish.
Three preconditioners, by what they cost beside a product with H:

- joint: H itself over a sample of the rows, factorized;
- per class: a matrix for each class, :math:`\lambda I + \sum_i c_ip_{ij}(1-p_{ij})\tilde x_i\tilde x_i^T` over a
  sample of the rows, then the mean over the classes taken off;
- diagonal: the same with the diagonal of these, over all rows.

Rows of a sample are drawn with a probability that is half even, half in proportion to :math:`c_i(1 - \|p_i\|^2)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from fenchel.numerics.linear_algebra import factorized
from fenchel.solvers.newton.multinomial_sample import SoftmaxSample

#: rows of the sample per unknown of a matrix, at least and at most
_SKETCH, _MOST_SKETCH = 4, 20
#: a preconditioner may cost as much as so many products, and this share of it for rows beyond the fewest
_WORTH, _CHEAP = 20.0, 0.25
#: how many times as fast BLAS multiplies as the loops over sparse rows
_BLAS = 8.0
#: matrices beyond this many numbers are not made
_LARGEST = 1 << 26
#: conjugate gradients end at this share of the first residual
_RESIDUAL = 0.1
#: or at this share of the gap that is asked for, if the residual has become so much smaller at least
_OF_TARGET, _SMALLER = 0.3, 0.5

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
Apply = Callable[[NDArray, NDArray], Pair]


class Direction(NamedTuple):
    """A step for weights and intercepts, minus the slope along it, and data passes used, in rows."""

    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]
    promise: float
    visited: int


def conjugate_gradients(
    sample: SoftmaxSample,
    lam: float,
    gradient: Pair,
    apply: Apply,
    target: float,
    most: int,
    stop_requested: Callable[[], bool],
) -> Direction:
    """Minimize the quadratic model; the change of the scores along the step is left in ``sample.change``.

    Without free intercepts their gradient and the preconditioner's answer are zero.
    """
    weights, intercept = np.zeros_like(gradient[0]), np.zeros_like(gradient[1])
    residual, rest = -gradient[0], -gradient[1]
    sample.change[:] = 0.0
    change = np.zeros_like(sample.change)
    direction, shift = apply(residual, rest)
    product = first = float(np.vdot(residual, direction) + rest @ shift)
    visited = 0
    for _ in range(most):
        curved, total = sample.bend_along(direction, shift, change)
        curved += lam * direction
        visited += len(sample.selected)
        bend = float(np.vdot(direction, curved) + shift @ total)
        if not bend > 0.0 or not np.isfinite(bend):
            break
        step = product / bend
        weights += step * direction
        intercept += step * shift
        change *= step
        sample.change += change
        curved *= step
        residual -= curved
        rest = rest - step * total if np.any(shift) else rest
        conditioned, lift = apply(residual, rest)
        before, product = product, float(np.vdot(residual, conditioned) + rest @ lift)
        left = float(np.vdot(residual, residual)) / (2.0 * lam) + unbalanced(rest, lam)
        if (
            not product > _RESIDUAL**2 * first
            or (left <= _OF_TARGET * target and product <= _SMALLER**2 * first)
            or stop_requested()
        ):
            break
        direction *= product / before
        direction += conditioned
        shift = lift + (product / before) * shift
    promise = -float(np.vdot(gradient[0], weights) + gradient[1] @ intercept)
    return Direction(weights, intercept, promise, visited)


def unbalanced(total: NDArray, lam: float) -> float:
    """About what it costs to balance sums of theta: the second-order change of the entropy and of the penalty."""
    return float(total @ total) * (len(total) + 1.0 / (2.0 * lam))


class Preconditioner(NamedTuple):
    """What stands in for the inverse of H, the rows visited to make it, and whether it is dear enough to keep."""

    apply: Apply
    visited: int
    dear: bool


def preconditioner(sample: SoftmaxSample, lam: float, free: bool, random: np.random.Generator) -> Preconditioner:
    """The best one that is cheap beside the products that it saves."""
    kind, size = kind_of(sample), sample.features + 1
    if kind == "diagonal":
        return Preconditioner(_diagonal(sample, lam, free), len(sample.selected), False)
    if kind == "joint":
        chosen, shares = _chosen(sample, _SKETCH * sample.count * size, random)
        return Preconditioner(_joint(sample, lam, free, chosen, shares), len(chosen), True)
    # more rows as long as they cost next to nothing
    rows = int(_CHEAP * _worth(sample) / (sample.count * size**2))
    chosen, shares = _chosen(sample, min(max(rows, _SKETCH * size), _MOST_SKETCH * size), random)
    return Preconditioner(_per_class(sample, lam, free, chosen, shares), len(chosen), True)


def _worth(sample: SoftmaxSample) -> float:
    """What a preconditioner may cost, in multiplications by BLAS."""
    rows = len(sample.selected)
    speed = 1.0 if sample.design.blocks(sample.selected[:1], 1) is not None else _BLAS
    entries = sample.design.stored_entries * rows / sample.design.shape[0]
    return _WORTH * 4.0 * speed * sample.count * (entries + 2.0 * rows)


def kind_of(sample: SoftmaxSample) -> str:
    """Which preconditioner is worth its price: "joint", "per_class" or "diagonal"."""
    rows, size, count = len(sample.selected), sample.features + 1, sample.count
    worth, whole = _worth(sample), count * size
    if whole**2 <= _LARGEST and min(rows, _SKETCH * whole) * whole**2 + whole**3 / 3.0 <= worth:
        return "joint"
    if count * size**2 <= _LARGEST and count * (min(rows, _SKETCH * size) * size**2 + size**3 / 3.0) <= worth:
        return "per_class"
    return "diagonal"


def _chosen(sample: SoftmaxSample, count: int, random: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Positions of some rows, rising, and what each counts; all of them if that is not many more."""
    rows = len(sample.selected)
    if rows <= 2 * count:
        return np.arange(rows), sample.shares
    curve = sample.shares * (1.0 - np.einsum("ij,ij->i", sample.probabilities, sample.probabilities))
    curve = np.maximum(curve, 0.0)
    chance = 0.5 / rows + 0.5 * curve / max(float(np.sum(curve)), 1e-300)
    chance /= np.sum(chance)
    drawn = np.bincount(random.choice(rows, count, p=chance), minlength=rows)
    chosen = np.flatnonzero(drawn)
    return chosen, sample.shares[chosen] * drawn[chosen] / (count * chance[chosen])


def _joint(sample: SoftmaxSample, lam: float, free: bool, chosen: NDArray, shares: NDArray) -> Apply:
    values, p = sample.unpacked(chosen), sample.probabilities[chosen]
    size, count = values.shape[1], sample.count
    upper = np.zeros((count * size, count * size), order="F")
    height = max(64, _LARGEST // (8 * count * size))
    for start in range(0, len(chosen), height):
        part = slice(start, start + height)
        spread = (p[part] * np.sqrt(shares[part])[:, None])[:, :, None] * values[part][:, None, :]
        upper = dsyrk(-1.0, spread.reshape(-1, count * size).T, beta=1.0, c=upper, overwrite_c=True)
    matrix = np.triu(upper) + np.triu(upper, 1).T
    blocks, total = matrix.reshape(count, size, count, size), np.zeros((size, size))
    for j in range(count):
        gram = values.T @ (values * (shares * p[:, j])[:, None])
        blocks[j, :, j, :] += gram
        total += gram
    # what adds up to zero over the classes does not see this; the rest becomes regular
    blocks += (total / count**2)[None, :, None, :]
    _finish(matrix.reshape(count * size, count * size), np.tile(np.append(np.full(size - 1, lam), 0.0), count), free)
    inverse = factorized(matrix)

    def apply(weights: NDArray, intercept: NDArray) -> Pair:
        right = np.concatenate([weights, intercept[None, :]]).T.ravel()
        found = inverse(right).reshape(count, size).T
        return _centred(found[:-1], found[-1] if free else np.zeros(count))

    return apply


def _per_class(sample: SoftmaxSample, lam: float, free: bool, chosen: NDArray, shares: NDArray) -> Apply:
    values, p = sample.unpacked(chosen), sample.probabilities[chosen]
    inverses = []
    for j in range(sample.count):
        bend = shares * p[:, j] * (1.0 - p[:, j])
        matrix = values.T @ (values * bend[:, None])
        _finish(matrix, np.append(np.full(sample.features, lam), 0.0), free)
        inverses.append(factorized(matrix))

    def apply(weights: NDArray, intercept: NDArray) -> Pair:
        right = np.concatenate([weights, intercept[None, :]])
        found = np.stack([inverse(right[:, j]) for j, inverse in enumerate(inverses)], axis=1)
        return _centred(found[:-1], found[-1] if free else np.zeros(sample.count))

    return apply


def _finish(matrix: NDArray, ridge: NDArray, free: bool) -> None:
    """Add the regularization; without free intercepts their rows and columns become those of the identity."""
    places = np.arange(len(matrix))
    if not free:
        matrix[ridge == 0.0] = 0.0
        matrix[:, ridge == 0.0] = 0.0
    matrix[places, places] += np.where(ridge == 0.0, 0.0 if free else 1.0, ridge)


def _diagonal(sample: SoftmaxSample, lam: float, free: bool) -> Apply:
    bend = sample.curvature()
    squares = sample.squares(bend) + lam
    total = np.sum(bend, axis=0)
    # a class that is certain everywhere has hardly any curvature
    tops = np.maximum(total, 1e-3 * float(np.max(total)) + 1e-300)

    def apply(weights: NDArray, intercept: NDArray) -> Pair:
        return _centred(weights / squares, intercept / tops if free else np.zeros(sample.count))

    return apply


def _centred(weights: NDArray, intercept: NDArray) -> Pair:
    """Without the mean over the classes."""
    return weights - np.mean(weights, axis=1, keepdims=True), intercept - np.mean(intercept)

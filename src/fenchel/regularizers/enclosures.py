r"""Regularizers and their conjugates in ball arithmetic, for rigorous certificates.

``primal(w)`` encloses the weights that stored ones stand for, and :math:`\Omega` of these; ``conjugate(v)`` is
:math:`\Omega^*(v)`.  Both may exceed the exact numbers, since a certificate takes the upper end of each.  Priors of the
entropies are the stored floats :math:`\mu_j`, and the mass is their sum.

The quadratic form with a matrix K takes any w near :math:`K^{-1}v`: with r = v - Kw,

.. math:: \tfrac12v^TK^{-1}v = \tfrac12(v + r)\cdot w + \tfrac12r^TK^{-1}r \le
    \tfrac12(v + r)\cdot w + \frac{\|r\|^2}{2\sigma}

where :math:`\sigma` is a lower bound on the eigenvalues of K: a Cholesky factorization of K less a multiple of the
identity proves it (Rump, "Verification of positive definiteness", BIT 46, 2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from fenchel.arrays import Array, Floats
from fenchel.numerics.ball_functions import asinh, exp, expm1, log, power, xlogx
from fenchel.numerics.balls import Ball, as_ball, stack, unknown, where, zeros
from fenchel.numerics.rounding import UNIT, gamma


class EnclosedRegularizer(Protocol):
    """A regularizer and its conjugate in ball arithmetic."""

    def primal(self, weights: Floats) -> tuple[Ball, Ball]:
        """The weights that these stand for, and an upper bound on their Omega in the sense of its upper end."""
        ...

    def conjugate(self, v: Ball) -> Ball:
        """Omega*(v), at least; infinite radius where v is not proved to lie in its domain."""
        ...


def each_row(rows: Ball, function: Callable[[Ball], Ball]) -> Ball:
    """The sum of a function of the weights of each output."""
    if len(rows.shape) == 1:
        return function(rows)
    total = zeros(())
    for row in range(rows.shape[0]):
        total = total + function(rows[row])
    return total


class EnclosedElasticNet(NamedTuple):
    """(1 - rho)/2 ||w||^2 + rho ||w||_1; ridge for rho = 0, the lasso for rho = 1."""

    ratio: float

    def primal(self, weights: Floats) -> tuple[Ball, Ball]:
        exact = as_ball(weights)
        squares, sizes = (exact * exact).sum() * 0.5, abs(exact).sum()
        return exact, squares * (1.0 - as_ball(self.ratio)) + sizes * self.ratio

    def conjugate(self, v: Ball) -> Ball:
        if self.ratio == 1.0:
            return zeros(()) if np.all((1.0 - abs(v)).nonnegative()) else unknown()
        excess = (abs(v) - self.ratio).maximum(0.0)
        return (excess * excess).sum() * 0.5 / (1.0 - as_ball(self.ratio))


class EnclosedQNorm(NamedTuple):
    """||w||_q^r / r and its conjugate."""

    q: float
    exponent: float

    def primal(self, weights: Floats) -> tuple[Ball, Ball]:
        exact = as_ball(weights)
        return exact, each_row(exact, lambda row: _norm_power(row, as_ball(self.q), as_ball(self.exponent)))

    def conjugate(self, v: Ball) -> Ball:
        p, r = as_ball(self.q) / (as_ball(self.q) - 1.0), as_ball(self.exponent) / (as_ball(self.exponent) - 1.0)
        return each_row(v, lambda row: _norm_power(row, p, r))


def _norm_power(row: Ball, q: Ball, exponent: Ball) -> Ball:
    """||row||_q^r / r, of the row divided by a power of two, so that sums of powers stay in range."""
    largest = float(np.max(np.abs(row.high), initial=0.0))
    scale = int(np.frexp(largest)[1]) if largest > 0.0 else 0
    sizes = abs(row.ldexp(-scale))
    norm = power(power(sizes, q).sum(), 1.0 / q).ldexp(scale)
    return power(norm, exponent) / exponent


class EnclosedQuadraticForm(NamedTuple):
    """w^T K w / 2 of a diagonal or a matrix K, with a function that solves K w = v approximately."""

    operator: Floats
    solve: Callable[[Array], Floats]

    def primal(self, weights: Floats) -> tuple[Ball, Ball]:
        exact = as_ball(weights)
        return exact, each_row(exact, lambda row: (row * self._product(row)).sum() * 0.5)

    def conjugate(self, v: Ball) -> Ball:
        return each_row(v, self._conjugate)

    def _product(self, row: Ball) -> Ball:
        return row * self.operator if self.operator.ndim == 1 else (row * self.operator).sum(axis=1)

    def _conjugate(self, v: Ball) -> Ball:
        if self.operator.ndim == 1:
            return (v * v / self.operator).sum() * 0.5
        weights = as_ball(self.solve(v.high))
        for _ in range(2):
            weights = (weights + self.solve((v - self._product(weights)).high)).centre()
        rest = v - self._product(weights)
        smallest = smallest_eigenvalue(self.operator)
        if not smallest > 0.0:
            return unknown()
        return ((v + rest) * weights).sum() * 0.5 + (rest * rest).sum() * 0.5 / smallest


def smallest_eigenvalue(matrix: Floats) -> float:
    r"""A proved lower bound on the eigenvalues of a symmetric matrix, a few roundings below the smallest; or -inf.

    For :math:`S = \mathrm{diag}(s)` the smallest eigenvalue of K is at least that of SKS over the largest
    :math:`s_i^2`.  With S from the diagonal this is the better bound where the diagonal spans many orders of magnitude;
    powers of two scale without rounding.
    """
    diagonal, direct = np.diagonal(matrix), _shifted_eigenvalue(matrix)
    if not np.all(diagonal > 0.0):
        return direct
    exponents = np.clip(-np.rint(0.5 * np.log2(diagonal)), -400.0, 400.0).astype(int)
    scaled = _shifted_eigenvalue(np.ldexp(matrix, exponents[:, None] + exponents))
    return max(direct, math.ldexp(scaled, -2 * int(np.max(exponents)))) if scaled > 0.0 else direct


def _shifted_eigenvalue(matrix: Floats) -> float:
    """The bound by a Cholesky factor of the matrix less a little more than its smallest eigenvalue."""
    size, diagonal, least = len(matrix), np.diagonal(matrix), float(np.linalg.eigvalsh(matrix)[0])
    # a factor of floats is that of a matrix within this distance; the diagonal is rounded once
    sizes = np.abs(diagonal) + abs(least)
    error = 2.0 * gamma(size + 2) * float(np.sum(sizes)) + 2.0 * UNIT * float(np.max(sizes)) + 2.0**-900
    error *= 1.0 + 1e-6
    # shifted further, so that the factorization succeeds despite rounding
    shift = least - 2.0 * error
    shifted = matrix.copy()
    shifted.flat[:: size + 1] -= shift
    try:
        cholesky(shifted, lower=True)
    except LinAlgError:
        return -np.inf
    return math.nextafter(shift - error, -math.inf)


class EnclosedUnnormalizedEntropy(NamedTuple):
    """The sum of w ln(w/mu) - w + mu; balanced, of both parts of each weight."""

    prior: Floats
    balanced: bool

    def primal(self, weights: Floats) -> tuple[Ball, Ball]:
        exact, prior = as_ball(weights), as_ball(self.prior)
        if not self.balanced:
            return exact, (xlogx(exact) - exact * log(prior) - exact + prior).sum()
        ratio = exact / (prior * 2.0)
        root = (exact * exact + prior * prior * 4.0).sqrt()
        return exact, (exact * asinh(ratio) - root + prior * 2.0).sum()

    def conjugate(self, v: Ball) -> Ball:
        if not self.balanced:
            return (expm1(v) * self.prior).sum()
        grown = expm1(abs(v) * 0.5)
        # sinh(v/2) = (e - e^-1)/2 with e = e^(v/2)
        sine = (grown + grown / (grown + 1.0)) * 0.5
        return (sine * sine * 4.0 * self.prior).sum()


@dataclass(frozen=True)
class EnclosedEntropy:
    """The entropy of weights with the mass A; ``multiplier`` gives approximately the best split of balanced weights."""

    prior: Floats
    balanced: bool
    multiplier: Callable[[Array, Array, float], float]

    @property
    def mass(self) -> Ball:
        """A."""
        return as_ball(self.prior).sum() * (2.0 if self.balanced else 1.0)

    def primal(self, weights: Floats) -> tuple[Ball, Ball]:
        if weights.ndim == 1:
            return self._row(weights)
        rows = [self._row(row) for row in weights]
        return stack([row for row, _ in rows]), stack([value for _, value in rows]).sum()

    def _row(self, weights: Floats) -> tuple[Ball, Ball]:
        exact, mass, logarithms = as_ball(weights), self.mass, log(as_ball(self.prior))
        total = abs(exact).sum()
        left = mass - total
        if not self.balanced or not bool(left.positive()):
            exact = exact * (mass / total)
            sizes = abs(exact) if self.balanced else exact
            return exact, (xlogx(sizes, nonnegative=True) - sizes * logarithms).sum()
        # any split of the mass that is left over is an upper bound; the best one up to rounding is close to Omega
        slack = self._slack(weights, float(mass.high))
        largest = int(np.argmax(slack))
        others = np.where(np.arange(len(slack)) == largest, 0.0, slack)
        last = left - as_ball(others).sum()
        if not bool(last.nonnegative()):
            others, last = np.zeros_like(slack), left
        split = where(np.arange(len(slack)) == largest, last, others)
        large, small = abs(exact) + split * 0.5, split * 0.5
        entropies = xlogx(large, nonnegative=True) + xlogx(small, nonnegative=True)
        return exact, (entropies - (large + small) * logarithms).sum()

    def _slack(self, weights: Floats, mass: float) -> Floats:
        """The mass of both parts of each weight beyond its size, in floats."""
        kappa = self.multiplier(weights, self.prior, mass)
        parts, sizes = 2.0 * np.exp(kappa) * self.prior, np.abs(weights)
        found = np.where(parts > 0.0, parts * (parts / (sizes + np.hypot(sizes, parts) + (parts == 0.0))), 0.0)
        return np.asarray(found, dtype=np.float64)

    def conjugate(self, v: Ball) -> Ball:
        return each_row(v, self._conjugate)

    def _conjugate(self, v: Ball) -> Ball:
        top = float(np.max(np.abs(v.high) if self.balanced else v.high))
        grown = exp(v - top) + (exp(-v - top) if self.balanced else 0.0)
        mass = self.mass
        return mass * (top + log((grown * self.prior).sum() / mass))


class EnclosedFreeDirections(NamedTuple):
    """Ridge with free directions C and prices b; ``multipliers`` gives approximately the best sigma of weights."""

    directions: Floats
    prices: Floats
    multipliers: Callable[[Array], Floats]

    def primal(self, weights: Floats) -> tuple[Ball, Ball]:
        exact = as_ball(weights)
        return exact, each_row(exact, self._value)

    def _value(self, row: Ball) -> Ball:
        """With any sigma the infimum is at most ||w - C^T sigma||^2/2 + b . sigma."""
        sigma = self.multipliers(row.high)
        rest = row
        for direction, multiple in zip(self.directions, sigma.tolist(), strict=True):
            rest = rest - as_ball(direction) * multiple
        return (rest * rest).sum() * 0.5 + (as_ball(sigma) * self.prices).sum()

    def conjugate(self, v: Ball) -> Ball:
        """Half the squared norm, of a v with Cv = b: that is for the dual point to guarantee."""
        return (v * v).sum() * 0.5

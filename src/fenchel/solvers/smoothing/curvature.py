r"""Approximate Hessian of smoothed measures: the initial matrix of L-BFGS where X has few columns.

.. math:: H = \lambda I + X^T\nabla^2 R_\mu(s)\,X

- Counts (precision-recall break-even, recall at k): :math:`\nabla^2 R_\mu = \mathrm{diag}(h) - hh^T/\sum h`, where
  :math:`h_i` is the derivative of the clipped gain of an example, averaged over an interval around it.  The second term
  is due to the equality constraint on the counts.
- ROC AUC: :math:`\sum_{ij} a_ib_jk_{ij}(x_i - x_j)(x_i - x_j)^T/\mu`, a sum over the pairs in the quadratic piece of
  the smoothed hinge.  Scores are put into bins, narrower than mu as far as the number of bins allows, and
  :math:`k_{ij}` is the share of such pairs among the pairs of the bins of i and j.  This needs one sum per bin instead
  of one per pair, and H is positive definite.

The gradient of :math:`R_\mu` has kinks, so H is only an approximation; the pairs of L-BFGS correct it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import toeplitz

from fenchel.arrays import Array, Floats
from fenchel.numerics.linear_algebra import cholesky_solver
from fenchel.problem import Problem
from fenchel.risks import ContingencyRisk, RocAUC
from fenchel.solvers.smoothing.loop import add_to_bins
from fenchel.solvers.threads import Parts, weighted_gram

#: largest number of features, and smallest number of rows: with fewer, kinks of single pairs dominate H
_MOST_FEATURES, _FEWEST_ROWS = 1000, 500
#: sampled rows per feature, and data passes that the sums for further rows may cost
_ROWS_PER_FEATURE, _MAX_PASSES = 16, 4.0
#: bins of the ROC AUC per mu, their smallest and largest number, and quadrature points per bin
_BINS_PER_MU, _FEWEST_BINS, _MOST_BINS, _POINTS = 6, 60, 240, 4
#: half width, in mu, of the interval over which derivatives are averaged
_AVERAGING_RADIUS = 0.5
#: smallest multiplier of the equality, in mu, that counts as nonzero
_ACTIVE_MULTIPLIER = 1e-9
#: costs in nanoseconds, measured on the machine of benchmarks/README.md: per entry of a product with X; per example of
#: a smoothed risk; per product of two entries of a sparse row, and of a dense row
_PRODUCT, _RISK, _SPARSE, _DENSE = 2.5, 60.0, 1.2, 0.03
#: per squared number of features (sums over bins), and per cubed number of features (factorization)
_SQUARE, _CUBE = 35.0, 0.03


class Curvature:
    """Computes H at given scores, from all rows or from a sample of them."""

    def __init__(self, problem: Problem, parts: Parts, seed: int = 0) -> None:
        self.problem, self.parts = problem, parts
        rows, self.features = problem.design.shape
        length = problem.design.stored_entries / rows
        dense = length >= 0.5 * self.features
        each = _DENSE * self.features**2 if dense else _SPARSE * length**2
        passing = _PRODUCT * length + _RISK
        count = max(_ROWS_PER_FEATURE * self.features, int(_MAX_PASSES * rows * passing / each))
        self.rows = rows if count >= rows else count
        #: time of one H, in data passes
        constant = _SQUARE * self.features**2 + _CUBE * self.features**3
        self.cost = (self.rows * each + constant) / (rows * passing)
        self.random = np.random.default_rng(seed)

    @property
    def passes(self) -> float:
        """Data passes of one H: the share of the rows that it reads."""
        return self.rows / self.problem.design.shape[0]

    def inverse(self, scores: Array, theta: Array, mu: float) -> Callable[[Array], Array]:
        """Return a function that multiplies with the inverse of H."""
        risk, rows = self.problem.risk, self.problem.design.shape[0]
        selected = np.arange(rows, dtype=np.uint32 if rows < 2**32 else np.uint64)
        if self.rows < rows:
            selected = np.sort(self._draw_rows(selected)).astype(selected.dtype)
        pairs, table = risk.roc_auc(), risk.contingency()
        if pairs is not None:
            matrix = self._hess_of_pairs(pairs, selected, scores[selected], mu)
        else:
            assert table is not None
            matrix = self._hess_of_counts(table, selected, scores[selected], theta[selected], mu)
        matrix[np.diag_indices(self.features)] += self.problem.lam
        return cholesky_solver(matrix)

    def _draw_rows(self, everything: Array) -> Array:
        """Draw a sample of the rows; for pairs, half of it from each class if the smaller class has enough rows."""
        risk = self.problem.risk.roc_auc()
        if risk is None:
            return self.random.choice(everything, self.rows, replace=False)
        few, many = sorted((risk.positives, risk.negatives), key=len)
        count = min(len(few), self.rows // 2)
        halves = [(few, count), (many, min(len(many), self.rows - count))]
        return np.concatenate([self.random.choice(own, size, replace=False) for own, size in halves])

    def _hess_of_counts(self, risk: ContingencyRisk, selected: Array, scores: Array, theta: Array, mu: float) -> Floats:
        labels = risk.labels[selected]
        gains = np.where(labels > 0.0, risk.examples / risk.n_pos, 0.0) - scores
        low, high = np.minimum(labels, 0.0), np.maximum(labels, 0.0)
        count_bound = risk.count_bound()
        exact = count_bound is not None and count_bound.equality
        # an example strictly between its bounds determines the multiplier; without one the equality is inactive
        x = risk.examples * theta
        free = (x > low) & (x < high)
        shift = float(np.median((gains - mu * x)[free])) if np.any(free) else 0.0
        active = exact or abs(shift) > _ACTIVE_MULTIPLIER * mu
        radius = _AVERAGING_RADIUS * mu
        ends = [np.clip((gains - shift + side) / mu, low, high) for side in (radius, -radius)]
        hess = (ends[0] - ends[1]) / (2.0 * radius * len(selected))
        matrix, border = weighted_gram(self.problem.design, selected, hess, self.parts)
        total = float(np.sum(hess))
        return matrix - np.outer(border, border) / total if active and total > 0.0 else matrix

    def _hess_of_pairs(self, risk: RocAUC, selected: Array, scores: Array, mu: float) -> Floats:
        positive, weights = risk.labels[selected] > 0.0, risk.in_class[selected].copy()
        for own in (positive, ~positive):
            total = float(np.sum(weights[own]))
            weights[own] /= total if total > 0.0 else 1.0
        places = scores - positive
        # only where the scores of the classes overlap are pairs in the quadratic piece
        (low_pos, high_pos), (low_neg, high_neg) = (_range(places[own]) for own in (positive, ~positive))
        low, high = max(low_pos, low_neg - mu), min(high_neg, high_pos + mu)
        count = int(min(max(_BINS_PER_MU * max(high - low, 0.0) / mu, _FEWEST_BINS), _MOST_BINS))
        width = max(high - low, 0.0) / count or mu
        bins = np.clip((places - low) / width, 0.0, count - 1.0).astype(np.int64)
        weights[(places < low) | (places > high)] = 0.0
        masses = [np.bincount(bins[own], weights[own], count) for own in (positive, ~positive)]
        between = _shares(count, width, mu) / mu
        against = between @ masses[1], masses[0] @ between
        hess = weights * np.where(positive, against[0][bins], against[1][bins])
        matrix, _ = weighted_gram(self.problem.design, selected, hess, self.parts)
        sums = np.zeros((2 * count, self.features))
        add_to_bins(self.problem.design.rows(), selected, bins + np.where(positive, 0, count), weights, sums)
        cross = sums[:count].T @ (between @ sums[count:])
        return matrix - cross - cross.T


def _range(values: Array) -> tuple[float, float]:
    return float(np.min(values, initial=np.inf)), float(np.max(values, initial=-np.inf))


def _shares(count: int, width: float, mu: float) -> Floats:
    """Return the share of pairs whose difference is between 0 and mu, for each bin of positives and of negatives."""
    steps = (np.arange(_POINTS) + 0.5) / _POINTS
    inner = np.subtract.outer(steps, steps).ravel()
    apart = np.arange(-(count - 1), count, dtype=np.float64)
    z = (apart[:, None] + inner[None, :]) * width
    share = np.mean((z >= 0.0) & (z <= mu), axis=1)
    return toeplitz(share[count - 1 :: -1], share[count - 1 :])


def curvature_for(problem: Problem, parts: Parts) -> Curvature | None:
    """Return a Curvature if the risk has an approximate Hessian and X has few columns, else None."""
    table = problem.risk.contingency()
    known = problem.risk.roc_auc() is not None or (table is not None and table.count_bound() is not None)
    rows, features = problem.design.shape
    few = rows < max(4 * features, _FEWEST_ROWS)
    if not known or features > _MOST_FEATURES or few or problem.intercept or not problem.design.has_rows:
        return None
    return Curvature(problem, parts)

r"""The curvature of smoothed measures in few weights: the first matrix of L-BFGS where X has few columns.

.. math:: H = \lambda I + X^T\nabla^2 R_\mu(s)\,X

- Counts (break-even, recall at k): with :math:`h_i` the slope of the clip of an example, averaged over some way on
  both sides, :math:`\nabla^2 R_\mu = \mathrm{diag}(h) - hh^T/\sum h`; the second term is that of the equality.
- ROC area: :math:`\sum_{ij} a_ib_jk_{ij}(x_i - x_j)(x_i - x_j)^T/\mu` over the pairs between right and wrong.  Scores
  are put into bins narrower than mu, where they can be, and :math:`k_{ij}` is the share of such pairs in the bins of
  i and j, so that it costs one sum for each bin instead of one for each pair, and H stays positive.

It is an approximation either way, of a function with kinks in its slope; the pairs that L-BFGS remembers correct it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fenchel.numerics.linear_algebra import factorized
from fenchel.problem import Problem
from fenchel.risks import ContingencyRisk, RocAUC
from fenchel.solvers.smoothing.loop import add_to_bins
from fenchel.solvers.threads import Parts, weighted_gram

#: up to so many features, and from so many rows on: with fewer a kink of a single pair is seen in H
_MOST_FEATURES, _FEWEST_ROWS = 1000, 500
#: rows for each feature that make a good H, and data passes that its sums over rows may take beyond that
_ROWS_PER_FEATURE, _AFFORDED = 16, 4.0
#: bins of ROC area for each mu, fewest and most in all, and points of each that are looked at
_BINS_PER_MU, _FEWEST_BINS, _MOST_BINS, _POINTS = 6, 60, 240, 4
#: slopes are averaged over this share of mu on both sides
_AROUND = 0.5
#: what operations take beside each other, in nanoseconds of the machine of benchmarks/README.md: an entry of a
#: product with X, an example of a smoothed risk, a product of two entries of a sparse row or of a dense one; and
#: what does not depend on the rows: the square of a feature in all bins, its cube in the factors
_PRODUCT, _RISK, _SPARSE, _DENSE, _SQUARE, _CUBE = 2.5, 60.0, 1.2, 0.03, 35.0, 0.03


class Curvature:
    """Makes H at some scores, from all rows or from a sample of them."""

    def __init__(self, problem: Problem, parts: Parts, seed: int = 0) -> None:
        self.problem, self.parts = problem, parts
        rows, self.features = problem.design.shape
        length = problem.design.stored_entries / rows
        dense = length >= 0.5 * self.features
        each = _DENSE * self.features**2 if dense else _SPARSE * length**2
        passing = _PRODUCT * length + _RISK
        count = max(_ROWS_PER_FEATURE * self.features, int(_AFFORDED * rows * passing / each))
        self.rows = rows if count >= rows else count
        #: data passes that one H takes, in time
        constant = _SQUARE * self.features**2 + _CUBE * self.features**3
        self.cost = (self.rows * each + constant) / (rows * passing)
        self.random = np.random.default_rng(seed)

    @property
    def passes(self) -> float:
        """Data passes that one H counts."""
        return self.rows / self.problem.design.shape[0]

    def inverse(self, scores: NDArray, theta: NDArray, mu: float) -> Callable[[NDArray], NDArray]:
        """The product with the inverse of H."""
        risk, rows = self.problem.risk, self.problem.design.shape[0]
        selected = np.arange(rows, dtype=np.uint32 if rows < 2**32 else np.uint64)
        if self.rows < rows:
            selected = np.sort(self._drawn(selected)).astype(selected.dtype)
        pairs, table = risk.roc_auc(), risk.contingency()
        if pairs is not None:
            matrix = self._of_pairs(pairs, selected, scores[selected], mu)
        else:
            assert table is not None
            matrix = self._of_counts(table, selected, scores[selected], theta[selected], mu)
        matrix[np.diag_indices(self.features)] += self.problem.lam
        return factorized(matrix)

    def _drawn(self, everything: NDArray) -> NDArray:
        """A sample of the rows; for pairs, half of them of each class if there are so many."""
        risk = self.problem.risk.roc_auc()
        if risk is None:
            return self.random.choice(everything, self.rows, replace=False)
        few, many = sorted((risk.positives, risk.negatives), key=len)
        count = min(len(few), self.rows // 2)
        halves = [(few, count), (many, min(len(many), self.rows - count))]
        return np.concatenate([self.random.choice(own, size, replace=False) for own, size in halves])

    def _of_counts(
        self, risk: ContingencyRisk, selected: NDArray, scores: NDArray, theta: NDArray, mu: float
    ) -> NDArray[np.float64]:
        labels = risk.labels[selected]
        gains = np.where(labels > 0.0, risk.examples / risk.n_pos, 0.0) - scores
        low, high = np.minimum(labels, 0.0), np.maximum(labels, 0.0)
        count_bound = risk.count_bound()
        exact = count_bound is not None and count_bound.equality
        # every example between its bounds tells the shift; without any the equality is none
        x = risk.examples * theta
        free = (x > low) & (x < high)
        shift = float(np.median((gains - mu * x)[free])) if np.any(free) else 0.0
        bound = exact or abs(shift) > 1e-9 * mu
        around = _AROUND * mu
        ends = [np.clip((gains - shift + side) / mu, low, high) for side in (around, -around)]
        bend = (ends[0] - ends[1]) / (2.0 * around * len(selected))
        matrix, border = weighted_gram(self.problem.design, selected, bend, self.parts)
        total = float(np.sum(bend))
        return matrix - np.outer(border, border) / total if bound and total > 0.0 else matrix

    def _of_pairs(self, risk: RocAUC, selected: NDArray, scores: NDArray, mu: float) -> NDArray[np.float64]:
        positive, weights = risk.labels[selected] > 0.0, risk.in_class[selected].copy()
        for own in (positive, ~positive):
            total = float(np.sum(weights[own]))
            weights[own] /= total if total > 0.0 else 1.0
        places = scores - positive
        # only where the classes meet there is something between right and wrong
        (low_pos, high_pos), (low_neg, high_neg) = (_range(places[own]) for own in (positive, ~positive))
        low, high = max(low_pos, low_neg - mu), min(high_neg, high_pos + mu)
        count = int(min(max(_BINS_PER_MU * max(high - low, 0.0) / mu, _FEWEST_BINS), _MOST_BINS))
        width = max(high - low, 0.0) / count or mu
        bins = np.clip((places - low) / width, 0.0, count - 1.0).astype(np.int64)
        weights[(places < low) | (places > high)] = 0.0
        masses = [np.bincount(bins[own], weights[own], count) for own in (positive, ~positive)]
        between = _shares(count, width, mu) / mu
        against = between @ masses[1], masses[0] @ between
        bend = weights * np.where(positive, against[0][bins], against[1][bins])
        matrix, _ = weighted_gram(self.problem.design, selected, bend, self.parts)
        sums = np.zeros((2 * count, self.features))
        add_to_bins(self.problem.design.rows(), selected, bins + np.where(positive, 0, count), weights, sums)
        cross = sums[:count].T @ (between @ sums[count:])
        return matrix - cross - cross.T


def _range(values: NDArray) -> tuple[float, float]:
    return float(np.min(values, initial=np.inf)), float(np.max(values, initial=-np.inf))


def _shares(count: int, width: float, mu: float) -> NDArray[np.float64]:
    """For each bin of positives and each of negatives the share of pairs whose difference is between 0 and mu."""
    steps = (np.arange(_POINTS) + 0.5) / _POINTS
    inner = np.subtract.outer(steps, steps).ravel()
    apart = np.arange(-(count - 1), count, dtype=np.float64)
    z = (apart[:, None] + inner[None, :]) * width
    share = np.mean((z >= 0.0) & (z <= mu), axis=1)
    place = np.subtract.outer(-np.arange(count), -np.arange(count))
    return np.asarray(share[place + count - 1])


def curvature_for(problem: Problem, parts: Parts) -> Curvature | None:
    """One where the risk has it and H is small, otherwise None."""
    table = problem.risk.contingency()
    known = problem.risk.roc_auc() is not None or (table is not None and table.count_bound() is not None)
    rows, features = problem.design.shape
    few = rows < max(4 * features, _FEWEST_ROWS)
    if not known or features > _MOST_FEATURES or few or problem.intercept:
        return None
    return Curvature(problem, parts)

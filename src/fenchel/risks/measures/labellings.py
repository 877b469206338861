r"""Distributions over labellings and their moments: Zhang, Saha and Vishwanathan (2010), Sec. 5.1, eq. (21).

.. math:: p(z) \propto \exp\bigl(c\,\Delta(fn, fp) - \theta(z)\cdot s\bigr), \qquad
          \theta(z)_i = \tfrac{y_i}n\,[z_i \ne y_i]

for a measure of a contingency table: :math:`\Delta - \theta(z)\cdot s` is the term of a labelling in the risk
(``contingency``).  There are :math:`2^n` labellings, but :math:`\Delta` depends on counts only: with the elementary
symmetric polynomials of the weights :math:`e^{u_i}` of flipping each positive (or each negative), the sum over all
labellings is one over the cells (fn, fp) of the table, and the marginals come from a forward and a backward pass over
counts, in :math:`O(n^2)` altogether and in logarithms throughout.  With f the polynomials of the first examples and g
the sums over the last ones,

.. math::
    f_i(a) = f_{i-1}(a) \oplus (u_i + f_{i-1}(a-1)), \qquad g_{i-1}(a) = g_i(a) \oplus (u_i + g_i(a+1)), \qquad
    P(z_i \ne y_i) = \frac1Z\exp\Bigl(u_i + \bigoplus_a f_{i-1}(a) + g_i(a+1)\Bigr)

(:math:`\oplus` adds in logarithms.)  Division of polynomials would be shorter but cancels.  Only every
:math:`\sqrt n`-th row of f is kept; the rows between are recomputed in the backward pass.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.risks.measures.contingency import ContingencyRisk

#: cells (fn, fp) in a temporary block (8 MB)
_BLOCK_CELLS = 1 << 20
#: smallest weight of a cell in a mixture: a hundred million cells below it are less than a rounding of 1
_LEAST_WEIGHT = 1e-24


class Moments(NamedTuple):
    """The logarithm of the sum over all labellings, the means of theta(z) and of Delta, and the mixture of counts."""

    log_total: float
    theta: Floats
    delta: float
    #: rows (weight, fn, fp), as in ``mixtures``
    mixture: Floats


def moments(risk: ContingencyRisk, scale: float, scores: Array) -> Moments:
    """The moments of p(z) ~ exp(scale Delta(z) - theta(z) . scores)."""
    n, labels = risk.examples, risk.labels
    positives, negatives = np.flatnonzero(labels > 0.0), np.flatnonzero(labels < 0.0)
    up, down = -scores[positives] / n, scores[negatives] / n
    of_up, of_down = _log_polynomials(up), _log_polynomials(down)
    by_fn, by_fp, sums, cells_of = np.full(len(of_up), -np.inf), np.full(len(of_down), -np.inf), [], []
    false_positives = np.arange(len(of_down))[None]
    step = max(1, _BLOCK_CELLS // len(of_down))
    for begin in range(0, len(of_up), step):
        rows = slice(begin, min(begin + step, len(of_up)))
        delta = risk.delta(np.arange(rows.start, rows.stop)[:, None], false_positives)
        # forbidden cells have minus infinity, even where the scale is zero
        cells = np.where(np.isneginf(delta), -np.inf, scale * np.where(np.isneginf(delta), 0.0, delta))
        by_fn[rows] = _log_sums(cells + of_down, axis=1)
        by_fp = np.logaddexp(by_fp, _log_sums(cells + of_up[rows, None], axis=0))
        logits = cells + of_down + of_up[rows, None]
        top = float(np.max(logits))
        if not math.isinf(top):
            weights = np.exp(logits - top)
            sums.append((top, float(np.sum(weights * np.where(weights > 0.0, delta, 0.0)))))
            fn, fp = np.nonzero(weights > _LEAST_WEIGHT)
            cells_of.append(np.column_stack([logits[fn, fp], fn + rows.start, fp]))
    log_total = float(_log_sums(by_fn + of_up, axis=0))
    theta = np.empty(n)
    theta[positives] = _flipped(up, by_fn, log_total) / n
    theta[negatives] = -_flipped(down, by_fp, log_total) / n
    mixture = np.concatenate(cells_of)
    mixture[:, 0] = np.exp(mixture[:, 0] - log_total)
    mixture = mixture[mixture[:, 0] > _LEAST_WEIGHT]
    return Moments(log_total, theta, math.fsum(math.exp(top - log_total) * total for top, total in sums), mixture)


def _log_sums(values: Array, axis: int) -> Floats:
    """log of the sum of exp along an axis; minus infinity for nothing."""
    top = np.max(values, axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.squeeze(top, axis) + np.log(np.sum(np.exp(values - top), axis=axis))


def _next_row(row: Array, u: float) -> Floats:
    """The polynomials with one more example."""
    longer = np.append(row, -np.inf)
    longer[1:] = np.logaddexp(longer[1:], u + row)
    return longer


def _log_polynomials(u: Array) -> Floats:
    """log of the elementary symmetric polynomials of exp(u), of degrees 0, ..., len(u)."""
    row = np.zeros(1)
    for one in u:
        row = _next_row(row, float(one))
    return row


def _flipped(u: Array, tail: Array, log_total: float) -> Floats:
    """The probability of each flip, where ``tail`` is the log-weight of each number of flips."""
    count = len(u)
    step = max(1, math.isqrt(count))
    kept, row = [], np.zeros(1)
    for i in range(count):
        if i % step == 0:
            kept.append(row)
        row = _next_row(row, float(u[i]))
    found, back = np.empty(count), tail
    for block in range(len(kept) - 1, -1, -1):
        begin, end = block * step, min((block + 1) * step, count)
        rows = [kept[block]]
        for i in range(begin, end - 1):
            rows.append(_next_row(rows[-1], float(u[i])))
        for i in range(end - 1, begin - 1, -1):
            # counts among the first i examples, and one more
            found[i] = float(u[i]) + float(_log_sums(rows[i - begin] + back[1 : i + 2], axis=0)) - log_total
            back = np.logaddexp(back[: i + 1], float(u[i]) + back[1 : i + 2])
    return np.exp(np.minimum(found, 0.0))

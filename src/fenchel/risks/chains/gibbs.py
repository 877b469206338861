r"""Mixtures of Gibbs distributions: the bound on the conjugate of the log-loss of chains.

Row k of a decomposition is a weight :math:`p_k \ge 0`, divided by their sum by definition, and scores :math:`s_k`,
which stand for the distribution :math:`P_k(y) \propto e^{\mathrm{score}(y)}` of each sequence.  By convexity of
:math:`R^*`, and since Fenchel and Young's inequality is an equality at :math:`-\theta_k = \nabla R(s_k)`,

.. math::
    \theta = \sum_k p_k\theta_k, \qquad R^*(-\theta) \le \sum_k p_k R^*(-\theta_k), \qquad
    R^*(-\theta_k) = -\theta_k\cdot s_k - R(s_k) = -\sum_q c_q H(P_{k,q}).

The marginals are those of exactly these scores, so a witness is feasible by construction.  The computed ones differ by
the errors of the recursions (``oracles.relative_errors``), which count as a distance from the domain and as errors of
:math:`\theta_k\cdot s_k`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import UNIT, gamma, tree_depth, tree_sum
from fenchel.risks.chains.multiples import DerivedForm
from fenchel.risks.chains.oracles import largest_sizes, marginals, relative_errors
from fenchel.risks.decomposition import normalized

if TYPE_CHECKING:
    from fenchel.risks.chains.logistic import ChainLogistic

#: covers the rounding of sums of positive bounds
_UPWARDS = 1.0 + 1e-6


class GibbsMixture(DerivedForm):
    """The bound of Gibbs distributions with weights."""


def gibbs_point(risk: ChainLogistic, scores: Array) -> tuple[float, Floats]:
    """R(s) and minus its gradient."""
    sequences, means = risk.sequences, np.empty(risk.examples)
    parts, own = sequences.split(scores), sequences.split(means)
    found = marginals(sequences, parts, risk.shares, own.nodes)
    value = risk.mean_excess(found.log_partitions, parts)
    own.transitions[...] = found.transitions
    own.start[...], own.end[...] = (risk.shares @ own.nodes[at] for at in (sequences.begins, sequences.lasts))
    own.nodes[...] *= risk.token_shares[:, None]
    return value, risk.theta_of(means)


def mixed(weights: Array, decompositions: Sequence[Array]) -> Floats:
    """The mixture of mixtures."""
    rows = []
    for weight, one in zip(weights, decompositions, strict=True):
        if weight > 0.0:
            rows.append(np.column_stack([weight * normalized(one[:, 0]), one[:, 1:]]))
    return np.concatenate(rows)


def gibbs_form(risk: ChainLogistic, decomposition: Array) -> GibbsMixture | None:
    """The bound of rows (weight, scores); None for rows that are not numbers."""
    rows = np.asarray(decomposition, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != risk.examples + 1:
        raise FenchelError(
            "the decomposition of a witness must have a row (weight, scores) for each distribution, that is, the shape "
            f"(m, {risk.examples + 1}), got {rows.shape}"
        )
    weights = rows[:, 0]
    # comparisons with NaN are false
    if not np.all(weights >= 0.0) or not 0.0 < np.max(weights, initial=0.0) < math.inf or not np.all(np.isfinite(rows)):
        return None
    shares = normalized(weights)
    theta: Floats | None = None
    conjugate = error = distance = 0.0
    for share, scores in zip(shares.tolist(), rows[:, 1:], strict=True):
        if share > 0.0:
            value, own = gibbs_point(risk, scores)
            terms = own * scores
            conjugate += share * (-tree_sum(terms) - value)
            own_error, own_distance = _errors(risk, scores, value, tree_sum(np.abs(terms, out=terms)))
            error, distance = error + share * own_error, distance + share * own_distance
            del terms
            own *= share
            theta = own if theta is None else np.add(theta, own, out=theta)
    assert theta is not None
    if not math.isfinite(conjugate + error + distance):
        # scores that overflow
        return None
    rounded = gamma(2.0 * len(rows) + 8.0)
    distance += rounded * risk.subgradient_norm_bound()
    return GibbsMixture(rows, theta, conjugate, _UPWARDS * (error + rounded * abs(conjugate)), _UPWARDS * distance)


def _errors(risk: ChainLogistic, scores: Array, value: float, terms: float) -> tuple[float, float]:
    """Bounds on the error of R*(-theta), and on the distance of theta from that of exactly these scores.

    ``terms`` is the sum of the absolute terms of theta . s.
    """
    sequences, parts = risk.sequences, risk.sequences.split(scores)
    relative = relative_errors(sequences, parts)
    # the largest score of any labelling at each token, of pairs, and of the ends
    largest = np.add.reduceat(largest_sizes(parts.nodes), sequences.begins)
    matrices = np.abs(parts.transitions).reshape(sequences.matrices, -1)
    largest = largest + sequences.sizes_of_pairs(np.max(matrices, axis=1))
    largest += np.max(np.abs(parts.start)) + np.max(np.abs(parts.end))
    rounded = gamma(risk.roundings)
    evaluated = rounded * (value + risk.mean(2.0 * largest + sequences.labels * risk.features_norm))
    product = gamma(tree_depth(len(scores)) + 2.0) * terms
    most = max(float(largest_sizes(part.reshape(1, -1))[0]) for part in parts)
    moved = risk.mean(relative * largest) + (risk.theta_error + 4.0 * UNIT) * most
    return evaluated + product + moved, risk.mean(relative * risk.features_norm) + risk.theta_error

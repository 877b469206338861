r"""Weighted means of losses of labelled sequences: Saha, Zhang and Vishwanathan, Lower bounds for BMRM and faster rates
for training SVMs, App. E; Taskar, Guestrin and Koller, NIPS 2003; Lafferty, McCallum and Pereira, ICML 2001.

.. math:: R(s) = \sum_q c_q f_q(s), \qquad c_q = \mathrm{weight}_q / \textstyle\sum\mathrm{weight}

where :math:`f_q` compares the score of the labelling :math:`y_q` of sequence q with those of all labellings
(``sequences`` has the layout of s).  With a distribution :math:`p_q` over the labellings of each sequence, the dual
point is

.. math:: \theta = \sum_q c_q\bigl(\phi(y_q) - E_{p_q}\phi(y)\bigr), \qquad \mathrm{score}(y) = \phi(y)\cdot s

so :math:`\theta` holds differences of marginals of tokens, and of sums of marginals of pairs.  The conjugate has no
closed form in these sums.  A witness therefore holds the distributions, as mixtures of labellings or as the Gibbs
distributions of given scores: both are feasible by construction, whatever was rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.limits import MOST_LABELS
from fenchel.numerics.rounding import FUNCTION, gamma, tree_sum
from fenchel.risks.base import Risk, numeric_labels
from fenchel.risks.chains.counting import sum_length, weighted_counts
from fenchel.risks.chains.sequences import ChainScores, Integers, Sequences
from fenchel.risks.decomposition import Decomposable, DecomposedForm
from fenchel.validation import check_integer

if TYPE_CHECKING:
    from fenchel.risks.chains.hinge import ChainHinge

#: covers the rounding of sums of positive bounds
_UPWARDS = 1.0 + 1e-9


class ChainRisk(Risk):
    """Base class of the risks of labelled sequences: weighted means of a loss of each sequence.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels of all tokens, integers from 0 to m - 1, sequence after sequence.
    lengths : array-like of shape (sequences,), default=None
        The number of tokens of each sequence; None for one sequence.
    count : int, default=None
        The number m of labels; None is the largest label plus 1.
    weights : array-like of shape (sequences,), default=None
        Non-negative weights of the sequences; None is the same weight for all.
    edges : array-like or sparse matrix of shape (n, K), default=None
        Features of pairs of neighbouring tokens, in the row of the second one; None is none.

    See Also
    --------
    ChainHinge : The max-margin risk.
    ChainLogistic : The log-loss of a linear-chain conditional random field.

    Examples
    --------
    >>> from fenchel.risks import ChainHinge, ChainRisk
    >>> isinstance(ChainHinge([0, 1, 1], lengths=[2, 1]), ChainRisk)
    True
    """

    intercept_refusal = "has no intercept: the weights of first and last labels, and of all features, are regularized"
    terms_name = "sequences"

    def __init__(
        self,
        labels: ArrayLike,
        lengths: ArrayLike | None = None,
        count: int | None = None,
        weights: ArrayLike | None = None,
        edges: Any = None,
    ) -> None:
        given = numeric_labels(labels)
        if given.ndim != 1 or not len(given) or np.any(given != np.rint(given)) or np.min(given) < 0:
            raise FenchelError("labels must be integers from 0 on, one for each token of all sequences")
        if np.max(given) >= MOST_LABELS:
            raise FenchelError(f"labels must be 0, 1, ..., up to {MOST_LABELS - 1}, got {np.max(given):g}: number them")
        #: the labels of all tokens, sequence after sequence
        self.labels: Integers = given.astype(np.int64)
        most = int(np.max(self.labels)) + 1
        check_integer("count", count, least=1, most=MOST_LABELS, optional=True)
        if count is not None and count < most:
            raise FenchelError(f"count={count} labels but the largest label is {most - 1}; labels start at 0")
        sizes = [len(given)] if lengths is None else lengths
        self.sequences = Sequences(sizes, most if count is None else count)
        if self.sequences.tokens != len(given):
            raise FenchelError(f"lengths add up to {self.sequences.tokens} tokens but there are {len(given)} labels")
        if edges is not None:
            self.sequences = Sequences(sizes, self.sequences.labels, edges)
        self.examples = self.sequences.size
        self._weigh(weights)

    def chains(self) -> ChainRisk:
        return self

    def max_margin(self) -> ChainHinge | None:
        """This risk if it is the max-margin one."""
        return None

    def decomposable(self) -> Decomposable:
        return self

    def decompose(self, scores: Array, subgradient: Array) -> Floats:
        """The distributions of minus the subgradient at s."""
        raise NotImplementedError

    def mixed(self, weights: Array, decompositions: Sequence[Array]) -> Floats:
        """The convex combination of distributions."""
        raise NotImplementedError

    def decomposed_form(
        self, theta: Array, decomposition: Array | None, *, balanced: bool = False
    ) -> DecomposedForm | None:
        """The bound of the distributions."""
        raise NotImplementedError

    @property
    def terms(self) -> int:
        return len(self.sequences)

    @cached_property
    def conjugate_at_zero(self) -> float:
        # R is not negative, and R*(0) is that of distributions without any label but the given ones
        return 0.0

    @cached_property
    def token_shares(self) -> Floats:
        """c_q of the sequence of each token."""
        return self.shares[self.sequences.owners]

    def sum_of_features(self, labels: Integers) -> Floats:
        r""":math:`\sum_q c_q\phi(y_q)`, for the labels of all tokens."""
        sequences, m, shares = self.sequences, self.sequences.labels, self.token_shares
        means, inner = np.zeros(self.examples), sequences.inner
        parts = sequences.split(means)
        parts.nodes[np.arange(sequences.tokens), labels] = shares
        parts.transitions[...] = sequences.counts_of_pairs(inner + 1, shares[inner], labels[inner], labels[inner + 1])
        parts.start[...] = weighted_counts(labels[sequences.begins], self.shares, m)
        parts.end[...] = weighted_counts(labels[sequences.lasts], self.shares, m)
        return means

    def theta_of(self, means: Floats) -> Floats:
        """Theta, from the sum of the means of the features, which is overwritten: no second array of this size."""
        theta: Floats = np.negative(means, out=means)
        self.sequences.split(theta).nodes[np.arange(self.sequences.tokens), self.labels] += self.token_shares
        theta[self.sequences.tokens * self.sequences.labels :] += self._gold_tail
        return theta

    @cached_property
    def _gold_tail(self) -> Floats:
        return self.sum_of_features(self.labels)[self.sequences.tokens * self.sequences.labels :].copy()

    def gold_scores(self, scores: ChainScores) -> Floats:
        """The score of each sequence's own labelling."""
        return self.sequences.sums(self.sequences.gold_terms(scores, self.labels))

    def mean(self, losses: Array) -> float:
        """The weighted mean over the sequences."""
        return tree_sum(self.shares * losses)

    def mean_excess(self, values: Array, scores: ChainScores) -> float:
        """The weighted mean of values less the scores of the sequences' own labellings; infinite if scores overflow."""
        # exact differences are not negative
        found = self.mean(np.maximum(values - self.gold_scores(scores), 0.0))
        return math.inf if math.isnan(found) else found

    # --- rounding errors

    @property
    def roundings(self) -> float:
        # at each position a constant is subtracted, and the constants are added exactly: errors do not add up
        return self.sequences.labels + self.sequences.features_of_pair + 4.0 * FUNCTION + 96.0

    @cached_property
    def features_norm(self) -> Floats:
        """The 1-norm of the features of any labelling, for each sequence."""
        sequences = self.sequences
        return sequences.lengths + 2.0 + _UPWARDS * sequences.sizes_of_pairs(np.ones(sequences.matrices))

    def subgradient_norm_bound(self) -> float:
        return 2.0 * self.mean(self.features_norm)

    def subgradient_bounds(self, scores: Array, radius: Array) -> Floats:
        sequences, m = self.sequences, self.sequences.labels
        pairs = np.array([self.mean(sequences.lengths - 1.0)])
        if sequences.edges is not None:
            pairs = np.append(pairs, _UPWARDS * (sequences.edges.magnitudes.T @ self.token_shares))
        tail = np.concatenate([np.repeat(pairs, m * m), np.ones(2 * m)])
        return np.concatenate([np.repeat(self.token_shares, m), tail])

    @cached_property
    def theta_error(self) -> float:
        """A bound on the error of theta in the 1-norm, for exact means of tokens: that of sums over all sequences."""
        sequences = self.sequences
        terms = sequences.longest_sum + sum_length(sequences.tokens * max(1, sequences.features_of_pair)) + 16.0
        return 2.0 * gamma(terms) * self.mean(self.features_norm)

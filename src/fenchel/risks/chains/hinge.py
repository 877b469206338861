r"""The max-margin risk of labelled sequences (max-margin Markov network, structured SVM with margin rescaling).

.. math:: f_q(s) = \max_y\; \mathrm{Hamming}(y, y_q) + \mathrm{score}(y) - \mathrm{score}(y_q)

Saha, Zhang and Vishwanathan, App. E.1; Taskar, Guestrin and Koller, NIPS 2003; Tsochantaridis et al., JMLR 6, 2005.
The maximizer is found by the Viterbi recursion, since the Hamming distance is a sum over tokens.  For any distribution
p of labellings

.. math:: R^*(-\theta) \le -\sum_q c_q\,E_{p_q}\mathrm{Hamming}(y, y_q)

with equality for the p of largest mean distance (``labellings``, ``markov``).  At :math:`-\theta\in\partial R(s)` a
single labelling of each sequence attains it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.risks.base import CuttingPlane
from fenchel.risks.chains import markov
from fenchel.risks.chains.base import ChainRisk
from fenchel.risks.chains.enclosures import EnclosedChainRisk, enclosed_chains
from fenchel.risks.chains.labellings import mixed, mixture_form, one_each
from fenchel.risks.chains.multiples import DerivedForm
from fenchel.risks.chains.oracles import Decoded, viterbi


class ChainHinge(ChainRisk):
    r"""Max-margin risk of labelled sequences: the Hamming distance of the worst labelling, margin-rescaled.

    .. math:: f_q(s) = \max_y\; \mathrm{Hamming}(y, y_q) + \mathrm{score}(y) - \mathrm{score}(y_q)

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
    ChainLogistic : The log-loss of a linear-chain conditional random field.
    fenchel.designs.ChainDesign : The scores of a linear model.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.designs import ChainDesign
    >>> from fenchel.risks import ChainHinge
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> risk = ChainHinge([0, 1, 0], lengths=[2, 1])
    >>> solve(Problem(ChainDesign(X, labels=2), risk, 0.1)).converged
    True
    """

    name = "chain_hinge"

    def enclosure(self) -> EnclosedChainRisk | None:
        return enclosed_chains(self.sequences, self.labels, self._weights, max_margin=True)

    def max_margin(self) -> ChainHinge:
        return self

    def worst(self, scores: Array) -> Decoded:
        """The labellings of largest Hamming distance plus score."""
        return viterbi(self.sequences, self.sequences.split(scores), self.labels)

    def value(self, scores: Array) -> float:
        return self._value(scores, self.worst(scores))

    def subgradient(self, scores: Array) -> Floats:
        theta = self.theta_of(self.sum_of_features(self.worst(scores).labels))
        return np.negative(theta, out=theta)

    def cutting_plane(self, scores: Array) -> CuttingPlane:
        found = self.worst(scores)
        # the offset is the mean distance: R(s) - a . s would cancel
        offset = self.mean(self.sequences.sums((found.labels != self.labels).astype(np.float64)))
        theta = self.theta_of(self.sum_of_features(found.labels))
        return np.negative(theta, out=theta), offset, self._value(scores, found)

    def _value(self, scores: Array, found: Decoded) -> float:
        return self.mean_excess(found.values, self.sequences.split(scores))

    def decompose(self, scores: Array, subgradient: Array) -> Floats:
        """The worst labelling of each sequence, which the subgradient belongs to."""
        nodes = self.sequences.split(subgradient).nodes.copy()
        nodes[np.arange(len(nodes)), self.labels] += self.token_shares
        # sequences of weight zero have no subgradient: their own labels will do
        labels = np.where(self.token_shares > 0.0, np.argmax(nodes, axis=1), self.labels)
        return one_each(self.sequences, labels)

    def mixed(self, weights: Array, decompositions: Sequence[Array]) -> Floats:
        if any(one.ndim == 3 for one in decompositions):
            return markov.mixed(self.sequences, self.labels, weights, decompositions)
        return mixed(self.sequences, weights, decompositions)

    def decomposed_form(
        self, theta: Array, decomposition: Array | None, *, balanced: bool = False
    ) -> DerivedForm | None:
        """The bound of labellings with weights, or of Markov chains (three axes)."""
        if decomposition is None:
            return None
        form = markov.markov_form if np.ndim(decomposition) == 3 else mixture_form
        return form(self, decomposition)

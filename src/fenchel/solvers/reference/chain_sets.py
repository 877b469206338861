r"""The dual set of the max-margin risk of labelled sequences, for the excessive gap method: marginals of cliques.

A sequence of L tokens has L - 1 cliques, its pairs of neighbours, or one token if L = 1.  A stored point is
:math:`\delta = c_q(\alpha^{gold}_q - \alpha_q)` for marginals :math:`\alpha_q` of all its cliques: an array of shape
(cliques, m, m), where a single token has its numbers in the first row.  The image :math:`\theta` of :math:`\delta` sums
over all pairs with a label, and its adjoint maps scores s to scores S of cliques: T(i, j) + u(j) of the second token,
and at both ends those of the first token, of first and of last labels.  With :math:`\ell` the Hamming distance,

.. math::
    \text{step}(\bar\delta, s, \kappa):\quad
    \alpha_q = \Pi\bigl(\bar\alpha_q + (\ell_q + S_q)/\kappa\bigr), \qquad
    d(\delta) = \tfrac12\sum_q\|\delta_q\|^2/c_q, \qquad D_2 = \sum_q c_q\,\max(L_q - 1, 1)

is the map (23), (25) of Saha, Zhang and Vishwanathan (2009), App. E.1, with the projection :math:`\Pi` onto marginals
of cliques that agree with each other (``projections.chain_marginals``), for a single token onto a simplex.  Neighbours
agree up to rounding only; so a witness holds the Markov chain of the marginals (``risks.chains.markov``).
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs import Design
from fenchel.problem import Witness
from fenchel.projections import onto_chain_marginals
from fenchel.risks import ChainHinge
from fenchel.risks.chains.markov import mixed
from fenchel.risks.chains.sequences import ChainScores
from fenchel.solvers.reference.dual_sets import DualSet, project_blocks


class CliqueMarginals(DualSet):
    """Marginals of the cliques of sequences."""

    risk: ChainHinge

    def __init__(self, risk: ChainHinge) -> None:
        sequences = risk.sequences
        counts = np.maximum(sequences.lengths - 1, 1)
        super().__init__(risk, risk.mean(counts.astype(np.float64)))
        self._counts, self._owners = counts, np.repeat(np.arange(len(counts)), counts)
        self._firsts = np.cumsum(counts) - counts
        self._lasts = self._firsts + counts - 1
        within = np.arange(len(self._owners)) - self._firsts[self._owners]
        pair = sequences.lengths[self._owners] > 1
        #: whether a clique is a pair, and its last token
        self._pair, self._heads = pair, sequences.begins[self._owners] + within + pair
        self._shares = risk.shares[self._owners][:, None, None]
        own, m = risk.labels, sequences.labels
        self._gold = np.zeros((len(self._owners), m, m))
        self._gold[np.arange(len(self._owners)), np.where(pair, own[self._heads - 1], 0), own[self._heads]] = 1.0
        nodes = np.ones((sequences.tokens, m))
        nodes[np.arange(sequences.tokens), own] = 0.0
        self._distance = self.clique_scores(ChainScores(nodes, np.zeros((m, m)), np.zeros(m), np.zeros(m)))

    def zero(self) -> Floats:
        return np.zeros_like(self._gold)

    def clique_scores(self, scores: ChainScores) -> Floats:
        """S: the adjoint of ``image``."""
        pair, single = self._pair, ~self._pair
        found = np.zeros((len(pair), *scores.transitions.shape))
        found[pair] = scores.transitions + scores.nodes[self._heads[pair]][:, None, :]
        found[single, 0] = scores.nodes[self._heads[single]] + scores.start
        firsts = self._firsts[pair[self._firsts]]
        found[firsts] += (scores.nodes[self._heads[firsts] - 1] + scores.start)[:, :, None]
        lasts = self._lasts[pair[self._lasts]]
        found[lasts] += scores.end
        found[single, 0] += scores.end
        return found

    def image(self, point: Array) -> Floats:
        into, out = np.sum(point, axis=1), np.sum(point, axis=2)
        nodes = np.zeros((self.risk.sequences.tokens, point.shape[1]))
        nodes[self._heads] = into
        starts = np.where(self._pair[self._firsts][:, None], out[self._firsts], into[self._firsts])
        nodes[self.risk.sequences.begins] = starts
        pairs = np.sum(point[self._pair], axis=0)
        parts = nodes.ravel(), pairs.ravel(), np.sum(starts, axis=0), np.sum(into[self._lasts], axis=0)
        return np.concatenate(parts)

    def squared_length(self, move: Array) -> float:
        squares = np.einsum("eij,eij->e", move, move)
        shares = self._shares[:, 0, 0]
        return float(np.sum(squares[shares > 0.0] / shares[shares > 0.0]))

    def conjugate(self, point: Array) -> float:
        return float(np.vdot(self._distance, point))

    def step(self, centre: Array, scores: Array, curvature: float) -> Floats:
        moved = self._distance + self.clique_scores(self.risk.sequences.split(scores))
        moved /= curvature
        moved += self._gold - self._alpha(centre)
        found, pair, single = np.zeros_like(moved), self._pair, ~self._pair
        if np.any(pair):
            found[pair] = onto_chain_marginals(moved[pair], self._counts[self.risk.sequences.lengths > 1])
        if np.any(single):
            found[single, 0] = project_blocks(moved[single, 0], 0.0, np.inf, 1.0)
        stepped: Floats = self._shares * (self._gold - found)
        return stepped

    def squared_norm(self, design: Design) -> float:
        """sum_q c_q sum_e |Phi_e|^2, by the norms of the rows that a clique adds up."""
        sequences, m = self.risk.sequences, self.risk.sequences.labels
        squares = sequences.split(design.squared_row_norms)
        # rows of different labels are orthogonal in the design of chains; else the Frobenius norm bounds them
        rows = np.max if design.chains() is not None else np.sum
        nodes = np.sqrt(m * rows(squares.nodes, axis=1))
        pairs, start, end = np.sqrt(rows(squares.transitions)), *(np.sqrt(m * rows(a)) for a in squares[2:])
        norms = nodes[self._heads] + np.where(self._pair, pairs, 0.0)
        norms[self._firsts] += start + np.where(self._pair[self._firsts], nodes[sequences.begins], 0.0)
        norms[self._lasts] += end
        return float(self._shares[:, 0, 0] @ norms**2)

    def witness(self, point: Array) -> Witness:
        weights = self._weights(np.maximum(self._gold - self._alpha(point), 0.0))
        form = self.risk.decomposed_form(np.zeros(0), weights)
        assert form is not None
        return Witness(form.theta, None, weights)

    def _weights(self, alpha: Floats) -> Floats:
        """The weights of the Markov chain of marginals."""
        m, sequences = alpha.shape[1], self.risk.sequences
        weights = np.zeros((sequences.tokens, m, m))
        weights[self._heads] = alpha
        firsts = self._firsts[self._pair[self._firsts]]
        weights[self._heads[firsts] - 1, 0] = np.sum(alpha[firsts], axis=2)
        return weights

    def start(self, witness: Witness) -> Floats:
        """The marginals of a warm start's distributions, or zero."""
        given = witness.decomposition
        if given is None or self.risk.decomposed_form(np.zeros(0), given) is None:
            return self.zero()
        weights = mixed(self.risk.sequences, self.risk.labels, np.ones(1), [given])
        started: Floats = self._shares * (self._gold - weights[self._heads])
        return started

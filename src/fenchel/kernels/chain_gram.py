r"""The design of labelled sequences with a kernel of tokens: Gaussian process sequence labelling.

.. math::
    f = (\alpha, T, a, z) \;\mapsto\; s = (NKN\alpha,\, T, a, z), \qquad \|f\|^2 = \mathrm{tr}(\alpha^T NKN\alpha) +
    \|T\|^2 + \|a\|^2 + \|z\|^2

for the Gram matrix K of n tokens, coefficients :math:`\alpha` of shape (n, m) for m labels and weights T, a, z of
pairs, first and last labels, as in ``designs.chains``.  This is the Gram matrix of the features of a linear chain in
the feature space of the kernel, so only K is needed, as a matrix in memory or with cached rows.

N is the identity, or counts for each token the pairs of neighbours that it belongs to: 2 inside a sequence, 1 at its
ends, 0 for a single token.  The latter is the stationary kernel of Saha, Zhang and Vishwanathan (2009), App. E.2, where
the features of both tokens of a pair are those of a clique.  Their objective (32), :math:`\|f\|^2 - \sum_q\log
P(y_q)` without a half, is that of C = 1/2.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs.base import Design
from fenchel.designs.rows import GramRows, Rows
from fenchel.errors import FenchelError
from fenchel.kernels.gram import GramDesign, KernelDesign
from fenchel.numerics.limits import MOST_LABELS
from fenchel.validation import check_bool, check_integer, real_numbers


class ChainGram(KernelDesign):
    """Gram matrix of the tokens of labelled sequences as a design, with weights of pairs, first and last labels.

    Parameters
    ----------
    tokens : KernelDesign
        The Gram matrix of all tokens, sequence after sequence.
    labels : int
        The number m of labels.
    transitions : bool, default=True
        Whether there is a weight for each pair of neighbouring labels.
    ends : bool, default=True
        Whether there are weights for the first and the last label of a sequence.
    counts : array-like of shape (n,), default=None
        The number of pairs of neighbours that each token belongs to, 0, 1 or 2, which multiplies its features; None
        is 1 for all.

    See Also
    --------
    GramNorm : The regularizer that belongs to it.
    fenchel.designs.ChainDesign : The linear model.
    fenchel.SequenceClassifier : Computes the Gram matrix of a kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.kernels import ChainGram, GramDesign, GramNorm
    >>> from fenchel.risks import ChainLogistic
    >>> X = np.random.default_rng(0).standard_normal((6, 3))
    >>> gram = ChainGram(GramDesign(X @ X.T), labels=2)
    >>> risk = ChainLogistic([0, 1, 1, 0, 0, 1], lengths=[2, 3, 1])
    >>> solve(Problem(gram, risk, 0.1, GramNorm(gram))).converged
    True
    """

    divisible: ClassVar[bool] = False

    def __init__(
        self,
        tokens: KernelDesign,
        labels: int,
        *,
        transitions: bool = True,
        ends: bool = True,
        counts: Array | None = None,
    ) -> None:
        if not isinstance(tokens, KernelDesign):
            raise FenchelError(f"tokens must be a kernel's design, such as GramDesign; got {type(tokens).__name__}")
        check_integer("labels", labels, least=1, most=MOST_LABELS)
        check_bool("transitions", transitions)
        check_bool("ends", ends)
        n, self.tokens, self.labels = tokens.shape[0], tokens, int(labels)
        self._counts = None if counts is None else real_numbers("counts", counts)
        if self._counts is not None and (self._counts.shape != (n,) or not np.all(np.isin(self._counts, (0, 1, 2)))):
            raise FenchelError(f"counts must hold 0, 1 or 2 for each of the {n} tokens, got {counts!r}")
        m, self.has_transitions, self.has_ends = self.labels, bool(transitions), bool(ends)
        self._tail = np.repeat([float(transitions), float(ends)], [m * m, 2 * m])
        self._nodes = n * m
        self.shape = (self._nodes + len(self._tail),) * 2
        self.diagonal = self._with_tail(self._multiplied(self._multiplied(tokens.diagonal)))

    def chain_gram(self) -> ChainGram:
        return self

    def tokens_in_memory(self) -> GramDesign | None:
        """NKN as a matrix in memory; None if only some rows of K are."""
        gram = self.tokens.in_memory()
        if gram is None or self._counts is None:
            return gram
        return GramDesign(self._counts[:, None] * gram.moving().values * self._counts)

    def _multiplied(self, values: Array) -> Floats:
        """A number for each token times its count; counts are 0, 1 and 2, which rounds nothing."""
        found: Floats = np.asarray(values) if self._counts is None else (self._counts * values.T).T
        return found

    def _with_tail(self, values: Array) -> Floats:
        """The numbers of the tokens for each of their labels, and one for each weight of pairs and ends."""
        return np.concatenate([np.repeat(values, self.labels), self._tail])

    def scores(self, weights: Array) -> Floats:
        weights = np.asarray(weights, dtype=np.float64)
        if weights.ndim != 1:
            return np.stack([self.scores(one) for one in weights], axis=1)
        alpha = self._multiplied(weights[: self._nodes].reshape(-1, self.labels))
        nodes = self._multiplied(self.tokens.scores(np.ascontiguousarray(alpha.T)))
        return np.concatenate([nodes.ravel(), self._tail * weights[self._nodes :]])

    def split(self, weights: Array) -> tuple[Floats, Floats, Floats, Floats]:
        """The coefficients N alpha, (n, m), T of shape (m, m), a and z of shape (m,); zero if there are none."""
        m, tail = self.labels, self._tail * weights[self._nodes :]
        alpha = self._multiplied(weights[: self._nodes].reshape(-1, m))
        return alpha, tail[: m * m].reshape(m, m), tail[m * m : -m], tail[-m:]

    @property
    def score_roundings(self) -> int:
        return self.tokens.score_roundings

    @property
    def entry_error(self) -> float:  # type: ignore[override]
        return self.tokens.entry_error

    @cached_property
    def squared_row_norms(self) -> Floats:
        largest = 1.0 if self._counts is None else float(np.max(np.abs(self._counts))) ** 2
        return self._with_tail(largest * self._multiplied(self._multiplied(self.tokens.squared_row_norms)))

    @property
    def largest_row_norm(self) -> float:
        largest = 1.0 if self._counts is None else float(np.max(np.abs(self._counts))) ** 2
        # NaN if a token's is: the first argument of max
        return max(largest * self.tokens.largest_row_norm, 1.0)

    @property
    def mean_square(self) -> float:
        return self.tokens.mean_square

    @property
    def stored_entries(self) -> int:
        return self.tokens.stored_entries * self.labels

    def part(self, begin: int, end: int) -> Design:
        raise FenchelError("the scores of chains have no parts: sequences share the weights of pairs of labels")

    def rows(self) -> Rows:
        raise FenchelError("compiled loops read the Gram matrix of the tokens, not that of all scores")

    def descending(self) -> GramRows:
        raise FenchelError("compiled loops read the Gram matrix of the tokens, not that of all scores")

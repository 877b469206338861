"""Products of a design with balls: sums of exact products by trees of additions, in blocks that fit the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.arrays import Array
from fenchel.numerics.ball_reductions import segment_sums
from fenchel.numerics.balls import Ball, as_ball, concatenate, stack, zeros

#: entries of X in a block (128 kB an array): ball arithmetic has about twenty temporary arrays
_BLOCK = 1 << 14

#: row blocks of a sparse matrix in float64, with their rows
Blocks = Callable[[], Iterable[tuple[slice, sp.csr_array]]]


class EnclosedDesign(Protocol):
    """Products with X in ball arithmetic; shapes are those of ``Design.scores`` and ``Design.adjoint``."""

    def scores(self, weights: Ball) -> Ball:
        """X w."""
        ...

    def adjoint(self, theta: Ball) -> Ball:
        """X^T theta."""
        ...


def each_output(vectors: Ball, product: Callable[[Ball], Ball], axis: int) -> Ball:
    """A product with one vector, or with each of several, which are the rows (``axis=0``) or columns of ``vectors``."""
    if len(vectors.shape) == 1:
        return product(vectors)
    outputs = [vectors[(slice(None),) * axis + (k,)] for k in range(vectors.shape[axis])]
    return stack([product(output) for output in outputs], axis=1 - axis)


class EnclosedDense(NamedTuple):
    """Products with a dense X."""

    values: Array

    def scores(self, weights: Ball) -> Ball:
        return each_output(weights, self._scores, 0)

    def adjoint(self, theta: Ball) -> Ball:
        return each_output(theta, self._adjoint, 1)

    def _scores(self, weights: Ball) -> Ball:
        parts = [(weights * block).sum(axis=1) for _, block in self._blocks()]
        return concatenate(parts) if parts else zeros((0,))

    def _adjoint(self, theta: Ball) -> Ball:
        parts = [(theta[rows][:, None] * block).sum(axis=0) for rows, block in self._blocks()]
        return stack(parts).sum(axis=0) if parts else zeros((self.values.shape[1],))

    def _blocks(self) -> Iterable[tuple[slice, Array]]:
        step = max(1, _BLOCK // max(1, self.values.shape[1]))
        for begin in range(0, self.values.shape[0], step):
            rows = slice(begin, begin + step)
            yield rows, self.values[rows].astype(np.float64)


class EnclosedChains(NamedTuple):
    """Products with the design of chains: those of tokens for each label, and copies of the weights of pairs and ends.

    ``kept`` are the places of these weights among the scores after the ``nodes`` of tokens.
    """

    tokens: EnclosedDesign
    shape: tuple[int, int]
    labels: int
    nodes: int
    kept: NDArray[np.int64]

    def scores(self, weights: Ball) -> Ball:
        features = self.shape[1] - len(self.kept)
        nodes = self.tokens.scores(weights[:features].map(lambda values: values.reshape(-1, self.labels).T))
        result = zeros((self.shape[0],))
        result.put(slice(0, nodes.size), nodes.map(np.ravel))
        result.put(nodes.size + self.kept, weights[features:])
        return result

    def adjoint(self, theta: Ball) -> Ball:
        nodes = self.nodes
        features = self.tokens.adjoint(theta[:nodes].map(lambda values: values.reshape(-1, self.labels)))
        return concatenate([features.map(lambda values: values.T.ravel()), theta[nodes + self.kept]])


class EnclosedCSR(NamedTuple):
    """Products with a sparse X, given by its row blocks; entries of the same column add up."""

    columns: int
    blocks: Blocks

    def scores(self, weights: Ball) -> Ball:
        return each_output(weights, self._scores, 0)

    def adjoint(self, theta: Ball) -> Ball:
        return each_output(theta, self._adjoint, 1)

    def _scores(self, weights: Ball) -> Ball:
        parts = [_sums(block.data, block.indices, np.diff(block.indptr), weights) for _, block in self.blocks()]
        return concatenate(parts) if parts else zeros((0,))

    def _adjoint(self, theta: Ball) -> Ball:
        total = zeros((self.columns,))
        for rows, block in self.blocks():
            by_columns = block.tocsc()
            counts = np.diff(by_columns.indptr)
            present = np.flatnonzero(counts)
            found = _sums(by_columns.data, by_columns.indices, counts[present], theta[rows])
            total.put(present, total[present] + found)
        return total


def _sums(data: Array, indices: Array, counts: NDArray[np.integer[Any]], vector: Ball) -> Ball:
    """The sums of consecutive segments of data_k vector_{indices_k}; the segments have these lengths."""
    ends = np.cumsum(counts, dtype=np.int64)
    parts, first, begin = [], 0, 0
    while first < len(counts):
        # whole segments of about a block, one at least
        last = max(first + 1, int(np.searchsorted(ends, begin + _BLOCK, side="right")))
        end = int(ends[last - 1])
        products = vector[indices[begin:end]] * as_ball(data[begin:end])
        parts.append(segment_sums(products, counts[first:last]))
        first, begin = last, end
    return concatenate(parts) if parts else zeros((0,))

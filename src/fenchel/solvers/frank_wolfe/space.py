r"""Where the weights v of Frank-Wolfe steps live: in features, or in the feature space of a kernel of tokens.

===========================  =====================================  ==========================================
v = (W, T, a, z)             features                               kernel
===========================  =====================================  ==========================================
``W``                        weights of features and labels         scores NKN alpha of tokens and labels
``rows`` that a token reads  its row of X                           itself
``images`` that move W       its row of X                           its row of NKN
v of a dual point            :math:`X^T\theta/\lambda`              :math:`\alpha = \theta/\lambda`, and its scores
===========================  =====================================  ==========================================
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs.chains import ChainDesign
from fenchel.designs.rows import Rows
from fenchel.kernels import ChainGram
from fenchel.problem import Problem

#: W, T, a and z
Parts = tuple[Floats, Floats, Floats, Floats]


class Space(Protocol):
    """What the visits of sequences need of the space of v."""

    @property
    def rows(self) -> Rows:
        """What the tokens read."""

    @property
    def images(self) -> Rows:
        """What the tokens move."""

    @property
    def width(self) -> int:
        """The rows of W."""

    @property
    def tail(self) -> Array:
        """Whether there are weights of pairs, and of first and last labels."""

    def parts(self, theta: Array) -> Parts:
        """V of the dual point ``theta`` times lambda."""

    def weights(self, W: Array, T: Array, ends: Array, theta: Array) -> Floats:
        """The weights of a model of the problem, of parts of v or of its dual point."""


class FeatureSpace(NamedTuple):
    """Weights of features."""

    design: ChainDesign
    rows: Rows
    images: Rows
    width: int
    tail: Array

    def parts(self, theta: Array) -> Parts:
        return self.design.split(self.design.adjoint(theta))

    def weights(self, W: Array, T: Array, ends: Array, theta: Array) -> Floats:
        return self.design.joined(W, T, ends[0], ends[1])


class KernelSpace(NamedTuple):
    """Scores of all tokens; the coefficients are those of the dual point."""

    design: ChainGram
    rows: Rows
    images: Rows
    width: int
    tail: Array

    def parts(self, theta: Array) -> Parts:
        _, T, a, z = self.design.split(theta)
        scores = self.design.scores(theta)
        return scores[: self.width * self.design.labels].reshape(self.width, -1), T, a, z

    def weights(self, W: Array, T: Array, ends: Array, theta: Array) -> Floats:
        return np.array(theta)


def has_space(problem: Problem) -> bool:
    """Whether the problem has tokens with features, or a Gram matrix of tokens in memory."""
    gram = _chain_gram(problem)
    return problem.design.chains() is not None or (gram is not None and gram.tokens.in_memory() is not None)


def space_of(problem: Problem) -> Space:
    """The space of v of a problem that has one."""
    chains, design = problem.design.chains(), _chain_gram(problem)
    if chains is not None:
        rows = chains.tokens.rows()
        tail = np.array([chains.has_transitions, chains.has_ends])
        return FeatureSpace(chains, rows, rows, chains.tokens.shape[1], tail)
    gram = None if design is None else design.tokens_in_memory()
    assert design is not None
    assert gram is not None
    tail = np.array([design.has_transitions, design.has_ends])
    return KernelSpace(design, gram.reading(), gram.moving(), gram.shape[0], tail)


def _chain_gram(problem: Problem) -> ChainGram | None:
    kernel = problem.design.kernel()
    return None if kernel is None else kernel.chain_gram()

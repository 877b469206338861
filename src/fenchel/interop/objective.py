r"""What a foreign estimator minimizes, in the terms of :class:`fenchel.Problem`.

Other libraries write one objective in three ways.  All are :math:`\lambda\,\Omega(w) + \sum_i c_i \ell(s_i, y_i)` up
to a factor, with :math:`c_i = a_i / \sum a` for the weights :math:`a` of the examples:

==============================================  ==================================
written as                                      :math:`\lambda`
==============================================  ==================================
:math:`\Omega(w) + C \sum a_i \ell_i`           :math:`1 / (C \sum a)`
:math:`\alpha\,\Omega(w) + \sum a_i \ell_i`     :math:`\alpha / \sum a`
:math:`\alpha\,\Omega(w) + \frac1n \sum a_i \ell_i`   :math:`\alpha n / \sum a`
==============================================  ==================================

A regularized intercept, as in LIBLINEAR, is the weight of a constant column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.task import checked_targets
from fenchel.losses import Loss
from fenchel.problem import Model, Problem, Witness
from fenchel.regularizers import L1, L2, ElasticNet, Regularizer
from fenchel.risks import MeanRisk, MulticlassRisk, Risk


@dataclass(frozen=True)
class Part:
    """One problem of an estimator, the model that it found, and a dual point if it has one."""

    problem: Problem
    model: Model
    witness: Witness | None = None


@dataclass(frozen=True)
class Objective:
    """The problems of an estimator (one for each class, say), and its objective in words."""

    words: str
    parts: Sequence[Part]


@dataclass(frozen=True)
class Data:
    """The arguments of ``fit``: X as an array or a CSR matrix, targets, and a weight for each example."""

    X: Any
    y: Array
    weights: Floats

    def targets(self) -> list[tuple[Array, Floats]]:
        """Each column of the numbers y, with the weights of the examples."""
        checked_targets(self.y, "this model", "pass the y of its fit")
        return [(column, self.weights) for column in self.y.astype(np.float64).reshape(len(self.y), -1).T]

    def with_column(self, value: float) -> Any:
        """X with a constant column after its own."""
        column = np.full((self.X.shape[0], 1), float(value))
        if sp.issparse(self.X):
            return sp.csr_array(sp.hstack([self.X, column]))
        return np.hstack([self.X, column])


@dataclass(frozen=True)
class Scores:
    """A linear model of k outputs: how it treats the intercept, and what it found."""

    coef: Floats
    intercept: Floats
    #: the value of the constant column whose weight is the intercept, None if the intercept is not regularized
    bias: float | None = None
    #: whether there is an intercept outside of the regularizer
    free: bool = False

    @classmethod
    def of(cls, coef: Any, intercept: Any, *, free: bool, bias: float | None = None) -> Scores:
        """Read arrays of any shape; without an intercept of either kind there is none."""
        rows = np.atleast_2d(np.asarray(coef.toarray() if sp.issparse(coef) else coef, dtype=np.float64))
        found = np.broadcast_to(np.asarray(intercept, dtype=np.float64).ravel(), len(rows))
        return cls(rows, found, None if bias == 0 else bias, free)

    def problem(self, data: Data, risk: Risk, lam: float, regularizer: Regularizer, output: int | None) -> Part:
        """The problem of one output, or of all together (None)."""
        which: Any = slice(None) if output is None else output
        weights, intercept = self.coef[which], self.intercept[which]
        if self.bias is not None:
            weights = np.concatenate([weights, np.asarray(intercept)[..., None] / self.bias], axis=-1)
            X, intercept = data.with_column(self.bias), np.zeros_like(intercept)
        else:
            X = data.X
        found = Problem(as_design(X), risk, lam, regularizer, intercept=self.free)
        return Part(found, Model(weights, intercept if output is None else float(intercept)))


def regularizer_of(l1_ratio: float) -> Regularizer:
    """(1 - rho)/2 |w|^2 + rho |w|_1"""
    if l1_ratio == 0:
        return L2()
    return L1() if l1_ratio == 1 else ElasticNet(l1_ratio)


def penalty_words(l1_ratio: float) -> str:
    """The same in a sentence."""
    if l1_ratio == 0:
        return "|w|²/2"
    return "|w|₁" if l1_ratio == 1 else f"({1 - l1_ratio:g} |w|²/2 + {l1_ratio:g} |w|₁)"


def check_count(targets: Sequence[tuple[Array, Floats]], outputs: int) -> None:
    """Raise unless there are as many targets as outputs of the model."""
    if len(targets) != outputs:
        raise FenchelError(
            f"y has {len(targets)} targets or classes, the model weights for {outputs}: pass the y of its fit"
        )


def separate(
    data: Data,
    scores: Scores,
    loss: Loss,
    targets: Sequence[tuple[Array, Floats]],
    lams: Sequence[float],
    l1_ratio: float,
) -> list[Part]:
    """One problem for each pair of labels and weights."""
    check_count(targets, len(scores.coef))
    return [
        scores.problem(data, MeanRisk(loss, labels, weights), lam, regularizer_of(l1_ratio), output)
        for output, ((labels, weights), lam) in enumerate(zip(targets, lams, strict=True))
    ]


def joint(data: Data, scores: Scores, risk: MulticlassRisk, lam: float, l1_ratio: float) -> list[Part]:
    """One problem of all classes."""
    return [scores.problem(data, risk, lam, regularizer_of(l1_ratio), None)]


def positive(name: str, value: float) -> float:
    """The strength of a regularizer, which a proof needs."""
    if not 0 < value < np.inf:
        raise FenchelError(f"{name}={value} leaves the model without a regularizer, and then no gap can be proved")
    return float(value)

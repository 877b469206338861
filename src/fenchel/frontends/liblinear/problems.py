r"""The problems of LIBLINEAR as :class:`fenchel.Problem`.

LIBLINEAR minimizes :math:`\Omega(w) + \sum_i C_i f(w\cdot x_i, y_i)`, which is :math:`\sum C` times
:math:`\lambda\,\Omega(w) + \sum_i c_i f` with :math:`\lambda = 1/\sum C` and :math:`c_i = C_i/\sum C`.  The bias is the
weight of a constant feature and regularized, unless ``-R`` is given.

The one-class SVM minimizes :math:`\tfrac12\|w\|^2 + \sum_i [\rho - w\cdot x_i]_+ - \nu l \rho`.  With
:math:`c = \nu\sum_i x_i`, :math:`u = w - c`, :math:`b = -\rho` and :math:`t_i = u\cdot x_i + c\cdot x_i + b`,

.. math::
    \tfrac12\|w\|^2 + \sum_i [-t_i]_+ + \nu l b
    = \tfrac12\|u\|^2 - \tfrac12\|c\|^2 + \sum_i \bigl([-t_i]_+ + \nu t_i\bigr),

since :math:`\nu\sum_i t_i = c\cdot u + \|c\|^2 + \nu l b`: regression of the quantile :math:`1 - \nu` with labels
:math:`-c\cdot x_i` and a free intercept b.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.designs import Design, as_design
from fenchel.frontends.liblinear.options import TrainOptions
from fenchel.frontends.refusal import Refusal
from fenchel.losses import EpsilonInsensitive, Loss, Quantile, SquaredEpsilonInsensitive, as_loss
from fenchel.numerics.error_free import exact_sum
from fenchel.problem import Model, Problem
from fenchel.regularizers import L1, L2
from fenchel.risks import CrammerSinger, MeanRisk

#: labels of classes are numbers of 32 bits
_LARGEST_LABEL = 2**31 - 1


class Part(NamedTuple):
    """One of the problems of a training: all, or one class against the others."""

    problem: Problem
    #: by which LIBLINEAR's objective is larger
    scale: float
    #: the weights that belong to the zero of the problem, for the one-class SVM
    centre: Floats | None = None


class Classes(NamedTuple):
    """The labels in LIBLINEAR's order, and the place of each row's label there."""

    labels: list[int]
    places: Array


def classes_of(y: Floats) -> Classes:
    """The labels, truncated to whole numbers, in the order of their first rows; 1 before -1 if these are the two."""
    if not np.all(np.abs(y) <= _LARGEST_LABEL):
        wrong = y[~(np.abs(y) <= _LARGEST_LABEL)][0]
        raise Refusal(1, f"ERROR: the label of a class must be a whole number of 32 bits, got {wrong:g}")
    found, first, inverse = np.unique(np.trunc(y).astype(np.int64), return_index=True, return_inverse=True)
    order = np.argsort(first)
    if found[order].tolist() == [-1, 1]:
        order = order[::-1]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Classes(found[order].tolist(), rank[inverse])


def with_bias(X: sp.csr_matrix, options: TrainOptions) -> sp.csr_matrix:
    """X with the constant feature, if it is one of the design."""
    if options.bias < 0 or options.frees_bias:
        return X
    return sp.csr_matrix(sp.hstack([X, np.full((X.shape[0], 1), options.bias)], format="csr"))


def class_costs(options: TrainOptions, labels: list[int]) -> Floats:
    """C of each class."""
    costs = np.full(len(labels), options.C)
    for label, weight in options.weights:
        if label in labels:
            costs[labels.index(label)] *= weight
    return costs


def parts(X: sp.csr_matrix, y: Floats, classes: Classes | None, options: TrainOptions) -> list[Part]:
    """The problems of a training, in the order of the columns of weights."""
    design = as_design(X)
    kind = options.kind
    if kind.task == "one-class":
        return [_one_class(X, design, options)]
    if kind.task == "regression":
        squared = kind.loss == "squared_epsilon_insensitive"
        loss: Loss = SquaredEpsilonInsensitive(options.p) if squared else EpsilonInsensitive(options.p)
        return [_mean(design, loss, y, np.full(len(y), options.C), options)]
    assert classes is not None
    labels, places = classes
    costs = class_costs(options, labels)
    if kind.joint:
        weights = costs[places]
        risk = CrammerSinger(places, len(labels), weights)
        total = _total(weights)
        return [Part(Problem(design, risk, 1.0 / total, L2()), total)]
    loss = as_loss(kind.loss)
    if len(labels) == 2:
        return [_mean(design, loss, np.where(places == 0, 1.0, -1.0), costs[places], options)]
    signs = [np.where(places == k, 1.0, -1.0) for k in range(len(labels))]
    # the others have C without their weights
    return [_mean(design, loss, sign, np.where(sign > 0, costs[k], options.C), options) for k, sign in enumerate(signs)]


def weights_of(part: Part, model: Model, options: TrainOptions) -> Floats:
    """The weights as LIBLINEAR has them, (outputs, features and bias)."""
    weights = np.atleast_2d(model.weights)
    if part.centre is not None:
        return weights + part.centre
    if options.frees_bias:
        return np.hstack([weights, np.full((len(weights), 1), model.intercept)])
    return weights


def _mean(design: Design, loss: Loss, labels: Floats, costs: Floats, options: TrainOptions) -> Part:
    total = _total(costs)
    regularizer = L1() if options.kind.l1 else L2()
    problem = Problem(design, MeanRisk(loss, labels, costs), 1.0 / total, regularizer, intercept=options.frees_bias)
    return Part(problem, total)


def _one_class(X: sp.csr_matrix, design: Design, options: TrainOptions) -> Part:
    rows = X.shape[0]
    centre = options.nu * np.asarray(X.sum(axis=0)).ravel()
    risk = MeanRisk(Quantile(1.0 - options.nu), -(X @ centre))
    return Part(Problem(design, risk, 1.0 / rows, L2(), intercept=True), float(rows), centre)


def _total(costs: Floats) -> float:
    total = exact_sum(costs)
    if not 0.0 < total < np.inf:
        raise Refusal(1, f"ERROR: the sum of C over all rows must be positive and finite, got {total:g}")
    return total

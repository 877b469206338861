r"""The objective of a smooth problem, evaluated on groups of rows: one task a group.

.. math:: J(w, b) = \tfrac\lambda2\|w\|^2 + R(Xw + b)

One task a group gets (w, b) and returns the group's terms of

.. math:: R(Xw + b), \qquad X^T\theta, \qquad \textstyle\sum\theta, \qquad \theta = -\nabla R,

so that d numbers travel each way, and never n: the evaluations that Teo, Vishwanathan, Smola and Le (Bundle methods for
regularized risk minimization, JMLR 11, 2010, Sec. 5.2) distribute.  The tasks keep no state: one that was lost with its
worker is run again.  :math:`\theta` is dual feasible, with the duality gap
:math:`\|\lambda w - X^T\theta\|^2/(2\lambda)` for a b with :math:`\sum\theta = 0`.

=====================  ==========================================================
symbol                 here
=====================  ==========================================================
w, b                   ``point.weights``, ``point.intercept``
:math:`X^T\theta`      ``point.x_theta``
:math:`\sum\theta`     ``point.balance``
=====================  ==========================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.dask import shard as on_shard
from fenchel.dask.design import ShardedDesign, sharded
from fenchel.problem import Problem


@dataclass
class Point:
    """Weights and intercepts with the risk, X^T theta and sum theta there."""

    weights: Floats
    intercept: Floats
    risk: float
    x_theta: Floats
    balance: Floats


@dataclass
class Objective:
    """J, evaluated on the groups of a design."""

    problem: Problem
    design: ShardedDesign
    #: the term of the risk of each group, held on its worker
    parts: Sequence[Any]

    @classmethod
    def of(cls, problem: Problem) -> Objective:
        """Return the objective of a problem, its labels and weights on the workers."""
        design = sharded(problem)
        assert design is not None
        return cls(problem, design, design.parts(problem.risk))

    def point(self, weights: Array, intercept: Array) -> Point:
        """Return the point of these weights: one broadcast and one ordered sum."""
        terms = self.design.groups.map(on_shard.evaluate, self.parts, weights=weights, intercept=intercept)
        x_theta = self.design.ordered_sum([term.x_theta for term in terms])
        balance = self.design.ordered_sum([term.balance for term in terms])
        return Point(weights, intercept, math.fsum(term.value for term in terms), x_theta, balance)

    def moved(self, point: Point, change: Array) -> Point:
        """Return the point at some distance in w and, if it is free, b."""
        size, intercept = point.weights.size, point.intercept
        weights = point.weights + change[:size].reshape(point.weights.shape)
        if self.problem.intercept:
            intercept = intercept + change[size:].reshape(intercept.shape)
        return self.point(weights, intercept)

    def value(self, point: Point) -> float:
        """Return J."""
        return 0.5 * self.problem.lam * float(np.vdot(point.weights, point.weights)) + point.risk

    def gradient(self, point: Point) -> Floats:
        """Return the gradient of J in w and, if it is free, b."""
        gradient = (self.problem.lam * point.weights - point.x_theta).ravel()
        return np.append(gradient, -point.balance) if self.problem.intercept else gradient

    def gap(self, point: Point) -> float:
        """Return the duality gap; with a free intercept an estimate, as theta need not sum to zero."""
        residual = self.problem.lam * point.weights - point.x_theta
        cost = float(np.sum(np.abs(point.balance) * (1.0 + np.abs(point.intercept)))) if self.problem.intercept else 0.0
        return float(np.vdot(residual, residual)) / (2.0 * self.problem.lam) + cost

r"""The charge for an unbalanced theta where the objective does not bound the optimal intercept.

A risk that is not bounded below, as that of ``negative_log``, has no :math:`\lambda\Omega(w^*) \le P`.  So one entry of
theta stands for the number that makes :math:`\sum\theta` zero exactly.  It differs by at most :math:`r = |\sum\theta|`,

.. math::
    D(\theta) - D(\theta') \le \lambda\bigl(\Omega^*(v + r x_j/\lambda) - \Omega^*(v)\bigr)
    + c_j\bigl(f^*(u_j \pm r/c_j) - f^*(u_j)\bigr), \qquad u_j = -\theta_j/c_j.
"""

from __future__ import annotations

import math

import numpy as np

from fenchel.arrays import Array
from fenchel.numerics.rounding import ELEMENTARY, gamma
from fenchel.problem import Problem
from fenchel.risks import MeanRisk

#: covers roundings of sums of non-negative terms
_UPWARDS = 1.0 + 1e-6


def unbounded_below(problem: Problem) -> MeanRisk | None:
    """The risk if it is a mean of losses that are not bounded below."""
    mean = problem.risk.separable()
    return None if mean is None or mean.loss.bounded_below else mean


def stand_in_charge(problem: Problem, mean: MeanRisk, theta: Array, v: Array, own: float, unbalanced: Array) -> float:
    """A bound on D(theta) less D of a balanced point; ``own`` is Omega*(v).  The entry of largest size stands in."""
    design, total = problem.design, _UPWARDS * float(np.sum(unbalanced)) / problem.lam
    error = problem.regularizer.conjugate_error(v, own, total * design.largest_entry, total * design.largest_row_norm)
    charged = problem.lam * error
    columns = zip(theta.reshape(len(theta), -1).T, mean.labels.reshape(len(theta), -1).T, unbalanced, strict=True)
    for column, labels, away in columns:
        if away == 0.0:
            continue
        j = int(np.argmax(np.abs(column)))
        share, label = float(mean.shares[j]), labels[j : j + 1]
        u, moved = -column[j : j + 1] / share, _UPWARDS * away / share
        if not abs(float(u[0])) > 2.0 * moved:
            return math.inf
        # a convex function is largest at an end of an interval
        values = [float(mean.loss.conjugate(u + step, label)[0]) for step in (0.0, -moved, moved)]
        sizes = max(abs(value) for value in values) + abs(float((u * mean.loss.conjugate_slope(u, label))[0]))
        charged += share * (max(values) - values[0] + 2.0 * gamma(ELEMENTARY) * sizes)
    return _UPWARDS * charged if math.isfinite(charged) else math.inf

r"""Dual points that meet the equalities of free directions exactly, for rigorous certificates.

With Z and z of ``equalities``, :math:`\theta = -c\,u` and the weights W, the equalities of one output are

.. math:: \sum_i W_iu_iZ_i = -z\textstyle\sum_kW_k.

As many examples B as there are equalities, with room between their bounds, stand for the real numbers
:math:`u_B + \delta` that solve them: :math:`A\delta = -\rho` with :math:`A = (W_iZ_i)_{i\in B}^T` and the residual
:math:`\rho` of the floats u.  They are enclosed by the residual of an approximate solution and an approximate inverse
V of A (Rump, "Verification methods", Acta Numerica 19, 2010):

.. math:: \|\delta - \tilde\delta\|_\infty \le \frac{\|V(\rho + A\tilde\delta)\|_\infty}{1 - \|I - VA\|_\infty}
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from fenchel.arrays import Floats
from fenchel.certificate.equalities import equalities_of
from fenchel.designs.enclosures import EnclosedDesign
from fenchel.numerics.balls import Ball, as_ball, concatenate, from_fraction, stack, unknown
from fenchel.problem import Problem
from fenchel.risks.enclosures import EnclosedDual

#: refinements of delta: each adds the digits of a float
_REFINEMENTS = 3


def point_on_equalities(problem: Problem, design: EnclosedDesign, theta: Floats) -> EnclosedDual:
    """A dual point near theta that is in the domain and meets the equalities in exact arithmetic."""
    risk, known = problem.mean_risk.enclosure(), equalities_of(problem)
    if risk is None:
        raise TypeError("the loss has no enclosure")
    sides, target = _sides(problem, design)
    u = risk.inside(theta).reshape(len(theta), -1)
    low, high = (np.broadcast_to(end, theta.shape).reshape(len(theta), -1) for end in (risk.low, risk.high))
    goal = -target * as_ball(risk.weights).sum()
    # columns that ``equalities`` takes for exact, and prices that it takes for zero, must be so: it leaves some out
    same = np.all((sides.high == known.sides) & (sides.low == 0.0) & (sides.radius == 0.0), axis=0)
    proved = np.all(same | (known.errors > 0.0)) and np.all(target.is_zero() | (known.target != 0.0))
    columns = []
    for k, output in enumerate(known.outputs):
        # rows that are zero in every dual point
        free = ((output.low < 0.0) | (output.high > 0.0)) & (risk.weights > 0.0)
        room = np.where(free, np.minimum(u[:, k] - low[:, k], high[:, k] - u[:, k]), 0.0)
        own = np.where(free, u[:, k], 0.0)
        counted = output.counted if proved else np.arange(sides.shape[1])
        room = np.minimum(room, 1.0 + np.abs(own))
        columns.append(_solved(own, room, risk.weights, sides[:, counted], goal[counted]))
    return risk.point(columns[0] if theta.ndim == 1 else stack(columns, axis=1))


def _sides(problem: Problem, design: EnclosedDesign) -> tuple[Ball, Ball]:
    """Z and z."""
    regularizer = problem.free_directions
    given = regularizer.directions
    rows = given.toarray() if sp.issparse(given) else given
    columns = [design.scores(as_ball(row)) for row in rows]
    target = from_fraction(problem.exact_lam) * regularizer.prices
    if problem.intercept:
        columns.append(as_ball(np.ones(problem.design.shape[0])))
        target = concatenate([target, as_ball(np.zeros(1))])
    return stack(columns, axis=1), target


def _solved(u: Floats, room: Floats, weights: Floats, sides: Ball, goal: Ball) -> Ball:
    """Numbers near u with sum_i W_i u_i Z_i = goal exactly; balls that say nothing where no rows can be moved."""
    rest = ((as_ball(u) * weights)[:, None] * sides).sum(axis=0) - goal
    if np.all(rest.is_zero()):
        return as_ball(u)
    rows = _rows(weights * room, sides.high)
    if rows is None:
        return unknown(u.shape)
    matrix = sides[rows] * weights[rows][:, None]
    try:
        inverse = np.linalg.inv(matrix.high.T)
    except np.linalg.LinAlgError:
        return unknown(u.shape)
    step = as_ball(np.zeros(len(rows)))
    for _ in range(_REFINEMENTS):
        residual = rest + (step[:, None] * matrix).sum(axis=0)
        step = (step - inverse @ residual.high).centre()
    residual = rest + (step[:, None] * matrix).sum(axis=0)
    moved = (residual * inverse).sum(axis=1).magnitude()
    # rows of I - V A, with A the transpose of ``matrix``
    product = stack([(matrix * inverse[j]).sum(axis=1) for j in range(len(rows))])
    contraction = float(np.max(abs(np.eye(len(rows)) - product).sum(axis=1).upper()))
    if not contraction < 0.5:
        return unknown(u.shape)
    found = as_ball(u).map(np.copy)
    found.put(rows, found[rows] + step.widened(2.0 * float(np.max(moved))))
    return found


def _rows(room: Floats, sides: Floats) -> NDArray[np.intp] | None:
    """As many rows as columns, independent and with much room; None if there are too few."""
    usable = np.flatnonzero(room > 0.0)
    if len(usable) < sides.shape[1]:
        return None
    scaled = room[usable][:, None] * sides[usable]
    sizes = np.max(np.abs(scaled), axis=0)
    _, _, order = qr((scaled / np.where(sizes > 0.0, sizes, 1.0)).T, mode="economic", pivoting=True)
    return usable[order[: sides.shape[1]]]

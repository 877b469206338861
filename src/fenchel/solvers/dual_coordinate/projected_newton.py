r"""Projected Newton steps on the free dual variables, with a Gram matrix in memory.

Where the kernel is smooth or C is large, thousands of dual variables that are not at a bound depend on each other, and
coordinate descent takes a number of steps that grows with the condition of their part of K.  For a loss with
:math:`f^*(-\alpha, y) = -y\alpha + \epsilon|\alpha| + \tfrac\kappa2\alpha^2` on its domain, the dual is quadratic in
the free variables F while none reaches a bound (or zero, with a tube).  A change :math:`\Delta = D\delta` of
:math:`\theta_F/\lambda` minimizes it, with a damping :math:`\mu` (Levenberg-Marquardt), if

.. math:: (\tilde K_{FF} + \kappa D^{-1} + \mu I)\,\Delta = -r, \qquad r = s_F - y_F
    + \epsilon\,\mathrm{sign}(\alpha_F) + \kappa\alpha_F, \qquad D = \mathrm{diag}(c_F/\lambda)

With an intercept :math:`1\cdot\Delta = 0`, and r has a multiple of 1 added to it.  The step is projected on the bounds
(Bertsekas 1982), and on those with this sum, and halved until the dual rises; :math:`\mu` falls after whole steps and
rises after others.  Steps on pairs (``loop_pairs``) alternate with these: they find the free variables.

A system of more than a few thousand free variables is not solved, nor one before steps on pairs have taken about as
long as its factorization does: at the beginning the free variables are not those of the solution.

=====================  =====================================================================================
symbol                 here
=====================  =====================================================================================
F, r                   ``free``, ``residual``
D, :math:`\kappa/D`    ``scale``, ``diagonal``
:math:`\tilde K`       the Gram matrix of centred rows and the constant feature B, :math:`K_{ij} - p_i - p_j + M + B^2`
:math:`\mu`            ``output.damping``, relative to the largest diagonal entry of K~
=====================  =====================================================================================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fenchel.arrays import Array, Floats
from fenchel.kernels import CachedGram
from fenchel.projections import onto_box_and_equality
from fenchel.solvers.dual_coordinate.loop import ALPHA, LABEL, OFFSET, SCALE
from fenchel.solvers.dual_coordinate.loop_pairs import add_rows
from fenchel.solvers.dual_coordinate.pairs import alpha_bounds
from fenchel.solvers.dual_coordinate.state import OutputState, State
from fenchel.stopping import stop_point

#: free variables of a step at most: a factorization of 2,000 takes about 0.1 seconds
_MOST_FREE = 2000
#: turns of other steps before one of F free variables among n examples, in units of F^3/n
_TURNS = 0.2
#: steps that are tried with one direction, each half of the last, and directions that are tried
_HALVINGS, _TRIES = 3, 3
#: the rise of the dual that is asked for, as a share of that of the quadratic without bounds
_SUFFICIENT = 0.1
#: factors of the damping after a whole step and after any other, and its least value
_RELAX, _STIFFEN, _LEAST_DAMPING = 0.1, 4.0, 1e-12


class _Face(NamedTuple):
    """The dual as a function of the free variables, in changes of theta/lam: r.d + d.(K~ + kappa/D).d/2."""

    free: Array
    residual: Floats
    scale: Floats
    diagonal: Floats
    #: the bounds on alpha
    low: Floats
    high: Floats
    #: K~_FF
    matrix: Floats
    #: whether steps keep the sum of theta
    keeps_sum: bool


class _Step(NamedTuple):
    """New dual variables of the free examples, and the change of theta/lam."""

    alpha: Floats
    change: Floats
    whole: bool


def newton_step(state: State, output: OutputState, turns: int) -> int:
    """Make one step if the loss is piecewise quadratic and the system can be solved; turns of examples.

    ``turns`` are those of other steps since the last call: a system is solved once they have taken as long.
    """
    free, low, high = free_variables(state, output)
    output.turns_before_newton += turns
    enough = _TURNS * len(free) ** 3 / len(output.table)
    if not 1 < len(free) <= _MOST_FREE or output.turns_before_newton < enough:
        return 0
    if state.on_demand is not None and not _bring(state.on_demand, free):
        return 0
    output.turns_before_newton = 0
    face = _face(state, output, free, low, high)
    for _ in range(_TRIES):
        stop_point()
        direction = _direction(output, face)
        step = None if direction is None else _projected(output, face, direction)
        factor = _RELAX if step is not None and step.whole else _STIFFEN
        output.damping = max(factor * output.damping, _LEAST_DAMPING)
        if step is not None:
            output.table[face.free, ALPHA] = step.alpha
            places = face.free if state.on_demand is None else state.on_demand.slots[face.free]
            add_rows(state.rows, places, step.change, output.v)
            if len(state.projection):
                output.intercept[OFFSET] += step.change @ state.projection[face.free]
            return len(face.free)
    return 0


def free_variables(state: State, output: OutputState) -> tuple[Array, Floats, Floats]:
    """The free variables of a piecewise quadratic loss, and the bounds on all."""
    loss, table = state.problem.mean_risk.loss, output.table
    form = loss.piecewise_quadratic()
    assert form is not None
    alpha, (low, high) = table[:, ALPHA], alpha_bounds(state, output).T
    if form.epsilon > 0.0:
        # zero is the kink of the tube: a bound from both sides
        low, high = np.where(alpha >= 0.0, 0.0, low), np.where(alpha <= 0.0, 0.0, high)
    return np.flatnonzero((alpha > low) & (alpha < high) & (table[:, SCALE] > 0.0)), low, high


def _bring(rows: CachedGram, free: Array) -> bool:
    """Compute the rows of free examples that are not cached; whether all of them are then."""
    if len(free) > rows.capacity:
        return False
    rows.clock += 1
    known = rows.slots[free] >= 0
    rows.stamps[rows.slots[free[known]]] = rows.clock
    missing = free[~known]
    for begin in range(0, len(missing), rows.together):
        rows.bring(missing[begin : begin + rows.together])
    return True


def _face(state: State, output: OutputState, free: Array, low: Floats, high: Floats) -> _Face:
    """The face of the dual point."""
    form, table = state.problem.mean_risk.loss.piecewise_quadratic(), output.table
    assert form is not None
    scores, scale, alpha = output.v[free], table[free, SCALE], table[free, ALPHA]
    if len(state.projection):
        (total, offset, centre), part = output.intercept, state.projection[free]
        scores = scores + total * (state.spread(output) - part) - offset + centre
    residual = scores - table[free, LABEL] + form.epsilon * np.sign(alpha) + form.kappa * alpha
    bounds, matrix = (low[free], high[free]), _centred(state, output, free)
    return _Face(free, residual, scale, form.kappa / scale, *bounds, matrix, bool(len(state.projection)))


def _centred(state: State, output: OutputState, free: Array) -> Floats:
    """K~_FF."""
    places = free if state.on_demand is None else state.on_demand.slots[free]
    matrix = state.rows.values[np.ix_(places, free)].astype(np.float64)
    if len(state.projection):
        part = state.projection[free]
        matrix += state.spread(output) - part[:, None] - part
    return matrix


def _direction(output: OutputState, face: _Face) -> Floats | None:
    """The minimizer of the damped quadratic over all changes of theta/lam; None without a factorization."""
    matrix, ones = face.matrix.copy(), np.ones(len(face.free))
    matrix.flat[:: len(matrix) + 1] += face.diagonal + output.damping * float(np.max(np.diagonal(matrix)))
    try:
        # a symmetric matrix in the order that LAPACK overwrites
        factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    found: Floats = cho_solve(factor, -face.residual, check_finite=False)
    if face.keeps_sum:
        # the multiplier of the sum
        along = cho_solve(factor, ones, check_finite=False)
        found -= along * (np.sum(found) / np.sum(along))
    return found if np.all(np.isfinite(found)) else None


def _projected(output: OutputState, face: _Face, direction: Floats) -> _Step | None:
    """The first projected step that raises the dual; None without one."""
    alpha, slope = output.table[face.free, ALPHA], float(direction @ face.residual)
    for t in (0.5**k for k in range(_HALVINGS)):
        new = np.clip(alpha + t * direction / face.scale, face.low, face.high)
        if face.keeps_sum:
            new = _with_sum(new, alpha, face)
        change = face.scale * (new - alpha)
        rise = -change @ (face.residual + 0.5 * (face.matrix @ change + face.diagonal * change))
        if rise > -0.5 * _SUFFICIENT * t * slope:
            return _Step(new, change, t == 1.0)
    return None


def _with_sum(new: Floats, alpha: Floats, face: _Face) -> Floats:
    """The nearest point within the bounds, in theta/lam, with the sum of the present one."""
    scale = face.scale
    near = onto_box_and_equality(scale * new, scale * face.low, scale * face.high, float(scale @ alpha))
    return np.clip(near / scale, face.low, face.high)

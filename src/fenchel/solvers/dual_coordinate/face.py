r"""Conjugate gradients on the free dual variables, for epochs that hardly move them.

Two examples that are nearly the same tie their dual variables together: epochs then move both by little, in opposite
directions, and on text a hinge takes ten or hundreds of epochs to find which of them ends at a bound, depending on the
order of the examples.  The dual of a loss with :math:`f^*(-\alpha, y) = -y\alpha + \epsilon|\alpha| +
\tfrac\kappa2\alpha^2` is quadratic in the free variables F until one of them reaches a bound (or zero, with a tube).
From time to time it is minimized over the changes :math:`\Delta` of :math:`\theta_F/\lambda` by conjugate gradients on

.. math:: (\tilde K_{FF} + \kappa D^{-1})\,\Delta = -r, \qquad r = s_F - y_F
    + \epsilon\,\mathrm{sign}(\alpha_F) + \kappa\alpha_F, \qquad D = \mathrm{diag}(c_F/\lambda)

with products of the rows of X instead of :math:`\tilde K`.  A step ends at the first bound that it reaches, and the
method begins again without the variables there; epochs free them if need be.  Every step raises the dual, so that the
number of products can be small.

=====================  =====================================================================================
symbol                 here
=====================  =====================================================================================
F, r                   ``free``, ``residual``
:math:`\Delta`, p      ``change``, ``direction``
D, :math:`\kappa/D`    ``scale``, ``diagonal``
:math:`\tilde K p`     ``product``, of centred rows and the constant feature:
                       :math:`X_F u + P(M + B^2 - p_F) - m\cdot u`
                       with :math:`u = X_F^Tp` and :math:`P = \sum p`
=====================  =====================================================================================
"""

from __future__ import annotations

import numpy as np

from fenchel.arrays import Floats
from fenchel.compile.primitives.example_sums import add_adjoint, multiply
from fenchel.solvers.dual_coordinate.loop import ALPHA, LABEL, OFFSET, SCALE, SUM
from fenchel.solvers.dual_coordinate.projected_newton import free_variables
from fenchel.solvers.dual_coordinate.state import OutputState, State
from fenchel.stopping import stop_point

#: data passes of epochs before the next call, after an accurate one
_PASSES = 5.0
#: factor of these passes after another one (1.25 and 1.5 were tried on 20news.binary and imdb, C = 1 and 10)
_LONGER = 1.25
#: products of a call at most, and the squared length of the residual at which it ends, relative to the first one
_MOST_PRODUCTS, _ACCURACY = 30, 1e-4
#: a change that ends this near to a bound, relative to its length, ends there
_AT_BOUND = 1e-12


def face_step(state: State, output: OutputState, turns: int) -> int:
    """Minimize over the free variables if it is time to do so; turns of examples.

    ``turns`` are those of epochs since the last call.
    """
    output.turns_before_newton += turns
    if output.turns_before_newton < output.passes_before_face * len(output.table):
        return 0
    output.turns_before_newton = 0
    free, low, high = free_variables(state, output)
    if len(free) < 2:
        return 0
    free = free.astype(output.active_set.order.dtype)
    alpha, scale = output.table[free, ALPHA], output.table[free, SCALE]
    room = (low[free] - alpha) * scale, (high[free] - alpha) * scale
    change, products, accurate = _minimize(state, output, free, *room)
    output.passes_before_face = _PASSES if accurate else _LONGER * output.passes_before_face
    add_adjoint(state.rows, free, change, output.v, 0, len(free))
    new = np.clip(alpha + change / scale, low[free], high[free])
    new = np.where(change >= (1.0 - _AT_BOUND) * room[1], high[free], new)
    output.table[free, ALPHA] = np.where(change <= (1.0 - _AT_BOUND) * room[0], low[free], new)
    if len(state.projection):
        output.intercept[SUM] += float(np.sum(change))
        output.intercept[OFFSET] += float(change @ state.projection[free])
    # running sums have new rounding errors
    output.active_set.refreshed = False
    return (products + 1) * len(free)


def _minimize(state: State, output: OutputState, free: Floats, low: Floats, high: Floats) -> tuple[Floats, int, bool]:
    """The change of theta/lam within these bounds, the products it took, and whether it is accurate."""
    form = state.problem.mean_risk.loss.piecewise_quadratic()
    assert form is not None
    table, u, product = output.table[free], np.zeros(len(output.v)), np.empty(len(free))
    alpha, diagonal = table[:, ALPHA], form.kappa / table[:, SCALE]
    scores = state.scores(output, free)
    residual = scores - table[:, LABEL] + form.epsilon * np.sign(alpha) + form.kappa * alpha
    change, direction, square = np.zeros(len(free)), -residual, float(residual @ residual)
    first, inside = square, np.ones(len(free), dtype=bool)
    for count in range(1, _MOST_PRODUCTS + 1):
        # nothing of the state has changed yet
        stop_point()
        u[:] = 0.0
        add_adjoint(state.rows, free, direction, u, 0, len(free))
        multiply(state.rows, free, u, product, 0, len(free))
        if len(state.projection):
            total = float(np.sum(direction))
            product += total * (state.spread(output) - state.projection[free]) - float(state.mean @ u)
        product += diagonal * direction
        curvature = float(direction @ product)
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(direction > 0.0, high - change, low - change) / direction
        most = float(np.min(reach, where=direction != 0.0, initial=np.inf))
        step = min(square / curvature, most) if curvature > 0.0 else most
        if not np.isfinite(step):
            return change, count, False
        change += step * direction
        residual += step * product
        if step == most:
            # the method begins again without the variables that are at a bound now
            inside &= ~(reach <= most)
        gradient = np.where(inside, residual, 0.0)
        before, square = square, float(gradient @ gradient)
        if square <= _ACCURACY * first:
            return change, count, True
        direction = (0.0 if step == most else square / before) * direction - gradient
    return change, _MOST_PRODUCTS, False

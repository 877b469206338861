r"""Rigorous certificates: enclosures of P and D in ball arithmetic, about 32 digits with proved radii.

.. math::
    P(w, b) = \lambda\,\Omega(w) + R(Xw + b\mathbf 1), \qquad
    D(\theta) = -\lambda\,\Omega^*(X^T\theta/\lambda) - R^*(-\theta)

Every product, sum, exponential and logarithm is enclosed (``numerics.balls``), so a certificate rests on IEEE 754
arithmetic alone: it assumes nothing about the errors of NumPy's functions or of matrix products, and norms of rows do
not replace their entries.  :math:`\lambda` is that of the problem, a float or a fraction, and :math:`c_i` are the exact
quotients of the weights.

Theta is the dual point of the ordinary certificate.  The exact point near it, which floats can't hold, is the risk's
(``EnclosedRisk.dual_point``).  Where :math:`\Omega^*` is finite on a bounded set only, as for the lasso, theta is
scaled until :math:`X^T\theta/\lambda` is proved to lie in it.  For free directions ``rigorous_equalities`` makes the
point.
"""

from __future__ import annotations

import math
from typing import NamedTuple, NoReturn

import numpy as np

from fenchel.certificate.certificate import Certificate
from fenchel.certificate.gap import Verdict
from fenchel.certificate.rigorous_equalities import point_on_equalities
from fenchel.designs.enclosures import EnclosedDesign
from fenchel.errors import FenchelError
from fenchel.numerics.balls import Ball, from_fraction, unknown
from fenchel.numerics.error_free import check_arithmetic
from fenchel.problem import Model, Problem, Witness
from fenchel.regularizers.enclosures import EnclosedRegularizer
from fenchel.risks.enclosures import EnclosedRisk

#: scalings of theta at most, the second of which covers the rounding of the first
_SCALINGS = 3


def rigorous_certificate(problem: Problem, verdict: Verdict) -> Certificate:
    """The certificate of a verdict's model and witness, in ball arithmetic."""
    check_arithmetic()
    enclosed = enclosures(problem)
    primal = _primal(problem, enclosed, verdict.model)
    upper, upper_error = _float_and_error(primal, math.inf)
    lower, lower_error = _float_and_error(_dual(problem, enclosed, verdict.witness), -math.inf)
    if not lower - lower_error >= -problem.risk.conjugate_at_zero:
        # D(0), where the weights of a witness are enclosed by wide intervals
        at_zero = _dual(problem, enclosed, Witness(np.zeros(problem.theta_shape)))
        other, error = _float_and_error(at_zero, -math.inf)
        if other - error > lower - lower_error:
            lower, lower_error = other, error
    return Certificate(upper, lower, upper_error, lower_error, trivial=verdict.certificate.trivial, rigorous=True)


class Enclosures(NamedTuple):
    """The parts of a problem in ball arithmetic."""

    design: EnclosedDesign
    risk: EnclosedRisk
    regularizer: EnclosedRegularizer


def enclosures(problem: Problem) -> Enclosures:
    """The parts of a problem in ball arithmetic; raise if one of them has no enclosures."""
    risk, regularizer = problem.risk.enclosure(), problem.regularizer.enclosure(problem.design.shape[1])
    design = problem.design.enclosure()
    if risk is None:
        mean = problem.risk.separable()
        _refuse(f"the risk {problem.risk.name!r}" if mean is None else f"the loss {mean.loss.name!r}")
    if regularizer is None:
        _refuse(f"this regularizer {problem.regularizer.name!r}")
    if design is None:
        _refuse(f"a design of the class {type(problem.design).__name__}")
    return Enclosures(design, risk, regularizer)


def _refuse(what: str) -> NoReturn:
    raise FenchelError(f"rigorous=True has no enclosures of {what}; use rigorous=False")


def _primal(problem: Problem, enclosed: Enclosures, model: Model) -> Ball:
    """P at the model."""
    weights, penalty = enclosed.regularizer.primal(np.asarray(model.weights, dtype=np.float64))
    scores = enclosed.design.scores(weights) + np.asarray(model.intercept, dtype=np.float64)
    return penalty * from_fraction(problem.exact_lam) + enclosed.risk.value(scores)


def _dual(problem: Problem, enclosed: Enclosures, witness: Witness) -> Ball:
    """D at an exactly feasible point near theta."""
    lam, theta = from_fraction(problem.exact_lam), np.asarray(witness.theta, dtype=np.float64)
    for _ in range(_SCALINGS):
        if problem.regularizer.free_directions() is None:
            parts = witness.decomposition
            point = enclosed.risk.dual_point(theta, balanced=problem.intercept, decomposition=parts)
        else:
            point = point_on_equalities(problem, enclosed.design, theta)
        v = enclosed.design.adjoint(point.theta) * (point.factor / lam)
        penalty = enclosed.regularizer.conjugate(v)
        if np.isfinite(penalty.radius):
            return -(penalty * lam) - point.conjugate
        scale = problem.regularizer.largest_scale(v.high, float(np.max(v.radius, initial=0.0)))
        if not 0.0 < scale < 1.0:
            break
        theta = scale * theta
    return unknown()


def _float_and_error(found: Ball, otherwise: float) -> tuple[float, float]:
    """The nearest float of a number and a bound on its error; ``otherwise`` where nothing is known."""
    if not np.isfinite(found.radius):
        return otherwise, 0.0
    return float(found.high), math.nextafter(abs(float(found.low)) + float(found.radius), math.inf)

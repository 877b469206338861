r"""A ball that contains the weights of every optimum, from a model and a witness.

Let :math:`\Omega` be :math:`\sigma`-strongly convex and :math:`\hat v = \nabla\Omega^*(X^T\theta/\lambda)`.  P is
:math:`\lambda\sigma`-strongly convex in w, also where b is free, and by the Fenchel-Young inequality
:math:`P^* \ge D(\theta) + \tfrac{\lambda\sigma}{2}\|w^* - \hat v\|^2`.  Hence
:math:`\tfrac{\lambda\sigma}{2}(\|w - w^*\|^2 + \|\hat v - w^*\|^2) \le P(w, b) - D(\theta)`, which is

.. math::
    \Bigl\|w^* - \frac{w + \hat v}{2}\Bigr\|^2 \le \frac{P - D}{\lambda\sigma} - \frac{\|w - \hat v\|^2}{4} = r^2

For the squared loss ``inverse_hessian`` has a norm in which w is closer to the optimum.

==================  =================================================================================
symbol              here
==================  =================================================================================
c, r                ``centre``, ``radius``; c is (w + v)/2, or w where H is used
z                   ``reference``, the mean of the rows if there is an intercept
A                   ``root``, with A^T A near H^-1; None for the Euclidean norm
:math:`\beta`       ``intercept_lower``, ``intercept_upper``: see ``intercept_interval``
==================  =================================================================================
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.certificate import Certificate
from fenchel.certificate.gap import judge
from fenchel.certificate.intercept_interval import check_bracketed, joint_interval, mean_interval
from fenchel.certificate.inverse_hessian import centred_hessian, curvature_of, quadratic_ball
from fenchel.certificate.optimum import OptimumBall, distances_from, product_rounding
from fenchel.certificate.optimum_sketch import OptimumSketch
from fenchel.certificate.rounding import Errors, adjoint_spread
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import UNIT, gamma, output_norms
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import Risk

#: covers roundings of a bound by sums of non-negative terms
_UPWARDS = 1.0 + 1e-9


class TrainingRows(NamedTuple):
    """What the bracket of an intercept needs of the training rows, the same for all problems of a fit."""

    #: the point z, and bounds on the norms of x_i - z
    reference: Floats
    distances: Floats
    #: bounds on the rounding errors of x_i . c, and of z . c, for weights of norm 1
    rounding: Floats
    mean_rounding: float


def optimum_ball(problem: Problem, model: Model, witness: Witness) -> OptimumBall:
    """The ball of a model and a witness; raise if the problem has none."""
    check_confined(problem)
    certificate, model, witness, known = judge(problem, model, witness)
    return sketch(problem, training_rows(problem), certificate, model, witness, known.v).ball()


def check_confined(problem: Problem) -> None:
    """Raise for problems without a ball, with the reason."""
    if problem.regularizer.free_directions() is not None:
        raise FenchelError(
            "regularizer='free_directions' leaves some weights unregularized, so that they are not confined to a ball: "
            "use 'l2', or a QuadraticForm with small positive entries"
        )
    if problem.risk.closed_form() is None:
        raise FenchelError(
            f"the risk {problem.risk.name!r} has no conjugate in closed form: proved predictions are not implemented "
            "for it; use a mean of losses"
        )
    if not _strong_convexity(problem) > 0.0:
        raise FenchelError(
            f"regularizer={problem.regularizer.name!r} is not strongly convex, or has a matrix that is singular up to "
            "rounding, so its optimal weights are not confined to a ball: use 'l2', or 'elastic_net' with l1_ratio < 1"
        )
    if problem.intercept:
        check_bracketed(problem.risk)


def _strong_convexity(problem: Problem) -> float:
    """In the norm of the weights; of a kernel model in the norm of the RKHS."""
    return 1.0 if problem.regularizer.kernel() is not None else problem.regularizer.strong_convexity


def training_rows(problem: Problem) -> TrainingRows:
    """The reference point and the distances of the training rows from it: two products with the data."""
    design, gram = problem.design, problem.design.kernel()
    reference = np.zeros(design.shape[1])
    if gram is not None:
        return TrainingRows(reference, _UPWARDS * np.sqrt(gram.diagonal), product_rounding(design), 0.0)
    mean_rounding = 0.0
    if problem.intercept:
        reference = design.adjoint(problem.risk.shares)
        mean_rounding = gamma(design.adjoint_roundings + 64) * float(problem.risk.shares @ design.row_magnitudes)
    return TrainingRows(reference, distances_from(design, reference), product_rounding(design), mean_rounding)


def sketch(
    problem: Problem,
    rows: TrainingRows,
    certificate: Certificate,
    model: Model,
    witness: Witness,
    v: Array,
    most_hessian_work: float = math.inf,
    errors: Errors | None = None,
) -> OptimumSketch:
    """The ball of a certified model and witness with v = X^T theta / lam: one product with the data.

    v must not be compressed.  Where the Hessian of the squared loss takes more than ``most_hessian_work``
    multiplications, its norm is not used.  ``errors`` are those of the certificate of this very witness.
    """
    check_confined(problem)
    width, sigma = width_of(certificate), _strong_convexity(problem)
    weights, gram = np.asarray(model.weights, dtype=np.float64), problem.design.kernel()
    # up to lam and sigma rounded by a few u
    most = width / (problem.lam * sigma) * (1.0 + 64.0 * UNIT)
    # a finite radius of the Euclidean ball also bounds the norm of the optimal weights
    if gram is None:
        centre, radius = _linear_ball(problem, weights, witness, np.asarray(v), most, errors)
    else:
        centre, radius = _kernel_ball(problem, weights, witness, np.asarray(v), most)
    curvature = curvature_of(problem)
    if curvature is not None:
        n, d = problem.design.shape
        length = _norm(centre) * _UPWARDS + radius
        cheap = float(n) * d**2 <= most_hessian_work
        hessian = centred_hessian(problem, curvature, rows.reference, sigma) if cheap else None
        mean = problem.risk.separable() if problem.intercept else None
        within = _UPWARDS * math.sqrt(2.0 * width)
        pending = partial(quadratic_ball, hessian, weights, within, mean, rows.mean_rounding * length)
        return OptimumSketch(_unbracketed(problem, rows, certificate, centre, radius), pending)
    scores = problem.design.scores(centre) if problem.intercept else np.zeros(0)
    return _sketch(problem, rows, certificate, centre, radius, scores)


def brackets_at_scores(problem: Problem) -> bool:
    """Whether ``sketch_at_scores`` saves a product with the data: of a linear model with an intercept to bracket."""
    return problem.intercept and problem.design.kernel() is None and curvature_of(problem) is None


def sketch_at_scores(
    problem: Problem,
    rows: TrainingRows,
    certificate: Certificate,
    model: Model,
    witness: Witness,
    v: Array,
    scores: Array,
) -> OptimumSketch:
    """The ball around w that contains the one around c, from the scores X w + b of a linear model: reads no data.

    Where w is the gradient of Omega* at v, as in dual methods, the two are the same.
    """
    check_confined(problem)
    most = width_of(certificate) / (problem.lam * _strong_convexity(problem)) * (1.0 + 64.0 * UNIT)
    weights, intercept = (np.asarray(part, dtype=np.float64) for part in (model.weights, model.intercept))
    dual, error = _dual_weights(problem, witness, v)
    distance = _norm(weights - dual)
    radius = _radius(most, max(0.0, distance / _UPWARDS - error)) + 0.5 * (_UPWARDS * distance + error)
    # b was added and is subtracted again
    rounding = 4.0 * UNIT * (np.abs(scores) + np.abs(intercept)).reshape(len(scores), -1).max(axis=1)
    return _sketch(problem, rows, certificate, weights, _UPWARDS * radius, scores - intercept, rounding)


def sketch_around(
    problem: Problem, rows: TrainingRows, certificate: Certificate, weights: Array, scores: Array
) -> OptimumSketch:
    """The wider ball around certified weights with these products X w, which reads no data.

    Strong convexity gives a squared radius of 2 (P - D) / (lam sigma).
    """
    check_confined(problem)
    most = 2.0 * width_of(certificate) / (problem.lam * _strong_convexity(problem)) * (1.0 + 64.0 * UNIT)
    return _sketch(problem, rows, certificate, weights, _UPWARDS * math.sqrt(most), scores)


def width_of(certificate: Certificate) -> float:
    """upper - lower, rounded upwards; raise if the certificate proves nothing."""
    width = (certificate.upper - certificate.lower) * (1.0 + 4.0 * UNIT)
    if certificate.contradictory or not math.isfinite(width):
        raise FenchelError(f"the certificate proves nothing about the optimum: {certificate}")
    return max(0.0, width)


def _unbracketed(
    problem: Problem, rows: TrainingRows, certificate: Certificate, centre: Floats, radius: float
) -> OptimumBall:
    """The ball with intercepts of zero."""
    zeros, spread = np.zeros(problem.risk.outputs or 1), None if problem.risk.multiclass() is None else 0.0
    return OptimumBall(centre, radius, rows.reference, zeros, zeros, spread, None, certificate)


def _sketch(
    problem: Problem,
    rows: TrainingRows,
    certificate: Certificate,
    centre: Floats,
    radius: float,
    scores: Array,
    score_error: Array | float = 0.0,
) -> OptimumSketch:
    """The ball with this centre and radius, where ``scores`` are X c up to the rounding of a product and this error."""
    ball = _unbracketed(problem, rows, certificate, centre, radius)
    if not problem.intercept:
        return OptimumSketch(ball)
    away = radius * rows.distances
    rounding = rows.rounding * float(np.max(output_norms(centre))) + score_error
    # of a score, or of the difference between two scores
    joint = problem.risk.multiclass() is not None
    radii = math.sqrt(2.0) * away + 2.0 * rounding if joint else away + rounding
    return OptimumSketch(ball, partial(_bracketed, problem.risk, scores, _UPWARDS * radii))


def _dual_weights(problem: Problem, witness: Witness, v: Array, errors: Errors | None = None) -> tuple[Floats, float]:
    """The gradient of Omega* at v, and a bound on its error."""
    known = errors.spread if errors is not None and errors.fine else adjoint_spread(problem, witness.theta, fine=True)
    spread = known.norm + 16.0 * UNIT * _norm(v)
    dual = problem.regularizer.grad_conjugate(v)
    error = problem.regularizer.grad_conjugate_error(v, _UPWARDS * spread)
    if not math.isfinite(error):
        raise FenchelError(
            f"regularizer={problem.regularizer.name!r} has no proved bound on the rounding of its weights, whose "
            "constraints floats do not meet exactly: use 'l2' or 'elastic_net'"
        )
    return dual, error


def _linear_ball(
    problem: Problem, weights: Array, witness: Witness, v: Array, most: float, errors: Errors | None
) -> tuple[Floats, float]:
    """The centre and the radius in the Euclidean norm, for (P - D) / (lam sigma) = ``most``."""
    dual, error = _dual_weights(problem, witness, v, errors)
    centre = weights - dual
    apart = max(0.0, _norm(centre) / _UPWARDS - error)
    # in place, for many classes and features
    np.add(weights, dual, out=centre)
    centre *= 0.5
    rounding = 4.0 * UNIT * _norm(centre) + 0.5 * error
    return centre, _UPWARDS * (_radius(most, apart) + rounding)


def _kernel_ball(problem: Problem, weights: Array, witness: Witness, v: Array, most: float) -> tuple[Floats, float]:
    """The same for coefficients, in the norm of the RKHS; the coefficients of v are theta / lam."""
    gram = problem.regularizer.kernel()
    assert gram is not None
    difference = weights - v
    square = 2.0 * problem.regularizer.value(difference)
    square -= 2.0 * problem.regularizer.value_error(difference, 0.5 * square)
    # a coefficient is rounded a few times, and each example has a feature of norm sqrt(K_ii)
    lengths = np.abs(np.atleast_2d(weights)) + np.abs(np.atleast_2d(v))
    rounding = 16.0 * UNIT * float(np.sum(lengths @ np.sqrt(gram.diagonal)))
    apart = max(0.0, math.sqrt(max(0.0, square)) / _UPWARDS - rounding)
    return 0.5 * (weights + v), _UPWARDS * (_radius(most, apart) + rounding)


def _norm(vector: Array) -> float:
    """The Euclidean norm of all entries; as short arrays need it, without the cases of ``numpy.linalg.norm``."""
    flat = vector.ravel()
    return math.sqrt(float(flat @ flat))


def _radius(most: float, apart: float) -> float:
    square = most - 0.25 * apart * apart
    if square < -1e-9 * most:
        raise FenchelError(
            "the model and the witness contradict each other: they are farther apart than their duality gap allows; "
            "scale or centre X"
        )
    return math.sqrt(max(0.0, square))


def _common_shift(ball: OptimumBall) -> tuple[float, float]:
    """Bounds on the mean of beta for the optimum whose scores at z add up to zero: minus the mean of z . c."""
    terms = np.abs(ball.centre) @ np.abs(ball.reference)
    shift = -float(np.mean(ball.centre @ ball.reference))
    error = _UPWARDS * gamma(ball.reference.size + len(ball.centre) + 8) * float(np.mean(terms))
    return shift - error, shift + error


def _bracketed(risk: Risk, scores: Array, radii: Array, ball: OptimumBall) -> OptimumBall:
    """The ball with bounds on the intercepts at the reference point, and on their differences for a joint risk."""
    joint, mean, spread = risk.multiclass(), risk.separable(), None
    if mean is not None:
        low, high = mean_interval(mean, scores, radii)
    else:
        # ``check_bracketed`` refuses others
        assert joint is not None
        intercept, spread = joint_interval(joint, scores, radii)
        below, above = _common_shift(ball)
        low, high = intercept - spread + below, intercept + spread + above
    return replace(ball, intercept_lower=low, intercept_upper=high, intercept_spread=spread)

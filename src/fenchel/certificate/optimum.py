r"""A ball that contains the weights of every optimum, from a model and a witness.

Let :math:`\Omega` be :math:`\sigma`-strongly convex and :math:`\hat v = \nabla\Omega^*(X^T\theta/\lambda)`.  P is
:math:`\lambda\sigma`-strongly convex in w, also where b is free, and by the Fenchel-Young inequality
:math:`P^* \ge D(\theta) + \tfrac{\lambda\sigma}{2}\|w^* - \hat v\|^2`.  Hence
:math:`\tfrac{\lambda\sigma}{2}(\|w - w^*\|^2 + \|\hat v - w^*\|^2) \le P(w, b) - D(\theta)`, which is

.. math::
    \Bigl\|w^* - \frac{w + \hat v}{2}\Bigr\|^2 \le \frac{P - D}{\lambda\sigma} - \frac{\|w - \hat v\|^2}{4} = r^2

For the loss :math:`f = (s - y)^2/(2\kappa)` P is strongly convex in the norm of
:math:`H = \lambda\sigma I + \tfrac1\kappa\sum_i c_i(x_i - \bar x)(x_i - \bar x)^T` (:math:`\bar x` is zero without an
intercept), hence :math:`|(x - \bar x)\cdot(w - w^*)| \le \sqrt{2(P - D)\,(x - \bar x)^TH^{-1}(x - \bar x)}`.

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
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from fenchel.arrays import Array, Floats
from fenchel.certificate.certificate import Certificate
from fenchel.certificate.gap import judge
from fenchel.certificate.intercept_interval import joint_interval, mean_interval, quadratic_interval
from fenchel.certificate.rounding import adjoint_spread, output_norms
from fenchel.designs import Design
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import UNIT, gamma
from fenchel.problem import Model, Problem, Witness

#: features at most for which H is inverted
MOST_HESSIAN_FEATURES = 500
#: covers roundings of a bound by sums of non-negative terms
_UPWARDS = 1.0 + 1e-9
#: entries of (x - z)^T A^T that are held at a time (32 MB)
_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class OptimumBall:
    """A set of models that contains every optimum of a problem: arrays and floats, without the training data.

    Parameters
    ----------
    centre : ndarray of shape (d,) or (k, d)
        The centre c of the ball of weights.
    radius : float
        Its radius, rounded upwards.
    reference : ndarray of shape (d,)
        The point z: the scores of an optimum at x are within ``radius`` times the norm of x - z of x . c + beta.
    intercept_lower, intercept_upper : ndarray of shape (1,) or (k,)
        Bounds on beta, the optimal intercept at z.  For a joint risk, of the one whose entries add up to zero.
    intercept_spread : float or None
        For a joint risk a bound on the differences of beta between two classes from those of the midpoints; None for
        outputs that do not depend on each other.
    root : ndarray of shape (d, d) or None
        The matrix A of the norm of A (x - z); None for the Euclidean norm.
    certificate : Certificate
        The certificate from which the radius was computed.

    See Also
    --------
    certified_predictions : The predictions that every optimum agrees with.
    """

    centre: Floats
    radius: float
    reference: Floats
    intercept_lower: Floats
    intercept_upper: Floats
    intercept_spread: float | None
    root: Floats | None
    certificate: Certificate

    def score_intervals(self, design: Design) -> tuple[Floats, Floats]:
        """Bounds on the scores of every optimum, of shape (n,) or (n, k)."""
        scores, rounding = _scores(design, self.centre)
        half = _columns(self.radius * self._distances(design), scores) + rounding
        low, high = self.intercept_lower, self.intercept_upper
        if self.centre.ndim == 1:
            low, high = low[0], high[0]
        with np.errstate(invalid="ignore"):
            lower, upper = scores + low - half, scores + high + half
            rounded = 4.0 * UNIT * (np.abs(scores) + half)
            return lower - rounded - 4.0 * UNIT * np.abs(low), upper + rounded + 4.0 * UNIT * np.abs(high)

    def proved_classes(self, design: Design, predicted: Array) -> Array:
        """Whether the score of the predicted class is the largest one at every optimum, for each row."""
        if self.intercept_spread is None:
            return largest_for_all(*self.score_intervals(design), predicted)
        scores, rounding = _scores(design, self.centre)
        scores = scores + 0.5 * (self.intercept_lower + self.intercept_upper)
        rows = np.arange(len(scores))
        margins = scores[rows, predicted][:, None] - scores
        # the weights of two classes are at most sqrt(2) r from their difference at the centre
        half = math.sqrt(2.0) * _UPWARDS * self.radius * self._distances(design) + self.intercept_spread
        half = half + 2.0 * np.max(rounding, axis=1) + 16.0 * UNIT * np.max(np.abs(scores), axis=1)
        margins[rows, predicted] = np.inf
        with np.errstate(invalid="ignore"):
            return np.min(margins, axis=1) > half

    def _distances(self, design: Design) -> Floats:
        """Upper bounds on the norms of x - z, or of A (x - z)."""
        if self.root is None:
            return _distances(design, self.reference)
        found = np.empty(design.shape[0])
        own, size = self.root @ self.reference, math.sqrt(float(np.sum(self.root**2)))
        away = math.sqrt(math.fsum(self.reference**2))
        for rows, part in _parts(design, len(self.root)):
            products = part.scores(self.root) - own
            rounding = gamma(2.0 * len(self.root) + 8) * size * (part.row_magnitudes + away)
            found[rows] = _UPWARDS * (np.sqrt(np.einsum("ij,ij->i", products, products)) + rounding)
        return found


def largest_for_all(lower: Array, upper: Array, predicted: Array) -> Array:
    """Whether the lower bound of the predicted column is above the upper bounds of all others, for each row."""
    rows = np.arange(len(lower))
    others = upper.copy()
    others[rows, predicted] = -np.inf
    return np.asarray(lower[rows, predicted] > np.max(others, axis=1))


def optimum_ball(problem: Problem, model: Model, witness: Witness) -> OptimumBall:
    """The ball of a model and a witness; raise if the problem has none."""
    _check(problem)
    certificate, model, witness, _ = judge(problem, model, witness)
    sigma = problem.regularizer.strong_convexity
    if not sigma > 0.0:
        raise FenchelError(
            f"regularizer={problem.regularizer.name!r} is not strongly convex, so its optimal weights are not confined "
            "to a ball: use 'l2', or 'elastic_net' with l1_ratio < 1"
        )
    width = (certificate.upper - certificate.lower) * (1.0 + 4.0 * UNIT)
    if certificate.contradictory or not math.isfinite(width):
        raise FenchelError(f"the certificate proves nothing about the optimum: {certificate}")
    weights = np.asarray(model.weights, dtype=np.float64)
    quadratic = _curvature(problem)
    reference = problem.design.adjoint(problem.risk.shares) if problem.intercept else np.zeros(weights.shape[-1])
    root = None if quadratic is None else _inverse_root(problem, quadratic, reference, sigma)
    # a finite radius of the Euclidean ball also bounds the norm of the optimal weights
    centre, radius = _ball(problem, weights, witness, width, sigma)
    length = float(np.linalg.norm(centre)) * _UPWARDS + radius
    if root is not None:
        centre, radius = weights, _UPWARDS * math.sqrt(2.0 * width)
    low, high, spread = _intercepts(problem, centre, radius, reference, root, length)
    return OptimumBall(centre, radius, reference, low, high, spread, root, certificate)


def _check(problem: Problem) -> None:
    """Raise for problems without a ball, with the reason."""
    if problem.design.kernel() is not None:
        raise FenchelError(
            "the design is a Gram matrix: proved predictions of kernel models are not implemented, since they need the "
            "kernel between new rows; use a linear model, or explicit features of the kernel"
        )
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


def _ball(problem: Problem, weights: Array, witness: Witness, width: float, sigma: float) -> tuple[Floats, float]:
    """The centre and the radius in the Euclidean norm."""
    v = problem.design.adjoint(witness.theta) / problem.lam
    spread = adjoint_spread(problem, witness.theta, fine=True).norm + 16.0 * UNIT * float(np.linalg.norm(v))
    dual = problem.regularizer.grad_conjugate(v)
    error = problem.regularizer.grad_conjugate_error(v, _UPWARDS * spread)
    if not math.isfinite(error):
        raise FenchelError(
            f"regularizer={problem.regularizer.name!r} has no proved bound on the rounding of its weights, whose "
            "constraints floats do not meet exactly: use 'l2' or 'elastic_net'"
        )
    # up to lam and sigma rounded by a few u
    most = width / (problem.lam * sigma) * (1.0 + 64.0 * UNIT)
    apart = max(0.0, float(np.linalg.norm(weights - dual)) / _UPWARDS - error)
    square = most - 0.25 * apart * apart
    if square < -1e-9 * most:
        raise FenchelError(
            "the model and the witness contradict each other: they are farther apart than their duality gap allows; "
            "scale or centre X"
        )
    centre = 0.5 * (weights + dual)
    rounding = 4.0 * UNIT * float(np.linalg.norm(centre)) + 0.5 * error
    return centre, _UPWARDS * (math.sqrt(max(0.0, square)) + rounding)


def _intercepts(
    problem: Problem, centre: Array, radius: float, reference: Array, root: Array | None, length: float
) -> tuple[Floats, Floats, float | None]:
    """Bounds on the intercepts at the reference point, and on their differences for a joint risk."""
    joint = problem.risk.multiclass()
    if not problem.intercept:
        zeros = np.zeros(problem.risk.outputs or 1)
        return zeros, zeros, None if joint is None else 0.0
    design, mean = problem.design, problem.risk.separable()
    if mean is not None and _curvature(problem) is not None:
        rounded = gamma(design.adjoint_roundings + 64) * float(mean.shares @ design.row_magnitudes)
        return (*quadratic_interval(mean, reference, centre, np.full(mean.outputs or 1, rounded * length)), None)
    scores, rounding = _scores(design, centre)
    distances = radius * _distances(design, reference)
    if mean is not None:
        worst = rounding if rounding.ndim == 1 else np.max(rounding, axis=1)
        return (*mean_interval(mean, scores, _UPWARDS * (distances + worst)), None)
    if joint is None:
        raise FenchelError(
            f"the optimal intercepts of the risk {problem.risk.name!r} can't be bracketed: use intercept=False (in an "
            "estimator fit_intercept=False)"
        )
    widths = _UPWARDS * (math.sqrt(2.0) * distances + 2.0 * np.max(rounding, axis=1))
    intercept, spread = joint_interval(joint, scores, widths)
    return intercept - spread, intercept + spread, spread


def _curvature(problem: Problem) -> float | None:
    """1/kappa for a loss (s - y)^2 / (2 kappa), else None."""
    mean = problem.risk.separable()
    form = None if mean is None else mean.loss.piecewise_quadratic()
    if mean is None or form is None or mean.loss.task != "regression" or form.epsilon or not form.kappa:
        return None
    low, high = mean.loss.domain(np.zeros(1))
    return 1.0 / form.kappa if math.isinf(low[0]) and math.isinf(high[0]) else None


def _inverse_root(problem: Problem, curvature: float, reference: Array, sigma: float) -> Floats | None:
    r"""A matrix A with :math:`\|Ax\|^2 \ge x^TH^{-1}x`, or None where that is not proved.

    If :math:`\|AHA^T - I\| \le \eta < 1`, then :math:`H^{-1} \preceq A^TA/(1 - \eta)`.
    """
    design, d = problem.design, problem.design.shape[1]
    if d > MOST_HESSIAN_FEATURES:
        return None
    hessian, size = problem.lam * sigma * np.eye(d), 0.0
    for rows, part in _parts(design, d):
        centred = part.scores(np.eye(d)) - reference
        shares = curvature * problem.risk.shares[rows, None]
        hessian += centred.T @ (shares * centred)
        size += float(np.sum(shares * (np.abs(centred) + 4.0 * gamma(design.shape[0] + 8) * np.abs(reference)) ** 2))
    try:
        root = solve_triangular(cholesky(hessian, lower=True), np.eye(d), lower=True)
    except LinAlgError:
        return None
    # roundings of the entries of H, of the mean and of the shares, and of the products below
    away = float(np.sum(np.square(reference))) * curvature
    wrong = gamma(2.0 * design.shape[0] + 64) * (size + math.sqrt(size * away)) + 8.0 * UNIT * problem.lam * sigma
    magnitudes = np.abs(root) @ np.abs(hessian) @ np.abs(root.T)
    residual = root @ hessian @ root.T - np.eye(d)
    eta = float(np.linalg.norm(residual)) + gamma(2.0 * d + 8) * float(np.linalg.norm(magnitudes))
    eta = _UPWARDS * (eta + wrong * float(np.sum(root**2)))
    return _UPWARDS / math.sqrt(1.0 - eta) * root if eta < 0.5 else None


def _scores(design: Design, centre: Array) -> tuple[Floats, Floats]:
    """x . c, and a bound on its rounding error."""
    rounded = np.asarray(design.score_roundings, dtype=np.float64) * UNIT
    rounded = _UPWARDS * np.broadcast_to(rounded / (1.0 - rounded), design.shape[:1]) * design.row_magnitudes
    scores = design.scores(centre)
    return scores, _columns(rounded, scores) * output_norms(centre)


def _distances(design: Design, reference: Array) -> Floats:
    """Upper bounds on the Euclidean norms of x - z."""
    squares = design.squared_row_norms
    if not np.any(reference):
        return design.row_magnitudes
    away = math.fsum(reference**2)
    total = squares - 2.0 * design.scores(reference) + away
    rounded = np.asarray(design.score_roundings, dtype=np.float64) + 16.0
    error = _UPWARDS * rounded * UNIT * (design.row_magnitudes + math.sqrt(away)) ** 2
    return _UPWARDS * np.sqrt(np.maximum(total, 0.0) + error)


def _parts(design: Design, width: int) -> Iterator[tuple[slice, Design]]:
    """Blocks of rows for products with ``width`` columns."""
    step = max(1, _BLOCK_ENTRIES // max(1, width))
    for begin in range(0, design.shape[0], step):
        end = min(design.shape[0], begin + step)
        yield slice(begin, end), design.part(begin, end)


def _columns(values: Array, scores: Array) -> Floats:
    """Values of the rows, broadcast over the outputs."""
    return values if scores.ndim == 1 else values[:, None]

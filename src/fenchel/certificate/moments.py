r"""Certificates of least squares for many values of lambda from the second moments of the data, with proved errors.

For :math:`f(s, y) = (s - y)^2/(2\kappa)` and the dual point :math:`\theta = tCr/\kappa` of the residuals
:math:`r = y - Xw - b`, with :math:`C = \mathrm{diag}(c)`, both sides are polynomials in w whose coefficients are sums
over the examples,

.. math::
    R = \frac{r^TCr}{2\kappa}, \qquad R^*(-\theta) = \frac{\tfrac12 t^2\,r^TCr - t\,r^TCy}{\kappa}, \qquad
    \lambda v = \frac{t\,X^TCr}{\kappa}, \qquad
    X^TCr = q - Gw, \quad r^TCy = y^TCy - q\cdot w, \quad r^TCr = r^TCy - w\cdot X^TCr

for :math:`G = X^TCX` and :math:`q = X^TCy`.  With an intercept, the best one makes both those of centred data, and
theta sums to zero.  Here theta is exact: its floats are computed when they are read.

Each entry of :math:`M = [y, X]^TC\,[y, X]` has an error of at most :math:`\gamma_m\sqrt{M_{jj}M_{kk}}` (the inequality
of Cauchy and Schwarz), at most four times as much after centring, since a mean is at most :math:`\sqrt{M_{jj}}`.  So
with :math:`a = \sqrt{M_{yy}} + \sum_j|w_j|\sqrt{M_{jj}}` and one :math:`\varepsilon` for the errors of M and those of
products with d of its entries, the errors of :math:`X^TCr` are at most :math:`\varepsilon a\sqrt{M_{jj}}`, and those
of the two squares :math:`\varepsilon a^2`.  They are larger than those of a certificate from the scores, so a gap that
is near them is computed from these.

==================  ==================================================
symbol              here
==================  ==================================================
G, q, the means     ``Moments``
:math:`r^TCr`       ``squares``
:math:`r^TCy`       ``products``
a                   ``sizes``
:math:`\varepsilon`  ``Moments.relative_error``
==================  ==================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fenchel.arrays import Floats
from fenchel.certificate.dual import Bound
from fenchel.certificate.gap import Verdict, verdict_of
from fenchel.certificate.primal import check_intercept, check_weights, primal_of
from fenchel.certificate.rounding import NEAR_FLOOR, Spread, errors_of_terms
from fenchel.designs import Design
from fenchel.designs.base import COLUMN_SQUARES
from fenchel.numerics.rounding import UNIT, gamma, tree_depth, tree_sum
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import MeanRisk

#: the keys of ``Design.reusable`` of sums over the rows, which certificates alone write
_OF_ROWS, _OF_LABELS, _PROBE = "second moments", "second moments with labels", "probe of the rows"
#: roundings of a term of a moment beside those of its sum: its products, a square root of c_i, and the blocks
_OF_TERM = 8.0
#: covers the roundings of sums of non-negative terms, and the squares of errors
_UPWARDS = 1.0 + 1e-6
#: largest relative error of the moments, whose square is small
_LARGEST_ERROR = 1e-8
#: errors that finer bounds need not improve, as a share of tol, and relative to the objective
_NEGLIGIBLE, _SMALL = 0.1, 1e-9
#: size of a moment whose products may underflow, and of a square beyond which they may overflow
_UNDERFLOW, _OVERFLOW = 2.0**-500, 2.0**1000


class Moments(NamedTuple):
    """X^T C X, X^T C y and y^T C y of a problem, not centred, and the means of X and y."""

    gram: Floats
    correlations: Floats
    square: float
    mean: Floats
    label_mean: float
    #: bounds on the roots of the diagonal of M, of X and of y
    lengths: Floats
    label_length: float
    #: epsilon
    relative_error: float

    def centred(self) -> Moments:
        """Those of X and y less their means, with the same bounds."""
        return self._replace(
            gram=self.gram - np.outer(self.mean, self.mean),
            correlations=self.correlations - self.mean * self.label_mean,
            square=self.square - self.label_mean**2,
        )


def gram_of(problem: Problem) -> tuple[Floats, Floats] | None:
    """X^T C X and X^T c for a mean of one quadratic loss over a dense design; None for others, or if they overflow.

    They are kept for other values of lam and other labels, and ``judge_all`` uses them from then on.
    """
    design, mean = problem.design, _least_squares(problem)
    if mean is None or design.kernel() is not None:
        return None
    known = _known_gram(problem, mean)
    if known is None:
        with np.errstate(over="ignore", invalid="ignore"):
            known = design.gram(np.arange(len(mean.shares)), mean.shares)
        if known is None or not np.max(np.diagonal(known[0]), initial=0.0) < _OVERFLOW:
            return None
        design.reusable[_OF_ROWS] = _frozen(mean.shares.copy(), *known)
    return known


def _least_squares(problem: Problem) -> MeanRisk | None:
    """The risk of a mean of one quadratic loss."""
    mean = problem.risk.separable()
    return None if mean is None or mean.outputs is not None or mean.conjugate_curvature is None else mean


def _known_gram(problem: Problem, mean: MeanRisk) -> tuple[Floats, Floats] | None:
    shares, *known = problem.design.reusable.get(_OF_ROWS, (None,))
    return (known[0], known[1]) if shares is not None and np.array_equal(shares, mean.shares) else None


def forget_changed_moments(problem: Problem) -> None:
    """Forget moments of an earlier call if X has changed since: X^T z, of random numbers z, is not what it was then.

    X^T c and X^T C y would be the same if entries of a column changed places between rows with the same label.
    """
    design = problem.design
    if _least_squares(problem) is None or design.kernel() is not None:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        probe = design.adjoint(np.random.default_rng(0).random(design.shape[0]))
    known = design.reusable.get(_PROBE)
    if known is None or not np.array_equal(known[0], probe):
        forget_moments(design)
        design.reusable[_PROBE] = _frozen(probe)


def forget_moments(design: Design) -> None:
    """Forget the sums of an earlier call that proofs rest on, for a design whose arrays may have changed since."""
    for name in (_OF_ROWS, _OF_LABELS, _PROBE, COLUMN_SQUARES):
        design.reusable.pop(name, None)


def moments_of(problem: Problem) -> Moments | None:
    """The moments of a problem; None where ``gram_of`` is, or if those of the labels overflow."""
    known = gram_of(problem)
    return None if known is None else _moments(problem, problem.mean_risk, *known)


def _known_moments(problem: Problem) -> Moments | None:
    """The moments of a problem whose ``gram_of`` is known; None otherwise."""
    mean = _least_squares(problem)
    known = None if mean is None else _known_gram(problem, mean)
    return None if mean is None or known is None else _moments(problem, mean, *known)


def _moments(problem: Problem, mean: MeanRisk, gram: Floats, means: Floats) -> Moments | None:
    design, shares, labels = problem.design, mean.shares, mean.labels
    of_labels = design.reusable.get(_OF_LABELS)
    # fits of other threads may have other weights of the rows
    if of_labels is None or not (np.array_equal(of_labels[0], labels) and np.array_equal(of_labels[1], shares)):
        weighted = shares * labels
        # no longer sums than those of the Gram matrix, which has blocks of rows
        total = tree_sum if len(labels) > design.adjoint_roundings else np.sum
        with np.errstate(over="ignore", invalid="ignore"):
            sums, correlations = np.array([total(weighted * labels), total(weighted)]), design.adjoint(weighted)
        of_labels = design.reusable[_OF_LABELS] = _frozen(labels.copy(), shares.copy(), correlations, sums)
    _, _, correlations, sums = of_labels
    square, label_mean = sums.tolist()
    if not square < _OVERFLOW:
        return None
    roundings = design.adjoint_roundings + tree_depth(len(shares)) + mean.share_roundings + _OF_TERM
    error = (4.0 if problem.intercept else 1.0) * gamma(roundings) + 3.0 * gamma(len(means) + 4.0)
    lengths = _UPWARDS * np.sqrt(np.diagonal(gram)) + _UNDERFLOW
    label_length = _UPWARDS * math.sqrt(square) + _UNDERFLOW
    return Moments(gram, correlations, square, means, label_mean, lengths, label_length, _UPWARDS * error)


def _frozen(*arrays: Floats) -> tuple[Floats, ...]:
    """Arrays that nothing writes to from now on."""
    for array in arrays:
        array.setflags(write=False)
    return arrays


class ResidualWitness(Witness):
    """The dual point t C r / kappa of a model, whose floats are computed when ``theta`` is read."""

    def __init__(self, problem: Problem, model: Model, scale: float) -> None:
        vars(self).update(problem=problem, model=model, scale=scale, conjugate_bound=None, decomposition=None)

    problem: Problem
    #: with the best intercept for its weights
    model: Model
    scale: float

    @cached_property
    def theta(self) -> Floats:
        """The dual variables, from the scores of the model."""
        scores = self.problem.design.scores(self.model.weights) + np.asarray(self.model.intercept)
        return -self.scale * self.problem.mean_risk.subgradient(scores)

    def __reduce__(self) -> tuple[type[Witness], tuple[Floats]]:
        return Witness, (self.theta,)


def judge_by_moments(problems: Sequence[Problem], models: Sequence[Model], tol: float) -> list[Verdict | None]:
    """The verdicts on models and minus the gradients at their scores, for problems that differ in lam only.

    None for each point whose gap is near the errors, if these are no small share of ``tol`` and of the objective, and
    for all where the moments are not known yet, or the regularizer is none of ridge, the lasso and the elastic net.
    """
    first = problems[0]
    # others have unregularized directions, or weights that are known up to rounding
    moments = None if first.regularizer.l1_ratio is None else _known_moments(first)
    if moments is None or not moments.relative_error <= _LARGEST_ERROR:
        return [None] * len(problems)
    for problem, model in zip(problems, models, strict=True):
        check_weights(problem, model.weights)
    weights = np.array([model.weights for model in models], dtype=np.float64)
    of_residuals = moments.centred() if first.intercept else moments
    slopes = of_residuals.correlations - weights @ of_residuals.gram
    products = of_residuals.square - weights @ of_residuals.correlations
    squares = products - np.einsum("ij,ij->i", weights, slopes)
    sizes = _UPWARDS * (moments.label_length + np.abs(weights) @ moments.lengths)
    best = (moments.label_mean - weights @ moments.mean).tolist() if first.intercept else [0.0] * len(weights)
    largest, norm = float(np.max(moments.lengths, initial=0.0)), float(np.linalg.norm(moments.lengths))
    numbers = zip(best, products.tolist(), squares.tolist(), sizes.tolist(), strict=True)
    return [
        _verdict(problem, model, v, *each, moments.relative_error, Spread(largest, norm), tol)
        for problem, model, v, each in zip(problems, models, slopes, numbers, strict=True)
    ]


def _verdict(
    problem: Problem,
    model: Model,
    slopes: Floats,
    best: float,
    product: float,
    square: float,
    size: float,
    relative_error: float,
    lengths: Spread,
    tol: float,
) -> Verdict | None:
    """The verdict of one model, with the best multiple of its dual point; None near the errors of the moments.

    ``best`` is the best intercept for its weights, with an error of epsilon a.
    """
    mean = problem.mean_risk
    curvature = mean.conjugate_curvature
    assert curvature is not None
    regularizer, error = problem.regularizer, relative_error * size * size / curvature
    if not square > 0.0:
        return None
    fitted = model if model.intercept == best else Model(model.weights, best)
    given, away = fitted, 0.0
    if model.intercept is not None and model is not fitted:
        check_intercept(problem, model.intercept)
        given, away = model, float(np.asarray(model.intercept)) - best
    primal = primal_of(problem, given, None, 0.5 * (square + away * away) / curvature)
    v = slopes / (curvature * problem.lam)
    spread = lengths.scaled(_UPWARDS * relative_error * size / (curvature * problem.lam))
    largest = regularizer.largest_scale(v, spread.largest)
    # D is a parabola in t where Omega* is an indicator
    scale = 1.0 if math.isinf(largest) else min(largest, product / square)
    if not 0.0 < scale < math.inf:
        return None
    v *= scale
    own, conjugate = regularizer.relaxed_conjugate(v), (0.5 * scale * square - product) * scale / curvature
    value = -problem.lam * own - conjugate
    if not (math.isfinite(value) and value > -problem.risk.conjugate_at_zero):
        return None
    bound = Bound(value, _NO_THETA, v, conjugate, _BALANCED, penalty=own)
    # the last of these are the errors of the sum of all c_i
    of_risk = 0.5 * error + (8.0 + mean.share_roundings) * UNIT * primal.risk
    if problem.intercept:
        of_risk += relative_error * (error + abs(away) * size / curvature)
    of_conjugate = _UPWARDS * (scale + 0.5 * scale * scale) * (error + 8.0 * UNIT * size * size / curvature)
    errors = errors_of_terms(problem, primal, bound, of_risk, spread.scaled(scale), of_conjugate)
    enough = max((primal.value - value) / NEAR_FLOOR, min(_NEGLIGIBLE * tol, _SMALL) * primal.value)
    if not errors.primal + errors.dual < enough:
        return None
    witness = ResidualWitness(problem, fitted, scale)
    return verdict_of(problem, primal, bound, witness, errors, held=witness)


#: theta is not read, and its sum is zero
_NO_THETA, _BALANCED = np.zeros(0), np.zeros(1)

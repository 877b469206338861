r"""Proved bounds on the rounding errors of P and D.

The certificate needs numbers :math:`\bar P \ge P` and :math:`\underline D \le D` for the exact P and D of the stored
floats.  With :math:`\gamma_m` of ``numerics.rounding``, whatever the order of summation,

.. math::
    |\tilde s_i - s_i| \le r_i = \gamma_{m_i}(\|x_i\|\|w\| + |b|), \qquad
    \|\tilde v - v\| \le e = \gamma_m\,\frac{\sum_i|\theta_i|\|x_i\|}{\lambda} + 8u\|v\|,

where m counts the additions on the way of a product.  R is computed with an error of K roundings of the scores, of the
constants that are added to them, and of itself (``Risk.roundings``); what running sums lose beyond that is added
(``Risk.cancellation_error``).  With g the largest subgradients near the scores,

.. math::
    P - \tilde P \le \lambda\,\Delta\Omega + \sum_i g_i\bigl(r_i + \gamma_K(|s_i| + \ell_i)\bigr) + \gamma_K|R|, \qquad
    \tilde D - D \le \lambda\,\Delta\Omega^*(e) + \Delta R^*

A regularizer bounds :math:`\Delta\Omega` and :math:`\Delta\Omega^*` (``value_error``, ``conjugate_error``), a risk
:math:`\Delta R^*` (``conjugate_error``).  c and :math:`\lambda` may themselves be rounded numbers, by a few u.

Two kinds of numbers can't be stored exactly.  Weights with a fixed mass stand for their multiple of that mass
(``Regularizer.weights_error``, in units of which the scores are off), and theta, where its domain has equalities, for
a point of the domain near it (``Risk.dual_roundings`` and ``DecomposedForm.domain_distance``, a part of e).  A
constraint (``Loss.constraint``) holds or not for the computed scores: P counts them as given.  Assumed are exp, log and
powers with the errors that ``numerics.rounding`` states, and losses of one sign unless they are unbounded below.

Underflow adds :math:`2^{-1074}` to a product, whatever its size: :math:`2^{-1068}` is charged for each weight, score
and dual variable in the four terms, n of them to each component of :math:`X^T\theta`, and d roundings of
:math:`2^{-1021}` to each score.

The bounds are first evaluated with the largest row and a bound on the 1-norm of the subgradients
(``Risk.subgradient_norm_bound_near``), and row by row only where the gap is near them.

==================  =============================================================
symbol              here
==================  =============================================================
:math:`m_i, m`      ``design.score_roundings``, ``design.adjoint_roundings``
:math:`\|x_i\|`     ``design.row_magnitudes``, at most ``design.largest_row_norm``
K, :math:`\ell_i`    ``risk.roundings``, ``risk.label_sizes()``
e                   ``Spread``
==================  =============================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.equalities import free_rounding
from fenchel.certificate.trust import refute
from fenchel.numerics.rounding import SMALLEST_SIZE, UNDERFLOW, UNIT, gamma, output_norms, tree_sum
from fenchel.problem import Model, Problem

if TYPE_CHECKING:
    from fenchel.certificate.dual import Bound
    from fenchel.certificate.primal import Primal
    from fenchel.designs import Design
    from fenchel.regularizers import Regularizer
    from fenchel.risks.decomposition import DecomposedForm

#: scores that are kept at most (64 MB); more are computed again when they are needed
MANY_SCORES = 1 << 23
#: scores up to which the finer bounds take little more time than the rough ones, and up to which they are computed
#: at once if the gap relative to P is at most the third number, so that they are likely to be needed
VERY_FEW_SCORES, _FEW_SCORES, _SMALL_GAP = 1 << 7, 1 << 15, 1e-9
#: the bounds are themselves computed in floats, by sums of non-negative terms
_UPWARDS = 1.0 + 1e-6
#: relative error of lam = 1 / (C sum of weights) and of other factors, in units of u
_FACTORS = 4.0
#: gap, in units of the rough bounds, above which the finer ones are not computed
NEAR_FLOOR = 1e2


class Spread(NamedTuple):
    """Bounds on the error of v = X^T theta / lam: in each component, and in the Euclidean norm."""

    largest: float = 0.0
    norm: float = 0.0

    def scaled(self, factor: float) -> Spread:
        """The error of a multiple of v."""
        return Spread(abs(factor) * self.largest, abs(factor) * self.norm)

    def rounded(self, regularizer: Regularizer, v: Array, roundings: float) -> Spread:
        """The error of v after this number of further roundings of each component."""
        error = _UPWARDS * gamma(roundings)
        with np.errstate(over="ignore"):
            largest, norm = float(np.abs(v).max(initial=0.0)), regularizer.norm_bound(v)
        return Spread(self.largest + error * largest, self.norm + error * norm)


class Errors(NamedTuple):
    """Bounds on the rounding errors of the four terms, the part of the charge that rounding explains, and e."""

    penalty: float
    risk: float
    regularizer: float
    conjugate: float
    charge: float
    spread: Spread
    #: whether ``spread`` is ``adjoint_spread(problem, theta, fine=True)`` to the last bit
    fine: bool = False

    @property
    def primal(self) -> float:
        return self.penalty + self.risk

    @property
    def dual(self) -> float:
        return self.regularizer + self.conjugate + self.charge


def rounding_errors(problem: Problem, primal: Primal, bound: Bound) -> Errors:
    """Bounds on the rounding errors of P and D: rough ones first, by rows if the gap is near them."""
    if bound.trusted and math.isfinite(bound.value):
        scores = scores_at(problem, primal)
        magnitude = abs(primal.value) + tree_sum(np.abs(bound.theta * scores))
        refute(bound.conjugate, bound.theta, scores, primal.risk, magnitude)
    rough = rough_errors(problem, primal, bound)
    return _errors(problem, primal, bound, fine=True) if rough is None else rough


def rough_errors(problem: Problem, primal: Primal, bound: Bound) -> Errors | None:
    """Bounds without those row by row; None where the gap is near them or these take little more time."""
    count, gap = math.prod(problem.theta_shape), primal.value - bound.value
    if count <= VERY_FEW_SCORES or (count <= _FEW_SCORES and not gap > _SMALL_GAP * abs(primal.value)):
        return None
    errors = _errors(problem, primal, bound, fine=False)
    return errors if gap > NEAR_FLOOR * (errors.primal + errors.dual) else None


def _errors(problem: Problem, primal: Primal, bound: Bound, *, fine: bool) -> Errors:
    risk = risk_error(problem, primal, fine=fine) if math.isfinite(primal.value) else 0.0
    if not math.isfinite(bound.value):
        return errors_of_terms(problem, primal, bound, risk, Spread(), 0.0)
    known = None if bound.size is None else (np.array([bound.size]), None)
    distance, parts = bound.distance, bound.decomposed
    spread = adjoint_spread(problem, bound.theta, fine=fine, distance=distance, decomposed=parts, known=known)
    form = bound.decomposed or problem.risk.closed_form()
    if bound.size is not None:
        assert not fine
        conjugate = problem.mean_risk.rough_conjugate_error(bound.size, bound.conjugate)
    else:
        conjugate = 0.0 if form is None else form.conjugate_error(bound.theta, bound.conjugate, fine=fine)
    same = fine and not bound.distance and bound.decomposed is None
    return errors_of_terms(problem, primal, bound, risk, spread, conjugate, fine=same)


def errors_of_terms(
    problem: Problem,
    primal: Primal,
    bound: Bound,
    of_scores: float,
    spread: Spread,
    of_conjugate: float,
    *,
    fine: bool = False,
) -> Errors:
    """The bounds from those that are sums over the examples: ``risk_error``, that of v, and ``conjugate_error``."""
    penalty = risk = 0.0
    if math.isfinite(primal.value):
        weights, size = primal.model.weights, abs(primal.penalty)
        error = problem.regularizer.value_error(weights, primal.penalty) + _FACTORS * UNIT * size
        penalty = problem.lam * (error + UNDERFLOW * np.size(weights)) + UNDERFLOW
        at_zero = problem.risk.value_at_zero
        # an infimum that is not attained is approached to a few roundings of R(0) only
        unattained = abs(at_zero) if math.isfinite(at_zero) else 0.0
        risk = of_scores + 2.0 * UNIT * (abs(primal.value) + unattained)
        risk += UNDERFLOW * math.prod(problem.theta_shape)
    if not math.isfinite(bound.value):
        return Errors(_upwards(penalty), _upwards(risk), 0.0, 0.0, 0.0, Spread())
    regularizer, conjugate = _dual_errors(problem, bound, spread, of_conjugate)
    charge = 0.0
    if problem.regularizer.free_directions() is not None:
        charge = max(0.0, min(bound.charge, free_rounding(problem, bound.theta, bound.value)))
    elif math.isfinite(problem.regularizer.largest_scale(bound.v)):
        # theta was scaled down by the error of v, and D falls by theta . s, about lam Omega(w), for each unit of scale
        charge = 2.0 * problem.lam * abs(primal.penalty) * (spread.largest + 32.0 * UNIT)
    return Errors(
        _upwards(penalty), _upwards(risk), _upwards(regularizer), _upwards(conjugate), _upwards(charge), spread, fine
    )


def _upwards(bound: float) -> float:
    """A bound that includes its own rounding; infinite where its terms overflow to NaN."""
    return math.inf if math.isnan(bound) else _UPWARDS * bound


def risk_error(problem: Problem, primal: Primal, *, fine: bool) -> float:
    """A bound on the error of R(s): that of the scores times the subgradients, and that of the evaluation."""
    rough = math.inf if fine else rough_risk_error(problem, primal)
    if math.isfinite(rough):
        return rough
    risk, model, scores = problem.risk, primal.model, scores_at(problem, primal)
    total = sum(map(tree_sum, risk_error_terms(problem, model, scores)))
    largest = float(np.abs(scores).max() + np.abs(np.asarray(model.intercept)).max())
    return total + gamma(risk.roundings) * abs(primal.risk) + risk.cancellation_error(largest)


def rough_risk_error(problem: Problem, primal: Primal) -> float:
    """``risk_error`` without the scores, from the largest row; infinite if subgradients have no bound."""
    risk, design, model = problem.risk, problem.design, primal.model
    intercept = np.abs(np.asarray(model.intercept))
    largest = float((design.largest_row_norm * output_norms(model.weights) + intercept).max())
    relative = problem.regularizer.weights_error(model.weights) + (UNIT if problem.intercept else 0.0)
    error = (gamma(design.most_score_roundings) + relative) * largest
    error += gamma(risk.score_roundings) * (largest + risk.largest_label) + _lost(problem)
    slopes = risk.subgradient_norm_bound_near(primal.risk, error)
    if not math.isfinite(slopes):
        return math.inf
    return slopes * error + gamma(risk.roundings) * abs(primal.risk) + risk.cancellation_error(largest)


def _lost(problem: Problem) -> float:
    """What underflow adds to a score: each of its products may underflow."""
    return UNIT * SMALLEST_SIZE * (problem.design.shape[1] + 1.0)


def risk_error_terms(problem: Problem, model: Model, scores: Array) -> Iterator[Floats]:
    """For blocks of rows, the errors of their scores times bounds on the subgradients near them."""
    risk, design, intercept = problem.risk, problem.design, np.abs(np.asarray(model.intercept))
    own, added, lost = gamma(risk.score_roundings), UNIT if problem.intercept else 0.0, _lost(problem)
    rounded = UNIT * np.asarray(design.score_roundings, dtype=np.float64)
    rounded = rounded / (1.0 - rounded) + problem.regularizer.weights_error(model.weights)
    for rows, part in risk.parts():
        # one number for all rows, or one for each
        noise = rounded[rows] if rounded.ndim else rounded
        noise = noise[:, None] if rounded.ndim and risk.outputs is not None else noise
        # gamma_m times |x_i| |w|, the addition of b, and the own roundings of the risk
        sizes = np.abs(scores[rows])
        noise = noise * design.score_magnitudes(model.weights, rows) + added * sizes + lost
        noise += own * (sizes + intercept + part.label_sizes())
        yield part.subgradient_bounds(scores[rows], noise) * noise


def adjoint_spread(
    problem: Problem,
    theta: Array,
    *,
    fine: bool,
    moved: float = 0.0,
    distance: float = 0.0,
    decomposed: DecomposedForm | None = None,
    known: tuple[Floats, Floats | None] | None = None,
) -> Spread:
    """Bounds on the error of v, apart from relative errors of its components.

    ``moved`` are relative errors of each theta_i in units of u; ``distance`` is as in ``Bound``.  ``known`` are the
    ``absolute_sums`` of theta, and those with the magnitudes of the rows if ``fine``, where they are known.
    """
    design, lam, away = problem.design, problem.lam, problem.risk.dual_roundings
    # an entry at a label stands for the sum of the others
    roundings = design.adjoint_roundings + moved + (problem.risk.outputs or 0)
    entry, longest, lengths = _features(design, fine=fine)
    # every product of a component, the quotient by lam, and what moves theta may underflow
    lost = UNDERFLOW * len(theta) * ((1.0 + entry) / lam + 1.0)
    least = Spread(lost, lost * (math.sqrt(math.prod(problem.weights_shape)) + longest))
    if not roundings and not away and not distance and decomposed is None:
        return least
    rounded = _UPWARDS * gamma(roundings) / lam
    with np.errstate(over="ignore"):
        sums, terms = (absolute_sums(theta), None) if known is None else known
        if terms is None and lengths is not None:
            terms = absolute_sums(theta, lengths)
    # of one output or a few, whose numbers take less time without NumPy
    sizes = sums.tolist()
    lengthy = [longest * size for size in sizes] if terms is None else terms.tolist()
    spread = Spread(rounded * entry * max(sizes), rounded * math.sqrt(sum(term * term for term in lengthy)))
    # from theta to a point of the domain
    distance += gamma(away) * sum(sizes) if decomposed is None else decomposed.domain_distance(theta)
    if distance:
        distance *= _UPWARDS / lam
        spread = Spread(spread.largest + distance * entry, spread.norm + distance * longest)
    return Spread(spread.largest + least.largest, spread.norm + least.norm)


def _features(design: Design, *, fine: bool) -> tuple[float, float, Floats | None]:
    """The largest entry, the largest norm and, if ``fine``, the norms of the rows of which X^T theta is a sum."""
    kernel = design.kernel()
    if kernel is None:
        return float(design.largest_entry), float(design.largest_row_norm), design.row_magnitudes if fine else None
    # v is given by its coefficients; its norm is that of the feature space
    lengths = _UPWARDS * np.sqrt(kernel.diagonal)
    return 1.0, float(np.max(lengths)), lengths


def _dual_errors(problem: Problem, bound: Bound, spread: Spread, conjugate: float) -> tuple[float, float]:
    """Bounds on the errors of lam Omega*(v) and of R*(-theta)."""
    error = problem.regularizer.conjugate_error(bound.v, bound.penalty, *spread)
    error += _FACTORS * UNIT * abs(bound.penalty) + UNDERFLOW * np.size(bound.v)
    regularizer = problem.lam * error + UNDERFLOW
    # the three terms of D are added with two roundings
    underflow = UNDERFLOW * math.prod(problem.theta_shape)
    return regularizer, conjugate + 2.0 * UNIT * (abs(bound.value) + bound.charge) + underflow


def absolute_sums(theta: Array, lengths: Array | None = None) -> Floats:
    """The sum of |theta_i|, or of |theta_i| times a length of row i, for each output, in blocks of rows."""
    if theta.ndim == 1 and len(theta) <= MANY_SCORES:
        sizes = np.abs(theta)
        return np.array([sizes.sum() if lengths is None else lengths @ sizes], dtype=np.float64)
    step = max(1, MANY_SCORES // max(1, theta[:1].size))
    total = np.zeros(theta[:1].size)
    for begin in range(0, len(theta), step):
        block = np.abs(theta[begin : begin + step])
        # sums of one column as a matrix take several times as long
        block = block if block.ndim == 1 else block.reshape(-1, len(total))
        total += np.sum(block, axis=0) if lengths is None else lengths[begin : begin + step] @ block
    return total


def scores_at(problem: Problem, primal: Primal) -> Floats:
    """The scores of the model, computed again where they were not kept."""
    if primal.scores is not None:
        return primal.scores
    return problem.design.scores(primal.model.weights) + np.asarray(primal.model.intercept)

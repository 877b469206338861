r"""Weights that are zero, and dual variables that are on a bound, at every optimum: gap-safe screening.

Features (Ndiaye, Fercoq, Gramfort and Salmon, JMLR 18, 2017).  Let :math:`f'' \le L`, so that by the Fenchel-Young
inequality :math:`R(s) + R^*(-\theta) + \theta\cdot s \ge \tfrac1{2L}\sum_i(\theta_i + \nabla_i R(s))^2/c_i`.  At the
scores of an optimum :math:`w^*, b^*`, with its dual point :math:`\theta^* = -\nabla R(s^*)`, this and the Fenchel-Young
inequality of :math:`\Omega` give

.. math:: \tfrac1{2L}\sum_i(\theta_i - \theta^*_i)^2/c_i \;\le\; P^* - D(\theta) \;\le\; P - D,

also where :math:`\theta` is not balanced exactly: the certificate charges D with :math:`|b^*\sum\theta|`.  By the
Cauchy-Schwarz inequality a feature with

.. math:: |X^T\theta|_j + \sqrt{2L(P - D)}\,\sqrt{\textstyle\sum_i c_i x_{ij}^2} < \lambda\rho

has :math:`|X^T\theta^*|_j < \lambda\rho`, hence weight zero, with the lasso (:math:`\rho = 1`) and the elastic net.  A
free intercept makes :math:`\sum_i\theta^*_i = 0`, so that :math:`x_{ij}` may be replaced by :math:`x_{ij} - m_j` with
the mean :math:`m_j`, if :math:`|m_j\sum\theta|` is added.

Examples.  Where the conjugate of the loss is piecewise quadratic, the dual variable of an example is a function of its
residual :math:`r = y - s`: zero for :math:`|r| < \epsilon`, and on the bound h of its domain for
:math:`r > \epsilon + \kappa h`.  The scores of every optimum are in the intervals of ``OptimumBall``.

==============================  =====================================
symbol                          here
==============================  =====================================
P - D                           ``width_of(certificate)``
:math:`X^T\theta/\lambda`       ``known.v``, up to ``known.errors.spread``
:math:`\sum_i c_i x_{ij}^2`     ``squares``
:math:`m_j`                     ``means``
==============================  =====================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.certificate.certificate import Certificate
from fenchel.certificate.confinement import sketch, training_rows, width_of
from fenchel.certificate.gap import judge
from fenchel.certificate.optimum import OptimumBall
from fenchel.certificate.other_lambdas import PathCertificate
from fenchel.designs import Design
from fenchel.errors import FenchelError
from fenchel.markup import PROVED, card
from fenchel.numerics.rounding import UNIT, gamma
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import MeanRisk

#: covers a few dozen roundings of a bound by non-negative terms
_UPWARDS = 1.0 + 1e-12
#: covers the roundings of a quotient and of lam, in units of u
_FACTORS = 32.0
#: what underflow takes from the norm of a column at most
_UNDERFLOW = 2.0**-500


@dataclass(frozen=True, eq=False)
class Screened:
    """Features and examples that are proved not to matter at any optimum of a training problem.

    Parameters
    ----------
    features : ndarray of bool of shape (d,) or (k, d), or None
        Whether the weight of a feature is zero at every optimum.  None unless the penalty has a lasso part and the loss
        is a smooth one with a bounded second derivative.
    examples : ndarray of bool of shape (n,) or (n, k), or None
        Whether the dual variable of an example is zero at every optimum, no support vector.  None unless the loss is
        a hinge or has bounded slopes or a tube, and is piecewise quadratic, and the penalty strongly convex.
    at_bound : ndarray of bool of shape (n,) or (n, k), or None
        Whether the dual variable of an example is on the bound of its domain that is not zero at every optimum: an
        example that every optimum counts with the same slope.
    certificate : Certificate
        The certificate that the proofs rest on; the sum if there are several problems.

    See Also
    --------
    LinearClassifier.screened : Returns one.
    CertifiedPredictions : Predictions that every optimum makes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fenchel import LinearClassifier, Screened
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifier("hinge", tol=1e-6, random_state=0).fit(scale(X), y)
    >>> found = model.screened(scale(X), y)
    >>> isinstance(found, Screened), found.features is None, bool(found.examples.mean() > 0.5)
    (True, True, True)
    """

    features: Array | None
    examples: Array | None
    at_bound: Array | None
    certificate: Certificate

    def _repr_html_(self) -> str:
        return card(PROVED, [str(self)])

    def __str__(self) -> str:
        parts = []
        if self.features is not None:
            parts.append(f"{np.sum(self.features):,} of {self.features.size:,} weights are zero")
        if self.examples is not None and self.at_bound is not None:
            share = f"{np.sum(self.examples):,} of {self.examples.size:,} dual variables are zero and "
            parts.append(f"{share}{np.sum(self.at_bound):,} on the other bound")
        proved = " and ".join(parts) if parts else "nothing about single features or examples"
        return f"Proved of every optimum: {proved}; the relative gap is {self.certificate.relative_gap:.2g}."


def screened(problem: Problem, model: Model, witness: Witness) -> Screened:
    """Prove which weights are zero, and which dual variables are on a bound, at every optimum of a problem.

    Parameters
    ----------
    problem : Problem
        The training problem.
    model : Model
        A model.
    witness : Witness
        A dual point, such as ``Solution.witness``.

    Returns
    -------
    Screened
        Masks of features and examples, None where the penalty or the loss allows no proof.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.certificate import screened
    >>> from fenchel.regularizers import L1
    >>> from fenchel.risks import MeanRisk
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> problem = Problem(X, MeanRisk("squared", X[:, 0]), 0.3, L1())
    >>> solution = solve(problem, tol=1e-9)
    >>> screened(problem, solution.model, solution.witness).features
    array([False,  True,  True,  True])
    """
    certificate, model, witness, known = judge(problem, model, witness)
    features = None
    if problem.design.has_columns and _threshold(problem) > 0.0:
        shares, design = problem.mean_risk.shares, problem.design
        means = design.adjoint(shares) if problem.intercept else None
        features = zero_weights(problem, certificate, known, design.column_squares(shares), means)
    examples = at_bound = None
    mean = problem.risk.separable()
    linear = problem.design.kernel() is None
    if linear and mean is not None and _has_flat_parts(mean):
        # without a ball, as with the lasso alone, nothing is proved
        with suppress(FenchelError):
            rows = training_rows(problem)
            ball = sketch(problem, rows, certificate, model, witness, known.v, errors=known.errors).ball()
            examples, at_bound = _fixed_examples(mean, ball, problem.design)
    return Screened(features, examples, at_bound, certificate)


def joined(parts: Sequence[Screened]) -> Screened:
    """What is proved of several problems of the same data: features as rows, examples as columns."""
    if len(parts) == 1:
        return parts[0]

    def side_by_side(masks: Sequence[Array | None], axis: int) -> Array | None:
        known = [mask for mask in masks if mask is not None]
        return np.stack(known, axis=axis) if len(known) == len(masks) else None

    return Screened(
        side_by_side([part.features for part in parts], 0),
        side_by_side([part.examples for part in parts], 1),
        side_by_side([part.at_bound for part in parts], 1),
        reduce(add, (part.certificate for part in parts)),
    )


def squares_of_columns(problem: Problem) -> Floats | None:
    """The ``squares`` for ``zero_weights`` that a solver has computed; None where there are none, or no proof."""
    return problem.design.known_column_squares(problem.mean_risk.shares) if _threshold(problem) > 0.0 else None


def zero_weights(
    problem: Problem, certificate: Certificate, known: PathCertificate, squares: Floats, means: Floats | None = None
) -> Array | None:
    """Whether the weight of each feature is proved to be zero, of the shape of the weights; None without a proof.

    ``known.v`` must not be compressed.  ``means`` are X^T c, which makes the bound sharper if there is an intercept.
    """
    assert not known.compressed
    curvature, design = problem.mean_risk.loss.largest_curvature, problem.design
    try:
        radius = math.sqrt(2.0 * curvature * width_of(certificate)) / problem.lam
    except FenchelError:
        # the objective is infinite, say
        return None
    # sums of non-negative terms in any order
    relative = gamma(2.0 * design.shape[0] + 64.0)
    # repeated entries of a sparse row are added first
    entry_error = gamma(design.most_score_roundings) * design.largest_row_norm
    unbalanced: Array | float = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        if means is not None:
            # |fl(m_j)| is off by at most ``mean_error``
            mean_error = gamma(design.adjoint_roundings + 64.0) * design.largest_row_norm
            off = np.abs(means) + mean_error
            squares = np.maximum(squares - means**2, 0.0) + relative * squares + 3.0 * mean_error * off
            unbalanced = _UPWARDS / problem.lam * off * _column(known.unbalanced, known.v)
        norms = _UPWARDS * np.sqrt((1.0 + 2.0 * relative) * squares) + entry_error + _UNDERFLOW
        sizes = (1.0 + _FACTORS * UNIT) * np.abs(known.v) + known.errors.spread.largest + unbalanced
        return np.asarray(_UPWARDS * (sizes + _UPWARDS * radius * norms) < _threshold(problem))


def _threshold(problem: Problem) -> float:
    """The rho below which |v_j| proves a weight of zero; 0 where no sphere contains the dual optimum."""
    mean, ratio = problem.risk.separable(), problem.regularizer.l1_ratio
    if mean is None or ratio is None or not math.isfinite(mean.loss.largest_curvature):
        return 0.0
    return ratio


def _has_flat_parts(risk: MeanRisk) -> bool:
    """Whether the conjugate of the loss is piecewise quadratic with a bound or a tube: not for the squared loss."""
    form, (low, high) = risk.loss.piecewise_quadratic(), risk.loss.domain(risk.labels)
    return form is not None and (form.epsilon > 0.0 or bool(np.isfinite(low).any() or np.isfinite(high).any()))


def _fixed_examples(risk: MeanRisk, ball: OptimumBall, design: Design) -> tuple[Array, Array]:
    """Whether each dual variable is zero, or on a bound that is not zero, for all scores in the intervals."""
    form = risk.loss.piecewise_quadratic()
    assert form is not None
    labels, shares = risk.labels, _column(risk.shares, risk.labels)
    lower, upper = (np.reshape(end, labels.shape) for end in ball.score_intervals(design))
    lowest_slope, highest_slope = risk.loss.domain(labels)
    # alpha is minus a slope
    low, high = -highest_slope, -lowest_slope
    with np.errstate(invalid="ignore"):
        rounding = _FACTORS * UNIT
        below = labels - upper - rounding * (np.abs(labels) + np.abs(upper))
        above = labels - lower + rounding * (np.abs(labels) + np.abs(lower))
        tube = form.epsilon
        zero = ((above < tube) | (high == 0.0)) & ((below > -tube) | (low == 0.0))
        top = (high > 0.0) & (below > (1.0 + rounding) * (tube + form.kappa * high))
        bottom = (low < 0.0) & (above < -(1.0 + rounding) * (tube - form.kappa * low))
    # an example of weight zero has no dual variable
    return zero | (shares == 0.0), (top | bottom) & (shares > 0.0)


def _column(values: Array, like: Array) -> Array:
    """Values of the rows, to be broadcast over the columns of an array."""
    return values if like.ndim == 1 else values[:, None]

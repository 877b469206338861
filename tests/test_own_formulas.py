"""check_loss, check_regularizer and check_risk: they pass what is right, and show where a formula is wrong."""

from dataclasses import dataclass

import numpy as np
import pytest

from catalog import loss_id, regularizer_id
from fenchel import FenchelError
from fenchel.losses import NAMED, EpsilonInsensitive, Hinge, Huber, Logistic, Quantile, Squared, check_loss
from fenchel.regularizers import L2, REGULARIZERS, ElasticNet, Entropy, QNorm, QuadraticForm, check_regularizer
from fenchel.risks import (
    MULTICLASS,
    RANKINGS,
    MeanRisk,
    MultilabelHinge,
    OrdinalHinge,
    RocAUC,
    check_risk,
)
from measure_cases import every_risk

LOSSES = [*(loss() for loss in NAMED.values()), Hinge(power=1.5), Quantile(0.1), EpsilonInsensitive(0.5, power=1.5)]
REGULARIZER_OBJECTS = [
    *(kind() for kind in REGULARIZERS.values()),
    ElasticNet(0.9),
    QNorm(1.2),
    QNorm(3.0),
    Entropy(2.0),
]
SIGNS = np.array([1, -1, 1, -1, -1, 1, -1])
GRADES, QUERIES = np.array([0, 1, 2, 1, 0, 2, 2]), np.array([0, 0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize("loss", LOSSES, ids=loss_id)
def test_losses_of_the_package_pass(loss):
    check_loss(loss)


@pytest.mark.parametrize("regularizer", REGULARIZER_OBJECTS, ids=regularizer_id)
@pytest.mark.parametrize("features", [1, 4])
def test_regularizers_of_the_package_pass(regularizer, features):
    check_regularizer(regularizer, features)


def test_quadratic_forms_pass():
    check_regularizer(QuadraticForm(np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]])))


def test_risks_of_the_package_pass():
    for loss in ("hinge", "logistic", "squared", "exponential"):
        check_risk(MeanRisk(loss, SIGNS, np.arange(1.0, 8.0)))
    for _, _, risk in every_risk(SIGNS.astype(float)):
        check_risk(risk)
    for joint in MULTICLASS.values():
        check_risk(joint(GRADES, 3))
    for ranking in RANKINGS.values():
        check_risk(ranking(GRADES, QUERIES))
    check_risk(OrdinalHinge(GRADES))
    check_risk(MultilabelHinge(np.random.default_rng(1).integers(0, 2, (6, 3))))


@dataclass(frozen=True)
class HalfConjugate(Huber):
    name = "half_conjugate"

    def conjugate(self, u, label):
        return 0.5 * super().conjugate(u, label)


@dataclass(frozen=True)
class LargeConjugate(Logistic):
    name = "large_conjugate"

    def conjugate(self, u, label):
        return super().conjugate(u, label) + 0.1


@dataclass(frozen=True)
class OtherSign(Squared):
    name = "other_sign"

    def derivative(self, score, label):
        return label - score


@dataclass(frozen=True)
class NarrowDomain(Huber):
    name = "narrow_domain"

    def domain(self, label):
        return 0.5 * super().domain(label)[0], 0.5 * super().domain(label)[1]


@dataclass(frozen=True)
class NotConvex(Squared):
    name = "not_convex"

    def value(self, score, label):
        return np.minimum(super().value(score, label), 1.0)


@dataclass(frozen=True)
class OtherLoop(Huber):
    name = "other_loop"

    def compiled(self):
        return Huber(2.0 * self.width).compiled()


@dataclass(frozen=True)
class OneNumber(Squared):
    name = "one_number"

    def value(self, score, label):
        return float(np.sum(super().value(score, label)))


@dataclass(frozen=True)
class NotANumber(Logistic):
    name = "not_a_number"

    def value(self, score, label):
        return np.log(score)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (HalfConjugate(), r"HalfConjugate: conjugate\(u=.*\) = .* is too small: .* prove too much"),
        (LargeConjugate(), r"LargeConjugate: conjugate\(u=.* is too large: .* prove too little"),
        (OtherSign(), r"OtherSign: derivative\(s=.*, y=.*is not a subgradient"),
        (NarrowDomain(), r"NarrowDomain: domain\(y=.* must hold every slope"),
        (NotConvex(), "NotConvex: .*not convex"),
        (OtherLoop(), r"OtherLoop: dual_step of compiled\(\) returns alpha"),
        (OneNumber(), "OneNumber: value of arrays must return an array of their shape"),
        (NotANumber(), "NotANumber: value is NaN at s="),
        (Huber, "pass an instance of your class"),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_wrong_losses_are_shown(loss, words):
    with pytest.raises(FenchelError, match=words):
        check_loss(loss)


class Changed(L2):
    """Ridge with one method that differs, as its subclasses say."""


class RidgeTwice(Changed):
    def conjugate(self, v, scale=1.0):
        return 0.5 * super().conjugate(v, scale)


class RidgeLarge(Changed):
    def conjugate(self, v, scale=1.0):
        return 2.0 * super().conjugate(v, scale)


class RidgeGradient(Changed):
    def gradient(self, weights):
        return 2.0 * super().gradient(weights)


class RidgeWeights(Changed):
    def grad_conjugate(self, v):
        return 0.5 * super().grad_conjugate(v)


class RidgeStrong(Changed):
    strong_convexity = 1.5


class RidgeRadius(Changed):
    def radius(self, level):
        return 0.9 * super().radius(level)


class RidgeScale(Changed):
    def conjugate(self, v, scale=1.0):
        return super().conjugate(v)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (RidgeTwice, "RidgeTwice: conjugate.* is too small"),
        (RidgeLarge, "RidgeLarge: .*conjugate is too large"),
        (RidgeGradient, "RidgeGradient: .*the gradient is wrong"),
        (RidgeWeights, "RidgeWeights: .*grad_conjugate is wrong"),
        (RidgeStrong, "RidgeStrong: .*strong_convexity is too large"),
        (RidgeRadius, "RidgeRadius: radius"),
        (RidgeScale, r"RidgeScale: conjugate\(v, scale=0.5\) differs"),
    ],
)
def test_wrong_regularizers_are_shown(kind, words):
    with pytest.raises(FenchelError, match=words):
        check_regularizer(kind())


class SmallConjugate(RocAUC):
    def conjugate(self, theta, *, feasible=False):
        return super().conjugate(theta, feasible=feasible) - 0.1


class TooLargeConjugate(RocAUC):
    def conjugate(self, theta, *, feasible=False):
        return super().conjugate(theta, feasible=feasible) + 0.1


class DoubledSubgradient(RocAUC):
    def subgradient(self, scores):
        return 2.0 * super().subgradient(scores)


class TightSmoothing(RocAUC):
    @property
    def smoothing_range(self):
        return 0.1 * super().smoothing_range


class ShiftedIntercept(MeanRisk):
    def best_intercept(self, scores):
        return super().best_intercept(scores) + 0.5


@pytest.mark.parametrize(
    ("risk", "words"),
    [
        (SmallConjugate(SIGNS), "is too small: .*prove too much"),
        (TooLargeConjugate(SIGNS), "is too large: .*prove too little"),
        (DoubledSubgradient(SIGNS), "subgradient is not a subgradient"),
        (TightSmoothing(SIGNS), "at least R - mu D"),
        (ShiftedIntercept("squared", SIGNS), "best_intercept is"),
        (RocAUC, "pass an instance of your class"),
    ],
)
def test_wrong_risks_are_shown(risk, words):
    with pytest.raises(FenchelError, match=words):
        check_risk(risk)

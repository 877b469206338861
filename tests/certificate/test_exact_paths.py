"""A certificate of another lam holds in exact arithmetic: P <= upper, and lower <= D less the charge for sum theta."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import exact_losses
from exact_cases import REGULARIZERS, SCALES, STORAGES, Case, exact_dual, exact_primal, pairs_of, random_case
from exact_losses import DIGITS, EVERY_LOSS, digits
from fenchel import Model, Problem, Witness
from fenchel.certificate import judge, judge_moved
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import UNIT
from fenchel.regularizers import L1
from fenchel.risks import MeanRisk
from fenchel.solvers.base import Start
from fenchel.solvers.warm_start import first_dual
from slow_optimum import exact_optimum, optimal_intercepts, random_problem

#: ratios of two lam, some of them a few roundings from one
RATIOS = [1.0, 1 - 2.0**-52, 1 + 2.0**-52, 1 - 1e-14, 0.999, 1.1, 0.5, 2.0, 1 / 3, 3.0, 1e-3, 1e3]


def check(case, certificate, model, theta, scale, lam):
    """Both bounds for c as stored; ``scale`` is the multiple of theta that the certificate uses."""
    shares, lam = case.readings[0][0], Decimal(lam)
    with digits(DIGITS):
        upper = Decimal(certificate.primal) + Decimal(certificate.primal_error)
        lower = Decimal(certificate.dual) - Decimal(certificate.dual_error)
        if case.problem.risk.loss.constraint is None and np.isfinite(certificate.primal):
            exact = exact_primal(case, model, shares, lam)
            assert exact <= upper, f"P {exact:.20} > {upper:.20}"
        if np.isfinite(certificate.dual) and np.isfinite(certificate.dual_error):
            exact = exact_dual(case, theta, shares, lam, scale)
            assert lower <= exact, f"D {exact:.20} < {lower:.20}"


def judged(case, model, theta):
    """A verdict, or None where the objective overflows."""
    try:
        return judge(case.problem, model, Witness(theta))
    except FenchelError as error:
        assert "overflow" in str(error) or "infinite at these weights" in str(error)
        return None


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=repr)
@pytest.mark.parametrize("name", REGULARIZERS)
@pytest.mark.meetings(1)
def test_every_other_lam(loss, name, portion):
    rng = np.random.default_rng([21, EVERY_LOSS.index(loss), list(REGULARIZERS).index(name)])
    ways = list(itertools.product(STORAGES, SCALES, [False, True], [False, True]))
    for way in rng.permutation(len(ways))[: portion(2)]:
        try:
            case = random_case(rng, loss, REGULARIZERS[name], *ways[way])
        except FenchelError:
            # X of float32 overflows, or the loss has no intercept
            continue
        for verdict in filter(None, (judged(case, *pair) for pair in pairs_of(case, rng))):
            ratio = float(rng.choice(RATIOS))
            lam = case.problem.lam * ratio
            for known in (verdict.path_certificate, verdict.path_certificate.compress()):
                certificate, scale = known.moved(lam)
                check(case, certificate, verdict.model, verdict.witness.theta, Decimal(scale), lam)


@pytest.mark.parametrize("name", REGULARIZERS)
def test_from_one_lam_to_the_next(name):
    """Errors add up along a path of warm starts that are good enough."""
    for seed, loss in enumerate(["hinge", "logistic", "squared", "huber", "poisson"]):
        rng = np.random.default_rng([22, seed])
        case = random_case(rng, exact_losses.NAMED[loss](), REGULARIZERS[name], "dense", (1.0, 10.0), False, False)
        for first in itertools.islice(filter(None, (judged(case, *pair) for pair in pairs_of(case, rng))), 2):
            verdict, lam, total = first, case.problem.lam, Decimal(1)
            for ratio in rng.choice([1 / 3, 0.9, 1.1, 3.0], size=6):
                lam *= float(ratio)
                scale = verdict.path_certificate.moved(lam)[1]
                verdict = judge_moved(
                    replace(case.problem, lam=lam), verdict.model, verdict.witness, verdict.path_certificate
                )
                with digits(DIGITS):
                    total *= Decimal(scale)
                check(case, verdict.certificate, first.model, first.witness.theta, total, lam)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic"])
def test_the_lasso_near_the_end_of_its_domain(loss, offset):
    """A theta that is feasible at lam is not at a lam that is smaller by a few roundings."""
    for seed in range(8):
        rng = np.random.default_rng([23, seed])
        case = random_case(rng, exact_losses.NAMED[loss](), L1(), "dense", (1.0, offset), False, False)
        for verdict in (judged(case, *pair) for pair in pairs_of(case, rng)):
            known = verdict.path_certificate
            end = float(np.max(np.abs(known.v)))
            for ratio in (*(1 - k * 2.0**-53 for k in (0, 16, 28, 32)), end * (1 - 2.0**-52), end * (1 + 2.0**-52)):
                if ratio > 0.0:
                    lam = case.problem.lam * ratio
                    certificate, scale = known.moved(lam)
                    check(case, certificate, verdict.model, verdict.witness.theta, Decimal(scale), lam)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("loss", ["hinge", "huber", "logistic", "squared"])
def test_the_v_of_a_multiple_of_theta_is_within_its_error(loss, intercept):
    """The certificate scales v with theta instead of another product with X, and maps the multiple into the domain."""
    scaled = 0
    for seed in range(12):
        rng = np.random.default_rng([26, seed])
        offset = (0.0, 1.0, 1e6)[seed % 3]
        case = random_case(rng, exact_losses.NAMED[loss](), L1(), "dense", (1.0, offset), intercept, seed % 2 == 1)
        for verdict in filter(None, (judged(case, *pair) for pair in pairs_of(case, rng))):
            known, theta = verdict.path_certificate, [Decimal(float(entry)) for entry in verdict.witness.theta]
            with digits(DIGITS):
                columns = zip(*case.rows, strict=True)
                exact = [sum(t * x for t, x in zip(theta, column, strict=True)) for column in columns]
                for v, total in zip(known.v, exact, strict=True):
                    true = total / Decimal(case.problem.lam)
                    allowed = Decimal(known.errors.spread.largest) + 8 * Decimal(UNIT) * abs(Decimal(float(v)))
                    assert abs(Decimal(float(v)) - true) <= allowed
                    assert abs(true) <= 1
            scaled += 0.9 < float(np.max(np.abs(known.v))) < 1.0
    assert scaled > 5


@pytest.fixture
def left_unbalanced(monkeypatch):
    """Theta stays as it is, so that all of its sum is charged."""

    def balance(self, theta, *, overwrite=False):
        return theta, np.array([math.nextafter(abs(math.fsum(theta)), math.inf)])

    monkeypatch.setattr(MeanRisk, "balance", balance)


def check_charge(problem, certificate, theta, scale, lam, intercepts):
    """No model is below D(theta) - b sum theta for any optimal intercept b, and so must the lower bound be."""
    rows = [[Decimal(float(entry)) for entry in row] for row in problem.design.rows().values]
    case = Case(problem, rows, [Decimal(float(label)) for label in problem.risk.labels], [])
    shares = [Decimal(float(share)) for share in problem.risk.shares]
    with digits(DIGITS):
        lower = Decimal(certificate.dual) - Decimal(certificate.dual_error)
        dual = exact_dual(case, theta, shares, Decimal(lam), Decimal(scale))
        left = Decimal(scale) * abs(sum(Decimal(float(entry)) for entry in theta))
        for b in intercepts:
            assert lower <= dual - left * abs(Decimal(b.numerator) / Decimal(b.denominator))


@pytest.mark.meetings(1)
@pytest.mark.usefixtures("left_unbalanced")
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared", "absolute", "huber"])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_the_charge_for_an_unbalanced_theta_covers_every_optimal_intercept(loss, offset, portion):
    tried = 0
    for seed in range(portion(12, 3)):
        X, y, _, lam = random_problem(seed, loss, offset)
        problem, rng = Problem(X, MeanRisk(loss, y), lam, intercept=True), np.random.default_rng([24, seed])
        shares = problem.risk.shares
        optima = {ratio: exact_optimum(loss, X, y, shares, lam * ratio, True) for ratio in (1.0, 0.5, 2.0)}
        if optima[1.0] is None:
            continue
        weights, b = optima[1.0]
        scores = X @ np.array(weights, dtype=float) + float(b)
        for noise in (1e-12, 1e-6, 1e-2, 1.0):
            model = Model(np.array(weights, dtype=float) * (1 + noise * rng.normal(size=len(weights))), float(b))
            theta = -problem.risk.subgradient(scores) + noise * shares * rng.normal(size=len(y))
            verdict = judge(problem, model, Witness(theta))
            for ratio, optimum in optima.items():
                if optimum is not None:
                    tried += 1
                    certificate, scale = verdict.path_certificate.moved(lam * ratio)
                    ends = optimal_intercepts(loss, X, y, shares, *optimum)
                    check_charge(problem, certificate, verdict.witness.theta, scale, lam * ratio, ends)
                    if ratio == 1.0:
                        check_charge(problem, verdict.certificate, verdict.witness.theta, 1.0, lam, ends)
    assert tried >= 40


@pytest.mark.usefixtures("left_unbalanced")
def test_the_charge_is_that_of_the_exact_objective():
    """The computed hinge is zero by rounding, so the computed objective is below the optimum."""
    x = 2.0**27
    X, y, lam = np.array([[x], [x + 2.0**-25], [0.0]]), np.array([-1.0, 1.0, -1.0]), 2.0**-60
    # the optimum is w = 2^26, b = -w (x_1 + x_2) / 2
    problem = Problem(X, MeanRisk("hinge", y), lam, intercept=True)
    weight = 0.75 * 2.0**26
    model = Model(np.array([weight]), -(x * weight + 1.0))
    # the last example changes the sum of theta, but not X^T theta
    theta = lam * np.array([-(2.0**51), 2.0**51, -(2.0**-5)])
    verdict = judge(problem, model, Witness(theta))
    assert verdict.certificate.primal < lam * 2.0**51
    assert np.array_equal(verdict.witness.theta, theta)
    b = -(Fraction(2) ** 26) * (Fraction(2) ** 27 + Fraction(2) ** -26)
    for certificate in (verdict.certificate, verdict.path_certificate.at(lam)):
        # D itself has no rounding errors here
        check_charge(problem, replace(certificate, dual_error=0.0), theta, 1.0, lam, [b])


@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize("features", [1, 3])
def test_a_compressed_path_certificate_is_no_vector(regularizer, features):
    """With one feature it has the shape of v, but not its sign."""
    X, y = -np.random.default_rng(24).random((6, features)), np.ones(6)
    problem = Problem(X, MeanRisk("squared", y), 0.5, regularizer)
    theta = 0.01 * np.ones(6)
    verdict = judge(problem, Model(np.zeros(features)), Witness(theta))
    short = verdict.path_certificate.compress()
    assert short.compress() is short
    assert short.compressed == (short.v is not verdict.path_certificate.v)
    assert not verdict.path_certificate.compressed
    used = verdict.witness.theta
    for known in (verdict.path_certificate, short):
        theta, v, _ = first_dual(problem, Start(verdict.model, verdict.witness, known))
        np.testing.assert_allclose(v, X.T @ theta / problem.lam, rtol=1e-12)
        np.testing.assert_allclose(theta, used, rtol=1e-12)
        # the next point of a path keeps the flag
        moved = judge_moved(replace(problem, lam=0.6), verdict.model, verdict.witness, known)
        assert moved.path_certificate.compressed == known.compressed

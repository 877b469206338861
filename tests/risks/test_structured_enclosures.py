"""Rankings, ordered classes and chains in ball arithmetic: P and D against 80 digits, by pairs and labellings."""

import dataclasses
from decimal import Decimal

import numpy as np
import pytest

import slow_ordinal
import slow_ranking
from campaign import exact, structured, structured_exact
from campaign.cases import Case
from campaign.exact import model_numbers
from exact_losses import DIGITS, digits
from fenchel import Model, Problem, Witness, certify, solve
from fenchel.certificate import judge
from fenchel.certificate.rigorous import rigorous_certificate
from fenchel.designs import ChainDesign
from fenchel.numerics.ball_reductions import largest, log_sum_exp, prefix_sums, sums_by_place
from fenchel.numerics.balls import as_ball
from fenchel.regularizers import L1, L2
from fenchel.risks import ChainHinge, ChainLogistic, OrdinalHinge, PairwiseHinge

#: small problems, for which compiling would take longer than running
pytestmark = pytest.mark.usefixtures("plain_loops")

every_kind = pytest.mark.parametrize("kind", structured.KINDS)
N, D = 7, 2


def random_case(kind, seed, scale=1.0, regularizer=None):
    """A problem with a float lam, and the numbers that it stands for."""
    rng = np.random.default_rng([31, seed])
    X = scale * rng.normal(size=(N, D))
    rows = [[Decimal(entry) for entry in row] for row in X.tolist()]
    weighting = ("none", "zeros", "wide")[seed % 3]
    design, risk, rows, labels, more = structured.structured_data(rng, kind, X, rows, weighting)
    problem = Problem(design, risk, 0.25, L2() if regularizer is None else regularizer)
    return Case(problem, kind, rows, labels, [], Decimal(problem.lam), {}, rng, **more)


def planes(case, scale):
    """A model, and the witness of a mixture of two cutting planes."""
    problem, rng = case.problem, case.rng
    weights = [scale * rng.normal(size=problem.weights_shape) for _ in range(2)]
    parts = problem.risk.decomposable()
    scores = [problem.design.scores(one) for one in weights]
    subgradients = [problem.risk.subgradient(one) for one in scores]
    theta = -0.3 * subgradients[0] - 0.7 * subgradients[1]
    if parts is None:
        return Model(weights[0]), Witness(theta)
    every = [parts.decompose(*each) for each in zip(scores, subgradients, strict=True)]
    return Model(weights[0]), Witness(theta, None, parts.mixed(np.array([0.3, 0.7]), every))


@pytest.mark.meetings(1)
@every_kind
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_bounds_hold_in_exact_arithmetic(kind, seed, scale):
    case = random_case(kind, seed)
    verdict = judge(case.problem, *planes(case, scale))
    found = rigorous_certificate(case.problem, verdict)
    with digits(DIGITS):
        primal = exact.primal(case, *model_numbers(verdict.model))
        assert abs(Decimal(found.primal) - primal) <= Decimal(found.primal_error)
        assert found.primal_error <= 1e-15 * max(1.0, found.primal)
        # a point of floats is in the domain up to rounding only: the exact one is near it
        floats = Decimal("1e-14") if kind in ("pairwise_hinge", "ndcg") else 0
        # multiples of another point may be some roundings below 1, and are as valid
        duals = [structured_exact.dual(case, verdict.witness, 1 - j * Decimal(2) ** -53) for j in range(9)]
        assert Decimal(found.lower) <= max(dual for dual, _ in duals) + floats
        if duals[0][1] and not floats:
            assert min(abs(Decimal(found.dual) - dual) for dual, _ in duals) <= Decimal(found.dual_error)
        assert found.dual_error <= 1e-15 * max(1.0, abs(found.dual))
    assert found.lower >= verdict.certificate.lower - 1e-14 * max(1.0, abs(found.lower))


@every_kind
def test_solved_problems_are_narrower(kind):
    case = random_case(kind, 0)
    solution = solve(case.problem, tol=1e-6, max_iter=300)
    found = certify(case.problem, solution, rigorous=True)
    assert found.rigorous
    assert found.rounding_floor <= 1e-15
    assert solution.certificate.lower - 1e-14 <= found.lower <= found.upper <= solution.certificate.upper + 1e-15


@every_kind
def test_the_lasso_has_a_multiple_in_its_ball(kind):
    case = random_case(kind, 1, regularizer=L1())
    problem = dataclasses.replace(case.problem, lam=0.01)
    solution = solve(problem, tol=1e-6, max_iter=40)
    found = certify(problem, solution, rigorous=True)
    assert found.lower >= solution.certificate.lower - 1e-12


@pytest.mark.meetings(1)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("seed", range(3))
def test_flows_of_pairs_prove_no_more_than_a_linear_program(weighted, seed):
    """R* of the enclosed point of ordered classes and of queries, by all pairs and Clarabel."""
    rng = np.random.default_rng([32, seed])
    y, queries, weights = rng.integers(0, 5, 9), np.repeat([0, 1, 2], 3), rng.choice([0.5, 1.0, 3.0], 3)
    y[:2] = 0, 4
    weights = weights[queries] if weighted else None
    scores = rng.normal(size=9)
    for risk, listed in (
        (OrdinalHinge(y, weights), slow_ordinal.ordinal_pairs(y, weights)),
        (PairwiseHinge(y, queries, weights), slow_ranking.pairs(y, queries, weights)),
    ):
        subgradient = risk.subgradient(scores)
        theta, parts = -subgradient, risk.decompose(scores, subgradient)
        point = risk.enclosure().dual_point(theta, balanced=False, decomposition=parts)
        np.testing.assert_allclose(point.theta.high, theta, atol=1e-14)
        exactly = slow_ordinal.conjugate(listed, point.theta.high)
        assert exactly <= float(point.conjugate.high) + 1e-7
        assert abs(float(point.conjugate.high) - risk.decomposed_form(theta, parts).conjugate(theta)) <= 1e-13
        value = risk.enclosure().value(as_ball(scores))
        np.testing.assert_allclose(float(value.high), risk.value(scores), rtol=1e-13)


def test_a_witness_without_parts_proves_that_the_risk_is_not_negative():
    case = random_case("chain_logistic", 0)
    found = certify(
        case.problem, Model(np.zeros(case.problem.weights_shape)), np.zeros(case.problem.theta_shape), rigorous=True
    )
    assert -1e-300 <= found.lower <= 0.0


@pytest.mark.parametrize("kind", [ChainHinge, ChainLogistic])
def test_scores_that_underflow(kind):
    """Differences of scores of thousands, at which exponentials of all but one labelling are zero."""
    labels = np.array([0, 1, 1, 0])
    risk = kind(labels, [3, 1])
    problem = Problem(ChainDesign(np.array([[4e3], [-3e3], [1.0], [2e3]]), 2), risk, 1.0)
    weights = np.array([1.0, -1.0, 3e3, 0.0, -5e3, 0.0, 1e3, 0.0, 0.0, -2e3])
    scores = problem.design.scores(weights)
    found = risk.enclosure().value(as_ball(scores))
    assert abs(float(found.high) - risk.value(scores)) <= 1e-9
    assert float(found.radius) <= 1e-25
    subgradient = risk.subgradient(scores)
    point = risk.enclosure().dual_point(-subgradient, balanced=False, decomposition=risk.decompose(scores, subgradient))
    np.testing.assert_allclose(point.theta.high * float(point.factor.high), -subgradient, atol=1e-12)


def test_reductions_of_balls():
    rng = np.random.default_rng(3)
    values, places = rng.normal(size=(20, 3)), rng.integers(0, 6, 20)
    ball = as_ball(values).widened(1e-20)
    np.testing.assert_allclose(largest(ball, 1).high, np.max(values, axis=1))
    np.testing.assert_allclose(log_sum_exp(ball, 1).high, np.log(np.sum(np.exp(values), axis=1)), rtol=1e-14)
    np.testing.assert_allclose(
        sums_by_place(ball[:, 0], places, 8).high, np.bincount(places, values[:, 0], 8), atol=1e-15
    )
    np.testing.assert_allclose(prefix_sums(ball[:, 1]).high, np.cumsum(values[:, 1]), atol=1e-14)
    assert np.all(largest(ball, 0).radius >= 1e-20)


def test_a_witness_of_wide_intervals_proves_no_less_than_zero():
    """Subnormal weights of labellings: the quotients are enclosed by intervals as wide as themselves."""
    risk = ChainHinge([0, 1], lengths=[2], count=2)
    problem = Problem(ChainDesign(np.eye(2), labels=2), risk, 1.0)
    witness = Witness(np.ones(risk.examples), decomposition=np.array([2.0, 0, 0, 5e-323, 15e-323, 1, 0, 0, 1]))
    found = certify(problem, Model(np.zeros(problem.design.shape[1]), 0.0), witness, rigorous=True)
    assert -1e-300 <= found.lower <= 0.1875

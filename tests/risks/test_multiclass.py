"""Joint risks of several classes: their values, conjugates, projections and certificates, and the paper's theorems."""

import math
from dataclasses import replace

import numpy as np
import pytest

import slow_multiclass as slow
from agreement import distance_bound
from catalog import JOINT_RISKS, PLAIN_JOINT_CASES, JointCase, joint_risk
from fenchel import FenchelError, Model, Problem, Witness, solve
from fenchel.certificate import judge
from fenchel.risks import CrammerSinger, MeanRisk, WestonWatkins

every_risk = pytest.mark.parametrize("name", JOINT_RISKS)
plain_cases = pytest.mark.parametrize("case", PLAIN_JOINT_CASES, ids=str)
TIGHT = {"tol": 1e-11, "max_iter": 20_000}


def random_risk(name, rng, n=6, k=4, weighted=True):
    """A risk with its labels, shares and costs."""
    y = rng.integers(0, k, n)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    costs = rng.uniform(0.1, 2.0, (k, k)) if name == "costs" else None
    risk = joint_risk(name, y, k, weights, costs)
    np.testing.assert_allclose(
        risk.shares, np.full(n, 1 / n) if weights is None else weights / weights.sum(), rtol=1e-15
    )
    return risk, y, risk.shares, costs


def random_theta(name, rng, y, c, k, costs, inside=False):
    """A dual point, of which some entries are at their bounds; outside the domain unless asked."""
    beta = np.choose(
        rng.integers(0, 3, (len(y), k)), [np.zeros((len(y), k)), np.ones((len(y), k)), rng.random((len(y), k))]
    )
    theta = -beta * (c[:, None] if costs is None else c[:, None] * costs[y])
    if name == "crammer_singer":
        theta /= np.maximum(1.0, beta.sum(axis=1, keepdims=True))
    if not inside:
        theta *= rng.uniform(-1, 3, theta.shape)
    rows = np.arange(len(y))
    theta[rows, y] = 0.0
    theta[rows, y] = -theta.sum(axis=1)
    return theta


def assert_in_the_domain(name, theta, y, c, costs):
    """Signs, bounds and rows that add up to zero."""
    rows, (n, k) = np.arange(len(y)), theta.shape
    others = -theta.copy()
    others[rows, y] = 0.0
    assert np.all(others >= 0)
    if name == "crammer_singer":
        assert np.all(others.sum(axis=1) <= c * (1 + 1e-14))
    else:
        assert np.all(others <= c[:, None] * (np.ones((n, k)) if costs is None else costs[y]))
    np.testing.assert_allclose(theta.sum(axis=1), 0.0, atol=1e-15 * k * np.max(c))


@every_risk
def test_the_value_is_the_formula(name):
    rng = np.random.default_rng(0)
    for round in range(50):
        risk, y, c, costs = random_risk(name, rng, k=int(rng.integers(2, 7)) if name != "costs" else 4)
        scores = rng.standard_normal((len(y), risk.outputs)) * 2
        scores = np.round(scores) if round % 3 == 0 else scores
        assert risk.value(scores) == pytest.approx(float(slow.value(name, scores, y, c, costs)), rel=1e-13)
        assert risk.value(scores + rng.standard_normal((len(y), 1))) == pytest.approx(risk.value(scores), rel=1e-12)
    assert risk.value_at_zero == pytest.approx(float(slow.value(name, 0 * scores, y, c, costs)), rel=1e-14)


@every_risk
def test_the_subgradient_inequality(name):
    rng = np.random.default_rng(1)
    for round in range(200):
        risk, y, _, _ = random_risk(name, rng)
        one, other = rng.standard_normal((2, len(y), 4)) * 2
        one = np.round(one) if round % 2 else one
        slope = risk.subgradient(one)
        assert risk.value(other) >= risk.value(one) + np.sum(slope * (other - one)) - 1e-13
        assert np.sum(np.abs(slope)) <= risk.subgradient_norm_bound() * (1 + 1e-12)


@pytest.mark.meetings(1)
@every_risk
@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_conjugate_is_that_of_a_linear_program(name, k):
    rng, infinite = np.random.default_rng([2, k]), 0
    for round in range(60):
        y = np.array([int(rng.integers(k))])
        costs = rng.uniform(0.1, 2.0, (k, k)) if name == "costs" else None
        risk = joint_risk(name, y, k, None, costs)
        alpha = random_theta(name, rng, y, np.ones(1), k, costs, inside=round % 3 > 0)
        if round % 6 == 1:
            # a row that does not add up to zero
            alpha[0, rng.integers(k)] += 0.1
        expected = slow.conjugate(name, alpha[0], int(y[0]), costs)
        infinite += not math.isfinite(expected)
        assert risk.conjugate(alpha) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert 5 <= infinite <= 55


@every_risk
def test_fenchel_and_young(name):
    rng = np.random.default_rng(3)
    for _ in range(200):
        risk, y, c, costs = random_risk(name, rng)
        scores, theta = rng.standard_normal((len(y), 4)) * 2, random_theta(name, rng, y, c, 4, costs, inside=True)
        assert risk.value(scores) + risk.conjugate(theta) >= -np.sum(theta * scores) - 1e-13
        best = -risk.subgradient(scores)
        assert risk.value(scores) + risk.conjugate(best) == pytest.approx(-np.sum(best * scores), abs=1e-13)
    assert risk.conjugate(np.zeros_like(theta)) == risk.conjugate_at_zero == 0.0


@every_risk
def test_projection_is_feasible_and_keeps_what_is(name):
    rng = np.random.default_rng(4)
    for round in range(200):
        k = 4 if name == "costs" or round % 20 else 500
        risk, y, c, costs = random_risk(name, rng, k=k)
        theta = random_theta(name, rng, y, c, k, costs, inside=round % 2 == 0)
        before = theta.copy()
        projected = risk.project(theta)
        np.testing.assert_array_equal(theta, before)
        assert_in_the_domain(name, projected, y, c, costs)
        np.testing.assert_array_equal(risk.project(projected), projected)
        assert math.isfinite(risk.conjugate(projected))
        if round % 2 == 0 and name != "crammer_singer":
            others = np.arange(k) != y[:, None]
            # bounds are moved inwards by a few roundings
            np.testing.assert_allclose(projected[others], theta[others], rtol=3e-14, atol=0)
        assert np.max(np.abs(projected - theta)) <= (1e-12 if round % 2 == 0 else np.inf)


@every_risk
def test_balance_stays_in_the_domain_and_says_what_is_left(name):
    rng = np.random.default_rng(5)
    for round in range(200):
        risk, y, c, costs = random_risk(name, rng, n=12)
        theta = risk.project(random_theta(name, rng, y, c, 4, costs, inside=round % 2 == 0))
        before = theta.copy()
        balanced, left = risk.balance(theta)
        np.testing.assert_array_equal(theta, before)
        assert_in_the_domain(name, balanced, y, c, costs)
        np.testing.assert_allclose(np.abs(balanced.sum(axis=0)), left, atol=1e-15)
        assert np.sum(left) <= np.sum(np.abs(theta.sum(axis=0))) + 1e-14


@every_risk
def test_a_little_too_much_is_balanced_with_little_change(name):
    """Near an optimum all pairs of classes that meet have some mass to give."""
    rng = np.random.default_rng(6)
    for _ in range(100):
        y = np.arange(12) % 4
        costs = rng.uniform(0.5, 2.0, (4, 4)) if name == "costs" else None
        risk, c = joint_risk(name, y, 4, None, costs), np.full(12, 1 / 12)
        # symmetric masses of the pairs are balanced
        mass = rng.uniform(0.01, 0.1, (4, 4))
        theta = -c[:, None] * (mass + mass.T)[y]
        theta *= 1 + 1e-6 * rng.standard_normal(theta.shape)
        theta = risk.project(theta)
        balanced, left = risk.balance(theta)
        assert np.sum(left) <= 1e-15
        assert np.max(np.abs(balanced - theta)) <= 1e-5
        assert np.sum(np.abs(theta.sum(axis=0))) > 1e-9


@every_risk
def test_what_is_too_much_travels_through_the_classes_between(name):
    """Class 0 meets class 1 and class 1 meets class 2, as on a line, but 0 never meets 2."""
    y = np.array([0, 1, 1, 2])
    risk = joint_risk(name, y, 3, None, np.full((3, 3), 2.0) if name == "costs" else None)
    theta = np.zeros((4, 3))
    theta[0, 1], theta[1, 0], theta[2, 2], theta[3, 1] = -0.10, -0.09, -0.10, -0.09
    balanced, left = risk.balance(risk.project(theta))
    assert np.sum(left) <= 1e-15
    assert np.max(np.abs(risk.project(theta) - balanced)) <= 0.011


@every_risk
def test_the_best_intercepts_never_make_the_risk_larger(name):
    rng = np.random.default_rng(7)
    for round in range(100):
        risk, y, _, _ = random_risk(name, rng, n=int(rng.integers(1, 15)), weighted=round % 2 == 0)
        scores = rng.standard_normal((len(y), 4)) * 10.0 ** rng.uniform(-1, 1)
        scores = np.round(scores) if round % 3 == 0 else scores
        b = risk.best_intercept(scores)
        assert b.sum() == pytest.approx(0.0, abs=1e-12 * max(1.0, np.max(np.abs(b))))
        assert risk.value(scores + b) <= risk.value(scores) * (1 + 1e-13)


@every_risk
def test_the_best_intercept_of_one_class_alone_is_found(name):
    """Along a single class the steps are exact: no other value of its intercept is better at their end."""
    rng = np.random.default_rng(8)
    for _ in range(30):
        y = np.arange(20) % 3
        costs = rng.uniform(0.5, 2.0, (3, 3)) if name == "costs" else None
        risk, shift = joint_risk(name, y, 3, None, costs), np.array([4.0, 0.0, 0.0])
        scores = np.eye(3)[y] * rng.uniform(0, 3, (20, 1)) + 0.5 * rng.standard_normal((20, 3))
        found = risk.value(scores + shift + risk.best_intercept(scores + shift))
        assert found <= risk.value(scores) * (1 + 1e-12)


@every_risk
def test_intercepts_are_within_their_bound(name):
    rng = np.random.default_rng(9)
    for _ in range(300):
        n, d, k = 10, 3, 4
        y, X, W = rng.permutation(np.arange(n) % k), rng.standard_normal((n, d)), rng.standard_normal((k, d))
        weights = rng.integers(0, 3, n) + (np.arange(n) < k)
        costs = rng.uniform(0.1, 2.0, (k, k)) if name == "costs" else None
        if not np.all(np.bincount(y, weights, k) > 0):
            continue
        risk = joint_risk(name, y, k, weights, costs)
        reach = np.max(np.abs(X @ W.T), axis=1)
        b = rng.standard_normal(k) * 10.0 ** rng.uniform(-1, 3)
        bound = risk.intercept_bound(risk.value(X @ W.T + b), reach)
        assert np.all(np.ptp(b) <= bound * (1 + 1e-12))


@pytest.mark.parametrize(
    "risk", [WestonWatkins([0, 1, 1], 3), CrammerSinger([0, 1, 2], 3, weights=[1, 1, 0])], ids=["absent", "weightless"]
)
def test_a_class_without_examples_takes_part_in_no_balance(risk):
    """Nothing bounds its intercept from below, so its column has to be empty, to the last bit."""
    theta = risk.project(-np.random.default_rng(0).uniform(0.0, 0.3, (3, 3)))
    balanced, left = risk.balance(theta)
    assert np.all(balanced[:, 2] == 0.0)
    assert left[2] == 0.0


def test_pairs_that_cost_nothing_are_bounded_through_others():
    """b_2 - b_0 <= (b_2 - b_1) + (b_1 - b_0): a pair without cost does not set the intercepts free."""
    costs = np.ones((3, 3))
    costs[0, 2] = 0.0
    risk = WestonWatkins([0, 1, 2, 0, 1, 2], costs=costs)
    assert np.all(np.isfinite(risk.intercept_bound(1.0, np.ones(6))))


# the paper's theorems


def paper_maps(y, k):
    """pi, and sigma_y for each y, of Section 3."""
    pi = np.hstack([np.ones((k - 1, 1)), -np.eye(k - 1)])
    sigma = []
    for label in range(k):
        swap = np.eye(k)
        swap[[0, label]] = swap[[label, 0]]
        sigma.append(swap)
    return pi, [sigma[label] for label in y]


def test_proposition_3_2_the_two_duals_are_one():
    """Psi is a bijection of the box and F, f(Psi(beta)) = g(beta), and both are -D / lam of this library."""
    rng = np.random.default_rng(10)
    for _ in range(30):
        n, d, k, lam = 6, 3, int(rng.integers(2, 6)), 10.0 ** rng.uniform(-2, 1)
        X, y = rng.standard_normal((n, d)), rng.integers(0, k, n)
        C = 1 / (n * lam)
        pi, sigma = paper_maps(y, k)
        beta = C * np.choose(
            rng.integers(0, 3, (n, k - 1)), [np.zeros((n, k - 1)), np.ones((n, k - 1)), rng.random((n, k - 1))]
        )
        # (3), and its inverse: proj_{2:k} sigma alpha
        alpha = np.array([-sigma[i] @ pi.T @ beta[i] for i in range(n)])
        np.testing.assert_allclose([(sigma[i] @ alpha[i])[1:] for i in range(n)], beta, atol=1e-15)
        others = np.arange(k) != y[:, None]
        assert np.all((alpha[others] >= 0) & (alpha[others] <= C))
        np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-13 * C)
        gram = X @ X.T
        f = np.sum(gram * (alpha @ alpha.T)) / 2 - alpha[others].sum()
        blocks = np.array([[beta[i] @ pi @ sigma[i] @ sigma[s] @ pi.T @ beta[s] for s in range(n)] for i in range(n)])
        g = np.sum(gram * blocks) / 2 - beta.sum()
        assert g == pytest.approx(f, rel=1e-11, abs=1e-12)
        # theta = -lam alpha, and the paper's w is X^T theta / lam
        risk, theta = WestonWatkins(y, k), -lam * alpha
        problem = Problem(X, risk, lam)
        np.testing.assert_allclose(risk.project(theta), theta, atol=1e-15)
        bound = judge(problem, problem.zero_model(), Witness(theta)).certificate.dual
        assert bound == pytest.approx(max(0.0, -lam * f), rel=1e-10, abs=1e-12)
        assert float(slow.dual(X, y, lam, theta)) == pytest.approx(-lam * f, rel=1e-10, abs=1e-12)


def test_f_is_the_image_of_the_box():
    """Every alpha in F has its beta: Psi(Xi(alpha)) = alpha."""
    rng = np.random.default_rng(11)
    for k in (2, 3, 6):
        y = rng.integers(0, k, 20)
        pi, sigma = paper_maps(y, k)
        alpha = rng.random((20, k))
        alpha[np.arange(20), y] = 0.0
        alpha[np.arange(20), y] = -alpha.sum(axis=1)
        beta = [(sigma[i] @ alpha[i])[1:] for i in range(20)]
        np.testing.assert_allclose([-sigma[i] @ pi.T @ beta[i] for i in range(20)], alpha, atol=1e-14)


def test_proposition_a_29_sharks_problem_is_ours():
    """u minimizes |u|^2/2 + 4C sum hinge of half the margins if and only if u/2 minimizes |w|^2/2 + C sum hinge."""
    case = JointCase("weston_watkins")
    X, y, _, _ = case.data()
    ours = solve(case.problem(), **TIGHT)
    # half the margins are those of X / 2; A = 4C is a quarter of lam
    shark = solve(Problem(X / 2, WestonWatkins(y, case.k), case.lam / 4), **TIGHT)
    assert shark.certificate.primal == pytest.approx(ours.certificate.primal, rel=1e-10)
    np.testing.assert_allclose(shark.model.weights / 2, ours.model.weights, atol=1e-5)


@pytest.mark.parametrize("risk", [WestonWatkins, CrammerSinger])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
def test_two_classes_are_the_binary_svm_with_twice_the_c(risk, intercept, weighted):
    rng = np.random.default_rng(12)
    X = rng.standard_normal((50, 4)) + 0.5
    y = (X[:, 0] + 0.5 * rng.standard_normal(50) > 0.3).astype(int)
    weights = rng.integers(0, 4, 50) if weighted else None
    two = solve(Problem(X, risk(y, 2, weights), 0.02, intercept=intercept), **TIGHT)
    problem = Problem(X, MeanRisk("hinge", 2.0 * y - 1, weights), 0.01, intercept=intercept)
    one = solve(problem, **TIGHT)
    assert two.certificate.primal == pytest.approx(one.certificate.primal, rel=1e-10)
    apart = distance_bound(problem, one.certificate.gap + two.certificate.gap + 1e-12)
    assert np.linalg.norm(two.model.weights[1] - two.model.weights[0] - one.model.weights) <= 3 * apart
    np.testing.assert_allclose(two.model.weights.sum(axis=0), 0.0, atol=1e-12)
    if intercept:
        assert two.model.intercept.sum() == pytest.approx(0.0, abs=1e-12)


# certificates


@pytest.mark.meetings(1)
@plain_cases
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
def test_no_pair_of_model_and_witness_proves_too_much(case, weighted):
    """200 random pairs for each problem, some of them near the optimum."""
    case = replace(case, weighted=weighted)
    X, y, weights, costs = case.data()
    problem, rng = case.problem(), np.random.default_rng([13, weighted, case.intercept])
    c = problem.risk.shares
    W, b, best = slow.optimum(case.risk, X, y, case.k, c, case.lam, case.intercept, costs)
    solution = solve(problem, tol=1e-9, max_iter=20_000)
    assert solution.certificate.dual <= best + 1e-9
    for round in range(200):
        noise = 10.0 ** rng.uniform(-6, 1)
        weights = W + noise * rng.standard_normal(W.shape)
        if case.intercept:
            intercept = None if round % 3 == 0 else b + noise * rng.standard_normal(b.shape)
        else:
            intercept = np.zeros(case.k)
        theta = solution.witness.theta + noise * c[:, None] * rng.standard_normal(solution.witness.theta.shape)
        if round % 4 == 0:
            theta = random_theta(case.risk, rng, y, c, case.k, costs, inside=round % 8 == 0)
        verdict = judge(problem, Model(weights, intercept), Witness(theta))
        certificate, model = verdict.certificate, verdict.model
        primal = float(slow.primal(case.risk, X, y, c, case.lam, model.weights, model.intercept, costs))
        assert abs(certificate.primal - primal) <= certificate.rounding_floor
        assert certificate.primal >= best - 1e-9
        assert certificate.dual <= best + 1e-9
        dual = float(slow.dual(X, y, case.lam, verdict.witness.theta))
        assert certificate.dual <= dual + certificate.rounding_floor
        if not case.intercept:
            assert certificate.dual == pytest.approx(max(dual, 0.0), abs=certificate.rounding_floor)


@pytest.mark.meetings(1)
@plain_cases
def test_the_same_pair_at_another_strength(case):
    """What a verdict says of another lam is what judging there would say, at most."""
    X, y, _, costs = case.data()
    problem = case.problem()
    solution = solve(problem, tol=1e-6, max_iter=20_000)
    path_certificate = judge(problem, solution.model, solution.witness).path_certificate
    for factor in (0.5, 0.9, 1.1, 3.0):
        lam = case.lam * factor
        *_, best = slow.optimum(case.risk, X, y, case.k, problem.risk.shares, lam, case.intercept, costs)
        assert path_certificate.at(lam).dual <= best + 1e-9
        assert path_certificate.at(lam).primal >= best - 1e-9


# errors


@pytest.mark.parametrize("risk", [WestonWatkins, CrammerSinger])
@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([0, -1, 1],), "classes must be an integer from 0 to k - 1"),
        (([0.0, 1.0],), "classes must be an integer"),
        ((["a", "b"],), "encode the labels first"),
        (([True, False],), "classes must be an integer"),
        (([],), "classes must be"),
        (([[0, 1]],), "classes must be"),
        (([0, 1, 2], 2), "count must be at least 2 and more than the largest class, 2, got 2"),
        (([0, 0],), "count must be at least 2"),
        (([0, 0], 1), "count must be at least 2"),
        (([0, 1], 2, [1.0]), "weights"),
        (([0, 1], 2, [1.0, -1.0]), "weights"),
        (([0, 1], 2, [0.0, 0.0]), "weights"),
        (([0, 1], 2, [1.0, np.nan]), "weights"),
    ],
)
def test_bad_classes_and_weights(risk, arguments, match):
    with pytest.raises(FenchelError, match=match):
        risk(*arguments)


@pytest.mark.parametrize(
    "costs", [np.ones((2, 2)), np.ones(3), -np.ones((3, 3)), np.full((3, 3), np.nan), np.full((3, 3), np.inf), 1.0]
)
def test_bad_costs(costs):
    with pytest.raises(FenchelError, match=r"costs must be a \(3, 3\) array of finite numbers >= 0"):
        WestonWatkins([0, 1, 2], costs=costs)


def test_costs_are_copied_and_their_diagonal_does_not_matter():
    costs = np.full((3, 3), 7.0)
    risk = WestonWatkins([0, 1, 2], costs=costs)
    assert np.all(costs == 7.0)
    assert risk.value(np.zeros((3, 3))) == pytest.approx(14.0)


@pytest.mark.parametrize("count", [2.5, "3", None])
def test_count_is_an_integer(count):
    if count is None:
        assert WestonWatkins([0, 2]).outputs == 3
        return
    with pytest.raises(FenchelError, match="count must be"):
        WestonWatkins([0, 1], count)

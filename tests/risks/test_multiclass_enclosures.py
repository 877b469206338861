"""Joint risks of several classes in ball arithmetic: exact values, exactly feasible dual points, certificates."""

from decimal import Decimal

import numpy as np
import pytest

from exact_losses import digits, xlogx
from fenchel import Problem, certify, solve
from fenchel.numerics.balls import as_ball
from fenchel.regularizers import L2, ElasticNet
from fenchel.risks import CrammerSinger, Multinomial, WestonWatkins

#: small problems, for which compiling would take longer than running
pytestmark = pytest.mark.usefixtures("plain_loops")

CLASSES = np.array([0, 1, 2, 0, 1, 2, 2, 1, 0, 3])
WEIGHTS = np.array([1.0, 0.3, 2.0, 0.0, 1.0, 1e-3, 1.0, 1.0, 0.7, 0.1])
COSTS = np.array([[0.0, 1.0, 2.0, 0.5], [1.0, 0.0, 0.0, 1.0], [0.3, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0]])
RISKS = {
    "weston_watkins": WestonWatkins(CLASSES),
    "weighted": WestonWatkins(CLASSES, weights=WEIGHTS),
    "costs": WestonWatkins(CLASSES, costs=COSTS),
    "crammer_singer": CrammerSinger(CLASSES, weights=WEIGHTS),
    "multinomial": Multinomial(CLASSES, weights=WEIGHTS),
    "absent_class": Multinomial(CLASSES, count=6),
}
every_risk = pytest.mark.parametrize("name", RISKS)
NARROW = Decimal(10) ** -25


def exact_weights(risk):
    weights = np.ones(risk.examples) if risk._weights is None else risk._weights
    return [Decimal(float(w)) for w in weights]


def exact_value(risk, scores):
    with digits(80):
        total, weights = Decimal(0), exact_weights(risk)
        for row, y, weight in zip(scores, risk.classes.tolist(), weights, strict=True):
            s = [Decimal(x) for x in row]
            z = [Decimal(risk.margin) - s[y] + x for x in s]
            z[y] = Decimal(0)
            if risk.name == "weston_watkins":
                loss = sum(Decimal(float(a)) * max(x, Decimal(0)) for a, x in zip(risk.costs[y], z, strict=True))
            elif risk.name == "crammer_singer":
                loss = max(z)
            else:
                loss = sum(x.exp() for x in z).ln()
            total += weight * loss
        return total / sum(weights)


def exact_conjugate(risk, beta):
    """R* from rows of Decimals beta, zero at the label; infinite outside the domain."""
    total, weights = Decimal(0), exact_weights(risk)
    for row, y, weight in zip(beta, risk.classes.tolist(), weights, strict=True):
        assert min(row) >= 0
        assert row[y] == 0
        if risk.name == "weston_watkins":
            assert all(b <= Decimal(float(a)) for b, a in zip(row, risk.costs[y], strict=True))
        else:
            assert sum(row) <= 1
        rest = 1 - sum(row)
        total += weight * (sum(map(xlogx, row)) + xlogx(rest) if risk.name == "multinomial" else -sum(row))
    return total / sum(weights)


def contains(found, true):
    radius = Decimal(float(found.radius))
    return abs(Decimal(float(found.high)) + Decimal(float(found.low)) - true) <= radius <= NARROW * (1 + abs(true))


@every_risk
@pytest.mark.parametrize("scale", [0.1, 3.0, 1e3])
def test_values_lie_in_their_balls(name, scale):
    risk = RISKS[name]
    scores = scale * np.random.default_rng(1).normal(size=(risk.examples, risk.outputs))
    with digits(80):
        assert contains(risk.enclosure().value(as_ball(scores)), exact_value(risk, scores.tolist()))


@pytest.mark.meetings(1)
@every_risk
@pytest.mark.parametrize("balanced", [False, True], ids=["plain", "balanced"])
@pytest.mark.parametrize("seed", range(4))
def test_dual_points_are_feasible_in_exact_arithmetic(name, balanced, seed):
    risk, rng = RISKS[name], np.random.default_rng(seed)
    scores = 2.0 * rng.normal(size=(risk.examples, risk.outputs))
    theta = -risk.subgradient(scores) if seed % 2 else risk.project(0.1 * rng.normal(size=scores.shape))
    if balanced:
        theta, _ = risk.balance(theta)
    point = risk.enclosure().dual_point(theta, balanced=balanced)
    weights = exact_weights(risk)
    with digits(80):
        total = sum(weights)
        rows = np.arange(risk.examples)
        entries = [
            [Decimal(float(h)) + Decimal(float(lo)) for h, lo in zip(*pair, strict=True)]
            for pair in zip(point.theta.high, point.theta.low, strict=True)
        ]
        width = max(Decimal(float(r)) for r in point.theta.radius.ravel())
        assert width <= NARROW
        # within their radii, the rows add up to zero, and so do the columns
        assert max(abs(sum(row)) for row in entries) <= width * 10
        if balanced:
            assert max(abs(sum(column)) for column in zip(*entries, strict=True)) <= width * 100
        near = np.abs(point.theta.high / float(total) - theta)
        assert np.max(near) <= 1e-8
        if not balanced:
            beta = [[-e / w if w else Decimal(0) for e in row] for row, w in zip(entries, weights, strict=True)]
            for i in rows:
                beta[i][risk.classes[i]] = Decimal(0)
            assert contains(point.conjugate, exact_conjugate(risk, beta))


@pytest.mark.meetings(1)
@every_risk
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_certificates_of_solved_problems(name, intercept):
    risk, rng = RISKS[name], np.random.default_rng(5)
    X = rng.normal(size=(risk.examples, 3)) + 0.5 * CLASSES[:, None]
    if intercept and name in ("absent_class", "costs"):
        pytest.skip("the best intercepts are unbounded")
    problem = Problem(X, risk, 0.05, L2() if intercept else ElasticNet(0.2), intercept=intercept)
    solution = solve(problem, tol=1e-5, max_iter=300)
    found, ordinary = certify(problem, solution, rigorous=True), solution.certificate
    assert found.rigorous
    assert found.upper <= ordinary.upper + 1e-15
    assert found.lower >= ordinary.lower - 1e-9
    assert found.rounding_floor <= 1e-15
    assert not found.contradictory
    with digits(80):
        w = [[Decimal(x) for x in row] for row in solution.model.weights.tolist()]
        b = [Decimal(x) for x in np.ravel(solution.model.intercept).tolist()]
        penalty = sum(x * x for row in w for x in row) / 2
        if not intercept:
            ratio = Decimal(0.2)  # noqa: RUF032  the float
            penalty = (1 - ratio) * penalty + ratio * sum(abs(x) for row in w for x in row)
        scores = [
            [sum(Decimal(x) * v for x, v in zip(row, k, strict=True)) + c for k, c in zip(w, b, strict=True)]
            for row in X.tolist()
        ]
        primal = Decimal(problem.lam) * penalty + exact_value(risk, scores)
        assert primal <= Decimal(found.upper)
        assert Decimal(found.lower) <= primal

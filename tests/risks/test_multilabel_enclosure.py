"""The multilabel hinge in ball arithmetic: exact values, exactly feasible dual points, certificates."""

from fractions import Fraction

import numpy as np
import pytest

from fenchel import Problem, certify, solve
from fenchel.numerics.balls import as_ball
from fenchel.risks import MultilabelHinge

#: small problems, for which compiling would take longer than running
pytestmark = pytest.mark.usefixtures("plain_loops")

NARROW = Fraction(1, 10**27)


def exact(ball):
    return Fraction(float(ball.high)) + Fraction(float(ball.low))


def random_risk(seed, weighted):
    rng = np.random.default_rng([21, seed])
    labels = rng.integers(0, 2, (8, 4))
    labels[:3] = [[1, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]]
    weights = rng.choice([0.0, 0.3, 1.0], 8)
    weights[0] = 1.0
    return MultilabelHinge(labels, weights if weighted else None), labels, weights if weighted else np.ones(8), rng


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_values_and_dual_points(seed, weighted):
    risk, labels, weights, rng = random_risk(seed, weighted)
    scores = rng.integers(-2, 3, (8, 4)).astype(float) if seed % 2 else rng.normal(size=(8, 4))
    total, value = sum(map(Fraction, weights.tolist())), Fraction(0)
    for row, has, weight in zip(scores.tolist(), labels.tolist(), weights.tolist(), strict=True):
        pairs = [
            1 - Fraction(p) + Fraction(q)
            for p, a in zip(row, has, strict=True)
            if a
            for q, b in zip(row, has, strict=True)
            if not b
        ]
        value += Fraction(weight) * max([*pairs, Fraction(0)]) / total
    found = risk.enclosure().value(as_ball(scores))
    assert abs(exact(found) - value) <= Fraction(float(found.radius)) <= NARROW
    for theta in (-risk.subgradient(scores), risk.project(rng.normal(size=(8, 4)))):
        point = risk.enclosure().dual_point(theta, balanced=False)
        entries = [[exact(point.theta[i, k]) for k in range(4)] for i in range(8)]
        assert np.max(np.abs(point.theta.high / float(total) - theta)) <= 1e-14
        conjugate = Fraction(0)
        for row, has, weight in zip(entries, labels.tolist(), weights.tolist(), strict=True):
            assert all(x >= 0 if a else x <= 0 for x, a in zip(row, has, strict=True))
            assert abs(sum(row)) <= NARROW
            mass = sum(x for x, a in zip(row, has, strict=True) if a)
            assert mass <= Fraction(weight) + NARROW
            conjugate -= mass / total
        assert abs(exact(point.conjugate) - conjugate) <= NARROW
        assert abs(float(conjugate) - risk.conjugate(theta, feasible=True)) <= 1e-14


def test_certificates():
    risk, labels, _, rng = random_risk(0, True)
    X = rng.normal(size=(8, 3)) + labels[:, :3]
    problem = Problem(X, risk, 0.1)
    solution = solve(problem, tol=1e-5, max_iter=500)
    found = certify(problem, solution, rigorous=True)
    assert found.upper <= solution.certificate.upper + 1e-15
    assert found.lower >= solution.certificate.lower - 1e-14
    assert found.rounding_floor <= 1e-15


@pytest.mark.parametrize("seed", range(4))
def test_balanced_dual_points_are_balanced_exactly(seed):
    risk, labels, weights, rng = random_risk(seed, weighted=bool(seed % 2))
    X = rng.normal(size=(8, 3)) + labels[:, :3]
    problem = Problem(X, risk, 0.1, intercept=True)
    theta = solve(problem, tol=1e-6, max_iter=500).witness.theta
    assert np.max(np.abs(theta)) > 0.01
    point = risk.enclosure().dual_point(theta, balanced=True)
    assert np.max(np.abs(point.theta.high / weights.sum() - theta)) <= 1e-13
    for k in range(4):
        column = sum(exact(point.theta[i, k]) for i in range(8))
        assert abs(column) <= sum(Fraction(float(point.theta[i, k].radius)) for i in range(8)) <= NARROW
    for row, has, weight in zip(range(8), labels.tolist(), weights.tolist(), strict=True):
        entries = [exact(point.theta[row, k]) for k in range(4)]
        assert all(x >= 0 if a else x <= 0 for x, a in zip(entries, has, strict=True))
        assert abs(sum(entries)) <= NARROW
        assert sum(x for x, a in zip(entries, has, strict=True) if a) <= Fraction(weight) + NARROW


def test_without_room_nothing_is_claimed():
    """All masses are at their bounds and the columns do not add up to zero: only zero is balanced."""
    risk = MultilabelHinge([[1, 0], [1, 0], [0, 1]])
    theta = np.array([[1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]) / 3
    point = risk.enclosure().dual_point(theta, balanced=True)
    assert float(np.max(np.abs(point.theta.high))) == 0.0
    assert float(point.conjugate.high) == 0.0


def test_certificates_with_intercepts():
    risk, labels, _, rng = random_risk(0, True)
    problem = Problem(rng.normal(size=(8, 3)) + labels[:, :3], risk, 0.1, intercept=True)
    solution = solve(problem, tol=1e-6, max_iter=500)
    found = certify(problem, solution, rigorous=True)
    assert found.upper <= solution.certificate.upper + 1e-15
    assert found.lower >= solution.certificate.lower - 1e-14
    assert found.rounding_floor <= 1e-15
    assert found.relative_gap <= 2e-6


def test_masses_of_rounding_do_not_spoil_the_balance():
    """A label that only a mass of 7e-18 links to the others has no room for the sums of columns."""
    has = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0]], dtype=bool)
    risk = MultilabelHinge(has)
    theta = np.array([[7e-18, -0.1, 0.1 - 7e-18], [0.0, 0.1, -0.1], [0.0, 0.0, 0.0]])
    point = risk.enclosure().dual_point(theta, balanced=True)
    assert np.max(np.abs(point.theta.high / 3.0 - theta)) <= 1e-15

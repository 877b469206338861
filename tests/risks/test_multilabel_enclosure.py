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

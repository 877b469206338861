"""Measures with a conjugate in closed form in ball arithmetic: exact values, feasible dual points, certificates."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from fenchel import Problem, certify, solve
from fenchel.errors import FenchelError
from fenchel.numerics.balls import as_ball
from fenchel.risks import F1, BreakEven, ErrorRate, RecallAtK, RocAUC

#: small problems, for which compiling would take longer than running
pytestmark = pytest.mark.usefixtures("plain_loops")

#: the radius of a number of moderate size
NARROW = 1e-28


def exact(ball):
    return Fraction(float(ball.high)) + Fraction(float(ball.low))


def check(ball, true):
    assert abs(exact(ball) - true) <= Fraction(float(ball.radius)) <= Fraction(NARROW)


def random_labels(rng, n):
    labels = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    return labels


def random_scores(rng, n, ties):
    return rng.integers(-2, 3, n).astype(float) if ties else 2.0 * rng.normal(size=n)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("ties", [False, True], ids=["scores", "ties"])
def test_roc_area(seed, weighted, ties):
    rng = np.random.default_rng([1, seed])
    n = int(rng.integers(4, 12))
    labels, scores = random_labels(rng, n), random_scores(rng, n, ties)
    weights = np.concatenate([[1.0, 1.0], rng.choice([0.0, 0.3, 1.0, 2.0], n - 2)]) if weighted else np.ones(n)
    risk = RocAUC(labels, weights if weighted else None)
    shares = [Fraction(w) for w in weights.tolist()]
    sums = {label: sum(w for w, y in zip(shares, labels, strict=True) if y == label) for label in (1.0, -1.0)}
    shares = [w / sums[y] for w, y in zip(shares, labels.tolist(), strict=True)]
    s = [Fraction(x) for x in scores.tolist()]
    pairs = [(i, j) for i, j in product(range(n), repeat=2) if labels[i] > 0 > labels[j]]
    true = sum(shares[i] * shares[j] * max(0, 1 - s[i] + s[j]) for i, j in pairs)
    check(risk.enclosure().value(as_ball(scores)), true)
    for theta in (-risk.subgradient(scores), risk.project(-0.5 * risk.subgradient(scores) + 0.1 * labels / n)):
        point = risk.enclosure().dual_point(theta, balanced=False)
        assert np.max(np.abs(point.theta.high - theta)) <= 1e-9
        found = [exact(point.theta[i]) for i in range(n)]
        assert float(point.conjugate.radius) <= NARROW
        assert abs(sum(found)) <= Fraction(NARROW)
        positives, negatives = np.flatnonzero(labels > 0), np.flatnonzero(labels < 0)
        for size in range(len(positives) + 1):
            for chosen in combinations(positives, size):
                share = sum(shares[i] for i in chosen)
                cap = sum(min(-found[j], shares[j] * share) for j in negatives)
                assert sum(found[i] for i in chosen) <= cap + Fraction(NARROW)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", [BreakEven, lambda y: RecallAtK(y, k=6)], ids=["prbep", "recall_at_k"])
def test_counted_measures(seed, make):
    rng = np.random.default_rng([2, seed])
    n = 8
    labels, scores = random_labels(rng, n), random_scores(rng, n, seed % 2)
    labels[2:4] = -1.0
    risk = make(labels)
    s, positives = [Fraction(x) for x in scores.tolist()], int(np.sum(labels > 0))
    surplus, equality = risk.bound
    best = Fraction(-(10**9))
    for predicted in product([1, -1], repeat=n):
        count = predicted.count(1)
        if count == positives + surplus or (not equality and count <= positives + surplus):
            missed = sum(y > 0 > z for y, z in zip(labels.tolist(), predicted, strict=True))
            moved = sum(x * (z - int(y)) for x, y, z in zip(s, labels.tolist(), predicted, strict=True)) / 2 / n
            best = max(best, Fraction(missed, positives) + moved)
    check(risk.enclosure().value(as_ball(scores)), best)
    theta = risk.project(-0.7 * risk.subgradient(scores) + 1e-3 * labels * rng.random(n))
    point = risk.enclosure().dual_point(theta, balanced=False)
    found = [exact(point.theta[i]) for i in range(n)]
    assert np.max(np.abs(point.theta.high / n - theta)) <= 1e-12
    assert all(0 <= x * int(y) <= 1 for x, y in zip(found, labels.tolist(), strict=True))
    assert (abs(sum(found) + surplus) if equality else max(0, -surplus - sum(found))) <= Fraction(NARROW)
    check(point.conjugate, -sum(x for x, y in zip(found, labels.tolist(), strict=True) if y > 0) / positives)


@pytest.mark.parametrize("make", [RocAUC, BreakEven, lambda y: RecallAtK(y, k=20), ErrorRate])
def test_certificates_of_measures(make):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0.6, 1.0, -1.0)
    problem = Problem(X, make(y), 0.01)
    solution = solve(problem, tol=1e-6)
    found = certify(problem, solution, rigorous=True)
    assert found.upper <= solution.certificate.upper + 1e-15
    assert found.lower >= solution.certificate.lower - 1e-9
    assert found.rounding_floor <= 1e-15
    assert not found.contradictory


def test_a_measure_without_a_closed_form_is_refused():
    y = np.array([1.0, -1.0, 1.0])
    with pytest.raises(FenchelError, match="rigorous=True has no enclosures of the risk 'f1'"):
        certify(Problem(np.eye(3), F1(y), 0.1), np.zeros(3), rigorous=True)

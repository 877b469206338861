"""The entropy over labellings: moments against enumeration, the excessive gap, and the optimum of bundle."""

import itertools
import math

import numpy as np
import pytest

from fenchel import FenchelError, Problem, solve
from fenchel.risks import F1, BreakEven, CustomMeasure, MeanRisk, PrecisionAtK, QMeasure, RecallAtK
from fenchel.risks.measures.labellings import moments
from fenchel.solvers import Bregman
from fenchel.solvers.base import STALLED, Hint

HINT = Hint(None, 0.0, lambda: False)


def error_rate(y):
    return CustomMeasure(y, lambda fn, fp: (fn + fp) / len(y))


RISKS = {
    "f1": F1,
    "prbep": BreakEven,
    "error rate": lambda y: error_rate(y),
    "precision_at_k": lambda y: PrecisionAtK(y, 1),
    "recall_at_k": lambda y: RecallAtK(y, int(np.sum(y > 0)) + 1),
    "own": lambda y: CustomMeasure(y, lambda fn, fp: (fn + 2 * fp) / (len(y) + fp)),
}
every_risk = pytest.mark.parametrize("kind", RISKS.values(), ids=RISKS)


def enumerated(risk, scale, scores):
    """All labellings, one by one."""
    y, n = risk.labels, risk.examples
    thetas, deltas = [], []
    for z in itertools.product([-1.0, 1.0], repeat=n):
        flipped = np.array(z) != y
        delta = float(risk.delta(np.array(np.sum(flipped & (y > 0))), np.array(np.sum(flipped & (y < 0)))))
        if math.isfinite(delta):
            thetas.append(flipped * y / n)
            deltas.append(delta)
    thetas, deltas = np.array(thetas), np.array(deltas)
    logits = scale * deltas - thetas @ scores
    top = logits.max()
    weights = np.exp(logits - top)
    return top + math.log(weights.sum()), weights @ thetas / weights.sum(), weights @ deltas / weights.sum()


@every_risk
def test_moments_are_those_of_all_labellings(kind):
    rng = np.random.default_rng(0)
    for n, scale in itertools.product((2, 5, 10), (0.0, 1.0, 200.0)):
        y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        risk = kind(np.append(y, [1.0, -1.0])[:n]) if n > 4 else error_rate(y)
        scores = scale * rng.normal(size=n) + rng.normal(size=n)
        found, expected = moments(risk, scale, scores), enumerated(risk, scale, scores)
        assert found.log_total == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(found.theta, expected[1], atol=1e-13)
        assert found.delta == pytest.approx(expected[2], rel=1e-11, abs=1e-13)


def test_moments_of_many_examples_and_extreme_scores():
    # without Delta every example is for itself
    rng = np.random.default_rng(1)
    n = 301
    risk = error_rate(np.where(rng.random(n) < 0.5, 1.0, -1.0))
    scores = 1e4 * rng.standard_cauchy(n)
    found = moments(risk, 0.0, scores)
    weights = -risk.labels * scores / n
    probability = np.exp(np.minimum(weights, 0) - np.log1p(np.exp(-np.abs(weights))))
    np.testing.assert_allclose(found.theta, risk.labels * probability / n, rtol=1e-9, atol=1e-300)
    assert found.log_total == pytest.approx(np.sum(np.logaddexp(0, weights)), rel=1e-12)
    assert found.delta == pytest.approx(np.sum(probability) / n, rel=1e-12)


def small_problem(kind, lam=0.1, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3))
    y = np.where(X[:, 0] + rng.normal(size=12) > 0.3, 1.0, -1.0)
    y[:5] = 1.0, -1.0, 1.0, -1.0, 1.0
    return Problem(X, kind(y), lam)


@every_risk
def test_the_excessive_gap_holds_at_every_step(kind):
    problem = small_problem(kind)
    solver, risk, n = Bregman(), problem.risk, 12
    state = solver.start(problem, None)
    allowed = moments(risk, 0.0, np.zeros(n)).log_total
    for _ in range(60):
        dual = state.negative_conjugate - float(np.sum(problem.design.adjoint(state.theta) ** 2)) / (2 * problem.lam)
        scores, penalty = problem.design.scores(state.weights), 0.5 * problem.lam * float(np.sum(state.weights**2))
        # mu log of the mean of exp over the labellings that are allowed
        soft = state.mu * (moments(risk, 1 / state.mu, scores / state.mu).log_total - allowed)
        assert penalty + soft <= dual + 1e-10
        assert penalty + risk.value(scores) - dual <= state.mu * n * math.log(2) + 1e-10
        assert solver.step(state, HINT) > 0


@every_risk
def test_it_finds_the_optimum_of_bundle(kind):
    problem = small_problem(kind)
    found = solve(problem, "bregman", tol=1e-2, max_iter=4000)
    best = solve(problem, "bundle", tol=1e-8, max_iter=4000).certificate
    assert found.converged
    assert found.certificate.primal >= best.dual - 1e-9
    assert found.certificate.dual <= best.primal + 1e-9
    assert found.certificate.primal == pytest.approx(best.primal, rel=1.1e-2)


def test_what_it_can_not_take_and_where_it_ends():
    problem = small_problem(F1)
    assert "free intercept" in Bregman().supports(Problem(problem.design, problem.risk, 1.0, intercept=True))
    assert "contingency table" in Bregman().supports(Problem(np.eye(2), MeanRisk("hinge", [1, -1]), 1.0))
    assert "ridge" in Bregman().supports(Problem(problem.design, problem.risk, 1.0, "elastic_net"))
    state = Bregman().start(problem, None)
    state.mu = 0.0
    assert Bregman().step(state, HINT) == STALLED
    with pytest.raises(FenchelError, match="solver='bregman' does not support"):
        solve(Problem(np.eye(2), MeanRisk("hinge", [1, -1]), 1.0), "bregman")


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize("kind", [F1, QMeasure])
def test_scores_that_overflow_are_a_clear_error(kind):
    X = 1e150 * np.random.default_rng(0).standard_normal((4, 4))
    with pytest.raises(FenchelError, match="scores X w overflow or are not finite"):
        solve(Problem(X, kind([1, -1, 1, -1]), 1e-13), "bregman", max_iter=50)

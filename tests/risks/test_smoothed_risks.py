"""Smoothed risks: value and maximizer against other methods, the sandwich, ties and every size of mu."""

import numpy as np
import pytest

import slow_measures
import slow_smoothing as slow
from fenchel.losses import LOSSES
from fenchel.risks import BreakEven, MeanRisk, RecallAtK, RocAUC
from measure_cases import labels_of

MUS = (1e-9, 1e-4, 0.05, 0.7, 3.0, 1e3, 1e8)
#: one positive, more positives than negatives, and more negatives
LABELS = [labels_of(bits) for bits in ([1, 0, 0, 0, 0], [1, 1, 1, 1, 0], [0, 1, 1, 0, 0, 1, 0], [1, 0])]
BOUNDED = [kind() for kind in LOSSES.values() if np.isfinite(kind().smoothing_width)]


def measures(y, rng=None):
    """(name, parameter, weights, risk) of everything that can be smoothed."""
    n_pos, n = int(np.sum(y > 0)), len(y)
    yield "prbep", None, None, BreakEven(y)
    yield "roc_auc", None, None, RocAUC(y)
    for k in sorted({n_pos, (n_pos + n) // 2, n}):
        yield "recall_at_k", k, None, RecallAtK(y, k)
    if rng is not None:
        weights = rng.integers(0, 3, n).astype(float)
        weights[np.argmax(y)], weights[np.argmin(y)] = 1.0, 2.0
        yield "roc_auc", None, weights, RocAUC(y, weights)


def score_cases(rng, y):
    n = len(y)
    yield np.zeros(n)
    yield np.full(n, -3.7)
    yield np.round(rng.normal(size=n) * 2)
    yield rng.normal(size=n) * 2
    yield 3.0 * y
    yield -30.0 * y + rng.normal(size=n)


def every_point(seed):
    rng = np.random.default_rng(seed)
    for y in LABELS:
        for name, parameter, weights, risk in measures(y, rng):
            for scores in score_cases(rng, y):
                for mu in MUS:
                    yield name, parameter, weights, y, risk, scores, mu


def test_value_and_maximizer_are_those_of_the_conic_solver():
    for name, parameter, weights, y, risk, scores, mu in every_point(0):
        if not 1e-3 < mu < 1e5:
            # beyond what the conic solver resolves
            continue
        value, theta = slow.smoothed(name, scores, y, mu, parameter, weights)
        found = risk.smoothed(scores, mu)
        np.testing.assert_allclose(found.value, value, atol=1e-6 * (1 + np.abs(scores).max()), err_msg=name)
        # theta is as good as the value, which is strongly concave: mu n |theta - theta*|^2 / 2 <= error
        np.testing.assert_allclose(found.theta, theta, atol=1e-3, err_msg=f"{name} {y} {scores} {mu}")


def test_the_maximizer_attains_the_value_and_is_feasible():
    for name, parameter, weights, y, risk, scores, mu in every_point(1):
        found = risk.smoothed(scores, mu)
        size = 1e-13 * (1 + np.abs(scores).max())
        np.testing.assert_allclose(risk.project(found.theta), found.theta, atol=1e-14 / mu * size + 1e-14)
        conjugate = risk.conjugate(risk.project(found.theta))
        assert np.isfinite(conjugate)
        assert found.risk == pytest.approx(slow_measures.value(name, scores, y, parameter, weights), abs=size)
        assert found.excess == pytest.approx(found.risk + conjugate + found.theta @ scores, abs=1e3 * size)
        assert found.excess >= 0.0
        # the prox term of the maximizer is what value and bound differ by
        prox = found.risk - found.excess - found.value
        assert -size <= prox <= mu * risk.smoothing_range + size


def test_the_sandwich_and_its_width():
    widest = {}
    for name, _, _, y, risk, scores, mu in every_point(2):
        found = risk.smoothed(scores, mu)
        size = 1e-13 * (1 + np.abs(scores).max())
        assert found.value <= found.risk + size
        assert found.risk <= found.value + mu * risk.smoothing_range + size
        key = (name, tuple(y))
        widest[key] = max(widest.get(key, 0.0), (found.risk - found.value) / (mu * risk.smoothing_range))
    # the bound is tight: large scores of the wrong order reach it
    assert min(widest.values()) > 0.999


def test_the_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(3)
    for y in LABELS:
        for name, parameter, _, risk in measures(y, rng):
            for mu in (0.05, 0.7, 3.0):
                scores = rng.normal(size=len(y))
                gradient, step = risk.smoothed(scores, mu).gradient, 1e-6
                for i in range(len(y)):
                    around = [risk.smoothed(scores + sign * step * np.eye(len(y))[i], mu).value for sign in (1, -1)]
                    slope = (around[0] - around[1]) / (2 * step)
                    # the slope itself changes by at most step / mu
                    assert slope == pytest.approx(gradient[i], abs=step / mu + 1e-9), (name, parameter, mu)


def test_the_papers_algorithms_give_the_same():
    rng = np.random.default_rng(4)
    for _ in range(200):
        n = int(rng.integers(2, 12))
        y = np.where(rng.random(n) < rng.uniform(0.2, 0.8), 1.0, -1.0)
        y[0], y[-1] = 1.0, -1.0
        mu = float(rng.choice([0.1, 1.0, 5.0]))
        scores = np.round(rng.normal(size=n) * 3, int(rng.integers(0, 3)))
        beta = slow.break_even_dual(scores, y, mu)
        np.testing.assert_allclose(BreakEven(y).smoothed(scores, mu).theta * n, y * beta, atol=1e-12)
        gamma, s, t = slow.roc_counts(scores, y, mu).T
        n_pos, n_neg = np.sum(y > 0), np.sum(y < 0)
        theta = RocAUC(y).smoothed(scores, mu).theta
        np.testing.assert_allclose(theta[y > 0][np.argsort(scores[y > 0])], gamma / (n_pos * n_neg), atol=1e-12)
        # s and t give the sum of beta^2, and with it the value
        a = (np.sort(scores[y > 0]) - 0.5) / mu
        inside = [np.sum((scores[y < 0] + 0.5) / mu <= x + 1) - np.sum((scores[y < 0] + 0.5) / mu < x) for x in a]
        wrong = gamma + np.array(inside) * a - s
        squares = np.sum(wrong + np.array(inside) * a**2 - 2 * a * s + t) / (n_pos * n_neg)
        value = theta[y > 0].sum() - theta @ scores - 0.5 * mu * squares
        assert RocAUC(y).smoothed(scores, mu).value == pytest.approx(value, abs=1e-12)


def test_roc_area_keeps_its_digits_with_many_examples_and_a_small_mu():
    rng = np.random.default_rng(5)
    n = 3000
    y, scores = np.where(rng.random(n) < 0.3, 1.0, -1.0), 40 * rng.normal(size=n)
    weights = rng.random(n)
    for risk, w in ((RocAUC(y), np.ones(n)), (RocAUC(y, weights), weights)):
        a, b = w[y > 0] / w[y > 0].sum(), w[y < 0] / w[y < 0].sum()
        z = 1 - scores[y > 0][:, None] + scores[y < 0][None, :]
        for mu in (1e-7, 1e-3, 1.0, 100.0):
            beta = np.clip(z / mu, 0, 1)
            found = risk.smoothed(scores, mu)
            np.testing.assert_allclose(found.theta[y > 0], a * (beta @ b), rtol=0, atol=1e-10 * a.max())
            np.testing.assert_allclose(found.theta[y < 0], -b * (a @ beta), rtol=0, atol=1e-10 * b.max())
            # far below what smoothing leaves
            assert found.value == pytest.approx(a @ (beta * z - mu / 2 * beta**2) @ b, rel=1e-13, abs=1e-9 * mu)
            assert found.excess == pytest.approx(a @ (np.maximum(z, 0) - beta * z) @ b, rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("loss", BOUNDED, ids=lambda loss: loss.name)
@pytest.mark.parametrize("outputs", [None, 2])
def test_means_of_bounded_losses(loss, outputs):
    rng = np.random.default_rng(6)
    shape = (9,) if outputs is None else (9, outputs)
    y = np.where(rng.random(shape) < 0.5, 1.0, -1.0)
    weights = rng.integers(0, 3, 9)
    risk = MeanRisk(loss, y, weights)
    for mu in (1e-6, 0.1, 2.0, 1e4):
        for scores in (np.zeros(shape), rng.normal(size=shape) * 3):
            found = risk.smoothed(scores, mu)
            size = 1e-12 * (1 + abs(found.risk))
            assert found.risk == risk.value(scores)
            assert found.value - size <= found.risk <= found.value + mu * risk.smoothing_range + size
            conjugate = risk.conjugate(found.theta)
            assert found.excess == pytest.approx(found.risk + conjugate + np.sum(found.theta * scores), abs=10 * size)
            assert np.all(found.theta[weights == 0] == 0)
            for direction in rng.normal(size=(3, *shape)):
                around = [risk.smoothed(scores + sign * 1e-6 * direction, mu).value for sign in (1, -1)]
                slope = np.sum(found.gradient * direction)
                steepest = min(1e-6 * np.sum(direction**2) / mu, 1.0)
                assert (around[0] - around[1]) / 2e-6 == pytest.approx(slope, abs=1e-8 + steepest)


def test_smooth_losses_need_no_mu_and_unbounded_ones_have_no_range():
    y, scores = np.array([1.0, -1.0, 1.0]), np.array([0.3, 2.0, -1.0])
    for name in ("logistic", "squared"):
        risk = MeanRisk(name, y)
        found = risk.smoothed(scores, 0.0)
        assert (found.value, found.excess) == (risk.value(scores), 0.0)
        np.testing.assert_array_equal(found.gradient, risk.subgradient(scores))
    assert MeanRisk("squared", y).smoothing_range == np.inf
    assert MeanRisk("hinge", y).smoothing_range == 0.5
    assert BreakEven(y).smoothing_range == pytest.approx(1 / 3)


def test_the_conjugate_of_recall_at_k_is_the_linear_program():
    rng = np.random.default_rng(7)
    finite = 0
    for y in LABELS:
        n, n_pos = len(y), int(np.sum(y > 0))
        for k in range(n_pos, n + 1):
            risk = RecallAtK(y, k)
            for theta in (y * rng.random(n) / n, np.minimum(y, 0) / n, rng.normal(size=n) / n, y / n, y * 1e50):
                expected = slow_measures.conjugate("recall_at_k", theta, y, k)
                assert risk.conjugate(theta) == pytest.approx(expected, abs=1e-9)
                finite += np.isfinite(expected)
                inside = risk.project(theta)
                assert slow_measures.conjugate("recall_at_k", inside, y, k) == pytest.approx(risk.conjugate(inside))
                if np.isfinite(expected):
                    np.testing.assert_allclose(inside, theta, atol=1e-15)
    assert finite > 20

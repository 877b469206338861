"""Risks of ordered classes and of several labels: every pair, planes, conjugates, optima of a conic solver, errors."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import slow_ordinal as slow
from fenchel import FenchelError, Model, Problem, certify, solve
from fenchel.regularizers import L1, ElasticNet
from fenchel.risks import CrammerSinger, MultilabelHinge, OrdinalHinge, RocAUC
from fenchel.solvers.reference.excessive_gap import dual_set

EXACT = 1e-13


def ordinal_cases():
    """(labels, weights or None, scores): random ones, many ties, scores at the kinks, many and two labels."""
    rng = np.random.default_rng(0)
    for trial in range(120):
        n, k = int(rng.integers(2, 13)), int(rng.integers(2, 12))
        y = rng.integers(0, k, n)
        y[0], y[-1] = 0, k - 1
        weights = rng.integers(0, 3, n) * rng.random(n) if trial % 3 == 0 else None
        if weights is not None:
            weights[[0, -1]] = 1.0, 0.3
        kinds = (rng.normal(size=n) * 2, rng.integers(-3, 4, n) / 2.0, y / 1.0, -y / 1.0, np.full(n, 0.3), 1e8 * y)
        yield y, weights, kinds[trial % len(kinds)]


def multilabel_cases():
    rng = np.random.default_rng(1)
    for trial in range(80):
        n, k = int(rng.integers(1, 6)), int(rng.integers(2, 6))
        labels = rng.random((n, k)) < 0.5
        labels[0, 0], labels[0, 1] = True, False
        weights = rng.integers(0, 3, n) + 0.5 * (np.arange(n) == 0) if trial % 3 == 0 else None
        scores = rng.integers(-2, 3, (n, k)) / 2.0 if trial % 2 else rng.normal(size=(n, k))
        yield labels, weights, scores


EVERY = [
    (OrdinalHinge, slow.ordinal_pairs, ordinal_cases),
    (MultilabelHinge, slow.multilabel_pairs, multilabel_cases),
]


@pytest.mark.parametrize(("kind", "pairs_of", "cases"), EVERY)
def test_value_and_planes_are_those_of_all_pairs(kind, pairs_of, cases):
    rng = np.random.default_rng(2)
    for labels, weights, scores in cases():
        risk, pairs = kind(labels, weights), pairs_of(labels, weights)
        size = EXACT * (1 + np.max(np.abs(scores)))
        expected = slow.value(pairs, scores)
        assert risk.value(scores) == pytest.approx(expected, abs=size)
        assert risk.value_at_zero == pytest.approx(slow.value(pairs, 0.0 * scores), abs=EXACT)
        slope = risk.subgradient(scores)
        assert np.sum(np.abs(slope)) <= risk.subgradient_norm_bound() + EXACT
        offset = risk.cutting_plane(scores)[1] if hasattr(risk, "cutting_plane") else -risk.conjugate(-slope)
        assert np.vdot(slope, scores) + offset == pytest.approx(expected, abs=size)
        for other in (rng.normal(size=scores.shape) * 3, scores + 0.1 * rng.normal(size=scores.shape), 0.0 * scores):
            room = EXACT * (1 + np.max(np.abs(other)))
            assert np.vdot(slope, other) + offset <= slow.value(pairs, other) + room
        # nothing within a distance is steeper
        near = rng.random(scores.shape)
        bound = risk.subgradient_bounds(scores, near)
        for _ in range(3):
            moved = scores + near * rng.choice([-1.0, 1.0, 0.5], scores.shape)
            assert np.all(np.abs(risk.subgradient(moved)) <= bound + EXACT)


def test_the_offset_of_a_plane_is_the_conjugate_of_its_slope():
    for labels, weights, scores in list(ordinal_cases())[:24]:
        slope, offset, _ = OrdinalHinge(labels, weights).cutting_plane(scores)
        pairs = slow.ordinal_pairs(labels, weights)
        assert slow.conjugate(pairs, -slope) == pytest.approx(-offset, abs=1e-8)


def test_smoothing_is_that_of_all_pairs():
    for labels, weights, scores in list(ordinal_cases())[::2]:
        risk, (D, _, prices) = OrdinalHinge(labels, weights), slow.ordinal_pairs(labels, weights)
        size = 1e-11 * (1 + np.max(np.abs(scores)))
        for mu in (1e-3, 0.4, 1.0, 7.0):
            found, x = risk.smoothed(scores, mu), 1.0 - D @ scores
            beta = np.clip(x / mu, 0.0, 1.0)
            assert found.value == pytest.approx(prices @ (beta * x - 0.5 * mu * beta**2), abs=size)
            assert found.risk == pytest.approx(slow.value((D, np.arange(len(D)), prices), scores), abs=size)
            assert -found.conjugate(scores) == pytest.approx(prices @ beta, abs=size / mu)
            np.testing.assert_allclose(found.theta, D.T @ (prices * beta), atol=size / mu)


def test_net_flows_and_their_sum_belong_together_however_small_mu_is():
    """The bound on the conjugate must be that of the theta it comes with, and so must the flows of the bits."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        labels, weights = rng.integers(0, 3, 12), rng.random(12) + 0.1
        labels[:2] = 0, 2
        risk, mu = OrdinalHinge(labels, weights), 10.0 ** rng.uniform(-11, -7)
        # many pairs within mu of the kink, where scores of this size are exact multiples of a power of two
        scores = labels + np.round(rng.uniform(-mu, mu, 12) * 2.0**48) / 2.0**48
        found = risk.smoothed(scores, mu)
        shift = 0.5 * np.max(scores) + 0.5 * np.min(scores)
        beta, theta = 0.0, np.zeros(12)
        total = sum(weights[i] * weights[j] for i in range(12) for j in range(12) if labels[i] < labels[j])
        for i in range(12):
            for j in np.flatnonzero(labels > labels[i]):
                flow = np.clip((1.0 - ((scores[j] - shift) - (scores[i] - shift))) / mu, 0.0, 1.0)
                flow *= weights[i] * weights[j] / total
                beta, theta[i], theta[j] = beta + flow, theta[i] - flow, theta[j] + flow
        np.testing.assert_allclose(found.theta, theta, rtol=0, atol=1e-14)
        assert abs(np.sum(found.theta)) <= 1e-15
        assert found.conjugate(scores) == pytest.approx(-beta, abs=1e-14)
        rows = found.decompose()
        np.testing.assert_allclose(rows.sum(axis=0), theta, rtol=0, atol=1e-14)
        form = risk.decomposed_form(found.theta, rows)
        np.testing.assert_allclose(form.project(found.theta), theta, rtol=0, atol=1e-13)
        assert form.conjugate(found.theta, feasible=True) == pytest.approx(-beta, abs=1e-13)


def test_ties_count_as_wrong_and_separated_labels_cost_nothing():
    y = np.array([2, 0, 1, 1])
    assert OrdinalHinge(y).cutting_plane(y / 1.0)[1] == 0.8  # 4 of 5 pairs are exactly at the kink, (0, 2) is beyond it
    slope, offset, value = OrdinalHinge(y).cutting_plane(2.0 * y)
    assert (offset, value) == (0.0, 0.0)
    assert not np.any(slope)


def test_weights_of_very_different_size_are_within_the_stated_error():
    """Pairs of little weight in a group of labels whose running sums follow those of large weights."""
    rng = np.random.default_rng(0)
    beyond = 0
    for _ in range(200):
        y, s = rng.integers(0, 4, 8), 1e5 * rng.random(8)
        weights = rng.choice([1e-9, 0.1, 1.0, 7.0, 1e6], 8)
        y[:2], weights[:2] = (0, 3), 0.1
        problem = Problem(s[:, None], OrdinalHinge(y, weights), 1.0)
        found = certify(problem, Model(np.ones(1)), np.zeros(8))
        c, scores = [Fraction(weight) for weight in weights], [Fraction(score) for score in s]
        pairs = [(i, j) for i in range(8) for j in range(8) if y[i] < y[j]]
        total = sum(c[i] * c[j] for i, j in pairs)
        risk = sum(c[i] * c[j] * max(0, 1 - scores[j] + scores[i]) for i, j in pairs) / total
        assert abs(risk + Fraction(1, 2) - Fraction(found.primal)) <= Fraction(found.primal_error)
        beyond += abs(risk + Fraction(1, 2) - Fraction(found.primal)) > Fraction(1e-15) * risk
    # the relative error is that of no sum of terms >= 0
    assert beyond


def test_two_labels_are_the_roc_area():
    rng = np.random.default_rng(3)
    y, scores = np.where(rng.random(300) < 0.2, 1, -1), rng.normal(size=300)
    for weights in (None, rng.random(300), np.where(y > 0, 1e-18, 1.0)):
        ordinal, area = OrdinalHinge(y, weights), RocAUC(y, weights)
        assert ordinal.value(scores) == pytest.approx(area.value(scores), rel=1e-13)
        np.testing.assert_allclose(ordinal.subgradient(scores), area.subgradient(scores), rtol=1e-12, atol=1e-18)
        one, other = (risk.smoothed(scores, 0.3) for risk in (ordinal, area))
        np.testing.assert_allclose(one.theta, other.theta, rtol=1e-11, atol=1e-18)
        np.testing.assert_allclose([one.value, one.excess], [other.value, other.excess], rtol=1e-11)


def test_only_the_order_of_labels_counts_and_weights_repeat_examples():
    rng = np.random.default_rng(4)
    y, scores, weights = rng.integers(0, 5, 40), rng.normal(size=40), rng.integers(0, 4, 40)
    assert OrdinalHinge(np.exp(y) - 3.0, weights).value(scores) == OrdinalHinge(y, weights).value(scores)
    repeated = OrdinalHinge(np.repeat(y, weights)).value(np.repeat(scores, weights))
    assert OrdinalHinge(y, weights).value(scores) == pytest.approx(repeated, rel=1e-13)


def test_a_label_for_every_example():
    n = 70_000  # more labels than short integers
    y = np.random.default_rng(5).permutation(n)
    assert OrdinalHinge(y).value(-1.0 * y) == pytest.approx(1 + (n + 1) / 3, rel=1e-12)
    assert OrdinalHinge(y).value(1.0 * y) == 0.0


def test_the_conjugate_of_several_labels():
    rng = np.random.default_rng(6)
    for labels, weights, scores in multilabel_cases():
        risk, pairs = MultilabelHinge(labels, weights), slow.multilabel_pairs(labels, weights)
        for theta in (-risk.subgradient(scores), rng.normal(size=scores.shape) / len(labels), 0.0 * scores):
            inside = risk.project(theta)
            expected = slow.conjugate(pairs, inside)
            assert risk.conjugate(inside) == pytest.approx(expected, abs=1e-8)
            np.testing.assert_allclose(risk.project(inside), inside, rtol=1e-14)
            assert np.max(np.abs(inside.sum(axis=1))) <= 1e-15
            if np.max(np.abs(inside - theta)) > 1e-6:
                assert risk.conjugate(theta) == np.inf == slow.conjugate(pairs, theta)


def test_one_label_for_each_example_is_crammer_singer():
    rng = np.random.default_rng(7)
    y, scores, weights = rng.integers(0, 4, 30), rng.normal(size=(30, 4)), rng.random(30)
    for c in (None, weights):
        one, other = MultilabelHinge(np.eye(4)[y], c), CrammerSinger(y, 4, c)
        assert one.value(scores) == pytest.approx(other.value(scores), rel=1e-13)
        np.testing.assert_allclose(one.subgradient(scores), other.subgradient(scores), atol=1e-16)


def test_a_proximal_step_of_several_labels_is_the_minimizer(rarely_compiled):
    rng = np.random.default_rng(12)
    heavy = 0
    for labels, weights, _ in multilabel_cases():
        risk = MultilabelHinge(labels, weights)
        found = dual_set(Problem(np.eye(len(labels)), risk, 1.0))
        centre, scores = found.feasible(rng.normal(size=labels.shape)), 2 * rng.normal(size=labels.shape)
        for curvature in (0.05, 1.0, 20.0):
            theta = found.step(centre, scores, curvature)
            assert np.isfinite(risk.conjugate(theta))
            counted = risk.shares > 0
            move = (theta - centre)[counted] / risk.shares[counted, None]
            slope = scores[counted] - labels[counted] + curvature * move
            # no corner of the set of an example lies in a direction of descent: zero, and a mass on one pair
            alpha = theta[counted] / risk.shares[counted, None]
            here = np.sum(slope * alpha, axis=1)
            up = np.min(np.where(labels[counted], slope, np.inf), axis=1)
            down = np.max(np.where(labels[counted], -np.inf, slope), axis=1)
            assert np.all(here <= np.minimum(0.0, up - down) + 1e-12 * (1 + np.max(np.abs(slope))))
            heavy += np.count_nonzero(np.abs(alpha).sum(axis=1) > 2 - 1e-9)
    assert heavy > 20


def data(seed, n=30, d=4, k=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.digitize(X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n), np.linspace(-1.5, 1.5, k - 1))
    labels = X @ rng.standard_normal((d, k)) + 0.5 * rng.standard_normal((n, k)) > 0.3
    return X, y, labels


@pytest.mark.meetings(1)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [OrdinalHinge, MultilabelHinge])
def test_bundle_finds_the_optimum_of_a_conic_solver(kind, weighted):
    X, y, labels = data(8)
    weights = np.random.default_rng(9).integers(1, 4, len(y)).astype(float) if weighted else None
    risk = OrdinalHinge(y, weights) if kind is OrdinalHinge else MultilabelHinge(labels, weights)
    pairs = (slow.ordinal_pairs if kind is OrdinalHinge else slow.multilabel_pairs)(
        y if kind is OrdinalHinge else labels, weights
    )
    # weights (k, d) in one row make (n, k) scores in one row
    Z = X if kind is OrdinalHinge else np.vstack([np.kron(np.eye(labels.shape[1]), row) for row in X])
    for lam in (1.0, 0.01):
        weights_there, best = slow.optimum(pairs, Z, lam)
        for design in (X, sp.csr_array(X)):
            problem = Problem(design, risk, lam)
            solution = solve(problem, "bundle", tol=1e-8)
            assert solution.converged
            assert solution.certificate.recomputed
            assert solution.certificate.primal == pytest.approx(best, rel=2e-8)
            np.testing.assert_allclose(solution.model.weights.ravel(), weights_there, atol=2e-3)
        # halfway, the certificate is a bound all the same, and so is the dual value by itself
        for max_iter in (1, 3, 6):
            early = solve(problem, tol=0.0, max_iter=max_iter).certificate
            assert early.gap >= early.primal - best - 1e-9
            theta = solve(problem, tol=0.0, max_iter=max_iter).witness.theta
            dual = -0.5 / lam * np.sum((X.T @ theta) ** 2) - slow.conjugate(pairs, theta)
            assert early.dual <= dual + 1e-8
            assert early.dual <= best + 1e-9


@pytest.mark.parametrize("regularizer", [ElasticNet(0.5), L1()])
def test_absolute_values(regularizer):
    X, y, labels = data(10)
    for risk in (OrdinalHinge(y), MultilabelHinge(labels)):
        problem = Problem(X, risk, 0.05, regularizer)
        solution = solve(problem, tol=1e-6)
        assert solution.converged
        assert certify(problem, solution.model, solution.witness).gap == pytest.approx(solution.certificate.gap)
        # no better weights nearby
        rng, best = np.random.default_rng(11), solution.certificate.primal
        for _ in range(50):
            w = solution.model.weights + 0.01 * rng.standard_normal(problem.weights_shape)
            scores = problem.design.scores(w)
            assert 0.05 * regularizer.value(w) + risk.value(scores) >= best - solution.certificate.gap


def test_what_is_wrong_is_named():
    for labels in ([], [[1, 2]], ["low", "high"], [0.0, np.nan]):
        with pytest.raises(FenchelError, match="finite numbers"):
            OrdinalHinge(labels)
    with pytest.raises(FenchelError, match="two different labels"):
        OrdinalHinge([2, 2, 2])
    with pytest.raises(FenchelError, match="two different labels"):
        OrdinalHinge([1, 2, 2], [0, 1, 1])
    with pytest.raises(FenchelError, match="one entry for each"):
        OrdinalHinge([1, 2, 2], [1, 1])
    with pytest.raises(FenchelError, match="does not depend on an intercept"):
        Problem(np.eye(2), OrdinalHinge([0, 1]), 1.0, intercept=True)
    for labels in ([], [1, 0], [["a", "b"]]):
        with pytest.raises(FenchelError, match=r"\(n, k\)"):
            MultilabelHinge(labels)
    with pytest.raises(FenchelError, match="-1 and"):
        MultilabelHinge([[0, 2]])
    with pytest.raises(FenchelError, match="some labels, not all"):
        MultilabelHinge([[0, 0], [1, 1]])

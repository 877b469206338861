"""Risks of rankings: every pair and every permutation, conjugates and optima of a conic solver, weights and queries."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import ndcg_score

import slow_ordinal
import slow_ranking as slow
from fenchel import FenchelError, Problem, certify, solve
from fenchel.regularizers import L1, ElasticNet
from fenchel.risks import NDCG, OrdinalHinge, PairwiseHinge, PairwiseLogistic, PairwiseSquaredHinge, RocAUC

PAIRWISE = (PairwiseHinge, PairwiseSquaredHinge, PairwiseLogistic)
RANKINGS = (*PAIRWISE, NDCG)
EXACT = 1e-12
of_every_risk = pytest.mark.parametrize("kind", RANKINGS)
of_every_pairwise = pytest.mark.parametrize("kind", PAIRWISE)


def cases(count=40, most=5):
    """(labels, queries, weights or None, scores): ties, kinks, queries of one label, rows and queries omitted."""
    rng = np.random.default_rng(0)
    for trial in range(count):
        sizes = rng.integers(1, most + 1, int(rng.integers(1, 5)))
        queries = rng.permutation(np.repeat(rng.permutation(40)[: len(sizes)], sizes))
        n = len(queries)
        y = rng.integers(0, int(rng.integers(2, 5)), n)
        weights = None
        if trial % 3 == 0:
            weights = (0.3 + rng.random(40))[queries] * (rng.random(n) < 0.8)
        if not slow.query_shares(y, queries, weights):
            continue
        kinds = (rng.normal(size=n) * 2, rng.integers(-3, 4, n) / 2.0, y / 1.0, np.full(n, 0.3), 1e3 * y + queries)
        yield y, queries, weights, kinds[trial % len(kinds)]


def slow_value(kind, y, queries, weights, scores):
    if kind is NDCG:
        return slow.ndcg_value(y, queries, scores, weights)
    return slow.pairwise_value(kind.name, slow.pairs(y, queries, weights), scores)


@of_every_risk
def test_value_and_planes_are_those_of_every_pair_or_permutation(kind):
    rng = np.random.default_rng(1)
    for y, queries, weights, scores in cases():
        risk, size = kind(y, queries, weights), EXACT * (1 + np.max(np.abs(scores))) ** 2
        expected = slow_value(kind, y, queries, weights, scores)
        assert risk.value(scores) == pytest.approx(expected, abs=size)
        assert risk.value_at_zero == pytest.approx(slow_value(kind, y, queries, weights, 0.0 * scores), abs=EXACT)
        slope, offset, value = risk.cutting_plane(scores)
        np.testing.assert_array_equal(slope, risk.subgradient(scores))
        assert value == risk.value(scores)
        assert slope @ scores + offset == pytest.approx(expected, abs=size)
        assert np.sum(np.abs(slope)) <= risk.subgradient_norm_bound() + EXACT
        for other in (rng.normal(size=len(y)) * 3, scores + 0.1 * rng.normal(size=len(y)), 0.0 * scores):
            assert slope @ other + offset <= slow_value(kind, y, queries, weights, other) + size
        # nothing within a distance is steeper
        near = rng.random(len(y))
        bound = risk.subgradient_bounds(scores, near)
        for _ in range(3):
            moved = scores + near * rng.choice([-1.0, 1.0, 0.5], len(y))
            assert np.all(np.abs(risk.subgradient(moved)) <= bound + size)


@pytest.mark.parametrize("gain", ["exponential", "linear"])
@pytest.mark.parametrize("k", [None, 1, 2, 10])
def test_ndcg_gains_and_ranks_beyond_k(gain, k):
    for y, queries, weights, scores in cases(20):
        expected = slow.ndcg_value(y, queries, scores, weights, gain, k)
        size = EXACT * (1 + np.max(np.abs(scores)))
        assert NDCG(y, queries, weights, gain=gain, k=k).value(scores) == pytest.approx(expected, abs=size)


def test_ndcg_of_long_queries_is_the_linear_assignment():
    rng = np.random.default_rng(2)
    for k in (None, 5):
        y, queries, scores = rng.integers(0, 5, 200), rng.integers(0, 4, 200), rng.normal(size=200)
        expected = slow.ndcg_by_assignment(y, queries, scores, k=k)
        assert NDCG(y, queries, k=k).value(scores) == pytest.approx(expected, rel=1e-12)


def test_ndcg_bounds_the_loss_of_the_ranking():
    rng = np.random.default_rng(3)
    for _ in range(40):
        y, scores = rng.integers(0, 4, 8), rng.normal(size=8) * 3
        y[:2] = 0, 3
        loss = 1.0 - ndcg_score([2.0**y - 1.0], [scores])
        assert NDCG(y).value(scores) >= loss - 1e-12
        assert NDCG(y, k=3).value(scores) >= 1.0 - ndcg_score([2.0**y - 1.0], [scores], k=3) - 1e-12
    # grades far apart, in their order: only ties cost something, and equal scores cost nothing there
    assert NDCG(y).value(100.0 * y) == pytest.approx(0.0, abs=1e-12)


@of_every_pairwise
def test_conjugates_of_pairs_are_bounded_by_flows_and_attained_at_gradients(kind):
    rng, seen = np.random.default_rng(4), 0
    for y, queries, weights, scores in cases(24, 4):
        if np.max(np.abs(scores)) > 50:
            continue
        risk, listed = kind(y, queries, weights), slow.pairs(y, queries, weights)
        slope, offset, _ = risk.cutting_plane(scores)
        form = risk.decomposed_form(-slope, risk.decompose(scores, slope))
        np.testing.assert_allclose(form.project(-slope), -slope, atol=1e-14)
        assert form.conjugate(-slope) == pytest.approx(-offset, abs=1e-12)
        assert slow.pairwise_conjugate(kind.name, listed, -slope) == pytest.approx(-offset, abs=2e-7)
        # a combination of planes, and multiples of it
        points = (scores, rng.normal(size=len(y)), 0.0 * scores)
        slopes, shares = [risk.subgradient(at) for at in points], 5.0 * rng.dirichlet(np.ones(3))
        rows = risk.mixed(shares, [risk.decompose(at, one) for at, one in zip(points, slopes, strict=True)])
        theta = -(shares / 5.0) @ np.array(slopes)
        form = risk.decomposed_form(theta, rows)
        for t in (1.0, 0.4, 0.0):
            inside = form.project(t * theta)
            np.testing.assert_allclose(inside, t * theta, atol=1e-13)
            assert form.conjugate(inside) >= slow.pairwise_conjugate(kind.name, listed, inside) - 2e-7
        assert form.conjugate(rng.normal(size=len(y))) == np.inf
        seen += 1
    assert seen > 10


def test_conjugate_of_ndcg_is_linear_on_the_permutahedra():
    rng, inside, outside = np.random.default_rng(5), 0, 0
    for y, queries, weights, scores in cases(40, 4):
        risk = NDCG(y, queries, weights)
        queried = slow.query_shares(y, queries, weights)
        share = np.zeros(len(y))
        for c, own in queried:
            share[own] = c
        middle = risk.project(share * rng.normal(size=len(y)))
        for theta in (-risk.subgradient(scores), 0.5 * middle - 0.3 * risk.subgradient(scores), 0.0 * scores, middle):
            expected = 0.0
            for c, own in queried:
                d, ideal, g = slow.ndcg_parts([y[i] for i in own])
                assert slow.in_permutahedron(ideal - theta[own] / c, d)
                expected -= theta[own] @ g
            assert risk.conjugate(theta) == pytest.approx(expected, abs=1e-12)
            np.testing.assert_allclose(risk.project(theta), theta, atol=1e-13)
            inside += 1
        theta = middle + 0.2 * share * rng.normal(size=len(y))
        contained = all(
            slow.in_permutahedron(ideal - theta[own] / c, d)
            for c, own in queried
            for d, ideal, _ in [slow.ndcg_parts([y[i] for i in own])]
        )
        assert np.isfinite(risk.conjugate(theta)) == contained
        outside += not contained
    assert inside > 100
    assert outside > 20


@of_every_risk
def test_fenchel_young(kind):
    rng = np.random.default_rng(6)
    for y, queries, weights, scores in cases(24):
        risk = kind(y, queries, weights)
        for at in (scores, rng.normal(size=len(y))):
            slope = risk.subgradient(at)
            form = risk.closed_form() or risk.decomposed_form(-slope, risk.decompose(at, slope))
            theta = form.project(-slope)
            size = EXACT * (1 + max(np.max(np.abs(scores)), np.max(np.abs(at)))) ** 2
            assert risk.value(at) + form.conjugate(theta, feasible=True) + theta @ at == pytest.approx(0.0, abs=size)
            for other in (scores, 3.0 * rng.normal(size=len(y))):
                assert risk.value(other) + form.conjugate(theta, feasible=True) + theta @ other >= -size


@of_every_risk
def test_smoothing_is_uniform_and_its_maximizer_is_its_gradient(kind):
    rng = np.random.default_rng(7)
    for y, queries, weights, scores in cases(20):
        if np.max(np.abs(scores)) > 50:
            continue
        risk = kind(y, queries, weights)
        for mu in (1e-6, 0.05, 1.0, 30.0):
            found, value = risk.smoothed(scores, mu), risk.value(scores)
            assert found.risk == pytest.approx(value, abs=1e-12)
            assert found.value <= value + 1e-12
            assert value <= found.value + mu * risk.smoothing_range + 1e-12
            assert -1e-15 <= found.excess <= mu * risk.smoothing_range * (1 + 1e-9) + 1e-12
            if mu > 0.01:
                direction = rng.normal(size=len(y))
                ahead, behind = (risk.smoothed(scores + h * direction, mu).value for h in (1e-6, -1e-6))
                assert (ahead - behind) / 2e-6 == pytest.approx(-found.theta @ direction, abs=1e-4)
            parts = None if found.decompose is None else found.decompose()
            form = risk.closed_form() or risk.decomposed_form(found.theta, parts)
            np.testing.assert_allclose(form.project(found.theta), found.theta, atol=1e-10)
            assert form.conjugate(found.theta, feasible=True) == pytest.approx(found.conjugate(scores), abs=1e-9)


def test_smoothed_ndcg_projects_onto_the_permutahedron():
    rng = np.random.default_rng(8)
    for _ in range(20):
        y, scores = rng.integers(0, 3, 4), rng.normal(size=4)
        y[:2] = 0, 2
        d, ideal, g = slow.ndcg_parts(y)
        for mu in (0.3, 1.0, 10.0):
            a = slow.nearest_in_permutahedron(ideal + (scores - g) / mu, d)
            found = NDCG(y).smoothed(scores, mu)
            np.testing.assert_allclose(found.theta, ideal - a, atol=2e-6)
            assert found.value == pytest.approx(
                (a - ideal) @ (scores - g) - 0.5 * mu * np.sum((a - ideal) ** 2), abs=1e-6
            )


def test_many_pairs_are_summed_in_order_of_the_scores():
    rng = np.random.default_rng(9)
    for grades, n in ((2, 900), (5, 700), (600, 600)):
        y, queries = rng.integers(0, grades, n), np.where(np.arange(n) < 40, 1, 0)
        y[:2], y[-2:] = (0, grades - 1), (0, grades - 1)
        risk = PairwiseSquaredHinge(y, queries)
        assert len(risk._in_order) == 1
        for scores in (rng.normal(size=n), rng.integers(-2, 3, n) / 2.0, 1e4 * y + rng.normal(size=n), 1e-9 * y):
            upper, lower = np.nonzero((queries[:, None] == queries) & (y[:, None] > y))
            counts = np.bincount(queries[upper])[queries[upper]]
            x = np.maximum(1.0 - scores[upper] + scores[lower], 0.0)
            assert risk.value(scores) == pytest.approx(np.sum(x**2 / counts) / 2, rel=1e-12)
            expected = np.bincount(upper, -x / counts, n) + np.bincount(lower, x / counts, n)
            np.testing.assert_allclose(risk.subgradient(scores), expected, atol=1e-12 * (1 + np.max(np.abs(expected))))


def test_one_query_is_the_ordinal_hinge_and_two_grades_are_the_roc_area():
    rng = np.random.default_rng(10)
    y, scores = rng.integers(0, 4, 60), rng.normal(size=60)
    np.testing.assert_allclose(PairwiseHinge(y).subgradient(scores), OrdinalHinge(y).subgradient(scores), atol=1e-15)
    two = np.where(y > 1, 1, -1)
    assert PairwiseHinge(two).value(scores) == pytest.approx(RocAUC(two).value(scores), rel=1e-13)


@of_every_risk
def test_weights_queries_and_rows_mean_what_they_say(kind):
    rng = np.random.default_rng(11)
    y, queries, scores = rng.integers(0, 3, 40), rng.integers(0, 6, 40), rng.normal(size=40)
    weights = np.array([1.0, 2.0, 3.0, 1.0, 0.0, 2.0])[queries]
    expected = kind(y, queries, weights)
    # the order of the rows and the names of the queries
    order, names = rng.permutation(40), np.array(["f", "b", "a", "e", "c", "d"])
    other = kind(y[order], names[queries][order], weights[order])
    assert other.value(scores[order]) == pytest.approx(expected.value(scores), rel=1e-13)
    np.testing.assert_allclose(other.subgradient(scores[order]), expected.subgradient(scores)[order], atol=1e-14)
    # a query of weight two is two queries
    repeated = [(y[queries == q], np.full(np.sum(queries == q), 10 * q + c), scores[queries == q])
                for q, times in enumerate((1, 2, 3, 1, 0, 2)) for c in range(times)]  # fmt: skip
    ys, qs, ss = (np.concatenate(column) for column in zip(*repeated, strict=True))
    assert kind(ys, qs).value(ss) == pytest.approx(expected.value(scores), rel=1e-13)
    assert expected.total_weight == 9 == kind(ys, qs).total_weight
    # a row of weight zero is removed, and so are queries with one label
    kept = rng.random(40) < 0.8
    some = kind(y[kept], queries[kept])
    assert kind(y, queries, 1.0 * kept).value(scores) == pytest.approx(some.value(scores[kept]), rel=1e-13)
    more = kind(np.append(y, [2, 2]), np.append(queries, [99, 99]))
    assert more.value(np.append(scores, [5.0, -5.0])) == pytest.approx(kind(y, queries).value(scores), rel=1e-13)
    assert more.total_weight == kind(y, queries).total_weight == 6
    assert not np.any(more.subgradient(np.append(scores, [5.0, -5.0]))[-2:])
    assert np.sum(more.shares) == pytest.approx(1.0)
    assert not np.any(more.shares[-2:])
    # nothing changes if the scores of a query move together
    assert expected.value(scores + np.arange(6)[queries]) == pytest.approx(expected.value(scores), rel=1e-12)


def data(seed=12, n=36, d=4):
    rng = np.random.default_rng(seed)
    X, queries = rng.standard_normal((n, d)), np.arange(n) // 6
    y = np.digitize(X @ rng.standard_normal(d) + 0.7 * rng.standard_normal(n), [-0.5, 0.8])
    return X, y, queries


@pytest.mark.meetings(1)
@of_every_pairwise
@pytest.mark.parametrize("weighted", [False, True])
def test_the_optimum_is_that_of_a_conic_solver(kind, weighted):
    X, y, queries = data()
    weights = np.array([1.0, 0.5, 2.0, 0.0, 1.0, 3.0])[queries] if weighted else None
    risk, listed = kind(y, queries, weights), slow.pairs(y, queries, weights)
    for lam in (1.0, 0.01):
        best = slow.pairwise_optimum(kind.name, listed, X, lam)
        for design in (X, sp.csr_array(X)):
            problem = Problem(design, risk, lam)
            for solver in ("auto", "bundle", "smoothing"):
                solution = solve(problem, solver, tol=1e-6)
                assert solution.converged
                assert solution.certificate.recomputed
                assert solution.certificate.primal == pytest.approx(best, rel=2e-6)
        for max_iter in (1, 3, 6):
            early = solve(problem, tol=0.0, max_iter=max_iter).certificate
            assert early.dual <= best + 1e-8
            assert early.primal >= best - 1e-8


@pytest.mark.parametrize("k", [None, 3])
def test_all_solvers_agree_on_ndcg(k):
    X, y, queries = data()
    for lam in (1.0, 0.01):
        problem = Problem(X, NDCG(y, queries, k=k), lam)
        found = [solve(problem, solver, tol=1e-6) for solver in ("auto", "bundle", "smoothing")]
        assert all(one.converged and one.certificate.recomputed for one in found)
        best = min(one.certificate.primal for one in found)
        assert all(one.certificate.primal == pytest.approx(best, rel=2e-6) for one in found)
        # weak duality: random dual points prove no more than the optimum
        rng = np.random.default_rng(13)
        for size in (0.01, 0.3, 3.0):
            certificate = certify(problem, found[0].model, size * rng.normal(size=len(y)) / len(y))
            assert certificate.dual <= best + 1e-12


@pytest.mark.meetings(1)
@of_every_risk
@pytest.mark.parametrize("regularizer", [ElasticNet(0.5), L1()])
def test_absolute_values(kind, regularizer):
    X, y, queries = data()
    problem = Problem(X, kind(y, queries), 0.05, regularizer)
    solution = solve(problem, tol=1e-5)
    assert solution.converged
    assert certify(problem, solution.model, solution.witness).gap == pytest.approx(solution.certificate.gap)
    rng, best = np.random.default_rng(14), solution.certificate.primal
    for _ in range(30):
        w = solution.model.weights + 0.01 * rng.standard_normal(4)
        there = 0.05 * regularizer.value(w) + problem.risk.value(X @ w)
        assert there >= best - solution.certificate.gap


@of_every_risk
def test_what_is_wrong_is_named(kind):
    for labels in ([], [[1, 2]], ["low", "high"], [0.0, np.nan]):
        with pytest.raises(FenchelError, match="finite numbers"):
            kind(labels)
    with pytest.raises(FenchelError, match="two different labels"):
        kind([1, 1, 2, 2], [0, 0, 1, 1])
    with pytest.raises(FenchelError, match="two different labels"):
        kind([1, 2], [0, 0], [1.0, 0.0])
    with pytest.raises(FenchelError, match="same for all rows of a query"):
        kind([1, 2, 3], [0, 0, 0], [1.0, 2.0, 2.0])
    with pytest.raises(FenchelError, match="one entry for each"):
        kind([1, 2, 3], [0, 0])
    with pytest.raises(FenchelError, match="NaN"):
        kind([1, 2, 3], [0, 0, np.nan])
    with pytest.raises(FenchelError, match="intercept"):
        Problem(np.eye(2), kind([0, 1]), 1.0, intercept=True)


def test_wrong_parameters_of_ndcg():
    for k in (0, 1.5, True):
        with pytest.raises(FenchelError, match="k must be"):
            NDCG([0, 1], k=k)
    with pytest.raises(FenchelError, match="gain='log' is unknown"):
        NDCG([0, 1], gain="log")
    for labels in ([-1, 1], [0, 5000]):
        with pytest.raises(FenchelError, match="not be negative"):
            NDCG(labels)
    assert NDCG([0, 5000], gain="linear").value(np.zeros(2)) > 0


def test_a_wrong_decomposition_is_named():
    _, y, queries = data()
    for kind in PAIRWISE:
        risk = kind(y, queries)
        with pytest.raises(FenchelError, match="decomposition"):
            risk.decomposed_form(np.zeros(len(y)), np.zeros((1, 3)))
        width = len(y) if kind is PairwiseHinge else len(y) + 1
        rows = np.full((risk.bits if kind is PairwiseHinge else 1, width), np.nan)
        assert risk.decomposed_form(np.zeros(len(y)), rows) is None


def test_one_pair_is_the_hinge_of_slow_ordinal():
    y, queries = np.array([1, 0]), np.array([4, 4])
    assert slow.pairwise_value("pairwise_hinge", slow.pairs(y, queries), np.zeros(2)) == 1.0
    assert slow_ordinal.value(slow_ordinal.ordinal_pairs(y), np.zeros(2)) == 1.0

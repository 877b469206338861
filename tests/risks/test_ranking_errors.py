"""Risks of rankings keep their own bounds on rounding errors: in exact rational arithmetic, and with 60 digits."""

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import slow_ranking as slow
from fenchel import Problem, solve
from fenchel.numerics.rounding import gamma
from fenchel.projections.permutahedron import into_permutahedra
from fenchel.risks import NDCG, PairwiseLogistic, PairwiseSquaredHinge
from fenchel.risks.ranking.ndcg import gains_of

Y = np.array([0, 2, 1, 1, 0, 3, 1, 0, 2, 2])
QUERIES = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 2])
WEIGHTS = np.array([0.1, 0.1, 0.1, 0.0, 3e3, 3e3, 3e3, 3e3, 3e3, 7.0])
weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])


def scores_of_any_size(seed):
    rng = np.random.default_rng(seed)
    for size in (1e-9, 0.3, 3.0, 1e3, 1e7):
        yield size * rng.normal(size=len(Y))
        yield size * rng.normal(size=len(Y)) + 1e5 * QUERIES
        yield size * rng.integers(-2, 3, len(Y)) + Y


@weighted
@pytest.mark.parametrize("kind", [PairwiseSquaredHinge, PairwiseLogistic])
def test_gradients_of_pairs_and_their_conjugates_are_within_their_bounds(kind, weights):
    risk = kind(Y, QUERIES, weights)
    for scores in scores_of_any_size(0):
        value, theta, conjugate = slow.exact_pairwise(kind.name, Y, QUERIES, scores, weights)
        found = risk.at_gradient(scores)
        off = sum(abs(Decimal(float(one)) - exact) for one, exact in zip(found.theta, theta, strict=True))
        assert off <= Decimal(found.theta_error)
        assert abs(Decimal(found.conjugate) - conjugate) <= Decimal(found.conjugate_error)
        assert found.theta_error <= 1e-12 * (1 + np.max(np.abs(scores)))
        assert found.conjugate_error <= 1e-12 * (1 + np.max(np.abs(scores))) ** 2
        # R itself: K roundings of its terms
        room = gamma(risk.roundings)
        bounds = risk.subgradient_bounds(scores, room * (np.abs(scores) + 1.0))
        error = room * (risk.value(scores) + bounds @ (np.abs(scores) + 1.0))
        assert abs(Decimal(risk.value(scores)) - value) <= Decimal(float(error))
        # the form of a witness: theta and R* of a multiple
        form = risk.decomposed_form(found.theta, risk.decompose(scores, -found.theta))
        for t in (1.0, 0.37):
            inside = form.project(t * found.theta)
            size = Decimal(float(np.sum(np.abs(inside)))) / max(sum(map(abs, theta)), Decimal("1e-300"))
            off = sum(abs(Decimal(float(one)) - size * exact) for one, exact in zip(inside, theta, strict=True))
            assert off <= 2 * Decimal(form.domain_distance(inside))
            bound = Decimal(form.conjugate(inside, feasible=True)) - size * conjugate
            assert abs(bound) <= 2 * Decimal(form.conjugate_error(inside, 0.0)) + Decimal("1e-15") * abs(conjugate)


def exact_ndcg(weights):
    """For each query its share, rows, and exact d, a* and gains of these very discounts."""
    weights = np.ones(len(Y)) if weights is None else weights
    queried = slow.query_shares(Y, QUERIES, weights)
    total = sum(Fraction(float(weights[own[0]])) for _, own in queried)
    for _, own in queried:
        # the discounts are the floats of the risk
        d = [Fraction(float(one)) for one in 1.0 / np.log2(2.0 + np.arange(len(own)))]
        labels = sorted((int(Y[i]) for i in own), reverse=True)
        places = {label: [d[r] for r in range(len(own)) if labels[r] == label] for label in labels}
        ideal = [sum(places[int(Y[i])]) / len(places[int(Y[i])]) for i in own]
        gains = [Fraction(2 ** int(Y[i]) - 1) for i in own]
        best = sum(a * g for a, g in zip(ideal, gains, strict=True))
        yield Fraction(float(weights[own[0]])) / total, own, d, ideal, [g / best for g in gains]


def violation(theta, weights):
    """By how much the sums of all subsets exceed those of the largest discounts, and the sums differ from zero."""
    found = Fraction(0)
    for share, own, d, ideal, _ in exact_ndcg(weights):
        a = [one - Fraction(float(theta[i])) / share for one, i in zip(ideal, own, strict=True)]
        worst = max(
            sum(subset) - sum(d[: len(subset)])
            for size in range(len(own) + 1)
            for subset in itertools.combinations(a, size)
        )
        found += share * (2 * worst + abs(sum(a) - sum(d)))
    return found


def dual_points(risk, seed):
    """Dual points far out, on the ends of the domain, and a few roundings outside."""
    rng = np.random.default_rng(seed)
    for size in (1e-12, 1e-3, 0.3, 3.0, 1e6):
        theta = size * rng.normal(size=len(Y)) / len(Y)
        yield theta
        yield -risk.subgradient(30.0 * theta)
        yield size * risk.subgradient(theta)
        yield -risk.subgradient(theta) * (1.0 + 4e-16 * rng.integers(-2, 3, size=len(Y)))
        yield -1e-13 * size * risk.subgradient(theta)


@weighted
def test_dual_points_of_ndcg_are_in_the_domain_up_to_their_roundings(weights):
    risk = NDCG(Y, QUERIES, weights)
    for theta in dual_points(risk, 1):
        inside = risk.project(theta)
        size = sum(abs(Fraction(float(one))) for one in inside)
        assert violation(inside, weights) <= Fraction(gamma(risk.dual_roundings)) * size
        again = risk.project(inside)
        np.testing.assert_allclose(again, inside, rtol=1e-13, atol=1e-15 * np.max(np.abs(inside), initial=0.0))
    assert not np.any(risk.project(np.zeros(len(Y))))


@weighted
def test_ndcg_and_its_conjugate_are_within_their_bounds(weights):
    risk = NDCG(Y, QUERIES, weights)
    queried = list(exact_ndcg(weights))
    for scores in scores_of_any_size(2):
        exact = Fraction(0)
        for share, own, d, ideal, g in queried:
            z = [Fraction(float(scores[i])) - one for i, one in zip(own, g, strict=True)]
            best = sum(a * b for a, b in zip(d, sorted(z, reverse=True), strict=True))
            exact += share * (best - sum(a * b for a, b in zip(ideal, z, strict=True)))
        room = gamma(risk.roundings)
        noise = room * (np.abs(scores) + risk.label_sizes())
        error = room * risk.value(scores) + risk.subgradient_bounds(scores, noise) @ noise
        assert abs(Fraction(risk.value(scores)) - exact) <= Fraction(float(error))
        rough = risk.subgradient_norm_bound() * np.max(noise) + room * risk.value(scores)
        assert error <= rough
    for theta in dual_points(risk, 3):
        inside = risk.project(theta)
        found = risk.conjugate(inside, feasible=True)
        exact = -sum(
            Fraction(float(inside[i])) * one for _, own, _, _, g in queried for i, one in zip(own, g, strict=True)
        )
        assert abs(Fraction(found) - exact) <= Fraction(risk.conjugate_error(inside, found))


def test_a_point_inside_a_permutahedron_does_not_move():
    groups, sizes = np.repeat([0, 1], [3, 2]), np.array([3, 2])
    d = np.array([3.0, 2.0, 1.0, 5.0, 0.0])
    a = np.array([2.0, 2.5, 1.5, 2.5, 2.5])
    found, moved = into_permutahedra(a, d, groups, sizes)
    assert not np.any(moved)
    np.testing.assert_array_equal(found, a)
    # outside: the differences of the smaller of the two running sums, in the same order
    found, moved = into_permutahedra(np.array([0.0, 4.0, 2.0, 6.0, -1.0]), d, groups, sizes)
    np.testing.assert_allclose(found.astype(float), [1.0, 3.0, 2.0, 5.0, 0.0])


@pytest.mark.parametrize("y", [[0.0, 1e-7, 3e-7, 2e-7], [1e-14, 3e-14, 0.0, 2e-14], [0.0, 1e-5, 2e-5, 3.0]])
def test_gains_of_small_labels_do_not_cancel(y):
    """2^y - 1 of labels near zero; integers have exact gains."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    with localcontext(prec=60):
        gains = [float((Decimal(label) * Decimal(2).ln()).exp() - 1) for label in y]
    found = solve(Problem(X, NDCG(y), 0.1), tol=0.0).certificate
    other = solve(Problem(X, NDCG(gains, gain="linear"), 0.1), tol=0.0).certificate
    assert found.lower <= other.upper
    assert other.lower <= found.upper
    np.testing.assert_array_equal(gains_of([0.0, 1.0, 2.0, 5.0], "exponential"), [0.0, 1.0, 3.0, 31.0])


def test_the_smallest_label_has_a_gain():
    assert np.all(np.isfinite(NDCG([0.0, 5e-324, 1.0, 0.0], queries=[0, 0, 1, 1]).gains))

"""The bound of flows by bits on the conjugate of the ordinal hinge, against a linear program over all pairs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import slow_ordinal as slow
from fenchel import FenchelError, Model, Problem, Witness, certify, solve
from fenchel.certificate import judge
from fenchel.numerics.rounding import UNIT
from fenchel.projections import flows as flows_of_sides
from fenchel.projections.flows import onto_net_flows
from fenchel.risks import OrdinalHinge
from fenchel.solvers import Bundle


def largest_flow(x, amounts, upper, groups, pairs):
    """The largest total flow whose net flows are at most x."""
    n = len(x)
    listed = [(i, j) for i in range(n) for j in range(n) if upper[i] and not upper[j] and groups[i] == groups[j]]
    if not listed:
        return 0.0
    out = np.zeros((n, len(listed)))
    for column, (i, j) in enumerate(listed):
        out[i, column] = out[j, column] = 1.0
    bounds = [(0.0, amounts[i] * amounts[j] / pairs) for i, j in listed]
    return -linprog(-np.ones(len(listed)), A_ub=out, b_ub=x, bounds=bounds).fun


@pytest.mark.parametrize("seed", range(20))
def test_net_flows_are_mapped_to_net_flows(seed):
    rng = np.random.default_rng(seed)
    n, pairs = 9, float(rng.choice([0.1, 1.0, 30.0]))
    groups, upper = rng.integers(0, 3, n), rng.random(n) < 0.5
    amounts = rng.choice([0.0, 0.5, 1.0, 2.0], n) if seed % 2 else np.ones(n)
    # the net flows of some flow stay as they are
    flows = rng.choice([0.0, 0.3, 1.0], (n, n)) * np.outer(amounts, amounts) / pairs
    flows *= np.outer(upper, ~upper) * (groups[:, None] == groups)
    x = flows.sum(axis=1) + flows.sum(axis=0)
    np.testing.assert_allclose(onto_net_flows(x, amounts, upper, groups, pairs), x, rtol=1e-14, atol=1e-16)
    for other in (x + 0.1 * rng.random(n), 2.0 * x, rng.normal(size=n), np.full(n, 1e300), np.zeros(n)):
        found = onto_net_flows(other, amounts, upper, groups, pairs)
        assert np.all(found >= 0.0)
        for group in range(3):
            sums = [float(np.sum(found[(groups == group) & side])) for side in (upper, ~upper)]
            assert sums[0] == pytest.approx(sums[1], rel=1e-13)
        assert largest_flow(found, amounts, upper, groups, pairs) == pytest.approx(np.sum(found[upper]), abs=1e-9)
        np.testing.assert_allclose(onto_net_flows(found, amounts, upper, groups, pairs), found, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("seed", range(6))
def test_sorted_values_decide_as_the_order_of_examples_does(seed, monkeypatch):
    """With amounts of one, in groups of any size, some without one side."""
    rng = np.random.default_rng(seed)
    n = 400
    groups, upper, pairs = np.sort(rng.integers(0, 4, n)), rng.random(n) < 0.4, 3e3
    upper[groups == 2] = True
    flows = rng.choice([0.0, 0.3, 1.0], (n, n)) * np.outer(upper, ~upper) * (groups[:, None] == groups) / pairs
    x, found = flows.sum(axis=1) + flows.sum(axis=0), []
    every = (x, x * (1.0 + 1e-15 * rng.normal(size=n)), x * rng.choice([0.9, 1.1], n), 3.0 * x)
    for few in (flows_of_sides._FEW_SIDES, -1):
        monkeypatch.setattr(flows_of_sides, "_FEW_SIDES", few)
        monkeypatch.setattr(flows_of_sides, "_LARGE_SIDE", 1 << 40)
        found.append([onto_net_flows(one, np.ones(n), upper, groups, pairs) for one in every])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(12))
def test_rounding_is_within_its_bound_in_fractions(seed):
    """How far the cuts of the mapped rows are violated, in exact arithmetic, against the distance that is charged."""
    rng = np.random.default_rng(seed)
    n = 14
    labels, weights = rng.integers(0, 5, n), rng.random(n) * 10.0 ** rng.uniform(-6, 0, n) if seed % 2 else None
    risk = OrdinalHinge(labels, weights)
    scores = rng.normal(size=n) + (labels if seed % 3 else 0.0)
    rows = risk.mixed(np.ones(2) / 3, [risk.decompose(s, risk.subgradient(s)) for s in (scores, 2.0 * labels - 1e-3)])
    if seed >= 6:
        # flows at their bounds, and a little beyond the cuts
        rows = risk.decompose(scores, risk.subgradient(scores)) * (1.0 + 0.005 * rng.random(rows.shape))
    form = risk.decomposed_form(rows.sum(axis=0), rows)
    c, worst, flow = [Fraction(one) for one in risk.amounts.tolist()], Fraction(0), Fraction(0)
    pairs = sum(c[i] * c[j] for i in range(n) for j in range(n) if labels[i] < labels[j])
    codes = np.unique(labels, return_inverse=True)[1]
    for bit, row in enumerate(form.decomposition):
        x, upper, groups = [abs(Fraction(one)) for one in row.tolist()], codes >> bit & 1 == 1, codes >> (bit + 1)
        for group in set(groups.tolist()):
            ups, lows = ([i for i in range(n) if groups[i] == group and upper[i] == side] for side in (True, False))
            ups = sorted((i for i in ups if c[i]), key=lambda i: x[i] / c[i], reverse=True)
            over, total, reached = abs(sum(x[i] for i in ups) - sum(x[j] for j in lows)), Fraction(0), Fraction(0)
            for i in ups:
                total, reached = total + x[i], reached + c[i]
                over = max(over, total - sum(min(x[j], c[j] * reached / pairs) for j in lows))
            worst, flow = worst + over, flow + total
    theta = form.project(rows.sum(axis=0))
    assert 3 * worst <= Fraction(form.domain_distance(theta))
    bound = Fraction(form.conjugate(theta, feasible=True))
    assert abs(bound + flow) + worst <= Fraction(form.conjugate_error(theta, float(bound)))


def cases():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, (2, 3, 4, 7)[seed % 4], 8)
        labels[:2] = 0, 1
        weights = rng.choice([0.0, 1.0, 2.0], 8) + np.eye(8)[0] + np.eye(8)[1] if seed % 3 else None
        yield rng, OrdinalHinge(labels, weights), slow.ordinal_pairs(labels, weights), labels


def test_flows_bound_the_conjugate():
    for rng, risk, pairs, _ in cases():
        shares, scores = rng.dirichlet(np.ones(3)), rng.normal(size=(3, 8))
        planes = [risk.cutting_plane(one) for one in scores]
        rows = risk.mixed(shares, [risk.decompose(s, plane[0]) for s, plane in zip(scores, planes, strict=True)])
        theta = -sum(share * plane[0] for share, plane in zip(shares, planes, strict=True))
        np.testing.assert_allclose(rows.sum(axis=0), theta, atol=1e-15)
        form = risk.decomposed_form(theta, rows)
        # the bound is that of the planes
        expected = -sum(share * plane[1] for share, plane in zip(shares, planes, strict=True))
        assert form.conjugate(theta) == pytest.approx(expected, abs=1e-14)
        assert form.conjugate(0.5 * theta) == pytest.approx(0.5 * expected, abs=1e-14)
        np.testing.assert_allclose(form.project(theta), theta, atol=1e-15)
        # whatever the rows and theta are
        for wrong in (rows, 2.0 * rows, -rows, rows + 0.1 * rng.normal(size=rows.shape), 1e200 * rows):
            for other in (theta, 0.3 * theta, rng.normal(size=8), 0.0 * theta):
                form = risk.decomposed_form(other, wrong)
                near = form.project(other)
                bound = form.conjugate(near, feasible=True)
                assert slow.conjugate(pairs, near) <= bound + 1e-8
                np.testing.assert_allclose(form.project(near), near, atol=1e-14)


def test_smoothed_flows_are_those_of_theta():
    for rng, risk, pairs, _ in cases():
        for mu in (1e-9, 0.1, 3.0):
            found = risk.smoothed(rng.normal(size=8), mu)
            rows = found.decompose()
            np.testing.assert_allclose(rows.sum(axis=0), found.theta, atol=1e-12)
            form = risk.decomposed_form(found.theta, rows)
            assert slow.conjugate(pairs, found.theta) <= form.conjugate(found.theta, feasible=True) + 1e-8


def test_no_witness_proves_too_much():
    for rng, risk, pairs, _ in cases():
        X = rng.normal(size=(8, 2))
        problem = Problem(X, risk, 0.1)
        w, best = slow.optimum(pairs, X, 0.1)
        for rows in (None, rng.normal(size=(risk.bits, 8)), np.full((risk.bits, 8), np.nan)):
            for theta in (rng.normal(size=8), np.zeros(8)):
                verdict = judge(problem, Model(w), Witness(theta, -1e3, rows))
                assert verdict.certificate.recomputed
                assert 0.0 <= verdict.certificate.dual <= best + 1e-8
                assert verdict.path_certificate.at(0.3).dual <= slow.optimum(pairs, X, 0.3)[1] + 1e-8
        solution = solve(problem, Bundle(most_planes=4), tol=1e-8)
        assert solution.certificate.recomputed
        assert solution.certificate.dual <= best + 1e-8
        assert solution.certificate.relative_gap <= 1e-6
        assert certify(problem, solution).gap == pytest.approx(solution.certificate.gap, abs=1e-13)
        assert solve(problem, tol=1e-5, warm_start=solution).passes == 0


def test_two_labels_need_no_decomposition_and_another_shape_is_refused():
    X, y = np.random.default_rng(0).normal(size=(8, 2)), np.arange(8) % 2
    problem = Problem(X, OrdinalHinge(y), 0.1)
    solution = solve(problem, tol=1e-8)
    assert certify(problem, solution.model, solution.witness.theta).gap <= solution.certificate.gap + 1e-12
    problem = Problem(X, OrdinalHinge(np.arange(8) % 3), 0.1)
    with pytest.raises(FenchelError, match=r"shape \(bits of the labels, examples\) = \(2, 8\), got \(1, 8\)"):
        certify(problem, np.zeros(2), Witness(np.zeros(8), decomposition=np.zeros((1, 8))))


def _excess(x, amounts, upper, pairs):
    """The largest violation of the condition of Gale and Ryser by any set of upper examples, exactly, over sum x."""
    x, c = ([Fraction(float(entry)) for entry in values] for values in (x, amounts))
    top, low = ([i for i in range(len(x)) if upper[i] == side] for side in (True, False))
    sets = (some for count in range(len(top) + 1) for some in itertools.combinations(top, count))
    found = (
        sum(x[i] for i in some) - sum(min(x[j], c[j] * sum(c[i] for i in some) / Fraction(pairs)) for j in low)
        for some in sets
    )
    return float(max(found) / max(sum(x), Fraction(1, 10**300)))


def test_amounts_of_very_different_size_give_net_flows_too():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        n = int(rng.integers(2, 6))
        amounts, upper = rng.choice([1e-9, 0.1, 1.0, 7.0, 1e6], n), np.arange(n) % 2 == 0
        pairs = float(np.sum(amounts[upper]) * np.sum(amounts[~upper])) + rng.random()
        shares = rng.choice([0.0, 1.0, 1.0, rng.random()], (np.sum(upper), np.sum(~upper)))
        flows = np.outer(amounts[upper], amounts[~upper]) / pairs * shares
        x = np.zeros(n)
        x[upper], x[~upper] = np.sum(flows, axis=1), np.sum(flows, axis=0)
        found = onto_net_flows(x, amounts, upper, np.zeros(n, dtype=np.int64), pairs)
        assert _excess(found, amounts, upper, pairs) <= 64 * UNIT


def test_flows_of_many_groups_of_different_sizes_stay_as_they_are():
    """Sums over all groups have a rounding that is not small beside those of a group a million times smaller."""
    rng, count = np.random.default_rng(0), 3000
    pairs = 10.0 ** rng.uniform(0.0, 6.0, count)
    flows = rng.random((count, 3, 3))
    flows = np.where(rng.random((count, 3, 3)) < 0.7, 1.0, flows) / pairs[:, None, None]
    # three lower and three upper examples in each group, most pairs at their bounds
    x = np.concatenate([flows.sum(axis=1), flows.sum(axis=2)], axis=1).ravel()
    upper = np.tile([False] * 3 + [True] * 3, count)
    found = onto_net_flows(x, np.ones(6 * count), upper, np.repeat(np.arange(count), 6), np.repeat(pairs, 6))
    np.testing.assert_allclose(found, x, rtol=1e-9)

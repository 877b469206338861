"""The bound of a mixture of labellings on R*, against a linear program over all labellings and exact fractions."""

import itertools
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import slow_measures as slow
from fenchel import FenchelError, Model, Problem, Witness, certify, solve
from fenchel.certificate import judge
from fenchel.regularizers import L1
from fenchel.risks import F1, CustomMeasure, micro
from fenchel.solvers import Bregman, Bundle
from measure_cases import labels_of, numbers_for, risk_of

#: the measures whose conjugate has no closed form
OPEN = [("f1", None), ("fbeta", 0.0), ("fbeta", 0.5), ("fbeta", 2.0), ("precision_at_k", 1), ("precision_at_k", 2)]
OPEN += [("own", parameter) for parameter in numbers_for("own", labels_of([1, 0]))]


def random_rows(rng, risk, count):
    """Rows (weight, fn, fp) of a mixture, of labellings that are allowed."""
    fn, fp = (cells.ravel() for cells in np.mgrid[: risk.n_pos + 1, : risk.n_neg + 1])
    allowed = np.flatnonzero(np.isfinite(risk.delta(fn, fp)))
    chosen = rng.choice(allowed, count)
    return np.column_stack([rng.random(count), fn[chosen], fp[chosen]])


def labellings_of(rng, risk, rows):
    """A theta with this mixture: random labellings with these counts."""
    theta = np.zeros(risk.examples)
    for weight, fn, fp in rows:
        for own, count, sign in ((risk.positives, int(fn), 1.0), (risk.negatives, int(fp), -1.0)):
            theta[rng.permutation(own)[:count]] += sign * weight / rows[:, 0].sum() / risk.examples
    return theta


@pytest.mark.parametrize(("name", "parameter"), OPEN)
def test_a_mixture_bounds_the_conjugate_of_every_theta(name, parameter):
    rng = np.random.default_rng(0)
    for _ in range(8):
        y = rng.permutation(labels_of([1, 1, 1, 0, 0, 0, 0]))
        risk = risk_of(name, y, parameter)
        rows = random_rows(rng, risk, int(rng.integers(1, 6)))
        theta = labellings_of(rng, risk, rows)
        form = risk.decomposed_form(theta, rows)
        # a theta of the mixture keeps its value, and the value is the mean of Delta
        mean = rows[:, 0] @ risk.delta(rows[:, 1].astype(int), rows[:, 2].astype(int)) / rows[:, 0].sum()
        np.testing.assert_allclose(form.project(theta), theta, atol=1e-15)
        assert form.conjugate(theta) == pytest.approx(-mean, abs=1e-14)
        assert form.conjugate(0.5 * theta) == pytest.approx(-0.5 * mean, abs=1e-14)
        # any other is mapped to a point whose conjugate is below the bound
        for other in (theta, 0.3 * theta, theta + rng.normal(size=7) / 30, rng.normal(size=7), y / 7, -y, 0.0 * y):
            near = form.project(other)
            bound = form.conjugate(near, feasible=True)
            assert slow.conjugate(name, near, y, parameter) <= bound + 1e-9
            np.testing.assert_allclose(form.project(near), near, atol=1e-15)
            assert form.conjugate(near) == pytest.approx(bound, abs=1e-14)


@pytest.mark.parametrize(("name", "parameter"), OPEN)
def test_nested_labellings_bound_the_conjugate_without_a_decomposition(name, parameter):
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(8):
        y = rng.permutation(labels_of([1, 1, 1, 0, 0, 0, 0]))
        risk = risk_of(name, y, parameter)
        theta = rng.choice([0.0, 0.2, 0.5, 1.0], 7) * y / 7
        form = risk.decomposed_form(theta, None)
        if form is None:
            # nested labellings may have counts that the measure forbids
            assert name in ("precision_at_k", "own")
            continue
        found += 1
        np.testing.assert_allclose(form.project(theta), theta, atol=1e-16)
        assert slow.conjugate(name, theta, y, parameter) <= form.conjugate(theta) + 1e-9
    assert found


def condition(a, weights):
    """A_j <= U_j with equality at the end, in fractions, for these weights of 0, 1, ... flips."""
    a, total = sorted(map(Fraction, a), reverse=True), sum(map(Fraction, weights))
    caps = [sum(Fraction(w) * min(j, count) for count, w in enumerate(weights)) / total for j in range(len(a) + 1)]
    return all(sum(a[:j]) <= cap for j, cap in enumerate(caps)) and sum(a) == caps[-1]


def labellings_exist(a, weights):
    """Whether a linear program finds labellings of four examples with these probabilities and numbers of flips."""
    flips = np.array(list(itertools.product((0.0, 1.0), repeat=4)))
    by_count = flips.sum(axis=1)[None] == np.arange(5)[:, None]
    rows, rhs = np.vstack([by_count, flips.T]), np.concatenate([np.array(weights) / np.sum(weights), a])
    return linprog(np.zeros(len(flips)), A_eq=rows, b_eq=rhs, bounds=(0.0, None)).status == 0


def test_counts_suffice():
    """The condition on counts is that of labellings, and a theta that meets it keeps every bit."""
    rng, y, seen = np.random.default_rng(2), labels_of([1, 1, 1, 1, 0]), set()
    table = np.zeros((5, 2))
    table[1:] = 1.0
    for _ in range(150):
        weights = np.zeros(5)
        np.add.at(weights, rng.integers(0, 5, 4), 0.25)
        # sums of quarters, often the right one
        a = rng.permutation([1.0, 0.75, 0.5, 0.5, 0.25, 0.25, 0.0])[:4]
        excess = a.sum() - weights @ np.arange(5)
        a[0] = a[0] - excess if 0.0 <= a[0] - excess <= 1.0 else a[0]
        expected = condition(a.tolist(), weights.tolist())
        assert labellings_exist(a, weights) == expected
        theta = np.append(a, 0.0) / 5
        form = CustomMeasure(y, table).decomposed_form(theta, np.column_stack([weights, np.arange(5), np.zeros(5)]))
        moved = float(np.max(np.abs(form.project(theta) - theta)))
        if expected:
            assert moved == 0.0
        seen.add((expected, moved > 1e-3))
    assert {(True, False), (False, True)} <= seen


@pytest.mark.parametrize("seed", range(20))
def test_rounding_is_within_its_bound_in_fractions(seed):
    """How far A is above t U, or its end below, in exact arithmetic, against the distance that is charged."""
    rng = np.random.default_rng(seed)
    n_pos, n_neg = (int(count) for count in rng.integers(1, 40, 2))
    risk = F1(rng.permutation(labels_of([1] * n_pos + [0] * n_neg)))
    rows = random_rows(rng, risk, int(rng.integers(1, 30)))
    rows[:, 0] *= 10.0 ** rng.uniform(-12, 0, len(rows))
    theta = labellings_of(rng, risk, rows) * rng.choice([1.0, 0.7])
    if seed % 3 == 0:
        theta += 0.1 * rng.normal(size=len(theta)) / len(theta)
    form, n = risk.decomposed_form(theta, rows), n_pos + n_neg
    near = form.project(theta)
    weights = [Fraction(weight) for weight in rows[:, 0]]
    mean = sum(w * Fraction(float(risk.delta(*row))) for w, row in zip(weights, rows[:, 1:].astype(int), strict=True))
    t = Fraction(form.conjugate(near, feasible=True)) / (-mean / sum(weights)) if mean else Fraction(1)
    worst = Fraction(0)
    for own, counts in ((risk.positives, rows[:, 1]), (risk.negatives, rows[:, 2])):
        a = sorted((Fraction(abs(one)) * n for one in near[own].tolist()), reverse=True)
        caps = [
            t * sum(w * min(j, int(count)) for w, count in zip(weights, counts, strict=True)) / sum(weights)
            for j in range(1, len(a) + 1)
        ]
        sums = list(itertools.accumulate(a))
        worst += max(max(one - cap for one, cap in zip(sums, caps, strict=True)), caps[-1] - sums[-1], Fraction(0))
    assert 3 * worst / n <= Fraction(form.domain_distance(near))


@pytest.mark.parametrize("name", ["f1", "fbeta", "precision_at_k"])
def test_a_free_intercept_needs_as_many_false_negatives_as_false_positives(name):
    rng = np.random.default_rng(7)
    parameter = {"fbeta": 2.0, "precision_at_k": 2}.get(name)
    for _ in range(10):
        y = rng.permutation(labels_of([1, 1, 1, 0, 0, 0]))
        risk = risk_of(name, y, parameter)
        rows = random_rows(rng, risk, 3)
        theta = labellings_of(rng, risk, rows)
        form = risk.decomposed_form(theta, rows, balanced=True)
        near = form.project(theta)
        assert abs(np.sum(near)) <= 1e-16
        assert form.unbalanced(near) == [0.0]
        assert slow.conjugate(name, near, y, parameter) <= form.conjugate(near) + 1e-9
        again = risk.decomposed_form(near, form.decomposition, balanced=True)
        np.testing.assert_array_equal(again.decomposition[:, 1:], form.decomposition[:, 1:])
    # at least as many predicted positives as positives: nothing makes up for a false positive, which is charged
    risk = risk_of("precision_at_k", y, 3)
    form = risk.decomposed_form(y / 6, np.array([[1.0, 0, 1]]), balanced=True)
    assert form.unbalanced(form.project(y / 6)) >= 1 / 6


BAD_ROWS = [
    [[-1.0, 1, 1], [2.0, 0, 0]],
    [[np.nan, 1, 1]],
    [[1.0, np.nan, 1]],
    [[np.inf, 1, 1]],
    [[1.0, 9, 1]],
    [[1.0, 1, 1e300]],
    [[1.0, -1, 1]],
    [[1.0, 0.5, 1]],
    [[0.0, 1, 1]],
    np.zeros((0, 3)),
]


@pytest.mark.parametrize("rows", BAD_ROWS)
def test_rows_that_are_no_mixture_prove_nothing(rows):
    y, X = labels_of([1, 1, 0, 0]), np.eye(4)
    problem = Problem(X, F1(y), 0.1)
    certificate = judge(problem, Model(np.zeros(4)), Witness(y / 4, decomposition=np.array(rows))).certificate
    assert (certificate.dual, certificate.recomputed) == (0.0, True)


def test_rows_of_another_shape_are_refused():
    problem = Problem(np.eye(2), F1([1, -1]), 0.1)
    with pytest.raises(FenchelError, match=r"decomposition of a witness must have a row \(weight, fn, fp\)"):
        certify(problem, np.zeros(2), Witness(np.zeros(2), decomposition=np.ones(3)))


@given(st.integers(0, 2**32 - 1))
def test_no_witness_proves_too_much(seed):
    rng = np.random.default_rng(seed)
    name, parameter = OPEN[seed % len(OPEN)]
    y = rng.permutation(labels_of([1, 1, 1, 0, 0, 0]))
    X, intercept = np.round(rng.normal(size=(6, 2)) * 2) / 2, bool(seed % 2)
    risk = risk_of(name, y, parameter)
    l1 = bool(rng.random() < 0.3)
    problem = Problem(X, risk, 0.1, L1() if l1 else "l2", intercept=intercept)
    w, b, best = slow.optimum(name, X, y, 0.1, intercept, parameter, l1_ratio=float(l1))
    rows = random_rows(rng, risk, int(rng.integers(1, 5)))
    theta = labellings_of(rng, risk, random_rows(rng, risk, 3) if rng.random() < 0.5 else rows)
    rows[:, 0] *= rng.choice([1e-300, 1.0, 1e300])
    witness = Witness(theta * rng.choice([1.0, 0.5, 3.0]), -1e3, rows if rng.random() < 0.8 else None)
    verdict = judge(problem, Model(w, b), witness)
    assert verdict.certificate.recomputed
    assert 0.0 <= verdict.certificate.dual <= best + 1e-8
    for lam in (0.03, 0.5):
        _, _, other = slow.optimum(name, X, y, lam, intercept, parameter, l1_ratio=float(l1))
        assert verdict.path_certificate.at(lam).dual <= other + 1e-8
        assert verdict.path_certificate.at(lam).recomputed
    # the witness that a verdict returns proves the same again
    again = judge(problem, verdict.model, verdict.witness).certificate
    assert again.dual == pytest.approx(verdict.certificate.dual, abs=1e-12)


@pytest.mark.parametrize(("name", "parameter"), OPEN)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.meetings(1)
def test_solvers_prove_the_optimum(name, parameter, intercept):
    rng = np.random.default_rng(4)
    y = rng.permutation(labels_of([1, 1, 1, 0, 0, 0, 0]))
    X = rng.normal(size=(7, 3))
    risk = risk_of(name, y, parameter)
    problem = Problem(X, risk, 0.05, intercept=intercept)
    _, _, best = slow.optimum(name, X, y, 0.05, intercept, parameter)
    solvers = [Bundle(), Bundle(most_planes=4), Bundle(inner="line_search"), *([] if intercept else [Bregman()])]
    for solver in solvers:
        exact = solver == Bundle()
        solution = solve(problem, solver, tol=1e-9 if exact else 1e-2, max_iter=20000)
        assert solution.converged
        assert solution.certificate.recomputed
        assert solution.certificate.dual <= best + 1e-8
        # the bound is that of the planes themselves, not a weaker one
        assert solution.witness.conjugate_bound == pytest.approx(
            slow.conjugate(name, solution.witness.theta, y, parameter), abs=1e-7 if exact else 1e-1
        )
        assert certify(problem, solution).gap == pytest.approx(solution.certificate.gap, abs=1e-12)
        warm = solve(problem, solver, tol=1e-2, warm_start=solution)
        assert warm.passes == 0


def test_micro_averages_are_recomputed():
    rng = np.random.default_rng(5)
    labels = np.where(rng.random((20, 3)) < 0.3, 1.0, -1.0)
    problem = Problem(rng.normal(size=(20, 4)), micro(F1(labels.ravel()), 3), 0.02)
    solution = solve(problem, tol=1e-8)
    assert solution.converged
    assert solution.certificate.recomputed
    assert certify(problem, solution).dual == pytest.approx(solution.certificate.dual, abs=1e-12)


def test_other_lambdas_and_pickles_keep_the_mixture():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(50, 3)), labels_of(np.arange(50) < 12)
    problem = Problem(X, F1(y), 0.05, intercept=True)
    solution = pickle.loads(pickle.dumps(solve(problem, tol=1e-6)))
    assert certify(problem, solution).gap == pytest.approx(solution.certificate.gap, abs=1e-12)
    near = replace(solution.path_certificate.problem, lam=0.052)
    moved = solve(near, tol=0.05, warm_start=solution)
    # scaled for the other lambda, without a product with X
    assert moved.passes == 0
    assert moved.certificate.recomputed
    again = certify(Problem(X, F1(y), 0.052, intercept=True), moved)
    assert again.recomputed
    assert again.dual == pytest.approx(moved.certificate.dual, abs=1e-12)
    exact = solve(near, tol=1e-6, warm_start=moved)
    assert exact.converged
    assert exact.certificate.recomputed

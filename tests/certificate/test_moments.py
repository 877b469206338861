"""Certificates from second moments hold in exact arithmetic, and are those from the scores but for larger errors."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fenchel import LinearRegressor, Model, Problem, Witness, solve
from fenchel.certificate import gram_of, judge, judge_all
from fenchel.designs import as_design
from fenchel.path import follow
from fenchel.regularizers import L1, L2, ElasticNet, FreeDirections
from fenchel.risks import MeanRisk

intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
REGULARIZERS = {"l1": L1(), "l2": L2(), "elastic_net": ElasticNet(0.5)}


def case(rng, *, intercept, offset=0.0, size=1.0, weighted=False, regularizer="l1", dtype=float, rows=40):
    """A problem whose moments are known, and values of lam from the largest with weights."""
    X = (size * (rng.normal(size=(rows, 4)) + offset)).astype(dtype)
    y = X[:, 0].astype(float) / size + rng.normal(size=rows) + offset
    weights = rng.integers(0, 3, rows).astype(float) if weighted else None
    problem = Problem(X, MeanRisk("squared", y, weights), 1.0, REGULARIZERS[regularizer], intercept=intercept)
    assert gram_of(problem) is not None
    centred = y - np.average(y, weights=weights) if intercept else y
    largest = float(np.abs(problem.design.adjoint(problem.risk.shares * centred)).max())
    return problem, [largest * ratio for ratio in (1.1, 0.5, 0.1, 1e-3)]


def exact_sides(problem, model, scale):
    """P, and D of the exact multiple of the dual point of the residuals, with theta feasible or D minus infinity."""
    X = [[Fraction(float(x)) for x in row] for row in problem.design.sparse().toarray()]
    y, c = ([Fraction(float(x)) for x in values] for values in (problem.risk.labels, problem.risk.shares))
    w, lam, t = [Fraction(float(x)) for x in model.weights], Fraction(problem.lam), Fraction(scale)
    rho = Fraction(problem.regularizer.l1_ratio)
    offsets = [label - sum(a * b for a, b in zip(row, w, strict=True)) for row, label in zip(X, y, strict=True)]
    best = sum(a * b for a, b in zip(c, offsets, strict=True)) / sum(c) if problem.intercept else Fraction(0)
    penalty = rho * sum(map(abs, w)) + (1 - rho) * sum(x * x for x in w) / 2
    given = Fraction(float(model.intercept))
    primal = lam * penalty + sum(a * (r - given) ** 2 for a, r in zip(c, offsets, strict=True)) / 2
    theta = [t * a * (r - best) for a, r in zip(c, offsets, strict=True)]
    v = [sum(a * row[j] for a, row in zip(theta, X, strict=True)) / lam for j in range(len(w))]
    excess = [max(abs(x) - rho, Fraction(0)) for x in v]
    feasible = rho < 1 or not any(excess)
    conjugate = sum(x * x for x in excess) / (2 * (1 - rho)) if rho < 1 else Fraction(0)
    risk = sum(-a * label + (a * a / (2 * share) if share else 0) for a, label, share in zip(theta, y, c, strict=True))
    return primal, -lam * conjugate - risk if feasible else None


@intercepts
@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(("size", "offset", "dtype"), [(1.0, 0.0, float), (1e-5, 1e3, float), (1e6, 10.0, np.float32)])
def test_bounds_hold_in_rational_numbers(size, offset, dtype, weighted, regularizer, intercept):
    rng = np.random.default_rng(3)
    options = {"size": size, "offset": offset, "dtype": dtype, "weighted": weighted}
    problem, lams = case(rng, intercept=intercept, regularizer=regularizer, **options)
    models = [solution.model for solution in follow(problem, lams, tol=1e-3)]
    # a path forgets those that it can't compare with X
    assert gram_of(problem) is not None
    models += [Model(rng.normal(size=4) / size, 0.0) for _ in lams]
    problems = 2 * [problem.with_lam(lam) for lam in lams]
    given = [Model(model.weights, None if intercept else 0.0) for model in models]
    from_moments = 0
    for own, verdict in zip(problems, judge_all(problems, given, tol=1e-3), strict=True):
        if type(verdict.witness) is not Witness:
            from_moments += 1
            primal, dual = exact_sides(own, verdict.model, verdict.witness.scale)
            certificate = verdict.certificate
            assert abs(primal - Fraction(certificate.primal)) <= Fraction(certificate.primal_error)
            assert dual is not None, "theta is not feasible"
            assert dual >= Fraction(certificate.dual) - Fraction(certificate.dual_error)
    assert from_moments >= 2


def test_shares_whose_sum_is_not_one_are_counted_far_from_the_best_intercept():
    """The computed sum of the weights lacks fifteen roundings of an exact one, by sums of sixteen rows at a time."""
    weights = np.full((16, 256), (1.0 - 2.0**-20) * 2.0**-53)
    weights[0] = 1.0
    labels = np.where(np.arange(weights.size) % 2, 1e-9, -1e-9)
    X, risk = np.full((weights.size, 1), 1e-9), MeanRisk("squared", labels, weights.ravel())
    problem = Problem(X, risk, 1e-3, intercept=True)
    assert gram_of(problem) is not None
    shares = [Fraction(share) for share in problem.risk.shares.tolist()]
    assert sum(shares) - 1 > 14 * Fraction(2) ** -53
    (verdict,) = judge_all([problem], [Model(np.zeros(1), 1.0)])
    assert type(verdict.witness) is not Witness
    pairs = zip(shares, labels.tolist(), strict=True)
    assert sum(share * (1 - Fraction(label)) ** 2 for share, label in pairs) / 2 <= Fraction(verdict.certificate.upper)


def test_other_regularizers_have_certificates_from_the_scores():
    """Unregularized directions are charged for, and weights with a fixed sum are known up to rounding."""
    problem, _ = case(np.random.default_rng(10), intercept=False, regularizer="l2")
    free = replace(problem, lam=0.1, regularizer=FreeDirections(np.eye(4)[:1]))
    model = solve(free, tol=1e-9).model
    assert gram_of(free) is not None
    (verdict,) = judge_all([free], [model], tol=1e-3)
    assert type(verdict.witness) is Witness
    assert verdict.certificate.proves(1e-3)


@intercepts
def test_they_are_those_from_the_scores(intercept):
    rng = np.random.default_rng(4)
    problem, lams = case(rng, intercept=intercept, weighted=True, rows=300)
    problems = [problem.with_lam(lam) for lam in lams]
    models = [Model(size * rng.normal(size=4), None if intercept else 0.0) for size in (0.1, 0.2, 0.5, 1.0)]
    for own, verdict in zip(problems, judge_all(problems, models), strict=True):
        alone = judge(own, verdict.model, pickle.loads(pickle.dumps(verdict.witness)))
        assert verdict.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-12)
        # sum theta of floats is restored, and charged
        assert verdict.certificate.dual == pytest.approx(alone.certificate.dual, rel=1e-9)
        np.testing.assert_allclose(verdict.path_certificate.v, alone.path_certificate.v, rtol=1e-9, atol=1e-12)


@intercepts
def test_a_gap_near_their_errors_is_computed_from_the_scores(intercept):
    problem, lams = case(np.random.default_rng(5), intercept=intercept, offset=10.0, rows=300)
    problems = [problem.with_lam(lam) for lam in lams[1:]]
    best = [Model(solution.model.weights, None if intercept else 0.0) for solution in follow(problem, lams[1:], tol=0)]
    plain = replace(problem, design=problem.design.part(0, 300))
    floors = judge_all([plain.with_lam(own.lam) for own in problems], best)
    for verdict, fine in zip(judge_all(problems, best), floors, strict=True):
        assert type(verdict.witness) is Witness
        assert verdict.certificate == fine.certificate
    # unless that is finer than what is asked for
    for verdict in judge_all(problems, best, tol=1e-3):
        assert type(verdict.witness) is not Witness
        assert verdict.certificate.proves(1e-5)


def test_points_of_a_path_need_no_product_with_the_data(monkeypatch):
    problem, lams = case(np.random.default_rng(6), intercept=True, rows=300)
    problem.design.reusable.clear()
    calls = []
    for name in ("scores", "scores_by_output", "adjoint"):
        plain = getattr(type(problem.design), name)
        monkeypatch.setattr(
            type(problem.design), name, lambda *given, name=name, plain=plain: calls.append(name) or plain(*given)
        )
    solutions = follow(problem, np.geomspace(lams[0], lams[-1], 60), tol=1e-4)
    assert all(solution.converged for solution in solutions)
    # X^T C y, and one that tells whether X has changed when the next call begins
    assert calls == ["adjoint", "adjoint"]
    theta = solutions[-1].witness.theta
    assert theta.shape == (300,)
    assert abs(theta.sum()) < 1e-12


def assert_path_of_the_present_rows(problem, lams):
    fresh = replace(problem, design=problem.design.part(0, len(problem.risk.shares)))
    for solution, lam in zip(follow(problem, lams, tol=1e-4), lams, strict=True):
        again = judge(fresh.with_lam(lam), solution.model, Witness(solution.witness.theta)).certificate
        assert solution.certificate.primal == pytest.approx(again.primal, rel=1e-9)
        assert solution.certificate.dual == pytest.approx(again.dual, rel=1e-9)


@intercepts
@pytest.mark.parametrize("change", ["rows", "order", "entry"])
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_rows_that_were_changed_in_place_have_other_moments(change, dtype, intercept):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 4)).astype(dtype)
    problem = Problem(X, MeanRisk("squared", X[:, 0] + rng.normal(size=300)), 0.1, "l1", intercept=intercept)
    lams = [0.3, 0.1]
    follow(problem, lams, tol=1e-4)
    if change == "order":
        rng.shuffle(X)
    else:
        X[slice(None) if change == "rows" else (7, 2)] *= 3.0
    assert_path_of_the_present_rows(problem, lams)


@intercepts
def test_entries_that_changed_places_between_rows_with_the_same_label_have_other_moments(intercept):
    """Then X^T c and X^T C y are what they were, to the last bit for small integers and a power of two of rows."""
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, (256, 4)).astype(float)
    y = np.where(X[:, 0] + rng.normal(size=256) > 0.0, 1.0, -1.0)
    problem, lams = Problem(X, MeanRisk("squared", y), 0.1, "l1", intercept=intercept), [0.3, 0.1]
    follow(problem, lams, tol=1e-4)
    same = np.flatnonzero(y > 0.0)
    X[same, 2] = np.sort(X[same, 2])[np.argsort(np.argsort(X[same, 0]))]
    assert_path_of_the_present_rows(problem, lams)


@intercepts
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_a_design_whose_rows_have_changed_since_an_earlier_fit_has_other_sums(l1_ratio, intercept):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    design, own = as_design(X), {"C": 0.01, "l1_ratio": l1_ratio, "fit_intercept": intercept, "random_state": 0}
    LinearRegressor("squared", **own).fit(design, y)
    X *= [1.0, 3.0, 100.0]
    again, fresh = (LinearRegressor("squared", **own).fit(rows, y) for rows in (design, X.copy()))
    assert again.certificate_ == fresh.certificate_
    np.testing.assert_array_equal(again.screened(X, y).features, fresh.screened(X, y).features)
    for one, other in zip(again._optimum.sketches, fresh._optimum.sketches, strict=True):
        np.testing.assert_array_equal(one.zero_weights, other.zero_weights)


def test_other_labels_have_other_moments():
    rng = np.random.default_rng(7)
    problem, lams = case(rng, intercept=False, rows=300)
    other = replace(problem, risk=MeanRisk("squared", rng.normal(size=300)), lam=lams[1])
    model = Model(np.ones(4), 0.0)
    for own in (problem, other, problem.with_lam(lams[2])):
        (verdict,) = judge_all([own], [model])
        assert verdict.certificate.primal == pytest.approx(judge(own, model, Witness(np.zeros(300))).certificate.primal)


def test_other_weights_of_the_rows_have_other_moments():
    """As folds have, in threads, which may replace what the design keeps at any time."""
    rng = np.random.default_rng(9)
    problem, _ = case(rng, intercept=True, rows=300, weighted=True)
    other = replace(problem, risk=MeanRisk("squared", problem.risk.labels, rng.integers(0, 3, 300)))
    model, kept = Model(np.ones(4), None), problem.design.reusable
    expected, of_rows = judge_all([problem], [model])[0].certificate, dict(kept)
    gram_of(other)
    assert judge_all([other], [model])[0].certificate.primal != pytest.approx(expected.primal, rel=1e-3)
    for name in list(kept)[:1]:
        kept[name] = of_rows[name]
    assert judge_all([problem], [model])[0].certificate == expected


def test_solvers_do_not_write_to_them():
    problem, _ = case(np.random.default_rng(8), intercept=False)
    gram, mean = gram_of(problem)
    for array in (gram, mean):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_other_problems_have_none():
    X, y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    for loss in ("huber", "squared_hinge", "squared_epsilon_insensitive", "absolute"):
        assert gram_of(Problem(X, MeanRisk(loss, y), 1.0)) is None
    assert gram_of(Problem(X, MeanRisk("squared", np.stack([y, y], axis=1)), 1.0)) is None

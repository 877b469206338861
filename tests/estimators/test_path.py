"""Paths: what a verdict proves for other strengths of the regularization, warm starts, covered intervals."""

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest

from catalog import Case
from fenchel import (
    FenchelError,
    GapWarning,
    LinearClassifier,
    LinearRegressor,
    Problem,
    Status,
    regularization_path,
    solve,
)
from fenchel.certificate import judge, judge_moved
from fenchel.path import cover, follow, solved_lam
from fenchel.regularizers import Entropy, FreeDirections
from fenchel.risks import MeanRisk
from fenchel.solvers.l1 import gram_path, prox_newton
from slow_conic import conic_optimum

#: what is proved for one C proves nothing for another
PRICED = FreeDirections([[1.0, 0.0, 0.0, 0.0, 0.0]], [0.01])
LOSSES = ("hinge", "logistic", "squared_hinge", "epsilon_insensitive", "huber", "quantile")
CASES = [
    Case(loss, storage, intercept, weighted, lam=0.05, l1_ratio=l1_ratio)
    for loss, storage, intercept, weighted, l1_ratio in (
        ("hinge", "dense", False, False, 0.0),
        ("hinge", "sparse", True, True, 0.0),
        ("logistic", "dense", True, False, 0.5),
        ("squared_hinge", "sparse", False, True, 0.5),
        ("epsilon_insensitive", "dense", True, True, 0.0),
        ("huber", "sparse", True, False, 0.3),
        ("quantile", "dense", False, True, 0.0),
    )
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def optimum(case, lam):
    solution = solve(replace(case.problem(), lam=lam), tol=1e-10, max_iter=5000)
    return solution.certificate


@every_case
def test_a_span_is_sound_for_every_lam(case):
    problem = case.problem()
    solution = solve(problem, tol=1e-4)
    for factor in (1e-3, 0.2, 0.7, 1.0, 1.5, 10.0, 1e4):
        lam = factor * problem.lam
        certificate, known = solution.path_certificate.at(lam), optimum(case, lam)
        slack = 1e-9 * abs(known.primal)
        assert certificate.dual <= known.primal + slack
        assert certificate.primal >= known.dual - slack
        # P is that of the model itself
        again = judge(replace(problem, lam=lam), solution.model, solution.witness).certificate
        assert certificate.primal == pytest.approx(again.primal, rel=1e-12)
        # scaling theta can only help
        assert certificate.dual >= again.dual - 1e-12 * abs(again.dual) - 1e-15


@every_case
def test_what_was_moved_can_be_judged_again(case):
    problem = case.problem()
    solution = solve(problem, tol=1e-4)
    for factor in (0.1, 0.8, 3.0):
        other = replace(problem, lam=factor * problem.lam)
        moved = judge_moved(other, solution.model, solution.witness, solution.path_certificate)
        again = judge(other, moved.model, moved.witness).certificate
        assert again.dual >= moved.certificate.dual - 1e-12 * abs(moved.certificate.dual) - 1e-15
        assert moved.path_certificate.at(other.lam).dual == pytest.approx(moved.certificate.dual, rel=1e-9)


@every_case
def test_the_gap_is_convex_in_lam_and_reach_is_its_edge(case):
    problem = case.problem()
    path_certificate = solve(problem, tol=1e-5).path_certificate
    lams = problem.lam * np.geomspace(0.05, 20, 41)
    gaps = np.array([path_certificate.at(lam).gap - 0.02 * path_certificate.at(lam).primal for lam in lams])
    slopes = np.diff(gaps) / np.diff(lams)
    assert np.all(np.diff(slopes) >= -1e-7 * np.max(np.abs(slopes)))
    for factor in (0.9, 1.1):
        edge = path_certificate.farthest_lam(problem.lam, 0.02, factor)
        inside, outside = (
            path_certificate.at(edge),
            path_certificate.at(edge * (1 + 1e-3) if factor > 1 else edge / (1 + 1e-3)),
        )
        assert inside.gap <= 0.02 * inside.primal * (1 + 1e-12)
        assert outside.gap > 0.02 * outside.primal or edge / problem.lam > 1e10 or edge / problem.lam < 1e-10


@every_case
def test_condensed_spans_say_the_same(case):
    path_certificate = solve(case.problem(), tol=1e-4).path_certificate
    for lam in (0.001, 0.05, 2.0):
        full, short = path_certificate.at(lam), path_certificate.compress().at(lam)
        assert short.primal == full.primal
        assert short.dual == pytest.approx(full.dual, rel=1e-12, abs=1e-15)


@every_case
def test_follow_certifies_every_point_in_the_order_that_was_asked_for(case):
    problem, lams = case.problem(), [0.02, 1.0, 0.1, 0.3]
    solutions = follow(problem, lams, tol=1e-6, max_iter=5000)
    for lam, solution in zip(lams, solutions, strict=True):
        assert solution.certificate.relative_gap <= 1e-6
        assert solved_lam(solution) == lam
        assert solution.certificate.primal == pytest.approx(optimum(case, lam).primal, rel=2e-6)


def test_weights_of_a_path_are_rows_of_one_array():
    problem = Case("squared_hinge").problem()
    lams = [0.3, 0.1, 0.03]
    coefs = np.full((4, *problem.weights_shape), np.nan)
    solutions = follow(problem, lams, tol=1e-6, coefs=coefs)
    assert all(solution.model.weights.base is coefs for solution in solutions)
    for row, alone in zip(coefs, follow(problem, lams, tol=1e-6), strict=False):
        np.testing.assert_array_equal(row, alone.model.weights)
    assert np.isnan(coefs[3]).all()


@every_case
@pytest.mark.meetings(1)
def test_cover_proves_every_lam_between(case, full_products):
    accuracy, (low, high) = 0.03 if full_products else 0.1, (0.005, 2.0)
    solutions = cover(case.problem(), low, high, accuracy, max_iter=5000)
    lams = [solved_lam(solution) for solution in solutions]
    assert lams[0] == high
    assert lams[-1] == low
    assert lams == sorted(lams, reverse=True)
    random = np.random.default_rng(0)
    for lam in np.exp(random.uniform(np.log(low), np.log(high), 200 if full_products else 50)):
        best = min(solutions, key=lambda solution: solution.path_certificate.at(lam).gap).path_certificate.at(lam)
        assert best.gap <= accuracy * best.primal * (1 + 1e-9)
    for lam in np.exp(random.uniform(np.log(low), np.log(high), 5)):
        known = optimum(case, lam)
        best = min(solutions, key=lambda solution: solution.path_certificate.at(lam).gap).path_certificate.at(lam)
        assert best.dual <= known.primal * (1 + 1e-9)
        assert best.primal >= known.dual * (1 - 1e-9)


def test_a_covered_point_agrees_with_a_conic_solver():
    case = CASES[0]
    X, y, _ = case.data()
    problem = case.problem()
    solutions = cover(problem, 0.01, 1.0, 0.02)
    for lam in (0.013, 0.2, 0.77):
        best = max(solution.path_certificate.at(lam).dual for solution in solutions)
        exact = conic_optimum(case.loss, X, y, problem.risk.shares, lam, case.intercept)[2]
        assert best <= exact + 1e-9
        assert exact - best <= 0.02 * exact + 1e-9


def test_a_time_limit_ends_a_path():
    problem = Case("hinge", n=300, d=20).problem()
    (only,) = follow(problem, [1.0], time_limit=0.0, tol=1e-12)
    assert only.status is Status.TIME_LIMIT
    assert len(follow(problem, [1.0, 0.1, 0.01], time_limit=0.0, tol=1e-12)) == 1
    assert len(cover(problem, 1e-3, 1.0, 1e-6, time_limit=0.0)) == 1


def lasso(n=120, d=12, **options):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    y = X[:, 0] - 2.0 * X[:, 3] + rng.normal(size=n)
    return Problem(X, MeanRisk("squared", y), 1.0, "l1", **options)


@pytest.mark.parametrize("intercept", [False, True])
def test_points_of_the_lasso_are_proposed_together(intercept):
    problem, lams = lasso(intercept=intercept), np.geomspace(2.0, 1e-3, 60)
    solutions = follow(problem, lams, tol=1e-5)
    assert [solved_lam(solution) for solution in solutions] == list(lams)
    for lam, solution in zip(lams, solutions, strict=True):
        assert solution.converged
        assert solution.solver == "prox_newton"
        assert solution.certificate.relative_gap <= 1e-5
        alone = solve(replace(problem, lam=lam), tol=1e-9)
        assert solution.certificate.primal == pytest.approx(alone.certificate.primal, rel=1e-5)
        assert solution.certificate.dual <= alone.certificate.primal * (1 + 1e-12)
    # the Gram matrix and the dual points of all
    assert sum(solution.passes for solution in solutions) == len(lams) + 1


def test_proposals_that_miss_the_tolerance_are_solved(monkeypatch):
    problem, lams = lasso(), [1.0, 0.1, 0.01]
    monkeypatch.setattr(gram_path, "_MAX_SWEEPS", 1)
    solutions = follow(problem, lams, tol=1e-7)
    assert all(solution.converged for solution in solutions)
    assert all(solution.certificate.relative_gap <= 1e-7 for solution in solutions)
    assert sum(solution.passes for solution in solutions) > len(lams) + 1


def test_a_stop_ends_proposals_too(monkeypatch):
    problem, lams = lasso(), list(np.geomspace(1.0, 0.1, 60))
    (only,) = follow(problem, lams, tol=1e-3, time_limit=0.0)
    assert only.status is Status.TIME_LIMIT
    (only,) = follow(problem, lams, tol=1e-3, stop_requested=lambda: True)
    assert only.status is Status.INTERRUPTED

    def interrupted(*arguments):
        yield from itertools.islice(propose(*arguments), 1)
        raise KeyboardInterrupt

    propose = gram_path.propose_points
    monkeypatch.setattr(gram_path, "_MOST_POINTS", 25)
    monkeypatch.setattr(prox_newton, "propose_points", interrupted)
    solutions = follow(problem, lams, tol=1e-3)
    assert len(solutions) == gram_path._MOST_POINTS + 1
    assert solutions[-1].status is Status.INTERRUPTED
    assert all(solution.converged for solution in solutions[:-1])


def test_the_lasso_has_at_most_a_hundred_points_by_default(full_products):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = X[:, 0] + rng.normal(size=30)
    for loss, labels in (("squared", y), ("absolute", y)):
        path = regularization_path(X, labels, loss=loss, l1_ratio=1.0, tol=1e-4 if full_products else 1e-3)
        assert len(path) == 100
        assert np.all(np.diff(path.Cs) > 0)
        assert not np.any(path.coefs[0])
        # with a little less regularization there is a weight
        assert np.any(path.coefs[3])
    # the second path has another largest lam
    half = regularization_path(X, 2.0 * y, loss="squared", l1_ratio=1.0)
    whole = regularization_path(X, y, loss="squared", l1_ratio=1.0)
    np.testing.assert_allclose(2.0 * half.Cs, whole.Cs)


def two_classes(seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((80, 5))
    return X, np.where(X @ [1.0, -1.0, 0.5, 0.0, 0.0] + 0.5 * random.standard_normal(80) > 0, "yes", "no")


def test_points_agree_with_the_estimators():
    X, y = two_classes()
    path = regularization_path(X, y, [1.0, 0.01, 0.1], tol=1e-8, random_state=0, max_iter=5000)
    np.testing.assert_array_equal(path.Cs, [0.01, 0.1, 1.0])
    assert list(path.classes) == ["no", "yes"]
    for C, coef, certificate in zip(path.Cs, path.coefs, path.certificates, strict=True):
        model = LinearClassifier(C=C, tol=1e-8, max_iter=5000, random_state=0).fit(X, y)
        assert certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-7)
        np.testing.assert_allclose(coef, model.coef_[0], atol=1e-3)
    target = X @ np.arange(5.0)
    path = regularization_path(X, target, [0.5, 5.0], loss="absolute", l1_ratio=0.3, tol=1e-8, max_iter=5000)
    assert path.classes is None
    for C, certificate in zip(path.Cs, path.certificates, strict=True):
        model = LinearRegressor("absolute", C=C, l1_ratio=0.3, tol=1e-8, max_iter=5000).fit(X, target)
        assert certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-7)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_every_c_of_an_interval_is_certified(loss, l1_ratio, portion):
    X, y = two_classes(1)
    weights = np.random.default_rng(2).random(80)
    path = regularization_path(X, y, (0.01, 10.0), loss=loss, l1_ratio=l1_ratio, accuracy=0.02, sample_weight=weights)
    assert path.Cs[0] == pytest.approx(0.01)
    assert path.Cs[-1] == pytest.approx(10.0)
    assert path.accuracy == 0.02
    assert len(path) == len(path.Cs)
    for C in np.geomspace(0.01, 10.0, portion(60)):
        coef, intercept, certificate = path.at(C)
        assert certificate.relative_gap <= 0.02
        model = LinearClassifier(loss, C=C, l1_ratio=l1_ratio, tol=1e-9, max_iter=5000).fit(X, y, weights)
        assert certificate.dual <= model.certificate_.primal * (1 + 1e-9)
        assert certificate.primal >= model.certificate_.dual * (1 - 1e-9)
        lam, scores = 1 / (C * weights.sum()), np.where(y == "yes", 1, -1) * (X @ coef + intercept)
        losses = np.maximum(0, 1 - scores) if loss == "hinge" else np.logaddexp(0, -scores)
        omega = (1 - l1_ratio) / 2 * coef @ coef + l1_ratio * np.sum(np.abs(coef))
        assert certificate.primal == pytest.approx(lam * omega + weights @ losses / weights.sum(), rel=1e-9)


@pytest.mark.parametrize("regularizer", ["q_norm", "unnormalized_entropy", Entropy(3.0, balanced=True)], ids=str)
def test_any_regularizer_has_a_path(regularizer):
    X, y = two_classes(2)
    options = {"regularizer": regularizer, "max_iter": 5000, "random_state": 0}
    path = regularization_path(X, y, (0.05, 5.0), accuracy=0.02, **options)
    assert path.accuracy == 0.02
    for C in np.geomspace(0.05, 5.0, 5):
        model = LinearClassifier(C=C, tol=1e-7, **options).fit(X, y)
        coef, intercept, certificate = path.at(C)
        assert certificate.relative_gap <= 0.02
        assert certificate.dual <= model.certificate_.primal * (1 + 1e-9)
        assert certificate.primal >= model.certificate_.dual * (1 - 1e-9)
        losses = np.maximum(0, 1 - np.where(y == "yes", 1, -1) * (X @ coef + intercept))
        omega = model._regularizer().value(coef)
        assert certificate.primal == pytest.approx(omega / (C * 80) + losses.mean(), rel=1e-9)
    with pytest.raises(FenchelError, match="l1_ratio"):
        regularization_path(X, y, [1.0], regularizer=regularizer, l1_ratio=0.5)


@pytest.mark.parametrize("regularizer", ["q_norm", Entropy(3.0, balanced=True)], ids=str)
def test_points_with_another_regularizer_start_from_the_last(regularizer):
    X, y = two_classes()
    options = {"regularizer": regularizer, "max_iter": 5000, "random_state": 0, "tol": 1e-5}
    path = regularization_path(X, y, np.geomspace(0.5, 2.0, 9), **options)
    cold = [LinearClassifier(C=C, **options).fit(X, y) for C in path.Cs]
    for model, certificate in zip(cold, path.certificates, strict=True):
        assert certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-5)
    assert sum(path.n_iters[1:]) < 0.8 * sum(model.trace_[-1].passes for model in cold[1:])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.filterwarnings("ignore:C=.* is outside of the path:fenchel.GapWarning")
def test_a_path_does_not_keep_the_data(intercept):
    X = np.random.default_rng(5).standard_normal((2000, 40))
    path = regularization_path(X, np.sign(X[:, 0] + 0.3), [0.01, 1.0], loss="logistic", fit_intercept=intercept)
    kept = pickle.dumps(path)
    assert len(kept) < X.nbytes / 4
    for C in (0.005, 0.02, 3.0):
        assert pickle.loads(kept).at(C)[2] == path.at(C)[2]


def test_without_cs_the_interval_follows_the_size_of_the_rows():
    X, y = two_classes()
    path = regularization_path(10 * X, y, accuracy=0.2)
    size = np.mean(np.sum((10 * X) ** 2, axis=1))
    np.testing.assert_allclose(path.Cs[[0, -1]] * size, [1e-3, 1e3], rtol=1e-9)


def test_points_that_fall_short_are_told():
    X, y = two_classes()
    with pytest.warns(GapWarning, match="points of the path did not reach"):
        regularization_path(X, y, [100.0], tol=1e-12, max_iter=1, solver="dual_coordinate")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": []}, "Cs must hold"),
        ({"Cs": [1.0, -2.0]}, "Cs must be a positive"),
        ({"Cs": [1.0, np.nan]}, "Cs must be a positive"),
        ({"Cs": (1.0,)}, "interval"),
        ({"Cs": (2.0, 1.0)}, "must be increasing"),
        ({"Cs": (0.0, 1.0)}, "Cs must be a positive"),
        ({"Cs": (0.1, 1.0), "accuracy": 0}, "accuracy must be a positive"),
        ({"loss": "nothing"}, "loss='nothing'"),
        ({"l1_ratio": 1.1}, "l1_ratio"),
        ({"Cs": (0.1, 1.0), "regularizer": PRICED}, "does not support a path over an interval"),
        ({"Cs": None, "regularizer": PRICED}, "does not support a path over an interval"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options, message):
    X, y = two_classes()
    with pytest.raises(FenchelError, match=message):
        regularization_path(X, y, **{"Cs": [1.0], **options})
    path = regularization_path(X, y, [0.1])
    with pytest.raises(FenchelError, match="C must be"):
        path.at(-1.0)


def test_three_classes_against_the_rest_are_refused():
    X, _ = two_classes()
    for options in ({"multi_class": "ovr"}, {"loss": "squared_hinge"}, {"l1_ratio": 0.5}):
        with pytest.raises(FenchelError, match="two classes"):
            regularization_path(X, np.arange(80) % 3, [1.0], **options)


def test_a_point_of_a_path_can_start_any_solver():
    problem = Case("hinge", n=60).problem()
    point = follow(problem, [problem.lam], tol=1e-3)[0]
    for solver in ("dual_coordinate", "newton"):
        assert solve(problem, solver, tol=1e-8, warm_start=point).converged


def test_an_accuracy_below_the_floor_ends():
    assert len(cover(Case("squared").problem(), 0.01, 0.02, 1e-15)) < 1000


def test_a_path_that_ends_early_says_so():
    X, y = two_classes()
    with pytest.warns(GapWarning, match=r"ended at C=0.01, before C=1"):
        path = regularization_path(X, y, [0.01, 1.0], tol=1.0, time_limit=1e-9)
    assert len(path) == 1
    with pytest.warns(GapWarning, match=r"before C=100"):
        path = regularization_path(X, y, (0.01, 100.0), accuracy=20.0, time_limit=1e-9)
    assert path.accuracy == 20.0  # of what there is


@pytest.mark.thorough
def test_a_lasso_path_of_columns_far_from_zero(full_products):
    """Centring their Gram matrix would cancel: the points are solved one after the other."""
    random = np.random.default_rng(0)
    X = random.standard_normal((50, 8))
    y = X[:, :3] @ [1.0, -2.0, 3.0] + 0.1 * random.standard_normal(50)
    for offset in (3e7, 1e8) if full_products else (1e8,):
        path = regularization_path(X + offset, y, [0.1, 1.0, 10.0], loss="squared", l1_ratio=1)
        assert all(certificate.relative_gap <= 1e-3 for certificate in path.certificates)

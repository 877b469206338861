"""Paths of joint risks: every point and every C between is certified, as for two classes."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

import slow_multiclass as slow
from catalog import PLAIN_JOINT_CASES
from fenchel import LinearClassifier, plot_path, regularization_path, solve
from fenchel.certificate import judge
from fenchel.path import cover, follow, solved_lam

every_case = pytest.mark.parametrize("case", PLAIN_JOINT_CASES, ids=str)
every_form = pytest.mark.parametrize("multi_class", ["weston_watkins", "crammer_singer"])


def three_classes(n=90):
    X, y = make_classification(n, 6, n_informative=4, n_classes=3, flip_y=0.1, random_state=0)
    return X, np.array(["pear", "apple", "quince"])[y]


@pytest.mark.meetings(1)
@every_case
def test_a_span_is_sound_and_what_it_moved_can_be_judged(case):
    """With intercepts too: a nonzero sum of a column of theta is charged at every lam."""
    problem = case.problem()
    solution = solve(problem, tol=1e-3, max_iter=5000)
    for factor in (0.05, 0.5, 0.9, 1.2, 4.0, 100.0):
        lam = factor * problem.lam
        found, known = (
            solution.path_certificate.at(lam),
            solve(replace(problem, lam=lam), tol=1e-8, max_iter=20_000).certificate,
        )
        assert found.dual <= known.primal * (1 + 1e-9)
        assert found.primal >= known.dual * (1 - 1e-9)
        again = judge(replace(problem, lam=lam), solution.model, solution.witness).certificate
        assert found.primal == pytest.approx(again.primal, rel=1e-12)
        assert found.dual >= again.dual - 1e-12 * abs(again.dual) - 1e-15
        assert solution.path_certificate.compress().at(lam).dual == pytest.approx(found.dual, rel=1e-12, abs=1e-15)


@every_case
def test_an_unbalanced_theta_is_charged_at_every_lam(case):
    """A path_certificate with something left of the sums says less, by that times the bound on the intercepts there."""
    problem = case.problem()
    path_certificate = solve(problem, tol=1e-3, max_iter=5000).path_certificate
    left = np.array([1e-6, 0.0, 2e-6, 0.0])
    for lam in (0.5 * problem.lam, 2.0 * problem.lam):
        plain, charged = (
            replace(path_certificate, unbalanced=np.zeros(4)).at(lam),
            replace(path_certificate, unbalanced=left).at(lam),
        )
        reach = np.sqrt(2 * plain.primal / lam) * np.sqrt(problem.design.squared_row_norms)
        bound = problem.risk.intercept_bound(plain.primal, reach)
        assert plain.dual - charged.dual <= left @ bound * (1 + 1e-5)
        assert plain.dual - charged.dual > 0


@pytest.mark.meetings(1)
@every_case
def test_follow_and_cover(case):
    problem, lams = case.problem(), [0.02, 1.0, 0.1]
    for lam, solution in zip(lams, follow(problem, lams, tol=1e-5, max_iter=20_000), strict=True):
        cold = solve(replace(problem, lam=lam), tol=1e-8, max_iter=20_000).certificate
        assert solution.certificate.relative_gap <= 1e-5
        assert solution.certificate.primal == pytest.approx(cold.primal, rel=2e-5)
    accuracy, (low, high) = 0.05, (0.02, 1.0)
    solutions = cover(problem, low, high, accuracy, max_iter=20_000)
    assert (solved_lam(solutions[0]), solved_lam(solutions[-1])) == (high, low)
    random = np.random.default_rng(0)
    for lam in np.exp(random.uniform(np.log(low), np.log(high), 100)):
        best = min(
            (solution.path_certificate.at(lam) for solution in solutions), key=lambda certificate: certificate.gap
        )
        assert best.gap <= accuracy * best.primal * (1 + 1e-9)


@pytest.mark.meetings(1)
@every_form
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_points_agree_with_cold_fits(multi_class, storage):
    X, y = three_classes()
    options = {"multi_class": multi_class, "tol": 1e-8, "max_iter": 20_000, "random_state": 0}
    path = regularization_path(storage(X), y, [1.0, 0.01, 0.1], **options)
    assert path.coefs.shape == (3, 3, 6)
    assert path.intercepts.shape == (3, 3)
    assert list(path.classes) == ["apple", "pear", "quince"]
    for C, coef, intercept, certificate in zip(path.Cs, path.coefs, path.intercepts, path.certificates, strict=True):
        model = LinearClassifier(C=C, **options).fit(X, y)
        assert certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-7)
        np.testing.assert_allclose(coef, model.coef_, atol=1e-3)
        assert intercept.sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.meetings(1)
@every_form
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_every_c_of_an_interval_is_certified(multi_class, fit_intercept, portion):
    X, y = three_classes()
    weights = np.random.default_rng(2).random(90)
    path = regularization_path(
        X,
        y,
        (0.01, 1.0),
        multi_class=multi_class,
        fit_intercept=fit_intercept,
        accuracy=0.05,
        sample_weight=weights,
        max_iter=20_000,
    )
    assert path.accuracy == 0.05
    encoded, c = np.searchsorted(path.classes, y), weights / weights.sum()
    for C in np.geomspace(0.01, 1.0, 2 + portion(10)):
        coef, intercept, certificate = path.at(C)
        assert coef.shape == (3, 6)
        assert certificate.relative_gap <= 0.05
        lam = 1 / (C * weights.sum())
        *_, best = slow.optimum(multi_class, X, encoded, 3, c, lam, fit_intercept)
        assert certificate.dual <= best * (1 + 1e-8)
        primal = float(slow.primal(multi_class, X, encoded, c, lam, coef, intercept))
        assert certificate.primal == pytest.approx(primal, rel=1e-9)


def test_a_class_without_weight_is_as_if_removed():
    X, y = make_classification(120, 6, n_informative=4, n_classes=4, flip_y=0.1, random_state=0)
    options = {"multi_class": "weston_watkins", "tol": 1e-9, "max_iter": 20_000}
    for gone in (1, 3):
        path = regularization_path(X, y, [0.1], sample_weight=(y != gone).astype(float), **options)
        removed = regularization_path(X[y != gone], y[y != gone], [0.1], **options)
        assert path.coefs.shape == (1, 3, 6)
        assert path.certificates[0].primal == pytest.approx(removed.certificates[0].primal, rel=1e-8)


@every_form
def test_two_classes_are_the_two_class_problem(multi_class):
    X, y = three_classes()
    joint, plain = (regularization_path(X, y == "pear", [0.1], multi_class=m) for m in (multi_class, "ovr"))
    np.testing.assert_array_equal(joint.coefs, plain.coefs)
    assert joint.coefs.shape == (1, 6)


def test_a_path_of_several_classes_can_be_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    path = regularization_path(*three_classes(), (0.01, 0.1), multi_class="crammer_singer", accuracy=0.1)
    weights, _ = plot_path(path)
    assert len(weights.get_lines()) == 18 + 1


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"multi_class": "ovr"},
            "multi_class='ovr' makes 3 classes several problems.*follow one at a time.*'weston_watkins'",
        ),
        ({"multi_class": "ovo"}, "multi_class='ovo' makes 3 classes several problems"),
        ({"multi_class": "ww"}, "multi_class=.* is unknown.*choose one of 'auto', 'ovr', 'ovo'.*'weston_watkins'"),
        ({"multi_class": "weston_watkins", "loss": "logistic"}, "requires loss='hinge'"),
        ({"sample_weight": np.zeros(90)}, "[Ss]ample weights"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options, match):
    with pytest.raises(ValueError, match=match):
        regularization_path(*three_classes(), [1.0], **options)

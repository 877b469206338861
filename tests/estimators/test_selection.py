"""Choice of C by folds: the scores of plain loops, any number of threads, weights, several classes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_regression
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import FenchelError, GapWarning, LinearClassifier, LinearClassifierCV, LinearRegressor, LinearRegressorCV
from fenchel.regularizers import QNorm

CS = [0.1, 1.0]


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.meetings(1, law="scikit_learn_checks")
@parametrize_with_checks(
    [
        LinearClassifierCV("squared_hinge", Cs=CS, cv=3, tol=0.0, random_state=0),
        LinearRegressorCV(Cs=CS, cv=3, tol=0.0, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def flowers():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_scores_are_those_of_a_plain_loop(flowers, scoring):
    X, y = flowers
    model = LinearClassifierCV("logistic", Cs=CS, cv=4, scoring=scoring, tol=1e-8, random_state=0).fit(X, y)
    expected = np.zeros((4, 2))
    for fold, (train, test) in enumerate(StratifiedKFold(4).split(X, y)):
        for place, C in enumerate(CS):
            one = LinearClassifier("logistic", C=C, tol=1e-8, random_state=0).fit(X[train], y[train])
            expected[fold, place] = get_scorer(scoring or "accuracy")(one, X[test], y[test])
    np.testing.assert_allclose(model.scores_, expected, atol=1e-12)
    assert model.gaps_.shape == (4, 2)
    assert model.gaps_.max() <= 1e-8
    assert CS[int(np.argmax(expected.mean(axis=0)))] == model.C_
    last = LinearClassifier("logistic", C=model.C_, tol=1e-8, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, last.coef_, atol=1e-5)
    assert model.converged_


def test_regression_with_several_targets_and_threads():
    X, y = make_regression(60, 5, n_targets=2, noise=3.0, random_state=0)
    models = [LinearRegressorCV(Cs=[0.01, 1.0], cv=3, tol=1e-9, n_jobs=n, random_state=0).fit(X, y) for n in (1, 3)]
    np.testing.assert_array_equal(models[0].scores_, models[1].scores_)
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    train, test = next(KFold(3).split(X))
    one = LinearRegressor(C=0.01, tol=1e-9).fit(X[train], y[train])
    assert models[0].scores_[0, 0] == pytest.approx(one.score(X[test], y[test]), rel=1e-6)


def test_another_regularizer(flowers, rarely_compiled):
    X, y = flowers[0][50:], flowers[1][50:]
    options = {"regularizer": QNorm(), "tol": 1e-6, "max_iter": 5000, "random_state": 0}
    model = LinearClassifierCV(Cs=CS, cv=2, **options).fit(X, y)
    expected = [
        [LinearClassifier(C=C, **options).fit(X[train], y[train]).score(X[test], y[test]) for C in CS]
        for train, test in StratifiedKFold(2).split(X, y)
    ]
    np.testing.assert_allclose(model.scores_, expected, atol=1e-12)
    last = LinearClassifier(C=model.C_, **options).fit(X, y)
    assert model.certificate_.primal == pytest.approx(last.certificate_.primal, rel=2e-6)
    regression = LinearRegressorCV("absolute", Cs=CS, cv=2, regularizer="unnormalized_entropy", random_state=0)
    regression.fit(X[:, :2], X[:, 2])
    assert np.all(regression.coef_ > 0)
    assert regression.gaps_.max() <= 1e-3
    assert clone(regression).get_params()["regularizer"] == "unnormalized_entropy"


def test_ties_take_the_strongest_regularization():
    X, y = np.repeat([[-1.0], [1.0]], 20, axis=0), np.repeat([0, 1], 20)
    model = LinearClassifierCV(Cs=[10.0, 0.1, 1.0], cv=2, random_state=0).fit(X, y)
    assert np.all(model.scores_ == 1.0)
    assert model.C_ == 0.1


def test_examples_without_weight_are_left_out(flowers):
    X, y = flowers
    random = np.random.default_rng(0)
    keep = random.random(150) < 0.7
    folds = [(np.flatnonzero(np.arange(150) % 3 != k), np.flatnonzero(np.arange(150) % 3 == k)) for k in range(3)]
    number = np.cumsum(keep) - 1
    kept = [tuple(number[part[keep[part]]] for part in fold) for fold in folds]
    options = {"Cs": CS, "tol": 1e-9, "random_state": 0, "class_weight": "balanced"}
    weighted = LinearClassifierCV("logistic", cv=folds, **options).fit(X, y, keep.astype(float))
    removed = LinearClassifierCV("logistic", cv=kept, **options).fit(X[keep], y[keep])
    np.testing.assert_allclose(weighted.scores_, removed.scores_, atol=1e-12)
    np.testing.assert_allclose(weighted.coef_, removed.coef_, atol=1e-4)


@pytest.mark.parametrize("Cs", [0, -3, [], [1.0, -1.0], [np.inf], "many", None])
def test_bad_cs_are_named(flowers, Cs):
    with pytest.raises(FenchelError, match=r"Cs must (be|hold)"):
        LinearClassifierCV(Cs=Cs).fit(*flowers)


def test_an_integer_is_a_logarithmic_grid(flowers):
    model = LinearClassifierCV("squared_hinge", Cs=3, cv=2, tol=1e-2, max_iter=50, solver="newton").fit(*flowers)
    np.testing.assert_allclose(model.Cs_, [1e-4, 1.0, 1e4])
    assert clone(model).get_params() == model.get_params()


def test_folds_that_miss_tol_are_reported(flowers):
    X, y = flowers
    model = LinearClassifierCV("logistic", Cs=CS, cv=3, tol=1e-8, max_iter=1, solver="dual_coordinate", random_state=0)
    with pytest.warns(GapWarning) as found:
        model.fit(X, y)
    of_folds = [str(warning.message) for warning in found if "in the folds" in str(warning.message)]
    assert len(of_folds) == 1
    assert "6 of 6 fits" in of_folds[0]
    assert f"{model.gaps_.max():.2g}" in of_folds[0]


def test_a_fold_without_weight_is_an_error(flowers):
    X, y = flowers
    weights = np.zeros(len(y))
    weights[:50] = 1.0
    split = [(np.arange(50, 150), np.arange(50)), (np.arange(50), np.arange(50, 150))]
    with pytest.raises(FenchelError, match="sample_weight is zero"):
        LinearRegressorCV(Cs=CS, cv=split).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("cv", [np.zeros((3, 2)), np.zeros((2, 2, 2)), [(["a"], ["b"])]])
def test_folds_that_are_no_row_numbers_are_refused(flowers, cv):
    """scikit-learn takes any pairs, and indexing by them raised IndexError."""
    with pytest.raises(FenchelError, match="cv must yield pairs of arrays of row numbers"):
        LinearClassifierCV(cv=cv).fit(*flowers)

"""Multinomial regression as users meet it: scikit-learn's rules and answers, probabilities, weights, messages."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import slow_multinomial as slow
from fenchel import FenchelError, GapWarning, LinearClassifier, LinearClassifierCV, LogisticRegression, Problem, certify
from fenchel.path import follow
from fenchel.risks import Multinomial

TIGHT = {"tol": 1e-11, "max_iter": 100_000, "random_state": 0}


def multinomial(**settings):
    return LinearClassifier("logistic", multi_class="multinomial", **settings)


def three_classes(n=150):
    return make_classification(n, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=0)


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.meetings(1, law="scikit_learn_checks")
@parametrize_with_checks([multinomial(tol=0, random_state=0), LogisticRegression(tol=0, max_iter=1000)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_scikit_learns_answer(C, fit_intercept, storage):
    X, y = three_classes()
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    settings = {"C": C, "fit_intercept": fit_intercept}
    theirs = sklearn.linear_model.LogisticRegression(tol=1e-10, max_iter=100_000, **settings)
    theirs.fit(storage(X), y, sample_weight=weight)
    # LogisticRegression aims at the square of its tol
    for ours in (LogisticRegression(**settings, **{**TIGHT, "tol": 1e-6}), multinomial(**settings, **TIGHT)):
        ours.fit(storage(X), y, sample_weight=weight)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
        # theirs may add a constant to all intercepts
        shift = np.mean(theirs.intercept_)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_ - shift, atol=1e-5)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
        assert ours.intercept_.sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0, 1: 0.5, 2: 1.0}], ids=str)
def test_class_weights_are_scikit_learns(class_weight):
    X, y = three_classes()
    settings = {"C": 0.3, "class_weight": class_weight}
    theirs = sklearn.linear_model.LogisticRegression(tol=1e-10, max_iter=100_000, **settings).fit(X, y)
    ours = LogisticRegression(**settings, **TIGHT).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)


def test_the_certificate_is_that_of_the_stated_problem():
    X, y = three_classes()
    model = multinomial(C=0.4, tol=1e-6).fit(X, y)
    lam = 1 / (0.4 * len(y))
    primal = float(slow.primal(X, y, np.full(len(y), 1 / len(y)), lam, model.coef_, model.intercept_))
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-12)
    again = certify(Problem(X, Multinomial(y), lam, intercept=True), model.coef_, model.theta_)
    assert again.relative_gap <= 1e-6
    assert model.certificates_ == [model.certificate_]
    assert model.solver_ in ("newton_cg", "block_coordinate")


def test_probabilities_are_the_softmax_however_large_the_scores():
    X, y = three_classes()
    model = multinomial().fit(X, y)
    for scale in (1.0, 1e4):
        scores = model.decision_function(scale * X)
        np.testing.assert_allclose(model.predict_proba(scale * X), softmax(scores, axis=1), rtol=1e-13)
        np.testing.assert_allclose(model.predict_log_proba(scale * X), log_softmax(scores, axis=1), rtol=1e-13)
        np.testing.assert_array_equal(model.predict(scale * X), np.argmax(scores, axis=1))


def test_two_classes_are_the_binary_problem():
    X, y = make_classification(100, 5, random_state=0)
    joint, plain = multinomial(random_state=0).fit(X, y), LinearClassifier("logistic", random_state=0).fit(X, y)
    np.testing.assert_array_equal(joint.coef_, plain.coef_)
    assert joint.coef_.shape == (1, 5)
    np.testing.assert_array_equal(joint.predict_proba(X), plain.predict_proba(X))


def test_labels_of_any_kind_and_classes_without_weight():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c", "d"])[np.r_[y, 3]]
    X = np.vstack([X, X[:1]])
    model = LogisticRegression(tol=1e-9, max_iter=1000, random_state=0).fit(
        X, names, sample_weight=np.r_[np.ones(150), 0.0]
    )
    assert list(model.classes_) == ["a", "b", "c"]
    reference = LogisticRegression(tol=1e-9, max_iter=1000, random_state=0).fit(X[:150], names[:150])
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-4)


def test_warm_starts_paths_and_searches():
    X, y = three_classes()
    model = multinomial(warm_start=True, tol=1e-9).fit(X, y)
    assert model.set_params(C=1.1).fit(X, y).converged_
    fresh = multinomial(C=1.1, tol=1e-9).fit(X, y)
    assert model.n_iter_ <= fresh.n_iter_
    np.testing.assert_allclose(model.coef_, fresh.coef_, atol=1e-4)
    assert model.fit(X, y).n_iter_ == 1
    path = follow(Problem(X, Multinomial(y), 1.0, intercept=True), [1.0, 0.1, 0.01], tol=1e-6)
    assert all(point.certificate.relative_gap <= 1e-6 for point in path)
    found = LinearClassifierCV("logistic", multi_class="multinomial", Cs=[0.01, 1.0], random_state=0).fit(X, y)
    assert found.converged_
    search = GridSearchCV(multinomial(), {"C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.5


def test_float32_pickle_and_clone():
    X, y = three_classes()
    X = np.round(8 * X) / 8
    model, single = multinomial(**TIGHT).fit(X, y), multinomial(**TIGHT).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.coef_, model.coef_, atol=1e-6)
    assert single.coef_.dtype == np.float64
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()


def test_an_unfinished_fit_warns_with_its_bound():
    X, y = load_digits(return_X_y=True)
    with pytest.warns(GapWarning, match=r"relative gap of .* where tol=1e-09 was asked for.* within .* of optimal"):
        model = multinomial(tol=1e-9, max_iter=2).fit(X, y)
    assert not model.converged_


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (LinearClassifier(multi_class="multinomial"), "requires loss='logistic'; or use multi_class='ovr'"),
        (LinearClassifier("squared_hinge", multi_class="multinomial"), "requires loss='logistic'"),
        (multinomial(regularizer="entropy"), "no solver supports this problem.*entropy.*multi_class='ovr'"),
        (multinomial(solver="pragam"), "solver='pragam' does not support this problem"),
    ],
)
def test_parameters_that_are_refused(estimator, match):
    with pytest.raises(FenchelError, match=match):
        estimator.fit(*three_classes())

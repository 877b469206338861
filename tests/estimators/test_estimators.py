"""What users of LinearClassifier and LinearRegressor rely on: scikit-learn's rules, right answers, every attribute."""

import dataclasses
import functools
import inspect
import pickle
import threading

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import Certificate, GapWarning, LinearClassifier, LinearRegressor, Problem, certify, estimators
from fenchel.losses import Hinge
from fenchel.risks import MeanRisk
from fenchel.solvers import DualCoordinate
from versions import SKLEARN

ESTIMATORS = [
    LinearClassifier(tol=0, random_state=0),
    # joint forms: test_multiclass_estimators.py, test_multinomial_estimators.py
    LinearClassifier("logistic", multi_class="ovr", tol=0, random_state=0),
    LinearRegressor(tol=0, random_state=0),
]


@pytest.mark.meetings(1, law="scikit_learn_checks")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    """No expected failures.  tol=0 because some checks compare two fits to the last digits."""
    check(estimator)


#: the parameters that need no name; every other one does
POSITIONAL = {
    "LinearSVC": ["penalty", "loss"],
    "LinearSVR": [],
    "LogisticRegression": ["penalty"],
    "MeasureClassifier": ["measure"],
    "OnlineClassifier": ["update"],
    "OrdinalClassifier": ["order"],
}


@pytest.mark.parametrize("name", [name for name in estimators.__all__ if hasattr(getattr(estimators, name), "fit")])
def test_parameters_are_fields_without_surprises(name):
    kind = getattr(estimators, name)
    parameters = inspect.signature(kind).parameters
    model = kind()
    assert sorted(parameters) == sorted(model.get_params(deep=False)) == sorted(vars(model))
    assert [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY] == POSITIONAL.get(name, ["loss"])
    for field in dataclasses.fields(kind):
        assert parameters[field.name].default is field.default
        # one default serves all estimators
        assert isinstance(field.default, (str, int, float, type(None)))
    # compared by identity and shown by scikit-learn, not by dataclasses
    assert model != kind()
    assert {model: 1}[model] == 1
    changed = clone(model).set_params(**{next(iter(parameters)): "changed"})
    assert repr(changed) == f"{name}({next(iter(parameters))}='changed')"


def binary(seed=0, n=120, d=6):
    return make_classification(n, d, n_informative=4, flip_y=0.1, random_state=seed)


def three_classes(seed=0, n=150):
    return make_classification(n, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=seed)


@pytest.mark.parametrize("C", [0.05, 1.0, 5.0])
def test_hinge_with_free_intercept_equals_svc(C):
    X, y = binary()
    ours = LinearClassifier(C=C, tol=1e-10, max_iter=1e5, random_state=0).fit(X, y)
    theirs = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    scores = ours.decision_function(X)
    assert np.mean(np.sign(scores) == np.sign(theirs.decision_function(X))) == 1.0


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_logistic_equals_scikit_learn(fit_intercept):
    X, y = binary()
    ours = LinearClassifier("logistic", C=0.7, fit_intercept=fit_intercept, tol=1e-12, random_state=0).fit(X, y)
    theirs = LogisticRegression(C=0.7, fit_intercept=fit_intercept, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_squared_equals_ridge(targets, fit_intercept):
    X, y = make_regression(80, 5, n_targets=targets, noise=3.0, random_state=0)
    weight = np.random.default_rng(0).random(80)
    ours = LinearRegressor(C=0.5, fit_intercept=fit_intercept, tol=0, max_iter=1e5, random_state=0)
    ours.fit(X, y, sample_weight=weight)
    theirs = Ridge(alpha=2.0, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    # lam/2 |w - w*|^2 <= gap, as the objective is strongly convex
    lam = 1 / (0.5 * weight.sum())
    assert np.linalg.norm(ours.coef_ - theirs.coef_) <= np.sqrt(2 * max(ours.dual_gap_, 0.0) / lam) + 1e-8
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5, atol=1e-5)
    assert ours.predict(X).shape == y.shape
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.certificate_.at_floor and ours.certificate_.relative_gap <= 1e-11


def test_fitted_attributes():
    X, y = binary()
    model = LinearClassifier(random_state=0).fit(X, y)
    assert isinstance(model.certificate_, Certificate)
    assert model.certificate_ == model.certificates_[0]
    assert model.dual_gap_ == model.certificate_.gap
    assert model.certificate_.relative_gap <= model.tol
    assert model.converged_
    assert model.n_iter_ >= 1
    assert model.theta_.shape == (len(y),)
    assert model.trace_[-1].passes <= model.n_iter_
    assert model.coef_.dtype == model.intercept_.dtype == np.float64
    assert model.coef_.shape == (1, 6)
    assert "optimum" in str(model.certificate_)


def test_the_stored_witness_proves_the_certificate_again():
    X, y = binary()
    model = LinearClassifier(random_state=0).fit(X, y)
    problem = Problem(X, MeanRisk("hinge", np.where(y == 1, 1.0, -1.0)), 1 / len(y), intercept=True)
    again = certify(problem, _model(model), model.theta_)
    assert again.gap == pytest.approx(model.dual_gap_, rel=1e-9, abs=1e-15)


def _model(estimator):
    from fenchel import Model

    return Model(estimator.coef_[0], float(estimator.intercept_[0]))


def test_several_classes_one_against_the_rest():
    X, y = three_classes()
    names = np.array(["pear", "apple", "quince"])[y]
    model = LinearClassifier(multi_class="ovr", random_state=0, tol=1e-8, max_iter=1e5).fit(X, names)
    assert list(model.classes_) == ["apple", "pear", "quince"]
    assert model.coef_.shape == (3, 8)
    assert model.theta_.shape == (150, 3)
    assert len(model.certificates_) == len(model.trace_) == 3
    assert model.certificate_.primal == pytest.approx(sum(c.primal for c in model.certificates_))
    for k, name in enumerate(model.classes_):
        single = LinearClassifier(random_state=0, tol=1e-8, max_iter=1e5).fit(X, names == name)
        np.testing.assert_allclose(model.coef_[k], single.coef_[0], atol=1e-4)
    assert model.score(X, names) > 0.6


@functools.cache
def some_digits():
    X, y = load_digits(return_X_y=True)
    return X[::3] / 16, y[::3]


@functools.cache
def digits_model(**settings):
    return LinearClassifier(**settings).fit(*some_digits())


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_results_do_not_depend_on_n_jobs(n_jobs):
    settings = {"multi_class": "ovr", "random_state": 3, "tol": 1e-2}
    reference = digits_model(**settings)
    model = LinearClassifier(n_jobs=n_jobs, **settings).fit(*some_digits())
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    np.testing.assert_array_equal(model.intercept_, reference.intercept_)
    assert model.certificate_ == reference.certificate_


def test_two_fits_at_once_equal_one_after_the_other():
    data = [binary(seed) for seed in range(4)]
    alone = [LinearClassifier("logistic", random_state=1).fit(X, y).coef_ for X, y in data]
    found = [None] * 4

    def fit(k):
        found[k] = LinearClassifier("logistic", random_state=1).fit(*data[k]).coef_

    threads = [threading.Thread(target=fit, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        np.testing.assert_array_equal(found[k], alone[k])


def test_pickle_clone_and_joblib(tmp_path):
    X, y = binary()
    model = LinearClassifier(Hinge(), random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_ == model.certificate_
    assert clone(model).get_params() == model.get_params()
    joblib.dump(model, tmp_path / "model")
    np.testing.assert_array_equal(joblib.load(tmp_path / "model").coef_, model.coef_)
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(_fitted)(X, y) for _ in range(2))
    for coef in found:
        np.testing.assert_array_equal(coef, model.coef_)


def _fitted(X, y):
    return LinearClassifier(Hinge(), random_state=0).fit(X, y).coef_


@pytest.mark.parametrize("storage", [sp.csr_matrix, sp.csc_array, sp.coo_array, np.asfortranarray, np.float32])
def test_every_storage_gives_the_same_model(storage, own_storage, rarely_compiled):
    X, y = binary()
    X = np.round(X * 8) / 8  # exact in float32
    reference = LinearClassifier(tol=1e-9, max_iter=1e5, random_state=0).fit(X, y)
    model = LinearClassifier(tol=1e-9, max_iter=1e5, random_state=0).fit(storage(X), y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        model.decision_function(storage(X)), reference.decision_function(X), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_keep_their_feature_names(frame):
    data = load_breast_cancer()
    X = frame(dict(zip(map(str, data.feature_names), (data.data / data.data.max(axis=0)).T, strict=True)))
    model = LinearClassifier(random_state=0).fit(X, data.target)
    # scikit-learn before 1.8 reads the names of polars 1 only
    if frame is pd.DataFrame or SKLEARN >= (1, 8):
        assert list(model.feature_names_in_) == list(data.feature_names)
    assert model.score(X, data.target) > 0.9


def test_sample_weights_and_class_weights():
    X, y = binary()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    settings = {"tol": 1e-10, "max_iter": 1e5, "random_state": 0}
    weighted = LinearClassifier(**settings).fit(X, y, sample_weight=weight)
    repeated = LinearClassifier(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-7)
    per_class = LinearClassifier(class_weight={0: 1, 1: 3}, **settings).fit(X, y)
    same = LinearClassifier(**settings).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(per_class.coef_, same.coef_, rtol=1e-7)
    balanced = LinearClassifier(class_weight="balanced", **settings).fit(
        X[y == 0][:10].tolist() + X[y == 1].tolist(), [0] * 10 + [1] * int(y.sum())
    )
    assert balanced.converged_


def test_warm_start_stops_at_once_and_adapts():
    X, y = binary()
    model = LinearClassifier(warm_start=True, random_state=0, tol=1e-6).fit(X, y)
    first = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_ == 1
    assert model.trace_[-1].passes == 0
    np.testing.assert_array_equal(model.coef_, first)
    model.set_params(C=2.0).fit(X, y)
    cold = LinearClassifier(C=2.0, random_state=0, tol=1e-6).fit(X, y)
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-5)
    model.fit(X[:50], y[:50])
    model.fit(X, np.where(y == 1, "a", "b"))
    model.fit(X[:, :3], y)
    assert model.converged_


def test_warm_start_with_several_classes_and_targets():
    X, y = three_classes()
    model = LinearClassifier(multi_class="ovr", warm_start=True, random_state=0, tol=1e-4).fit(X, y).fit(X, y)
    assert all(trace[-1].passes == 0 for trace in model.trace_)
    X, Y = make_regression(60, 4, n_targets=2, random_state=0)
    regressor = LinearRegressor(warm_start=True, random_state=0).fit(X, Y).fit(X, Y)
    assert regressor.trace_[-1].passes == 0


def test_probabilities_only_for_logistic():
    X, y = three_classes()
    for form in ("ovr", "auto"):
        model = LinearClassifier("logistic", multi_class=form, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    assert not hasattr(LinearClassifier("hinge"), "predict_proba")


def test_an_unfinished_fit_warns_with_its_bound():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(GapWarning, match=r"relative gap of .* where tol=1e-09 was asked for.* within .* of optimal"):
        model = LinearClassifier(tol=1e-9, max_iter=2, random_state=0).fit(X, y)
    assert not model.converged_
    with pytest.warns(GapWarning, match="time limit"):
        model = LinearClassifier(tol=1e-9, time_limit=0, random_state=0).fit(X, y)
    assert np.isfinite(model.certificate_.gap)


def test_metadata_routing():
    X, y = binary()
    weight = np.where(y == 1, 3.0, 1.0)
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(LinearClassifier(random_state=0, tol=1e-8).set_fit_request(sample_weight=True))
        model.fit(X, y, sample_weight=weight)
    alone = LinearClassifier(random_state=0, tol=1e-8).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model[-1].coef_, alone.coef_)


def test_a_class_without_weight_is_as_if_removed():
    X, y = three_classes()
    weight = np.where(y == 2, 0.0, 1.0)
    settings = {"tol": 1e-10, "max_iter": 1e5, "random_state": 0}
    model = LinearClassifier(**settings).fit(X, y, sample_weight=weight)
    removed = LinearClassifier(**settings).fit(X[y != 2], y[y != 2])
    assert list(model.classes_) == [0, 1]
    np.testing.assert_allclose(model.coef_, removed.coef_, rtol=1e-5, atol=1e-7)
    by_class = LinearClassifier(class_weight={0: 1, 1: 1, 2: 0}, **settings).fit(X, y)
    np.testing.assert_allclose(by_class.coef_, removed.coef_, rtol=1e-5, atol=1e-7)


def test_a_solver_object_without_seed_follows_random_state():
    X, y = binary()
    coefs = [LinearClassifier(solver=DualCoordinate(), random_state=k).fit(X, y).coef_ for k in (0, 0, 1)]
    np.testing.assert_array_equal(coefs[0], coefs[1])
    assert not np.array_equal(coefs[0], coefs[2])


def test_a_warm_start_along_a_path_saves_passes():
    X, y = make_classification(2000, 20, n_informative=10, flip_y=0.1, random_state=0)
    settings = {"tol": 1e-4, "random_state": 0, "max_iter": 1e4}
    warm, total_warm, total_cold = LinearClassifier("logistic", warm_start=True, **settings), 0, 0
    for C in np.geomspace(0.01, 1.0, 9):
        total_warm += warm.set_params(C=C).fit(X, y).n_iter_
        total_cold += LinearClassifier("logistic", C=C, **settings).fit(X, y).n_iter_
    assert total_warm < total_cold


def test_in_a_grid_search_with_weights():
    X, y = binary()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LinearClassifier(random_state=0)), {"linearclassifier__C": [0.1, 1.0]}
    )
    search.fit(X, y, linearclassifier__sample_weight=np.ones(len(y)))
    assert search.best_score_ > 0.6

"""Proved predictions of fitted estimators."""

import pickle

import numpy as np
import pytest

from fenchel import LinearClassifier, LinearClassifierCV, LinearRegressor
from fenchel.errors import FenchelError
from fenchel.estimators.proved import certified_predictions, optimum_of


def data(k, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(80, 4)), rng.normal(size=(150, 4))
    labels = np.array(["ash", "birch", "oak"])[np.argmax(X[:, :k] + 0.3 * rng.normal(size=(80, k)), axis=1)]
    return X, labels, rng.integers(1, 4, size=80), T


@pytest.mark.meetings(1)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge"])
@pytest.mark.parametrize("multi_class", ["auto", "ovr"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_classifier_agrees_with_a_tighter_one(loss, multi_class, k, fit_intercept):
    X, y, weights, T = data(k)
    options = {"multi_class": multi_class, "fit_intercept": fit_intercept, "max_iter": 10000, "random_state": 0}
    tight = LinearClassifier(loss, tol=1e-11, **options).fit(X, y, weights)
    for tol in (1e-2, 1e-5, 1e-9):
        model = LinearClassifier(loss, tol=tol, **options).fit(X, y, weights)
        found = certified_predictions(model, T, X, y, weights)
        assert np.array_equal(found.predictions, model.predict(T))
        assert np.array_equal(found.predictions[found.proved], tight.predict(T)[found.proved])
    assert found.share_proved > 0.9


@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive"])
def test_a_regressor_is_inside_its_intervals(loss):
    X, _, weights, T = data(2)
    y = X[:, 0] + 2.0
    model = LinearRegressor(loss, tol=1e-4).fit(X, y, weights)
    tight = LinearRegressor(loss, tol=1e-11, max_iter=10000).fit(X, y, weights).predict(T)
    found = certified_predictions(model, T, X, y, weights)
    assert np.array_equal(found.predictions, model.predict(T))
    assert np.all(found.lower - 1e-5 <= tight)
    assert np.all(tight <= found.upper + 1e-5)


def test_the_optimum_needs_no_training_data():
    X, y, _, T = data(3)
    model = LinearClassifier("squared_hinge", tol=1e-8, random_state=0).fit(X, y)
    kept = pickle.loads(pickle.dumps(optimum_of(model, X, y)))
    found, again = certified_predictions(model, T, X, y), model._proved(kept, T)
    assert np.array_equal(found.lower, again.lower)
    assert np.array_equal(found.proved, again.proved)


def test_refusals():
    X, y, _, T = data(3)
    model = LinearClassifier("squared_hinge", random_state=0).fit(X, y)
    with pytest.raises(FenchelError, match="training data"):
        certified_predictions(model, T, X[:-1], y[:-1])
    pairs = LinearClassifier("hinge", multi_class="ovo", random_state=0).fit(X, y)
    with pytest.raises(FenchelError, match="votes"):
        certified_predictions(pairs, T, X, y)


@pytest.mark.parametrize("loss", ["absolute", "huber", "epsilon_insensitive"])
def test_targets_that_change_after_the_fit_change_no_interval(loss):
    X, _, _, T = data(2)
    y = X @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.1
    expected = LinearRegressor(loss, tol=1e-9).fit(X, y.copy()).certified_predictions(T)
    model = LinearRegressor(loss, tol=1e-9).fit(X, y)
    y -= 1000.0
    found = model.certified_predictions(T)
    np.testing.assert_array_equal(found.lower, expected.lower)
    np.testing.assert_array_equal(found.upper, expected.upper)


def test_the_c_of_cross_validation_is_that_of_the_proof():
    X, y, _, T = data(2)
    model = LinearClassifierCV("logistic", Cs=[3.0], cv=2, tol=1e-9, random_state=0).fit(X, y)
    exact = LinearClassifier("logistic", C=3.0, tol=1e-12, random_state=0).fit(X, y).decision_function(T)
    found = certified_predictions(model, T, X, y)
    assert np.all((found.lower <= exact + 1e-9) & (exact - 1e-9 <= found.upper))
    assert np.max(found.upper - found.lower) < 0.1

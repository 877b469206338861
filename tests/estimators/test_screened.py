"""``screened_`` and ``screened`` of fitted estimators."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fenchel import (
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
)
from fenchel.errors import FenchelError


def data(seed=0, n=60, d=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] - 2.0 * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, y, np.digitize(y, [-1.0, 1.0])


@pytest.mark.parametrize(
    "estimator",
    [
        LinearClassifier("logistic", C=0.3, l1_ratio=1.0, tol=1e-8),
        LinearClassifier("squared_hinge", C=0.1, l1_ratio=1.0, tol=1e-8),
        LinearRegressor(C=0.1, l1_ratio=1.0, tol=1e-8),
        LinearRegressorCV(l1_ratio=1.0, Cs=[0.03, 0.1], cv=2, tol=1e-8),
        LinearClassifierCV("logistic", l1_ratio=1.0, Cs=[0.1, 0.3], cv=2, tol=1e-8),
        LogisticRegression(C=0.3, l1_ratio=1.0, solver="liblinear", tol=1e-8),
        LinearSVC(C=0.1, penalty="l1", dual=False, tol=1e-8),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_zero_weights_of_a_lasso_are_proved(estimator):
    X, y, codes = data()
    labels = y if "Regressor" in type(estimator).__name__ else codes > 0
    for rows in (X, sp.csr_array(X)):
        model = clone(estimator).fit(rows, labels)
        assert model.screened_.shape == model.coef_.shape
        assert not np.any(model.coef_[model.screened_])
        assert model.screened_.sum() >= 0.9 * (model.coef_ == 0.0).sum() > 0
        found = model.screened(rows, labels)
        assert np.all(found.features >= np.reshape(model.screened_, found.features.shape))
        assert found.examples is None
        # the proof belongs to the parameters of the fit, and is kept by a pickle
        assert np.array_equal(pickle.loads(pickle.dumps(model)).screened_, model.screened_)
        assert model.set_params(tol=1e-3).screened_ is None


def test_several_problems_have_a_row_or_a_column_each():
    X, _, codes = data()
    lasso = LinearClassifier("logistic", C=0.3, l1_ratio=1.0, tol=1e-8).fit(X, codes)
    assert lasso.screened_.shape == (3, 30)
    assert np.array_equal(lasso.screened_, lasso.screened(X, codes).features)
    ridge = LinearSVC(C=0.1, tol=1e-8).fit(X, codes)
    found = ridge.screened(X, codes)
    assert ridge.screened_ is None
    assert found.features is None
    assert found.examples.shape == found.at_bound.shape == (60, 3)
    assert 0 < found.examples.sum() < 180


def test_support_vectors_of_a_tight_fit_are_the_rest():
    X, y, codes = data(n=200, d=5)
    model = LinearClassifier("hinge", C=0.1, tol=1e-10, max_iter=10000).fit(X, codes > 0)
    found = model.screened(X, codes > 0)
    assert not np.any(model.theta_[found.examples])
    assert np.allclose(np.abs(model.theta_[found.at_bound]), 1.0 / 200.0)
    assert np.mean(found.examples | found.at_bound) > 0.9
    weights = np.repeat([1.0, 0.0], 100)
    some = LinearClassifier("hinge", C=0.1, tol=1e-8).fit(X, codes > 0, weights).screened(X, codes > 0, weights)
    assert np.all(some.examples[100:])
    tube = LinearSVR(epsilon=1.0, C=1.0, tol=1e-9).fit(X, y)
    found = tube.screened(X, y)
    assert not np.any(tube.theta_[found.examples])
    assert found.examples.sum() > 50
    targets = LinearRegressor("epsilon_insensitive", tol=1e-7).fit(X, np.stack([y, -y], axis=1))
    assert targets.screened(X, np.stack([y, -y], axis=1)).examples.shape == (200, 2)


def test_refusals():
    X, y, codes = data()
    with pytest.raises(NotFittedError):
        _ = LinearClassifier().screened_
    model = LinearRegressor(l1_ratio=1.0).fit(X, y)
    with pytest.raises(FenchelError, match="training data"):
        model.screened(X[1:], y[1:])
    with pytest.raises(FenchelError, match="drop_witness"):
        model.drop_witness().screened(X, y)
    pairs = LinearClassifier("hinge", multi_class="ovo").fit(X, codes)
    assert pairs.screened_ is None
    with pytest.raises(FenchelError, match="votes"):
        pairs.screened(X, codes)

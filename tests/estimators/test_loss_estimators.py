"""Estimators with the losses that are more than linear or quadratic: counts, exponentials, powers."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor

from fenchel import FenchelError, LinearClassifier, LinearRegressor
from fenchel.losses import EpsilonInsensitive, Hinge
from slow_conic import conic_optimum
from slow_reference import TUBE


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    return X, rng.poisson(np.exp(X @ [0.5, -0.3, 0.2, 0.0, 0.4] + 0.7)).astype(float), rng.random(200) + 0.5


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_agree_with_scikit_learn(counts, fit_intercept, weighted):
    """PoissonRegressor minimizes half the mean deviance + alpha/2 |w|^2, so C = 1/(alpha sum of weights)."""
    X, y, weights = counts
    weights, alpha = weights if weighted else np.ones(len(y)), 0.03
    theirs = PoissonRegressor(alpha=alpha, fit_intercept=fit_intercept, tol=1e-10, max_iter=10000)
    theirs.fit(X, y, sample_weight=weights)
    ours = LinearRegressor("poisson", C=1 / (alpha * weights.sum()), fit_intercept=fit_intercept, tol=0)
    ours.fit(X, y, sample_weight=weights if weighted else None)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-5)
    assert np.all(ours.predict(X) > 0)


def test_counts_below_zero_and_far_scores(counts):
    X, y, _ = counts
    with pytest.raises(FenchelError, match="labels >= 0"):
        LinearRegressor("poisson").fit(X, y - 1.0)
    model = LinearRegressor("poisson", random_state=0).fit(X, y)
    assert np.all(model.predict(1e6 * X[model.coef_ @ X.T > 0][:3]) == math.inf)
    # no counts at all: the mean is as small as floats go
    nothing = LinearRegressor("poisson", random_state=0).fit(X, 0 * y)
    assert nothing.converged_
    assert np.all(nothing.predict(X) <= 1e-300)


@pytest.mark.parametrize(
    ("loss", "key"), [("exponential", "exponential"), (Hinge(power=1.5), "hinge^1.5"), (Hinge(power=3), "hinge^3.0")]
)
def test_classifiers_reach_the_conic_optimum(loss, key):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 4))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, "yes", "no")
    model = clone(LinearClassifier(loss, C=0.5, tol=1e-9, random_state=0)).fit(X, y)
    signs = np.where(y == "yes", 1.0, -1.0)
    optimum = conic_optimum(key, X, signs, np.full(60, 1 / 60), 1 / (0.5 * 60), True)[2]
    assert model.certificate_.primal == pytest.approx(optimum, rel=1e-7)
    assert model.score(X, y) > 0.8


def test_regressors_take_powers():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 4))
    y = X @ rng.standard_normal(4) + 0.2 * rng.standard_normal(60)
    model = LinearRegressor(EpsilonInsensitive(TUBE, power=3), tol=1e-9, random_state=0).fit(X, y)
    optimum = conic_optimum("tube^3.0", X, y, np.full(60, 1 / 60), 1 / 60, True)[2]
    assert model.certificate_.primal == pytest.approx(optimum, rel=1e-7)


def test_joint_risks_are_made_of_the_plain_hinge():
    X, y = np.eye(3), np.arange(3)
    with pytest.raises(FenchelError, match="requires loss='hinge'"):
        LinearClassifier(Hinge(power=2), multi_class="crammer_singer").fit(X, y)

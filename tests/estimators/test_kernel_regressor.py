"""Kernel regression, and kernel classification by any loss: linear models of the kernel's features, certified."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import (
    FenchelError,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    Model,
    Problem,
    certify,
    solve,
)
from fenchel.designs.rows import GramRows
from fenchel.kernels import GramDesign, GramNorm
from fenchel.losses import Hinge, Quantile
from fenchel.regularizers import L2
from fenchel.risks import MeanRisk

TIGHT = {"tol": 1e-9, "max_iter": 1e5, "random_state": 0}
NOT_A_KERNEL = {
    "check_positive_only_tag_during_fit": "subtracts the mean from a Gram matrix, which makes it indefinite",
    "check_estimators_dtypes": "rounds a Gram matrix to integers, which makes it indefinite",
}


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.meetings(1, law="scikit_learn_checks_of_kernels")
@parametrize_with_checks(
    [KernelRegressor(tol=0, random_state=0), KernelRegressor(kernel="precomputed", tol=0, random_state=0)],
    expected_failed_checks=lambda estimator: NOT_A_KERNEL if estimator.kernel == "precomputed" else {},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(50), rng.integers(0, 3, 50).astype(float)


def features_of(gram):
    """Explicit features whose products are the Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def test_rows_of_a_gram_matrix():
    K, u = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([5.0, 7.0])
    rows = GramRows(K)
    assert rows.row_dot(1, u) == 7.0
    rows.row_add(0, 10.0, u)
    np.testing.assert_array_equal(u, [25.0, 17.0])


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["squared", Quantile(0.8)])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_the_linear_kernel_is_the_linear_regressor(data, loss, fit_intercept, storage):
    X, y, weights = data
    settings = {"C": 0.3, "fit_intercept": fit_intercept, **TIGHT}
    kernel = KernelRegressor(loss, kernel="linear", **settings).fit(storage(X), y, sample_weight=weights)
    linear = LinearRegressor(loss, **settings).fit(X, y, sample_weight=weights)
    assert kernel.converged_
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(kernel.predict(storage(X)), linear.predict(X), atol=1e-3)


def test_kernel_ridge_and_support_vector_regression_of_scikit_learn(data):
    X, y, _ = data
    ours = KernelRegressor(C=2.0, gamma=0.3, fit_intercept=False, tol=1e-12, max_iter=1e5, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        ours.predict(X), KernelRidge(alpha=0.5, kernel="rbf", gamma=0.3).fit(X, y).predict(X), atol=1e-5
    )
    ours = KernelRegressor("epsilon_insensitive", C=2.0, **TIGHT).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), SVR(C=2.0, tol=1e-9).fit(X, y).predict(X), atol=1e-3)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed", rbf_kernel])
def test_every_kernel_is_a_linear_model_of_its_features(data, kernel):
    X, y, _ = data
    gram = {"poly": (X @ X.T / 4 + 1.0) ** 3, "rbf": rbf_kernel(X, gamma=0.25)}.get(kernel, rbf_kernel(X))
    settings = {"kernel": kernel, "gamma": 0.25, "coef0": 1.0, "C": 0.5, **TIGHT}
    given = gram if kernel == "precomputed" else X
    model = KernelRegressor("huber", **settings).fit(given, y)
    flat = LinearRegressor("huber", C=0.5, **TIGHT).fit(features_of(gram), y)
    assert model.certificate_.primal == pytest.approx(flat.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(model.predict(given), flat.predict(features_of(gram)), atol=1e-3)


def test_several_targets_and_counts(data):
    X, y, _ = data
    both = np.column_stack([y, -2.0 * y])
    model = KernelRegressor(**TIGHT).fit(X, both)
    for k in range(2):
        alone = KernelRegressor(**TIGHT).fit(X, both[:, k])
        np.testing.assert_allclose(model.predict(X)[:, k], alone.predict(X), atol=1e-3)
    assert model.intercept_.shape == (2,)
    counts = KernelRegressor("poisson", random_state=0).fit(X, np.random.default_rng(1).poisson(np.exp(y)))
    assert np.all(counts.predict(X) > 0)


def test_a_warm_start_has_nothing_left_to_do(data):
    X, y, _ = data
    model = KernelRegressor(warm_start=True, tol=1e-6, max_iter=1e4, random_state=0).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first


@pytest.mark.parametrize("loss", ["logistic", "exponential", Hinge(power=2)])
def test_classifiers_take_any_loss(data, loss):
    X, y, weights = data
    signs = np.where(y > 0, 1, -1)
    kernel = KernelClassifier(loss, kernel="linear", C=0.5, **TIGHT).fit(X, signs, sample_weight=weights)
    linear = LinearClassifier(loss, C=0.5, fit_intercept=False, **TIGHT).fit(X, signs, sample_weight=weights)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(kernel.decision_function(X), linear.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_several_classes_one_against_the_rest(loss):
    X, y = load_iris(return_X_y=True)
    settings = {"multi_class": "ovr", "C": 0.1, **TIGHT}
    kernel = KernelClassifier(loss, kernel="linear", **settings).fit(X, y)
    linear = LinearClassifier(loss, fit_intercept=False, **settings).fit(X, y)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(kernel.decision_function(X), linear.decision_function(X), atol=1e-3)


def test_weights_without_a_witness_are_certified_in_kernel_form(data):
    """A smooth loss is followed by its gradient, which is not the one by the coefficients."""
    X, y, _ = data
    gram = rbf_kernel(X)
    design = GramDesign(gram)
    problem = Problem(design, MeanRisk("squared", y), 0.02, GramNorm(design), intercept=False)
    solution = solve(problem, tol=1e-10, max_iter=1e5)
    found = certify(problem, Model(0.9 * solution.model.weights), effort=60)
    flat = Problem(features_of(gram), MeanRisk("squared", y), 0.02, L2())
    assert solution.certificate.primal == pytest.approx(solve(flat, tol=1e-10).certificate.primal, rel=1e-8)
    lost = found.primal - solution.certificate.primal
    assert lost <= found.gap <= 1.2 * lost


@pytest.mark.parametrize(
    "change", [{"kernel": "none"}, {"gamma": -1.0}, {"C": 0}, {"loss": "hinge"}, {"fit_intercept": 2}]
)
def test_bad_parameters_are_named(data, change):
    with pytest.raises(FenchelError, match=next(iter(change))):
        KernelRegressor(**change).fit(*data[:2])


def test_the_gram_matrix_has_a_limit(data):
    with pytest.raises(FenchelError, match="memory_limit"):
        KernelRegressor(memory_limit=0.0005).fit(*data[:2])

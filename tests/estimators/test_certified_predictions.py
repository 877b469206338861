"""The method ``certified_predictions`` of every estimator and of paths, from what a fit keeps without its data."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fenchel import (
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MeasureClassifier,
    OrdinalClassifier,
    WinnowClassifier,
    regularization_path,
)
from fenchel.certificate import CertifiedPredictions
from fenchel.errors import FenchelError
from fenchel.estimators import proved
from fenchel.estimators.proved import certified_predictions
from fenchel.regularizers import FreeDirections

CLASSIFIERS = [
    LinearClassifier(),
    LinearClassifier("logistic", l1_ratio=0.3),
    LinearClassifier("squared_hinge", class_weight="balanced", fit_intercept=False),
    LinearClassifier("hinge", multi_class="ovr", n_jobs=2),
    LinearClassifierCV(Cs=[0.1, 1.0], cv=2),
    LinearSVC(),
    LogisticRegression(),
    KernelClassifier(),
    KernelClassifier("logistic", kernel="poly", degree=2, coef0=1.0),
    KernelClassifier("squared_hinge", kernel="linear"),
]
REGRESSORS = [
    LinearRegressor(),
    LinearRegressor("huber", fit_intercept=False),
    LinearRegressor("poisson"),
    LinearRegressorCV("squared", Cs=[0.1, 1.0], cv=2),
    LinearSVR(epsilon=0.1),
    KernelRegressor(),
    KernelRegressor("epsilon_insensitive", kernel=lambda a, b: (a @ b.T + 1.0) ** 2),
    KernelRegressor("absolute", kernel="linear", fit_intercept=False),
]


def data(k=3, n=90, seed=0):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, 4)) + 0.5, rng.normal(size=(120, 4)) + 0.5
    classes = np.argmax(X[:, :k] + 0.3 * rng.normal(size=(n, k)), axis=1)
    return X, np.array(["ash", "birch", "oak"])[classes], np.abs(X[:, 0] + 2.0), T


def fitted(estimator, tol, X, y):
    model = clone(estimator).set_params(tol=tol, max_iter=20000, random_state=0)
    return model.fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda value: type(value).__name__)
@pytest.mark.meetings(1)
def test_classifiers(estimator, k):
    X, y, _, T = data(k)
    exact = fitted(estimator, 1e-11, X, y).predict(T)
    shares = []
    for tol in (1e-2, 1e-5, 1e-9):
        model = fitted(estimator, tol, X, y)
        found = model.certified_predictions(T)
        assert np.array_equal(found.predictions, model.predict(T))
        assert np.array_equal(found.predictions[found.proved], exact[found.proved])
        assert found.lower.shape == model.decision_function(T).shape
        shares.append(found.share_proved)
    assert shares[-1] > 0.9


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda value: type(value).__name__)
def test_regressors(estimator):
    X, _, y, T = data()
    tight = fitted(estimator, 1e-12, X, y).certified_predictions(T)
    for tol in (1e-2, 1e-5, 1e-9):
        model = fitted(estimator, tol, X, y)
        found = model.certified_predictions(T)
        assert np.array_equal(found.predictions, model.predict(T))
        # two intervals of the same optimum overlap
        assert np.all(found.lower <= tight.upper)
        assert np.all(tight.lower <= found.upper)
    assert np.median(found.upper - found.lower) < 0.05


def test_several_targets():
    X, _, y, T = data()
    model = LinearRegressor(tol=1e-8).fit(X, np.column_stack([y, 2.0 * y]))
    found = model.certified_predictions(T)
    assert found.lower.shape == (120, 2)
    assert np.allclose(found.predictions, model.predict(T))


def test_kernel_ridge_is_inside():
    X, _, y, T = data()
    # the optimality conditions for C = 1 with a free intercept: (K + I) a + b 1 = y, sum a = 0
    system = np.block([[X @ X.T + np.eye(90), np.ones((90, 1))], [np.ones((1, 90)), np.zeros((1, 1))]])
    a = np.linalg.solve(system, [*y, 0.0])
    exact = T @ X.T @ a[:-1] + a[-1]
    for tol in (1e-2, 1e-6):
        found = KernelRegressor(kernel="linear", tol=tol).fit(X, y).certified_predictions(T)
        assert np.all(found.lower - 1e-9 <= exact)
        assert np.all(exact <= found.upper + 1e-9)


def test_input_is_validated_like_that_of_predict():
    pandas = pytest.importorskip("pandas")
    X, y, _, T = data(2)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    with pytest.raises(NotFittedError):
        LinearClassifier().certified_predictions(T)
    model = LinearClassifier("logistic", tol=1e-8, random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        model.certified_predictions(frame.iloc[:, :3])
    with pytest.raises(ValueError, match="feature names"):
        model.certified_predictions(pandas.DataFrame(T, columns=list("bcda")))
    dense = model.certified_predictions(pandas.DataFrame(T, columns=list("abcd")))
    sparse = LinearClassifier("logistic", tol=1e-8, random_state=0).fit(sp.csr_array(X), y)
    assert np.allclose(sparse.certified_predictions(sp.csc_array(T)).lower, dense.lower, atol=1e-3)
    assert isinstance(dense, CertifiedPredictions)


@pytest.mark.parametrize(
    ("estimator", "column"),
    [(LinearClassifier(), 1), (LinearClassifier("logistic"), 1), (KernelRegressor("absolute"), 2)],
    ids=lambda value: type(value).__name__,
)
def test_a_pickle_knows_the_optimum(estimator, column):
    X, *_, T = given = data()
    model = fitted(estimator, 1e-6, X, given[column])
    again = pickle.loads(pickle.dumps(model))
    found, known = model.certified_predictions(T), again.certified_predictions(T)
    assert np.array_equal(found.lower, known.lower)
    assert np.array_equal(found.proved, known.proved)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_what_a_pickle_keeps_does_not_grow_with_the_data(loss):
    sizes = []
    for n in (100, 3000):
        X, y, _, _ = data(2, n)
        model = LinearClassifier(loss, random_state=0).fit(X, y)
        sizes.append(len(pickle.dumps(model._optimum)))
    assert sizes[0] == sizes[1] < 3000


def test_many_problems_keep_no_vectors(monkeypatch):
    X, y, _, T = data()
    kept = LinearClassifier("logistic", multi_class="ovr", tol=1e-6, random_state=0).fit(X, y)
    monkeypatch.setattr("fenchel.estimators.proved._MOST_PENDING", 100)
    model = clone(kept).fit(X, y)
    assert all(one._whole is not None for one in kept._optimum.sketches)
    assert all(one._pending is None and one._whole is None for one in model._optimum.sketches)
    assert np.array_equal(model.certified_predictions(T).lower, kept.certified_predictions(T).lower)


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared"])
def test_few_data_are_copied_and_prove_the_same_on_demand(loss, monkeypatch):
    """Whatever becomes of the rows after the fit, and without them in a pickle."""
    X, y, targets, T = data(2)
    make, labels = (LinearRegressor, targets) if loss == "squared" else (LinearClassifier, y)
    rows = X.copy()
    model = make(loss, random_state=0).fit(rows, labels)
    rows[:] = np.nan
    monkeypatch.setattr("fenchel.estimators.proved._FEW_ENTRIES", 0)
    at_once = make(loss, random_state=0).fit(X, labels)
    assert all(one._whole is None for one in at_once._optimum.sketches)
    pickled = pickle.dumps(model._optimum)
    assert len(pickled) == pytest.approx(len(pickle.dumps(at_once._optimum)), abs=100)
    expected, found = at_once.certified_predictions(T), model.certified_predictions(T)
    np.testing.assert_array_equal(found.lower, expected.lower)
    np.testing.assert_array_equal(found.upper, expected.upper)


def test_other_parameters_drop_what_is_known():
    X, y, _, T = data()
    model = LinearClassifier(random_state=0).fit(X, y)
    model.set_params(verbose=0).certified_predictions(T)
    model.set_params(C=2.0)
    with pytest.raises(FenchelError, match="Fit it again"):
        model.certified_predictions(T)


def test_training_data_give_the_same_proof_or_a_better_one():
    X, y, targets, T = data()
    model = LinearClassifier(tol=1e-5, random_state=0).fit(X, y)
    found, recomputed = model.certified_predictions(T), certified_predictions(model, T, X, y)
    assert np.allclose(found.lower, recomputed.lower, atol=1e-3)
    ridge = LinearRegressor(tol=1e-5).fit(X, targets)
    assert np.allclose(ridge.certified_predictions(T).upper, certified_predictions(ridge, T, X, targets).upper)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (LinearClassifier(l1_ratio=1.0), "not strongly convex"),
        (LinearClassifier(regularizer=FreeDirections.of_features([0], 4)), "unregularized"),
        (LinearClassifier(multi_class="ovo"), "votes"),
        (LinearClassifier(multi_class="crammer_singer"), "fit_intercept=False"),
        (LinearSVC(penalty="l1"), "not strongly convex"),
        (LogisticRegression(l1_ratio=1.0), "not strongly convex"),
        (MeasureClassifier(), "thresholds"),
        (OrdinalClassifier(), "thresholds"),
        (WinnowClassifier(), "not strongly convex"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refusals_say_why(estimator, words):
    X, y, _, T = data()
    model = clone(estimator).fit(X, y)
    with pytest.raises(FenchelError, match=words):
        model.certified_predictions(T)
    with pytest.raises(FenchelError, match=words):
        pickle.loads(pickle.dumps(model)).certified_predictions(T)


def test_a_precomputed_kernel_is_refused():
    X, y, _, T = data()
    model = KernelClassifier(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(FenchelError, match="precomputed"):
        model.certified_predictions(T @ X.T)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("loss", "k"), [("hinge", 2), ("hinge", 3), ("logistic", 3), ("squared", 0), ("huber", 0)])
def test_paths(loss, k, fit_intercept):
    X, labels, targets, T = data(max(k, 2))
    y = labels if k else targets
    options = {"loss": loss, "fit_intercept": fit_intercept, "random_state": 0, "max_iter": 20000}
    paths = [
        regularization_path(X, y, (0.1, 1.0), accuracy=1e-2, **options),
        regularization_path(X, y, [0.1, 0.2, 0.5, 1.0], tol=1e-9, **options),
    ]
    for C in (0.1, 0.2, 0.37, 1.0):
        tight = regularization_path(X, y, [C], tol=1e-10, **options).certified_predictions(T, C)
        assert tight.share_proved > 0.9
        for path in paths:
            found = path.certified_predictions(T, C)
            weights, intercept, _ = path.at(C)
            scores = T @ weights.T + intercept
            assert np.all(found.lower <= tight.upper)
            assert np.all(tight.lower <= found.upper)
            if k:
                both = found.proved & tight.proved
                assert np.array_equal(found.predictions[both], tight.predictions[both])
            else:
                assert np.array_equal(found.predictions, scores)


def test_paths_refuse():
    X, y, _, T = data(2)
    with pytest.raises(FenchelError, match="not strongly convex"):
        regularization_path(X, y, [1.0], l1_ratio=1.0).certified_predictions(T, 1.0)
    with pytest.raises(FenchelError, match="features"):
        regularization_path(X, y, [1.0]).certified_predictions(T[:, :2], 1.0)


def test_a_warm_fit_of_many_problems_that_takes_no_pass_keeps_its_proofs(monkeypatch):
    monkeypatch.setattr(proved, "_MOST_PENDING", 10)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.argmax(X, axis=1)
    model = LinearClassifier("logistic", multi_class="ovr", warm_start=True, random_state=0, tol=1e-6)
    shares = [model.fit(X, y).certified_predictions(X).share_proved for _ in range(2)]
    assert shares[0] > 0.9
    assert shares[1] >= shares[0]

"""``to_sklearn``: a stock estimator of scikit-learn with the same predictions, or an error that says why not."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification, make_multilabel_classification, make_regression

import fenchel
from fenchel import (
    FenchelError,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearClassifierCV,
    LinearRanker,
    LinearRegressor,
    LinearRegressorCV,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MeasureClassifier,
    MultilabelClassifier,
    OnlineClassifier,
    OrdinalClassifier,
    SequenceClassifier,
    WinnowClassifier,
)
from fenchel.features import PolynomialFeatures
from fenchel.losses import Hinge, Poisson

X2, Y2 = make_classification(120, 6, n_informative=4, flip_y=0.1, random_state=0)
X3, Y3 = make_blobs(90, 4, centers=3, cluster_std=4.0, random_state=1)
XR, YR = make_regression(120, 6, noise=5.0, random_state=2)
NAMES = np.array(["ash", "birch", "cedar", "elm"])

CLASSIFIERS = [
    LinearClassifier(random_state=0),
    LinearClassifier("squared_hinge", fit_intercept=False, random_state=0),
    LinearClassifier("huber_hinge", class_weight="balanced", random_state=0),
    LinearClassifier("exponential", C=0.01, random_state=0),
    LinearClassifier(Hinge(power=1.5), random_state=0),
    LinearClassifier("logistic", random_state=0),
    LinearClassifier("logistic", multi_class="ovr", l1_ratio=0.5, random_state=0),
    LinearClassifier("logistic", multi_class="ovo", random_state=0),
    LinearClassifier(multi_class="ovo", random_state=0),
    LinearClassifier(multi_class="crammer_singer", random_state=0),
    LinearClassifier(regularizer="q_norm", random_state=0),
    LinearClassifierCV("logistic", Cs=[0.01, 1.0], cv=2, random_state=0),
    MeasureClassifier("f1", surrogate="bound", random_state=0),
    MeasureClassifier("roc_auc", random_state=0),
    LinearSVC(),
    LinearSVC(fit_intercept=False, loss="hinge"),
    LinearSVC(multi_class="crammer_singer"),
    LogisticRegression(),
    LogisticRegression(solver="liblinear"),
    OnlineClassifier(random_state=0),
    WinnowClassifier(random_state=0),
    KernelClassifier(random_state=0),
    KernelClassifier("logistic", kernel="poly", degree=2, coef0=1.0, fit_intercept=True, random_state=0),
    KernelClassifier(kernel="linear", fit_intercept=True, class_weight="balanced", random_state=0),
    KernelClassifier(multi_class="ovr", random_state=0),
]


def agree(model, stock, X):
    """Both give the same labels, scores and probabilities; and the stock estimator is scikit-learn's own."""
    assert type(stock).__module__.partition(".")[0] == "sklearn"
    np.testing.assert_array_equal(model.predict(X), stock.predict(X))
    for name in ("decision_function", "predict_proba", "predict_log_proba"):
        if hasattr(model, name) and hasattr(stock, name):
            own = getattr(model, name)(X)
            np.testing.assert_allclose(getattr(stock, name)(X), own, rtol=1e-9, atol=1e-11 * np.max(np.abs(own)))


@pytest.mark.meetings(1)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_a_classifier_predicts_the_same(model):
    for X, labels in ((X2, NAMES[1 - Y2]), (X3, Y3)):
        own = clone(model).fit(X, labels)
        stock = own.to_sklearn()
        agree(own, stock, np.vstack([X, -2.0 * X[:50], np.zeros((1, X.shape[1]))]))
        if hasattr(own, "predict_proba") and not isinstance(model, KernelClassifier):
            assert hasattr(stock, "predict_proba")


@pytest.mark.parametrize(
    "model",
    [
        LinearRegressor(random_state=0),
        LinearRegressor("quantile", fit_intercept=False, random_state=0),
        LinearRegressor("huber", l1_ratio=1.0, random_state=0),
        LinearRegressor("poisson", C=1e-4, random_state=0),
        LinearRegressorCV("absolute", Cs=[0.1, 1.0], cv=2, random_state=0),
        LinearSVR(epsilon=0.5),
        LinearSVR(fit_intercept=False),
        KernelRegressor(random_state=0),
        KernelRegressor("absolute", fit_intercept=False, kernel="poly", random_state=0),
        KernelRegressor("epsilon_insensitive", C=10.0, kernel="linear", random_state=0),
    ],
    ids=str,
)
def test_a_regression_predicts_the_same(model):
    for X in (XR, sp.csr_matrix(XR)):
        own = clone(model).fit(X, np.abs(YR))
        stock = own.to_sklearn()
        assert type(stock).__module__.startswith("sklearn.")
        np.testing.assert_allclose(stock.predict(X), own.predict(X), rtol=1e-9, atol=1e-9)


def test_several_targets_and_a_ranking():
    Y = np.column_stack([YR, -YR])
    own = LinearRegressor(random_state=0).fit(XR, Y)
    np.testing.assert_allclose(own.to_sklearn().predict(XR), own.predict(XR), rtol=1e-12)
    own = KernelRegressor(fit_intercept=False, random_state=0).fit(XR, Y)
    np.testing.assert_allclose(own.to_sklearn().predict(XR), own.predict(XR), rtol=1e-9)
    ranker = LinearRanker(random_state=0).fit(X2, Y2, qid=np.arange(len(Y2)) // 20)
    np.testing.assert_allclose(ranker.to_sklearn().predict(X2), ranker.predict(X2), rtol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_several_labels_at_once(loss):
    X, Y = make_multilabel_classification(120, 6, n_classes=4, random_state=0)
    Y[:, 2] = 1
    for labels in (Y, sp.csr_matrix(Y)):
        own = MultilabelClassifier(loss, random_state=0).fit(X, labels)
        stock = own.to_sklearn()
        found, expected = stock.predict(X), own.predict(X)
        assert sp.issparse(found) == sp.issparse(expected)
        assert (found != expected).sum() == 0
        np.testing.assert_allclose(stock.decision_function(X), own.decision_function(X), rtol=1e-12)
        if loss == "logistic":
            np.testing.assert_allclose(stock.predict_proba(X), own.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("positive", [0, 1])
def test_a_threshold_at_a_score_itself_is_kept(positive):
    """Scores at the threshold are not above it, whichever of the classes is the positive one."""
    X, y = X2, Y2
    own = MeasureClassifier("f1", pos_label=positive, surrogate="bound", random_state=0).fit(X, y)
    for threshold in (X @ own.coef_[0])[:60]:
        own.thresholds_, own.intercept_ = np.array([threshold]), np.array([-threshold])
        np.testing.assert_array_equal(own.to_sklearn().predict(X), own.predict(X))


def test_two_ordered_classes():
    for order in ([0, 1], [1, 0]):
        own = OrdinalClassifier(order, random_state=0).fit(X2, Y2)
        agree(own, own.to_sklearn(), X2)


def test_names_of_features_and_sparse_weights_are_kept():
    frame = pd.DataFrame(X2, columns=[f"f{k}" for k in range(X2.shape[1])])
    own = LinearClassifier("logistic", l1_ratio=1.0, C=0.1, random_state=0).fit(frame, Y2).sparsify()
    stock = own.to_sklearn()
    assert list(stock.feature_names_in_) == list(frame.columns)
    assert sp.issparse(stock.coef_)
    agree(own, stock, frame)
    # a copy: what is done to one does not change the other
    before = own.predict_proba(frame)
    stock.coef_ = stock.coef_ * 2.0
    stock.intercept_ += 1.0
    np.testing.assert_array_equal(own.predict_proba(frame), before)


def test_kernels_of_sparse_rows_and_precomputed_ones():
    own = KernelClassifier(random_state=0).fit(sp.csr_matrix(X2), Y2)
    agree(own, own.to_sklearn(), sp.csr_matrix(X2))
    for labels in (Y2, np.arange(len(Y2)) % 3):
        own = KernelClassifier(kernel="precomputed", random_state=0).fit(X2 @ X2.T, labels)
        agree(own, own.to_sklearn(), X2 @ X2.T)
    own = KernelRegressor(kernel="precomputed", random_state=0).fit(XR @ XR.T, YR)
    np.testing.assert_allclose(own.to_sklearn().predict(XR @ XR.T), own.predict(XR @ XR.T), rtol=1e-9)


def test_a_drop_in_becomes_its_namesake_with_its_parameters():
    own = LinearSVC(C=0.3, loss="hinge", random_state=7).fit(X2, Y2)
    stock = own.to_sklearn()
    assert type(stock).__name__ == "LinearSVC"
    assert {**stock.get_params(), "dual": 0} == {**own.get_params(), "dual": 0}
    assert LinearClassifierCV("hinge", Cs=[0.25], cv=2).fit(X2, Y2).to_sklearn().C == 0.25


class Rounded(Poisson):
    name = "rounded"

    def prediction(self, score):
        return np.round(super().prediction(score))


@pytest.mark.parametrize(
    ("model", "X", "y", "why"),
    [
        (OrdinalClassifier(random_state=0), X3, Y3, "searchsorted"),
        (LinearRegressor("poisson", C=1e-4), XR, np.abs(np.column_stack([YR, YR])), "one target"),
        (KernelRegressor("poisson", C=1e-4), XR, np.abs(YR), "loss='poisson'"),
        (KernelRegressor(random_state=0), XR, np.column_stack([YR, YR]), "several targets"),
        (KernelClassifier(kernel=lambda A, B: A @ B.T), X2, Y2, "kernel='precomputed'"),
        (LinearClassifier(features=PolynomialFeatures()), X2, Y2, "computes features"),
    ],
    ids=["ordinal", "targets", "poisson", "kernel targets", "function", "features"],
)
def test_what_scikit_learn_cannot_express_is_refused(model, X, y, why):
    with pytest.raises(FenchelError, match=why):
        model.fit(X, y).to_sklearn()


def test_sequences_and_unknown_links_are_refused():
    rows = [X2[:5], X2[5:9]]
    sequences = SequenceClassifier(random_state=0).fit(rows, [Y2[:5], Y2[5:9]])
    with pytest.raises(FenchelError, match="SequenceClassifier"):
        sequences.to_sklearn()
    model = LinearRegressor("poisson", C=1e-4, random_state=0).fit(XR, np.abs(YR))
    model.loss = Rounded()
    with pytest.raises(FenchelError, match="loss='rounded'"):
        model.to_sklearn()


def test_an_estimator_that_is_not_fitted_is_refused():
    for name in ("LinearClassifier", "LinearRegressor", "KernelClassifier", "MeasureClassifier"):
        with pytest.raises(Exception, match="not fitted"):
            getattr(fenchel, name)().to_sklearn()

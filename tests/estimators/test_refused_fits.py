"""What a fit that is refused, fails or is interrupted leaves behind; and warm starts that do not fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale

from fenchel import (
    FenchelError,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    MeasureClassifier,
    WinnowClassifier,
    regularization_path,
)

X, Y = make_classification(60, 5, n_informative=3, random_state=0)
ESTIMATORS = [LinearClassifier, LinearRegressor, MeasureClassifier, KernelClassifier, KernelRegressor]


CERTIFIED = ("certificate_", "certificates_", "converged_", "_optimum")


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_refused_refit_leaves_the_last_fit(kind):
    model = kind(random_state=0, tol=1e-2).fit(X, Y)
    before, predicted = dict(vars(model)), model.predict(X)
    with pytest.raises(FenchelError, match="C must be a positive finite number"):
        model.set_params(C=0).fit(X[:, :3], Y + 1)
    model.set_params(C=before["C"])
    # set_params drops the certificate and what it proves, which belonged to the parameters before
    before = {name: value for name, value in before.items() if name not in CERTIFIED}
    assert all(vars(model)[name] is value for name, value in before.items())
    assert vars(model).keys() == before.keys()
    np.testing.assert_array_equal(model.predict(X), predicted)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("change", [{"bogus": 1}, {"tol": 0.5, "bogus": 1}, {"C": 2.0, "loss__x": 1}, {"bogus__a": 1}])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_refused_parameters_change_nothing(kind, change):
    model = kind(random_state=0, tol=1e-2).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(**change)
    assert vars(model) == before


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_refused_first_fit_leaves_nothing_fitted(kind):
    model = kind(C=-1.0)
    with pytest.raises(FenchelError, match="C must be"):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_constraints_that_nothing_meets_leave_nothing_fitted():
    rows = np.array([[1.0], [1.0]])
    model = LinearClassifier("hard_margin", fit_intercept=False)
    with pytest.raises(FenchelError, match="the constraints are infeasible"):
        model.fit(rows, [0, 1])
    with pytest.raises(NotFittedError):
        model.predict(rows)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_interrupt_between_folds_leaves_nothing_fitted(monkeypatch, n_jobs):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(LinearClassifierCV, "_paths", interrupted)
    model = LinearClassifierCV(Cs=[1.0], n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("form", ["weston_watkins", "crammer_singer"])
def test_pairs_of_classes_are_no_start_for_one_problem(form):
    rows, labels = load_iris(return_X_y=True)
    model = LinearClassifier(multi_class="ovo", warm_start=True, tol=1e-2, random_state=0).fit(scale(rows), labels)
    again = model.set_params(multi_class=form).fit(scale(rows), labels)
    assert again.certificate_.relative_gap <= 1e-2


def test_weights_that_a_regularizer_forbids_are_no_start():
    model = LinearClassifier(warm_start=True, tol=1e-2, random_state=0).fit(X, Y).set_params(regularizer="entropy")
    assert model.fit(X, Y).certificate_.relative_gap <= 1e-2
    winnow = WinnowClassifier(warm_start=True, tol=1e-2, random_state=0).fit(X, Y).set_params(normalized=True)
    assert winnow.fit(X, Y).certificate_.relative_gap <= 1e-2


def test_kernels_add_up_repeated_entries():
    pieces = (np.hstack([3.0 * X, -2.0 * X]).ravel(), np.tile(np.tile(np.arange(5), 2), 60), np.arange(61) * 10)
    repeated = sp.csr_array(pieces, shape=X.shape)
    stored = repeated.nnz
    np.testing.assert_allclose(repeated.toarray(), X)
    for kind in (KernelClassifier, KernelRegressor):
        plain, other = kind(tol=1e-6, random_state=0).fit(X, Y), kind(tol=1e-6, random_state=0).fit(repeated, Y)
        np.testing.assert_allclose(other.certificate_.primal, plain.certificate_.primal, rtol=1e-5)
        np.testing.assert_allclose(other.predict(repeated), plain.predict(X), atol=1e-2)
    # and the user's matrix is as it was
    assert repeated.nnz == stored


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (lambda: LinearClassifierCV(scoring=["accuracy", "f1"]).fit(X, Y), "scoring must be one score"),
        (lambda: regularization_path(X, X[:, 0] + 0.5, [0.01]), "Unknown label type: continuous"),
        (lambda: regularization_path(X, Y, [1.0], fit_intercept="no"), "fit_intercept must be True or False"),
        (lambda: LinearRegressor().fit(X, np.where(Y, "a", "b")), "y must hold numbers"),
        (lambda: LinearClassifier(class_weight={0: 0, 1: 1}).fit(X, Y), "class_weight="),
        (lambda: LinearClassifier(n_jobs=0).fit(X, Y), "n_jobs must be None or an integer other than 0"),
        (lambda: LinearClassifier(warm_start="yes").fit(X, Y), "warm_start must be"),
        (lambda: LinearClassifier(verbose="a").fit(X, Y), "verbose must be"),
        (lambda: KernelClassifier(kernel=lambda A, B: np.eye(3)).fit(X, Y), "kernel must return a matrix of shape"),
    ],
)
def test_the_argument_is_named(refused, words):
    with pytest.raises(ValueError, match=words):
        refused()


def test_a_kernel_of_the_wrong_shape_is_named_when_predicting():
    model = KernelClassifier(kernel=lambda A, B: A @ B.T, tol=1e-2).fit(X, Y)
    model.kernel = lambda A, B: np.zeros((1, 1))
    with pytest.raises(FenchelError, match="kernel must return a matrix of shape"):
        model.predict(X)

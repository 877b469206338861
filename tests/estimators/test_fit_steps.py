"""A fit is encode -> problems -> solve_all -> store; what follows from it for parameters, pickles and wrappers."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV

import fenchel.estimators
from fenchel import (
    FenchelError,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    MeasureClassifier,
    OnlineClassifier,
    OrdinalClassifier,
)
from fenchel.estimators.regularization import lam_of
from fenchel.losses import Quantile

X, LABELS = load_iris(return_X_y=True)
TWO = (LABELS > 0).astype(int)
ESTIMATORS = [
    LinearClassifier(tol=1e-2, random_state=0),
    LinearClassifier(multi_class="ovo", tol=1e-2, random_state=0),
    LinearRegressor(tol=1e-2, random_state=0),
    MeasureClassifier(surrogate="bound", tol=0.1, random_state=0),
    MeasureClassifier("accuracy", threshold="cv", cv=3, tol=0.1, random_state=0),
    OrdinalClassifier(tol=0.1, random_state=0),
    KernelClassifier(tol=1e-2, random_state=0),
    KernelRegressor(tol=1e-2, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_store_alone_changes_the_estimator(estimator):
    model = copy.copy(estimator)
    before = dict(vars(model))
    task = model.encode(X, LABELS)
    problems = model.problems(task)
    solutions = model.solve_all(problems, [None] * len(problems), outputs=model.problem_of_outputs(task))
    assert vars(model) == before
    model.store(task, solutions)
    fitted = copy.copy(estimator).fit(X, LABELS)
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    assert model.certificate_ == fitted.certificate_
    assert vars(model).keys() == vars(fitted).keys()


def test_a_store_that_fails_changes_nothing(monkeypatch):
    model = OrdinalClassifier(tol=0.1, random_state=0).fit(X, LABELS)
    before = dict(vars(model))

    def fails(*_):
        raise MemoryError

    monkeypatch.setattr("fenchel.estimators.ordinal.ordered_thresholds", fails)
    with pytest.raises(MemoryError):
        model.fit(X[:, :2], TWO)
    assert all(vars(model)[name] is value for name, value in before.items())
    assert vars(model).keys() == before.keys()


def test_lam_and_c_are_made_from_each_other():
    assert lam_of(2.0, 50.0) == 0.01
    assert lam_of(lam_of(2.0, 50.0), 50.0) == pytest.approx(2.0)
    with pytest.raises(FenchelError, match="too extreme"):
        lam_of(1e308, 1e10)


@pytest.mark.parametrize("C, total", [(1e-300, 7e-9), (3e-310, 1.0), (1e300, 9e7), (1.7e308, 0.9)])
def test_lam_is_rounded_to_a_few_units_or_refused(C, total):
    """A subnormal product, or quotient, has a larger relative error than the certificates of a fit charge."""
    exact = 1 / (Fraction(C) * Fraction(total))
    try:
        found = lam_of(C, total)
    except FenchelError:
        assert not 2.0**-1020 <= exact <= 2.0**1020
    else:
        assert abs(Fraction(found) - exact) <= 2.1 * 2.0**-53 * exact
        assert 2.0**-1020 <= exact <= 2.0**1020


def test_parameters_of_a_loss_can_be_set_and_searched():
    loss = Quantile(0.9)
    model = LinearRegressor(loss, tol=1e-2).set_params(loss__quantile=0.5, C=2.0)
    assert model.loss == Quantile(0.5)
    assert loss == Quantile(0.9)
    assert model.set_params(loss=Quantile(0.2), loss__quantile=0.3).loss == Quantile(0.3)
    found = GridSearchCV(model, {"loss__quantile": [0.1, 0.5]}, cv=2).fit(X[:, :2], X[:, 2])
    assert found.best_estimator_.loss == Quantile(found.best_params_["loss__quantile"])
    for name in ("loss__median", "losses__quantile", "C__quantile"):
        with pytest.raises(ValueError, match="Invalid parameter"):
            model.set_params(**{name: 0.5})


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_weights_that_were_set_by_hand_predict(loss):
    for y in (TWO, LABELS):
        fitted, model = LinearClassifier(loss, tol=1e-2).fit(X, y), LinearClassifier(loss)
        model.classes_, model.coef_, model.intercept_ = fitted.classes_, fitted.coef_, fitted.intercept_
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
        if loss == "logistic":
            np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))


def test_pickles_name_public_modules():
    for name in fenchel.estimators.__all__:
        assert getattr(fenchel, name).__module__ == "fenchel.estimators"
    for model in (*map(copy.copy, ESTIMATORS), OnlineClassifier(random_state=0)):
        written = pickle.dumps(model.fit(X, LABELS))
        assert b"fenchel.estimators." not in written
        np.testing.assert_array_equal(pickle.loads(written).predict(X), model.predict(X))


@pytest.mark.parametrize("y", [TWO, LABELS], ids=["two", "three"])
@pytest.mark.parametrize(
    "model",
    [LinearClassifier(), LinearClassifier("logistic"), LinearClassifier(multi_class="ovo"), KernelClassifier()],
    ids=str,
)
def test_one_class_with_weight_is_a_constant_model(model, y):
    model = copy.copy(model).fit(X, y, (y == 1).astype(float))
    assert set(model.predict(X)) == {1}
    assert model.converged_
    # without the others in y there is nothing to tell apart
    with pytest.raises(FenchelError, match="at least two classes"):
        model.fit(X[y == 1], y[y == 1])


def test_bootstrap_samples_of_one_class():
    rare = np.where(np.arange(150) < 1, "rare", "usual")
    model = BaggingClassifier(LinearClassifier("logistic", tol=1e-2), n_estimators=8, random_state=0).fit(X, rare)
    constant = [np.allclose(one.coef_, 0.0) for one in model.estimators_]
    assert any(constant)
    assert not all(constant)
    assert model.predict_proba(X).shape == (150, 2)


def test_a_certificate_is_dropped_with_the_parameters_that_it_belongs_to():
    model = LinearClassifier(random_state=0).fit(X, TWO)
    assert model.set_params(verbose=0, n_jobs=1).certificate_ is not None
    model.set_params(C=100.0)
    assert not hasattr(model, "certificate_") and not hasattr(model, "converged_")
    # the weights are still those of the fit
    assert model.predict(X).shape == TWO.shape
    assert model.fit(X, TWO).certificate_ is not None

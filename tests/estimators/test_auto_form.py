"""multi_class="auto": the joint form that goes with the loss where it can be had, else one against the rest."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import make_classification

from fenchel import (
    FenchelError,
    LinearClassifier,
    LinearClassifierCV,
    LinearSVC,
    LogisticRegression,
    MeasureClassifier,
    regularization_path,
)
from fenchel.estimators.multiclass import declared_form
from fenchel.losses import LOSSES, Hinge
from fenchel.regularizers import L2, ElasticNet
from fenchel.risks import MULTICLASS
from fenchel.solvers import BlockCoordinate, DualCoordinate, NewtonCG

X, y = make_classification(90, 6, n_informative=4, n_classes=3, random_state=0)


@pytest.mark.parametrize(
    ("options", "form"),
    [
        ({}, "weston_watkins"),
        ({"loss": Hinge()}, "weston_watkins"),
        ({"loss": "logistic"}, "multinomial"),
        ({"loss": "squared_hinge"}, "ovr"),
        ({"loss": "huber_hinge"}, "ovr"),
        ({"l1_ratio": 0.5}, "ovr"),
        ({"l1_ratio": 0.5, "fit_intercept": False}, "ovr"),
        ({"loss": "logistic", "l1_ratio": 0.5}, "ovr"),
        ({"solver": "block_coordinate"}, "weston_watkins"),
        ({"solver": BlockCoordinate(shrinking=False)}, "weston_watkins"),
        ({"solver": "newton"}, "ovr"),
        ({"solver": DualCoordinate()}, "ovr"),
        ({"solver": "bundle"}, "ovr"),
        ({"solver": "bundle", "fit_intercept": False, "tol": 0.1}, "weston_watkins"),
        ({"solver": NewtonCG(), "loss": "logistic"}, "multinomial"),
        ({"solver": "dual_coordinate", "loss": "logistic"}, "ovr"),
    ],
    ids=str,
)
def test_the_rule(options, form):
    """The fit is that of the form, to the last bit."""
    model = LinearClassifier(random_state=0, **options).fit(X, y)
    assert model.multi_class == "auto"
    assert model.multi_class_ == form
    assert len(model.certificates_) == (1 if form in MULTICLASS else 3)
    same = LinearClassifier(random_state=0, multi_class=form, **options).fit(X, y)
    assert same.multi_class_ == form
    np.testing.assert_array_equal(model.coef_, same.coef_)
    np.testing.assert_array_equal(model.intercept_, same.intercept_)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    assert model.certificate_ == same.certificate_


def test_the_rule_asks_the_solver():
    """The loss and the regularizer declare a form; a solver that does not take the real problem gets one-vs-rest."""
    for loss in (kind() for kind in LOSSES.values()):
        for regularizer in (L2(), ElasticNet(0.3)):
            joint = {"hinge": "weston_watkins", "logistic": "multinomial"}.get(loss.name, "ovr")
            assert declared_form("auto", loss, regularizer) == (joint if isinstance(regularizer, L2) else "ovr")
            assert declared_form("ovo", loss, regularizer) == "ovo"
    seen = []

    class Unwilling(DualCoordinate):
        def supports(self, problem):
            seen.append(problem)
            return super().supports(problem)

    assert LinearClassifier(solver=Unwilling(), random_state=0).encode(X, y).form == "ovr"
    assert [problem.risk.name for problem in seen] == ["weston_watkins"]
    np.testing.assert_array_equal(seen[0].design.scores(np.eye(6)), X)
    # two classes have one form: there is nothing to choose
    seen.clear()
    LinearClassifier(solver=Unwilling(), random_state=0).encode(X, y > 0)
    assert not seen


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_two_classes_are_the_two_class_problem(loss):
    model, same = (LinearClassifier(loss, multi_class=m, random_state=0).fit(X, y > 0) for m in ("auto", "ovr"))
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert model.certificate_ == same.certificate_


def test_probabilities_are_those_of_the_fit():
    """Parameters that are changed afterwards do not count before the next fit."""
    model = LinearClassifier("logistic", random_state=0).fit(X, y)
    for change in ({}, {"multi_class": "ovr"}, {"solver": "newton"}):
        model.set_params(**change)
        np.testing.assert_allclose(model.predict_proba(X), softmax(model.decision_function(X), axis=1))
    rest = LinearClassifier("logistic", l1_ratio=0.1, random_state=0).fit(X, y)
    each = 1 / (1 + np.exp(-rest.decision_function(X)))
    np.testing.assert_allclose(rest.predict_proba(X), each / each.sum(axis=1, keepdims=True))
    pairs = LinearClassifier(multi_class="ovo", random_state=0).fit(X, y)
    before = pairs.predict(X)
    np.testing.assert_array_equal(pairs.set_params(multi_class="auto").predict(X), before)


def test_warm_starts_from_one_form_to_another():
    model = LinearClassifier(warm_start=True, tol=1e-4, random_state=0).fit(X, y)
    for change in ({"l1_ratio": 0.2}, {"l1_ratio": 0.0}, {"loss": "logistic"}, {"solver": "newton"}, {"C": 2.0}):
        model.set_params(**change).fit(X, y)
        assert model.converged_


def test_drop_ins_keep_scikit_learns_forms():
    assert LinearSVC(random_state=0).fit(X, y).multi_class_ == "ovr"
    assert len(LinearSVC(loss="hinge", random_state=0).fit(X, y).certificates_) == 3
    assert LogisticRegression().fit(X, y).multi_class_ == "multinomial"
    assert len(MeasureClassifier("f1", tol=0.1, max_iter=50).fit(X, y).certificates_) == 3


@pytest.mark.parametrize(("loss", "form"), [("hinge", "weston_watkins"), ("logistic", "multinomial")])
def test_choosing_c_and_paths(loss, form):
    found, same = (
        LinearClassifierCV(loss, Cs=[0.01, 1.0], cv=3, multi_class=m, random_state=0).fit(X, y) for m in ("auto", form)
    )
    assert found.multi_class_ == form
    np.testing.assert_array_equal(found.scores_, same.scores_)
    np.testing.assert_array_equal(found.coef_, same.coef_)
    path, same = (regularization_path(X, y, [0.01, 1.0], loss=loss, multi_class=m) for m in ("auto", form))
    assert path.coefs.shape == (2, 3, 6)
    assert [c.primal for c in path.certificates] == pytest.approx([c.primal for c in same.certificates], rel=2e-3)


def test_paths_of_other_problems():
    assert LinearClassifierCV("squared_hinge", Cs=[1.0], cv=3).fit(X, y).multi_class_ == "ovr"
    assert regularization_path(X, X[:, 0], [1.0], loss="squared").coefs.shape == (1, 6)
    assert regularization_path(X, y > 0, [1.0], loss="squared_hinge").coefs.shape == (1, 6)
    with pytest.raises(FenchelError, match="3 classes several problems"):
        regularization_path(X, y, [1.0], loss="squared_hinge")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"solver": "simplex"}, "solver='simplex' is unknown"),
        ({"solver": 3}, "solver must be a name or a solver object"),
        ({"fit_intercept": np.array([1, 2])}, "fit_intercept must be True or False"),
        ({"l1_ratio": 2.0}, "l1_ratio"),
        ({"multi_class": "automatic"}, "multi_class=.* is unknown.*choose one of 'auto', 'ovr'"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named_as_ever(options, match):
    with pytest.raises(FenchelError, match=match):
        LinearClassifier(**options).fit(X, y)

"""MultilabelClassifier: the problems that are solved, constant and rare labels, scikit-learn's conventions, errors."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import estimator_checks
from sklearn.utils.multiclass import type_of_target

from fenchel import (
    FenchelError,
    GapWarning,
    LinearClassifier,
    MeasureClassifier,
    Model,
    MultilabelClassifier,
    Problem,
    Witness,
    certify,
)
from fenchel.risks import F1, MultilabelHinge, micro


def labelled(n=120, labels=4, seed=0):
    return make_multilabel_classification(n, 8, n_classes=labels, n_labels=2, random_state=seed)


FORMS = [
    {},
    {"loss": "logistic"},
    {"measure": "f1", "surrogate": "bound"},
    {"measure": "f1", "surrogate": "plug_in"},
    {"measure": "f1", "average": "micro", "surrogate": "bound"},
    {"measure": "f1", "average": "micro", "surrogate": "plug_in"},
    {"form": "joint"},
]


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_shapes_and_storage(options):
    X, Y = labelled()
    model = MultilabelClassifier(random_state=0, tol=1e-2, **options).fit(X, Y)
    sparse = clone(model).fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    predicted = model.predict(X)
    assert type_of_target(predicted) == "multilabel-indicator"
    assert predicted.shape == model.decision_function(X).shape == Y.shape
    np.testing.assert_array_equal(predicted, model.decision_function(X) > 0)
    assert sp.issparse(sparse.predict(X))
    assert np.mean(sparse.predict(X).toarray() == predicted) > 0.95
    assert model.score(X, Y) == accuracy_score(Y, predicted)
    assert model.score(X, Y) == pytest.approx(np.mean(np.all(predicted == Y, axis=1)))
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.coef_.shape == (4, 8)
    assert model.intercept_.shape == (4,)
    assert model.converged_
    assert model.certificate_.gap == pytest.approx(sum(one.gap for one in model.certificates_), abs=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), predicted)
    assert f1_score(Y, predicted, average="micro") > 0.7


def test_independent_labels_are_separate_classifiers():
    X, Y = labelled()
    for loss in ("hinge", "logistic"):
        model = MultilabelClassifier(loss, tol=1e-6, C=0.3, random_state=0).fit(X, Y)
        for k in range(4):
            single = LinearClassifier(loss, tol=1e-6, C=0.3, random_state=0).fit(X, Y[:, k])
            assert model.certificates_[k].primal == pytest.approx(single.certificate_.primal, rel=2e-6)
            np.testing.assert_allclose(model.coef_[k], single.coef_[0], atol=2e-3)
    np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-model.decision_function(X))), rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X), rtol=1e-12)
    assert not hasattr(MultilabelClassifier("hinge").fit(X, Y), "predict_proba")
    rest = OneVsRestClassifier(LinearClassifier("logistic", tol=1e-6, C=0.3, random_state=0)).fit(X, Y)
    assert np.mean(rest.predict(X) == model.predict(X)) > 0.99


@pytest.mark.parametrize("surrogate", [pytest.param("bound", marks=pytest.mark.thorough), "plug_in"])
def test_macro_is_a_measure_classifier_for_each_label(surrogate, full_products):
    X, Y = labelled(60, labels=2)
    options = {"surrogate": surrogate, "threshold": "cv", "tol": 1e-6 if full_products else 1e-4, "random_state": 0}
    model = MultilabelClassifier(measure="f1", **options).fit(X, Y)
    for k in range(2):
        single = MeasureClassifier("f1", **options).fit(X, Y[:, k])
        assert model.certificates_[k].primal == pytest.approx(single.certificate_.primal, rel=1e-5)
        np.testing.assert_allclose(model.thresholds_[k], single.thresholds_[0], atol=1e-2)
        np.testing.assert_allclose(model.positive_weights_[k], single.positive_weights_[0])


def test_micro_and_joint_are_one_problem():
    X, Y = labelled(60)
    signs = np.where(Y == 1, 1.0, -1.0)
    model = MultilabelClassifier(measure="f1", average="micro", surrogate="bound", random_state=0).fit(X, Y)
    problem = Problem(X, micro(F1(signs.ravel()), 4), 1 / 60)
    witness = Witness(model.theta_, decomposition=model.decompositions_[0])
    assert certify(problem, Model(model.coef_, np.zeros(4)), witness).gap == pytest.approx(model.dual_gap_, rel=1e-6)
    assert len(np.unique(model.thresholds_)) == len(model.certificates_) == 1
    joint = MultilabelClassifier(form="joint", random_state=0).fit(X, Y)
    problem = Problem(X, MultilabelHinge(Y), 1 / 60, intercept=True)
    again = certify(problem, Model(joint.coef_, joint.risk_intercept_), Witness(joint.theta_))
    assert again.gap == pytest.approx(joint.dual_gap_, rel=1e-6)
    assert np.ptp(joint.risk_intercept_) > 0.1
    for options in ({"fit_intercept": False}, {"l1_ratio": 0.5}):
        plain = MultilabelClassifier(form="joint", random_state=0, tol=1e-2, **options).fit(X, Y)
        assert plain.converged_
        assert not np.any(plain.risk_intercept_)
    assert "the hinge of pairs of labels" in str(joint.certificate_)
    # of all thresholds of a label none has fewer errors
    scores = X @ joint.coef_.T
    for k, own in enumerate(scores.T):
        least = min(np.sum((own > t) != Y[:, k]) for t in [*own, own.min() - 1])
        assert np.sum((own > joint.thresholds_[k]) != Y[:, k]) == least


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_constant_and_rare_labels(options):
    X, Y = labelled()
    rare = np.zeros(len(Y), dtype=int)
    rare[3] = 1
    Y = np.column_stack([np.zeros(len(Y), int), Y[:, :2], np.ones(len(Y), int), rare])
    model = MultilabelClassifier(random_state=0, tol=1e-2, n_jobs=2, warm_start=True, **options)
    with warnings.catch_warnings():
        # one positive is no reason for a plug-in; its bound may be trivial
        warnings.simplefilter("ignore", GapWarning)
        model.fit(X, Y)
        first = model.predict(X)
        model.fit(X, Y)
    assert model.varying_.tolist() == [False, True, True, False, True]
    assert not np.any(first[:, 0])
    assert np.all(first[:, 3] == 1)
    assert not np.any(model.coef_[[0, 3]])
    assert model.coef_.shape == (5, 8)
    # the second fit started from the first
    assert np.mean(model.predict(X) == first) > 0.9


def test_auto_chooses_for_each_label():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    # the last label's positives are on both sides of its negatives: its bound is trivial
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 1.0, np.abs(X[:, 2]) > 1.5]).astype(int)
    model = MultilabelClassifier(measure="f1", random_state=0).fit(X, Y)
    assert model.surrogate_ in ("mixed", "plug_in")
    assert len(model.certificates_) == 3
    assert np.isfinite(model.thresholds_).all()
    assert np.isfinite(model.positive_weights_[2])


def test_weights_count_as_repeated_rows(full_products):
    X, Y = labelled()
    tol = 1e-7 if full_products else 1e-5
    weight = np.random.default_rng(0).integers(0, 3, len(Y))
    every = ({"loss": "logistic"}, {"form": "joint"}, {"measure": "f1", "surrogate": "bound"})
    for options in every if full_products else every[:1]:
        weighted = MultilabelClassifier(tol=tol, random_state=0, max_iter=1e4, **options).fit(X, Y, weight)
        repeated = clone(weighted).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
        assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=10 * tol)
    with pytest.raises(FenchelError, match="sample_weight does not apply to measure='f1'"):
        MultilabelClassifier(measure="f1").fit(X, Y, weight + 0.5)


def test_in_model_selection():
    X, Y = labelled()
    search = GridSearchCV(MultilabelClassifier("logistic"), {"C": [0.1, 1.0]}, scoring="f1_micro", cv=3).fit(X, Y)
    assert search.best_score_ > 0.6
    assert cross_val_score(MultilabelClassifier(random_state=0), X, Y, cv=3).shape == (3,)


@pytest.mark.parametrize(
    "check",
    [
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
        "check_valid_tag_types",
    ],
)
def test_scikit_learn_checks_that_need_no_labels(check):
    getattr(estimator_checks, check)("MultilabelClassifier", MultilabelClassifier())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "f2"}, "measure must be one of"),
        ({"measure": "precision_at_k"}, "needs k"),
        ({"form": "both"}, "choose one of 'independent', 'joint'"),
        ({"average": "weighted"}, "choose one of 'macro', 'micro'"),
        ({"form": "joint", "surrogate": "plug_in"}, "form='joint' has no plug-in"),
        ({"loss": "squared"}, "loss"),
        ({"C": 0.0}, "C must be a positive"),
    ],
)
def test_errors_name_the_argument(options, message):
    X, Y = labelled()
    with pytest.raises(FenchelError, match=message):
        MultilabelClassifier(**options).fit(X, Y)


@pytest.mark.parametrize(("options", "reason"), [({}, "to each label"), ({"form": "joint"}, "thresholds")])
def test_why_predictions_are_not_proved(options, reason):
    X, Y = labelled()
    with pytest.raises(FenchelError, match=reason):
        MultilabelClassifier(**options).fit(X, Y).certified_predictions(X)


def test_labels_that_are_no_indicator_matrix():
    X, Y = labelled()
    with pytest.raises(FenchelError, match=r"y must be an indicator matrix .* got 'binary'; use .*MultiLabelBinarizer"):
        MultilabelClassifier().fit(X, Y[:, 0])
    with pytest.raises(FenchelError, match="got 'multiclass-multioutput'"):
        MultilabelClassifier().fit(X, Y + np.arange(4))
    for values in ((-1, 1), (0, 2), (-1, 0), (1, 2)):
        for make in (np.asarray, pd.DataFrame) if values[0] else (np.asarray, sp.csr_array):
            with pytest.raises(FenchelError, match=r"of 0 and 1, .* got the values .* pass y > 0 if 1 marks a label"):
                MultilabelClassifier().fit(X, make(np.where(Y > 0, values[1], values[0])))
    for lists in ([[0], [0, 1]], [("a",), ("a", "b")]):
        with pytest.raises(FenchelError, match=r"got lists of different lengths; use .*MultiLabelBinarizer"):
            MultilabelClassifier().fit(X[:2], lists)
    assert MultilabelClassifier().fit(X, Y.tolist()).coef_.shape == (4, 8)
    with pytest.raises(FenchelError, match="every label is constant"):
        MultilabelClassifier().fit(X, np.broadcast_to([0, 1, 0, 1], Y.shape))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MultilabelClassifier().fit(X[:-1], Y)

"""MeasureClassifier: the problem that is solved, thresholds, several classes, weights, scikit-learn's rules, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.metrics import f1_score, fbeta_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import (
    FenchelError,
    GapWarning,
    LinearClassifier,
    MeasureClassifier,
    Model,
    Problem,
    Witness,
    certify,
    solve,
)
from fenchel.regularizers import ElasticNet
from fenchel.risks import F1, MEASURES, micro
from slow_thresholds import slow_cut, slow_loss

#: what class weights cancel in, and counts of examples, which know no weights: refused with the reason
CANCELS = {"check_class_weight_classifiers": "weights of classes cancel in the ROC area"}
COUNTS = {
    "check_class_weight_classifiers": "the measure counts examples",
    "check_sample_weight_equivalence_on_dense_data": "shuffled examples have other folds",
    "check_sample_weight_equivalence_on_sparse_data": "shuffled examples have other folds",
}
#: its weights of 1000 and 0.0001 make w = 0 optimal up to 1e-17: which class is predicted is rounding
VANISHES = {"check_class_weight_classifiers": "the optimum is w = 0, and predictions follow its rounding"}
EXPECTED = {"roc_auc": CANCELS, "accuracy": VANISHES, "f1": COUNTS, "prbep": COUNTS}
ESTIMATORS = [
    MeasureClassifier(measure, tol=tol, random_state=0)
    for measure, tol in (("roc_auc", 1e-12), ("accuracy", 0), ("f1", 1e-6), ("prbep", 1e-6))
]


@pytest.mark.meetings(1, law="scikit_learn_checks_of_other_risks")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda model: EXPECTED[model.measure])
@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def rare(n=200, seed=0, classes=2):
    weights = [0.85] if classes == 2 else None
    return make_classification(
        n, 8, n_informative=5, n_classes=classes, weights=weights, flip_y=0.05, random_state=seed
    )


PARAMETERS = {"fbeta": {"beta": 2.0}, "precision_at_k": {"k": 10}, "recall_at_k": {"k": 60}}


def parameters(measure):
    return PARAMETERS.get(measure, {}) if isinstance(measure, str) else {}


def own(fn, fp):
    return (fn + 2.0 * fp) / 100.0


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("measure", [*MEASURES, own])
@pytest.mark.filterwarnings("ignore:.*the bound of .* is trivial:fenchel.GapWarning")
@pytest.mark.meetings(1)
def test_the_problem_is_that_of_the_core(measure, fit_intercept, full_products):
    X, y = rare(200 if full_products else 100)
    model = MeasureClassifier(
        measure,
        surrogate="bound",
        C=0.5,
        l1_ratio=0.2,
        tol=1e-6,
        fit_intercept=fit_intercept,
        random_state=0,
        **parameters(measure),
    ).fit(X, y)
    risk = model._choice().risk(np.where(y == 1, 1.0, -1.0), None)
    intercept = fit_intercept and risk.intercepts() is not None
    problem = Problem(X, risk, 1 / (0.5 * len(y)), ElasticNet(0.2), intercept)
    plain = solve(problem, tol=1e-6)
    assert model.converged_
    assert model.certificate_.primal == pytest.approx(plain.certificate.primal, rel=1e-5)
    # what is stored proves the certificate again
    witness = Witness(model.theta_, decomposition=model.decompositions_[0])
    again = certify(problem, Model(model.coef_[0], float(model.risk_intercept_[0])), witness)
    assert again.gap == pytest.approx(model.dual_gap_, rel=1e-6, abs=1e-12)
    assert again.recomputed
    assert model.certificate_.recomputed
    assert (model.decompositions_[0] is None) == (risk.closed_form() is not None)
    np.testing.assert_array_equal(model.intercept_, -model.thresholds_)
    assert model.solver_ == plain.solver


@pytest.mark.parametrize(("measure", "beta"), [("f1", 1.0), ("fbeta", 0.5), ("fbeta", 3.0)])
def test_the_training_measure_is_the_best_that_a_threshold_gives(measure, beta, full_products):
    X, y = rare(200 if full_products else 100)
    model = MeasureClassifier(measure, beta=beta, surrogate="bound", random_state=0).fit(X, y)
    scores = X @ model.coef_[0]
    best = max(fbeta_score(y, scores > t, beta=beta) for t in [*scores, scores.min() - 1])
    assert fbeta_score(y, model.predict(X), beta=beta) == pytest.approx(best, abs=1e-12)


def test_as_many_are_predicted_as_the_measure_asks_for():
    X, y = rare()
    assert np.sum(MeasureClassifier("prbep", surrogate="bound").fit(X, y).predict(X)) == np.sum(y)
    assert np.sum(MeasureClassifier("recall_at_k", k=70, surrogate="bound").fit(X, y).predict(X)) <= 70
    assert np.sum(MeasureClassifier("precision_at_k", k=9, surrogate="bound").fit(X, y).predict(X)) >= 9


def test_accuracy_is_the_linear_classifier_with_another_threshold():
    X, y = rare()
    model = MeasureClassifier("accuracy", tol=1e-9, max_iter=1e5, random_state=0).fit(X, y)
    hinge = LinearClassifier(tol=1e-9, max_iter=1e5, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, hinge.coef_, atol=1e-4)
    assert model.certificate_.primal == pytest.approx(hinge.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(model.risk_intercept_, hinge.intercept_, atol=1e-4)
    assert model.score(X, y) >= hinge.score(X, y)


@pytest.mark.parametrize("measure", ["f1", "roc_auc", "prbep"])
def test_three_classes_are_one_problem_each(measure):
    X, y = rare(classes=3)
    names = np.array(["pear", "apple", "quince"])[y]
    model = MeasureClassifier(measure, surrogate="bound", random_state=0, tol=1e-4).fit(X, names)
    assert list(model.classes_) == ["apple", "pear", "quince"]
    assert model.coef_.shape == (3, 8)
    assert model.theta_.shape == (200, 3)
    assert len(model.certificates_) == len(model.trace_) == 3
    for k, name in enumerate(model.classes_):
        single = MeasureClassifier(measure, surrogate="bound", random_state=0, tol=1e-4).fit(X, names == name)
        assert model.certificates_[k].primal == pytest.approx(single.certificate_.primal, rel=1e-3)
        np.testing.assert_allclose(model.thresholds_[k], single.thresholds_[0], atol=1e-12)
    assert set(model.predict(X)) == {"apple", "pear", "quince"}
    assert f1_score(names, model.predict(X), average="macro") > 0.5


@pytest.mark.parametrize("measure", [*MEASURES, own])
@pytest.mark.filterwarnings("ignore:.*the bound of .* is trivial:fenchel.GapWarning")
@pytest.mark.meetings(1)
def test_micro_is_one_table_of_all_scores(measure):
    X, y = rare(n=60, classes=3)
    settings = {"average": "micro", "surrogate": "bound", "C": 0.3, "tol": 1e-5, "random_state": 0}
    model = MeasureClassifier(measure, **settings, **PARAMETERS.get(measure, {}))
    if measure == "recall_at_k":
        model.set_params(k=80)
    model.fit(X, y)
    assert (model.coef_.shape, model.theta_.shape) == ((3, 8), (60, 3))
    assert model.converged_
    assert len(model.certificates_) == 1
    # the same as one measure of a design with a block for each class
    wide = np.vstack([np.kron(np.eye(3)[k], X[i]) for i in range(60) for k in range(3)])
    labels = np.where(np.arange(3) == y[:, None], 1.0, -1.0).ravel()
    problem = Problem(wide, model._choice().risk(labels, None), 1 / (0.3 * 60))
    assert solve(problem, "bundle", tol=1e-5).certificate.primal == pytest.approx(model.certificate_.primal, rel=3e-5)
    assert len(np.unique(model.thresholds_)) == 1
    wrapped = Problem(X, micro(model._choice().risk(labels, None), 3), 1 / (0.3 * 60))
    again = certify(
        wrapped, Model(model.coef_, np.zeros(3)), Witness(model.theta_, decomposition=model.decompositions_[0])
    )
    assert again.gap == pytest.approx(model.dual_gap_, rel=1e-6, abs=1e-12)
    predicted = model.decision_function(X).ravel() > 0
    fn, fp = np.sum(~predicted & (labels > 0)), np.sum(predicted & (labels < 0))
    risk = model._choice().risk(labels, None)
    assert slow_loss(risk, fn, fp) == pytest.approx(slow_cut((X @ model.coef_.T).ravel(), risk), abs=1e-12)


@pytest.mark.parametrize("measure", ["roc_auc", "accuracy"])
def test_micro_takes_weights(measure):
    X, y = rare(n=60, classes=3)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    settings = {"average": "micro", "tol": 1e-7, "max_iter": 1e4, "random_state": 0}
    weighted = MeasureClassifier(measure, **settings).fit(X, y, sample_weight=weight)
    repeated = MeasureClassifier(measure, **settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.certificate_.recomputed
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(weighted.thresholds_, repeated.thresholds_, atol=1e-2)


def test_weights_count_where_they_mean_something():
    X, y = rare()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    for measure in ("roc_auc", "accuracy"):
        weighted = MeasureClassifier(measure, tol=1e-8, max_iter=1e5, random_state=0).fit(X, y, sample_weight=weight)
        repeated = MeasureClassifier(measure, tol=1e-8, max_iter=1e5, random_state=0)
        repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)
        assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-6)
    same = MeasureClassifier("f1", surrogate="bound", C=2.0, random_state=0).fit(
        X, y, sample_weight=np.full(len(y), 0.5)
    )
    np.testing.assert_allclose(
        same.coef_, MeasureClassifier("f1", surrogate="bound", random_state=0).fit(X, y).coef_, rtol=1e-9
    )
    with pytest.raises(FenchelError, match="class_weight does not apply to measure='roc_auc', in which it cancels"):
        MeasureClassifier("roc_auc", class_weight="balanced").fit(X, y)
    for measure in ("f1", "prbep", own):
        with pytest.raises(FenchelError, match=r"sample_weight does not apply to .* unless all weights are integers"):
            MeasureClassifier(measure).fit(X, y, sample_weight=weight + 0.5)
        with pytest.raises(FenchelError, match="class_weight does not apply to"):
            MeasureClassifier(measure, class_weight="balanced").fit(X, y)
    heavy = MeasureClassifier("accuracy", class_weight={0: 1, 1: 10}, random_state=0).fit(X, y)
    assert np.sum(heavy.predict(X)) > np.sum(MeasureClassifier("accuracy", random_state=0).fit(X, y).predict(X))


@pytest.mark.parametrize(
    "options",
    [
        {"surrogate": "bound"},
        {"surrogate": "plug_in", "cv": 2},
        {"cv": 2, "tol": 1e-2},
        {"measure": own, "surrogate": "bound"},
        {"measure": "kld", "surrogate": "bound", "threshold": "cv", "cv": 2},
    ],
    ids=["bound", "plug_in", "auto", "own", "kld"],
)
def test_integer_weights_are_repeated_rows(options, full_products):
    X, y = rare(n=60)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    more, labels = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    pairs = [(more, X.tolist()), (sp.csr_array(more), sp.coo_array(X)), (more, X)]
    for stored, given in pairs if full_products else pairs[:2]:
        repeated = MeasureClassifier(random_state=0, **options).fit(stored, labels)
        weighted = clone(repeated).fit(given, y, sample_weight=weight)
        for name in ("coef_", "thresholds_", "theta_", "dual_gap_"):
            np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))
        assert weighted.surrogate_ == repeated.surrogate_
    # a class without weight is as if it were not there
    with pytest.raises(FenchelError, match="class"):
        clone(repeated).fit(X, y, sample_weight=np.where(y == 1, 0, weight))


def test_too_many_repetitions_and_equal_weights():
    X, y = rare(n=60)
    with pytest.raises(FenchelError, match="numbers of repeated examples"):
        MeasureClassifier("f1").fit(X, y, sample_weight=np.where(y == 1, 1e9, 1.0))
    ones = MeasureClassifier("f1", surrogate="bound", random_state=0).fit(X, y, sample_weight=np.ones(60))
    assert ones.theta_.shape == (60,)
    double = MeasureClassifier("f1", surrogate="bound", random_state=0, warm_start=True).fit(X, y)
    assert double.fit(X, y, sample_weight=np.full(60, 2)).theta_.shape == (120,)
    assert double.converged_


def test_bagging_and_boosting():
    X, y = rare()
    bagged = BaggingClassifier(
        MeasureClassifier("f1", surrogate="bound", tol=1e-2, random_state=0), n_estimators=3, random_state=0
    )
    assert f1_score(y, bagged.fit(X, y).predict(X)) > 0.5
    # weights of boosting are fractions
    boosted = AdaBoostClassifier(MeasureClassifier("accuracy", random_state=0), n_estimators=3, random_state=0)
    assert boosted.fit(X, y).score(X, y) > 0.8
    with pytest.raises(FenchelError, match="unless all weights are integers"):
        AdaBoostClassifier(MeasureClassifier("f1", surrogate="bound"), n_estimators=3).fit(X, y)


def test_storage_frames_pickle_and_clone():
    X, y = rare()
    model = MeasureClassifier(own, surrogate="bound", random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_ == model.certificate_
    assert clone(model).get_params() == model.get_params()
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(8)])
    named = MeasureClassifier(own, surrogate="bound", random_state=0).fit(
        frame, pd.Series(np.where(y == 1, "yes", "no"))
    )
    assert list(named.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(named.predict(frame) == "yes", model.predict(X) == 1)
    sparse = MeasureClassifier(own, surrogate="bound", random_state=0, threshold="cv").fit(sp.csr_array(X), y)
    assert sparse.certificate_.primal == pytest.approx(model.certificate_.primal, rel=2e-3)
    table = np.add.outer(np.arange(np.sum(y == 1) + 1), 2.0 * np.arange(np.sum(y == 0) + 1)) / 100.0
    by_table = MeasureClassifier(table, surrogate="bound", random_state=0).fit(X, y)
    np.testing.assert_allclose(by_table.coef_, model.coef_, rtol=1e-6, atol=1e-9)
    assert clone(by_table).fit(X, y).converged_
    vouched = MeasureClassifier(own, surrogate="bound", linear=True, random_state=0).fit(X, y)
    np.testing.assert_allclose(vouched.coef_, model.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*the bound of measure='f1' is trivial:fenchel.GapWarning")
def test_warm_starts_and_limits():
    X, y = rare()
    model = MeasureClassifier("roc_auc", warm_start=True, random_state=0, tol=1e-5).fit(X, y)
    assert model.fit(X, y).trace_[-1].passes == 0
    counted = MeasureClassifier("f1", surrogate="bound", warm_start=True, random_state=0).fit(X, y)
    assert counted.fit(X, y).trace_[-1].passes == 0
    # other labels: the bound of the old ones must not be used
    other = np.random.default_rng(0).permutation(y)
    moved = counted.fit(X, other).certificate_
    cold = MeasureClassifier("f1", surrogate="bound", random_state=0).fit(X, other).certificate_
    assert moved.dual <= cold.primal
    assert moved.primal == pytest.approx(cold.primal, rel=2e-3)
    with pytest.warns(GapWarning, match="time limit"):
        MeasureClassifier("f1", surrogate="bound", tol=1e-9, time_limit=0).fit(X, y)
    folds = pytest.warns(GapWarning, match="5 of 5 fits to the folds of threshold='cv' did not prove")
    with folds, pytest.warns(GapWarning, match="max_iter data passes were used up"):
        MeasureClassifier("f1", surrogate="bound", tol=1e-9, max_iter=2, threshold="cv").fit(X, y)


def test_an_interrupted_fit_has_a_threshold(monkeypatch):
    X, y = rare()
    calls, plane = [], F1.cutting_plane

    def interrupted(self, scores):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return plane(self, scores)

    monkeypatch.setattr(F1, "cutting_plane", interrupted)
    model = MeasureClassifier("f1", surrogate="bound", tol=1e-9, threshold="cv", random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not model.converged_
    np.testing.assert_array_equal(model.intercept_, -model.thresholds_)
    assert set(model.predict(X)) == {0, 1}


def test_in_a_grid_search():
    X, y = rare()
    search = GridSearchCV(
        MeasureClassifier("f1", surrogate="bound", random_state=0),
        {"C": [0.1, 1.0], "measure": ["f1", "prbep"]},
        scoring="f1",
    )
    assert search.fit(X, y).best_score_ > 0.5
    assert not hasattr(search.best_estimator_, "predict_proba")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"measure": "auc"}, "measure must be one of .*'roc_auc'"),
        ({"measure": 3.0}, "measure must be a name, a function"),
        ({"measure": np.zeros((2, 2))}, r"delta must have the shape \(positives \+ 1, negatives \+ 1\)"),
        ({"measure": lambda fn, fp: 1.0}, r"delta\(0, 0\) must be 0"),
        ({"measure": lambda fn: 1.0}, r"measure must be a function of \(fn, fp\) .* takes 1 positional argument"),
        ({"measure": lambda fn, fp: "none"}, r"measure must be a function .* could not convert string"),
        ({"pos_label": "yes"}, r"pos_label must be one of the labels \[0, 1\], got 'yes'"),
        ({"pos_label": [0]}, "pos_label must be one of the labels"),
        ({"measure": "fbeta", "beta": -1.0}, "beta must be a finite number >= 0"),
        ({"measure": "precision_at_k"}, "measure='precision_at_k' needs k"),
        ({"measure": "recall_at_k", "k": 2.5}, "measure='recall_at_k' needs k"),
        ({"measure": "precision_at_k", "k": 1000}, "k must be between 1 and the number of positives"),
        ({"measure": lambda fn, fp: fn * fp / 9.0, "linear": True}, "delta is not linear in fn"),
        ({"measure": own, "linear": "yes"}, "linear must be True or False, or None"),
        ({"average": "weighted"}, "is unknown; choose one of 'macro'"),
        ({"threshold": 0.5}, "is unknown; choose one of 'auto'"),
        ({"measure": np.zeros((2, 2)), "threshold": "cv"}, "threshold='cv' needs a measure for any number"),
        ({"C": 0.0}, "C must be a positive"),
        ({"l1_ratio": 1.5}, "l1_ratio"),
        ({"solver": "pegasos"}, "solver='pegasos' does not support this problem.*use solver='auto'"),
    ],
)
def test_errors_name_the_argument(parameters, message):
    X, y = rare()
    with pytest.raises(FenchelError, match=message):
        MeasureClassifier(**parameters).fit(X, y)


def test_one_class_is_refused():
    with pytest.raises(FenchelError, match="y must hold at least two classes"):
        MeasureClassifier().fit(np.eye(3), [1, 1, 1])


def test_a_warning_points_to_the_call_of_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    for y in ((X[:, 0] + rng.normal(size=60) > 0).astype(int), rng.integers(0, 3, 60)):
        with pytest.warns(GapWarning) as caught:
            MeasureClassifier("f1", surrogate="bound", max_iter=1, tol=1e-9, C=100).fit(X, y)
        assert {warning.filename for warning in caught} == {__file__}

"""OrdinalClassifier: the problem that is solved, its thresholds, the order of labels, weights, scikit-learn's rules."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import get_scorer
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import (
    FenchelError,
    GapWarning,
    MeasureClassifier,
    Model,
    OrdinalClassifier,
    Problem,
    Witness,
    certify,
    solve,
)
from fenchel.estimators.thresholds import ordered_thresholds
from fenchel.regularizers import ElasticNet
from fenchel.risks import OrdinalHinge
from slow_ordinal import least_absolute_error

GRADES = np.array(["poor", "fair", "good", "excellent"])


@pytest.mark.meetings(1, law="scikit_learn_checks_of_other_risks")
@parametrize_with_checks([OrdinalClassifier(tol=1e-10, random_state=0)])
@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def data(n=120, d=5, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    codes = np.digitize(X @ rng.standard_normal(d) + noise * rng.standard_normal(n), [-2.0, 0.0, 1.5])
    return X, codes


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_problem_that_is_solved(weighted, l1_ratio):
    X, y = data()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    model = OrdinalClassifier(C=0.3, l1_ratio=l1_ratio, tol=1e-6).fit(X, y, weights)
    total = len(y) if weights is None else weights.sum()
    regularizer = ElasticNet(l1_ratio) if l1_ratio else "l2"
    problem = Problem(X, OrdinalHinge(y, weights), 1 / (0.3 * total), regularizer)
    solution = solve(problem, tol=1e-6)
    assert model.converged_
    assert model.solver_ == "bundle"
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.primal == pytest.approx(solution.certificate.primal, rel=2e-6)
    # anybody can recompute the certificate
    witness = Witness(model.theta_, decomposition=model.decompositions_[0])
    again = certify(problem, Model(model.coef_[0], 0.0), witness)
    assert again.gap == pytest.approx(model.certificate_.gap, abs=1e-12)
    assert again.recomputed
    assert model.certificate_.recomputed
    assert model.dual_gap_ == model.certificate_.gap


def test_thresholds_are_the_best_of_all():
    rng = np.random.default_rng(2)
    for trial in range(200):
        n, k = int(rng.integers(2, 9)), int(rng.integers(2, 5))
        scores = rng.integers(0, 5, n) / 1.0 if trial % 2 else rng.normal(size=n)
        codes = rng.integers(0, k, n)
        weights = None if trial % 3 else rng.integers(0, 3, n) * rng.random(n) + (np.arange(n) == 0)
        found = ordered_thresholds(scores, codes, k, weights)
        assert np.all(np.diff(found) >= 0.0)
        c = np.ones(n) if weights is None else weights
        error = c @ np.abs(codes - np.sum(scores[:, None] > found, axis=1))
        assert error == pytest.approx(least_absolute_error(scores, codes, k, weights), abs=1e-12)
    # in the middle between classes that are apart
    np.testing.assert_array_equal(
        ordered_thresholds(np.array([0.0, 1, 4, 6]), np.array([0, 0, 1, 2]), 3, None), [2.5, 5]
    )


def test_predictions_follow_the_thresholds():
    X, y = data()
    model = OrdinalClassifier().fit(X, y)
    scores = X @ model.coef_[0]
    assert model.thresholds_.shape == (3,)
    np.testing.assert_array_equal(model.predict(X), np.sum(scores[:, None] > model.thresholds_, axis=1))
    np.testing.assert_array_equal(np.argmax(model.decision_function(X), axis=1), model.predict(X))
    np.testing.assert_array_equal(model.intercept_, -model.thresholds_)
    constant = np.min(np.abs(y[:, None] - np.arange(4)).sum(axis=0))
    assert np.abs(model.predict(X) - y).sum() < 0.3 * constant
    easy, codes = data(noise=0.0)
    assert OrdinalClassifier(C=1e4).fit(easy, codes).score(easy, codes) == 1.0
    assert not hasattr(model, "predict_proba")


def test_two_classes_are_the_roc_area():
    X, y = data()
    y = (y > 1).astype(int)
    one, other = (
        OrdinalClassifier(tol=1e-8).fit(X, y),
        MeasureClassifier("roc_auc", tol=1e-8, solver="bundle").fit(X, y),
    )
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=2e-8)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-3)
    assert one.decision_function(X).shape == (len(y),)
    np.testing.assert_array_equal(one.predict(X), (one.decision_function(X) > 0).astype(int))


def test_the_order_of_text_is_told():
    X, y = data()
    plain = OrdinalClassifier(tol=1e-6).fit(X, y)
    model = OrdinalClassifier(GRADES, tol=1e-6).fit(X, GRADES[y])
    assert model.order_.tolist() == GRADES.tolist()
    assert model.classes_.tolist() == sorted(GRADES)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict(X), GRADES[plain.predict(X)])
    # the other way round is the same with the other sign
    turned = OrdinalClassifier(GRADES[::-1], tol=1e-6).fit(X, GRADES[y])
    np.testing.assert_allclose(turned.coef_, -model.coef_, atol=1e-2)
    # labels that do not occur, or weigh nothing, have no class
    weights = np.where(y == 1, 0.0, 1.0)
    fewer = OrdinalClassifier([*GRADES, "perfect"], class_weight="balanced").fit(X, GRADES[y], weights)
    assert fewer.order_.tolist() == ["poor", "good", "excellent"]
    assert fewer.classes_.tolist() == ["excellent", "good", "poor"]
    kept = OrdinalClassifier(GRADES, class_weight="balanced").fit(X[y != 1], GRADES[y[y != 1]])
    assert fewer.certificate_.primal == pytest.approx(kept.certificate_.primal, rel=2e-3)
    np.testing.assert_allclose(fewer.thresholds_, kept.thresholds_, atol=0.3)


@pytest.mark.parametrize("order", [["good", "poor"], ["poor", "good"]])
def test_scorers_of_scikit_learn_see_two_grades_the_right_way_round(order):
    X, codes = data()
    y = np.array(order)[(codes > 1).astype(int)]
    model = OrdinalClassifier(order).fit(X, y)
    scores = model.decision_function(X)
    assert get_scorer("roc_auc")(model, X, y) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.classes_[(scores > 0).astype(int)])
    # a score at the threshold belongs to the lower grade
    model.thresholds_ = np.sort(X @ model.coef_[0])[[40]]
    model.intercept_ = -model.thresholds_
    predicted = model.predict(X)
    assert np.sum(predicted == order[0]) == 41
    np.testing.assert_array_equal(predicted, model.classes_[(model.decision_function(X) > 0).astype(int)])


def test_every_column_tells_its_grade_from_the_others():
    X, codes = data(noise=0.0)
    model = OrdinalClassifier(GRADES).fit(X, GRADES[codes])
    scores, predicted = model.decision_function(X), model.predict(X)
    np.testing.assert_array_equal(scores > 0.0, model.classes_ == predicted[:, None])
    # coinciding thresholds, and scores at a threshold: the lower one of the grades is predicted
    model.thresholds_ = np.sort(X @ model.coef_[0])[[30, 60, 60]]
    model.intercept_ = -model.thresholds_
    predicted = model.predict(X)
    assert [np.sum(predicted == grade) for grade in GRADES] == [31, 30, 0, len(X) - 61]
    np.testing.assert_array_equal(model.decision_function(X) > 0.0, model.classes_ == predicted[:, None])


def test_probabilities_are_calibrated_from_the_scores_of_the_grades():
    X, codes = data(noise=0.0)
    y = GRADES[np.maximum(codes, 1)]
    plain = OrdinalClassifier(GRADES).fit(X, y)
    calibrated = CalibratedClassifierCV(OrdinalClassifier(GRADES), cv=3).fit(X, y)
    assert calibrated.score(X, y) > plain.score(X, y) - 0.05


def test_the_order_of_a_data_frame_is_taken():
    X, codes = data()
    y = GRADES[codes]
    expected = OrdinalClassifier(GRADES).fit(X, y)
    categories = pd.Categorical(y, GRADES, ordered=True)
    for given in (categories, pd.Series(categories), pl.Series(y, dtype=pl.Enum(list(GRADES)))):
        model = OrdinalClassifier().fit(X, given)
        assert model.order_.tolist() == GRADES.tolist()
        np.testing.assert_array_equal(model.coef_, expected.coef_)
    # the argument `order` has precedence, and categories without an order are sorted
    turned = OrdinalClassifier(GRADES[::-1]).fit(X, categories)
    assert turned.order_.tolist() == GRADES[::-1].tolist()
    # a warm start from another order would start from its opposite
    again = turned.set_params(order=None, warm_start=True).fit(X, categories)
    np.testing.assert_array_equal(again.coef_, expected.coef_)
    with pytest.warns(UserWarning, match="alphabetical order"):
        assert OrdinalClassifier().fit(X, pd.Categorical(y, GRADES)).order_.tolist() == sorted(GRADES)


def test_within_a_wrapper_that_numbers_labels():
    X, codes = data(60)
    with pytest.raises(FenchelError, match=r"as BaggingClassifier does, use order=\[3, 1, 2, 0\]"):
        BaggingClassifier(OrdinalClassifier(GRADES), 2, random_state=0).fit(X, GRADES[codes])
    wrapped = BaggingClassifier(OrdinalClassifier([3, 1, 2, 0]), 2, random_state=0).fit(X, GRADES[codes])
    assert wrapped.score(X, GRADES[codes]) > 0.6


def test_weights_repeat_rows_and_pull_the_thresholds():
    X, y = data(60)
    weights = np.random.default_rng(3).integers(0, 3, len(y))
    one = OrdinalClassifier(tol=1e-9).fit(X, y, weights)
    other = OrdinalClassifier(tol=1e-9).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-3)
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=2e-9)
    heavy = OrdinalClassifier(class_weight={0: 1000.0, 1: 1, 2: 1, 3: 1}).fit(X, y)
    assert np.all(heavy.predict(X[y == 0]) == 0)


def test_sparse_rows_warm_starts_and_pickles():
    X, y = data()
    X[np.abs(X) < 0.5] = 0.0
    dense = OrdinalClassifier(tol=1e-7).fit(X, y)
    sparse = OrdinalClassifier(tol=1e-7, warm_start=True).fit(sp.csr_array(X), y)
    assert sparse.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=2e-7)
    first = sparse.n_iter_
    assert sparse.fit(sp.csr_array(X), y).n_iter_ < first
    copy = pickle.loads(pickle.dumps(dense))
    np.testing.assert_array_equal(copy.predict(X), dense.predict(X))


def test_too_little_time_is_told_with_a_sound_bound():
    X, y = data()
    with pytest.warns(GapWarning, match="OrdinalClassifier stopped"):
        early = OrdinalClassifier(tol=1e-9, max_iter=3).fit(X, y)
    best = OrdinalClassifier(tol=1e-9).fit(X, y).certificate_
    assert early.certificate_.gap >= early.certificate_.primal - best.primal
    assert early.certificate_.dual <= best.primal
    assert early.thresholds_.shape == (3,)


def test_an_interrupted_fit_has_thresholds(monkeypatch):
    X, y = data()
    found, calls = OrdinalHinge.cutting_plane, []

    def interrupted(self, scores):
        calls.append(None)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return found(self, scores)

    monkeypatch.setattr(OrdinalHinge, "cutting_plane", interrupted)
    model = OrdinalClassifier(tol=1e-9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.gap > 0.0
    assert set(model.predict(X)) <= set(y)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"order": ["poor", "fair"]}, "order lacks labels"),
        ({"order": ["poor", "poor", "fair", "good", "excellent"]}, "order must be"),
        ({"order": "poor"}, "order must be"),
        ({"order": ["poor", ["fair"]]}, "order must be"),
        ({"order": set(GRADES)}, "order must be"),
        ({"order": 3}, "order must be"),
        ({"C": 0.0}, "C must be"),
        ({"l1_ratio": 2.0}, "l1_ratio"),
        ({"solver": "newton", "order": GRADES}, "newton"),
        ({"class_weight": {"poor": -1.0}}, "class_weight"),
        ({"n_jobs": 0.5}, "n_jobs"),
    ],
)
def test_what_is_wrong_is_named(parameters, match):
    X, y = data(40)
    with pytest.raises(FenchelError, match=match):
        OrdinalClassifier(**parameters).fit(X, GRADES[y])


def test_one_class_is_named():
    X, y = data(40)
    with pytest.raises(FenchelError, match="at least two classes"):
        OrdinalClassifier().fit(X, 0 * y)
    with pytest.raises(FenchelError, match="at least two classes"):
        OrdinalClassifier().fit(X, y, (y == 1) * 1.0)

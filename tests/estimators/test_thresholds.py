"""Thresholds for measures: the best of all cuts, ties, weights, and thresholds by cross-validation."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, get_scorer
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

import slow_measures as slow
from fenchel import FenchelError, MeasureClassifier
from fenchel.estimators.calibration import Calibration
from fenchel.estimators.thresholds import best_cut, best_threshold, loss_above
from fenchel.risks import F1, MEASURES, ErrorRate, RocAUC
from measure_cases import every_risk, labels_of
from slow_thresholds import slow_calibration, slow_cut, slow_held_out_losses, slow_loss


@pytest.mark.parametrize("seed", range(8))
def test_thresholds_are_the_best_of_all_cuts(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 12))
    y = rng.permutation(labels_of(np.arange(n) < int(rng.integers(1, n))))
    for scores in (
        rng.normal(size=n),
        np.round(rng.normal(size=n)),
        np.zeros(n),
        y * 1e-300,
        1e17 + rng.normal(size=n),
    ):
        for name, parameter, risk in every_risk(y):
            t = best_threshold(scores, risk)
            fn, fp = np.sum((scores <= t) & (y > 0)), np.sum((scores > t) & (y < 0))
            best = slow_cut(scores, risk)
            if np.isfinite(best):
                assert slow_loss(risk, fn, fp) == pytest.approx(best, abs=1e-12), (name, parameter, scores)
            else:
                # no cut is allowed: most nearly as many predicted positives as positives
                tried = [len(y), *(np.sum(scores > u) for u in scores)]
                nearest = min(abs(predicted - np.sum(y > 0)) for predicted in tried)
                assert abs(np.sum(scores > t) - np.sum(y > 0)) == nearest


@pytest.mark.parametrize("seed", range(6))
def test_thresholds_of_held_out_scores_have_the_least_expected_loss(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    y = rng.permutation(labels_of(np.arange(n) < int(rng.integers(1, n))))
    for scores in (rng.normal(size=n) + y, np.round(rng.normal(size=n) + y), np.zeros(n)):
        probabilities = Calibration.of(scores, y > 0.0).probabilities(scores)
        for name, parameter, risk in every_risk(y):
            expected = slow_held_out_losses(scores, risk, probabilities)
            cut = best_cut(scores, risk, held_out=True)
            assert cut.loss == pytest.approx(min(expected.values()), abs=1e-10), (name, parameter)
            marked = int(np.sum(scores > cut.threshold))
            assert expected[marked] == pytest.approx(cut.loss, abs=1e-10), (name, parameter)
            for t in (0.0, cut.threshold):
                fn, fp = np.sum((scores <= t) & (y > 0)), np.sum((scores > t) & (y < 0))
                assert loss_above(scores, risk, t) == pytest.approx(slow_loss(risk, fn, fp), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_probabilities_of_held_out_scores(seed):
    """Those of an independent minimizer, whatever the scale of the scores and of the weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    y = rng.permutation(np.arange(n) < int(rng.integers(1, n)))
    for scores in (rng.normal(size=n) + y, rng.normal(size=n) ** 3, np.where(y, 1.0, -1.0)):
        found = Calibration.of(scores, y).probabilities(scores)
        np.testing.assert_allclose(found, slow_calibration(scores, y), atol=1e-4)
        scaled = Calibration.of(1e5 * scores - 3e5, y).probabilities(1e5 * scores - 3e5)
        np.testing.assert_allclose(found, scaled, atol=1e-8)
        np.testing.assert_allclose(found, Calibration.of(scores, y, np.full(n, 7.0)).probabilities(scores), atol=1e-10)
    constant = Calibration.of(np.zeros(n), y).probabilities(np.zeros(n))
    assert np.all(constant == constant[0])


def test_expected_losses_of_weighted_examples_are_those_of_probabilities():
    rng = np.random.default_rng(3)
    y, scores, weights = labels_of(np.arange(30) < 9), rng.normal(size=30), rng.integers(1, 5, 30).astype(float)
    risk = ErrorRate(y, weights)
    p = Calibration.of(scores, y > 0.0, risk.shares).probabilities(scores)
    p = risk.shares * p * np.sum(risk.shares[y > 0.0]) / np.sum(risk.shares * p)
    losses = [np.sum(p[scores <= t]) + np.sum((risk.shares - p)[scores > t]) for t in [*scores, -np.inf]]
    cut = best_cut(scores, risk, held_out=True)
    assert cut.loss == pytest.approx(min(losses), abs=1e-10)
    t = cut.threshold
    assert np.sum(p[scores <= t]) + np.sum((risk.shares - p)[scores > t]) == pytest.approx(cut.loss, abs=1e-10)


def test_a_lucky_cut_of_held_out_scores_is_not_taken():
    # the best cut is alone among bad ones
    scores = -np.arange(20.0)
    alone = labels_of([1, 1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    raw, smooth = (best_cut(scores, F1(alone), held_out=kind) for kind in (False, True))
    assert smooth.loss > raw.loss


def test_expected_thresholds_are_less_noisy_than_the_best_empirical_ones():
    """F1 on new data of the same distribution, on average over 200 samples with few positives."""
    rng = np.random.default_rng(0)

    def drawn(n):
        y = labels_of(rng.random(n) < 0.05)
        return y, rng.normal(size=n) + 0.75 * y

    many, test = drawn(200_000)
    gains = []
    for _ in range(200):
        y, scores = drawn(600)
        marks = [1.0 - loss_above(test, F1(many), best_cut(scores, F1(y), held_out=kind).threshold) for kind in (0, 1)]
        gains.append(marks[1] - marks[0])
    assert np.mean(gains) > 3.0 * np.std(gains) / np.sqrt(len(gains))


def test_delta_is_that_of_the_definitions():
    y = labels_of([1, 1, 1, 0, 0, 0, 0])
    fn, fp = np.meshgrid(np.arange(4), np.arange(5), indexing="ij")
    for name, parameter, risk in every_risk(y):
        if hasattr(risk, "delta"):
            np.testing.assert_allclose(risk.delta(fn, fp), slow.table(name, 3, 4, parameter), atol=1e-15)


def test_ties_go_to_the_fewest_errors_then_to_the_widest_gap():
    # F1 is the same for no positive predicted at all; errors decide
    y = labels_of([1, 0, 0, 0])
    assert best_threshold(np.array([0.0, 1.0, 5.0, 6.0]), F1(y)) < 0.0
    # accuracy: cuts at 1.5 and at 5 are both without an error more
    y = labels_of([1, 0, 1, 0])
    assert best_threshold(np.array([10.0, 9.0, 2.0, 1.0]), ErrorRate(y)) in (1.5, 9.5)
    assert best_threshold(np.array([20.0, 9.0, 2.0, 1.0]), ErrorRate(y)) == 14.5


def test_a_threshold_sees_weights_and_leaves_out_zeros():
    y, scores = labels_of([1, 0, 1, 0]), np.array([4.0, 3.0, 2.0, 1.0])
    assert best_threshold(scores, ErrorRate(y, [1, 5, 1, 1])) == 3.5
    assert best_threshold(scores, ErrorRate(y, [1, 1, 5, 1])) == 1.5
    assert best_threshold(scores, ErrorRate(y, [1, 0, 5, 1])) == 1.5
    assert best_threshold(scores, RocAUC(y, [1, 0, 5, 1])) == 1.5


PARAMETERS = {"fbeta": {"beta": 2.0}, "precision_at_k": {"k": 6}, "recall_at_k": {"k": 35}}


def own(fn, fp):
    return (fn + 2.0 * fp) / 100.0


def data(classes=2):
    return make_classification(60, 6, n_informative=4, n_classes=classes, flip_y=0.05, random_state=0)


#: five fits each: those whose threshold or parameter is found in a way of its own, and one of the user
SHORT = ("roc_auc", "f1", "precision_at_k", "recall_at_k")
MOST_MEASURES = [*SHORT, own, *(pytest.param(one, marks=pytest.mark.thorough) for one in MEASURES if one not in SHORT)]


@pytest.mark.meetings(1)
@pytest.mark.filterwarnings("ignore:.*the bound of .* is trivial:fenchel.GapWarning")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("measure", MOST_MEASURES)
def test_thresholds_by_cross_validation(measure, classes, full_products):
    X, y = data(classes)
    settings = {
        "surrogate": "bound",
        "random_state": 0,
        "tol": 1e-3 if full_products else 1e-2,
        **PARAMETERS.get(measure, {}),
    }
    folds = StratifiedKFold(4)
    model = MeasureClassifier(measure, threshold="cv", cv=folds, **settings).fit(X, y)
    plain = MeasureClassifier(measure, **settings).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.certificate_ == plain.certificate_
    # left-out scores, by hand; k is scaled to the fold and kept in its range there
    scores = np.zeros((len(y), len(model.coef_)))
    for train, test in folds.split(X, y):
        sizes = np.bincount(y[train])[-1:] if classes == 2 else np.bincount(y[train])
        if "k" in settings:
            scaled = round(0.75 * settings["k"])
            k = {"k": int(min(scaled, min(sizes)) if "precision" in measure else max(scaled, max(sizes)))}
        else:
            k = {}
        scores[test] = X[test] @ MeasureClassifier(measure, **{**settings, **k}).fit(X[train], y[train]).coef_.T
    for k, row in enumerate(scores.T):
        labels = np.where(y == (1 if classes == 2 else k), 1.0, -1.0)
        cut = best_cut(row, model._choice().risk(labels, None), held_out=True)
        assert model.thresholds_[k] == pytest.approx(cut.threshold, abs=1e-9)


def test_folds_that_leave_examples_out_twice_or_never_are_refused():
    X, y = data()
    for cv in (ShuffleSplit(2, random_state=0), [(np.arange(60), np.arange(60, 120))]):
        with pytest.raises(FenchelError, match="cv must hold every example out exactly once"):
            MeasureClassifier(threshold="cv", cv=cv).fit(X, y)
    with pytest.raises(FenchelError, match="cv: a fold lacks one of the classes"):
        MeasureClassifier("roc_auc", threshold="cv", cv=KFold(3)).fit(X[:60], np.repeat([0, 1, 2], 20))


@pytest.mark.meetings(1)
@pytest.mark.parametrize("measure", ["f1", "precision_at_k"])
@pytest.mark.parametrize("threshold", ["train", "cv"])
def test_the_positive_label_may_be_the_first(measure, threshold):
    X, y = make_classification(150, 5, weights=[0.8], flip_y=0.05, random_state=0)
    settings = {"threshold": threshold, "cv": 3, "k": 12, "random_state": 0}
    plain = MeasureClassifier(measure, **settings).fit(X, np.where(y == 1, "well", "sick"))
    turned = MeasureClassifier(measure, pos_label="sick", **settings).fit(X, np.where(y == 1, "sick", "well"))
    assert turned.classes_.tolist() == ["sick", "well"]
    np.testing.assert_array_equal(turned.coef_, plain.coef_)
    np.testing.assert_array_equal(turned.thresholds_, plain.thresholds_)
    assert turned.certificate_ == plain.certificate_
    np.testing.assert_array_equal(turned.predict(X) == "sick", plain.predict(X) == "well")
    labels = np.where(y == 1, "sick", "well")
    assert get_scorer("roc_auc")(turned, X, labels) > 0.8
    assert (turned.pos_label_, plain.pos_label_) == ("sick", "well")
    # what lies at the threshold is not above it; only a fit changes the label
    turned.set_params(pos_label=None)
    turned.intercept_ = -np.sort(X @ turned.coef_[0])[[100]]
    assert np.sum(turned.predict(X) == "sick") == 49


@pytest.mark.filterwarnings("ignore:.*the positive label is 'well':UserWarning")
def test_the_positive_label_is_what_f1_is_trained_for():
    X, y = make_classification(150, 5, weights=[0.8], flip_y=0.2, random_state=0)
    labels = np.where(y == 1, "sick", "well")
    found = [MeasureClassifier("f1", pos_label=name).fit(X, labels).predict(X) for name in ("sick", None)]
    assert f1_score(labels, found[0], pos_label="sick") > f1_score(labels, found[1], pos_label="sick")
    same = MeasureClassifier("f1", pos_label="well").fit(X, labels)
    np.testing.assert_array_equal(same.predict(X), found[1])
    with pytest.raises(FenchelError, match="pos_label is for two classes, and y holds 3"):
        MeasureClassifier("f1", pos_label="a").fit(X, np.array(["a", "b", "c"])[np.arange(150) % 3])

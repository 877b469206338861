"""Surrogates of measures: trivial bounds, plug-ins with their costs and thresholds, and what certificates say."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV

from fenchel import (
    FenchelError,
    GapWarning,
    MeasureClassifier,
    Model,
    MultilabelClassifier,
    Problem,
    Witness,
    certify,
    solve,
)
from fenchel.estimators.calibration import Calibration
from fenchel.estimators.measure_fits import MeasureFits
from fenchel.estimators.plug_in import COST_EXPONENTS
from fenchel.risks import MeanRisk
from slow_measures import delta
from slow_thresholds import slow_held_out_losses

TRIVIAL = "the bound of measure='f1' is trivial"


def overlapping(n=400, seed=0):
    """Positives spread on both sides of the negatives along every axis: their mean is a mean of negatives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (rng.random(n) < 1 / (1 + np.exp(3.0 - 1.2 * X[:, 0]))).astype(int)
    return X, y


def apart(n=200):
    return make_classification(n, 5, weights=[0.8], class_sep=2.0, flip_y=0.02, random_state=0)


def by_hand(X, y, exponent, loss="logistic", C=1.0):
    """The cost-weighted problem, from its formula."""
    signs = np.where(y == 1, 1.0, -1.0)
    weights = np.where(y == 1, (np.sum(y == 0) / np.sum(y == 1)) ** exponent, 1.0)
    weights *= len(y) / weights.sum()
    return Problem(X, MeanRisk(loss, signs, weights), 1.0 / (C * len(y)), intercept=True)


@pytest.mark.parametrize("measure", ["f1", "prbep"])
def test_a_trivial_bound_is_detected(measure):
    X, y = overlapping()
    with pytest.warns(GapWarning, match=f"the bound of measure='{measure}' is trivial: w = 0 .* surrogate='auto'"):
        bound = MeasureClassifier(measure, surrogate="bound").fit(X, y)
    assert bound.surrogate_ == "bound"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MeasureClassifier(measure).fit(X, y)
        MeasureClassifier(measure, surrogate="bound").fit(*apart())
    assert model.surrogate_ == "plug_in"
    assert f1_score(y, model.predict(X)) > f1_score(y, bound.predict(X)) + 0.05


def test_the_data_of_the_first_report():
    X, y = make_classification(20000, 30, n_informative=10, weights=[0.98], flip_y=0.005, class_sep=0.8, random_state=0)
    train, test = np.arange(0, 20000, 2), np.arange(1, 20000, 2)
    model = MeasureClassifier("f1", random_state=0).fit(X[train], y[train])
    assert model.surrogate_ == "plug_in"
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring="f1").fit(X[train], y[train])
    ours, theirs = (f1_score(y[test], fitted.predict(X[test])) for fitted in (model, tuned))
    assert ours > theirs - 0.02


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_certificate_is_about_the_plug_in(loss):
    X, y = overlapping()
    model = MeasureClassifier("f1", surrogate="plug_in", plug_in_loss=loss, C=0.5, tol=1e-6, random_state=0).fit(X, y)
    ratio = np.sum(y == 0) / np.sum(y == 1)
    exponent = np.log(model.positive_weights_[0]) / np.log(ratio)
    assert np.min(np.abs(exponent - np.array(COST_EXPONENTS))) < 1e-9
    problem = by_hand(X, y, exponent, loss, C=0.5)
    fitted = Model(model.coef_[0], float(model.risk_intercept_[0]))
    again = certify(problem, fitted, Witness(model.theta_))
    assert again.gap == pytest.approx(model.dual_gap_, rel=1e-3, abs=1e-12)
    assert again.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert f"(the plug-in for measure='f1': {loss} loss, positives weighted)" in str(model.certificate_)
    assert "(the convex bound of measure='f1')" in str(MeasureClassifier(surrogate="bound").fit(*apart()).certificate_)
    assert model.decompositions_ == [None]
    # the same task gives the same problem again, as `fenchel certify` asks for it
    [lazy] = model.problems(model.as_fitted(model.encode(X, y)))
    assert certify(lazy(), fitted, Witness(model.theta_)).gap == pytest.approx(model.dual_gap_, rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("measure", ["f1", "fbeta", "prbep", "recall_at_k"])
def test_cost_and_threshold_are_the_best_on_held_out_scores(measure):
    X, y = overlapping(300)
    options = {"fbeta": {"beta": 2.0}, "recall_at_k": {"k": 90}}.get(measure, {})
    model = MeasureClassifier(measure, surrogate="plug_in", tol=1e-8, random_state=0, **options).fit(X, y)
    risk = model._choice().risk(np.where(y == 1, 1.0, -1.0), None)
    losses, scores = [], np.zeros((len(COST_EXPONENTS), len(y)))
    for row, exponent in zip(scores, COST_EXPONENTS, strict=True):
        for train, test in StratifiedKFold(5).split(X, y):
            found = solve(by_hand(X[train], y[train], exponent), tol=1e-8).model
            row[test] = X[test] @ found.weights + found.intercept
        losses.append(slow_held_out_losses(row, risk, Calibration.of(row, y == 1).probabilities(row)))
    least = np.array([min(own.values()) for own in losses])
    best = int(np.argmin(least > min(least) + 1e-9))
    expected = (np.sum(y == 0) / np.sum(y == 1)) ** COST_EXPONENTS[best]
    assert model.positive_weights_[0] == pytest.approx(expected, rel=1e-12)
    predicted = scores[best] > model.thresholds_[0] + model.risk_intercept_[0]
    assert losses[best][int(np.sum(predicted))] == pytest.approx(least[best], abs=1e-9)


def held_out_loss(model, X, y):
    """1 - F1 of the predictions of fits to the folds, each with a threshold by folds of its own."""
    predicted = np.zeros(len(y))
    for train, test in StratifiedKFold(5).split(X, y):
        predicted[test] = clone(model).fit(X[train], y[train]).predict(X[test])
    fn, fp = np.sum((predicted == 0) & (y == 1)), np.sum((predicted == 1) & (y == 0))
    return delta("f1", fn, fp, int(np.sum(y == 1)), int(np.sum(y == 0)))


@pytest.mark.parametrize("labels", ["trivial", "not trivial", pytest.param("several", marks=pytest.mark.thorough)])
def test_folds_of_trivial_bounds_are_spared_and_change_nothing(labels, monkeypatch):
    X, y = apart() if labels == "not trivial" else overlapping()
    model = MeasureClassifier("f1", random_state=0)
    if labels == "several":
        # bounds that are kept, and one that is trivial
        y = np.column_stack([X[:, 0] > 0.5, y, X[:, 1] - 0.3 * X[:, 2] > 1.0]).astype(int)
        model = MultilabelClassifier(measure="f1", random_state=0)
    solved, solve_all = [], MeasureFits.solve_all

    def counted(self, problems, *others, **named):
        solved[-1] += len(problems)
        return solve_all(self, problems, *others, **named)

    monkeypatch.setattr(MeasureFits, "solve_all", counted)
    solved.append(0)
    spared = clone(model).fit(X, y)
    monkeypatch.setattr(MeasureFits, "_to_compare", lambda self, task, trivial: task)
    solved.append(0)
    every = clone(model).fit(X, y)
    assert spared.surrogate_ == every.surrogate_
    assert (spared.surrogate_ == "mixed") is (labels == "several")
    assert solved[1] - solved[0] == (0 if labels == "not trivial" else 5)
    for name in ("coef_", "intercept_", "thresholds_", "positive_weights_", "theta_"):
        np.testing.assert_array_equal(getattr(spared, name), getattr(every, name))


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.thorough
def test_auto_takes_what_is_better_on_folds():
    X, y = apart()
    model = MeasureClassifier("f1", random_state=0).fit(X, y)
    one = MeasureClassifier("f1", surrogate=model.surrogate_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, one.coef_)
    np.testing.assert_array_equal(model.thresholds_, one.thresholds_)
    for X, y in (overlapping(), apart(300)):
        losses = [
            held_out_loss(MeasureClassifier("f1", surrogate=kind, random_state=0), X, y)
            for kind in ("auto", "bound", "plug_in")
        ]
        assert losses[0] <= min(losses[1:]) + 0.05


def test_auto_compares_the_bound_at_its_own_thresholds_with_the_plug_in():
    X, y = apart(300)
    risk = MeasureClassifier("f1")._choice().risk(np.where(y == 1, 1.0, -1.0), None)
    settings = {"random_state": 0, "tol": 1e-6}
    predicted = np.zeros(len(y), dtype=int)
    for train, test in StratifiedKFold(5).split(X, y):
        # the threshold of the training scores, as surrogate="bound" has it
        fold = MeasureClassifier("f1", surrogate="bound", **settings).fit(X[train], y[train])
        predicted[test] = fold.predict(X[test])
    bound = 1.0 - f1_score(y, predicted)
    plug_in = MeasureClassifier("f1", surrogate="plug_in", **settings)
    scores = np.zeros((len(COST_EXPONENTS), len(y)))
    for row, exponent in zip(scores, COST_EXPONENTS, strict=True):
        for train, test in StratifiedKFold(5).split(X, y):
            found = solve(by_hand(X[train], y[train], exponent), tol=1e-6).model
            row[test] = X[test] @ found.weights + found.intercept
    least = min(
        min(slow_held_out_losses(row, risk, Calibration.of(row, risk.labels > 0).probabilities(row)).values())
        for row in scores
    )
    auto = MeasureClassifier("f1", **settings).fit(X, y)
    expected = plug_in if least < bound else MeasureClassifier("f1", surrogate="bound", **settings)
    expected = clone(expected).fit(X, y)
    assert auto.surrogate_ == expected.surrogate_
    np.testing.assert_array_equal(auto.coef_, expected.coef_)
    np.testing.assert_array_equal(auto.thresholds_, expected.thresholds_)


@pytest.mark.parametrize("options", [{"surrogate": "plug_in"}, {"surrogate": "bound", "threshold": "cv"}], ids=str)
@pytest.mark.parametrize("count", [2, 4, 6])
@pytest.mark.parametrize("cv", [5, []], ids=str)
def test_folds_that_do_not_exist_are_named(options, count, cv):
    X, y = np.arange(2.0 * count).reshape(count, 2), np.arange(count) % 2
    with pytest.raises(FenchelError, match=r"^cv"):
        MeasureClassifier("f1", cv=cv, **options).fit(X, y)
    with pytest.raises(FenchelError, match=r"^cv"):
        MultilabelClassifier(measure="f1", cv=cv, **options).fit(X, np.stack([y, 1 - y], axis=1))


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
def test_auto_keeps_the_bound_of_a_few_examples():
    X, y = np.arange(8.0).reshape(4, 2), np.arange(4) % 2
    assert MeasureClassifier("f1").fit(X, y).surrogate_ == "bound"
    assert MultilabelClassifier(measure="f1").fit(X, np.stack([y, 1 - y], axis=1)).surrogate_ == "bound"


def test_the_score_is_the_accuracy():
    X, y = apart()
    model = MeasureClassifier("f1", random_state=0).fit(X, y)
    assert model.score(X, y) == np.mean(model.predict(X) == y)


def test_auto_keeps_the_bound_where_there_is_no_choice():
    X, y = apart()
    assert MeasureClassifier("roc_auc").fit(X, y).surrogate_ == "bound"
    assert MeasureClassifier("accuracy").fit(X, y).surrogate_ == "bound"
    assert MeasureClassifier("f1", solver="bundle").fit(X, y).surrogate_ == "bound"
    few = np.zeros(len(y), dtype=int)
    few[:4] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        assert MeasureClassifier("f1").fit(X, few).surrogate_ == "bound"
    with pytest.raises(FenchelError, match=r"surrogate='plug_in' is not for measure='roc_auc'"):
        MeasureClassifier("roc_auc", surrogate="plug_in").fit(X, y)
    with pytest.raises(FenchelError, match="choose one of 'auto', 'bound', 'plug_in'"):
        MeasureClassifier(surrogate="plugin").fit(X, y)
    with pytest.raises(FenchelError, match="a fold lacks one of the classes; use fewer folds, or surrogate='bound'"):
        MeasureClassifier(surrogate="plug_in").fit(X, np.arange(len(y)) == 0)


@pytest.mark.parametrize("average", [pytest.param("macro", marks=pytest.mark.thorough), "micro"])
def test_several_classes_have_one_surrogate(average):
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, class_sep=0.7, random_state=0)
    model = MeasureClassifier("f1", average=average, surrogate="plug_in", random_state=0).fit(X, y)
    assert model.coef_.shape == (3, 6)
    assert model.positive_weights_.shape == model.thresholds_.shape == (3,)
    assert len(model.certificates_) == 3
    assert model.theta_.shape == (300, 3)
    assert f1_score(y, model.predict(X), average=average) > 0.5
    auto = MeasureClassifier("f1", average=average, random_state=0).fit(X, y)
    assert auto.surrogate_ in ("bound", "plug_in")


def test_warm_starts_are_of_the_same_objective():
    X, y = overlapping()
    model = MeasureClassifier("f1", warm_start=True, random_state=0, surrogate="plug_in").fit(X, y)
    assert model.fit(X, y).trace_[-1].passes == 0
    with pytest.warns(GapWarning, match=TRIVIAL):
        model.set_params(surrogate="bound").fit(X, y)
    assert model.converged_
    assert model.set_params(surrogate="plug_in").fit(X, y).converged_


def test_the_majority_as_positive_label_is_questioned():
    X, y = apart()
    words = np.where(y == 1, "fraud", "ok")
    with pytest.warns(UserWarning, match="the positive label is 'ok'.*80.*% .*Set pos_label='fraud'"):
        MeasureClassifier("f1", surrogate="bound").fit(X, words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for quiet in ("fraud", "ok"):
            MeasureClassifier("f1", surrogate="bound", pos_label=quiet).fit(X, words)
        MeasureClassifier("f1", surrogate="bound").fit(X, np.where(y == 1, "yes", "no"))
        # 1 is the positive one of numbers by convention
        MeasureClassifier("f1", surrogate="bound").fit(X, 1 - y)
        MeasureClassifier("roc_auc").fit(X, words)

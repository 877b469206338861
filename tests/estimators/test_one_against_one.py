"""multi_class="ovo": every pair is a two-class problem over its own examples, votes are scikit-learn's."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import (
    FenchelError,
    GapWarning,
    LinearClassifier,
    LinearClassifierCV,
    Model,
    Problem,
    certify,
    plot_convergence,
)
from fenchel.estimators import multiclass as pairs
from fenchel.risks import MeanRisk
from fenchel.solvers import DualCoordinate, Hint, Newton

TIGHT = {"tol": 1e-10, "max_iter": 1e5, "random_state": 0}


def four_classes(n=160):
    return make_classification(n, 8, n_informative=5, n_classes=4, flip_y=0.1, random_state=0)


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.meetings(1, law="scikit_learn_checks")
@parametrize_with_checks([LinearClassifier(multi_class="ovo", tol=1e-10, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.meetings(1)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
def test_each_pair_is_a_fit_to_its_own_examples(loss, storage, weighted):
    """C times weight means the same in every pair: a pair's problem does not know of the other examples."""
    X, y = four_classes()
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float) if weighted else None
    model = LinearClassifier(loss, multi_class="ovo", C=0.3, **TIGHT).fit(storage(X), y, sample_weight=weight)
    assert model.coef_.shape == (6, 8)
    assert model.intercept_.shape == (6,)
    assert len(model.certificates_) == 6
    assert model.certificate_.primal == pytest.approx(sum(c.primal for c in model.certificates_))
    assert model.certificate_.dual == pytest.approx(sum(c.dual for c in model.certificates_))
    for k, (a, b) in enumerate(itertools.combinations(range(4), 2)):
        own = (y == a) | (y == b)
        alone = LinearClassifier(loss, C=0.3, **TIGHT)
        alone.fit(X[own], y[own], sample_weight=None if weight is None else weight[own])
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=2e-4)
        assert model.certificates_[k].primal == pytest.approx(alone.certificate_.primal, rel=1e-8)
        assert np.all(model.theta_[:, [k]].toarray().ravel()[~own] == 0)


def test_the_witness_is_there_to_be_judged():
    X, y = four_classes()
    model = LinearClassifier(multi_class="ovo", random_state=0).fit(X, y)
    assert sp.issparse(model.theta_)
    assert model.theta_.shape == (160, 6)
    for k, (a, b) in enumerate(itertools.combinations(range(4), 2)):
        own = (y == a) | (y == b)
        labels = np.where(y == b, 1.0, -1.0)
        problem = Problem(X, MeanRisk("hinge", labels, own.astype(float)), 1 / own.sum(), intercept=True)
        theta = model.theta_[:, [k]].toarray().ravel()
        found = certify(problem, Model(model.coef_[k], float(model.intercept_[k])), theta)
        assert found.gap == pytest.approx(model.certificates_[k].gap, rel=1e-9, abs=found.rounding_floor)


def test_votes_are_those_of_scikit_learn(monkeypatch):
    X, y = four_classes()
    names = np.array(["pear", "apple", "quince", "fig"])[y]
    model = LinearClassifier(multi_class="ovo", **TIGHT).fit(X, names)
    theirs = OneVsOneClassifier(LinearClassifier(**TIGHT)).fit(X, names)
    assert list(model.classes_) == sorted(set(names))
    scores = model.decision_function(X)
    assert scores.shape == (160, 4)
    np.testing.assert_allclose(scores, theirs.decision_function(X), atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    # in blocks of rows
    monkeypatch.setattr(pairs, "_SCORES", 6 * 7)
    for rows in (X, sp.csr_array(X), sp.csc_array(X)):
        np.testing.assert_allclose(model.decision_function(rows), scores, rtol=1e-12)
    np.testing.assert_allclose(model.sparsify().decision_function(X), scores, rtol=1e-12)


@pytest.mark.parametrize("solver", [DualCoordinate(shrinking=False), Newton(sampling=False)], ids=["descent", "newton"])
def test_solvers_do_not_visit_examples_of_other_classes(solver):
    """One pass over a pair's examples counts as their share of a data pass."""
    X, y = four_classes(400)
    labels, weights = pairs.active_examples(y, None, 0, 1)
    problem = Problem(X, MeanRisk("squared_hinge", labels, weights), 1 / weights.sum(), intercept=True)
    state = solver.start(problem, None)
    used = solver.step(state, Hint(None, 0.0, lambda: False))
    if isinstance(solver, DualCoordinate):
        assert used == pytest.approx(np.mean(weights > 0))
        assert set(state.outputs[0].active_set.order) == set(np.flatnonzero(weights))
    else:
        assert set(state.order) == set(np.flatnonzero(weights))


def test_two_classes_are_the_two_class_problem():
    X, y = make_classification(100, 6, flip_y=0.1, random_state=0)
    pair, plain = (LinearClassifier("logistic", multi_class=m, random_state=0).fit(X, y) for m in ("ovo", "ovr"))
    np.testing.assert_array_equal(pair.coef_, plain.coef_)
    np.testing.assert_array_equal(pair.predict_proba(X), plain.predict_proba(X))
    assert pair.decision_function(X).shape == (100,)


def test_votes_are_no_probabilities():
    X, y = four_classes()
    model = LinearClassifier("logistic", multi_class="ovo", random_state=0).fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="votes of pairs are not probabilities"):
        model.predict_proba(X)


def test_class_weights():
    X, y = four_classes()
    per_class = LinearClassifier(multi_class="ovo", class_weight={0: 1, 1: 3, 2: 2, 3: 0.5}, **TIGHT).fit(X, y)
    by_hand = LinearClassifier(multi_class="ovo", **TIGHT).fit(X, y, sample_weight=np.array([1, 3, 2, 0.5])[y])
    np.testing.assert_allclose(per_class.coef_, by_hand.coef_, atol=1e-5)
    uneven = (y != 0) | (np.arange(160) < 60)
    balanced = LinearClassifier(multi_class="ovo", class_weight="balanced", **TIGHT).fit(X[uneven], y[uneven])
    weights = (uneven.sum() / (4 * np.bincount(y[uneven])))[y[uneven]]
    by_hand = LinearClassifier(multi_class="ovo", **TIGHT).fit(X[uneven], y[uneven], sample_weight=weights)
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-5)


def test_a_class_without_weight_is_as_if_removed():
    X, y = four_classes()
    model = LinearClassifier(multi_class="ovo", **TIGHT).fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    removed = LinearClassifier(multi_class="ovo", **TIGHT).fit(X[y != 1], y[y != 1])
    assert list(model.classes_) == [0, 2, 3]
    np.testing.assert_allclose(model.coef_, removed.coef_, atol=1e-4)


def test_threads_do_not_change_the_bits():
    X, y = four_classes()
    one, two = (LinearClassifier(multi_class="ovo", random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.certificates_ == two.certificates_


def test_warm_starts():
    X, y = four_classes()
    settings = {"warm_start": True, "random_state": 0, "C": 0.1, "tol": 1e-4, "max_iter": 1e4}
    model = LinearClassifier(multi_class="ovo", **settings).fit(X, y)
    first = model.coef_.copy()
    model.fit(X, y)
    assert all(trace[-1].passes == 0 for trace in model.trace_)
    np.testing.assert_array_equal(model.coef_, first)
    changes = ({"C": 0.2}, {"multi_class": "ovr"}, {"multi_class": "ovo"}, {"multi_class": "weston_watkins"})
    for change in (*changes, {"multi_class": "ovo"}, {"fit_intercept": False}, {"loss": "logistic"}):
        model.set_params(**change).fit(X, y)
        cold = clone(model).fit(X, y)
        assert model.converged_
        assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-3)
    assert model.fit(X[:90], y[:90]).fit(X[:, :3], y).fit(X, y == 1).fit(X, y).converged_


def test_a_time_limit_is_for_all_pairs():
    X, y = four_classes()
    with pytest.warns(GapWarning, match="time limit"):
        model = LinearClassifier(multi_class="ovo", tol=1e-9, time_limit=0, random_state=0).fit(X, y)
    assert len(model.certificates_) == 6
    assert np.all(np.isfinite(model.decision_function(X)))


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
def test_choosing_c():
    X, y = four_classes()
    Cs = [1e-3, 1e-1, 1.0]
    model = LinearClassifierCV(Cs=Cs, multi_class="ovo", cv=3, random_state=0).fit(X, y)
    assert model.scores_.shape == model.gaps_.shape == (3, 3)
    assert np.all(model.gaps_ <= 1e-3)
    alone = LinearClassifier(C=model.C_, multi_class="ovo", random_state=0).fit(X, y)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-3)
    search = GridSearchCV(LinearClassifier(multi_class="ovo", random_state=0), {"C": Cs}, cv=3).fit(X, y)
    np.testing.assert_allclose(model.scores_.mean(axis=0), search.cv_results_["mean_test_score"], atol=0.03)


def test_folds_that_lack_classes():
    X, y = four_classes()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    train = np.flatnonzero(y != 3)
    model = LinearClassifierCV(Cs=[1e-2, 1.0], multi_class="ovo", cv=[(train, train)], random_state=0).fit(X, y)
    assert np.all(model.gaps_ <= 1e-3)
    train = np.flatnonzero(y < 2)
    with pytest.raises(FenchelError, match="a fold has no training examples of two of the classes"):
        LinearClassifierCV(Cs=[1.0], multi_class="ovo", cv=[(train, train)]).fit(X, y)


def test_convergence_of_pairs_can_be_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = four_classes()
    axes = plot_convergence(LinearClassifier(multi_class="ovo", random_state=0).fit(X, y))
    assert [text.get_text() for text in axes.get_legend().get_texts()][:2] == ["0, 1", "0, 2"]

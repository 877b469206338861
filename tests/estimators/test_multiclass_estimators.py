"""What users of multi_class rely on: scikit-learn's rules, its LinearSVC's answers, weights, warm starts, messages."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import slow_multiclass as slow
from fenchel import FenchelError, GapWarning, LinearClassifier, LinearClassifierCV, LinearSVC, Problem, certify
from fenchel.risks import MULTICLASS, CrammerSinger, WestonWatkins
from fenchel.solvers import BlockCoordinate

#: the risks of hinges; test_multinomial_estimators.py has the smooth one
JOINT = [name for name, risk in MULTICLASS.items() if not risk.smooth]
every_form = pytest.mark.parametrize("multi_class", JOINT)
TIGHT = {"tol": 1e-10, "max_iter": 1e5, "random_state": 0}


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.meetings(1, law="scikit_learn_checks")
@parametrize_with_checks(
    [LinearClassifier(multi_class=name, tol=1e-10, random_state=0) for name in JOINT]
    + [LinearSVC(multi_class="crammer_singer", tol=1e-10)]
)
def test_scikit_learn_checks(estimator, check):
    """No expected failures.  A small tol because some checks compare two fits to many digits."""
    check(estimator)


def three_classes(n=150):
    return make_classification(n, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=0)


def objective(risk, X, y, C, W, b=0.0, weight=None):
    """|W|^2/2 + C sum of weighted losses, as scikit-learn counts."""
    weight = np.ones(len(y)) if weight is None else weight
    return float(slow.primal(risk, X, y, C * weight, 1.0, W, np.broadcast_to(b, len(W))))


@pytest.mark.meetings(1)
@every_form
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_the_conic_solvers_answer(multi_class, fit_intercept, storage):
    X, y = three_classes(60)
    C, weight = 0.4, np.random.default_rng(0).integers(1, 4, 60).astype(float)
    model = LinearClassifier(multi_class=multi_class, C=C, fit_intercept=fit_intercept, **TIGHT)
    model.fit(storage(X), y, sample_weight=weight)
    lam = 1 / (C * weight.sum())
    W, b, best = slow.optimum(multi_class, X, y, 3, weight / weight.sum(), lam, fit_intercept)
    assert model.converged_
    assert model.certificate_.primal == pytest.approx(best, rel=1e-8)
    np.testing.assert_allclose(model.coef_, W, atol=1e-4)
    found = objective(multi_class, X, y, C, model.coef_, model.intercept_, weight)
    assert found == pytest.approx(best / lam, rel=1e-8)
    assert found <= objective(multi_class, X, y, C, W, b, weight) * (1 + 1e-8)


@every_form
def test_fitted_attributes(multi_class):
    X, y = three_classes()
    names = np.array(["pear", "apple", "quince"])[y]
    model = LinearClassifier(multi_class=multi_class, random_state=0).fit(X, names)
    assert list(model.classes_) == ["apple", "pear", "quince"]
    assert model.coef_.shape == (3, 8)
    assert model.intercept_.shape == (3,)
    assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-12)
    assert model.theta_.shape == (150, 3)
    assert model.coef_.dtype == model.intercept_.dtype == np.float64
    assert len(model.certificates_) == 1
    assert model.certificate_ == model.certificates_[0]
    assert model.dual_gap_ == model.certificate_.gap
    assert model.certificate_.relative_gap <= model.tol
    assert model.converged_
    assert model.solver_ in ("block_coordinate", "block_coordinate, interior_point")
    assert model.trace_[-1].passes <= model.n_iter_
    assert model.decision_function(X).shape == (150, 3)
    assert not hasattr(model, "predict_proba")
    assert model.score(X, names) > 0.6
    encoded = np.searchsorted(model.classes_, names)
    problem = Problem(X, MULTICLASS[multi_class](encoded), 1 / 150, intercept=True)
    from fenchel import Model

    again = certify(problem, Model(model.coef_, model.intercept_), model.theta_)
    assert again.gap == pytest.approx(model.dual_gap_, rel=1e-9, abs=again.rounding_floor)


@every_form
@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
def test_one_feature(multi_class):
    """The certificate is that of the model that is returned, not of what the solver made of it later."""
    X, y = three_classes()
    for C, max_iter in itertools.product([0.1, 10.0, 1000.0], [1, 3, 10, 100]):
        model = LinearClassifier(multi_class=multi_class, C=C, tol=1e-12, max_iter=max_iter, random_state=0)
        model.fit(X[:, :1], y)
        found = objective(multi_class, X[:, :1], y, C, model.coef_, model.intercept_) / (C * 150)
        assert model.certificate_.primal == pytest.approx(found, rel=1e-12)


@every_form
def test_two_classes_are_the_two_class_problem(multi_class):
    X, y = make_classification(100, 6, flip_y=0.1, random_state=0)
    joint = LinearClassifier(multi_class=multi_class, random_state=0).fit(X, y)
    plain = LinearClassifier(random_state=0).fit(X, y)
    assert joint.coef_.shape == (1, 6)
    np.testing.assert_array_equal(joint.coef_, plain.coef_)
    np.testing.assert_array_equal(joint.intercept_, plain.intercept_)


@pytest.mark.parametrize("data", ["iris", "digits"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_crammer_singer_without_intercept_equals_scikit_learns(data, C):
    X, y = load_iris(return_X_y=True) if data == "iris" else load_digits(return_X_y=True)
    X = X / np.max(X)
    if data == "digits":
        X, y = X[:500], y[:500]
    ours = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-6, max_iter=50_000, random_state=0)
    ours.fit(X, y)
    theirs = sklearn.svm.LinearSVC(
        multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-7, max_iter=500_000, random_state=0
    )
    with warnings.catch_warnings():
        # LIBLINEAR of scikit-learn 1.7 warns at this tolerance
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(X, y)
    here, there = (objective("crammer_singer", X, y, C, model.coef_) for model in (ours, theirs))
    assert ours.converged_
    assert here == pytest.approx(there, rel=1e-5)
    # what the certificate says of theirs
    assert ours.certificate_.dual * C * len(y) <= there * (1 + 1e-12)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99
    assert ours.intercept_ == 0.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_two_classes_of_crammer_singer_equal_scikit_learns(loss):
    """Theirs ignores the loss and solves the joint problem: the hinge with twice the C."""
    X, y = make_classification(100, 6, flip_y=0.1, random_state=0)
    settings = {"multi_class": "crammer_singer", "C": 0.3, "loss": loss, "fit_intercept": False, "random_state": 0}
    ours = LinearSVC(tol=1e-10, max_iter=100_000, **settings).fit(X, y)
    theirs = sklearn.svm.LinearSVC(tol=1e-8, max_iter=1_000_000, **settings).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)


def test_linear_svc_ignores_the_loss_with_crammer_singer():
    X, y = three_classes()
    settings = {"multi_class": "crammer_singer", "C": 0.1, "tol": 1e-4, "random_state": 0}
    one, other = (LinearSVC(loss=loss, **settings).fit(X, y) for loss in ("hinge", "squared_hinge"))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    joint = LinearClassifier(**settings).fit(X, y)
    np.testing.assert_array_equal(one.coef_, joint.coef_)


@every_form
def test_sample_weights_and_class_weights(multi_class):
    X, y = three_classes()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    settings = {"multi_class": multi_class, "C": 0.1, **TIGHT}
    weighted = LinearClassifier(**settings).fit(X, y, sample_weight=weight)
    repeated = LinearClassifier(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    per_class = LinearClassifier(class_weight={0: 1, 1: 3, 2: 2}, **settings).fit(X, y)
    same = LinearClassifier(**settings).fit(X, y, sample_weight=np.array([1.0, 3.0, 2.0])[y])
    np.testing.assert_allclose(per_class.coef_, same.coef_, atol=1e-5)
    uneven = (y != 0) | (np.arange(150) < 60)
    balanced = LinearClassifier(class_weight="balanced", **settings).fit(X[uneven], y[uneven])
    counts = np.bincount(y[uneven])
    by_hand = LinearClassifier(**settings).fit(
        X[uneven], y[uneven], sample_weight=(uneven.sum() / (3 * counts))[y[uneven]]
    )
    np.testing.assert_allclose(balanced.coef_, by_hand.coef_, atol=1e-5)


@every_form
def test_a_class_without_weight_is_as_if_removed(multi_class):
    X, y = make_classification(150, 8, n_informative=5, n_classes=4, flip_y=0.1, random_state=0)
    settings = {"multi_class": multi_class, "C": 0.1, **TIGHT}
    model = LinearClassifier(**settings).fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    removed = LinearClassifier(**settings).fit(X[y != 1], y[y != 1])
    assert list(model.classes_) == [0, 2, 3]
    np.testing.assert_allclose(model.coef_, removed.coef_, atol=1e-4)
    by_class = LinearClassifier(class_weight={0: 1, 1: 0, 2: 1, 3: 1}, **settings).fit(X, y)
    np.testing.assert_allclose(by_class.coef_, removed.coef_, atol=1e-4)


@every_form
@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
def test_choosing_c(multi_class):
    X, y = three_classes()
    model = LinearClassifierCV(Cs=[1e-3, 1e-1, 1.0], multi_class=multi_class, cv=3, random_state=0).fit(X, y)
    assert model.C_ in (1e-3, 1e-1, 1.0)
    assert model.scores_.shape == model.gaps_.shape == (3, 3)
    assert np.all(model.gaps_ <= 1e-3)
    alone = LinearClassifier(C=model.C_, multi_class=multi_class, random_state=0, tol=1e-3).fit(X, y)
    assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-3)
    search = GridSearchCV(LinearClassifier(multi_class=multi_class, random_state=0), {"C": [1e-3, 0.1, 1.0]}, cv=3).fit(
        X, y
    )
    np.testing.assert_allclose(model.scores_.mean(axis=0), search.cv_results_["mean_test_score"], atol=0.03)


@every_form
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_choosing_c_where_a_fold_lacks_a_class(multi_class):
    X, y = three_classes()
    y[y == 2] = 1
    y[:2] = 2
    model = LinearClassifierCV(
        Cs=[1e-2, 1.0], multi_class=multi_class, cv=[(np.arange(2, 150), np.arange(50))], random_state=0
    )
    model.fit(X, y)
    assert np.all(model.gaps_ <= 1e-3)


@every_form
def test_warm_starts(multi_class):
    X, y = three_classes()
    model = LinearClassifier(
        multi_class=multi_class, warm_start=True, random_state=0, C=0.1, tol=1e-4, max_iter=1e4
    ).fit(X, y)
    first = model.coef_.copy()
    model.fit(X, y)
    assert model.trace_[-1].passes == 0
    np.testing.assert_array_equal(model.coef_, first)
    for change in ({"C": 0.2}, {"multi_class": "ovr"}, {"multi_class": multi_class}, {"fit_intercept": False}):
        model.set_params(**change).fit(X, y)
        cold = clone(model).fit(X, y)
        assert model.converged_
        assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-3)
    model.fit(X[:50], y[:50])
    model.fit(X[:, :3], y)
    model.fit(X, y == 1)
    assert model.fit(X, y).converged_


@every_form
def test_the_same_random_state_gives_the_same_bits(multi_class):
    X, y = three_classes()
    # what goes on after descent takes no notice of where that ended
    options = {"multi_class": multi_class, "solver": "block_coordinate"}
    one, same, other = (LinearClassifier(random_state=k, **options).fit(X, y) for k in (0, 0, 1))
    np.testing.assert_array_equal(one.coef_, same.coef_)
    assert not np.array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("inner", ["walrus", "greedy"])
def test_a_solver_object(inner, full_products):
    X, y = three_classes()
    tol = 1e-10 if full_products else 1e-5
    settings = {"multi_class": "weston_watkins", "tol": tol, "max_iter": 1e5, "random_state": 0}
    model = LinearClassifier(solver=BlockCoordinate(inner=inner), **settings).fit(X, y)
    assert model.solver_ == "block_coordinate"
    plain = LinearClassifier(**settings).fit(X, y)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=2 * tol)


@every_form
def test_pickle_and_clone(multi_class):
    X, y = three_classes()
    model = LinearClassifier(multi_class=multi_class, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_ == model.certificate_
    assert clone(model).get_params() == model.get_params()
    for risk in (WestonWatkins(y), CrammerSinger(y)):
        assert pickle.loads(pickle.dumps(risk)).value(np.zeros((150, 3))) == risk.value(np.zeros((150, 3)))


@every_form
def test_sparse_weights_and_float32(multi_class):
    X, y = three_classes()
    X = np.round(X * 8) / 8
    settings = {"multi_class": multi_class, "C": 0.1, **TIGHT}
    reference = LinearClassifier(**settings).fit(X, y)
    for data in (X.astype(np.float32), sp.csr_matrix(X), sp.csc_array(X), np.asfortranarray(X)):
        model = LinearClassifier(**settings).fit(data, y)
        np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-4)
        assert model.coef_.dtype == np.float64
    scores = reference.decision_function(X)
    np.testing.assert_allclose(reference.sparsify().decision_function(X), scores, rtol=1e-12)


@every_form
def test_features_need_not_be_centred(multi_class):
    """Iris as it is: free intercepts take care of where the data lie."""
    X, y = load_iris(return_X_y=True)
    model = LinearClassifier(multi_class=multi_class, random_state=0).fit(X + 10.0, y)
    assert model.converged_


@every_form
def test_an_unfinished_fit_warns_with_its_bound(multi_class):
    # few enough for the usual storage, whose loops other tests compile too
    X, y = (array[:1000] for array in load_digits(return_X_y=True))
    with pytest.warns(GapWarning, match=r"relative gap of .* where tol=1e-09 was asked for.* within .* of optimal"):
        model = LinearClassifier(multi_class=multi_class, tol=1e-9, max_iter=2, random_state=0).fit(X, y)
    assert not model.converged_
    assert issubclass(GapWarning, ConvergenceWarning)
    with pytest.warns(GapWarning, match="time limit"):
        LinearClassifier(multi_class=multi_class, tol=1e-9, time_limit=0, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (LinearClassifier("logistic", multi_class="weston_watkins"), "requires loss='hinge'"),
        (LinearClassifier("squared_hinge", multi_class="crammer_singer"), "requires loss='hinge'"),
        (
            LinearClassifier(multi_class="ww"),
            "multi_class=.* is unknown.*choose one of 'auto', 'ovr', 'ovo'.*'weston_watkins'",
        ),
        (LinearClassifier(multi_class=None), "multi_class=.* is unknown"),
        (LinearClassifier(multi_class=["ovr"]), "multi_class=.* is unknown"),
        (LinearClassifierCV(multi_class="ww"), "multi_class=.* is unknown"),
        (LinearClassifier(multi_class="weston_watkins", l1_ratio=0.5), "elastic_net.*multi_class='ovr'"),
        (LinearClassifier(multi_class="weston_watkins", solver="newton"), "solver='newton' does not support.*'auto'"),
        (LinearSVC(multi_class="weston_watkins"), "multi_class must be 'ovr' or 'crammer_singer' in LinearSVC"),
        (LinearSVC(multi_class="ovo"), "multi_class must be 'ovr' or 'crammer_singer'"),
        (LinearSVC(multi_class="crammer_singer", loss="logistic"), "loss must be"),
    ],
)
def test_parameters_that_are_refused(estimator, match):
    with pytest.raises(FenchelError, match=match):
        estimator.fit(*three_classes())

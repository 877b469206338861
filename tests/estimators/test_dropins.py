"""What users of LinearSVC, LinearSVR and LogisticRegression rely on: scikit-learn's parameters, answers and shapes."""

import inspect
import pickle
import re
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import (
    FenchelError,
    GapWarning,
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
)
from fenchel.losses import Quantile
from fenchel.regularizers import ElasticNet
from versions import SKLEARN

#: each drop-in and the estimator that it stands in for
PAIRS = [
    (LinearSVC, sklearn.svm.LinearSVC),
    (LinearSVR, sklearn.svm.LinearSVR),
    (LogisticRegression, sklearn.linear_model.LogisticRegression),
]
DROP_INS = [ours for ours, _ in PAIRS]
TIGHT = {"tol": 1e-11, "max_iter": 100_000, "random_state": 0}


@pytest.mark.filterwarnings("ignore::fenchel.GapWarning")
@pytest.mark.meetings(1, law="scikit_learn_checks")
@parametrize_with_checks([LinearSVC(tol=0), LinearSVR(tol=0), LogisticRegression(tol=0, max_iter=1000)])
def test_scikit_learn_checks(estimator, check):
    """No expected failures.  tol=0 because some checks compare two fits to the last digits."""
    check(estimator)


def two_classes(n=120):
    return make_classification(n, 6, n_informative=4, flip_y=0.1, random_state=0)


def three_classes(n=150):
    return make_classification(n, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=0)


def targets():
    X, y = make_regression(100, 5, noise=5.0, random_state=0)
    return X, y / 10 + 3.0


def data_for(estimator):
    return targets() if issubclass(estimator, LinearSVR) else two_classes()


#: l1_ratio took over from penalty in scikit-learn 1.8; the drop-ins are those of 1.8 with any version
since_1_8 = pytest.mark.skipif(
    SKLEARN < (1, 8),
    reason="scikit-learn's LogisticRegression has another signature before 1.8",
)


@since_1_8
@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_the_signature_is_scikit_learns(ours, theirs):
    here, there = (inspect.signature(kind.__init__).parameters for kind in (ours, theirs))
    for name, parameter in there.items():
        assert here[name].default == parameter.default, name
        assert here[name].kind == parameter.kind, name
    # scikit-learn 1.10 is to remove these
    assert set(here) - set(there) <= {"penalty", "n_jobs"}
    assert [name for name in here if name in there] == list(there)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_svc_without_intercept_equals_scikit_learns(loss, classes):
    X, y = two_classes() if classes == 2 else three_classes()
    weight = np.random.default_rng(0).random(len(y))
    ours = LinearSVC(loss=loss, C=0.3, fit_intercept=False, **TIGHT).fit(X, y, weight)
    theirs = sklearn.svm.LinearSVC(loss=loss, C=0.3, fit_intercept=False, dual=True, **TIGHT).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_linear_svc_is_what_a_large_intercept_scaling_approaches():
    X, y = two_classes()
    ours = LinearSVC(**TIGHT).fit(X + 3.0, y)
    theirs = sklearn.svm.LinearSVC(intercept_scaling=1e4, dual=False, tol=1e-12, max_iter=100_000).fit(X + 3.0, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_linear_svr_without_intercept_equals_scikit_learns(loss, epsilon):
    X, y = targets()
    settings = {"loss": loss, "epsilon": epsilon, "C": 0.3, "fit_intercept": False, **TIGHT}
    ours = LinearSVR(**settings).fit(X, y)
    theirs = sklearn.svm.LinearSVR(dual=True, **settings).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-4, atol=1e-4)


def test_linear_svr_with_intercept_equals_svr():
    X, y = targets()
    ours = LinearSVR(epsilon=0.4, **TIGHT).fit(X, y)
    theirs = sklearn.svm.SVR(kernel="linear", epsilon=0.4, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_[0], rtol=1e-5)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 4.0}])
def test_logistic_regression_equals_scikit_learns(fit_intercept, class_weight):
    X, y = two_classes()
    settings = {"C": 0.7, "fit_intercept": fit_intercept, "class_weight": class_weight, "tol": 1e-12}
    ours = LogisticRegression(max_iter=10_000, random_state=0, **settings).fit(X, y)
    theirs = sklearn.linear_model.LogisticRegression(max_iter=10_000, **settings).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-5)
    for method in ("decision_function", "predict_proba", "predict_log_proba"):
        np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), rtol=1e-4, atol=1e-5)


def test_class_weights_are_sample_weights_with_several_classes_too():
    X, y = three_classes()
    weighted = LinearSVC(class_weight={0: 1, 1: 5, 2: 2}, **TIGHT).fit(X, y)
    same = LinearSVC(**TIGHT).fit(X, y, sample_weight=np.array([1.0, 5.0, 2.0])[y])
    np.testing.assert_allclose(weighted.coef_, same.coef_, rtol=1e-6)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("labels", ["two", "three"])
def test_attributes_have_scikit_learns_types_and_shapes(ours, theirs, fit_intercept, labels):
    if labels == "three" and ours is not LinearSVC:
        pytest.skip("two classes only, or none")
    X, y = three_classes() if labels == "three" else data_for(ours)
    here = ours(fit_intercept=fit_intercept, random_state=0, C=0.1).fit(X, y)
    there = theirs(fit_intercept=fit_intercept, C=0.1).fit(X, y)
    assert hasattr(here, "classes_") == hasattr(there, "classes_")
    for name in ("coef_", "intercept_", "n_iter_", "n_features_in_"):
        one, other = getattr(here, name), getattr(there, name)
        assert type(one) is type(other), name
        assert np.shape(one) == np.shape(other), name
        assert np.asarray(one).dtype == np.asarray(other).dtype, name
    for name in ("predict", "decision_function", "predict_proba", "predict_log_proba", "sparsify", "densify"):
        assert hasattr(here, name) == hasattr(there, name), name
    assert here.predict(X).dtype == there.predict(X).dtype
    assert here.converged_
    assert here.certificate_.relative_gap <= 1e-4
    assert here.dual_gap_ == here.certificate_.gap


@pytest.mark.parametrize("estimator", DROP_INS)
@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"dual": "primal"}, "dual must be one of True, False"),
        ({"dual": np.array([0, 1])}, "dual must be one of"),
        ({"intercept_scaling": 0}, "intercept_scaling must be a positive finite number, got 0"),
        ({"intercept_scaling": "wide"}, "intercept_scaling must be"),
        ({"verbose": -1}, "verbose must be an integer >= 0"),
        ({"C": 0.0}, "C must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_iter": -1}, "max_iter must be"),
        ({"fit_intercept": 2}, "fit_intercept must be"),
    ],
)
def test_parameters_that_every_one_refuses(estimator, parameters, match):
    with pytest.raises(FenchelError, match=match):
        estimator(**parameters).fit(*data_for(estimator))


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (LinearSVC(penalty="l3"), "penalty must be 'l2' or 'l1' in LinearSVC, got 'l3'"),
        (LinearSVC(penalty=None), "penalty must be 'l2' or 'l1'"),
        (LinearSVC(C=np.inf), "C must be a positive finite number"),
        (LinearSVC(loss="logistic"), "loss must be 'hinge' or 'squared_hinge' in LinearSVC.*LinearClassifier"),
        (LinearSVC(loss=3), "loss must be 'hinge' or 'squared_hinge'"),
        (LinearSVC(multi_class="weston_watkins"), "multi_class must be 'ovr' or 'crammer_singer'.*LinearClassifier"),
        (LinearSVC(multi_class="ovo"), "multi_class must be 'ovr' or 'crammer_singer'"),
        (LinearSVC(class_weight={0: -1.0}), "class_weight must give"),
        (LinearSVR(loss="huber"), "loss must be 'epsilon_insensitive' or .*LinearRegressor"),
        (LinearSVR(epsilon=-1.0), "epsilon must be"),
        (LinearSVR(epsilon="wide"), "epsilon must be"),
        (LogisticRegression(solver="newton"), "solver must be 'lbfgs' or 'liblinear' or .* got 'newton'"),
        (LogisticRegression(dual="auto"), "dual must be one of True, False in LogisticRegression, got 'auto'"),
        (LogisticRegression(penalty="l0"), "penalty must be .* in LogisticRegression, got 'l0'"),
        (
            LogisticRegression(penalty="elasticnet", l1_ratio=None),
            "l1_ratio must be specified when penalty is elasticnet",
        ),
        (LogisticRegression(l1_ratio=-0.1), "l1_ratio must be"),
        (LogisticRegression(l1_ratio="half"), "l1_ratio must be"),
    ],
)
def test_parameters_that_one_refuses(estimator, match):
    with pytest.raises(FenchelError, match=match):
        estimator.fit(*data_for(type(estimator)))


@pytest.mark.parametrize("estimator", DROP_INS)
def test_defaults_may_be_spelled_out(estimator):
    X, y = data_for(estimator)
    defaults = {**estimator().get_params(), "intercept_scaling": 1.0, "verbose": False, "random_state": 0}
    np.testing.assert_array_equal(estimator(**defaults).fit(X, y).coef_, estimator(random_state=0).fit(X, y).coef_)


@pytest.mark.parametrize("estimator", DROP_INS)
@pytest.mark.parametrize("dual", [True, False])
def test_what_has_no_meaning_here_changes_nothing(estimator, dual):
    X, y = data_for(estimator)
    given = {"dual": dual, "intercept_scaling": 10.0, "verbose": 1}
    if estimator is LogisticRegression:
        given["solver"] = "saga" if dual else "liblinear"
    plain = estimator().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = estimator(**given).fit(X, y)
    np.testing.assert_array_equal(same.coef_, plain.coef_)
    np.testing.assert_array_equal(same.intercept_, plain.intercept_)


@pytest.mark.parametrize("classes", [2, 3])
def test_linear_svc_with_absolute_values_equals_scikit_learns(classes):
    X, y = two_classes() if classes == 2 else three_classes()
    settings = {"penalty": "l1", "dual": False, "C": 0.1, "fit_intercept": False, "max_iter": 100_000}
    ours = LinearSVC(tol=1e-10, **settings).fit(X, y)
    theirs = sklearn.svm.LinearSVC(tol=1e-8, random_state=0, **settings).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    hinge = LinearSVC(penalty="l1", loss="hinge", C=0.1, random_state=0).fit(X, y)
    assert hinge.converged_
    assert np.any(hinge.coef_ == 0.0)


@since_1_8
@pytest.mark.meetings(1)
@pytest.mark.parametrize("ratio", [0.4, 1.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_absolute_values_above_two_classes_equal_scikit_learns(ratio, fit_intercept, sparse):
    X, y = three_classes()
    weight = np.random.default_rng(0).random(len(y))
    settings = {"l1_ratio": ratio, "C": 0.3, "fit_intercept": fit_intercept, "solver": "saga"}
    given = sp.csr_array(X) if sparse else X
    ours = LogisticRegression(tol=1e-6, max_iter=10_000, **settings).fit(given, y, weight)
    theirs = sklearn.linear_model.LogisticRegression(tol=1e-10, max_iter=10_000, random_state=0, **settings)
    theirs.fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    # any constant may be added to all intercepts
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-4)
    assert ours.certificate_.relative_gap <= 1e-6
    assert ours.solver_ == "proximal_gradient"


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_logistic_regression_without_regularization_equals_scikit_learns(classes, fit_intercept):
    X, y = make_classification(
        300, 5, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.3, n_clusters_per_class=1, random_state=0
    )
    settings = {"C": np.inf, "fit_intercept": fit_intercept, "max_iter": 10_000}
    ours = LogisticRegression(**settings).fit(100.0 * X, y)
    theirs = sklearn.linear_model.LogisticRegression(solver="newton-cholesky", tol=1e-10, **settings).fit(X, y)
    np.testing.assert_allclose(100.0 * ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-5)
    with pytest.warns(FutureWarning, match="C=inf for None"):
        none = LogisticRegression(penalty=None, fit_intercept=fit_intercept, max_iter=10_000).fit(100.0 * X, y)
    np.testing.assert_array_equal(none.coef_, ours.coef_)


@pytest.mark.parametrize("estimator", DROP_INS)
def test_two_fits_with_defaults_are_the_same(estimator):
    X, y = data_for(estimator)
    one, other = (estimator().fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_float32_data_give_float32_weights_in_logistic_regression_alone():
    X, y = two_classes()
    for estimator, solver, dtype in (
        (LogisticRegression(), "lbfgs", np.float32),
        (LogisticRegression(solver="liblinear"), "liblinear", np.float64),
        (LinearSVC(), None, np.float64),
    ):
        model = estimator.fit(X.astype(np.float32), y)
        assert model.coef_.dtype == model.intercept_.dtype == dtype, solver
        assert model.theta_.dtype == np.float64


@pytest.mark.parametrize("estimator", [LinearSVC, LogisticRegression, LinearClassifier])
def test_weights_set_by_hand_predict(estimator):
    X, _ = three_classes()
    model = estimator()
    model.classes_, model.coef_, model.intercept_ = np.arange(3), np.eye(3, X.shape[1]), np.zeros(3)
    np.testing.assert_array_equal(model.predict(X), np.argmax(X[:, :3], axis=1))
    if estimator is LogisticRegression:
        np.testing.assert_allclose(model.predict_proba(X), softmax(X[:, :3], axis=1))
    # LogisticRegressionCV sets the weights of two classes as a vector
    model.classes_, model.coef_, model.intercept_ = np.arange(2), np.eye(X.shape[1])[0], 0.0
    np.testing.assert_array_equal(model.predict(X), (X[:, 0] > 0).astype(int))


@pytest.mark.parametrize("estimator", [LinearSVC(), LogisticRegression(), LinearClassifier()])
def test_one_class_with_weight_is_a_constant_model(estimator):
    X, y = two_classes()
    for k in (0, 1):
        model = estimator.fit(X, y, sample_weight=(y == k).astype(float))
        assert list(model.classes_) == [0, 1]
        assert set(model.predict(X)) == {k}
        assert model.converged_
    rare = np.zeros(len(y), dtype=int)
    rare[0] = 1
    assert BaggingClassifier(estimator, n_estimators=5, random_state=0).fit(X, rare).predict(X).shape == y.shape
    with pytest.raises(FenchelError, match="one class only"):
        estimator.fit(X, np.zeros(len(y)))


def test_parameters_of_a_loss_can_be_set_and_searched():
    X, y = targets()
    model = LinearRegressor(Quantile(0.9)).set_params(loss__quantile=0.5, C=3.0)
    assert (model.loss, model.C) == (Quantile(0.5), 3.0)
    search = GridSearchCV(model, {"loss__quantile": [0.2, 0.5]}, cv=3).fit(X, y)
    assert search.best_params_["loss__quantile"] == 0.5
    with pytest.raises(ValueError, match=r"Invalid parameter .width. for loss Quantile.*quantile"):
        model.set_params(loss__width=1.0)
    with pytest.raises(ValueError, match="Invalid parameter 'quantile' for loss Squared"):
        LinearRegressor().set_params(loss__quantile=0.5)


def test_logistic_regression_is_multinomial_above_two_classes():
    X, y = three_classes()
    three = LogisticRegression(random_state=0).fit(X, y)
    assert three.coef_.shape == (3, X.shape[1])
    np.testing.assert_allclose(three.predict_proba(X), softmax(three.decision_function(X), axis=1), rtol=1e-13)
    two = LogisticRegression(random_state=0).fit(X, y, sample_weight=(y != 2).astype(float))
    assert list(two.classes_) == [0, 1]


@pytest.mark.parametrize(
    ("parameters", "category", "match"),
    [
        ({"penalty": "l2"}, FutureWarning, "'penalty' was deprecated"),
        ({"penalty": "l2", "l1_ratio": 0.5}, UserWarning, "Inconsistent values: penalty=l2 with l1_ratio=0.5"),
        ({"penalty": "elasticnet"}, FutureWarning, "'penalty' was deprecated"),
        ({"l1_ratio": None}, FutureWarning, "'l1_ratio=None' was deprecated"),
        ({"n_jobs": 2}, FutureWarning, "'n_jobs' has no effect"),
    ],
)
@pytest.mark.filterwarnings("ignore:'penalty' was deprecated:FutureWarning")
def test_deprecated_parameters_of_logistic_regression_warn_and_work(parameters, category, match):
    X, y = two_classes()
    with pytest.warns(category, match=match) as caught:
        model = LogisticRegression(random_state=0, **parameters).fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}
    np.testing.assert_array_equal(model.coef_, LogisticRegression(random_state=0).fit(X, y).coef_)


@pytest.mark.parametrize(
    ("parameters", "regularizer"),
    [
        ({"l1_ratio": 0.3}, ElasticNet(0.3)),
        ({"penalty": "elasticnet", "l1_ratio": 0.3}, ElasticNet(0.3)),
    ],
)
def test_l1_ratio_is_the_elastic_net(parameters, regularizer):
    assert LogisticRegression(**parameters)._regularizer() == regularizer


@pytest.mark.parametrize("estimator", DROP_INS)
def test_pickle_clone_and_grid_search(estimator):
    X, y = data_for(estimator)
    model = estimator(random_state=0, C=0.2).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_ == model.certificate_
    assert clone(model).get_params() == model.get_params()
    assert "C=0.2" in repr(model)
    search = GridSearchCV(estimator(random_state=0), {"C": [0.1, 1.0], "fit_intercept": [True, False]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.5


@pytest.mark.parametrize("estimator", DROP_INS)
def test_an_unfinished_fit_warns_where_fit_was_called(estimator):
    with pytest.warns(GapWarning, match=rf"{estimator.__name__} stopped.*within .* of optimal") as caught:
        # the ten passes of an iteration of LogisticRegression would be enough
        unfinished = 0 if estimator is LogisticRegression else 1
        estimator(max_iter=unfinished, tol=1e-10, random_state=0).fit(*data_for(estimator))
    assert caught[0].filename == __file__


def test_logistic_regression_starts_warm():
    X, y = two_classes()
    model = LogisticRegression(warm_start=True, random_state=0).fit(X, y)
    first = model.coef_.copy()
    model.sparsify().fit(X, y)
    assert model.trace_[-1].passes == 0
    np.testing.assert_array_equal(model.coef_, first)


@pytest.mark.parametrize("model", [LinearSVC(), LogisticRegression(), LinearClassifier()])
def test_sparse_weights_predict_the_same(model):
    X, y = two_classes()
    model = clone(model).set_params(random_state=0).fit(X, y)
    dense = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    for data in (X, sp.csr_array(X), sp.coo_array(X)):
        np.testing.assert_allclose(model.decision_function(data), dense, rtol=1e-12)
    assert isinstance(model.densify().coef_, np.ndarray)
    np.testing.assert_allclose(model.decision_function(X), dense, rtol=1e-12)


def test_linear_svr_takes_one_target():
    X, y = targets()
    with pytest.raises(ValueError, match="1d array"):
        LinearSVR().fit(X, np.column_stack([y, y]))
    with pytest.warns(DataConversionWarning):
        model = LinearSVR(random_state=0).fit(X, y[:, None])
    assert model.predict(X).shape == y.shape


def test_the_classes_of_linear_svc_run_in_joblibs_threads():
    X, y = three_classes()
    alone = LinearSVC(random_state=0).fit(X, y)
    with joblib.parallel_config(n_jobs=2):
        together = LinearSVC(random_state=0).fit(X, y)
    np.testing.assert_array_equal(together.coef_, alone.coef_)


def test_the_page_runs(capsys):
    page = Path(__file__).resolve().parents[2] / "docs" / "drop-ins.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(code, "drop-ins.md", "exec"), {})
    assert capsys.readouterr().out.startswith("The objective")

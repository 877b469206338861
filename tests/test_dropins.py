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
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from fenchel import ElasticNet, FenchelError, GapWarning, LinearClassifier, LinearSVC, LinearSVR, LogisticRegression

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
        ({"dual": True}, "dual=True has no meaning here.*Leave dual="),
        ({"dual": np.array([0, 1])}, "dual=array.*has no meaning here"),
        ({"intercept_scaling": 10}, "intercept_scaling=10 has no meaning here.*not regularized"),
        ({"verbose": 1}, "verbose=1 has no meaning here.*LinearClassifier"),
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
        (LinearSVC(dual=False), "dual=False has no meaning here.*Leave dual='auto'"),
        (LinearSVC(penalty="l1"), "penalty='l1' is not available.*l1_ratio=1"),
        (LinearSVC(penalty="l3"), "penalty must be 'l2' in LinearSVC, got 'l3'"),
        (LinearSVC(penalty=None), "penalty must be 'l2'"),
        (LinearSVC(loss="logistic"), "loss must be 'hinge' or 'squared_hinge' in LinearSVC.*LinearClassifier"),
        (LinearSVC(loss=3), "loss must be 'hinge' or 'squared_hinge'"),
        (LinearSVC(multi_class="weston_watkins"), "multi_class must be 'ovr' or 'crammer_singer'.*LinearClassifier"),
        (LinearSVC(multi_class="ovo"), "multi_class must be 'ovr' or 'crammer_singer'"),
        (LinearSVC(class_weight={0: -1.0}), "class_weight must give"),
        (LinearSVR(loss="huber"), "loss must be 'epsilon_insensitive' or .*LinearRegressor"),
        (LinearSVR(epsilon=-1.0), "epsilon must be"),
        (LinearSVR(epsilon="wide"), "epsilon must be"),
        (LogisticRegression(solver="liblinear"), "solver='liblinear' has no meaning here.*Leave solver='lbfgs'"),
        (LogisticRegression(solver="saga", l1_ratio=0.5), "solver='saga' has no meaning here"),
        (LogisticRegression(C=np.inf), "C=inf asks for no regularization.*large C"),
        (LogisticRegression(penalty=None), "penalty=None asks for no regularization.*large C"),
        (LogisticRegression(penalty="l0"), "penalty must be .* in LogisticRegression, got 'l0'"),
        (LogisticRegression(penalty="elasticnet", l1_ratio=None), "l1_ratio must be a number with penalty"),
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


def test_logistic_regression_is_multinomial_above_two_classes():
    X, y = three_classes()
    with pytest.raises(FenchelError, match=r"l1_ratio must be 0 for more than two classes.*one-vs-rest"):
        LogisticRegression(l1_ratio=0.5).fit(X, y)
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
        estimator(max_iter=1, tol=1e-10, random_state=0).fit(*data_for(estimator))
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
    page = Path(__file__).resolve().parent.parent / "docs" / "drop-ins.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(code, "drop-ins.md", "exec"), {})
    assert capsys.readouterr().out.startswith("The objective")

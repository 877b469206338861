"""Estimators of other libraries are judged by their own objectives: the gap of a tight fit is small, of others not."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.datasets import make_classification
from sklearn.linear_model import (
    ElasticNet,
    ElasticNetCV,
    HuberRegressor,
    Lasso,
    LassoCV,
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskElasticNet,
    MultiTaskLasso,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from fenchel import FenchelError, LinearClassifier, OnlineClassifier, Problem, certify
from fenchel.risks import MeanRisk
from versions import SKLEARN

TIGHT = {"tol": 1e-10, "max_iter": 1_000_000}
WEIGHTS = {"b": 3.0, "a": 0.5, "c": 2.0}


def classes_of(k, n=80):
    X, y = make_classification(n, 5, n_informative=4, n_redundant=0, n_classes=k, flip_y=0.1, random_state=0)
    return X, np.array(["a", "b", "c"])[y], np.random.default_rng(0).uniform(0.2, 3.0, n)


def targets_of(n=80):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 5))
    return X, X @ np.arange(5.0) + 2.0 + rng.standard_t(2, n), rng.uniform(0.2, 3.0, n)


#: scikit-learn from 1.8 on reads the penalty from l1_ratio alone, and has other fitted attributes in the future
RECENT = SKLEARN >= (1, 8)


def logistic(l1_ratio, **parameters):
    """scikit-learn's class with this penalty, as its version wants it to be said."""
    if not RECENT:
        parameters["penalty"] = "l1" if l1_ratio == 1 else "elasticnet"
        l1_ratio = None if l1_ratio == 1 else l1_ratio
    return LogisticRegression(C=0.3, l1_ratio=l1_ratio, **parameters, **TIGHT)


#: estimators of classes, the gap that their tolerance should reach, and the numbers of classes
CLASSIFIERS = [
    (LinearSVC(C=0.3, loss="hinge", dual=True, **TIGHT), 1e-6, (2, 3)),
    (LinearSVC(C=0.3, dual=False, intercept_scaling=7.0, class_weight=WEIGHTS, **TIGHT), 1e-6, (2, 3)),
    (LinearSVC(C=0.3, penalty="l1", dual=False, fit_intercept=False, class_weight="balanced", **TIGHT), 1e-6, (2, 3)),
    (LinearSVC(C=0.3, multi_class="crammer_singer", class_weight="balanced", **TIGHT), 1e-6, (3,)),
    (LogisticRegression(C=0.3, class_weight=WEIGHTS, **TIGHT), 1e-6, (2, 3)),
    (LogisticRegression(C=0.3, fit_intercept=False, solver="newton-cg", **TIGHT), 1e-6, (2, 3)),
    (logistic(1.0, solver="saga"), 1e-6, (2, 3)),
    (logistic(0.4, solver="saga"), 1e-6, (2,)),
    (logistic(1, solver="liblinear", class_weight=WEIGHTS), 1e-6, (2,)),
    (
        LogisticRegressionCV(
            Cs=3,
            scoring="accuracy",
            tol=1e-10,
            max_iter=9999,
            **({"l1_ratios": (0,), "use_legacy_attributes": False} if RECENT else {}),
        ),
        1e-6,
        (2, 3),
    ),
    (RidgeClassifier(alpha=2.0, class_weight="balanced"), 1e-9, (2, 3)),
    (
        SGDClassifier(alpha=0.05, max_iter=3000, tol=None, random_state=0, average=100, class_weight=WEIGHTS),
        2e-2,
        (2, 3),
    ),
    (SGDClassifier("log_loss", alpha=0.05, max_iter=3000, tol=None, random_state=0, penalty="elasticnet"), 2e-2, (2,)),
    (SVC(C=2.0, gamma=0.1, tol=1e-9, class_weight=WEIGHTS), 1e-6, (2,)),
    (SVC(C=2.0, kernel="poly", degree=2, tol=1e-9), 1e-6, (2,)),
]
REGRESSORS = [
    (Ridge(alpha=3.0), 1e-9),
    (Ridge(alpha=3.0, fit_intercept=False), 1e-9),
    (RidgeCV(alphas=(0.1, 1.0)), 1e-9),
    (Lasso(alpha=0.2, **TIGHT), 1e-6),
    (LassoCV(**TIGHT), 1e-6),
    (ElasticNet(alpha=0.2, l1_ratio=0.3, **TIGHT), 1e-6),
    (ElasticNetCV(l1_ratio=[0.3, 0.9], **TIGHT), 1e-6),
    (LinearSVR(C=0.3, epsilon=0.2, intercept_scaling=3.0, **TIGHT), 1e-5),
    (LinearSVR(C=0.3, epsilon=0.2, loss="squared_epsilon_insensitive", dual=False, **TIGHT), 1e-6),
    (SGDRegressor(alpha=0.05, max_iter=3000, tol=None, random_state=0), 2e-2),
    (SGDRegressor("huber", alpha=0.05, epsilon=0.7, max_iter=3000, tol=None, random_state=0), 2e-2),
    (QuantileRegressor(quantile=0.8, alpha=0.05), 1e-7),
    (HuberRegressor(alpha=0.5, tol=1e-12, max_iter=100_000), 1e-6),
    (SVR(C=2.0, gamma=0.1, epsilon=0.2, tol=1e-9), 1e-6),
]


def fits(estimators):
    return [
        pytest.param(model, gap, k, id=f"{type(model).__name__}{number}-{k}")
        for number, (model, gap, *classes) in enumerate(estimators)
        for k in (classes[0] if classes else (0,))
    ]


@pytest.mark.meetings(1)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
@pytest.mark.parametrize(("model", "gap", "k"), fits(CLASSIFIERS) + fits(REGRESSORS))
def test_a_tight_fit_is_proved(model, gap, k, weighted):
    X, y, weights = classes_of(k) if k else targets_of()
    given = {"sample_weight": weights} if weighted and not isinstance(model, (LassoCV, ElasticNetCV)) else {}
    judged = certify(model.fit(X, y, **given), X, y, effort=3000, **given)
    assert judged.relative_gap <= gap, str(judged)
    # the same judgement of other weights is worse
    if not isinstance(model, (SVC, SVR)):
        model.coef_ = 3.0 * model.coef_
        assert certify(model, X, y, effort=3000, **given).relative_gap > max(1e-3, 3 * judged.relative_gap)


def test_a_parameter_that_is_changed_after_the_fit_shows():
    X, y, _ = classes_of(2)
    model = LogisticRegression(C=1.0, tol=1e-10).fit(X, y)
    assert certify(model, X, y).relative_gap < 1e-8
    assert certify(model.set_params(C=0.1), X, y).relative_gap > 1e-2


def test_weights_are_named_with_the_objective():
    X, y, weights = classes_of(2)
    plain = certify(LinearSVC().fit(X, y), X, y).objective
    balanced = LinearSVC(class_weight="balanced").fit(X, y, weights)
    assert certify(balanced, X, y, sample_weight=weights).objective == (
        f"{plain}, class_weight='balanced', with sample_weight"
    )


@pytest.mark.parametrize("build", [sp.csr_matrix, sp.coo_array, np.float32])
def test_storages_and_pipelines(build):
    X, y, _ = classes_of(3)
    X = np.round(X * 8) / 8
    model = LinearSVC(tol=1e-9, max_iter=100_000).fit(build(X), y)
    judged = certify(model, build(X), y)
    assert judged.relative_gap < 1e-5
    assert len(judged.certificates) == 3
    assert "worst of 3" in str(judged)
    assert "C=1, intercept regularized" in str(judged)
    pipeline = make_pipeline(StandardScaler(), LinearSVC(tol=1e-9, max_iter=100_000)).fit(X, y)
    assert certify(pipeline, X, y).relative_gap < 1e-5


def test_data_frames_and_several_targets():
    pandas = pytest.importorskip("pandas", reason="data frames need pandas")
    X, y, _ = targets_of()
    both = np.column_stack([y, -2.0 * y])
    frame = pandas.DataFrame(X, columns=list("abcde"))
    judged = certify(Ridge(alpha=np.array([1.0, 3.0])).fit(frame, both), frame, both)
    assert len(judged.certificates) == 2
    assert judged.relative_gap < 1e-9


def test_a_problem_is_still_a_problem():
    X, y, _ = targets_of()
    problem = Problem(X, MeanRisk("squared", y), 0.1)
    assert certify(problem, np.zeros(5)).primal == pytest.approx(np.mean(y**2) / 2)
    with pytest.raises(FenchelError, match="sample_weight is for estimators"):
        certify(problem, np.zeros(5), sample_weight=y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KNeighborsClassifier(), "KNeighborsClassifier is not known here"),
        (LinearClassifier(), "has certificate_ already"),
        (Ridge(alpha=0.0), "alpha=0.0 leaves the model without a regularizer"),
        (Lasso(positive=True), "positive=True"),
        (LogisticRegression(C=np.inf, max_iter=1000), "C=inf leaves the model without a regularizer"),
        (SGDClassifier(penalty=None), "without a penalty"),
        (SGDClassifier("modified_huber"), "modified_huber"),
        (SGDClassifier(early_stopping=True, random_state=0), "holds out rows"),
        (SGDRegressor(early_stopping=True, random_state=0), "holds out rows"),
        (QuantileRegressor(alpha=0.0), "alpha=0.0 leaves"),
        (SVC(), "3 classes are 3 fits"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_cannot_be_judged_is_refused_with_the_reason(model, message):
    X, y, _ = classes_of(3) if is_classifier(model) else targets_of()
    model.fit(X, y)
    with pytest.raises(FenchelError, match=message):
        certify(model, X, y)


def test_other_data_are_refused():
    X, y, _ = classes_of(2)
    model = LinearSVC().fit(X, y)
    with pytest.raises(FenchelError, match="labels that are not in classes_"):
        certify(model, X, np.where(y == "a", "z", y))
    with pytest.raises(FenchelError, match="needs the targets"):
        certify(model, X, None)
    with pytest.raises(FenchelError, match="Negative values in data passed to `sample_weight`"):
        certify(model, X, y, sample_weight=-np.ones(80))
    with pytest.raises(ValueError, match="inconsistent"):
        certify(model, X[:-1], y)


@pytest.mark.parametrize("kind", [MultiTaskLasso, MultiTaskElasticNet])
def test_a_class_that_changes_the_objective_of_its_base_is_not_judged_by_it(kind):
    X, y, _ = targets_of()
    both = np.column_stack([y, X[:, 0]])
    with pytest.raises(FenchelError, match="is not known here"):
        certify(kind(alpha=0.1).fit(X, both), X, both)


def test_a_class_of_yours_is_judged_as_its_base():
    X, y, _ = classes_of(2)
    mine = type("Mine", (LinearSVC,), {})(tol=1e-9)
    assert certify(mine.fit(X, y), X, y).relative_gap < 1e-6


@pytest.mark.parametrize("kernel", ["sigmoid", "precomputed"])
def test_a_kernel_that_is_not_semi_definite_has_no_proof(kernel):
    X, y, _ = classes_of(2)
    K = X @ X.T
    X = X if kernel == "sigmoid" else K - 0.5 * np.min(np.diag(K)) * np.eye(len(K))
    model = SVC(kernel=kernel, gamma=0.5, coef0=1.0).fit(X, y)
    with pytest.raises(FenchelError, match="not positive semi-definite"):
        certify(model, X, y)


def test_the_best_model_of_a_search_is_judged():
    X, y, _ = classes_of(2)
    pipeline = make_pipeline(StandardScaler(), LinearSVC(tol=1e-9, max_iter=100_000))
    search = GridSearchCV(pipeline, {"linearsvc__C": [0.1, 0.5]}, cv=3).fit(X, y)
    judged = certify(search, X, y)
    assert judged.relative_gap < 1e-5
    assert f"C={search.best_params_['linearsvc__C']:g}," in judged.objective


def test_other_rows_columns_and_targets_than_those_of_the_fit_are_named():
    X, y, _ = targets_of()
    with pytest.raises(FenchelError, match="X has 2 features, and the SVR was fitted to 5"):
        certify(SVR().fit(X, y), X[:, :2], y)
    with pytest.raises(FenchelError, match="y has 2 targets or classes, the model weights for 1"):
        certify(SVR().fit(X, y), X, np.column_stack([y, y]))
    with pytest.raises(FenchelError, match=r"y must hold numbers for this model: .* 'a'; pass the y of its fit"):
        certify(Ridge().fit(X, y), X, ["a"] * len(y))
    with pytest.raises(FenchelError, match=r"^OneVsRestClassifier has several models: certify each of its estimators_"):
        certify(OneVsRestClassifier(LinearSVC()).fit(X, y > 0), X, y > 0)
    with pytest.raises(FenchelError, match=r"has no certificate: .* Its own certify\(X, y\) judges it"):
        certify(OnlineClassifier().fit(X, y > 0), X, y > 0)


def test_crammer_and_singer_of_two_classes():
    X, y, weights = classes_of(2)
    model = LinearSVC(C=0.3, multi_class="crammer_singer", **TIGHT).fit(X, y, weights)
    judged = certify(model, X, y, sample_weight=weights)
    assert judged.relative_gap < 1e-6
    signs, scores = np.where(y == "b", 1.0, -1.0), model.decision_function(X)
    # half of the difference in each of the two rows
    squares = (np.sum(model.coef_**2) + np.sum(model.intercept_**2)) / 4
    value = squares / (0.3 * weights.sum()) + np.average(np.maximum(0.0, 1.0 - signs * scores), weights=weights)
    assert judged.certificate.primal == pytest.approx(value, rel=1e-9)


def test_targets_of_another_shape_are_refused():
    X, y, _ = targets_of()
    both = np.column_stack([y, -y])
    with pytest.raises(FenchelError, match="y has 1 targets or classes, the model weights for 2"):
        certify(Ridge().fit(X, both), X, y)
    with pytest.raises(FenchelError, match="y has 2 targets or classes, the model weights for 1"):
        certify(Lasso(0.1).fit(X, y), X, both)
    with pytest.raises(FenchelError, match="one label for each example"):
        certify(RidgeClassifier().fit(X, both > 0), X, both > 0)
    model = LogisticRegression().fit(X, y > 0)
    with pytest.raises(FenchelError, match="labels that are not in classes_"):
        certify(model, X, np.array([None] * len(y)))


@pytest.mark.parametrize("sparse", [False, True])
def test_kernel_machines_with_examples_without_weight(sparse):
    # scikit-learn numbers the support vectors among the examples with weight
    X, y, weights = classes_of(2)
    weights[::3] = 0.0
    given = sp.csr_matrix(X) if sparse else X
    model = SVC(C=0.3, tol=1e-9).fit(given, y, sample_weight=weights)
    assert certify(model, given, y, sample_weight=weights).relative_gap < 1e-6
    X, y, weights = targets_of()
    weights[:20] = 0.0
    given = sp.csr_matrix(X) if sparse else X
    model = SVR(C=0.3, tol=1e-9).fit(given, y, sample_weight=weights)
    assert certify(model, given, y, sample_weight=weights).relative_gap < 1e-6


def test_rigorous_bounds_hold_for_the_exact_lambda():
    # NumPy's sum of these weights is 8 roundings below the exact one, and lambda = alpha / sum as much above
    n, weight = 127, 0.597
    weights, X, y = np.full(n, weight), np.ones((n, 1)), np.ones(n)
    alpha = n * weight
    model = Ridge(alpha, fit_intercept=False).fit(X, y, sample_weight=weights)
    total = n * Fraction(weight)
    optimum = Fraction(alpha) / (total + Fraction(alpha)) / 2
    assert Fraction(certify(model, X, y, sample_weight=weights, rigorous=True).certificate.lower) <= optimum


@pytest.mark.parametrize(("form", "k"), [("ovr", 3), ("multinomial", 2)])
def test_forms_of_scikit_learn_1_7_that_are_other_objectives_are_refused(form, k):
    X, y, _ = classes_of(k)
    model = LogisticRegression().fit(X, y)
    # a parameter up to scikit-learn 1.7
    model.multi_class = form
    with pytest.raises(FenchelError, match="is another objective"):
        certify(model, X, y)

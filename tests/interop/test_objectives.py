"""The objectives that ``certify`` judges, beside formulas written from the documentation of each library.

A bound on the optimum holds for the objective that it names: a wrong factor, weight or intercept gives a confident
wrong percentage.  The primal objective of a loose fit must therefore be that of the formula, up to the factor that the
certificate divides by, and the lower bound must not exceed the formula at a tight fit of the same estimator.
"""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.utils.class_weight import compute_class_weight

from fenchel import certify

C, ALPHA = 0.4, 0.05
WEIGHTS = np.random.default_rng(5).uniform(0.2, 3.0, 60)


def hinge(margin):
    return np.maximum(0.0, 1.0 - margin)


def tube(residual, epsilon):
    return np.maximum(0.0, np.abs(residual) - epsilon)


def scores_of(model, X):
    return X @ np.atleast_2d(model.coef_).T + model.intercept_


def balanced(model, y, weights):
    """The weight of each example times that of its class; the libraries differ in whether weights are balanced."""
    return compute_class_weight("balanced", classes=model.classes_, y=y, sample_weight=weights)[
        np.searchsorted(model.classes_, y)
    ]


def signs(model, y):
    return np.where(y == model.classes_[1], 1.0, -1.0)


def linear_svc(model, X, y, a):
    """The intercept is regularized as the weight of a constant feature with the value intercept_scaling."""
    norm = np.sum(model.coef_**2) + np.sum((model.intercept_ / model.intercept_scaling) ** 2)
    losses = hinge(signs(model, y) * scores_of(model, X)[:, 0]) ** 2
    return norm / 2 + C * np.sum(a * balanced(model, y, a) * losses), C * np.sum(a * balanced(model, y, a))


def multinomial(model, X, y, a):
    scores = scores_of(model, X)
    losses = logsumexp(scores, axis=1) - scores[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    weights = a * balanced(model, y, a)
    return np.sum(model.coef_**2) / 2 + C * np.sum(weights * losses), C * np.sum(weights)


def ridge_classifier(model, X, y, a):
    """Classes are balanced by their numbers of examples, whatever the weights."""
    weights = a * balanced(model, y, None)
    squares = (scores_of(model, X)[:, 0] - signs(model, y)) ** 2
    return 2.0 * np.sum(model.coef_**2) / 2 + np.sum(weights * squares) / 2, np.sum(weights)


def sgd_classifier(model, X, y, a):
    """A mean over the rows, not over the weights; classes are balanced by their numbers of examples."""
    weights = a * balanced(model, y, None)
    penalty = (1 - 0.4) / 2 * np.sum(model.coef_**2) + 0.4 * np.sum(np.abs(model.coef_))
    losses = hinge(signs(model, y) * scores_of(model, X)[:, 0])
    return ALPHA * penalty + np.sum(weights * losses) / len(y), np.sum(weights) / len(y)


def svc(model, X, y, a):
    weights = a * balanced(model, y, None)
    scores = model.decision_function(X)
    dual, support = model.dual_coef_[0], model.support_vectors_
    norm = dual @ np.exp(-0.1 * np.sum((support[:, None] - support[None]) ** 2, axis=2)) @ dual
    return norm / 2 + C * np.sum(weights * hinge(signs(model, y) * scores)), C * np.sum(weights)


CLASSIFIERS = [
    (LinearSVC(C=C, intercept_scaling=7.0, class_weight="balanced", dual=False), linear_svc, 2),
    (LogisticRegression(C=C, class_weight="balanced"), multinomial, 3),
    (RidgeClassifier(alpha=2.0, class_weight="balanced", solver="lsqr"), ridge_classifier, 2),
    (
        SGDClassifier(penalty="elasticnet", l1_ratio=0.4, alpha=ALPHA, class_weight="balanced", random_state=0),
        sgd_classifier,
        2,
    ),
    (SVC(C=C, gamma=0.1, class_weight="balanced"), svc, 2),
]


def penalized(strength, l1_ratio, loss, *, mean):
    """The objective of a regression: alpha times the penalty, and a mean or a sum of losses."""

    def formula(model, X, y, a):
        penalty = (1 - l1_ratio) / 2 * np.sum(model.coef_**2) + l1_ratio * np.sum(np.abs(model.coef_))
        total = {"weights": np.sum(a), "rows": len(y), None: 1.0}[mean]
        return strength * penalty + np.sum(a * loss(scores_of(model, X)[:, 0] - y)) / total, np.sum(a) / total

    return formula


def huber(model, X, y, a):
    """scikit-learn's sum of sigma + H(r / sigma) sigma without the constant, at the fitted sigma."""
    sigma, residual = model.scale_, np.abs(scores_of(model, X)[:, 0] - y) / model.scale_
    losses = sigma * np.where(residual < 1.35, residual**2, 2 * 1.35 * residual - 1.35**2)
    return ALPHA * np.sum(model.coef_**2) + np.sum(a * losses), 2.0 * np.sum(a) / sigma


def linear_svr(model, X, y, a):
    norm = np.sum(model.coef_**2) + np.sum((model.intercept_ / 3.0) ** 2)
    return norm / 2 + C * np.sum(a * tube(scores_of(model, X)[:, 0] - y, 0.2)), C * np.sum(a)


def svr(model, X, y, a):
    gram = (X @ X.T + 1.0) ** 2
    dual = np.zeros(len(y))
    dual[model.support_] = model.dual_coef_[0]
    scores = gram @ dual + model.intercept_
    return dual @ gram @ dual / 2 + C * np.sum(a * tube(scores - y, 0.2)), C * np.sum(a)


REGRESSORS = [
    (Ridge(alpha=3.0, solver="lsqr"), penalized(3.0, 0.0, lambda r: r**2 / 2, mean=None)),
    (Lasso(alpha=ALPHA), penalized(ALPHA, 1.0, lambda r: r**2 / 2, mean="weights")),
    (ElasticNet(alpha=ALPHA, l1_ratio=0.3), penalized(ALPHA, 0.3, lambda r: r**2 / 2, mean="weights")),
    (
        QuantileRegressor(quantile=0.8, alpha=ALPHA),
        penalized(ALPHA, 1.0, lambda r: np.maximum(-0.8 * r, 0.2 * r), mean="weights"),
    ),
    (
        SGDRegressor("epsilon_insensitive", epsilon=0.2, alpha=ALPHA, penalty="l1", random_state=0),
        penalized(ALPHA, 1.0, lambda r: tube(r, 0.2), mean="rows"),
    ),
    (HuberRegressor(alpha=ALPHA), huber),
    (LinearSVR(C=C, epsilon=0.2, intercept_scaling=3.0, random_state=0), linear_svr),
    (SVR(C=C, epsilon=0.2, kernel="poly", degree=2, gamma=1.0, coef0=1.0), svr),
]


def data_for(k):
    if k:
        X, y = make_classification(
            60,
            5,
            n_informative=4,
            n_redundant=0,
            n_classes=k,
            flip_y=0.2,
            weights=[0.6] + [0.4 / (k - 1)] * (k - 1),
            random_state=k,
        )
        return X, np.array(["b", "a", "c"])[y]
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 5))
    return X, X @ np.arange(5.0) + 2.0 + rng.standard_t(2, 60)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "formula", "k"),
    [*CLASSIFIERS, *((model, formula, 0) for model, formula in REGRESSORS)],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_the_objective_is_that_of_the_documentation(estimator, formula, k):
    X, y = data_for(k)
    if isinstance(estimator, (SVC, SVR)):
        # their own dual variables are the witness, which is as loose as the fit
        loose = {"tol": 0.1}
    else:
        loose = {} if isinstance(estimator, (QuantileRegressor, HuberRegressor)) else {"max_iter": 3}
    model = clone(estimator).set_params(**loose).fit(X, y, sample_weight=WEIGHTS)
    judged = certify(model, X, y, sample_weight=WEIGHTS, effort=2000)
    value, factor = formula(model, X, y, WEIGHTS)
    if formula is huber:
        # sigma H(r / sigma) is 2 / sigma times the Huber loss of width 1.35 sigma
        factor = 2.0 * WEIGHTS.sum() / model.scale_
    assert judged.certificate.primal == pytest.approx(value / factor, rel=1e-9)
    if formula is huber:
        # another fit has another scale, and so another objective
        return
    tight = {"tol": 1e-9, "max_iter": 200_000} if hasattr(estimator, "max_iter") else {}
    better = clone(estimator)
    better.set_params(**{name: tight[name] for name in tight if name in better.get_params()})
    best, _ = formula(better.fit(X, y, sample_weight=WEIGHTS), X, y, WEIGHTS)
    assert judged.certificate.lower <= best / factor * (1.0 + 1e-9)
    assert judged.certificate.lower >= min(value, best) / factor * (1.0 - 0.05)

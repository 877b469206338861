"""The objectives of skglm, celer, ReHLine and LIBLINEAR's own Python package, none of which has to be installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.errors import FenchelError
from fenchel.interop.labels import against_the_rest, encoded, places_of
from fenchel.interop.objective import Data, Objective, Scores, joint, penalty_words, positive, separate
from fenchel.interop.sklearn_models import (
    FREE,
    NONE,
    REGULARIZED,
    SMALL,
    Reader,
    lasso,
    per_sum,
    refuse,
    unconstrained,
)
from fenchel.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Quantile,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from fenchel.numerics.error_free import exact_sum
from fenchel.risks import CrammerSinger


def coordinate_lasso(model: Any, data: Data) -> Objective:
    """Lasso and elastic net of skglm and celer, without weights of features."""
    if vars(model).get("weights") is not None:
        raise refuse(model, "weights of features change the penalty")
    return lasso(model, data)


def sparse_logistic(model: Any, data: Data) -> Objective:
    """alpha Omega(w) + mean log-loss (skglm)"""
    classes, places = encoded(model, data)
    alpha, l1_ratio = positive("alpha", model.alpha), float(model.l1_ratio)
    scores = Scores.of(model.coef_, model.intercept_, free=model.fit_intercept)
    targets = against_the_rest(places, np.ones(len(classes)), data)
    end = FREE if model.fit_intercept else NONE
    words = f"alpha {penalty_words(l1_ratio)} + mean {SMALL['logistic']}, alpha={alpha:g}, {end}"
    return Objective(words, separate(data, scores, Logistic(), targets, [alpha] * len(targets), l1_ratio))


def plain_logistic(model: Any, data: Data) -> Objective:
    """|w|_1 + C sum log-loss, without an intercept (celer)"""
    unconstrained(model)
    return _without_intercept(model, data, Logistic(), 1.0)


def dual_svc(model: Any, data: Data) -> Objective:
    """|w|^2/2 + C sum hinge, without an intercept (skglm)"""
    return _without_intercept(model, data, Hinge(), 0.0)


def _without_intercept(model: Any, data: Data, loss: Loss, l1_ratio: float) -> Objective:
    classes, places = encoded(model, data)
    scores = Scores.of(model.coef_, model.intercept_, free=False)
    targets = against_the_rest(places, np.ones(len(classes)), data)
    words = f"{penalty_words(l1_ratio)} + C sum {SMALL[loss.name]}, C={model.C:g}, {NONE}"
    return Objective(words, separate(data, scores, loss, targets, per_sum(model.C, targets), l1_ratio))


def rehline(model: Any, data: Data) -> Objective:
    """|w|^2/2 + C sum of a named loss; the estimators with an intercept append a constant column."""
    name, given = model.loss["name"], model.loss
    losses: dict[tuple[str, ...], Any] = {
        ("hinge", "svm", "SVM"): Hinge,
        ("squared hinge", "squared svm", "squared SVM"): SquaredHinge,
        ("check", "quantile", "quantile regression", "QR"): lambda: Quantile(given["qt"]),
        ("SVR", "svr"): lambda: EpsilonInsensitive(given["epsilon"]),
        ("MAE", "mae", "mean absolute error"): Absolute,
        ("huber", "Huber"): lambda: Huber(given.get("tau", 1.0)),
    }
    loss: Loss | None = next((make() for names, make in losses.items() if name in names), None)
    if loss is None:
        raise refuse(model, f"the loss {name!r} has no counterpart here")
    if vars(model).get("constraint") or vars(model).get("class_weight") is not None:
        raise refuse(model, "constraints and class_weight are not read")
    if vars(model).get("multi_class_") == "ovo":
        raise refuse(model, "multi_class='ovo' is a fit for each pair of classes")
    if "classes_" in vars(model):
        classes, places = encoded(model, data)
        targets = against_the_rest(places, np.ones(len(classes)), data)
    else:
        targets = data.targets()
    has_intercept = bool(vars(model).get("fit_intercept", False))
    bias = float(model.intercept_scaling) if has_intercept else None
    intercept = model.intercept_ if has_intercept else 0.0
    scores = Scores.of(model.coef_, intercept, free=False, bias=bias)
    words = f"|w|²/2 + C sum {name}, C={model.C:g}, {REGULARIZED if has_intercept else NONE}"
    return Objective(words, separate(data, scores, loss, targets, per_sum(model.C, targets), 0.0))


#: ``-s`` of LIBLINEAR: the loss, and the share of L1
SOLVERS = {
    0: ("logistic", Logistic(), 0.0),
    1: ("squared_hinge", SquaredHinge(), 0.0),
    2: ("squared_hinge", SquaredHinge(), 0.0),
    3: ("hinge", Hinge(), 0.0),
    5: ("squared_hinge", SquaredHinge(), 1.0),
    6: ("logistic", Logistic(), 1.0),
    7: ("logistic", Logistic(), 0.0),
}


def liblinear(model: Any, data: Data) -> Objective:
    """A model of the package ``liblinear-official``, as ``train`` returns it; -1 for no bias."""
    param, classes = model.param, model.nr_class
    if not model.is_regression_model() and param.solver_type not in (4, *SOLVERS):
        raise FenchelError(f"LIBLINEAR's -s {param.solver_type} has no counterpart here")
    bias = float(model.bias) if model.bias >= 0 else None
    features, X = int(model.nr_feature), data.X
    if X.shape[1] != features:
        raise FenchelError(f"X has {X.shape[1]} features, the model {features}: pass the X of its training")
    one = classes == 2 and param.solver_type != 4
    outputs, columns = 1 if one or model.is_regression_model() else classes, features + (bias is not None)
    found = np.array(model.w[: columns * outputs]).reshape(columns, outputs).T
    intercept = found[:, features] * bias if bias else 0.0
    # -R leaves the bias out of the regularizer
    free = bool(bias) and not param.regularize_bias
    scores = Scores.of(found[:, :features], intercept, free=free, bias=None if free else bias)
    words = f"-s {param.solver_type}, C={param.C:g}, {FREE if free else REGULARIZED if bias else NONE}"
    if model.is_regression_model():
        loss = EpsilonInsensitive(param.p) if param.solver_type == 13 else SquaredEpsilonInsensitive(param.p)
        targets = data.targets()
        return Objective(words, separate(data, scores, loss, targets, per_sum(param.C, targets), 0.0))
    labels = list(model.get_labels())
    places = places_of(data.y, labels, "in the model of LIBLINEAR")
    if param.nr_weight and (not (one or param.solver_type == 4) or np.all(data.weights == data.weights[0])):
        # the pointers of param dangle: train() frees its options, -wi among them, when it returns
        raise FenchelError(
            "a model of LIBLINEAR does not keep its class weights (-wi): with two classes or -s 4 pass them as "
            "sample_weight; of several one-vs-rest problems write each as a Problem"
        )
    if param.solver_type == 4:
        lam = 1.0 / (positive("C", param.C) * exact_sum(data.weights))
        return Objective(words, joint(data, scores, CrammerSinger(places, classes, data.weights), lam, 0.0))
    _, margin_loss, l1_ratio = SOLVERS[param.solver_type]
    # of two labels the first is the positive one
    targets = against_the_rest(1 - places if one else places, np.ones(classes), data)
    return Objective(words, separate(data, scores, margin_loss, targets, per_sum(param.C, targets), l1_ratio))


PEERS: dict[str, Reader] = {
    **{f"{package}.{name}": coordinate_lasso for package in ("skglm", "celer") for name in ("Lasso", "ElasticNet")},
    **{f"celer.{name}": coordinate_lasso for name in ("LassoCV", "ElasticNetCV")},
    **{f"rehline.{name}": rehline for name in ("plqERM_Ridge", "plq_Ridge_Classifier", "plq_Ridge_Regressor")},
    "celer.LogisticRegression": plain_logistic,
    "liblinear.model": liblinear,
    "skglm.LinearSVC": dual_svc,
    "skglm.SparseLogisticRegression": sparse_logistic,
}

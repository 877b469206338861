"""The objectives of scikit-learn's linear models and kernel machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from fenchel.arrays import Array, Floats, MatrixLike
from fenchel.errors import FenchelError
from fenchel.interop.labels import against_the_rest, by_class, class_weights, encoded
from fenchel.interop.objective import (
    Data,
    Objective,
    Part,
    Scores,
    check_count,
    joint,
    penalty_words,
    positive,
    separate,
)
from fenchel.kernels import GramDesign, GramNorm
from fenchel.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from fenchel.numerics.error_free import exact_sum
from fenchel.problem import Model, Problem, Witness
from fenchel.risks import CrammerSinger, MeanRisk, Multinomial

Reader = Callable[[Any, Data], Objective]

FREE, REGULARIZED, NONE = "intercept not regularized", "intercept regularized", "no intercept"
SMALL = {"hinge": "max(0, 1 - ys)", "squared_hinge": "max(0, 1 - ys)²", "logistic": "log(1 + exp(-ys))"}


def refuse(model: Any, why: str) -> FenchelError:
    """An error that names the estimator."""
    return FenchelError(f"{type(model).__name__} can't be judged: {why}")


def unconstrained(model: Any) -> None:
    """Refuse weights with a sign."""
    if vars(model).get("positive"):
        raise refuse(model, "positive=True constrains the weights")


def tuned(model: Any, name: str) -> float:
    """A parameter, or what cross-validation chose for it."""
    chosen = vars(model).get(f"{name}_", vars(model).get(name))
    values = np.unique(np.asarray(chosen, dtype=np.float64))
    if len(values) != 1:
        raise refuse(model, f"its problems have different values of {name}")
    return float(values[0])


def per_sum(C: float, targets: list[tuple[Array, Floats]]) -> list[float]:
    """lambda of |w|^2/2 + C sum"""
    return [1.0 / (positive("C", C) * exact_sum(weights)) for _, weights in targets]


def linear_svc(model: Any, data: Data) -> Objective:
    """LIBLINEAR: the intercept is the weight of a constant column."""
    classes, places = encoded(model, data)
    factors = class_weights(model, classes, data, weighted=True)
    bias = float(model.intercept_scaling) if model.fit_intercept else None
    scores = Scores.of(model.coef_, model.intercept_, free=False, bias=bias)
    end = REGULARIZED if model.fit_intercept else NONE
    if model.multi_class == "crammer_singer":
        if len(classes) == 2:
            # it keeps the difference of the two rows, which are opposite at the optimum
            scores = replace(scores, coef=_opposite(scores.coef), intercept=_opposite(scores.intercept))
        weights = data.weights * factors[places]
        lam = 1.0 / (positive("C", model.C) * exact_sum(weights))
        risk = CrammerSinger(places, len(classes), weights)
        words = f"|W|²/2 + C sum max(0, 1 + max s_k - s_y), C={model.C:g}, {end}"
        return Objective(words, joint(data, scores, risk, lam, 0.0))
    loss = {"hinge": Hinge(), "squared_hinge": SquaredHinge()}[model.loss]
    l1_ratio = 1.0 if model.penalty == "l1" else 0.0
    targets = against_the_rest(places, factors, data)
    words = f"{penalty_words(l1_ratio)} + C sum {SMALL[model.loss]}, C={model.C:g}, {end}"
    return Objective(words, separate(data, scores, loss, targets, per_sum(model.C, targets), l1_ratio))


def _opposite(difference: Floats) -> Floats:
    """Two rows with this difference and the least norm."""
    return np.concatenate([-0.5 * difference, 0.5 * difference])


def logistic_regression(model: Any, data: Data) -> Objective:
    """Several classes are one multinomial problem, except with the solver liblinear."""
    classes, places = encoded(model, data)
    factors = class_weights(model, classes, data, weighted=True)
    if vars(model).get("refit") is False:
        raise refuse(model, "refit=False averages the models of the folds")
    # of scikit-learn 1.7
    if (
        vars(model).get("multi_class") == ("multinomial" if len(classes) == 2 else "ovr")
        and model.solver != "liblinear"
    ):
        raise refuse(model, f"multi_class={model.multi_class!r} of {len(classes)} classes is another objective")
    C, l1_ratio = tuned(model, "C"), _l1_ratio(model)
    liblinear = model.solver == "liblinear"
    bias = float(model.intercept_scaling) if liblinear and model.fit_intercept else None
    scores = Scores.of(model.coef_, model.intercept_, free=model.fit_intercept and not liblinear, bias=bias)
    end = NONE if not model.fit_intercept else REGULARIZED if liblinear else FREE
    if len(classes) > 2 and not liblinear:
        weights = data.weights * factors[places]
        lam = 1.0 / (positive("C", C) * exact_sum(weights))
        words = f"{penalty_words(l1_ratio).replace('w', 'W')} + C sum multinomial log-loss, C={C:g}, {end}"
        return Objective(words, joint(data, scores, Multinomial(places, len(classes), weights), lam, l1_ratio))
    targets = against_the_rest(places, factors, data)
    words = f"{penalty_words(l1_ratio)} + C sum {SMALL['logistic']}, C={C:g}, {end}"
    return Objective(words, separate(data, scores, Logistic(), targets, per_sum(C, targets), l1_ratio))


def _l1_ratio(model: Any) -> float:
    """``penalty`` where it is given, and else ``l1_ratio``, which replaces it."""
    penalty = vars(model).get("penalty", "deprecated")
    if penalty is None or penalty == "none":
        raise refuse(model, "without a penalty no gap can be proved")
    if penalty in ("l1", "l2"):
        return 1.0 if penalty == "l1" else 0.0
    known = vars(model).get("l1_ratio_", vars(model).get("l1_ratio"))
    return 0.0 if all(each is None for each in np.ravel(known)) else tuned(model, "l1_ratio")


def ridge(model: Any, data: Data) -> Objective:
    """One problem for each target."""
    unconstrained(model)
    scores = Scores.of(model.coef_, model.intercept_, free=model.fit_intercept)
    end = FREE if model.fit_intercept else NONE
    return _ridge(model, data, scores, data.targets(), end)


def ridge_classifier(model: Any, data: Data) -> Objective:
    """Ridge regression of labels +-1."""
    classes, places = encoded(model, data)
    scores = Scores.of(model.coef_, model.intercept_, free=model.fit_intercept)
    targets = by_class(places, class_weights(model, classes, data), data)
    return _ridge(model, data, scores, targets, FREE if model.fit_intercept else NONE)


def _ridge(model: Any, data: Data, scores: Scores, targets: list[tuple[Array, Floats]], end: str) -> Objective:
    alphas = np.broadcast_to(np.asarray(vars(model).get("alpha_", vars(model).get("alpha")), float), len(targets))
    lams = [positive("alpha", alpha) / exact_sum(a) for alpha, (_, a) in zip(alphas, targets, strict=True)]
    words = f"alpha |w|²/2 + ½ sum (s - y)², alpha={', '.join(f'{a:g}' for a in np.unique(alphas))}, {end}"
    return Objective(words, separate(data, scores, Squared(), targets, lams, 0.0))


def lasso(model: Any, data: Data) -> Objective:
    """Lasso and elastic net: weights are scaled to the sum n, so that the loss is a mean."""
    unconstrained(model)
    alpha = positive("alpha", tuned(model, "alpha"))
    l1_ratio = tuned(model, "l1_ratio") if vars(model).get("l1_ratio") is not None else 1.0
    scores = Scores.of(model.coef_, model.intercept_, free=model.fit_intercept)
    targets = data.targets()
    end = FREE if model.fit_intercept else NONE
    words = f"alpha {penalty_words(l1_ratio)} + mean ½ (s - y)², alpha={alpha:g}, {end}"
    return Objective(words, separate(data, scores, Squared(), targets, [alpha] * len(targets), l1_ratio))


def sgd(model: Any, data: Data) -> Objective:
    """The mean of weighted losses, whatever the sum of the weights."""
    if model.penalty is None:
        raise refuse(model, "without a penalty no gap can be proved")
    if model.early_stopping:
        raise refuse(model, "early_stopping=True holds out rows of its own choice")
    alpha, l1_ratio = positive("alpha", model.alpha), {"l2": 0.0, "l1": 1.0}.get(model.penalty, model.l1_ratio)
    losses: dict[str, Loss] = {
        "hinge": Hinge(),
        "squared_hinge": SquaredHinge(),
        "log_loss": Logistic(),
        "squared_error": Squared(),
        "huber": Huber(model.epsilon),
        "epsilon_insensitive": EpsilonInsensitive(model.epsilon),
        "squared_epsilon_insensitive": SquaredEpsilonInsensitive(model.epsilon),
    }
    if model.loss not in losses:
        raise refuse(model, f"the loss {model.loss!r} has no counterpart here")
    if "classes_" in vars(model):
        classes, places = encoded(model, data)
        targets = against_the_rest(places, class_weights(model, classes, data), data)
    else:
        targets = data.targets()
    lams = [alpha * len(data.y) / exact_sum(weights) for _, weights in targets]
    scores = Scores.of(model.coef_, model.intercept_, free=model.fit_intercept)
    end = FREE if model.fit_intercept else NONE
    words = f"alpha {penalty_words(l1_ratio)} + mean {model.loss}, alpha={alpha:g}, {end}"
    return Objective(words, separate(data, scores, losses[model.loss], targets, lams, l1_ratio))


def linear_svr(model: Any, data: Data) -> Objective:
    """LIBLINEAR: the intercept is the weight of a constant column."""
    kind = EpsilonInsensitive if model.loss == "epsilon_insensitive" else SquaredEpsilonInsensitive
    bias = float(model.intercept_scaling) if model.fit_intercept else None
    scores = Scores.of(model.coef_, model.intercept_, free=False, bias=bias)
    targets = data.targets()
    end = REGULARIZED if model.fit_intercept else NONE
    words = f"|w|²/2 + C sum {model.loss}, C={model.C:g}, epsilon={model.epsilon:g}, {end}"
    return Objective(words, separate(data, scores, kind(model.epsilon), targets, per_sum(model.C, targets), 0.0))


def quantile(model: Any, data: Data) -> Objective:
    """A linear program, written with the mean of the losses."""
    alpha = positive("alpha", model.alpha)
    scores = Scores.of(model.coef_, model.intercept_, free=model.fit_intercept)
    targets = data.targets()
    end = FREE if model.fit_intercept else NONE
    words = f"alpha |w|₁ + mean pinball loss, alpha={alpha:g}, quantile={model.quantile:g}, {end}"
    return Objective(words, separate(data, scores, Quantile(model.quantile), targets, [alpha], 1.0))


def huber(model: Any, data: Data) -> Objective:
    """At the fitted scale sigma, where sigma H(r / sigma) is 2 / sigma times the Huber loss of width epsilon sigma."""
    scale, alpha = float(model.scale_), positive("alpha", model.alpha)
    scores = Scores.of(model.coef_, model.intercept_, free=model.fit_intercept)
    targets = data.targets()
    lam = alpha * scale / exact_sum(data.weights)
    end = FREE if model.fit_intercept else NONE
    words = f"alpha |w|² + sum of Huber losses at the fitted scale {scale:g}, itself not judged, alpha={alpha:g}, {end}"
    return Objective(words, separate(data, scores, Huber(model.epsilon * scale), targets, [lam], 0.0))


def kernel_machine(model: Any, data: Data) -> Objective:
    """SVC of two classes and SVR, with the dual variables that the model stores as witness."""
    if "classes_" in vars(model):
        classes, places = encoded(model, data)
        if len(classes) != 2:
            raise refuse(model, f"{len(classes)} classes are {len(classes) * (len(classes) - 1) // 2} fits of two each")
        ((labels, weights),) = by_class(places, class_weights(model, classes, data), data)
        loss: Loss = Hinge()
        words = f"|w|²/2 + C sum {SMALL['hinge']}"
    else:
        targets = data.targets()
        check_count(targets, 1)
        labels, weights = targets[0]
        loss, words = EpsilonInsensitive(model.epsilon), f"|w|²/2 + C sum max(0, |s - y| - {model.epsilon:g})"
    lam = per_sum(model.C, [(labels, weights)])[0]
    coefficients = np.zeros(len(labels))
    dual = model.dual_coef_
    # LIBSVM removes examples without weight before it numbers the others; of a given kernel scikit-learn's predictions
    # take these numbers for columns of all examples
    numbered = np.arange(len(labels)) if model.kernel == "precomputed" else np.flatnonzero(data.weights > 0.0)
    coefficients[numbered[model.support_]] = np.ravel(dual.toarray() if sp.issparse(dual) else dual)
    # of a sigmoid kernel, say, the problem is not convex, and no dual point bounds it
    design = GramDesign(_gram(model, data.X)).definite()
    problem = Problem(design, MeanRisk(loss, labels, weights), lam, GramNorm(design), intercept=True)
    part = Part(problem, Model(coefficients, float(model.intercept_[0])), Witness(lam * coefficients))
    return Objective(f"{words}, C={model.C:g}, kernel {model.kernel!r}, {FREE}", [part])


def _gram(model: Any, X: MatrixLike) -> Floats:
    if model.kernel == "precomputed":
        return np.asarray(X, dtype=np.float64)
    if callable(model.kernel):
        return np.asarray(model.kernel(X, X), dtype=np.float64)
    settings = {"gamma": model._gamma, "degree": model.degree, "coef0": model.coef0}
    return np.asarray(pairwise_kernels(X, metric=model.kernel, filter_params=True, **settings), dtype=np.float64)


SKLEARN: dict[str, Reader] = {
    **{f"sklearn.{name}": ridge for name in ("Ridge", "RidgeCV")},
    **{f"sklearn.{name}": ridge_classifier for name in ("RidgeClassifier", "RidgeClassifierCV")},
    **{f"sklearn.{name}": lasso for name in ("Lasso", "LassoCV", "ElasticNet", "ElasticNetCV")},
    **{f"sklearn.{name}": sgd for name in ("SGDClassifier", "SGDRegressor")},
    **{f"sklearn.{name}": logistic_regression for name in ("LogisticRegression", "LogisticRegressionCV")},
    **{f"sklearn.{name}": kernel_machine for name in ("SVC", "SVR")},
    "sklearn.HuberRegressor": huber,
    "sklearn.LinearSVC": linear_svc,
    "sklearn.LinearSVR": linear_svr,
    "sklearn.QuantileRegressor": quantile,
}

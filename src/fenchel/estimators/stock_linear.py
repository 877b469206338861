"""Fitted linear models as estimators of scikit-learn, which predict the same without this package.

A stock estimator is chosen for its predictions, not for its training: a classifier with probabilities becomes a
``LogisticRegression`` (an ``SGDClassifier`` one-vs-rest, whose probabilities are scaled alike), any other a
``LinearSVC``; a regressor becomes a ``LinearRegression``, or a ``PoissonRegressor``, whose predictions have its link.
scikit-learn is imported here on first use, since most fits are never converted.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from fenchel.arrays import Array
from fenchel.errors import FenchelError
from fenchel.losses import Loss

#: parameters that mean the same in scikit-learn's estimators
_SHARED = ("C", "class_weight", "fit_intercept", "random_state")
#: of a fit of scikit-learn that only initializes private attributes
_LABELS = (0, 1)


def stock_classifier(model: Any) -> Any:
    """The stock estimator of a linear classifier, by its loss and the form of its classes."""
    loss, form = model._loss().name, model._fitted_form()
    several = len(model.classes_) > 2
    if several and form == "ovo":
        return _one_vs_one(model)
    if loss != "logistic":
        return with_scores(model, model.coef_, model.intercept_)
    return _with_attributes(
        model, _one_vs_rest_logistic(model) if several and form == "ovr" else _logistic(model), classes=True
    )


def with_scores(model: Any, coef: Any, intercept: Any) -> Any:
    """A ``LinearSVC`` with these scores."""
    from sklearn.svm import LinearSVC

    loss = vars(model).get("loss")
    stock = LinearSVC(**_parameters(model, LinearSVC), **({"loss": loss} if loss in ("hinge", "squared_hinge") else {}))
    return _with_attributes(model, stock, classes=True, coef=coef, intercept=intercept)


def stock_regressor(model: Any) -> Any:
    """The stock estimator of a linear regression, by the link of its loss."""
    from sklearn.linear_model import LinearRegression, PoissonRegressor

    loss = model._loss()
    if loss.name == "poisson":
        if np.ndim(model.coef_) > 1:
            raise FenchelError(
                "scikit-learn's PoissonRegressor has one target, and this model has several: fit a model to each target"
            )
        # the fit sets the link, which is a private attribute
        stock = PoissonRegressor(fit_intercept=bool(model.fit_intercept)).fit(np.zeros((2, 1)), _LABELS)
        return _with_attributes(model, stock)
    if type(loss).prediction is not Loss.prediction:
        raise FenchelError(
            f"no regression of scikit-learn has the predictions of loss={loss.name!r}, which are not the scores X w + b"
        )
    return _with_attributes(model, LinearRegression(fit_intercept=bool(model.fit_intercept)))


def scores_as_regressor(model: Any) -> Any:
    """A ``LinearRegression`` whose predictions are the scores of a model with one weight vector."""
    from sklearn.linear_model import LinearRegression

    coef, intercept = np.ravel(model._weights()), float(np.ravel(model.intercept_)[0])
    return _with_attributes(model, LinearRegression(), coef=coef, intercept=intercept)


def namesake(model: Any, stock_class: type, *, classes: bool) -> Any:
    """The estimator of scikit-learn that a drop-in replaces, with the same parameters as far as this version has them.

    Values of parameters that are deprecated are omitted.
    """
    known = inspect.signature(stock_class).parameters
    given = {name: value for name, value in model.get_params(deep=False).items() if name in known}
    if given.get("penalty") == "deprecated":
        del given["penalty"]
    return _with_attributes(model, stock_class(**given), classes=classes)


def stock_multilabel(model: Any, *, probabilities: bool) -> Any:
    """A ``OneVsRestClassifier`` with an estimator of two classes for each label."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer
    from sklearn.svm import LinearSVC

    part: Any = LogisticRegression() if probabilities else LinearSVC()
    labels = len(model.classes_)
    intercept = np.broadcast_to(model.intercept_, labels)
    stock = OneVsRestClassifier(part)
    stock.estimators_ = [_two_classes(model, part, model.coef_[[k]], intercept[[k]]) for k in range(labels)]
    indicators = np.zeros((2, labels), dtype=np.int64)
    # one row of each kind, else it takes the labels for two classes
    indicators[1] = 1
    stock.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(indicators)
    stock.label_binarizer_.sparse_input_ = model.sparse_output_
    return named(model, stock)


def named(model: Any, stock: Any) -> Any:
    """The stock estimator with the features that the fit has seen."""
    fitted = vars(model)
    for name in ("n_features_in_", "feature_names_in_"):
        if name in fitted:
            setattr(stock, name, fitted[name])
    return stock


def _parameters(model: Any, stock_class: type) -> dict[str, Any]:
    """The parameters that both have; C is the one that was chosen, if it was."""
    known = inspect.signature(stock_class).parameters
    given = {name: value for name, value in model.get_params(deep=False).items() if name in _SHARED and name in known}
    chosen = vars(model).get("C_")
    return given if chosen is None else {**given, "C": float(chosen)}


def _logistic(model: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(**_parameters(model, LogisticRegression))


def _one_vs_rest_logistic(model: Any) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="log_loss", **_parameters(model, SGDClassifier))


def _one_vs_one(model: Any) -> Any:
    """The votes of pairs, which both count alike."""
    from sklearn.multiclass import OneVsOneClassifier
    from sklearn.svm import LinearSVC

    part = LinearSVC(**_parameters(model, LinearSVC))
    stock = OneVsOneClassifier(part)
    stock.classes_ = model.classes_.copy()
    intercept, pairs = model.intercept_, range(len(model.intercept_))
    stock.estimators_ = tuple(_two_classes(model, part, model.coef_[[k]], intercept[[k]]) for k in pairs)
    stock.pairwise_indices_ = None
    return named(model, stock)


def _two_classes(model: Any, stock: Any, coef: Any, intercept: Array) -> Any:
    """A part of a model of several problems: a stock estimator of the classes 0 and 1."""
    from sklearn.base import clone

    part = clone(stock)
    part.classes_, part.n_features_in_ = np.array(_LABELS), model.n_features_in_
    part.coef_, part.intercept_, part.n_iter_ = coef, intercept, 0
    return part


def _with_attributes(model: Any, stock: Any, *, classes: bool = False, coef: Any = None, intercept: Any = None) -> Any:
    """The stock estimator with copies of the fitted attributes."""
    stock.coef_ = model.coef_.copy() if coef is None else coef
    stock.intercept_ = np.copy(model.intercept_)[()] if intercept is None else intercept
    stock.n_iter_ = vars(model).get("n_iter_", 0)
    if classes:
        stock.classes_ = model.classes_.copy()
    return named(model, stock)

"""The measure of a fitted classifier as a function of its threshold, on any data: what pictures of thresholds show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from fenchel.arrays import Array, Floats
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.labels import one_vs_rest, unknown_labels
from fenchel.estimators.last_step import last_step
from fenchel.estimators.linear_model import LinearModel
from fenchel.estimators.measure_choice import MeasureChoice
from fenchel.estimators.measures import MeasureClassifier
from fenchel.estimators.multilabel import MultilabelClassifier
from fenchel.estimators.ordinal import OrdinalClassifier
from fenchel.estimators.thresholds import cut_losses, loss_above

#: measures whose loss is one minus the measure, with the words for them
_SHARES = {
    "f1": "F1",
    "fbeta": "F-beta",
    "accuracy": "accuracy",
    "roc_auc": "true positive rate - false positive rate",
    "precision_at_k": "precision among the first k",
    "recall_at_k": "recall among the first k",
    # at the break-even point precision, recall and F1 are equal
    "prbep": "F1",
    "q": "Q-measure",
}
#: measures of quantification, which are losses
_LOSSES = {
    "ae": "absolute error of the prevalence",
    "rae": "relative absolute error of the prevalence",
    "kld": "Kullback-Leibler divergence of the prevalence",
    "nkld": "normalized Kullback-Leibler divergence of the prevalence",
}


class ThresholdCurve(NamedTuple):
    """A measure as a function of the threshold of one score, and the threshold that the model uses."""

    label: str
    #: rising
    thresholds: Floats
    #: NaN where the measure allows no such prediction
    values: Floats
    chosen: float
    value: float


class ThresholdCurves(NamedTuple):
    """The curves of all scores with a threshold, and the measure in words."""

    curves: list[ThresholdCurve]
    measure: str


def threshold_curves(model: Any, X: Any, y: Any, measure: Any = None) -> ThresholdCurves:
    """The measure of a fitted classifier on these rows for every threshold of its scores.

    Parameters
    ----------
    model : fitted classifier
        A MeasureClassifier, MultilabelClassifier or OrdinalClassifier, or any classifier of two classes with a
        ``decision_function``.
    X, y : array-like
        Rows and their labels.
    measure : str or callable, default=None
        The measure, as in MeasureClassifier; None is that of the model, and "f1" for a model without one.

    Returns
    -------
    ThresholdCurves
        A curve for each threshold of the model.
    """
    check_is_fitted(model)
    model, X = last_step(model, X)
    if isinstance(model, OrdinalClassifier):
        return _ordered(model, X, y, measure)
    if isinstance(model, MultilabelClassifier):
        return _of_labels(model, X, y, measure)
    classes = np.asarray(vars(model).get("classes_", ()))
    if isinstance(model, MeasureClassifier):
        choice = model._choice() if measure is None else MeasureChoice(measure, model.beta, model.k, None)
        codes, scores = _codes(y, classes), _raw_scores(model, X)
        check_consistent_length(scores, codes)
        columns = list(range(len(classes))) if len(classes) > 2 else [classes.tolist().index(model.pos_label_)]
        signs = np.stack([one_vs_rest(codes, k) for k in columns], axis=1)
        # micro averaging has one threshold for the scores of all classes
        pooled = len(columns) > 1 and model.average == "micro"
        labels = [str(classes[k]) for k in columns]
        return _curves(scores, signs, np.atleast_1d(model.thresholds_), labels, choice, pooled=pooled)
    if len(classes) != 2 or not hasattr(model, "decision_function"):
        raise FenchelError(
            f"{type(model).__name__} has no threshold to draw: thresholds are those of MeasureClassifier, "
            "MultilabelClassifier and OrdinalClassifier, and of classifiers of two classes"
        )
    choice = MeasureChoice("f1" if measure is None else measure, 1.0, None, None)
    scores = np.asarray(model.decision_function(X)).reshape(-1, 1)
    signs = one_vs_rest(_codes(y, classes), 1)[:, None]
    check_consistent_length(scores, signs)
    return _curves(scores, signs, np.zeros(1), [str(classes[1])], choice)


def curves_of_scores(
    y: Any, scores: Any, threshold: float, measure: Any = "f1", pos_label: Any = None
) -> ThresholdCurves:
    """The measure for every threshold of these scores of two classes; ``pos_label`` None is the second label."""
    labels, given = column_or_1d(y), column_or_1d(scores)
    check_consistent_length(labels, given)
    classes = np.unique(labels)
    if len(classes) != 2:
        raise FenchelError(f"y_true must hold two classes, got {len(classes)}; the labels come before the scores")
    if np.array_equal(np.unique(given), classes):
        raise FenchelError("scores must be numbers such as decision_function(X), got the labels themselves")
    own = given.astype(np.float64)
    positive = classes[1] if pos_label is None else pos_label
    if positive not in classes.tolist():
        raise FenchelError(f"pos_label must be one of the labels {classes.tolist()!r}, got {pos_label!r}")
    signs = np.where(labels == positive, 1.0, -1.0)[:, None]
    choice = MeasureChoice(measure, 1.0, None, None)
    return _curves(own[:, None], signs, np.array([float(threshold)]), [str(positive)], choice)


def _raw_scores(model: LinearModel, X: Any) -> Floats:
    """X w, without the intercepts, which are minus the thresholds."""
    found = as_design(model._rows(X)).scores(model._weights())
    return found if found.ndim == 2 else found[:, None]


def _codes(y: Any, classes: Array) -> Array:
    labels = column_or_1d(y)
    unknown = unknown_labels(labels, classes)
    if unknown:
        raise FenchelError(f"y holds labels that the model does not know: {unknown[:5]!r}")
    return np.searchsorted(classes, labels)


def _of_labels(model: MultilabelClassifier, X: Any, y: Any, measure: Any) -> ThresholdCurves:
    indicators = y.toarray() if sp.issparse(y) else np.asarray(y)
    if indicators.ndim != 2 or indicators.shape[1] != len(model.classes_):
        raise FenchelError(
            f"y must have a column for each of the {len(model.classes_)} labels, got shape {indicators.shape}"
        )
    choice = model._choice() if measure is None else MeasureChoice(measure, model.beta, None, None)
    scores = model.decision_function(X)
    check_consistent_length(scores, indicators)
    signs = np.where(indicators != 0, 1.0, -1.0)
    shown = np.flatnonzero(model.varying_)
    labels = [str(model.classes_[k]) for k in shown]
    return _curves(scores[:, shown], signs[:, shown], np.zeros(len(shown)), labels, choice)


def _ordered(model: OrdinalClassifier, X: Any, y: Any, measure: Any) -> ThresholdCurves:
    """The share of examples on the wrong side of each threshold between two classes."""
    if measure is not None:
        raise FenchelError("measure is not for OrdinalClassifier: its thresholds minimize the absolute error")
    order = np.asarray(model.order_)
    places = np.argsort(order, kind="stable")
    codes, scores = places[_codes(y, order[places])], _raw_scores(model, X)[:, 0]
    check_consistent_length(scores, codes)
    signs, names = np.empty((len(codes), len(order) - 1)), []
    for k in range(len(order) - 1):
        signs[:, k] = np.where(codes > k, 1.0, -1.0)
        names.append(f"{order[k]} | {order[k + 1]}")
    repeated = np.repeat(scores[:, None], len(names), axis=1)
    found = _curves(repeated, signs, model.thresholds_, names, MeasureChoice("accuracy", 1.0, None, None)).curves
    wrong = [curve._replace(values=1.0 - curve.values, value=1.0 - curve.value) for curve in found]
    return ThresholdCurves(wrong, "share of examples on the wrong side")


def _curves(
    scores: Floats, signs: Floats, chosen: Floats, labels: Sequence[str], choice: MeasureChoice, *, pooled: bool = False
) -> ThresholdCurves:
    choice.check()
    name = choice.name or ""
    losses = name in _LOSSES or not name
    words = "loss of the custom measure" if not name else {**_SHARES, **_LOSSES}[name]
    words += f" (beta = {choice.beta:g})" if name == "fbeta" else f" (k = {choice.k})" if choice.counts_to_k else ""
    if pooled:
        scores, signs, labels, chosen = scores.reshape(-1, 1), signs.reshape(-1, 1), ["all classes"], chosen[:1]
    found = []
    for k, label in enumerate(labels):
        if np.all(signs[:, k] == signs[0, k]):
            # a class that all of these rows have, or none, has no measure
            continue
        # the break-even point is a single cut
        risk = (replace(choice, measure="f1") if name == "prbep" else choice).risk(signs[:, k], None)
        cuts = cut_losses(scores[:, k], risk)
        # the ends predict all or none, wherever the threshold is beyond the scores
        thresholds = np.clip(cuts.thresholds(), cuts.scores[-1], cuts.scores[0])[::-1]
        at = loss_above(scores[:, k], risk, float(chosen[k]))
        values, value = (one if losses else 1.0 - one for one in (cuts.losses[::-1], at))
        values = np.where(np.isfinite(values), values, np.nan)
        found.append(ThresholdCurve(label, thresholds, values, float(chosen[k]), float(value)))
    if not found:
        raise FenchelError("y is constant on these rows, so there is no measure of a threshold")
    return ThresholdCurves(found, words)

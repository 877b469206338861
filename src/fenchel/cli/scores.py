"""How good predictions are: the scores that people know, by the task."""

from __future__ import annotations

from typing import Any

import numpy as np


def scores_of(estimator: Any, X: Any, y: Any, qid: Any = None) -> dict[str, float]:
    """The scores of a fitted estimator on labelled rows, by name, the most usual one first."""
    predicted = estimator.predict(X)
    if type(estimator).__name__ == "LinearRanker":
        return _of_ranking(estimator, y, predicted, qid)
    if not hasattr(estimator, "classes_"):
        return _of_numbers(estimator, y, predicted)
    return _of_classes(estimator, X, y, predicted)


def main_score(estimator: Any, X: Any, y: Any) -> tuple[str, float]:
    """The name and the value of the one score that tables show."""
    if hasattr(estimator, "classes_"):
        return "accuracy", float(np.mean(estimator.predict(X) == y))
    from sklearn.metrics import r2_score

    return "R²", float(r2_score(y, estimator.predict(X)))


def _of_numbers(estimator: Any, y: Any, predicted: Any) -> dict[str, float]:
    from sklearn import metrics

    found = {
        "R²": float(metrics.r2_score(y, predicted)) if len(y) > 1 else float("nan"),
        "mean absolute error": float(np.mean(np.abs(y - predicted))),
        "root mean squared error": float(np.sqrt(np.mean((y - predicted) ** 2))),
    }
    loss = estimator.loss
    if getattr(loss, "name", loss) == "quantile":
        quantile = 0.5 if isinstance(loss, str) else loss.quantile
        found["pinball loss"] = float(metrics.mean_pinball_loss(y, predicted, alpha=quantile))
        found["share of labels below"] = float(np.mean(y <= predicted))
    return found


def _of_classes(estimator: Any, X: Any, y: Any, predicted: Any) -> dict[str, float]:
    from sklearn import metrics

    classes = estimator.classes_
    found = {"accuracy": float(np.mean(y == predicted))}
    if len(classes) == 2 and len(np.unique(y)) == 2 and np.isin(y, classes).all():
        positive = getattr(estimator, "pos_label_", classes[1])
        for name in ("precision", "recall", "F1"):
            score = getattr(metrics, f"{name.lower()}_score")
            found[f"{name} of {positive!s}"] = float(score(y, predicted, pos_label=positive, zero_division=0.0))
        found["ROC area"] = float(metrics.roc_auc_score(y == classes[1], estimator.decision_function(X)))
    elif len(classes) > 2:
        found["macro F1"] = float(metrics.f1_score(y, predicted, average="macro", zero_division=0.0))
    if hasattr(estimator, "predict_proba") and np.isin(y, classes).all():
        found["log loss"] = float(metrics.log_loss(y, estimator.predict_proba(X), labels=classes))
    return found


def _of_ranking(estimator: Any, y: Any, predicted: Any, qid: Any) -> dict[str, float]:
    from fenchel.metrics import mean_average_precision, mean_reciprocal_rank, ndcg_score

    found = {}
    if np.min(y) >= 0:
        found["NDCG@10"] = float(ndcg_score(y, predicted, qid, gain=estimator.gain))
    found["MAP"] = float(mean_average_precision(y, predicted, qid))
    found["MRR"] = float(mean_reciprocal_rank(y, predicted, qid))
    return found

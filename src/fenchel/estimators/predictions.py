"""Labels from the scores of any loss, and probabilities from those of the logistic loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, softmax

from fenchel.arrays import Array, Floats, MatrixLike
from fenchel.estimators.sklearn_bases import ClassifierMixin, available_unless

#: why there is no predict_proba, whatever the parameters
NO_PROBABILITIES = (
    "predict_proba is not available: scores are not probabilities; calibrate them (CalibratedClassifierCV)"
)


def has_no_probabilities(estimator: Any) -> str | None:
    """Why an estimator with these settings has no ``predict_proba``; None if it has."""
    if estimator._loss().name != "logistic":
        if not estimator._may_be_logistic():
            return NO_PROBABILITIES
        return "predict_proba requires loss='logistic': scores of other losses are not probabilities"
    if estimator.multi_class == "ovo" and len(getattr(estimator, "classes_", ())) != 2:
        return "predict_proba is not available with multi_class='ovo': votes of pairs are not probabilities"
    return None


class ScoreClassifier(ClassifierMixin):
    """The labels of a classifier's scores."""

    _scores: Any
    classes_: Array

    def decision_function(self, X: MatrixLike) -> Floats:
        """Signed scores: (n,) for two classes, else (n, classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores

    def predict(self, X: MatrixLike) -> Array:
        """The label of each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


class Probabilities(ScoreClassifier):
    """The probabilities of a classifier whose loss is the logistic one."""

    _fitted_form: Any
    get_params: Any

    def _may_be_logistic(self) -> bool:
        """Whether another value of ``loss`` has probabilities."""
        return "loss" in self.get_params(deep=False)

    @available_unless(has_no_probabilities)
    def predict_proba(self, X: MatrixLike) -> Floats:
        """Probabilities of the classes (loss="logistic"): the softmax of the scores if ``multi_class_`` is
        "multinomial"; one-vs-rest ones are scaled to add up to one.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if self._fitted_form() == "multinomial":
            return softmax(scores, axis=1)
        probabilities = expit(scores)
        total = probabilities.sum(axis=1, keepdims=True)
        uniform = np.full_like(probabilities, 1.0 / probabilities.shape[1])
        return np.divide(probabilities, total, out=uniform, where=total > 0)

    @available_unless(has_no_probabilities)
    def predict_log_proba(self, X: MatrixLike) -> Floats:
        """Logarithms of ``predict_proba``."""
        scores = self.decision_function(X)
        if scores.ndim == 2 and self._fitted_form() == "multinomial":
            return log_softmax(scores, axis=1)
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

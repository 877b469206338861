"""The last step of a pipeline or of the best model of a search, with the rows that it sees."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fenchel.arrays import MatrixLike


def last_step(model: Any, X: MatrixLike) -> tuple[Any, Any]:
    """The estimator itself, and X as the steps before it transform it."""
    if "best_estimator_" in vars(model):
        return last_step(model.best_estimator_, X)
    if not isinstance(model, Pipeline):
        return model, X
    check_is_fitted(model)
    return last_step(model[-1], model[:-1].transform(X) if len(model) > 1 else X)

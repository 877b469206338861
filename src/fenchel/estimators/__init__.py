"""Estimators: the only room that knows scikit-learn, labels and C."""

from fenchel.estimators.classifier import LinearClassifier
from fenchel.estimators.regressor import LinearRegressor

__all__ = ["LinearClassifier", "LinearRegressor"]

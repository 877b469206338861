"""Estimators: the only room that knows scikit-learn, labels and C."""

from fenchel.estimators.classifier import LinearClassifier
from fenchel.estimators.kernel import KernelClassifier
from fenchel.estimators.kernel_regressor import KernelRegressor
from fenchel.estimators.logistic_regression import LogisticRegression
from fenchel.estimators.measures import MeasureClassifier
from fenchel.estimators.online import OnlineClassifier
from fenchel.estimators.ordinal import OrdinalClassifier
from fenchel.estimators.path import RegularizationPath, regularization_path
from fenchel.estimators.regressor import LinearRegressor
from fenchel.estimators.selection import LinearClassifierCV, LinearRegressorCV
from fenchel.estimators.support_vector import LinearSVC, LinearSVR
from fenchel.estimators.winnow import WinnowClassifier

__all__ = [
    "KernelClassifier",
    "KernelRegressor",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "MeasureClassifier",
    "OnlineClassifier",
    "OrdinalClassifier",
    "RegularizationPath",
    "WinnowClassifier",
    "regularization_path",
]

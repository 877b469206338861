"""Estimators: the only room that knows scikit-learn, labels and C."""

from fenchel.estimators.classifier import LinearClassifier
from fenchel.estimators.cv import LinearClassifierCV, LinearRegressorCV
from fenchel.estimators.kernel_classifier import KernelClassifier
from fenchel.estimators.kernel_regressor import KernelRegressor
from fenchel.estimators.measures import MeasureClassifier
from fenchel.estimators.online import OnlineClassifier
from fenchel.estimators.ordinal import OrdinalClassifier
from fenchel.estimators.path import regularization_path
from fenchel.estimators.path_models import RegularizationPath
from fenchel.estimators.regressor import LinearRegressor
from fenchel.estimators.sklearn_compat.logistic import LogisticRegression
from fenchel.estimators.sklearn_compat.svm import LinearSVC, LinearSVR
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

# pickles and error messages name the public module, wherever a class lives inside it
for _name in __all__:
    globals()[_name].__module__ = __name__

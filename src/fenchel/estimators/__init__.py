"""Estimators: the only room that knows scikit-learn, labels and C.

Each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fenchel.loading import on_first_use as _on_first_use

if TYPE_CHECKING:
    from fenchel.estimators.classifier import LinearClassifier as LinearClassifier
    from fenchel.estimators.cv import LinearClassifierCV as LinearClassifierCV
    from fenchel.estimators.cv import LinearRegressorCV as LinearRegressorCV
    from fenchel.estimators.kernel_classifier import KernelClassifier as KernelClassifier
    from fenchel.estimators.kernel_regressor import KernelRegressor as KernelRegressor
    from fenchel.estimators.measures import MeasureClassifier as MeasureClassifier
    from fenchel.estimators.online import OnlineClassifier as OnlineClassifier
    from fenchel.estimators.ordinal import OrdinalClassifier as OrdinalClassifier
    from fenchel.estimators.path import regularization_path as regularization_path
    from fenchel.estimators.path_models import RegularizationPath as RegularizationPath
    from fenchel.estimators.ranker import LinearRanker as LinearRanker
    from fenchel.estimators.regressor import LinearRegressor as LinearRegressor
    from fenchel.estimators.sklearn_compat.logistic import LogisticRegression as LogisticRegression
    from fenchel.estimators.sklearn_compat.svm import LinearSVC as LinearSVC
    from fenchel.estimators.sklearn_compat.svm import LinearSVR as LinearSVR
    from fenchel.estimators.winnow import WinnowClassifier as WinnowClassifier

#: the public names of each file
_NAMES = {
    "classifier": ("LinearClassifier",),
    "cv": ("LinearClassifierCV", "LinearRegressorCV"),
    "kernel_classifier": ("KernelClassifier",),
    "kernel_regressor": ("KernelRegressor",),
    "measures": ("MeasureClassifier",),
    "online": ("OnlineClassifier",),
    "ordinal": ("OrdinalClassifier",),
    "path": ("regularization_path",),
    "path_models": ("RegularizationPath",),
    "ranker": ("LinearRanker",),
    "regressor": ("LinearRegressor",),
    "sklearn_compat.logistic": ("LogisticRegression",),
    "sklearn_compat.svm": ("LinearSVC", "LinearSVR"),
    "winnow": ("WinnowClassifier",),
}
__all__ = sorted(name for names in _NAMES.values() for name in names)

if not TYPE_CHECKING:
    # hidden from type checkers, for which it would make every name valid
    __getattr__ = _on_first_use(
        globals(), {name: f"fenchel.estimators.{file}" for file, names in _NAMES.items() for name in names}
    )


def __dir__() -> list[str]:
    return sorted(__all__)

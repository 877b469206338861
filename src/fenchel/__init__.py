"""Linear models that come with a proof: every fit returns a duality gap that bounds how far it is from optimal.

The top level holds the estimators, :class:`Problem` with :func:`solve` and :func:`certify`, what they return, and the
plots.  Losses, regularizers, risks, designs, kernels and solvers are in the submodules of these names, together with
their base classes.  Everything is imported on first use, so that ``import fenchel`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # what type checkers and editors see; a test holds it equal to _HOMES
    from fenchel import designs as designs
    from fenchel import io as io
    from fenchel import kernels as kernels
    from fenchel import losses as losses
    from fenchel import metrics as metrics
    from fenchel import plotting as plotting
    from fenchel import regularizers as regularizers
    from fenchel import reporting as reporting
    from fenchel import risks as risks
    from fenchel import solvers as solvers
    from fenchel.certificate import Certificate as Certificate
    from fenchel.certificate import CertifiedPredictions as CertifiedPredictions
    from fenchel.certificate import ProvedShare as ProvedShare
    from fenchel.certificate import Screened as Screened
    from fenchel.errors import CacheWarning as CacheWarning
    from fenchel.errors import FenchelError as FenchelError
    from fenchel.errors import GapWarning as GapWarning
    from fenchel.estimators import KernelClassifier as KernelClassifier
    from fenchel.estimators import KernelRegressor as KernelRegressor
    from fenchel.estimators import LinearClassifier as LinearClassifier
    from fenchel.estimators import LinearClassifierCV as LinearClassifierCV
    from fenchel.estimators import LinearRanker as LinearRanker
    from fenchel.estimators import LinearRegressor as LinearRegressor
    from fenchel.estimators import LinearRegressorCV as LinearRegressorCV
    from fenchel.estimators import LinearSVC as LinearSVC
    from fenchel.estimators import LinearSVR as LinearSVR
    from fenchel.estimators import LogisticRegression as LogisticRegression
    from fenchel.estimators import MeasureClassifier as MeasureClassifier
    from fenchel.estimators import MultilabelClassifier as MultilabelClassifier
    from fenchel.estimators import OnlineClassifier as OnlineClassifier
    from fenchel.estimators import OrdinalClassifier as OrdinalClassifier
    from fenchel.estimators import RegularizationPath as RegularizationPath
    from fenchel.estimators import SequenceClassifier as SequenceClassifier
    from fenchel.estimators import WinnowClassifier as WinnowClassifier
    from fenchel.estimators import regularization_path as regularization_path
    from fenchel.interop import certify as certify
    from fenchel.plotting import plot_certificate as plot_certificate
    from fenchel.plotting import plot_coefficients as plot_coefficients
    from fenchel.plotting import plot_convergence as plot_convergence
    from fenchel.plotting import plot_path as plot_path
    from fenchel.plotting import plot_thresholds as plot_thresholds
    from fenchel.plotting import plot_transitions as plot_transitions
    from fenchel.problem import Model as Model
    from fenchel.problem import Problem as Problem
    from fenchel.problem import Witness as Witness
    from fenchel.solving.loop import solve as solve
    from fenchel.solving.solution import Progress as Progress
    from fenchel.solving.solution import Solution as Solution
    from fenchel.solving.solution import Status as Status
    from fenchel.solving.solution import TracePoint as TracePoint

__version__ = "0.2.0"

_NAMES = {
    "fenchel.certificate": ("Certificate", "CertifiedPredictions", "ProvedShare", "Screened"),
    "fenchel.errors": ("CacheWarning", "FenchelError", "GapWarning"),
    "fenchel.estimators": (
        "KernelClassifier",
        "KernelRegressor",
        "LinearClassifier",
        "LinearClassifierCV",
        "LinearRanker",
        "LinearRegressor",
        "LinearRegressorCV",
        "LinearSVC",
        "LinearSVR",
        "LogisticRegression",
        "MeasureClassifier",
        "MultilabelClassifier",
        "OnlineClassifier",
        "OrdinalClassifier",
        "RegularizationPath",
        "SequenceClassifier",
        "WinnowClassifier",
        "regularization_path",
    ),
    "fenchel.interop": ("certify",),
    "fenchel.plotting": (
        "plot_certificate",
        "plot_coefficients",
        "plot_convergence",
        "plot_path",
        "plot_thresholds",
        "plot_transitions",
    ),
    "fenchel.problem": ("Model", "Problem", "Witness"),
    "fenchel.solving.loop": ("solve",),
    "fenchel.solving.solution": ("Progress", "Solution", "Status", "TracePoint"),
    None: (
        "designs",
        "io",
        "kernels",
        "losses",
        "metrics",
        "plotting",
        "regularizers",
        "reporting",
        "risks",
        "solvers",
    ),
}
#: the module of each public name; None for a submodule
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [*sorted(_HOMES), "__version__"]

if not TYPE_CHECKING:
    # hidden from type checkers, for which it would make every name valid
    from fenchel.loading import on_first_use as _on_first_use

    __getattr__ = _on_first_use(globals(), _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Linear models that come with a proof: every fit returns a duality gap that bounds how far it is from optimal."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: where each public name lives; imported on first use, so that ``import fenchel`` costs nothing
_HOMES = {
    "AGM": "fenchel.solvers",
    "Absolute": "fenchel.losses",
    "AugmentedLagrangian": "fenchel.solvers",
    "Barrier": "fenchel.solvers",
    "BasisPursuit": "fenchel.solvers",
    "BlockCoordinate": "fenchel.solvers",
    "BreakEven": "fenchel.risks",
    "Bregman": "fenchel.solvers",
    "Bundle": "fenchel.solvers",
    "Certificate": "fenchel.certificate",
    "CrammerSinger": "fenchel.risks",
    "DualConjugateGradient": "fenchel.solvers",
    "DualCoordinate": "fenchel.solvers",
    "ElasticNet": "fenchel.regularizers",
    "Entropy": "fenchel.regularizers",
    "EpsilonInsensitive": "fenchel.losses",
    "Exponential": "fenchel.losses",
    "ErrorRate": "fenchel.risks",
    "F1": "fenchel.risks",
    "FBeta": "fenchel.risks",
    "FenchelError": "fenchel.errors",
    "FreeDirections": "fenchel.regularizers",
    "GapWarning": "fenchel.errors",
    "HardMargin": "fenchel.losses",
    "Hinge": "fenchel.losses",
    "Huber": "fenchel.losses",
    "HuberHinge": "fenchel.losses",
    "InteriorPoint": "fenchel.solvers",
    "Interpolation": "fenchel.losses",
    "KernelClassifier": "fenchel.estimators",
    "KernelRegressor": "fenchel.estimators",
    "L1": "fenchel.regularizers",
    "L2": "fenchel.regularizers",
    "LinearClassifier": "fenchel.estimators",
    "LinearClassifierCV": "fenchel.estimators",
    "LinearRegressor": "fenchel.estimators",
    "LinearRegressorCV": "fenchel.estimators",
    "LinearSVC": "fenchel.estimators",
    "LinearSVR": "fenchel.estimators",
    "Logistic": "fenchel.losses",
    "LogisticRegression": "fenchel.estimators",
    "MeanRisk": "fenchel.risks",
    "MeasureClassifier": "fenchel.estimators",
    "Model": "fenchel.problem",
    "MultilabelHinge": "fenchel.risks",
    "Multinomial": "fenchel.risks",
    "NegativeLog": "fenchel.losses",
    "Newton": "fenchel.solvers",
    "NewtonCG": "fenchel.solvers",
    "OnlineClassifier": "fenchel.estimators",
    "OrdinalClassifier": "fenchel.estimators",
    "OrdinalHinge": "fenchel.risks",
    "CustomLoss": "fenchel.losses",
    "CustomMeasure": "fenchel.risks",
    "Poisson": "fenchel.losses",
    "PrecisionAtK": "fenchel.risks",
    "Pegasos": "fenchel.solvers",
    "Pragam": "fenchel.solvers",
    "Problem": "fenchel.problem",
    "ProxNewton": "fenchel.solvers",
    "QNorm": "fenchel.regularizers",
    "Quantile": "fenchel.losses",
    "RecallAtK": "fenchel.risks",
    "RegularizationPath": "fenchel.estimators",
    "RocAUC": "fenchel.risks",
    "Smoothing": "fenchel.solvers",
    "Solution": "fenchel.solving.solution",
    "QuadraticForm": "fenchel.regularizers",
    "Squared": "fenchel.losses",
    "SquaredEpsilonInsensitive": "fenchel.losses",
    "SquaredHinge": "fenchel.losses",
    "Status": "fenchel.solving.solution",
    "UnnormalizedEntropy": "fenchel.regularizers",
    "WestonWatkins": "fenchel.risks",
    "WinnowClassifier": "fenchel.estimators",
    "Witness": "fenchel.problem",
    "as_design": "fenchel.designs",
    "certify": "fenchel.verifying",
    "plot_convergence": "fenchel.plotting",
    "plot_path": "fenchel.plotting",
    "regularization_path": "fenchel.estimators",
    "solve": "fenchel.solving.loop",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fenchel' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

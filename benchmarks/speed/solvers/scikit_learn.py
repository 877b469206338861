"""scikit-learn's LinearSVC, LinearSVR and LogisticRegression."""

# ruff: noqa: RUF012 (benchopt reads these class attributes from the source)

import sklearn.svm  # noqa: F401 (benchopt takes a solver as installed if this works)
from benchmark_utils import TolerantSolver


class Solver(TolerantSolver):
    """The method fit with its limit on passes raised."""

    name = "scikit-learn"
    requirements = ["pip::scikit-learn"]
    parameters = {
        "contender": [
            "scikit-learn",
            "scikit-learn primal",
            "scikit-learn lbfgs",
            "scikit-learn newton-cg",
            "scikit-learn newton-cholesky",
        ]
    }

"""scikit-learn's LinearSVC."""

# ruff: noqa: RUF012 (benchopt reads these class attributes from the source)

import sklearn.svm  # noqa: F401 (benchopt takes a solver as installed if this works)
from benchmark_utils import ScikitLearn, TolerantSolver


class Solver(TolerantSolver):
    """LinearSVC.fit with its limit on passes raised."""

    name = "scikit-learn"
    requirements = ["pip::scikit-learn"]
    contender_class = ScikitLearn

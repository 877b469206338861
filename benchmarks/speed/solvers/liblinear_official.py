"""LIBLINEAR 2.50 through its C interface."""

# ruff: noqa: RUF012 (benchopt reads these class attributes from the source)

import liblinear.liblinear  # noqa: F401 (benchopt takes a solver as installed if this works)
from benchmark_utils import TolerantSolver


class Solver(TolerantSolver):
    """Only the C function train is timed."""

    name = "LIBLINEAR"
    requirements = ["pip::liblinear-official"]
    parameters = {"contender": ["LIBLINEAR", "LIBLINEAR primal"]}

"""Fenchel's solver of choice; every point on the curve is a proved one."""

# ruff: noqa: RUF012 (benchopt reads these class attributes from the source)

from benchmark_utils import TolerantSolver

import fenchel  # noqa: F401 (benchopt takes a solver as installed if this works)


class Solver(TolerantSolver):
    """The certificates are inside the timed region."""

    name = "Fenchel"
    requirements = ["pip::fenchel"]
    parameters = {"contender": ["Fenchel"]}

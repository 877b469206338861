"""ReHLine."""

# ruff: noqa: RUF012 (benchopt reads these class attributes from the source)

import rehline  # noqa: F401 (benchopt takes a solver as installed if this works)
from benchmark_utils import TolerantSolver


class Solver(TolerantSolver):
    """Takes part on dense data only."""

    name = "rehline"
    requirements = ["pip::rehline"]
    parameters = {"contender": ["rehline"]}

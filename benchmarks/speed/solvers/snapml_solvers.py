"""snapml."""

# ruff: noqa: RUF012 (benchopt reads these class attributes from the source)

import snapml  # noqa: F401 (benchopt takes a solver as installed if this works)
from benchmark_utils import TolerantSolver


class Solver(TolerantSolver):
    """Reported beside the peers."""

    name = "snapml"
    requirements = ["pip::snapml"]
    parameters = {"contender": ["snapml"]}

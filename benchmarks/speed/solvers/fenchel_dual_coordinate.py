"""Fenchel's dual coordinate descent; every point on the curve is a proved one."""

# ruff: noqa: RUF012 (benchopt reads these class attributes from the source)

from benchmark_utils import Fenchel, TolerantSolver

import fenchel  # noqa: F401 (benchopt takes a solver as installed if this works)


class Solver(TolerantSolver):
    """The certificates are inside the timed region."""

    name = "Fenchel"
    requirements = ["pip::fenchel"]
    contender_class = Fenchel

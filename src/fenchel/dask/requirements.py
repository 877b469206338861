"""What solvers for data on workers require of a problem, beside the requirements of ``solvers.needs``."""

from __future__ import annotations

from fenchel.dask.design import sharded
from fenchel.solvers.base import Need

SHARDED = Need(lambda problem: sharded(problem) is not None, "requires rows on workers: use fenchel.dask")

"""Parameters that estimators share, as dataclasses, whose ``__init__`` has the signature that scikit-learn reads.

An estimator lists the groups that it has among its bases, in the reverse of the order in which their parameters stand
in its signature, and its own parameters as fields.  A ``__post_init__`` would break ``clone``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fenchel.regularizers import Regularizer
from fenchel.solvers import Solver


@dataclass(eq=False, repr=False, kw_only=True)
class SolverParameters:
    """How the problems of a fit are solved."""

    tol: float = 1e-3
    max_iter: float = 1000
    solver: str | Solver = "auto"
    random_state: Any = None
    time_limit: float | None = None
    verbose: int = 0


@dataclass(eq=False, repr=False, kw_only=True)
class FitParameters:
    """A fit for one C, which may start from the last one."""

    C: float = 1.0
    warm_start: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class LinearParameters:
    """A linear model with any regularizer."""

    l1_ratio: float = 0.0
    regularizer: str | Regularizer | None = None
    fit_intercept: bool = True
    n_jobs: int | None = None

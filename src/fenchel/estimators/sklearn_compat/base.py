"""What the drop-ins for scikit-learn's linear models share; docs/drop-ins.md says how they differ from them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fenchel.errors import FenchelError
from fenchel.estimators.base import LinearEstimator
from fenchel.solvers import Solver


class DropIn(LinearEstimator):
    """An estimator with scikit-learn's parameters.

    Those that mean nothing here are accepted at their defaults only, so that nobody believes they did something.
    """

    #: parameters that mean nothing here: the default, and why nothing else is accepted
    _only_default: ClassVar[dict[str, tuple[Any, str]]] = {
        "dual": ("auto", "every fit has a primal and a dual solution, and the gap between them"),
        "intercept_scaling": (1, "the intercept is not regularized, so there is nothing to scale"),
        "verbose": (0, "LinearClassifier and LinearRegressor show each certificate with verbose=1"),
    }

    # what LinearClassifier and LinearRegressor have parameters for, and scikit-learn's estimators may not
    l1_ratio: Any = 0.0
    multi_class: Any = "ovr"
    n_jobs: int | None = None
    time_limit: float | None = None
    warm_start: bool = False

    def _check_parameters(self) -> None:
        for name, (default, why) in self._only_default.items():
            value = getattr(self, name, default)
            if not (np.isscalar(value) and value == default):
                raise FenchelError(f"{name}={value!r} has no meaning here: {why}. Leave {name}={default!r}")
        super()._check_parameters()

    def _solver(self) -> str | Solver:
        return "auto"

    def _one_of(self, name: str, choices: tuple[str, ...], otherwise: str) -> str:
        """The value of a parameter that must be one of these names."""
        value = getattr(self, name)
        if not (isinstance(value, str) and value in choices):
            names = " or ".join(repr(choice) for choice in choices)
            raise FenchelError(f"{name} must be {names} in {type(self).__name__}, got {value!r}. {otherwise}")
        return value

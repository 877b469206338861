"""What the drop-ins for scikit-learn's linear models share; docs/drop-ins.md says how they differ from them."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from fenchel.errors import FenchelError
from fenchel.estimators.base import LinearEstimator
from fenchel.solvers import Solver


class DropIn(LinearEstimator):
    """An estimator with scikit-learn's parameters.

    All values that scikit-learn takes are taken here.  Those of ``dual``, ``intercept_scaling`` and ``solver`` do not
    change the answer, since every fit has a primal and a dual solution, an intercept that is not regularized, and a
    solver of ours; what scikit-learn would refuse is refused here too.
    """

    #: what ``dual`` may be
    _duals: ClassVar[tuple[Any, ...]] = (True, False, "auto")

    # what LinearClassifier and LinearRegressor have parameters for, and scikit-learn's estimators may not
    l1_ratio: Any = 0.0
    multi_class: Any = "ovr"
    n_jobs: int | None = None
    time_limit: float | None = None
    warm_start: bool = False

    def _check_parameters(self) -> None:
        self._check_dual()
        scaling, verbose = getattr(self, "intercept_scaling", 1), getattr(self, "verbose", 0)
        if isinstance(scaling, (bool, np.bool_)) or not isinstance(scaling, Real) or not 0 < float(scaling) < math.inf:
            raise FenchelError(f"intercept_scaling must be a positive finite number, got {scaling!r}")
        if not isinstance(verbose, (bool, np.bool_, Integral)) or int(verbose) < 0:
            raise FenchelError(f"verbose must be an integer >= 0, 0 for silence, got {verbose!r}")
        super()._check_parameters()

    def _check_dual(self) -> None:
        dual = getattr(self, "dual", False)
        known = isinstance(dual, (bool, np.bool_)) or (isinstance(dual, str) and dual in self._duals)
        if not known:
            names = ", ".join(map(repr, self._duals))
            raise FenchelError(f"dual must be one of {names} in {type(self).__name__}, got {dual!r}")

    def _solver(self) -> str | Solver:
        return "auto"

    def _random(self) -> np.random.RandomState:
        """The same random numbers for every fit unless ``random_state`` says otherwise, as lbfgs needs none."""
        return check_random_state(0 if self.random_state is None else self.random_state)

    def _one_of(self, name: str, choices: tuple[str, ...], otherwise: str) -> str:
        """The value of a parameter that must be one of these names."""
        value = getattr(self, name)
        if not (isinstance(value, str) and value in choices):
            names = " or ".join(repr(choice) for choice in choices)
            raise FenchelError(f"{name} must be {names} in {type(self).__name__}, got {value!r}. {otherwise}")
        return value

"""What the drop-ins for scikit-learn's linear models share; docs/drop-ins.md says how they differ from them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fenchel.errors import FenchelError
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.regularization import checked_positive
from fenchel.estimators.seeds import seeds_of
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
    multi_class = "ovr"
    n_jobs: int | None = None
    time_limit = None
    warm_start = False

    def _check_parameters(self) -> None:
        if not isinstance(self.dual, (bool, np.bool_, str)) or self.dual not in self._duals:
            names = ", ".join(map(repr, self._duals))
            raise FenchelError(f"dual must be one of {names} in {type(self).__name__}, got {self.dual!r}")
        checked_positive(self.intercept_scaling, "intercept_scaling")
        super()._check_parameters()
        if self.verbose < 0:
            raise FenchelError(f"verbose must be an integer >= 0, 0 for silence, got {self.verbose!r}")

    def _solver(self) -> str | Solver:
        return "auto"

    def _seeds(self, count: int) -> tuple[int, ...]:
        """The same seeds for every fit unless ``random_state`` says otherwise, as lbfgs needs none."""
        return seeds_of(0 if self.random_state is None else self.random_state, count)

    def _one_of(self, name: str, choices: tuple[str, ...], otherwise: str) -> str:
        """The value of a parameter that must be one of these names."""
        value = getattr(self, name)
        if not (isinstance(value, str) and value in choices):
            names = " or ".join(repr(choice) for choice in choices)
            raise FenchelError(f"{name} must be {names} in {type(self).__name__}, got {value!r}. {otherwise}")
        return value

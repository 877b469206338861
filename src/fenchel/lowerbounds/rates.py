r"""Numbers of steps of solvers on the constructions, and their growth with :math:`1/\varepsilon`.

For every accuracy the step :math:`T(\varepsilon)` is the first k with :math:`J(w_k) - J^* \le \varepsilon`, on the
construction for that accuracy (a weak lower bound) or on the one problem that there is (a strong one); the exponent p
of :math:`T \sim \varepsilon^{-p}` is fitted to the logarithms.  Table 1 of Zhang, Saha and Vishwanathan (2010) says
which one to expect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.lowerbounds.construction import Construction, bundle, weights_of
from fenchel.lowerbounds.four_points import FourPoints
from fenchel.solvers import Pragam, Solver

#: accuracies of the constructions that depend on it, and of the one that does not
ACCURACIES = tuple(2.0**-power for power in range(3, 8))
FINE_ACCURACIES = tuple(2.0**-power for power in range(6, 13))
#: as many steps as a solver gets, in units of 1/epsilon
_MOST = 60.0
#: a solver that never needs more steps than this ends at the optimum
_FEW = 6


@dataclass(frozen=True)
class Rate:
    """The measurements of one solver on one construction."""

    construction: type[Construction]
    solver: str
    accuracies: tuple[float, ...]
    #: T of each accuracy; None if it was not reached
    steps: tuple[int | None, ...]
    #: what the paper says
    paper: str

    @property
    def exponent(self) -> float:
        """p of T ~ eps^-p; 0 if a few steps always suffice, NaN if an accuracy was not reached."""
        found = [step for step in self.steps if step is not None]
        if len(found) < len(self.steps):
            return float("nan")
        if max(found) <= _FEW:
            return 0.0
        return float(np.polyfit(-np.log(self.accuracies), np.log(found), 1)[0])


def contenders() -> dict[str, Solver]:
    """The solvers that are measured: the bundle methods of the papers, and pragam."""
    return {
        "line-search bundle": bundle("line_search"),
        "qp bundle": bundle("qp"),
        "pragam": Pragam(lipschitz="data"),
    }


def applies(solver: str, kind: type[Construction]) -> bool:
    """Whether a solver is measured on a construction: pragam's rate needs rows of bounded length."""
    return solver != "pragam" or kind is FourPoints


def claim(solver: str, kind: type[Construction]) -> str:
    """The paper's Table 1."""
    if solver == "pragam":
        return "Θ(1/√ε)"
    return "open" if solver == "qp bundle" and kind is FourPoints else "Θ(1/ε)"


def steps_to(solver: Any, construction: Construction, epsilon: float, most: int) -> int | None:
    """The first k with a gap of at most epsilon, up to rounding; None if it takes too many steps."""
    for k, weights in enumerate(weights_of(solver, construction), start=1):
        if construction.objective(weights) - construction.optimum <= epsilon * (1.0 + 1e-9):
            return k
        if k == most:
            break
    return None


def rate(name: str, solver: Any, kind: type[Construction]) -> Rate:
    """Measure one solver on one construction."""
    accuracies = FINE_ACCURACIES if kind is FourPoints else ACCURACIES
    steps = tuple(steps_to(solver, kind.for_accuracy(epsilon), epsilon, int(_MOST / epsilon)) for epsilon in accuracies)
    return Rate(kind, name, accuracies, steps, claim(name, kind))

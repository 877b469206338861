"""L-BFGS on groups of rows: one evaluation of the risk and its gradient is one task a group (``objective``).

The method is that of Nocedal and Wright (Numerical Optimization, 2nd ed., 2006), Sec. 7.2, for smooth risks that are
sums over examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array
from fenchel.dask.descent import Descent, Direction, State, dot
from fenchel.solvers.base import Hint
from fenchel.solvers.smoothing.lbfgs import Pairs
from fenchel.validation import check_integer


@dataclass(frozen=True)
class LBFGS(Descent):
    """L-BFGS for smooth sums of losses whose rows lie on workers.

    Each evaluation sends the weights to the workers and adds up their gradients: d numbers each way for each group of
    partitions.  Requires ridge (L2).

    Parameters
    ----------
    memory : int, default=20
        The number of pairs of L-BFGS.

    See Also
    --------
    NewtonCG : Fewer steps, of several products with the Hessian each.
    CoCoA : Losses with kinks.
    fenchel.solvers.Smoothing : L-BFGS with rows in memory, also for measures.

    References
    ----------
    .. [1] C. H. Teo, S. V. N. Vishwanathan, A. J. Smola and Q. V. Le. "Bundle methods for regularized risk
           minimization." JMLR 11, 2010.

    Examples
    --------
    >>> from fenchel.dask import LBFGS
    >>> LBFGS(memory=10).name
    'lbfgs'
    """

    memory: int = 20
    name: ClassVar[str] = "lbfgs"

    def __post_init__(self) -> None:
        check_integer("memory", self.memory, least=1)

    def memory_at_start(self) -> Pairs:
        return Pairs(self.memory)

    def direction(self, state: State, gradient: Array, hint: Hint) -> Direction:
        found = -state.own.times(gradient, dot, None)
        return Direction(found, self._first_length(state, found))

    def after(self, state: State, change: Array, gradient_change: Array) -> None:
        state.own.append(change, gradient_change, dot)

    def can_reset(self, state: State) -> bool:
        had_pairs = len(state.own) > 0
        state.own.stored.clear()
        return had_pairs

    def _first_length(self, state: State, direction: Array) -> float:
        """Return 1; without pairs the length that moves no score by more than one margin."""
        if len(state.own):
            return 1.0
        size = state.point.weights.size
        norms = np.linalg.norm(direction[:size]) * state.objective.design.largest_row_norm
        return 1.0 / float((norms + np.max(np.abs(direction[size:]), initial=0.0)) or 1.0)

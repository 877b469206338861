r"""Pegasos: stochastic subgradient descent (Shalev-Shwartz, Singer and Srebro, ICML 2007), for comparison.

Solves :math:`\min_w \tfrac\lambda2\|w\|^2 + \sum_i c_i [1 - y_i x_i\cdot w]_+`.  Each epoch visits every example once
in random order, in batches of one example, of a given size, or of all examples (``reference.loop_pegasos``).  The
weights are an average of subgradients, which gives a dual point: :math:`\theta_i` is :math:`c_i y_i` times the share of
epochs in which i had a positive loss (scaled by the projections of w).  It is feasible after each epoch, and after
every step with ``batch="all"``; within an epoch the certificate clips it.

===================  ==========================================================
symbol               here
===================  ==========================================================
:math:`\kappa, t`    ``scalars[KAPPA]``, ``scalars[TIME]``
u                    ``u``, see ``reference.loop_pegasos``
===================  ==========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.random_order import shuffle
from fenchel.errors import FenchelError
from fenchel.losses import Hinge
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import Hint, Need, Solver, Warm
from fenchel.solvers.reference.loop_pegasos import KAPPA, SQUARE, TIME, pegasos_steps
from fenchel.solvers.shrinking import random_state
from fenchel.validation import check_seed, is_integer

#: largest number of entries of X in one step, unless a single batch has more
_STEP_ENTRIES = 1 << 24


@dataclass
class State:
    """State of the descent."""

    problem: Problem
    #: the rows, the labels and the contributions of the examples
    data: tuple[Any, Floats, Floats]
    counts: Floats
    u: Floats
    scalars: Floats
    order: Array
    #: bounds of the batches of an epoch
    bounds: NDArray[np.int64]
    random: NDArray[np.uint64]
    #: the next batch
    batch: int = 0


@dataclass(frozen=True)
class Pegasos(Solver):
    """Pegasos: stochastic subgradient descent for the hinge with ridge, for comparison.

    Parameters
    ----------
    batch : int or "all", default=1
        The number of examples of a step.
    seed : int, default=None
        Seed of the order of the examples; None uses the ``seed`` of :func:`fenchel.solve`.

    See Also
    --------
    DualCoordinate : The default.

    References
    ----------
    .. [1] S. Shalev-Shwartz, Y. Singer and N. Srebro. "Pegasos: primal estimated sub-gradient solver for SVM." ICML,
           2007.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import Pegasos
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> problem = Problem(X, MeanRisk("hinge", np.where(X[:, 0] > 0, 1.0, -1.0)), 1.0)
    >>> solve(problem, Pegasos(batch="all"), tol=0.1).converged
    True
    """

    #: how many examples make one step, or "all"
    batch: int | str = 1
    #: of the random order; None takes the seed that ``solve`` was given
    seed: int | None = None
    name: ClassVar[str] = "pegasos"

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not is_integer(self.batch, least=1) and self.batch != "all":
            raise FenchelError(f"batch must be a positive integer or 'all', got {self.batch!r}")

    @property
    def needs(self) -> tuple[Need, ...]:
        hinge = Need(lambda problem: problem.mean_risk.loss == Hinge(), "requires the loss 'hinge'")
        one = Need(lambda problem: problem.risk.outputs is None, "requires one output")
        return (needs.MEAN_OF_LOSSES, hinge, one, needs.RIDGE, needs.NO_INTERCEPT)

    def start(self, problem: Problem, warm: Warm | None) -> State:
        # the first step size is 1/lam, which removes any starting point
        shares = problem.risk.shares
        order = np.flatnonzero(shares > 0).astype(np.uint64)
        size = len(order) if self.batch == "all" else min(int(self.batch), len(order))
        batches = -(-len(order) // size)
        bounds = np.linspace(0, len(order), batches + 1).astype(np.int64)
        labels = problem.mean_risk.labels
        data = (problem.design.rows(), labels, batches * shares * labels)
        counts, u, scalars = np.zeros(len(shares)), np.zeros(problem.design.shape[1]), np.array([0.0, 1.0, 0.0])
        return State(problem, data, counts, u, scalars, order, bounds, random_state(self.seed or 0))

    def step(self, state: State, hint: Hint) -> float:
        batches, examples = len(state.bounds) - 1, len(state.order)
        if state.batch == 0:
            shuffle(state.order, examples, state.random)
            # recompute the running square once in an epoch, to remove rounding errors
            state.scalars[SQUARE] = float(state.u @ state.u)
        design = state.problem.design
        entries = max(1, design.stored_entries * examples // (design.shape[0] * batches))
        begin = state.batch
        end = min(batches, begin + max(1, _STEP_ENTRIES // entries))
        changed = (state.counts, state.u, state.scalars)
        pegasos_steps(*state.data, *changed, state.order, state.bounds, begin, end, state.problem.lam)
        state.batch = end % batches
        return float(state.bounds[end] - state.bounds[begin]) / examples

    def propose(self, state: State) -> tuple[Model, Witness]:
        scale = state.scalars[KAPPA] / max(state.scalars[TIME], 1.0)
        return Model(scale / state.problem.lam * state.u, 0.0), Witness(scale * state.counts * state.data[-1])

r"""CoCoA+: rounds of dual coordinate descent on groups of rows, whose changes are added up.

Solves :math:`\min_{w,b} \tfrac\lambda2\|w\|^2 + \sum_i c_i f(x_i\cdot w + b, y_i)` through its dual.  In a round every
group of rows :math:`k = 1, \ldots, K` gets v and maximizes, approximately, over its own dual variables

.. math::
    -\sum_{i\in k} c_i f^*(-\alpha_i - \delta_i) - v\cdot X_k^T\Delta\theta_k
    - \frac{\sigma'}{2\lambda}\|X_k^T\Delta\theta_k\|^2, \qquad \theta_i = c_i\alpha_i, \quad v = X^T\theta/\lambda,

by epochs of dual coordinate descent (``local_epochs``), and returns :math:`\Delta\theta_k` and
:math:`X_k^T\Delta\theta_k`: the method of Ma, Smith, Jaggi, Jordan, Richtárik and Takáč (Adding vs. averaging in
distributed primal-dual optimization, ICML 2015), eq. (9) with :math:`\gamma = t`.  The changes are added up times t:

- ``aggregation="safe"``: t = 1 with :math:`\sigma' = K`, which never decreases the dual (their Lemma 3);
- ``aggregation="line_search"``: :math:`\sigma' = 1`, and t in [1/K, 1] nearly maximizes the dual.  t = 1/K, averaging,
  never decreases it.  The terms of the dual are quadratic in t for the squared hinge and linear for the hinge.

An unregularized intercept is handled as in ``solvers.dual_coordinate``: rows centred on their mean m, a constant
feature B, and a multiplier s that moves after each round.  The dual variables are on the driver, which sends each group
its own: what a worker holds can be loaded again at any time.

===================  =====================================================================
symbol               here
===================  =====================================================================
:math:`\alpha`       ``alpha``
v                    ``v``
S, m·v, s            ``intercept``, as in ``solvers.dual_coordinate.loop``
:math:`B^2`          ``constant``
:math:`\sigma'`      ``sigma``
===================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.dask.design import ShardedDesign, sharded
from fenchel.dask.lbfgs import SHARDED
from fenchel.dask.local_epochs import Moved, coordinates, local_epochs
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.dual_coordinate.loop import CENTRE, OFFSET, SUM
from fenchel.solvers.dual_coordinate.requirements import NEEDS
from fenchel.solvers.warm_start import first_dual
from fenchel.validation import check_choice, check_integer, check_seed

#: B^2, the square of the constant feature, as a share of the mean squared norm of the centred rows, and its least
#: multiple of lam; as in ``dual_coordinate``
_CONSTANT, _PROXIMAL = 0.1, 0.1
#: rounds after which v is computed again from theta, to remove accumulated rounding errors
_RECOMPUTE_ROUNDS = 50
#: rounds without any change after which the method stalls
_MAX_IDLE_ROUNDS = 2


@dataclass
class State:
    """The dual variables on the driver, and the sums that follow from them."""

    problem: Problem
    design: ShardedDesign
    #: ``Coordinates`` of each group, held on its worker
    held: Sequence[Any]
    alpha: Floats
    v: Floats
    #: S, m.v and s
    intercept: Floats
    mean: Floats
    constant: float
    random: np.random.Generator
    gap: float = np.inf
    rounds: int = 0
    idle_rounds: int = 0

    @property
    def theta(self) -> Floats:
        """The dual variables, as a witness has them."""
        return self.problem.risk.shares * self.alpha

    @property
    def weights(self) -> Floats:
        """v - S m."""
        return self.v - self.intercept[SUM] * self.mean if len(self.mean) else self.v.copy()

    def refresh(self) -> None:
        """Compute v and S again from theta."""
        theta = self.theta
        self.v = self.design.adjoint(theta) / self.problem.lam
        if len(self.mean):
            self.intercept[[SUM, OFFSET]] = np.sum(theta) / self.problem.lam, self.mean @ self.v


@dataclass(frozen=True)
class CoCoA(Solver):
    """CoCoA+ for means of losses whose rows lie on workers: few exchanges, each after epochs of local work.

    For the hinge and other losses with an exact dual step, and ridge (L2).  Each round sends v and the dual variables
    of each group to the workers, which run epochs of dual coordinate descent on their own rows.

    Parameters
    ----------
    epochs : int, default=1
        The epochs of local work in each round.
    aggregation : {"line_search", "safe"}, default="line_search"
        How the changes of the groups are added up: by a search for the best multiple, or with the local problems
        regularized such that the sum can't decrease the dual.
    seed : int, default=None
        Seed of the order of the examples; None uses the ``seed`` of :func:`fenchel.solve`.

    See Also
    --------
    LBFGS : Smooth losses.
    fenchel.solvers.DualCoordinate : The same with rows in memory.

    References
    ----------
    .. [1] C. Ma, V. Smith, M. Jaggi, M. I. Jordan, P. Richtárik and M. Takáč. "Adding vs. averaging in distributed
           primal-dual optimization." ICML, 2015.

    Examples
    --------
    >>> from fenchel.dask import CoCoA
    >>> CoCoA(epochs=2).aggregation
    'line_search'
    """

    epochs: int = 1
    aggregation: str = "line_search"
    seed: int | None = None
    name: ClassVar[str] = "cocoa"

    def __post_init__(self) -> None:
        check_integer("epochs", self.epochs, least=1)
        check_choice("aggregation", self.aggregation, ("line_search", "safe"))
        check_seed(self.seed)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            SHARDED,
            *NEEDS,
            needs.RIDGE,
            Need(lambda problem: problem.risk.outputs is None, "requires one output: use a problem for each"),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        needs.check_scale(problem)
        design = sharded(problem)
        assert design is not None
        shares, risk = problem.risk.shares, problem.mean_risk
        mean = design.adjoint(shares) if problem.intercept else np.zeros(0)
        parts = design.split(risk.labels), design.split(shares)
        held = design.groups.place(coordinates, *parts, loss=risk.loss, mean=mean)
        theta, v, centre = first_dual(problem, warm)
        alpha = np.divide(theta, shares, out=np.zeros_like(theta), where=shares > 0)
        intercept, constant = np.zeros(3), 0.0
        if problem.intercept:
            intercept[:] = np.sum(theta) / problem.lam, mean @ v, centre[0]
            # the variance of the rows about their mean
            spread = max(design.mean_square - float(mean @ mean), 0.0)
            constant = max(_CONSTANT * spread, _PROXIMAL * problem.lam)
        random = np.random.default_rng(self.seed or 0)
        return State(problem, design, held, alpha, np.array(v), intercept, mean, constant, random)

    def step(self, state: State, hint: Hint) -> float:
        if state.idle_rounds >= _MAX_IDLE_ROUNDS:
            return STALLED
        design, lam, count = state.design, state.problem.lam, len(state.design.facts)
        moved = design.groups.map(
            local_epochs,
            state.held,
            design.split(state.alpha),
            state.random.integers(2**31, size=count).tolist(),
            v=state.v,
            state=state.intercept,
            spread=float(state.mean @ state.mean) + state.constant,
            constant=state.constant,
            sigma=float(count) if self.aggregation == "safe" else 1.0,
            lam=lam,
            epochs=self.epochs,
        )
        self._aggregate(state, moved)
        return float(self.epochs)

    def _aggregate(self, state: State, moved: Sequence[Moved]) -> None:
        """Add the changes of the groups times t, and move the multiplier of the intercept."""
        alpha = np.concatenate([one.alpha for one in moved])
        v = state.design.ordered_sum([one.v for one in moved])
        total = float(sum(one.total for one in moved))
        t = 1.0
        if self.aggregation == "line_search" and len(moved) > 1:
            t = best_multiple(state, alpha, v, total, 1.0 / len(moved))
        # t = 1 keeps the bounds of the domain bit by bit
        state.alpha = alpha if t == 1.0 else state.alpha + t * (alpha - state.alpha)
        state.v = state.v + t * v
        state.gap = float(sum(one.gap for one in moved))
        state.rounds += 1
        idle = not any(one.changes for one in moved)
        if len(state.mean):
            state.intercept[SUM] += t * total
            state.intercept[OFFSET] = state.mean @ state.v
            before = state.intercept[CENTRE]
            state.intercept[CENTRE] += state.constant * state.intercept[SUM]
            idle = idle and state.intercept[CENTRE] == before
        state.idle_rounds = state.idle_rounds + 1 if idle else 0
        if state.rounds % _RECOMPUTE_ROUNDS == 0 or idle:
            state.refresh()

    def expected_gap(self, state: State) -> float:
        return state.gap

    def propose(self, state: State) -> tuple[Model, Witness]:
        intercept = None if state.problem.intercept else state.problem.no_intercept()
        return Model(state.weights, intercept), Witness(state.theta)


def best_multiple(state: State, alpha: Array, v: Array, total: float, least: float) -> float:
    r"""Return t in [least, 1] that nearly maximizes the dual along a change of alpha, v and S.

    R* is interpolated by a parabola through t = 0, 1/2 and 1, which is exact for losses whose conjugate is quadratic on
    the way; of its maximizer, ``least`` and 1 the best one is returned.
    """
    problem, change = state.problem, alpha - state.alpha
    shares, form = problem.risk.shares, problem.closed_form
    begin = state.weights
    along = v - total * state.mean if len(state.mean) else v
    level, centre = state.intercept[SUM], state.intercept[CENTRE]

    def quadratic(t: float) -> float:
        """The terms of the dual beside R*, over lam."""
        weights, sums = begin + t * along, level + t * total
        return -0.5 * float(weights @ weights) - 0.5 * state.constant * sums**2 - centre * sums

    def conjugate(t: float) -> float:
        return form.conjugate(form.project(shares * (state.alpha + t * change)), feasible=True)

    at = {t: problem.lam * quadratic(t) - conjugate(t) for t in (0.0, 0.5, 1.0)}
    second = 2.0 * (at[0.0] - 2.0 * at[0.5] + at[1.0])
    slope = at[1.0] - at[0.0] - second
    found = -0.5 * slope / second if second < 0.0 else 1.0
    found = float(np.clip(found, least, 1.0))
    for t in {found, least} - {1.0}:
        at[t] = problem.lam * quadratic(t) - conjugate(t)
    return max((found, least, 1.0), key=lambda t: at[t])

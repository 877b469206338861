r"""CoCoA+: rounds of dual coordinate descent on groups of rows, whose changes are added up.

Solves :math:`\min_{w,b} \tfrac\lambda2\|w\|^2 + \sum_i c_i f(x_i\cdot w + b, y_i)` through its dual.  In a round every
group of rows :math:`k = 1, \ldots, K` gets v and maximizes, approximately, over its own dual variables

.. math::
    -\sum_{i\in k} c_i f^*(-\alpha_i - \delta_i) - v\cdot X_k^T\Delta\theta_k
    - \frac{\sigma'}{2\lambda}\|X_k^T\Delta\theta_k\|^2, \qquad \theta_i = c_i\alpha_i, \quad v = X^T\theta/\lambda,

by epochs of dual coordinate descent (``local_epochs``), and returns :math:`\Delta\theta_k` and
:math:`X_k^T\Delta\theta_k`: the method of Ma, Smith, Jaggi, Jordan, Richtárik and Takáč (Adding vs. averaging in
distributed primal-dual optimization, ICML 2015), eq. (9).  The changes are added up times :math:`\gamma`:

- ``aggregation="safe"``: :math:`\gamma = 1` with :math:`\sigma' = K`, which never decreases the dual (their Lemma 3);
- ``aggregation="overlap"``: :math:`\sigma'` follows the overlap of the changes that is measured in each round, and
  :math:`\gamma \le 1` is such that the dual never decreases either (proved in ``solvers.simultaneous``, which has the
  same rule for threads).  The driver needs d numbers of each group for it, and no terms of the n examples.

An unregularized intercept is handled as in ``solvers.dual_coordinate``: rows centred on their mean m, a constant
feature B, and a multiplier s that moves after each round.  The dual variables stay on the worker of their group
(``resident``): a round moves d numbers each way, and they are gathered for certificates.  When a worker dies, rounds go
on from those that were gathered last.

===================  =====================================================================
symbol               here
===================  =====================================================================
:math:`\alpha`       ``alpha``
v                    ``v``
S, m·v, s            ``intercept``, as in ``solvers.dual_coordinate.loop``
:math:`B^2`          ``constant``
:math:`\sigma'`      ``sigma``
:math:`\gamma`       ``gamma``
===================  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fenchel.dask.joint_rounds import JointRounds
from fenchel.dask.requirements import SHARDED
from fenchel.dask.rounds import Rounds, SingleRounds
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.dual_coordinate.requirements import NEEDS
from fenchel.validation import check_choice, check_number, check_seed

#: rounds without any change after which the method stalls
_MAX_IDLE_ROUNDS = 2


_ONE_OUTPUT = Need(lambda problem: problem.risk.outputs is None, "requires one output: use a problem for each")


def _is_joint_hinge(problem: Problem) -> bool:
    return needs.dual_block(problem) in ("box", "simplex")


@dataclass(frozen=True)
class CoCoA(Solver):
    """CoCoA+ for means of losses whose rows lie on workers: few exchanges, each after epochs of local work.

    For the hinge and other losses with an exact dual step, the joint hinges of several classes (Weston-Watkins,
    Crammer-Singer), and ridge (L2).  Each round sends v to the workers, which run epochs of dual (block) coordinate
    descent on their own rows and keep their dual variables.

    Parameters
    ----------
    epochs : float, default=1.0
        The epochs of local work in each round; with a part of one, groups exchange their changes more often.
    aggregation : {"overlap", "safe"}, default="overlap"
        How the changes of the groups are added up such that the dual never decreases: local problems are regularized
        by as much as the changes of the last round overlap, or for the worst case.
    seed : int, default=None
        Seed of the order of the examples; None uses the ``seed`` of :func:`fenchel.solve`.

    See Also
    --------
    LBFGS : Smooth losses.
    fenchel.solvers.DualCoordinate, fenchel.solvers.BlockCoordinate : The same with rows in memory.

    References
    ----------
    .. [1] C. Ma, V. Smith, M. Jaggi, M. I. Jordan, P. Richtárik and M. Takáč. "Adding vs. averaging in distributed
           primal-dual optimization." ICML, 2015.

    Examples
    --------
    >>> from fenchel.dask import CoCoA
    >>> CoCoA(epochs=2).aggregation
    'overlap'
    """

    epochs: float = 1.0
    aggregation: str = "overlap"
    seed: int | None = None
    name: ClassVar[str] = "cocoa"

    def __post_init__(self) -> None:
        check_number("epochs", self.epochs, above=0.0)
        check_choice("aggregation", self.aggregation, ("overlap", "safe"))
        check_seed(self.seed)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            SHARDED,
            *(need.unless(_is_joint_hinge) for need in (*NEEDS, _ONE_OUTPUT)),
            needs.RIDGE,
        )

    def start(self, problem: Problem, warm: Warm | None) -> Rounds:
        needs.check_scale(problem)
        kind = JointRounds if _is_joint_hinge(problem) else SingleRounds
        return kind.start(problem, warm, self.seed or 0)

    def step(self, state: Rounds, hint: Hint) -> float:
        if state.idle_rounds >= _MAX_IDLE_ROUNDS:
            return STALLED
        state.round(self.epochs, measures=self.aggregation == "overlap")
        return float(self.epochs)

    def expected_gap(self, state: Rounds) -> float:
        return state.gap

    def propose(self, state: Rounds) -> tuple[Model, Witness]:
        return state.propose()

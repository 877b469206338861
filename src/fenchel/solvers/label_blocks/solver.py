r"""Block coordinate descent on the dual of the multilabel hinge.

Solves :math:`\min_{W,b} \tfrac\lambda2\|W\|^2 + R(XW^T + 1b^T)` through the dual: random permutations of the examples,
one step minimizes the dual over an example's whole block (``loop``) and costs k times the example's non-zeros.  With
one label for each example the blocks are those of Crammer and Singer (``block_coordinate``).

Unregularized intercepts are a constant feature B whose centre moves to the solution after each epoch: the augmented
Lagrangian for :math:`\sum_i\theta_i = 0`.  The intercepts add up to zero, and the certificate restores the equality.

Shrinking: ``solvers.shrinking``; an example is at a bound if its block is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.compile.lanes import padded
from fenchel.problem import Model, Problem, Witness
from fenchel.risks.multilabel import MultilabelHinge
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.curvature import check_curvatures, squared_norms
from fenchel.solvers.label_blocks.loop import CURVATURE, INTERCEPT, SCALE, SUM, epoch_labels
from fenchel.solvers.shrinking import ActiveSet, random_state
from fenchel.validation import check_bool, check_seed

#: entries of X times labels that one step of the solver may read: bounds how long Ctrl-C or a time limit waits
_STEP_ENTRIES = 1 << 22
#: B^2, the square of the constant feature, as a share of the mean squared norm of the rows
_CONSTANT = 0.1


@dataclass
class State:
    """What does not change during a solve, the dual blocks, and the sums that follow from them."""

    problem: Problem
    risk: MultilabelHinge
    rows: Any
    #: the labels of each example, (n, k)
    has: NDArray[np.uint8]
    #: (n, k)
    alpha: Floats
    #: (d, k), with columns of zeros up to a multiple of the compiled loop's lanes
    v: Floats
    #: CURVATURE and SCALE of each example
    table: Floats
    #: SUM and INTERCEPT of each label, (2, k)
    intercepts: Floats
    constant: float
    random: NDArray[np.uint64]
    active_set: ActiveSet

    @property
    def theta(self) -> Floats:
        """The dual point, (n, k)."""
        return self.alpha * self.risk.shares[:, None]

    def refresh(self) -> None:
        """Recompute the running sums of the loop from theta, free of accumulated rounding errors."""
        theta, labels = self.theta, self.risk.outputs
        self.v[:, :labels] = self.problem.design.adjoint(theta).T / self.problem.lam
        self.intercepts[SUM] = np.sum(theta, axis=0) / self.problem.lam


@dataclass(frozen=True)
class LabelBlocks(Solver):
    """Block coordinate descent on the dual of the multilabel hinge.

    One step minimizes the dual over all dual variables of an example; random order, with shrinking of examples.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether to skip examples whose dual variables are zero and satisfy the KKT conditions with a margin.
    seed : int, default=None
        Seed of the order of the examples; None uses the ``seed`` of :func:`fenchel.solve`.

    See Also
    --------
    BlockCoordinate : One label for each example.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MultilabelHinge
    >>> from fenchel.solvers import LabelBlocks
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> solution = solve(Problem(X, MultilabelHinge(X > 0), 0.1), LabelBlocks(shrinking=False))
    >>> solution.solver, solution.converged
    ('label_blocks', True)
    """

    shrinking: bool = True
    seed: int | None = None
    name: ClassVar[str] = "label_blocks"
    needs: ClassVar[tuple[Need, ...]] = (
        Need(lambda problem: problem.risk.multilabel() is not None, "requires the multilabel hinge"),
        needs.RIDGE,
        needs.NO_KERNEL,
    )

    def __post_init__(self) -> None:
        check_bool("shrinking", self.shrinking)
        check_seed(self.seed)

    def start(self, problem: Problem, warm: Warm | None) -> State:
        risk = problem.risk.multilabel()
        assert risk is not None
        norms, shares = squared_norms(problem), risk.shares
        constant = max(_CONSTANT * float(shares @ norms), 0.1 * problem.lam) if problem.intercept else 0.0
        check_curvatures(problem, norms + constant)
        table = np.zeros((risk.examples, 2))
        table[:, SCALE] = shares / problem.lam
        table[:, CURVATURE] = table[:, SCALE] * (norms + constant)
        state = State(
            problem=problem,
            risk=risk,
            rows=problem.design.rows(),
            has=(risk.labels > 0.0).astype(np.uint8),
            alpha=np.zeros((risk.examples, risk.outputs)),
            v=np.zeros((problem.design.shape[1], padded(risk.outputs))),
            table=table,
            intercepts=np.zeros((2, risk.outputs)),
            constant=constant,
            random=random_state(self.seed or 0),
            active_set=ActiveSet(risk.paired, risk.examples, block_rows=problem.design.block_rows),
        )
        if warm is not None and problem.fits(warm.model):
            _begin_at(state, warm)
        return state

    def step(self, state: State, hint: Hint) -> float:
        active_set = state.active_set
        active_set.restore_after(hint.certificates)
        if active_set.stalled:
            return STALLED
        turns, examples = self._advance(state), state.problem.design.shape[0]
        most = min(hint.passes * examples, _STEP_ENTRIES // _entries_per_turn(state))
        while active_set.goes_on(hint.target_gap, most - turns):
            turns += self._advance(state)
        return turns / examples

    def _advance(self, state: State) -> int:
        """One part of the present epoch; the number of examples that had a turn."""
        active_set = state.active_set
        part = active_set.next_part(_STEP_ENTRIES // _entries_per_turn(state), state.random, self.shrinking)
        tally = epoch_labels(
            state.rows, state.has, state.alpha, state.v, state.table, state.intercepts, state.constant, part
        )
        if active_set.record(tally, part.end, state.problem.lam):
            self._end_epoch(state)
        return part.end - part.begin

    def _end_epoch(self, state: State) -> None:
        active_set, intercepts = state.active_set, state.intercepts
        before = intercepts[INTERCEPT].copy()
        # the proximal centre moves to the present intercepts, to which the constant feature adds B^2 S again
        intercepts[INTERCEPT] += state.constant * intercepts[SUM]
        if active_set.needs_refresh(active_set.unchanged and np.array_equal(before, intercepts[INTERCEPT])):
            state.refresh()
        active_set.end_epoch()

    def expected_gap(self, state: State) -> float:
        return state.active_set.expected_gap

    def propose(self, state: State) -> tuple[Model, Witness]:
        # also of a single feature, where the transpose is contiguous
        weights = state.v[:, : state.risk.outputs].T.copy()
        if not state.problem.intercept:
            return Model(weights, state.problem.no_intercept()), Witness(state.theta)
        intercepts = state.intercepts[INTERCEPT]
        return Model(weights, intercepts - np.mean(intercepts)), Witness(state.theta)


def _begin_at(state: State, warm: Warm) -> None:
    """Begin at the dual point of a warm start, scaled back for a lam that has become smaller."""
    problem, theta = state.problem, np.asarray(warm.witness.theta)
    if theta.shape != problem.theta_shape or not np.all(np.isfinite(theta)):
        return
    shares: Array = state.risk.shares[:, None]
    inside = state.risk.project(theta)
    state.alpha[:] = np.divide(inside, shares, out=np.zeros_like(inside), where=shares > 0.0)
    state.refresh()
    if problem.intercept and warm.model.intercept is not None:
        state.intercepts[INTERCEPT] = np.asarray(warm.model.intercept) + state.constant * state.intercepts[SUM]


def _entries_per_turn(state: State) -> int:
    """The entries that are read and written for one example."""
    design = state.problem.design
    return max(1, design.stored_entries // design.shape[0]) * state.v.shape[1]

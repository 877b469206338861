r"""Dual coordinate descent: Zhang (2002), Algorithm 1 (dual Gauss-Seidel).

Solves :math:`\min_{w,b} \lambda\,\Omega(w) + \sum_i c_i f(x_i\cdot w + b, y_i)` through its dual.  Random permutations
of the examples, or with ``shuffle=False`` the cyclic order that is printed; one step changes one dual variable, at the
cost of the example's non-zeros.  The inner ``rule``:

- "exact": the dual is minimized over the variable, eq. (13); ``stretch`` takes t times that step (Sec. 6.2);
- "newton": a step that is certain to raise the dual and nearly minimizes it, at the cost of one or two evaluations;
- "gradient": eq. (11) with a ``learning_rate``; without one, what Sec. 6.2 advises.  Nothing is certain to rise.  Of
  (19), (20) and (22) the part of the regularizer is explicit, that of the loss implicit: the new variable minimizes
  :math:`f^*(-a, y) + s(a - \alpha) + (a - \alpha)^2/(2\eta')`, with :math:`\eta' = \eta\lambda n`, which is (23) for
  the hinge and needs none of the precautions that Sec. 5.2 gives for (19) and (20);
- "auto": exact for ridge, and 1.3 times that step for losses with kinks on a thousand rows or more with no fewer
  features; for the elastic net the minimizer of a quadratic bound of the dual (``loop``); newton for the others
  (``loop_mirror``).

A quadratic form with a dense matrix is whitened first (``solvers.whitening``).

Unregularized intercept. The equality :math:`\sum\theta = 0` is handled by the augmented Lagrangian, eqs. (27)-(31).
Read in the primal this is a proximal point method in b: each round solves the problem with the extra term
:math:`\tfrac{\lambda}{2B^2}(b - s)^2`, that is a constant feature B, and moves the centre s to the solution. As the
term is as weak as the regularizer, one round is nearly exact on all but tiny data, a step stays a single-variable
step (two-variable steps need a partner search and twice the row work), and all of Algorithm 1 (shrinking, random
order, any loss) is kept. Two things make it fast. With ridge, and with any regularizer if they are dense, the
rows are centred on their mean m without a copy (where :math:`\sum\theta = 0` that changes nothing but b):
otherwise features far from zero tie all variables together through the constant one. And B is small beside the
centred rows (its square is a tenth of their mean squared norm), so that a step moves the weights and the intercept
follows: a larger one takes more epochs. The certificate restores :math:`\sum\theta = 0`.

Kernels, eq. (15).  With a Gram matrix ``v`` holds the scores :math:`K\theta/\lambda` of all examples in the place of
weights: the turn of an example reads one of them, and a step changes all.  Everything else is the same, but with
piecewise quadratic losses pairs of variables are chosen by their gain (``loop_pairs``), and Newton steps on the free
ones follow (``projected_newton``).  ``cached_gram`` computes the rows of a matrix that is too large for memory as steps
need them.

Near duplicates.  The few examples with the largest violations get more turns (``violators``): steps of one variable at
a time hardly move those of near duplicates.

Free dual variables.  After thirty epochs with a piecewise quadratic loss and ridge, or a hundred with a thousand rows
or more, conjugate gradients on all variables between their bounds alternate with epochs (``face``), for near duplicates
that are many.

Shrinking: ``solvers.shrinking``.  A certificate always sees all data, so shrinking cannot hide a violation.

===================  =====================================================================
symbol               here
===================  =====================================================================
:math:`\alpha_i`     ``table[:, ALPHA]``, :math:`\theta_i = c_i\alpha_i`
v                    ``v - S m``, with ``v`` = :math:`X^T\theta/\lambda`, S = :math:`\sum\theta/\lambda`
:math:`c_1`          ``table[:, CURVATURE]``, :math:`c_i(\|x_i - m\|^2 + B^2)/\lambda`
s                    ``intercept[CENTRE]``, the multiplier and centre of the intercept
:math:`1/\mu`        :math:`B^2/\lambda`, ``constant`` / lam
===================  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.arrays import Array
from fenchel.compile.primitives.epoch import Part
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import STALLED, Hint, Warm
from fenchel.solvers.curvature import check_curvatures, near_mean, squared_distances, squared_norms
from fenchel.solvers.dual_coordinate.cached_gram import epoch_on_demand
from fenchel.solvers.dual_coordinate.face import face_step
from fenchel.solvers.dual_coordinate.loop import CENTRE, CURVATURE, SCALE
from fenchel.solvers.dual_coordinate.loop_pairs import tally_of
from fenchel.solvers.dual_coordinate.mirror import MirrorState
from fenchel.solvers.dual_coordinate.pairs import descend_on_pairs, has_room_for_pairs, is_balanced
from fenchel.solvers.dual_coordinate.projected_newton import newton_step
from fenchel.solvers.dual_coordinate.state import (
    OutputState,
    State,
    compiled_regularizer,
    in_kernel_form,
    squared_length,
)
from fenchel.solvers.dual_coordinate.steps import MANY_EXAMPLES, PASSES_BEFORE_FACE, DualSteps
from fenchel.solvers.dual_coordinate.violators import Violators
from fenchel.solvers.shrinking import random_state
from fenchel.solvers.warm_start import first_dual
from fenchel.solvers.whitening import whitened

#: entries of X that one step of the solver may read: bounds how long Ctrl-C or a time limit waits
_STEP_ENTRIES = 1 << 23
#: the time of an entry with a mirror map that is not linear, in entries without one
_MIRROR_COST = 16
#: B^2, the square of the constant feature, as a share of the mean squared norm of the centred rows
_CONSTANT = 0.1
#: B^2 is at least this many times lam: the proximal term of the intercept must be weak beside the risk
_PROXIMAL = 0.1


@dataclass(frozen=True)
class DualCoordinate(DualSteps):
    """Dual coordinate descent: one dual variable at a time, in random order.

    The default for linear models with means of losses.  An intercept is handled by the augmented Lagrangian, as a
    proximal point method.  An epoch costs one pass over the data.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether to skip examples whose dual variable is at a bound and satisfies the KKT conditions with a margin.
    rule : {"auto", "exact", "newton", "gradient"}, default="auto"
        The step of one dual variable: the exact minimizer of the dual (eq. 13 of [1]_); a Newton step that is certain
        to increase the dual; or a gradient step (eq. 11). "auto" is "exact" for ridge (1.3 times that step for losses
        with kinks on a thousand rows or more with no fewer features, unless ``stretch`` is set), the minimizer of a
        quadratic bound for the elastic net, and "newton" otherwise. In a gradient step the part of the loss is
        implicit: the derivative of its conjugate, the first terms of eqs. (19), (20) and (22), is taken at the new dual
        variable, so that the step stays in the domain and does not oscillate where the loss is zero; for the hinge it
        is eq. (23).
    learning_rate : float, default=None
        The step size of ``rule="gradient"``, the same for all examples; None chooses one for each example ([1]_,
        Sec. 6.2).
    stretch : float, default=1.0
        The factor of an exact step: above 1 is over-relaxation ([1]_, Sec. 6.2).
    seed : int, default=None
        Seed of the order of the examples; None uses the ``seed`` of :func:`fenchel.solve`.
    shuffle : bool, default=True
        Whether each epoch visits the examples in a random order; False is the cyclic order of Algorithm 1 as printed in
        [1]_.
    n_jobs : int, default=1
        Threads for the epochs of large data with ridge, each with a block of the examples ([3]_).  The steps, and so
        the result within ``tol``, depend on it, and are the same in each run; ``n_jobs`` of :func:`fenchel.solve` does
        not set it.

    See Also
    --------
    BlockCoordinate : Joint losses of several classes.
    AugmentedLagrangian : The intercept as in the paper.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.
    .. [2] C.-J. Hsieh et al. "A dual coordinate descent method for large-scale linear SVM." ICML, 2008.
    .. [3] C. Ma et al. "Adding vs. averaging in distributed primal-dual optimization." ICML, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import DualCoordinate
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.where(X[:, 0] > 0, 1.0, -1.0)
    >>> solution = solve(Problem(X, MeanRisk("hinge", y), 0.1), DualCoordinate(shrinking=False))
    >>> solution.solver, solution.converged
    ('dual_coordinate', True)
    """

    name: ClassVar[str] = "dual_coordinate"

    def start(self, problem: Problem, warm: Warm | None) -> State:
        problem, warm, root = whitened(problem, warm)
        mirror_map, shares, norms = self._mirror_map(problem), problem.risk.shares, squared_norms(problem)
        kernel = problem.design.kernel()
        pairs = self._takes_pairs(problem) and problem.intercept
        on_demand = None if kernel is None else kernel.on_demand() if pairs else kernel.cached()
        rounded = on_demand is not None and on_demand.normalized and pairs
        if on_demand is not None and rounded:
            on_demand.round_rows()
        mean, projection, square, constant = np.zeros(0), np.zeros(0), 0.0, 0.0
        if problem.intercept:
            # rows can be centred by the loop only if the weights are a linear function of v
            plain = self.centres and (problem.regularizer.is_ridge or in_kernel_form(problem))
            # pairs keep the sum of theta, and centring would need rows that no step needs
            plain = plain and not rounded
            mean = problem.design.adjoint(near_mean(problem)) if plain else np.zeros(problem.design.shape[1])
            projection = problem.design.scores(mean) if plain else np.zeros(len(shares))
            square = squared_length(problem, mean, projection)
            norms = squared_distances(norms + square, projection)
            constant = self._first_constant(problem, norms)
        state = State(
            problem=problem,
            rows=problem.design.rows() if kernel is None else (on_demand or kernel).descending(),
            on_demand=on_demand,
            loss=problem.mean_risk.loss.compiled(),
            regularizer=compiled_regularizer(problem) if mirror_map is None else mirror_map,
            mean=mean,
            projection=projection,
            centre_square=square,
            random=random_state(self.seed or 0),
            root=root,
        )
        check_curvatures(problem, norms + constant)
        theta, v, centre = first_dual(problem, warm)
        if kernel is not None and problem.intercept and np.any(theta):
            # pairs keep the sum
            theta, _ = problem.mean_risk.balance(theta)
            v = problem.design.adjoint(theta) / problem.lam
        if in_kernel_form(problem) and np.any(v):
            v = problem.design.scores(v).T
        v, thetas = np.atleast_2d(np.ascontiguousarray(v)), np.atleast_2d(theta.T)
        state.stretch = self._stretch(problem)
        curvatures = (norms + constant) / state.stretch
        if self.learning_rate is not None:
            curvatures = np.full(len(shares), 1.0 / self.learning_rate + constant)
        for k, label in enumerate(np.atleast_2d(problem.mean_risk.labels.T)):
            # with a Gram matrix mean holds the coefficients of m, and v the scores
            offset = mean @ v[k] if problem.intercept else 0.0
            intercept = np.array([np.sum(thetas[k]) / problem.lam, offset, centre[k]])
            output = state.new_output(label, thetas[k], v[k], intercept, constant)
            output.simultaneous = self._simultaneous(problem, mirror_map)
            if self._plain and kernel is None and mirror_map is None:
                output.violators = Violators.none(output.active_set.order)
                if len(shares) >= MANY_EXAMPLES:
                    output.passes_before_face = PASSES_BEFORE_FACE
            output.table[:, CURVATURE] = output.table[:, SCALE] * curvatures
            if mirror_map is not None:
                output.mirror, along_rows = MirrorState.of(problem, self, output.table, output.v)
                output.mirror.begin(state, output)
                output.constant = self._first_constant(problem, along_rows) if problem.intercept else 0.0
        return state

    def step(self, state: State, hint: Hint) -> float:
        if hint.certificates != state.outputs[0].active_set.certificates:
            state.correct(hint)
        for output in state.outputs:
            output.active_set.restore_after(hint.certificates)
        if all(output.active_set.stalled for output in state.outputs):
            return STALLED
        while state.outputs[state.turn].active_set.stalled:
            state.turn = (state.turn + 1) % len(state.outputs)
        output, examples = state.outputs[state.turn], state.problem.design.shape[0]
        turns = self._advance(state, output)
        # epochs over small data take less time than what is between steps
        most = min(hint.passes * examples, _STEP_ENTRIES // self._entries_per_turn(state, output))
        early, target = min(hint.early * examples, most), hint.target_gap / len(state.outputs)
        for goal, limit in ((0.0, early), (target, most)):
            while output.active_set.goes_on(goal, limit - turns):
                turns += self._advance(state, output)
        if output.active_set.position == 0:
            state.turn = (state.turn + 1) % len(state.outputs)
        return turns / (examples * len(state.outputs))

    def computes_gap_of(self, problem: Problem) -> bool:
        # 0.6 to 1.2 times that of a certificate on imdb and 20news.binary
        return self._is_wide(problem)

    def expected_gap(self, state: State) -> float:
        return sum(output.active_set.expected_gap for output in state.outputs)

    def expected_objective(self, state: State) -> float:
        return state.objective()

    def propose(self, state: State) -> tuple[Model, Witness]:
        return state.propose()

    def _entries_per_turn(self, state: State, output: OutputState) -> int:
        """The entries that are read and written for one example."""
        design = state.problem.design
        entries = max(1, design.stored_entries // design.shape[0]) + sum(state.projection.shape[1:])
        return entries * (1 if output.mirror is None else _MIRROR_COST)

    def _advance(self, state: State, output: OutputState) -> int:
        """One part of the present epoch of one output; the number of examples that had a turn."""
        active_set, cached, mirror = output.active_set, state.on_demand, output.mirror
        entries = self._entries_per_turn(state, output)
        most = _STEP_ENTRIES // entries
        if output.simultaneous is not None:
            most = output.simultaneous.turns(entries, len(output.v))
        part = active_set.next_part(most, state.random, self.shrinking, self.shuffle)
        if output.violators is not None:
            part = output.violators.listed(part, active_set.size)
        greedy = self._greedy_steps(state, output, part._replace(end=active_set.size), most)
        if greedy:
            part = part._replace(end=active_set.size)
        turns = greedy or part.end - part.begin
        if cached is not None and not greedy:
            pairs = self._takes_pairs(state.problem) and not state.problem.intercept
            turns = epoch_on_demand(state, output, cached, part, pairs=pairs)
        elif mirror is not None:
            active_set.record(mirror.epoch(state, output, part), part.end, state.problem.lam)
        else:
            arrays = (output.table, output.v, state.intercept(output), part)
            tally = tally_of(state.loss, *arrays) if greedy else state.epoch(output, part, entries)
            active_set.record(tally, part.end, state.problem.lam)
        if active_set.position == active_set.size:
            self._end_epoch(state, output)
            if output.violators is not None:
                turns += output.violators.settle(state, output, part.end, most)
        if self._takes_faces(state, output):
            turns += face_step(state, output, turns)
        return turns

    def _greedy_steps(self, state: State, output: OutputState, part: Part, most: int) -> int:
        """Optimize pairs in the place of an epoch, with a Gram matrix; turns of examples."""
        if not self._takes_pairs(state.problem) or (state.on_demand is not None and not state.problem.intercept):
            return 0
        if part.begin > 0 or not is_balanced(state, output) or not has_room_for_pairs(state):
            return 0
        turns = descend_on_pairs(state, output, part, most)
        if turns:
            return turns + newton_step(state, output, turns)
        # a fixed point of the active set: the others are next
        return 0 if output.active_set.full else 1

    def _end_epoch(self, state: State, output: OutputState) -> None:
        active_set, centre = output.active_set, np.copy(output.intercept[CENTRE])
        self._move_centre(state, output)
        if active_set.needs_refresh(active_set.unchanged and np.array_equal(output.intercept[CENTRE], centre)):
            state.refresh(output)
        if output.mirror is not None:
            output.mirror.end_epoch(state, output)
        active_set.end_epoch()

    def _first_constant(self, problem: Problem, norms: Array) -> float:
        """B^2, from the squared norms of the rows, or from the curvatures of the conjugate along them."""
        return max(_CONSTANT * float(problem.risk.shares @ norms), _PROXIMAL * problem.lam)

    def _move_centre(self, state: State, output: OutputState) -> None:
        """(31) with eta = 1: the centre moves to the present intercept; B follows the curvatures that steps met."""
        state.move_centre(output, 1.0)
        if output.mirror is not None and state.problem.intercept and output.mirror.adapts:
            scale = output.table[:, SCALE]
            curvatures = np.divide(output.table[:, CURVATURE], scale, out=np.zeros_like(scale), where=scale > 0)
            output.constant = self._first_constant(state.problem, curvatures)

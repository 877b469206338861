r"""Block coordinate descent for risks of several classes: Wang and Scott (2021), Algorithm 1 on (D2).

Solves :math:`\min_{W,b} \tfrac\lambda2\|W\|^2 + R(XW^T + 1b^T)` for the Weston-Watkins, the Crammer-Singer and the
multinomial risk through the dual.  Random permutations of the examples; one step minimizes the dual over an example's
whole block (``loop_blocks``, ``loop_softmax``) and costs k times the example's non-zeros.

Over-relaxation.  A step :math:`\alpha\to\alpha'` that is exact for the curvature :math:`q/\omega` in place of q
increases the dual by at least :math:`(1/\omega - 1/2)\,q\|\alpha' - \alpha\|^2`, and where the blocks of many examples
depend on each other it leaves less to the next epochs: with :math:`\omega = 1.5` (1.4 to 1.6 are as good) passes to
1e-3 are 5 to 35% fewer on dna, letter and banking77.  The softmax needs few epochs anyway.

Unregularized intercepts.  As in ``dual_coordinate`` they are a constant feature B whose centre moves to the solution
after each epoch: the augmented Lagrangian for :math:`\sum_i\theta_i = 0`, which are k - 1 equations, since rows of
theta add up to zero; the intercepts add up to zero.  The certificate restores the equality.

Kernels.  With a Gram matrix the k scores of all examples are stored in place of weights: the turn of an example
reads its own, and a step changes all of them along a row of the Gram matrix, so that a turn without a step costs k.
``cached_gram`` computes the rows of a matrix that is too large for memory as steps need them.

The model is an average of the weights of the last epochs (``averaging``), unless X has fewer entries than weights.

Shrinking: ``solvers.shrinking``.  From 128 classes on, the classes of an example that are at zero with a KKT margin
above the same threshold are shrunk too: epochs between two full ones look at the other classes of each block only.
With the multinomial risk no variable is at a bound, but few epochs are enough where rows have little in common.

The paper's C is :math:`c_i/\lambda`; its :math:`\beta` is :math:`-\alpha_j c_i/\lambda`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.compile.lanes import aligned_zeros, padded
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.block_coordinate.averaging import RunningAverage
from fenchel.solvers.block_coordinate.cached_gram import epoch_on_demand
from fenchel.solvers.block_coordinate.loop import CENTRING, CURVATURE, SCALE, Blocks, ClassLists
from fenchel.solvers.block_coordinate.loop_blocks import GreedyBlock, RootBlock, SortedBlock
from fenchel.solvers.block_coordinate.loop_intercepts import INTERCEPT, SUM, Intercepts, recentred
from fenchel.solvers.block_coordinate.loop_softmax import first_intercept, logarithms, run_epoch_softmax
from fenchel.solvers.block_coordinate.state import State
from fenchel.solvers.curvature import CANCELLATION, check_curvatures, near_mean, squared_norms
from fenchel.solvers.shrinking import ActiveSet, random_state
from fenchel.solvers.simultaneous import Simultaneous
from fenchel.validation import check_bool, check_choice, check_number, check_seed, processors

#: entries of X times classes that one step of the solver may read: bounds how long Ctrl-C or a time limit waits
_STEP_ENTRIES = 1 << 22
#: B^2, the square of the constant feature, as a share of the mean squared norm of the centred rows
_CONSTANT = 0.1
#: steps of the greedy inner solver, per class, at most
_GREEDY_ROUNDS = 10.0
_INNER = ("root", "walrus", "greedy")
#: classes are shrunk if there are at least this many, and for examples of which at most this many are not
_MANY_CLASSES, _MOST_LISTED = 128, 32
#: more dual variables than this are stored in single precision by default (512 MB in double precision)
_MANY = 1 << 26
#: single precision of alpha is enough for gaps down to this share of R(0)
_SINGLE_GAP = 1e-5
#: and, of v, down to this many roundings of the product of the norms of a row and of v
_SINGLE_ROUNDINGS = 8.0 * float(np.finfo(np.float32).eps)
#: v is in double precision if the mean squared norm of the rows or the mean curvature is further than this from one
_MODERATE = 1e12
#: or if X has fewer entries than this, times classes: a pass takes less than a millisecond, loops for single precision
#: seconds to compile
_FEW_ENTRIES = 1 << 18
#: or if there are at most 2^12 weights: in double precision they fit the nearest cache (32 kB), and need no casts
_FEW_WEIGHTS = 1 << 12
#: numbers that epochs read for each that an update of the average does, at least
_READ_BETWEEN_AVERAGES = 8.0
#: data passes between two updates at least: epochs over small active sets take less time than an update
_PASSES_BETWEEN_AVERAGES = 0.25
#: the gap with averaged weights over the sum of the gaps of examples: 0.49 to 0.68 on dna and letter, 0.76 once
_AVERAGED_GAP = 0.7


@dataclass(frozen=True)
class BlockCoordinate(Solver):
    """Block coordinate descent on the dual of joint losses of several classes.

    One step minimizes the dual over all dual variables of an example; random order, with shrinking of examples and,
    from 128 classes on, of classes.

    Parameters
    ----------
    inner : {"root", "walrus", "greedy"}, default="root"
        The solver of a block: a root search; the sorting algorithm of [1]_; or greedy coordinate steps, as in Shark.
    shrinking : bool, default=True
        Whether to skip examples whose dual variable is at a bound and satisfies the KKT conditions with a margin.
    seed : int, default=None
        Seed of the order of the examples; None uses the ``seed`` of :func:`fenchel.solve`.
    single : bool, default=None
        Whether dual variables are kept in single precision; None does so from 2^26 of them on, until a gap below 1e-5
        of R(0) is asked for.  Unless it is False, the weights are in single precision while that is enough for the
        gap that is asked for, with None not on small data; certificates are always computed in double precision.
    accuracy : float, default=1e-12
        The size of the steps at which ``inner="greedy"`` stops, relative to the bound of the dual variables.
    n_jobs : int, default=1
        Threads for the epochs of large data with a joint hinge, each with a block of the examples ([2]_).  The steps,
        and so the result within ``tol``, depend on it, and are the same in each run; ``n_jobs`` of
        :func:`fenchel.solve` does not set it.
    stretch : float, default=1.5
        Over-relaxation of the steps of joint hinges with ``inner="root"`` ([3]_): the curvature of a block is divided
        by it.  1 makes the exact steps of [1]_; steps ascend for numbers below 2.

    See Also
    --------
    InteriorPoint : Few features of very different sizes.
    NewtonCG : The multinomial loss.

    References
    ----------
    .. [1] Y. Wang and C. Scott. "An exact solver for the Weston-Watkins SVM subproblem." ICML, 2021.
    .. [2] C. Ma et al. "Adding vs. averaging in distributed primal-dual optimization." ICML, 2015.
    .. [3] O. Mangasarian and D. Musicant. "Successive overrelaxation for support vector machines." IEEE Transactions on
           Neural Networks 10(5), 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import WestonWatkins
    >>> from fenchel.solvers import BlockCoordinate
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = np.argmax(X, axis=1)
    >>> solution = solve(Problem(X, WestonWatkins(y), 0.1), BlockCoordinate(shrinking=False))
    >>> solution.solver, solution.converged
    ('block_coordinate', True)
    """

    inner: str = "root"
    shrinking: bool = True
    seed: int | None = None
    single: bool | None = None
    accuracy: float = 1e-12
    n_jobs: int = 1
    stretch: float = 1.5
    name: ClassVar[str] = "block_coordinate"
    #: 0.5 to 1.1 times that of a certificate on dna, letter and banking77, from a relative gap of 0.03 on
    computes_gap: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("inner", self.inner, _INNER)
        check_bool("shrinking", self.shrinking)
        check_bool("single", self.single, optional=True)
        check_number("accuracy", self.accuracy, above=0.0)
        check_seed(self.seed)
        processors(self.n_jobs)
        check_number("stretch", self.stretch, above=0.0, below=2.0)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            Need(
                lambda problem: needs.dual_block(problem) is not None,
                "requires the Weston-Watkins, the Crammer-Singer or the multinomial risk",
            ),
            needs.RIDGE_OR_KERNEL,
            needs.GRAM_IN_MEMORY.unless(lambda problem: needs.dual_block(problem) != "entropy"),
            Need(
                lambda problem: (
                    self.inner == "root" or (needs.dual_block(problem) == "box" and problem.multiclass_risk.uniform)
                ),
                f"requires the Weston-Watkins risk without costs for inner={self.inner!r}; use inner='root'",
            ),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        risk, lam, kernel = problem.multiclass_risk, problem.lam, problem.design.kernel()
        norms, shares = squared_norms(problem), risk.shares
        mean = problem.design.adjoint(near_mean(problem)) if problem.intercept else np.zeros(problem.design.shape[1])
        projection = problem.design.scores(mean) if problem.intercept else np.zeros(risk.examples)
        square = float(mean @ (mean if kernel is None else projection))
        if problem.intercept:
            norms = np.maximum(norms - 2.0 * projection + square, CANCELLATION * (norms + square))
        constant = max(_CONSTANT * float(shares @ norms), 0.1 * lam) if problem.intercept else 0.0
        check_curvatures(problem, norms + constant)
        table = np.zeros((risk.examples, 3))
        table[:, CENTRING] = square - projection
        table[:, SCALE] = shares / lam
        softmax, gram = risk.dual_block == "entropy", problem.gram_in_memory
        exact = softmax or self.inner != "root"
        table[:, CURVATURE] = table[:, SCALE] * (norms + constant) / (1.0 if exact else self.stretch)
        sum_bound = np.inf if risk.dual_block == "box" else 1.0
        inner = {
            "root": RootBlock(sum_bound),
            "walrus": SortedBlock(1.0),
            "greedy": GreedyBlock(float(self.accuracy), _GREEDY_ROUNDS),
        }[self.inner]
        count = processors(self.n_jobs)
        single = risk.examples * risk.outputs > _MANY if self.single is None else self.single
        in_parts = problem.cached_gram is not None
        listed = self.shrinking and self.inner == "root" and risk.outputs >= _MANY_CLASSES and not softmax
        listed = listed and not in_parts
        room = padded(min(_MOST_LISTED, risk.outputs // 2)) if listed else 0
        # the loops take several classes at a time
        width = padded(risk.outputs)
        kind = np.float32 if single and not softmax else np.float64
        sizes = np.array([problem.design.mean_square, float(shares @ table[:, CURVATURE])])
        moderate = bool(np.all((sizes >= 1.0 / _MODERATE) & (sizes <= _MODERATE)))
        enough = problem.design.stored_entries * risk.outputs >= _FEW_ENTRIES
        enough = enough and problem.design.shape[1] * width > _FEW_WEIGHTS
        worth_it = enough if self.single is None else self.single
        v_kind = np.float32 if worth_it and not softmax and kernel is None and moderate else np.float64
        # with a bound on the sum no bounds on its terms are needed
        bounds = aligned_zeros((risk.outputs, width))
        bounds[:, : risk.outputs] = (
            risk.costs if risk.dual_block == "box" else np.where(np.eye(risk.outputs) > 0, 0.0, np.inf)
        )
        state = State(
            problem=problem,
            rows=problem.design.rows() if kernel is None else None if gram is None else gram.reading(),
            images=problem.design.rows() if kernel is None else None if gram is None else gram.moving(),
            inner=inner,
            blocks=Blocks(
                alpha=aligned_zeros((risk.examples, width), kind),
                v=aligned_zeros((problem.design.shape[1], width), v_kind),
                classes=risk.classes,
                table=table,
                bounds=bounds,
                sum_bound=sum_bound,
            ),
            logs=logarithms(np.zeros((risk.examples if softmax else 0, risk.outputs)), risk.classes),
            intercepts=Intercepts(aligned_zeros((3, width)), constant, square),
            mean=mean,
            random=random_state(self.seed or 0),
            lists=ClassLists(np.zeros((risk.examples, room), np.uint32), np.zeros(risk.examples, np.uint32)),
            active_set=ActiveSet(
                np.flatnonzero(shares > 0),
                risk.examples,
                shrinks_classes=room > 0,
                block_rows=problem.design.block_rows,
            ),
            # lists of classes are for alpha after a whole step
            simultaneous=(
                Simultaneous(count, measures=room == 0) if count > 1 and kernel is None and not softmax else None
            ),
        )
        # more weights than X has entries would cost more than averages are worth
        if not softmax and kernel is None and state.blocks.v.size <= problem.design.stored_entries:
            turns = _READ_BETWEEN_AVERAGES * state.blocks.v.size / self._entries_per_turn(state)
            arrays = state.blocks.v, state.intercepts.state
            state.average = RunningAverage(arrays, max(turns / risk.examples, _PASSES_BETWEEN_AVERAGES))
        if softmax and problem.intercept:
            state.intercepts.state[INTERCEPT, : risk.outputs] = first_intercept(risk)
        if warm is not None and problem.fits(warm.model):
            self._warm(state, warm)
        return state

    def _warm(self, state: State, warm: Warm) -> None:
        """Begin at the dual point of the warm start, scaled back for a lam that has become smaller."""
        problem, theta = state.problem, np.asarray(warm.witness.theta)
        alpha, intercepts = state.alpha, state.intercepts.state
        if theta.shape != problem.theta_shape or not np.all(np.isfinite(theta)):
            return
        for rows, part in problem.multiclass_risk.parts():
            shares, inside = part.shares[:, None], part.project(theta[rows])
            alpha[rows] = np.divide(inside, shares, out=np.zeros_like(inside), where=shares > 0)
            if len(state.logs):
                state.logs[rows] = logarithms(alpha[rows], part.classes)
        if problem.intercept and warm.model.intercept is not None:
            # the intercepts of centred rows
            intercepts[INTERCEPT, : problem.risk.outputs] = (
                np.asarray(warm.model.intercept) + np.asarray(warm.model.weights) @ state.mean_image
            )
        state.refresh()
        intercepts[INTERCEPT] += state.intercepts.constant * intercepts[SUM]

    def step(self, state: State, hint: Hint) -> float:
        active_set = state.active_set
        active_set.restore_after(hint.certificates)
        single = state.blocks.v.dtype == np.float32 or (self.single is None and state.blocks.alpha.dtype == np.float32)
        between = active_set.position == 0
        if single and (active_set.stalled or (between and hint.target_gap < self._single_floor(state))):
            state.in_double_precision(alpha=self.single is None)
            active_set.stalled = False
        if active_set.stalled:
            return STALLED
        examples, target = state.problem.design.shape[0], hint.target_gap / self._gap_share(state)
        # epochs over small data take less time than what is between steps
        most = min(hint.passes * examples, _STEP_ENTRIES // self._entries_per_turn(state))
        early = min(hint.early * examples, most)
        turns = self._advance(state, *((0.0, early) if early > 0.0 else (target, most)))
        for goal, limit in ((0.0, early), (target, most)):
            while active_set.goes_on(goal, limit - turns):
                turns += self._advance(state, goal, limit - turns)
        return turns / examples

    def _single_floor(self, state: State) -> float:
        """The gap for which sums in single precision are not enough."""
        problem, v, epochs = state.problem, state.blocks.v, state.active_set.epochs
        # the norm of v takes a pass over all weights, and changes less and less
        if epochs > 2 * state.known_floor[0]:
            of_alpha = of_v = 0.0
            if state.blocks.alpha.dtype == np.float32:
                of_alpha = _SINGLE_GAP * problem.risk.value_at_zero
            if v.dtype == np.float32:
                of_v = _SINGLE_ROUNDINGS * float(np.sqrt(problem.design.mean_square * np.vdot(v, v)))
            state.known_floor = epochs, max(of_alpha, of_v)
        return state.known_floor[1]

    def _entries_per_turn(self, state: State) -> int:
        """The entries that are read and written for one example."""
        design = state.problem.design
        return max(1, design.stored_entries // design.shape[0]) * state.blocks.v.shape[1]

    def _advance(self, state: State, target: float, turns: float) -> int:
        """One part of the present epoch, or several epochs to a gap of ``target`` with at most ``turns`` turns.

        Returns the number of turns.
        """
        active_set, cached = state.active_set, state.problem.cached_gram
        entries = self._entries_per_turn(state)
        most = _STEP_ENTRIES // entries
        if state.simultaneous is not None:
            most = state.simultaneous.turns(entries, state.blocks.v.size)
        if cached is not None:
            most = max(most, cached.together)
        part = active_set.next_part(most, state.random, self.shrinking and cached is None)
        end, used = part.end, part.end - part.begin
        if cached is not None:
            tally = epoch_on_demand(state, cached, part)
        elif len(state.logs):
            tally = run_epoch_softmax(state.rows, state.images, state.blocks, state.logs, state.intercepts, part)
        else:
            found = state.epochs(part, entries, target, turns, self.shrinking)
            tally, used = found.tally, found.turns
            active_set.pass_over(found.before, found.size, found.full_violation, found.turns_since_full)
            end = found.size if found.before else end
        if active_set.record(tally, end, state.problem.lam):
            self._end_epoch(state)
        return used

    def _end_epoch(self, state: State) -> None:
        active_set = state.active_set
        moves = state.intercepts.constant > 0.0 and recentred(state.intercepts.state, state.intercepts.constant)
        if active_set.needs_refresh(active_set.unchanged and not moves):
            state.refresh()
        size = active_set.size
        active_set.end_epoch()
        if state.average is not None:
            state.average.record(size / state.problem.design.shape[0], active_set.expected_gap)

    def _gap_share(self, state: State) -> float:
        return 1.0 if state.average is None else _AVERAGED_GAP

    def expected_gap(self, state: State) -> float:
        return self._gap_share(state) * state.active_set.expected_gap

    def expected_objective(self, state: State) -> float:
        """The dual objective at the running sums, at the end of the last epoch."""
        return state.objective_of_epoch()

    def propose(self, state: State) -> tuple[Model, Witness]:
        return state.propose()

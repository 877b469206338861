r"""Block coordinate descent for risks of several classes: Wang and Scott (2021), Algorithm 1 on (D2).

Solves :math:`\min_{W,b} \tfrac\lambda2\|W\|^2 + R(XW^T + 1b^T)` for the Weston-Watkins, the Crammer-Singer and the
multinomial risk through the dual.  Random permutations of the examples; one visit minimizes the dual over an example's
whole block (``loops.blocks``, ``loops.softmax_blocks``) and costs k times the example's non-zeros.

Free intercepts.  As in ``dual_coordinate`` they are a constant feature B whose centre moves to the solution after each
pass: the augmented Lagrangian for :math:`\sum_i\theta_i = 0`, which are k - 1 equations, since rows of theta add up to
zero; the intercepts add up to zero.  The certificate repairs what is left.

Kernels.  With a ``GramDesign`` the k scores of all examples are kept in place of weights: a visit reads its own, and a
step moves all of them along a row of the Gram matrix, so that visits without a step cost k.

Examples whose block rests on its bounds by more than a tenth of the worst violation of the last pass are set aside, and
come back as in ``dual_coordinate``.  From eight classes on, so are the classes of an example that rest at zero in the
same sense: passes between two over everything look at the rest of each block only.  With the multinomial risk nothing
rests, but few passes are enough where rows have little in common.

The paper's C is :math:`c_i/\lambda`; its :math:`\beta` is :math:`-\alpha_j c_i/\lambda`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError
from fenchel.kernels import GramDesign
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.block_coordinate.loop import AHEAD, CURVE, INTERCEPT, OFFSET, SCALE, SUM, visit_blocks
from fenchel.solvers.block_coordinate.loop_blocks import GreedyBlock, RootBlock, SortedBlock
from fenchel.solvers.block_coordinate.loop_softmax import visit_softmax_blocks
from fenchel.solvers.block_coordinate.softmax_start import first_intercept, logarithms
from fenchel.solvers.shrinking import Descent, random_state, squared_norms
from fenchel.validation import check_bool, check_choice, check_number, check_seed

#: entries of X times classes that one step may visit: bounds how long Ctrl-C or a time limit waits
_STEP_ENTRIES = 1 << 26
#: square of the constant feature, relative to the mean squared norm of the rows
_CONSTANT = 0.1
#: relative error of a squared distance that is computed from squared norms
_CANCELLATION = 1e-14
#: curvatures beyond this leave no bits for the dual variables
_STEEPEST = 1e100
#: the greedy inner solver ends after so many steps per class
_GREEDY_ROUNDS = 10.0
_INNER = ("root", "walrus", "greedy")
#: from so many classes on those at rest are set aside, if no more than this are not
_MANY_CLASSES, _MOST_LISTED = 8, 32
#: dual variables beyond so many are kept in single precision unless told otherwise (512 MB in double precision)
_MANY = 1 << 26
#: single precision is enough for gaps down to this share of R(0)
_SINGLE_GAP = 1e-5


@dataclass
class State:
    """The fixed numbers of a problem and where the descent stands."""

    problem: Problem
    rows: Any
    images: Any
    inner: Any
    most: float
    classes: NDArray[np.int64]
    bounds: NDArray[np.float64]
    #: curvature and scale of each example
    book: NDArray[np.float64]
    alpha: NDArray[Any]
    #: of the probabilities, with the multinomial risk; of others there are no rows
    logs: NDArray[np.float64]
    #: (d, k); with a Gram matrix the scores
    weights: NDArray[np.float64]
    #: S and the present intercepts
    free: NDArray[np.float64]
    constant: float
    #: of the rows, with a free intercept
    mean: NDArray[np.float64]
    random: NDArray[np.uint64]
    #: the classes of each example that did not rest when all were looked at, and how many (0: too many)
    lists: NDArray[np.uint32]
    sizes: NDArray[np.uint32]
    descent: Descent
    #: the certificates that had been made when all examples were last taken back
    certificates: int = 0


def _gram(problem: Problem) -> GramDesign | None:
    kernel = problem.design.kernel()
    return None if kernel is None else kernel.in_memory()


@dataclass(frozen=True)
class BlockCoordinate(Solver):
    """Block coordinate descent on the dual of joint losses of several classes.

    One step minimizes the dual over all dual variables of an example; random order, with shrinking of examples and,
    from eight classes on, of classes.

    Parameters
    ----------
    inner : {"root", "walrus", "greedy"}, default="root"
        The solver of a block: a root search; the sorting algorithm of [1]_; or greedy coordinate steps, as in Shark.
    shrinking : bool, default=True
        Whether to set aside examples whose dual variable is at a bound and satisfies the KKT conditions with a margin.
    seed : int, default=None
        Seed of the order of the examples; None uses the ``seed`` of :func:`fenchel.solve`.
    single : bool, default=None
        Whether dual variables are kept in single precision; None does so from 2^26 of them on, until a gap below 1e-5
        of R(0) is asked for.
    accuracy : float, default=1e-12
        The size of the steps at which ``inner="greedy"`` stops, relative to the bound of the dual variables.

    See Also
    --------
    InteriorPoint : Few features of very different sizes.
    NewtonCG : The multinomial loss.

    References
    ----------
    .. [1] Y. Wang and C. Scott. "An exact solver for the Weston-Watkins SVM subproblem." ICML, 2021.

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

    #: who solves a block: "root", "walrus" (the paper's, sorted) or "greedy" (as in Shark)
    inner: str = "root"
    shrinking: bool = True
    #: of the random order; None takes the seed that ``solve`` was given
    seed: int | None = None
    #: whether dual variables are kept in single precision; None does so from 2^26 of them on, until a gap below 1e-5 of
    #: R(0) is asked for
    single: bool | None = None
    #: the greedy inner solver ends when its best step is this small, relative to the bound of the dual variables
    accuracy: float = 1e-12
    name: ClassVar[str] = "block_coordinate"

    def __post_init__(self) -> None:
        check_choice("inner", self.inner, _INNER)
        check_bool("shrinking", self.shrinking)
        check_bool("single", self.single, optional=True)
        check_number("accuracy", self.accuracy, above=0.0)
        check_seed(self.seed)

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            Need(
                lambda problem: needs.dual_block(problem) is not None,
                "requires the Weston-Watkins, the Crammer-Singer or the multinomial risk",
            ),
            needs.RIDGE_OR_KERNEL,
            Need(
                lambda problem: not problem.intercept or problem.design.kernel() is None,
                "does not support free intercepts with a Gram matrix",
            ),
            needs.GRAM_IN_MEMORY,
            Need(
                lambda problem: (
                    self.inner == "root" or (needs.dual_block(problem) == "box" and problem.multiclass_risk.uniform)
                ),
                f"requires the Weston-Watkins risk without costs for inner={self.inner!r}; use inner='root'",
            ),
        )

    def start(self, problem: Problem, warm: Warm | None) -> State:
        risk, lam, gram = problem.multiclass_risk, problem.lam, _gram(problem)
        norms, shares = squared_norms(problem), risk.shares
        if not np.all(np.isfinite(norms)):
            raise FenchelError("X holds NaN or infinity, or its squared norms overflow: repair or scale X")
        mean = problem.design.adjoint(shares) if problem.intercept else np.zeros(problem.design.shape[1])
        projection = problem.design.scores(mean) if problem.intercept else np.zeros(risk.examples)
        square = float(mean @ mean)
        if problem.intercept:
            norms = np.maximum(norms - 2.0 * projection + square, _CANCELLATION * (norms + square))
        constant = max(_CONSTANT * float(shares @ norms), 0.1 * lam) if problem.intercept else 0.0
        if not np.max(norms + constant) * np.max(shares) / lam < _STEEPEST:
            raise FenchelError(f"lam={lam:.3g} is too small for the size of X: a larger lam (a smaller C) is needed")
        book = np.zeros((risk.examples, 3))
        book[:, AHEAD] = square - projection
        book[:, SCALE] = shares / lam
        book[:, CURVE] = book[:, SCALE] * (norms + constant)
        most = np.inf if risk.dual_block == "box" else 1.0
        inner = {
            "root": RootBlock(most),
            "walrus": SortedBlock(1.0),
            "greedy": GreedyBlock(float(self.accuracy), _GREEDY_ROUNDS),
        }[self.inner]
        softmax = risk.dual_block == "entropy"
        single = risk.examples * risk.outputs > _MANY if self.single is None else self.single
        listed = self.shrinking and self.inner == "root" and risk.outputs >= _MANY_CLASSES and not softmax
        room = min(_MOST_LISTED, risk.outputs // 2) if listed else 0
        state = State(
            problem=problem,
            rows=problem.design.rows() if gram is None else gram.reading(),
            images=problem.design.rows() if gram is None else gram.moving(),
            inner=inner,
            most=most,
            classes=risk.classes,
            # the bound on a sum needs no bounds on what is summed
            bounds=risk.costs if risk.dual_block == "box" else np.where(np.eye(risk.outputs) > 0, 0.0, np.inf),
            book=book,
            alpha=np.zeros((risk.examples, risk.outputs), dtype=np.float32 if single and not softmax else np.float64),
            logs=logarithms(np.zeros((risk.examples if softmax else 0, risk.outputs)), risk.classes),
            weights=np.zeros((problem.design.shape[1], risk.outputs)),
            free=np.zeros((3, risk.outputs)),
            constant=constant,
            mean=mean,
            random=random_state(self.seed or 0),
            lists=np.zeros((risk.examples, room), dtype=np.uint32),
            sizes=np.zeros(risk.examples, dtype=np.uint32),
            descent=Descent(np.flatnonzero(shares > 0), risk.examples, narrows=room > 0),
        )
        if softmax and problem.intercept:
            state.free[INTERCEPT] = first_intercept(risk)
        if warm is not None and problem.fits(warm.model):
            self._warm(state, warm)
        return state

    def _warm(self, state: State, warm: Warm) -> None:
        """Begin at the dual point of the warm start, scaled back for a lam that has become smaller."""
        problem, theta = state.problem, np.asarray(warm.witness.theta)
        if theta.shape != problem.theta_shape or not np.all(np.isfinite(theta)):
            return
        for rows, part in problem.multiclass_risk.parts():
            shares, inside = part.shares[:, None], part.project(theta[rows])
            state.alpha[rows] = np.divide(inside, shares, out=np.zeros_like(inside), where=shares > 0)
            if len(state.logs):
                state.logs[rows] = logarithms(state.alpha[rows], part.classes)
        if problem.intercept and warm.model.intercept is not None:
            # the intercepts of centred rows
            state.free[INTERCEPT] = np.asarray(warm.model.intercept) + np.asarray(warm.model.weights) @ state.mean
        self._refresh(state)
        state.free[INTERCEPT] += state.constant * state.free[SUM]

    def step(self, state: State, hint: Hint) -> float:
        descent = state.descent
        if hint.certificates != state.certificates:
            state.certificates, descent.restore = hint.certificates, True
        narrow = self.single is None and state.alpha.dtype == np.float32
        if narrow and hint.target_gap < _SINGLE_GAP * state.problem.risk.value_at_zero:
            state.alpha, descent.stalled = state.alpha.astype(np.float64), False
        if descent.stalled:
            return STALLED
        begin, end = descent.begin(self._step_length(state), state.random, self.shrinking)
        found = self._visit(state, begin, end)
        if descent.add(found, end, state.problem.lam):
            self._finish_pass(state)
        return (end - begin) / state.problem.design.shape[0]

    def _visit(self, state: State, begin: int, end: int) -> tuple[int, float, int, float]:
        descent, centre = state.descent, (state.constant, float(state.mean @ state.mean))
        if len(state.logs):
            blocks = (state.alpha, state.logs, state.weights, state.classes, state.book, state.free)
            return visit_softmax_blocks(state.rows, state.images, *blocks, *centre, descent.order, begin, end)
        threshold = descent.threshold if self.shrinking else np.inf
        return visit_blocks(
            *(state.rows, state.images, state.inner, state.most),
            *(state.alpha, state.weights, state.classes, state.book, state.bounds, state.free),
            *(state.lists, state.sizes),
            *centre,
            *(descent.order, begin, end, descent.kept, threshold, descent.narrow),
        )

    def _step_length(self, state: State) -> int:
        design = state.problem.design
        entries_per_row = max(1, design.stored_entries // design.shape[0])
        return max(1, _STEP_ENTRIES // (entries_per_row * state.weights.shape[1]))

    def _finish_pass(self, state: State) -> None:
        descent, before = state.descent, state.free[INTERCEPT].copy()
        # the centre moves to the present intercepts, which then are what the sum makes of that
        state.free[INTERCEPT] += state.constant * state.free[SUM]
        if descent.settle(descent.at_rest and np.array_equal(before, state.free[INTERCEPT])):
            self._refresh(state)
        descent.finish()

    def _refresh(self, state: State) -> None:
        """Recompute what the loop keeps as running sums, free of their accumulated rounding."""
        problem, total = state.problem, np.zeros(state.weights.shape[1])
        state.weights[:] = 0.0
        for rows, part in problem.multiclass_risk.parts():
            theta = part.shares[:, None] * state.alpha[rows]
            total += np.sum(theta, axis=0)
            if problem.design.kernel() is not None:
                state.weights[rows] = theta
            else:
                state.weights += problem.design.part(rows.start, rows.stop).adjoint(theta).T
        if problem.design.kernel() is not None:
            state.weights[:] = problem.design.scores(state.weights.T)
        state.weights /= problem.lam
        state.free[SUM] = total / problem.lam
        state.free[OFFSET] = state.mean @ state.weights

    def expected_gap(self, state: State) -> float:
        return state.descent.expected_gap

    def expected_objective(self, state: State) -> float:
        """The dual objective at the running sums."""
        problem, shares = state.problem, state.problem.risk.shares
        places = np.arange(len(shares)), state.classes
        if len(state.logs):
            # the entropy, of p = e_y - alpha
            found = np.einsum("i,ij,ij->", shares, state.alpha, state.logs) - float(shares @ state.logs[places])
        else:
            found = float(shares @ state.alpha[places])
        if problem.design.kernel() is not None:
            square = float(np.einsum("i,ij,ij->", shares, state.alpha, state.weights))
        else:
            # of centred rows: |w - m S|^2
            total, mean = state.free[SUM], state.mean
            square = float(np.vdot(state.weights, state.weights))
            square -= float(total @ (2.0 * state.free[OFFSET] - float(mean @ mean) * total))
            square *= problem.lam
        return float(found) - 0.5 * square

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem = state.problem
        # what single precision holds needs no more room here; the certificate goes on in double precision
        theta = state.alpha * problem.risk.shares[:, None].astype(state.alpha.dtype)
        if problem.design.kernel() is not None:
            return Model(problem.design.adjoint(theta) / problem.lam, problem.no_intercept()), Witness(theta)
        if not problem.intercept:
            return Model(state.weights.copy().T, problem.no_intercept()), Witness(theta)
        weights = np.multiply.outer(state.mean, state.free[SUM])
        np.subtract(state.weights, weights, out=weights)
        intercept = state.free[INTERCEPT] - state.mean @ weights
        intercept -= np.mean(intercept)
        return Model(weights.T, intercept), Witness(theta)

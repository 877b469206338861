r"""Dual coordinate descent: Zhang (2002), Algorithm 1 (dual Gauss-Seidel).

Solves :math:`\min_{w,b} \lambda\,\Omega(w) + \sum_i c_i f(x_i\cdot w + b, y_i)` through its dual.  Random permutations
of the examples; one visit moves one dual variable, at the cost of the example's non-zeros.  The inner ``rule``:

- "exact": the dual is minimized over the variable, eq. (13); ``stretch`` takes t times that step (Sec. 6.2);
- "newton": a step that is certain to raise the dual and nearly minimizes it, at the cost of one or two evaluations;
- "gradient": eq. (11) with a ``learning_rate``; without one, what Sec. 6.2 advises.  Nothing is certain to rise;
- "auto": exact for the square; for the elastic net the minimizer of a quadratic above the dual
  (``loops.dual_coordinate``); newton for the others (``loops.transferred``).

A square with a dense operator is whitened first (``regularizers.square``).

Free intercept. The equality :math:`\sum\theta = 0` is handled by the augmented Lagrangian, eqs. (27)-(31). Read in
the primal this is a proximal point method in b: each round solves the problem with the extra term
:math:`\tfrac{\lambda}{2B^2}(b - s)^2`, that is a constant feature B, and moves the centre s to the solution. As the
term is as weak as the regularizer, one round is nearly exact on all but tiny data, a visit stays a single-variable
step (two-variable steps need a partner search and twice the row work), and all of Algorithm 1 (shrinking, random
order, any loss) is kept. Two things make it fast. With the square, and with any regularizer if they are dense, the
rows are centred on their mean m without touching them (where :math:`\sum\theta = 0` that changes nothing but b):
otherwise features far from zero tie all variables together through the constant one. And B is small beside the
centred rows (its square is a tenth of their mean squared norm), so that a step moves the weights and the intercept
follows: a larger one takes more passes. The certificate repairs what is left of :math:`\sum\theta`.

Kernels, eq. (15).  With a Gram matrix ``u`` holds the scores :math:`K\theta/\lambda` of all examples in the place of
weights: a visit reads one of them, and a step moves all.  Everything else is the same; a matrix that is too large for
memory is visited by ``solvers.kept_rows``.

Shrinking.  An example whose variable rests on a bound by more than a tenth of the worst violation of the last pass is
set aside.  All examples come back after every certificate, and whenever the worst violation among the active ones has
become a third of what the last full pass saw.  Setting aside so early and coming back so often needs fewer visits than
LIBLINEAR's rule (beyond the worst violation; back at the end), most of all for a rough answer.  A certificate always
sees all data, so nothing can hide a violation.

===================  =====================================================================
symbol               here
===================  =====================================================================
:math:`\alpha_i`     ``book[:, ALPHA]``, :math:`\theta_i = c_i\alpha_i`
v                    ``u - S m``, with ``u`` = :math:`X^T\theta/\lambda`, S = :math:`\sum\theta/\lambda`
:math:`c_1`          ``book[:, CURVE]``, :math:`c_i(\|x_i - m\|^2 + B^2)/\lambda`
s                    ``free[CENTRE]``, the multiplier and centre of the intercept
:math:`1/\mu`        :math:`B^2/\lambda`, ``constant`` / lam
===================  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.dual_coordinate.cached_gram import balanced, near_mean, visit_on_demand
from fenchel.solvers.dual_coordinate.loop import ALPHA, CENTRE, CURVE, LABEL, OFFSET, SCALE, SUM, visit
from fenchel.solvers.dual_coordinate.mirror import RULES, Transfer
from fenchel.solvers.dual_coordinate.state import (
    OutputState,
    State,
    compiled_regularizer,
    dual_square,
    in_kernel_form,
    squared_length,
)
from fenchel.solvers.feasibility import Repair
from fenchel.solvers.shrinking import Descent, random_state, squared_norms
from fenchel.solvers.warm_start import first_dual
from fenchel.solvers.whitening import whitened
from fenchel.validation import check_bool, check_choice, check_number, check_seed

#: entries of X that one step may visit: bounds how long Ctrl-C or a time limit waits
_STEP_ENTRIES = 1 << 25
#: square of the constant feature, relative to the mean squared norm of the centred rows
_CONSTANT = 0.1
#: and at least so many times lam: the term that holds the intercept back must be weak beside the risk
_PROXIMAL = 0.1
#: relative error of a squared distance that is computed from squared norms
_CANCELLATION = 1e-14
#: curvatures beyond this leave no bits for the dual variables
_STEEPEST = 1e100


def _unconstrained(problem: Problem) -> bool:
    return problem.mean_risk.loss.constraint is None


@dataclass(frozen=True)
class DualCoordinate(Solver):
    """Dual coordinate descent: one dual variable at a time, in random order.

    The default for linear models with means of losses.  An intercept is handled by the augmented Lagrangian, as a
    proximal point method.  An epoch costs one pass over the data.

    Parameters
    ----------
    shrinking : bool, default=True
        Whether to set aside examples whose dual variable is at a bound and satisfies the KKT conditions with a margin.
    rule : {"auto", "exact", "newton", "gradient"}, default="auto"
        The step of one dual variable: the exact minimizer of the dual (eq. 13 of [1]_); a Newton step that is certain
        to increase the dual; or a gradient step (eq. 11).  "auto" is "exact" for ridge, the minimizer of a quadratic
        bound for the elastic net, and "newton" otherwise.
    learning_rate : float, default=None
        The step size of ``rule="gradient"``, the same for all examples; None chooses one for each example ([1]_,
        Sec. 6.2).
    stretch : float, default=1.0
        The factor of an exact step: above 1 is over-relaxation ([1]_, Sec. 6.2).
    seed : int, default=None
        Seed of the order of the examples; None uses the ``seed`` of :func:`fenchel.solve`.

    See Also
    --------
    BlockCoordinate : Joint losses of several classes.
    AugmentedLagrangian : The intercept as in the paper.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.
    .. [2] C.-J. Hsieh et al. "A dual coordinate descent method for large-scale linear SVM." ICML, 2008.

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

    shrinking: bool = True
    #: "auto", "exact", "newton" or "gradient"
    rule: str = "auto"
    #: eta of the gradient rule, for all examples; None chooses one for each
    learning_rate: float | None = None
    #: t of the scaled exact step
    stretch: float = 1.0
    #: of the random order; None takes the seed that ``solve`` was given
    seed: int | None = None
    name: ClassVar[str] = "dual_coordinate"
    #: whether rows are centred where that costs nothing
    centres: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, ("auto", *RULES))
        check_number("stretch", self.stretch, above=0.0)
        check_number("learning_rate", self.learning_rate, above=0.0, optional=True)
        check_bool("shrinking", self.shrinking)
        check_seed(self.seed)
        if self.learning_rate is not None and self.rule != "gradient":
            raise FenchelError("learning_rate is for rule='gradient'")
        if self.stretch != 1.0 and self.rule not in ("auto", "exact"):
            raise FenchelError("stretch scales exact steps: use rule='exact'")

    @property
    def needs(self) -> tuple[Need, ...]:
        return (
            needs.MEAN_OF_LOSSES,
            needs.ONE_OUTPUT.unless(_unconstrained),
            Need(
                lambda problem: problem.regularizer.l1_ratio is not None or problem.design.kernel() is not None,
                lambda problem: (
                    f"requires 'l2', 'elastic_net' or a Gram matrix with the loss {problem.mean_risk.loss.name!r}, got "
                    f"{problem.regularizer.name!r}"
                ),
            ).unless(_unconstrained),
            Need(
                lambda problem: problem.mean_risk.loss.bounded_below or not problem.intercept,
                lambda problem: (
                    f"does not support a free intercept with the loss {problem.mean_risk.loss.name!r}, which is not "
                    "bounded below: use intercept=False (of an estimator: fit_intercept=False)"
                ),
            ),
            Need(
                lambda problem: problem.mean_risk.loss.constraint != "residual" or problem.regularizer.is_ridge,
                lambda problem: (
                    f"requires the regularizer 'l2' (ridge) with the loss {problem.mean_risk.loss.name!r}, got "
                    f"{problem.regularizer.name!r}"
                ),
            ),
            needs.GRAM_IN_MEMORY.unless(_unconstrained),
            Need(self._has_step, needs.unsupported_regularizer),
        )

    def _has_step(self, problem: Problem) -> bool:
        """Whether one of the loops takes the regularizer."""
        regularizer = problem.regularizer
        if regularizer.compiled() is not None or regularizer.quadratic_form() is not None:
            return True
        return regularizer.kernel() is not None or self._through(problem) is not None

    def _through(self, problem: Problem) -> Any:
        """The kernel for ``loops.transferred`` if that is the loop to take."""
        kernel = problem.regularizer.compiled()
        plain = kernel is not None and (kernel.linear() or (self.rule == "auto" and self.stretch == 1.0))
        return None if plain else problem.regularizer.compiled_mirror_map(problem.design.shape[1])

    def start(self, problem: Problem, warm: Warm | None) -> State:
        problem, warm, root = whitened(problem, warm)
        through = self._through(problem)
        shares, lam = problem.risk.shares, problem.lam
        norms = squared_norms(problem)
        if not np.all(np.isfinite(norms)):
            raise FenchelError("X holds NaN or infinity, or its squared norms overflow: repair or scale X")
        counted = np.flatnonzero(shares > 0)
        mean, projection, constant = np.zeros(0), np.zeros(0), 0.0
        if problem.intercept:
            # weights that are no linear function of u can't be centred in passing
            plain = self.centres and (problem.regularizer.is_ridge or in_kernel_form(problem))
            mean = problem.design.adjoint(near_mean(problem)) if plain else np.zeros(problem.design.shape[1])
            projection = problem.design.scores(mean) if plain else np.zeros(len(shares))
            terms = norms + squared_length(problem, mean)
            # what is lost to cancellation is added: a curvature that is too small would overshoot
            norms = np.maximum(terms - 2.0 * projection, 0.0) + _CANCELLATION * terms
            constant = self._first_constant(problem, norms)
        kernel = problem.design.kernel()
        state = State(
            problem=problem,
            rows=problem.design.rows() if kernel is None else kernel.descending(),
            loss=problem.mean_risk.loss.compiled(),
            regularizer=compiled_regularizer(problem) if through is None else through,
            mean=mean,
            projection=projection,
            centre_square=squared_length(problem, mean) if problem.intercept else 0.0,
            random=random_state(self.seed or 0),
            outputs=[],
            repair=Repair(problem),
            root=root,
        )
        if not np.max(norms + constant) * np.max(shares) / lam < _STEEPEST:
            raise FenchelError(f"lam={lam:.3g} is too small for the size of X: scale X, or raise lam (a smaller C)")
        theta, u, centre = first_dual(problem, warm)
        if in_kernel_form(problem):
            u = problem.design.scores(u).T
        u, thetas = np.atleast_2d(np.ascontiguousarray(u)), np.atleast_2d(theta.T)
        labels = np.atleast_2d(problem.mean_risk.labels.T)
        for k in range(len(thetas)):
            book = np.zeros((len(shares), 4))
            book[:, LABEL] = labels[k]
            np.divide(thetas[k], shares, out=book[:, ALPHA], where=shares > 0)
            book[:, SCALE] = shares / lam
            book[:, CURVE] = book[:, SCALE] * (norms + constant) / self.stretch
            if self.rule == "gradient" and self.learning_rate is not None:
                book[:, CURVE] = book[:, SCALE] * (1.0 / self.learning_rate + constant)
            # of a Gram matrix mean are the coefficients, and u the scores
            free = np.array([np.sum(thetas[k]) / lam, mean @ u[k] if problem.intercept else 0.0, centre[k]])
            output = OutputState(book, u[k], free, Descent(counted, len(shares)), constant)
            if through is not None:
                output.transfer, bends = Transfer.of(problem, self, book)
                output.transfer.begin(state, output)
                output.constant = self._first_constant(problem, bends) if problem.intercept else 0.0
            state.outputs.append(output)
        return state

    def step(self, state: State, hint: Hint) -> float:
        if hint.certificates != state.certificates:
            # a new certificate is a new round: everyone takes part again
            state.certificates = hint.certificates
            for output in state.outputs:
                output.descent.restore = True
        if all(output.descent.stalled for output in state.outputs):
            return STALLED
        while state.outputs[state.turn].descent.stalled:
            state.turn = (state.turn + 1) % len(state.outputs)
        output = state.outputs[state.turn]
        visits = self._advance(state, output)
        if output.descent.position == 0:
            state.turn = (state.turn + 1) % len(state.outputs)
        return visits / (state.problem.design.shape[0] * len(state.outputs))

    def expected_gap(self, state: State) -> float:
        return sum(output.descent.expected_gap for output in state.outputs)

    def expected_objective(self, state: State) -> float:
        problem, (vectors, theta) = state.problem, self._dual_point(state)
        return -dual_square(state, vectors, theta) - problem.closed_form.conjugate(theta, feasible=True)

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem, (vectors, theta) = state.problem, self._dual_point(state)
        intercept = None if problem.intercept else problem.no_intercept()
        if problem.intercept and problem.cached_gram is not None:
            theta = balanced(theta)
            vectors = problem.design.adjoint(theta) / problem.lam
        weights = problem.regularizer.grad_conjugate(vectors)
        model = Model(weights if state.root is None else weights @ state.root.T, intercept)
        witness = Witness(theta)
        return state.repair(model, witness) if problem.mean_risk.loss.constraint else (model, witness)

    def _dual_point(self, state: State) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Theta and the sums of the rows that belong to it."""
        problem, shares = state.problem, state.problem.risk.shares
        theta = np.stack([shares * output.book[:, ALPHA] for output in state.outputs], axis=1)
        if in_kernel_form(problem):
            vectors = np.ascontiguousarray(theta.T) / problem.lam
        else:
            vectors = np.stack([output.u for output in state.outputs])
        if problem.intercept and np.any(state.mean):
            vectors -= np.outer([output.free[SUM] for output in state.outputs], state.mean)
        return vectors.reshape(problem.weights_shape), theta.reshape(problem.theta_shape)

    def _advance(self, state: State, output: OutputState) -> int:
        """Go on with the present pass of one output for a bounded number of visits."""
        descent, design, cached = output.descent, state.problem.design, state.problem.cached_gram
        entries_per_row = max(1, design.stored_entries // design.shape[0])
        begin, end = descent.begin(_STEP_ENTRIES // entries_per_row, state.random, self.shrinking)
        threshold, visits = descent.threshold if self.shrinking else np.inf, end - begin
        if output.transfer is not None:
            found = output.transfer.visit(state, output, begin, end, threshold)
        elif cached is not None:
            found, end, visits = visit_on_demand(state, output, cached, begin, end, threshold)
        else:
            found = self._visit(state, output, begin, end, threshold)
        if descent.add(found, end, state.problem.lam):
            centre = output.free[CENTRE]
            self._move_centre(state, output)
            if descent.settle(descent.at_rest and output.free[CENTRE] == centre):
                self._refresh(state, output)
            if output.transfer is not None:
                output.transfer.renew(state, output)
            descent.finish()
        return visits

    def _visit(
        self, state: State, output: OutputState, begin: int, end: int, threshold: float
    ) -> tuple[int, float, int, float]:
        descent = output.descent
        found: tuple[int, float, int, float] = visit(
            state.rows,
            state.loss,
            state.regularizer,
            output.book,
            output.u,
            output.free,
            state.projection,
            state.centre_square + output.constant,
            descent.order,
            begin,
            end,
            descent.kept,
            threshold,
        )
        return found

    def _first_constant(self, problem: Problem, norms: NDArray) -> float:
        """B^2, for squared norms of the rows or what takes their place."""
        return max(_CONSTANT * float(problem.risk.shares @ norms), _PROXIMAL * problem.lam)

    def _move_centre(self, state: State, output: OutputState) -> None:
        """(31) with eta = 1: the centre moves to the present intercept; B follows the curvatures that steps met."""
        output.free[CENTRE] += output.constant * output.free[SUM]
        if output.transfer is not None and state.problem.intercept and output.transfer.adapts:
            scale = output.book[:, SCALE]
            bends = np.divide(output.book[:, CURVE], scale, out=np.zeros_like(scale), where=scale > 0)
            output.constant = self._first_constant(state.problem, bends)

    def _refresh(self, state: State, output: OutputState) -> None:
        """Recompute what the loop keeps as running sums, free of their accumulated rounding."""
        theta = state.problem.risk.shares * output.book[:, ALPHA]
        u = state.problem.design.adjoint(theta) / state.problem.lam
        output.u[:] = state.problem.design.scores(u) if in_kernel_form(state.problem) else u
        if state.problem.intercept:
            output.free[[SUM, OFFSET]] = np.sum(theta) / state.problem.lam, state.mean @ output.u
        if output.transfer is not None:
            output.transfer.begin(state, output)

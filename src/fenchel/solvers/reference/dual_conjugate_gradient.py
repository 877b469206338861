r"""Dual ridge regression by preconditioned conjugate gradients: Zhang (2002), Sec. 4.

Solves :math:`\min_w \tfrac\lambda2\|w\|^2 + \tfrac12\sum_i c_i(x_i\cdot w - y_i)^2`, whose dual is a linear system
(Zhang, Machine Learning 46, 2002).  With :math:`\theta = C^{1/2}t`, where C is the diagonal matrix of the shares, it is

.. math:: At = C^{1/2}y, \qquad A = I + \tfrac1\lambda C^{1/2}XX^TC^{1/2} = L + G + L^T

with G the diagonal and L the strictly lower part.  "It is numerically preferable to use a preconditioned CG with a
symmetrized version of Algorithm 1 as the preconditioner": one sweep of Algorithm 1 over the rows and one back is

.. math:: M^{-1}r, \qquad M = (G + L)\,G^{-1}(G + L^T)

which is symmetric and positive definite (Golub and Van Loan, Matrix Computations, 3rd ed., 1996, Sec. 10.3).  Each half
costs one pass over the nonzeros of X (``reference.loop_symmetric_sweep``).  The backward sweep also computes the
weights of its result, so that the product with A needs only the scores of these weights: an iteration costs two and a
half data passes.

The preconditioner is useful where rows differ in norm and there are no more rows than features.  Where A is close to
the identity plus a matrix of low rank (many rows of few features, a mean far from zero without an intercept), conjugate
gradients without preconditioner, ``preconditioned=False``, need about as many iterations as that rank, and sweeps in a
fixed order are slower (benchmarks/README.md, ridge regression).

With :math:`w = X^T\theta/\lambda` the residual :math:`r = C^{1/2}y - At` has the duality gap
:math:`P(w) - D(\theta) = \tfrac12\|r\|^2`.  As :math:`A \succeq I`, rows of zeros, equal rows and rows of weight zero
(:math:`t_i = 0`) are no special cases.

Free intercept.  Rows and labels are centred by their weighted means, the rows implicitly.  The solution then has
:math:`\sum\theta = 0`; before convergence the sum is subtracted along C1, which does not change the weights.  Kernels,
eq. (15): as in ``dual_coordinate`` the scores :math:`K\theta/\lambda` take the place of the weights.  Quadratic forms,
eq. (12): X is whitened (``solvers.whitening``), which leaves A as it is with :math:`XK^{-1}X^T` for :math:`XX^T`.

Several outputs share A and are advanced in turn.

==========================  ==================================================
symbol                      here
==========================  ==================================================
:math:`C^{1/2}`, G          ``System.root``, ``System.diagonal``
m                           ``System.mean``
t, r                        ``OutputState.t``, ``OutputState.residual``
search direction            ``OutputState.direction``
weights of t                ``OutputState.weights``
weights of the direction    ``OutputState.weights_direction``
==========================  ==================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fenchel.arrays import Floats
from fenchel.errors import FenchelError
from fenchel.losses import Squared
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Need, Solver, Warm
from fenchel.solvers.curvature import squared_norms
from fenchel.solvers.dual_coordinate.state import squared_length
from fenchel.solvers.reference.loop_symmetric_sweep import SUM, half_sweep
from fenchel.solvers.warm_start import first_dual
from fenchel.solvers.whitening import in_features, whitened
from fenchel.validation import check_bool

#: the residual is recomputed after this many iterations, or once it has decreased by this factor
_RECOMPUTE_ITERATIONS, _RECOMPUTE_DECREASE = 50, 1e-8


class System:
    """A and its preconditioner, by products with X alone."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.lam, self.shares = problem, problem.lam, problem.risk.shares
        kernel = problem.design.kernel()
        self.in_kernel_form = kernel is not None
        self.rows: Any = problem.design.rows() if kernel is None else kernel.descending()
        self.root = np.sqrt(self.shares)
        norms = squared_norms(problem)
        self.projection, self.spread = np.zeros(0), 0.0
        if problem.intercept:
            mean = problem.design.adjoint(self.shares)
            self.projection = problem.design.scores(mean)
            self.spread = squared_length(problem, mean, self.projection)
            # any positive diagonal is valid in a preconditioner: cancellation only costs iterations
            norms = np.maximum(norms + self.spread - 2.0 * self.projection, 0.0)
            #: mean of the vectors that ``weights`` returns, which are scores in kernel form
            self.mean = self.projection if self.in_kernel_form else mean
        self.diagonal = 1.0 + self.shares * norms / self.lam
        if not np.all(np.isfinite(self.diagonal)):
            raise FenchelError("X holds NaN or infinity, or its squared norms over lam overflow: repair or scale X")

    def weights(self, t: Floats) -> Floats:
        """Return Z^T C^1/2 t / lam for the centred rows Z; in kernel form its scores before centring."""
        theta = self.root * t
        if self.problem.intercept:
            theta = theta - self.shares * np.sum(theta)
        u = self.problem.design.adjoint(theta) / self.lam
        return self.problem.design.scores(u) if self.in_kernel_form else u

    def product(self, t: Floats, weights: Floats) -> Floats:
        """Return A t, for t and its weights."""
        scores = weights if self.in_kernel_form else self.problem.design.scores(weights)
        if self.problem.intercept:
            scores = scores - self.shares @ scores
        return t + self.root * scores

    def sweep(self, given: Floats) -> tuple[Floats, Floats]:
        """Return M^-1 given, and its weights."""
        t, _, _ = self._half_sweep(given, False)
        t, u, total = self._half_sweep(self.diagonal * t, True)
        return t, u - total * self.mean if self.problem.intercept else u

    def _half_sweep(self, given: Floats, backward: bool) -> tuple[Floats, Floats, float]:
        t, u, free = np.empty(len(given)), np.zeros(self.problem.design.shape[1]), np.zeros(2)
        fixed = (self.rows, self.root, self.diagonal, self.lam, self.projection, self.spread)
        half_sweep(*fixed, backward, given, t, u, free)
        return t, u, free[SUM]


@dataclass
class OutputState:
    """State of one output."""

    #: C^1/2 y
    right: Floats
    t: Floats
    weights: Floats
    residual: Floats
    direction: Floats
    weights_direction: Floats
    #: r^T M^-1 r of the last iteration; zero restarts the recurrence
    squared_norm: float = 0.0
    iterations_since: int = 0
    #: the norm of the residual when it was last recomputed, and when the recurrence was last inaccurate
    recomputed_norm: float = np.inf
    inaccurate_norm: float = np.inf
    stalled: bool = False


@dataclass
class State:
    """The system and the state of each output."""

    system: System
    outputs: list[OutputState]
    #: R of a whitened problem
    root: Floats | None = None
    turn: int = 0


@dataclass(frozen=True)
class DualConjugateGradient(Solver):
    """Conjugate gradients on the dual of ridge regression, for comparison.

    Parameters
    ----------
    preconditioned : bool, default=True
        Whether a forward and a backward sweep of dual coordinate descent is the preconditioner ([1]_, Sec. 4).

    See Also
    --------
    DualCoordinate : Any loss.
    Newton : Many more examples than features.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MeanRisk
    >>> from fenchel.solvers import DualConjugateGradient
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> y = X[:, 0]
    >>> solution = solve(Problem(X, MeanRisk("squared", y), 0.1), DualConjugateGradient())
    >>> solution.solver, solution.converged
    ('dual_conjugate_gradient', True)
    """

    preconditioned: bool = True
    name: ClassVar[str] = "dual_conjugate_gradient"

    def __post_init__(self) -> None:
        check_bool("preconditioned", self.preconditioned)

    @property
    def needs(self) -> tuple[Need, ...]:
        squared = Need(
            lambda problem: problem.mean_risk.loss == Squared(),
            lambda problem: f"requires the loss 'squared', got {problem.mean_risk.loss.name!r}",
        )
        quadratic = Need(
            lambda problem: needs.RIDGE_OR_KERNEL.met(problem) or problem.regularizer.quadratic_form() is not None,
            lambda problem: (
                f"requires the regularizer 'l2' (ridge), a QuadraticForm or a Gram matrix, got "
                f"{problem.regularizer.name!r}"
            ),
        )
        return (needs.MEAN_OF_LOSSES, squared, quadratic, needs.GRAM_IN_MEMORY)

    def start(self, problem: Problem, warm: Warm | None) -> State:
        problem, warm, root = whitened(problem, warm, diagonal=True)
        system = System(problem)
        theta, _, _ = first_dual(problem, warm)
        state = State(system, [], root)
        columns = zip(np.atleast_2d(theta.T), np.atleast_2d(problem.mean_risk.labels.T), strict=True)
        for start, labels in columns:
            centre = system.shares @ labels if problem.intercept else 0.0
            right = system.root * (labels - centre)
            t = np.divide(start, system.root, out=np.zeros(len(right)), where=system.root > 0)
            weights = system.weights(t) if np.any(t) else np.zeros(problem.design.shape[1])
            output = OutputState(right, t, weights, right, np.zeros_like(t), np.zeros_like(weights))
            output.residual = right - system.product(t, weights)
            output.recomputed_norm = float(np.linalg.norm(output.residual))
            state.outputs.append(output)
        return state

    def step(self, state: State, hint: Hint) -> float:
        if all(output.stalled for output in state.outputs):
            return STALLED
        while state.outputs[state.turn].stalled:
            state.turn = (state.turn + 1) % len(state.outputs)
        passes = self._iterate(state.system, state.outputs[state.turn])
        state.turn = (state.turn + 1) % len(state.outputs)
        return passes / len(state.outputs)

    def expected_gap(self, state: State) -> float:
        return 0.5 * sum(float(output.residual @ output.residual) for output in state.outputs)

    def expected_objective(self, state: State) -> float:
        return 0.5 * sum(float(output.t @ (output.right + output.residual)) for output in state.outputs)

    def propose(self, state: State) -> tuple[Model, Witness]:
        system, problem = state.system, state.system.problem
        theta = system.root[:, None] * np.stack([output.t for output in state.outputs], axis=1)
        if problem.intercept:
            theta -= np.outer(system.shares, np.sum(theta, axis=0))
        vectors = theta.T / problem.lam if system.in_kernel_form else np.stack([o.weights for o in state.outputs])
        intercept = None if problem.intercept else problem.no_intercept()
        weights = in_features(np.ascontiguousarray(vectors).reshape(problem.weights_shape), state.root)
        model = Model(weights, intercept)
        return model, Witness(theta.reshape(problem.theta_shape))

    def _iterate(self, system: System, output: OutputState) -> float:
        """Make one iteration; return the data passes."""
        residual = output.residual
        if self.preconditioned:
            conditioned, weights = system.sweep(residual)
        else:
            conditioned, weights = residual, system.weights(residual)
        squared_norm = float(residual @ conditioned)
        ratio = squared_norm / output.squared_norm if output.squared_norm > 0.0 else 0.0
        direction = conditioned + ratio * output.direction
        weights_direction = weights + ratio * output.weights_direction
        image = system.product(direction, weights_direction)
        curvature = float(direction @ image)
        if not (squared_norm > 0.0 and curvature > 0.0 and np.isfinite(squared_norm / curvature)):
            output.stalled = True
            return 2.0
        length = squared_norm / curvature
        output.direction, output.weights_direction, output.squared_norm = direction, weights_direction, squared_norm
        output.t = output.t + length * direction
        output.weights = output.weights + length * weights_direction
        output.residual = residual - length * image
        output.iterations_since += 1
        passes = (2.0 if self.preconditioned else 0.5) + (0.0 if system.in_kernel_form else 0.5)
        size = float(np.linalg.norm(output.residual))
        if output.iterations_since >= _RECOMPUTE_ITERATIONS or size <= _RECOMPUTE_DECREASE * output.recomputed_norm:
            self._recompute(system, output)
            passes += 1.0
        return passes

    def _recompute(self, system: System, output: OutputState) -> None:
        """Recompute weights and residual from t; restart the recurrence if it is inaccurate, or stall."""
        output.weights = system.weights(output.t)
        residual = output.right - system.product(output.t, output.weights)
        size, error = float(np.linalg.norm(residual)), float(np.linalg.norm(residual - output.residual))
        if 2.0 * error >= size:
            output.squared_norm = 0.0
            # the last restart made no progress: the residual is rounding error
            output.stalled = not 2.0 * size < output.inaccurate_norm
            output.inaccurate_norm = min(size, output.inaccurate_norm)
        output.residual, output.recomputed_norm, output.iterations_since = residual, size, 0

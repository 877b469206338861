r"""Dual coordinate descent: Zhang (2002), Algorithm 1 (dual Gauss-Seidel) with exact steps.

Solves :math:`\min_{w,b} \lambda\,\tfrac12\|w\|^2 + \sum_i c_i f(x_i\cdot w + b, y_i)` through its dual.  Random
permutations of the examples; one visit minimizes the dual over one variable exactly (eq. 13), at the cost of the
example's non-zeros.

Free intercept.  The equality :math:`\sum\theta = 0` is handled by the augmented Lagrangian, eqs. (27)-(31).  Read in
the primal this is a proximal point method in b: each round solves the problem with the extra term
:math:`\tfrac{\lambda}{2B^2}(b - s)^2`, that is a constant feature B, and moves the centre s to the solution.  As the
term is as weak as the regularizer, one round is nearly exact on all but tiny data, a visit stays a single-variable
step (two-variable steps need a partner search and twice the row work), and all of Algorithm 1 (shrinking, random
order, any loss) is kept.  B is the root mean square row norm, so that the constant feature is neither invisible nor
dominant.  The certificate repairs what is left of :math:`\sum\theta`.

Shrinking.  An example whose variable rests on a bound by more than the worst violation of the last pass is set
aside.  All examples come back after every certificate, and whenever the worst violation among the active ones has
become a tenth of what the last full pass saw; a certificate always sees all data, so this can't hide a violation.

===================  =====================================================================
symbol               here
===================  =====================================================================
:math:`\alpha_i`     ``alpha``, :math:`\theta_i = c_i\alpha_i`
w = v                ``weights``, :math:`X^T\theta/\lambda`
:math:`c_1`          ``curvature``, :math:`c_i(\|x_i\|^2 + B^2)/\lambda`
s                    ``centre``
:math:`1/\mu`        ``bias_gain``/λ, that is :math:`B^2/\lambda`
===================  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.loops.dual_coordinate import shuffle, visit
from fenchel.problem import Model, Problem, Witness
from fenchel.regularizers import L2
from fenchel.risks import MeanRisk
from fenchel.solvers.base import STALLED, Hint, Warm

#: entries of X that one step may visit: bounds how long Ctrl-C or a time limit waits
_STEP_ENTRIES = 1 << 25
#: all examples come back when the active ones have improved by this factor
_RESTORE = 0.1


@dataclass
class OutputState:
    """Where the descent of one output stands; with one output there is one of these."""

    labels: NDArray[np.float64]
    alpha: NDArray[np.float64]
    weights: NDArray[np.float64]
    order: NDArray[np.unsignedinteger]
    #: a one-element array, since loops change it
    bias: NDArray[np.float64]
    centre: float
    #: how many examples at the front of ``order`` take part
    active: int = 0
    #: position within the pass, examples kept so far in it, and what it met so far
    position: int = 0
    kept: int = 0
    worst: float = 0.0
    changed: int = 0
    #: set aside what rests by more than this
    threshold: float = np.inf
    #: worst violation in the last pass over all examples
    full_violation: float = np.inf
    restore: bool = True
    stalled: bool = False


@dataclass
class State:
    problem: Problem
    rows: Any
    loss: Any
    curvature: NDArray[np.float64]
    scale: NDArray[np.float64]
    bias_gain: float
    random: NDArray[np.uint64]
    outputs: list[OutputState]
    turn: int = 0
    certificate: Any = field(default=None)


@dataclass(frozen=True)
class DualCoordinate:
    """Options of dual coordinate descent."""

    shrinking: bool = True
    seed: int = 0
    name: ClassVar[str] = "dual_coordinate"

    def supports(self, problem: Problem) -> str | None:
        if not isinstance(problem.risk, MeanRisk):
            return "dual_coordinate needs a mean of losses"
        if not isinstance(problem.regularizer, L2):
            return f"dual_coordinate has no step for the regularizer {problem.regularizer.name!r}"
        return None

    def start(self, problem: Problem, warm: Warm | None) -> State:
        shares, lam = problem.risk.shares, problem.lam
        norms = problem.design.squared_row_norms
        counted = np.flatnonzero(shares > 0)
        mean_norm = float(np.mean(norms[counted]))
        bias_gain = (mean_norm if mean_norm > 0 else 1.0) if problem.intercept else 0.0
        scale = shares / lam
        theta, centre = _first_dual(problem, warm)
        weights = problem.regularizer.transfer(problem.design.adjoint(theta) / lam)
        columns = np.atleast_2d(theta.T)
        alphas = np.divide(columns, shares, out=np.zeros(columns.shape), where=shares > 0)
        index = np.uint32 if len(shares) < 2**32 else np.uint64
        outputs = [
            OutputState(
                labels=np.ascontiguousarray(labels),
                alpha=alpha,
                weights=weight,
                order=counted.astype(index),
                bias=np.array([s + bias_gain * float(np.sum(column)) / lam]),
                centre=float(s),
            )
            for labels, alpha, weight, column, s in zip(
                np.atleast_2d(problem.risk.labels.T), alphas, np.atleast_2d(weights), columns, centre, strict=True
            )
        ]
        return State(
            problem=problem,
            rows=problem.design.rows(),
            loss=problem.risk.loss.kernel(),
            curvature=scale * (norms + bias_gain),
            scale=scale,
            bias_gain=bias_gain,
            random=_random_state(self.seed),
            outputs=outputs,
        )

    def step(self, state: State, hint: Hint) -> float:
        if hint.certificate is not state.certificate:
            # a new certificate is a new round: everyone takes part again
            state.certificate = hint.certificate
            for output in state.outputs:
                output.restore = True
        if all(output.stalled for output in state.outputs):
            return STALLED
        while state.outputs[state.turn].stalled:
            state.turn = (state.turn + 1) % len(state.outputs)
        output = state.outputs[state.turn]
        visits = self._advance(state, output)
        if output.position == 0:
            state.turn = (state.turn + 1) % len(state.outputs)
        return visits / (len(state.scale) * len(state.outputs))

    def propose(self, state: State) -> tuple[Model, Witness]:
        problem, shares = state.problem, state.problem.risk.shares
        weights = np.stack([output.weights for output in state.outputs])
        theta = np.stack([shares * output.alpha for output in state.outputs], axis=1)
        intercept = None if problem.intercept else problem.no_intercept()
        return Model(weights.reshape(problem.weights_shape), intercept), Witness(theta.reshape(problem.theta_shape))

    def _advance(self, state: State, output: OutputState) -> int:
        """Go on with the present pass of one output for a bounded number of visits."""
        if output.position == 0:
            if output.restore or not self.shrinking:
                output.active, output.restore = len(output.order), False
            shuffle(output.order, output.active, state.random)
            output.kept, output.worst, output.changed = 0, 0.0, 0
        entries_per_row = max(1, state.problem.design.stored_entries // len(state.scale))
        begin = output.position
        end = min(output.active, begin + max(1, _STEP_ENTRIES // entries_per_row))
        output.kept, worst, changed = visit(
            state.rows,
            state.loss,
            output.labels,
            output.alpha,
            state.curvature,
            state.scale,
            output.weights,
            output.bias,
            state.bias_gain,
            output.order,
            begin,
            end,
            output.kept,
            output.threshold if self.shrinking else np.inf,
        )
        output.worst, output.changed = max(output.worst, worst), output.changed + changed
        output.position = end
        if end == output.active:
            self._finish_pass(output)
        return end - begin

    def _finish_pass(self, output: OutputState) -> None:
        full = output.active == len(output.order)
        # (31) with eta = 1: the centre moves to the present intercept
        shift = float(output.bias[0]) - output.centre
        output.centre += shift
        output.bias[0] += shift
        output.stalled = full and output.changed == 0 and output.centre + shift == output.centre
        if full:
            output.full_violation = output.worst
        output.threshold = output.worst if output.worst > 0.0 else np.inf
        if output.kept == 0 or (not full and output.worst <= _RESTORE * output.full_violation):
            output.restore = True
        output.active, output.position = output.kept, 0


def _first_dual(problem: Problem, warm: Warm | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The dual point and the intercepts to start from: the witness if it fits, else the model's subgradient."""
    outputs = problem.risk.outputs or 1
    theta, intercept = np.zeros(problem.theta_shape), np.zeros(outputs)
    if warm is None or not problem.fits(warm.model):
        return theta, intercept
    if problem.intercept and warm.model.intercept is not None:
        intercept = np.broadcast_to(np.asarray(warm.model.intercept, dtype=np.float64), (outputs,)).copy()
    if np.shape(warm.witness.theta) == problem.theta_shape:
        theta = warm.witness.theta
    else:
        scores = problem.design.scores(warm.model.weights) + (warm.model.intercept if problem.intercept else 0.0)
        theta = -problem.risk.subgradient(scores)
    return problem.risk.project(theta), intercept


def _random_state(seed: int) -> NDArray[np.uint64]:
    """A state for the xorshift generator, never zero."""
    return np.random.SeedSequence(seed).generate_state(1, np.uint64) | np.uint64(1)

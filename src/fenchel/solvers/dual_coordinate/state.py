"""The state of dual coordinate descent."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.epoch import Part, Tally
from fenchel.compile.primitives.example_sums import multiply
from fenchel.kernels import CachedGram
from fenchel.numerics.limits import DOMAIN_TOLERANCE
from fenchel.problem import Model, Problem, Witness
from fenchel.regularizers import L2
from fenchel.solvers.base import Hint
from fenchel.solvers.dual_coordinate.loop import ALPHA, CENTRE, CURVATURE, LABEL, OFFSET, SCALE, SUM, Intercept, epoch
from fenchel.solvers.dual_coordinate.mirror import MirrorState
from fenchel.solvers.feasibility import Repair
from fenchel.solvers.shrinking import ActiveSet
from fenchel.solvers.simultaneous import Simultaneous, Sums, squared_size
from fenchel.solvers.whitening import in_features

if TYPE_CHECKING:
    from fenchel.solvers.dual_coordinate.violators import Violators

#: a target of this many rounding floors of a certificate is too near to them
_FLOORS = 2.0


@dataclass
class OutputState:
    """The dual variables of one output and the sums that follow from them."""

    #: label, alpha, curvature and scale of each example
    table: Floats
    #: X^T theta / lam; with a Gram matrix the scores K theta / lam
    v: Floats
    #: S, m.v and s, or e, t and s of free directions: an array, since loops change it
    intercept: Floats
    active_set: ActiveSet
    #: B^2, or kappa of free directions
    constant: float = 0.0
    #: the blocks of threads, if there are several
    simultaneous: Simultaneous | None = None
    #: of a mirror map that is not linear
    mirror: MirrorState | None = None
    #: of Newton steps with a Gram matrix, relative to its largest diagonal entry
    damping: float = 1e-6
    #: turns of examples since the last one
    turns_before_newton: int = 0
    #: data passes of epochs before the next step on the free variables of rows (``face``): more before the first one,
    #: when others than those of the solution are free
    passes_before_face: float = 30.0
    #: of loops over rows: those that violate most
    violators: Violators | None = None
    #: for solvers that adapt the constant: epochs since they did, and the largest of |S| then
    inner_epochs: int = 0
    last_residual: float = math.inf


@dataclass(kw_only=True)
class State:
    """What does not change during a solve, and the state of each output."""

    problem: Problem
    rows: Any
    loss: Any
    regularizer: Any
    #: m, m.x_i and |m|^2; with free directions M, and B_i, p_i and q_i of each example
    mean: Floats
    projection: Floats
    centre_square: float = 0.0
    #: with free directions |B_i|^2
    side_norms: Floats | float = 1.0
    random: NDArray[np.uint64]
    outputs: list[OutputState] = field(default_factory=list)
    #: rows of a Gram matrix that are computed when steps need them
    on_demand: CachedGram | None = None
    #: theta of the last proposal
    proposed: Floats | None = None
    #: R of a whitened problem: the weights are R times those of ``problem``
    root: Floats | None = None
    turn: int = 0
    #: the factor of exact steps that curvatures are divided by
    stretch: float = 1.0

    def __post_init__(self) -> None:
        #: makes models that meet the constraints, where the loss is one
        self.repair = Repair(self.problem)

    def new_output(self, label: Array, theta: Array, v: Array, intercept: Array, constant: float) -> OutputState:
        """An output without curvatures."""
        shares = self.problem.risk.shares
        table = np.zeros((len(shares), 4))
        table[:, LABEL] = label
        np.divide(theta, shares, out=table[:, ALPHA], where=shares > 0)
        # a witness has its entries a few roundings inwards of their bounds: a step would move each of them
        low, high = self.problem.mean_risk.loss.domain(label)
        bound = np.where(theta > 0.0, -low, -high)
        near = np.abs(table[:, ALPHA] - bound) <= DOMAIN_TOLERANCE * np.abs(table[:, ALPHA])
        table[:, ALPHA] = np.where(near, bound, table[:, ALPHA])
        table[:, SCALE] = shares / self.problem.lam
        block_rows = self.problem.design.block_rows
        # steps of losses with kinks divide the gap less evenly
        smooth, counted = self.problem.risk.smooth, np.flatnonzero(shares > 0)
        active_set = ActiveSet(counted, len(shares), block_rows=block_rows, extrapolates=smooth)
        self.outputs.append(OutputState(table, v, intercept, active_set, constant))
        return self.outputs[-1]

    def intercept(self, output: OutputState) -> Intercept:
        """The intercept of an output as the loops see it."""
        return Intercept(output.intercept, self.projection, self.spread(output))

    def epoch(self, output: OutputState, part: Part, entries: int) -> Tally:
        """One part of an epoch of one output, with ``entries`` entries of X a turn; in threads if that is worth it."""
        projection, spread, table = self.projection, self.spread(output), output.table

        def run(part: Part, sums: Sums) -> Any:
            intercept = Intercept(sums.intercept, projection, spread)
            return epoch(self.rows, self.loss, self.regularizer, table, sums.v, intercept, part)

        def square(change: Sums) -> float:
            # of centred rows and the constant feature: |v - S m|^2 + B^2 S^2
            total, offset = change.intercept[[SUM, OFFSET]]
            return squared_size(change.v) + float(total * (spread * total - 2.0 * offset))

        blocks, sums = output.simultaneous, Sums(output.v, output.intercept)
        if blocks is None or not blocks.is_worth_it(part, entries, len(output.v)):
            return Tally(*run(part, sums))
        return blocks.epoch(part, sums, table[:, ALPHA], run, square)

    def scores(self, output: OutputState, selected: Array) -> Floats:
        """The scores of some examples at the running sums, with the intercept."""
        result = np.empty(len(selected))
        multiply(self.rows, selected, output.v, result, 0, len(selected))
        if len(self.projection):
            total, offset, centre = output.intercept
            result += total * (self.spread(output) - self.projection[selected]) - offset + centre
        return result

    def spread(self, output: OutputState) -> float:
        """M + B^2, the square of the centre and of the constant feature."""
        return self.centre_square + output.constant

    def theta(self) -> Floats:
        """The dual variables of all outputs."""
        shares = self.problem.risk.shares
        theta = np.stack([shares * output.table[:, ALPHA] for output in self.outputs], axis=1)
        return theta.reshape(self.problem.theta_shape)

    def dual_vector(self, theta: Array) -> Floats:
        """The dual vector of centred rows; of a Gram matrix the coefficients."""
        if in_kernel_form(self.problem):
            v = np.atleast_2d(np.ascontiguousarray(theta.T)) / self.problem.lam
        else:
            v = np.stack([output.v for output in self.outputs])
        if self.problem.intercept and np.any(self.mean):
            v -= np.outer([output.intercept[SUM] for output in self.outputs], self.mean)
        return v.reshape(self.problem.weights_shape)

    def objective(self) -> float:
        """The dual objective at the running sums."""
        theta = self.theta()
        return -self.dual_square(theta) - self.problem.closed_form.conjugate(theta, feasible=True)

    def dual_square(self, theta: Array) -> float:
        """Lam times the conjugate of the regularizer.

        In kernel form it comes from the running sums: lam/2 |Phi^T (theta/lam - S m)|^2 with v = K theta/lam.
        """
        problem, total = self.problem, 0.0
        if problem.regularizer.is_ridge and not problem.intercept:
            # an estimate needs neither a copy of v nor a sum with few roundings
            return 0.5 * problem.lam * sum(float(output.v @ output.v) for output in self.outputs)
        if not in_kernel_form(problem):
            return problem.lam * problem.regularizer.conjugate(self.dual_vector(theta))
        for output, column in zip(self.outputs, np.atleast_2d(theta.T), strict=True):
            total += 0.5 * float(column @ output.v)
            if problem.intercept:
                size = output.intercept[SUM]
                total += problem.lam * size * (0.5 * size * self.centre_square - output.intercept[OFFSET])
        return total

    def propose(self) -> tuple[Model, Witness]:
        """The present model, whose intercept the certificate chooses, and theta."""
        problem, theta = self.problem, self.theta()
        intercept = None if problem.intercept else problem.no_intercept()
        if self.on_demand is not None:
            # as a certificate would: the rows of K for the scores of this model are those for theta
            theta = problem.mean_risk.project(theta)
            if problem.intercept:
                theta, _ = problem.mean_risk.balance(theta)
            v = problem.design.adjoint(theta) / problem.lam
        else:
            v = self.dual_vector(theta)
        self.proposed = theta
        weights = problem.regularizer.grad_conjugate(v)
        return self.repair(Model(in_features(weights, self.root), intercept), Witness(theta))

    def refresh(self, output: OutputState) -> None:
        """Recompute the running sums of the loop from theta, free of accumulated rounding errors."""
        problem, theta = self.problem, self.problem.risk.shares * output.table[:, ALPHA]
        v = problem.design.adjoint(theta) / problem.lam
        output.v[:] = problem.design.scores(v) if in_kernel_form(problem) else v
        if problem.intercept:
            output.intercept[[SUM, OFFSET]] = np.sum(theta) / problem.lam, self.mean @ output.v
        if output.mirror is not None:
            output.mirror.begin(self, output)

    def correct(self, hint: Hint) -> None:
        """Set the scores of rounded rows to those of the certificate of the last proposal, which are accurate.

        A certificate changes theta by rounding, or so much that the running sums stay as they are.  A target of the
        size of the rounding errors of products with computed rows needs the smaller ones of the whole matrix.
        """
        problem, theta = self.problem, self.theta()
        if self.on_demand is None or not self.on_demand.rounded or self.proposed is None:
            return
        kernel, certificate = problem.design.kernel(), hint.certificate
        assert kernel is not None
        if certificate is not None and hint.target_gap < _FLOORS * certificate.rounding_floor:
            kernel.complete()
        if np.max(np.abs(theta - self.proposed)) <= DOMAIN_TOLERANCE * np.max(np.abs(theta)):
            scores = problem.design.scores(problem.design.adjoint(self.proposed) / problem.lam)
            for output, column in zip(self.outputs, np.atleast_2d(scores.T), strict=True):
                output.v[:] = column

    def move_centre(self, output: OutputState, eta: float) -> None:
        """(31): move the multipliers."""
        output.intercept[CENTRE] += eta * output.constant * output.intercept[SUM]

    def raise_constant(self, output: OutputState, factor: float, stretch: float) -> None:
        """Multiply B^2, or kappa; the curvatures of all examples follow."""
        growth = (factor - 1.0) * output.constant
        output.constant += growth
        if output.mirror is None:
            output.table[:, CURVATURE] += output.table[:, SCALE] * growth * self.side_norms / stretch

    def adapt_constant(self, output: OutputState) -> None:
        """Choose kappa again, where steps meet other curvatures than the first ones."""

    def residual_rounding(self, output: OutputState) -> float:
        """The size of |S| that rounding alone may make."""
        return 0.0


def in_kernel_form(problem: Problem) -> bool:
    """Whether v holds scores in the place of weights, eq. (15)."""
    return problem.regularizer.kernel() is not None


def compiled_regularizer(problem: Problem) -> Any:
    """The regularizer for the loop: in kernel form v are the scores themselves."""
    return (L2() if in_kernel_form(problem) else problem.regularizer).compiled()


def squared_length(problem: Problem, vector: Array, scores: Array) -> float:
    """The squared length of a dual vector with these scores, which a Gram matrix needs: there it has coefficients."""
    return float(vector @ (scores if in_kernel_form(problem) else vector))

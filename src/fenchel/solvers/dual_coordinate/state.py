"""The state of dual coordinate descent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.problem import Problem
from fenchel.regularizers import L2
from fenchel.solvers.dual_coordinate.loop import OFFSET, SUM, Intercept
from fenchel.solvers.dual_coordinate.mirror import MirrorState
from fenchel.solvers.feasibility import Repair
from fenchel.solvers.shrinking import ActiveSet


@dataclass
class OutputState:
    """The dual variables of one output and the sums that follow from them."""

    #: label, alpha, curvature and scale of each example
    table: Floats
    #: X^T theta / lam; with a Gram matrix the scores K theta / lam
    v: Floats
    #: S, m.v and s: an array, since loops change it
    intercept: Floats
    active_set: ActiveSet
    #: B^2
    constant: float = 0.0
    #: of a mirror map that is not linear
    mirror: MirrorState | None = None
    #: for solvers that adapt the constant: epochs since they did, and |S| then
    inner_epochs: int = 0
    last_sum: float = math.inf


@dataclass
class State:
    """What does not change during a solve, and the state of each output."""

    problem: Problem
    rows: Any
    loss: Any
    regularizer: Any
    mean: Floats
    projection: Floats
    #: |m|^2
    centre_square: float
    random: NDArray[np.uint64]
    outputs: list[OutputState]
    #: makes models that meet the constraints, where the loss is one
    repair: Repair
    #: R of a whitened problem: the weights are R times those of ``problem``
    root: Floats | None = None
    turn: int = 0
    #: the number of certificates when the solver last restored all examples
    certificates: int = 0

    def intercept(self, output: OutputState) -> Intercept:
        """The intercept of an output as the loops see it."""
        return Intercept(output.intercept, self.projection, self.centre_square + output.constant)


def in_kernel_form(problem: Problem) -> bool:
    """Whether v holds scores in the place of weights, eq. (15)."""
    return problem.regularizer.kernel() is not None


def compiled_regularizer(problem: Problem) -> Any:
    """The regularizer for the loop: in kernel form v are the scores themselves."""
    return (L2() if in_kernel_form(problem) else problem.regularizer).compiled()


def squared_length(problem: Problem, vector: Array) -> float:
    """The squared length of a dual vector."""
    return 2.0 * problem.regularizer.value(vector) if in_kernel_form(problem) else float(vector @ vector)


def dual_square(state: State, vectors: Array, theta: Array) -> float:
    """Lam times the conjugate of the regularizer.

    In kernel form it comes from the running sums: lam/2 |Phi^T (theta/lam - S m)|^2 with v = K theta/lam.
    """
    problem, total = state.problem, 0.0
    if not in_kernel_form(problem):
        return problem.lam * problem.regularizer.conjugate(vectors)
    for output, column in zip(state.outputs, np.atleast_2d(theta.T), strict=True):
        total += 0.5 * float(column @ output.v)
        if problem.intercept:
            size = output.intercept[SUM]
            total += problem.lam * size * (0.5 * size * state.centre_square - output.intercept[OFFSET])
    return total

"""Where dual coordinate descent stands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.problem import Problem
from fenchel.regularizers import L2
from fenchel.solvers.dual_coordinate.loop import OFFSET, SUM
from fenchel.solvers.dual_coordinate.mirror import Transfer
from fenchel.solvers.feasibility import Repair
from fenchel.solvers.shrinking import Descent


@dataclass
class OutputState:
    """Where the descent of one output stands; with one output there is one of these."""

    #: label, alpha, curvature and scale of each example
    book: NDArray[np.float64]
    u: NDArray[np.float64]
    #: S, m.u and s: an array, since loops change it
    free: NDArray[np.float64]
    descent: Descent
    #: B^2
    constant: float = 0.0
    #: what weights that are no linear function of u need besides
    transfer: Transfer | None = None
    #: for solvers that adapt the constant: passes since they did, and |S| then
    inner_passes: int = 0
    last_sum: float = math.inf


@dataclass
class State:
    """The fixed numbers of a problem and where each of its outputs stands."""

    problem: Problem
    rows: Any
    loss: Any
    regularizer: Any
    mean: NDArray[np.float64]
    projection: NDArray[np.float64]
    #: |m|^2
    centre_square: float
    random: NDArray[np.uint64]
    outputs: list[OutputState]
    #: makes models that meet the constraints, where the loss is one
    repair: Repair
    #: R of a whitened problem: the weights are R times those of ``problem``
    root: NDArray[np.float64] | None = None
    turn: int = 0
    #: the certificates that had been made when the solver last took all examples back
    certificates: int = 0


def in_kernel_form(problem: Problem) -> bool:
    """Whether u holds scores in the place of weights, eq. (15)."""
    return problem.regularizer.kernel() is not None


def compiled_regularizer(problem: Problem) -> Any:
    """The regularizer for the loop: in kernel form u are the scores themselves."""
    return (L2() if in_kernel_form(problem) else problem.regularizer).compiled()


def squared_length(problem: Problem, vector: NDArray) -> float:
    """The squared length of a dual vector."""
    return 2.0 * problem.regularizer.value(vector) if in_kernel_form(problem) else float(vector @ vector)


def dual_square(state: State, vectors: NDArray, theta: NDArray) -> float:
    """Lam times the conjugate of the regularizer.

    In kernel form it comes from the running sums: lam/2 |Phi^T (theta/lam - S m)|^2 with u = K theta/lam.
    """
    problem, total = state.problem, 0.0
    if not in_kernel_form(problem):
        return problem.lam * problem.regularizer.conjugate(vectors)
    for output, column in zip(state.outputs, np.atleast_2d(theta.T), strict=True):
        total += 0.5 * float(column @ output.u)
        if problem.intercept:
            size = output.free[SUM]
            total += problem.lam * size * (0.5 * size * state.centre_square - output.free[OFFSET])
    return total

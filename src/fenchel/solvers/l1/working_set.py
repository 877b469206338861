"""A working set of features, and the minimum of the quadratic model on it: see ``prox_newton``."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.primitives.example_sums import half_gram
from fenchel.designs import Design
from fenchel.problem import Problem
from fenchel.risks import MeanRisk
from fenchel.solvers.l1.loop import descend, moments
from fenchel.solvers.quadratic_l1 import settle

#: sweeps along coordinates between two steps on a face
_SWEEPS = 25
#: passes of coordinate descent in one step
_PASSES = 100
#: curvatures of examples are at least this share of the largest: at first, at least; raised after steps below so much
LIFT, LEAST_LIFT, SHORT = 1e-3, 1e-8, 0.3
#: and those of weights this share of what they are without centring
_CANCELLATION = 1e-12
#: looks in a row without progress that mean that there will be none
_IDLE = 3


@dataclass
class Part:
    """One output: its problem, where it stands, and its working set."""

    problem: Problem
    weights: NDArray[np.float64]
    intercept: float
    #: X w + b
    scores: NDArray[np.float64]
    #: the features that are not screened, and the root of sum_i c_i x_ij^2 for each
    alive: NDArray[np.int64]
    lengths: NDArray[np.float64]
    #: the features of the working set, X with these alone, and its columns as rows, if they are needed
    chosen: NDArray[np.int64]
    design: Design | None = None
    columns: Design | None = None
    #: the objective and the gap of the last look, and the gap that the working set may leave
    objective: float = np.inf
    gap: float = np.inf
    #: whether all features should be looked at next
    looking: bool = True
    idle: int = 0
    #: how much curvature examples without are given
    lift: float = LIFT

    @property
    def stalled(self) -> bool:
        return self.idle >= _IDLE


def lift_up(bend: NDArray, risk: MeanRisk, lift: float) -> None:
    """Give every example some curvature; with ``lift`` 1 the quadratic model is above the risk."""
    most = risk.loss.largest_curvature
    if math.isinf(most):
        most = float(np.max(np.divide(bend, risk.shares, out=np.zeros_like(bend), where=risk.shares > 0))) or 1.0
    np.maximum(bend, lift * most * risk.shares, out=bend)


def by_matrix(
    part: Part, weights: NDArray, theta: NDArray, bend: NDArray, pulls: NDArray, enough: float
) -> tuple[NDArray[np.float64], float, float]:
    """The way to the minimum of the quadratic model, formed: the change of weights and intercept, and passes."""
    design, free, size = part.design, part.problem.intercept, len(weights)
    assert design is not None
    every = np.arange(len(theta))
    formed = design.gram(every, bend)
    if formed is None:
        half, border = np.zeros((size, size)), np.zeros(size)
        half_gram(design.rows(), every, bend, half, border, 0, len(theta))
        formed = half + half.T, border
    matrix, slope = np.zeros((size + free, size + free)), np.zeros(size + free)
    matrix[:size, :size], slope[:size] = formed[0], -pulls
    if free:
        matrix[size, :size] = matrix[:size, size] = formed[1]
        matrix[size, size], slope[size] = np.sum(bend), -np.sum(theta)
    limits, point = np.full(size + free, part.problem.lam), np.zeros(size + free)
    limits[size:], point[:size] = 0.0, weights
    settle(matrix, limits, point, slope, 0.1 * enough, enough, _SWEEPS)
    return point[:size] - weights, float(point[size]) if free else 0.0, 1.0


def by_columns(
    part: Part, weights: NDArray, theta: NDArray, bend: NDArray, pulls: NDArray, enough: float
) -> tuple[NDArray[np.float64], float, float]:
    """The same by coordinate descent over columns."""
    problem, columns = part.problem, part.columns
    assert columns is not None
    rows, first, second = columns.rows(), np.zeros(len(weights)), np.zeros(len(weights))
    moments(rows, bend, first, second)
    total = float(np.sum(bend)) if problem.intercept else 0.0
    slope, shift, new = -theta, np.zeros(1), weights.copy()
    if problem.intercept:
        shift[0] = -float(np.sum(slope)) / total
        second = np.maximum(second - first**2 / total, _CANCELLATION * second)
    else:
        first[:] = 0.0
    np.maximum(second, np.finfo(np.float64).tiny, out=second)
    full, partial = descend(rows, new, slope, bend, shift, first, second, total, problem.lam, enough, _PASSES)
    share = np.count_nonzero(new) / max(1, len(new))
    return new - weights, float(shift[0]), 1.0 + full + partial * share


def violation_of(weights: NDArray, pulls: NDArray, lam: float) -> float:
    """The worst violation of the optimality conditions: v_j = lam sign(w_j), or |v_j| <= lam where w_j = 0."""
    found = np.where(weights != 0.0, np.abs(pulls - lam * np.sign(weights)), np.maximum(np.abs(pulls) - lam, 0.0))
    return float(np.max(found, initial=0.0))


def with_kinks(slope: float, lam: float, weights: NDArray, change: NDArray, *, right: bool = False) -> float:
    """The derivative with the absolute values; zero anywhere within a kink, or the one to the right."""
    at_zero = weights == 0.0
    kinks = lam * float(np.sum(np.abs(change[at_zero])))
    slope += lam * float(np.sign(weights[~at_zero]) @ change[~at_zero])
    if right:
        return slope + kinks
    return slope - float(np.clip(slope, -kinks, kinks))

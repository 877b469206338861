r"""Subgradient descent with the steps of Pegasos on any risk: Saha, Zhang and Vishwanathan, Sec. 6.

With :math:`g_s\in\partial R` at :math:`w_s`, as the adversary chooses it, and steps of :math:`1/(\lambda t)`

.. math:: w_{t+1} = \bigl(1 - \tfrac1t\bigr)w_t - \tfrac1{\lambda t}X^Tg_t = -\frac1{\lambda t}X^T\sum_{s\le t} g_s,

so minus the mean of the subgradients is a dual point of the model (Shalev-Shwartz, Singer and Srebro 2007, without
projections).  The iterates are combinations of the subgradients that were seen.  On ``Hadamard`` such a method has
:math:`\max_i\langle a_i, w_t\rangle \ge 0` as long as a piece is unseen, hence

.. math:: J(w_t) - J^* \ge \frac1{2\lambda d} \quad (t < d), \qquad \text{that is, } \frac{L^2}{2\lambda(t + 1)}
          \text{ for } d = t + 1 \text{ pieces of length } L,

whatever its steps are, for iterates and for their averages: the bound of Nemirovski and Yudin (1983) with the constant
of this construction.  With the steps above the iterates are those of the bundle method, so that it needs
:math:`\Theta(1/(\lambda\epsilon))` steps too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fenchel.arrays import Floats
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers import needs
from fenchel.solvers.base import Hint, Need, Solver, Warm


@dataclass
class State:
    """The weights, the sums of subgradients and of iterates, and the number of steps."""

    problem: Problem
    weights: Floats
    subgradients: Floats
    total: Floats
    steps: int = 0


@dataclass(frozen=True)
class Subgradient(Solver):
    """Subgradient descent with steps of 1/(lam t), from zero; with ``averages`` it proposes the mean iterate."""

    averages: bool = False
    name: ClassVar[str] = "subgradient"

    @property
    def needs(self) -> tuple[Need, ...]:
        return (needs.RIDGE, needs.NO_INTERCEPT)

    def start(self, problem: Problem, warm: Warm | None) -> State:
        weights = np.zeros(problem.weights_shape)
        return State(problem, weights, np.zeros(problem.theta_shape), np.zeros_like(weights))

    def step(self, state: State, hint: Hint) -> float:
        problem = state.problem
        state.subgradients = state.subgradients + problem.risk.cutting_plane(problem.design.scores(state.weights))[0]
        state.steps += 1
        state.weights = -problem.design.adjoint(state.subgradients) / (problem.lam * state.steps)
        state.total = state.total + state.weights
        return 1.0

    def propose(self, state: State) -> tuple[Model, Witness]:
        count = max(state.steps, 1)
        weights = state.total / count if self.averages else state.weights.copy()
        return Model(weights, state.problem.no_intercept()), Witness(-state.subgradients / count)

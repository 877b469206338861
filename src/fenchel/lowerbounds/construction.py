r"""Base class of lower-bound constructions, and the iterates of solvers on them.

A construction is a problem :math:`J(w) = \lambda\|w\|^2/2 + R(Xw)` together with a start :math:`w_0` and the
subgradient that an adversary chooses wherever R has a kink: its risk answers with that one.  For the bundle method that
the theorem is about (without stabilisation, with an exact inner problem) every iterate :math:`w_k`, the optimum
:math:`J^*` and the gap :math:`J(w_k) - J^*` are known.  The gap is that of the present iterate, k >= 1: the start
itself is often better than all that follow.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import STALLED, Hint, Solver, Start
from fenchel.solvers.bundle.solver import Bundle

#: values that differ by no more than this share of their size are equal to an adversary
TIE = 1e-8


class Construction(abc.ABC):
    """One problem of a lower bound."""

    name: ClassVar[str]
    #: paper and theorem
    reference: ClassVar[str]
    #: the bundle method whose iterates are known: its ``inner``
    inner: ClassVar[str] = "qp"
    #: how the number of steps depends on epsilon
    rate: ClassVar[str] = "1/ε"

    @classmethod
    @abc.abstractmethod
    def for_accuracy(cls, epsilon: float) -> Self:
        """The construction of the theorem for this accuracy."""

    @property
    @abc.abstractmethod
    def problem(self) -> Problem: ...

    @property
    @abc.abstractmethod
    def start(self) -> Floats:
        """w_0."""

    @property
    @abc.abstractmethod
    def optimum(self) -> float:
        """J*."""

    @property
    @abc.abstractmethod
    def last(self) -> int:
        """The largest k for which the formulas hold."""

    @abc.abstractmethod
    def iterate(self, k: int) -> Floats:
        """w_k."""

    @abc.abstractmethod
    def gap(self, k: int) -> float:
        """J(w_k) - J*."""

    def objective(self, weights: Array) -> float:
        """J(w), the objective."""
        problem = self.problem
        return problem.lam * problem.regularizer.value(weights) + problem.risk.value(problem.design.scores(weights))

    @property
    def solver(self) -> Bundle:
        """The bundle method of the theorem."""
        return bundle(self.inner)


class SizedConstruction(Construction):
    """A construction of n examples, about 1/epsilon."""

    def __init__(self, n: int) -> None:
        if n < 2:
            raise FenchelError(f"n must be at least 2, got {n}")
        self.n = n

    @cached_property
    def problem(self) -> Problem:
        return self._problem()

    @abc.abstractmethod
    def _problem(self) -> Problem:
        """The problem, cached."""


def bundle(inner: str) -> Bundle:
    """The bundle method of the papers: no stabilisation, and an exact inner problem."""
    return Bundle(inner, "none", inner_share=0.0)


def inverse(epsilon: float) -> float:
    """1/epsilon, rounded; raise unless epsilon is between 0 and 1."""
    if not 0.0 < epsilon < 1.0:
        raise FenchelError(f"epsilon must be between 0 and 1, got {epsilon}")
    found = 1.0 / epsilon
    return float(round(found)) if math.isclose(found, round(found), rel_tol=1e-12) else found


def weights_of(solver: Any, construction: Construction) -> Iterator[Floats]:
    """The iterates w_1, w_2, ... of a solver, until it stalls."""
    problem = construction.problem
    cutting = isinstance(solver, Bundle)
    # no dual point comes with the start
    start = Start(Model(construction.start, problem.no_intercept()), Witness(np.zeros(0))) if cutting else None
    state, hint = solver.start(problem, start), Hint(None, 0.0, lambda: False)
    if not cutting and solver.step(state, hint) == STALLED:
        return
    while True:
        # a bundle method proposes its best point: here the present one counts
        yield np.array(state.model.weights if cutting else solver.propose(state)[0].weights)
        if solver.step(state, hint) == STALLED:
            return


def gaps(solver: Solver, construction: Construction, count: int) -> Floats:
    """J(w_k) - J* for k = 1, ..., count, or fewer if the solver stalls."""
    found = islice(weights_of(solver, construction), count)
    return np.array([construction.objective(weights) - construction.optimum for weights in found])


def first_tied(values: Array) -> int:
    """The first index whose value is the largest, up to rounding."""
    largest = float(np.max(values))
    return int(np.argmax(values >= largest - TIE * (1.0 + float(np.max(np.abs(values))))))

"""Rounds of CoCoA+ (``cocoa``): their state on the driver, with one dual variable for each example, and their sums."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Floats
from fenchel.dask.design import ShardedDesign, sharded
from fenchel.dask.local_epochs import Moved, coordinates, local_epochs
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import Warm
from fenchel.solvers.dual_coordinate.loop import CENTRE, OFFSET, SUM
from fenchel.solvers.warm_start import first_dual

#: B^2, the square of the constant feature, as a share of the mean squared norm of the centred rows, and its least
#: multiple of lam; as in ``dual_coordinate``
_CONSTANT, _PROXIMAL = 0.1, 0.1
#: rounds after which v is computed again from theta, to remove accumulated rounding errors
_RECOMPUTE_ROUNDS = 50


@dataclass(kw_only=True)
class Rounds(abc.ABC):
    """The dual variables on the driver, and the sums that follow from them."""

    problem: Problem
    design: ShardedDesign
    #: what the steps of each group need beside its rows, held on its worker
    held: Sequence[Any]
    random: np.random.Generator
    #: the weighted mean m of the rows; empty without an intercept
    mean: Floats
    constant: float
    gap: float = np.inf
    rounds: int = 0
    idle_rounds: int = 0

    @property
    def seeds(self) -> list[int]:
        """A seed for each group."""
        return self.random.integers(2**31, size=len(self.design.facts)).tolist()

    @abc.abstractmethod
    def epochs(self, share: float, sigma: float) -> Sequence[Any]:
        """Descend on each group; return what changed."""

    @abc.abstractmethod
    def dual_along(self, moved: Sequence[Any]) -> Callable[[float], float]:
        """Return the dual objective as a function of the multiple t of the changes."""

    @abc.abstractmethod
    def add(self, moved: Sequence[Any], t: float) -> bool:
        """Add t times the changes, and move the multiplier of the intercept; return whether it moved."""

    @abc.abstractmethod
    def refresh(self) -> None:
        """Compute v and the sums of theta again from theta."""

    @abc.abstractmethod
    def propose(self) -> tuple[Model, Witness]:
        """Return copies of the present model and dual point."""

    def round(self, share: float, sigma: float, search: bool) -> None:
        """Descend on each group, and add up the changes."""
        moved = self.epochs(share, sigma)
        t = best_multiple(self.dual_along(moved), 1.0 / len(moved)) if search and len(moved) > 1 else 1.0
        intercept_moved = self.add(moved, t)
        self.gap = float(sum(one.gap for one in moved))
        self.rounds += 1
        idle = not any(one.changes for one in moved) and not intercept_moved
        self.idle_rounds = self.idle_rounds + 1 if idle else 0
        if self.rounds % _RECOMPUTE_ROUNDS == 0 or idle:
            self.refresh()


class Beginning(NamedTuple):
    """What rounds of any kind begin with: fields of ``Rounds``."""

    problem: Problem
    design: ShardedDesign
    random: np.random.Generator
    mean: Floats
    constant: float


def beginning(problem: Problem, seed: int) -> Beginning:
    """Return the shards, the random numbers, the mean of the rows and B^2; empty and zero without an intercept."""
    design = sharded(problem)
    assert design is not None
    mean, constant = np.zeros(0), 0.0
    if problem.intercept:
        mean = design.adjoint(problem.risk.shares)
        # the variance of the rows about their mean
        spread = max(design.mean_square - float(mean @ mean), 0.0)
        constant = max(_CONSTANT * spread, _PROXIMAL * problem.lam)
    return Beginning(problem, design, np.random.default_rng(seed), mean, constant)


@dataclass(kw_only=True)
class SingleRounds(Rounds):
    """One dual variable for each example."""

    alpha: Floats
    v: Floats
    #: S, m.v and s, as in ``dual_coordinate.loop``
    intercept: Floats = field(default_factory=lambda: np.zeros(3))

    @classmethod
    def start(cls, problem: Problem, warm: Warm | None, seed: int) -> SingleRounds:
        """Return the state at a warm start, or at zero."""
        begin = beginning(problem, seed)
        design, mean = begin.design, begin.mean
        shares, risk = problem.risk.shares, problem.mean_risk
        parts = design.split(risk.labels), design.split(shares)
        held = design.groups.place(coordinates, *parts, loss=risk.loss, mean=mean)
        theta, v, centre = first_dual(problem, warm)
        alpha = np.divide(theta, shares, out=np.zeros_like(theta), where=shares > 0)
        found = cls(**begin._asdict(), held=held, alpha=alpha, v=np.array(v))
        if problem.intercept:
            found.intercept[:] = np.sum(theta) / problem.lam, mean @ v, centre[0]
        return found

    @property
    def theta(self) -> Floats:
        """The dual variables, as a witness has them."""
        return self.problem.risk.shares * self.alpha

    @property
    def weights(self) -> Floats:
        """v - S m."""
        return self.v - self.intercept[SUM] * self.mean if len(self.mean) else self.v.copy()

    def refresh(self) -> None:
        theta = self.theta
        self.v = self.design.adjoint(theta) / self.problem.lam
        if len(self.mean):
            self.intercept[[SUM, OFFSET]] = np.sum(theta) / self.problem.lam, self.mean @ self.v

    def epochs(self, share: float, sigma: float) -> list[Moved]:
        return self.design.groups.map(
            local_epochs,
            self.held,
            self.design.split(self.alpha),
            self.seeds,
            v=self.v,
            state=self.intercept,
            spread=float(self.mean @ self.mean) + self.constant,
            constant=self.constant,
            sigma=sigma,
            lam=self.problem.lam,
            epochs=share,
        )

    def dual_along(self, moved: Sequence[Moved]) -> Callable[[float], float]:
        problem, shares, form = self.problem, self.problem.risk.shares, self.problem.closed_form
        change = np.concatenate([one.alpha for one in moved]) - self.alpha
        along, total = self.design.ordered_sum([one.v for one in moved]), float(sum(one.total for one in moved))
        along = along - total * self.mean if len(self.mean) else along
        begin, level, centre = self.weights, self.intercept[SUM], self.intercept[CENTRE]

        def dual(t: float) -> float:
            weights, sums = begin + t * along, level + t * total
            quadratic = -0.5 * float(weights @ weights) - 0.5 * self.constant * sums**2 - centre * sums
            theta = form.project(shares * (self.alpha + t * change))
            return problem.lam * quadratic - form.conjugate(theta, feasible=True)

        return dual

    def add(self, moved: Sequence[Moved], t: float) -> bool:
        alpha = np.concatenate([one.alpha for one in moved])
        # t = 1 keeps the bounds of the domain bit by bit
        self.alpha = alpha if t == 1.0 else self.alpha + t * (alpha - self.alpha)
        self.v = self.v + t * self.design.ordered_sum([one.v for one in moved])
        if not len(self.mean):
            return False
        self.intercept[SUM] += t * float(sum(one.total for one in moved))
        self.intercept[OFFSET] = self.mean @ self.v
        before = self.intercept[CENTRE]
        self.intercept[CENTRE] += self.constant * self.intercept[SUM]
        return bool(self.intercept[CENTRE] != before)

    def propose(self) -> tuple[Model, Witness]:
        intercept = None if self.problem.intercept else self.problem.no_intercept()
        return Model(self.weights, intercept), Witness(self.theta)


def best_multiple(dual: Callable[[float], float], least: float) -> float:
    r"""Return t in [least, 1] that nearly maximizes the dual along the changes of a round.

    The dual is interpolated by a parabola through t = 0, 1/2 and 1, which is exact for losses whose conjugate is
    quadratic on the way; of its maximizer, ``least`` and 1 the best one is returned.
    """
    at = {t: dual(t) for t in (0.0, 0.5, 1.0)}
    second = 2.0 * (at[0.0] - 2.0 * at[0.5] + at[1.0])
    slope = at[1.0] - at[0.0] - second
    found = -0.5 * slope / second if second < 0.0 else 1.0
    found = float(np.clip(found, least, 1.0))
    for t in {found, least} - {1.0}:
        at[t] = dual(t)
    return max((found, least, 1.0), key=lambda t: at[t])

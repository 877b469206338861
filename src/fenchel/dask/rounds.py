"""Rounds of CoCoA+ (``cocoa``): their state on the driver, and their sums, with one dual variable for each example.

The dual variables stay beside their groups (``resident``), where certificates are computed.
"""

from __future__ import annotations

import abc
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Floats
from fenchel.certificate import HeldWitness, rows_in_groups
from fenchel.dask.design import ShardedDesign, sharded
from fenchel.dask.intercept_search import InterceptSearch
from fenchel.dask.local_epochs import Moved, coordinates, local_epochs
from fenchel.dask.local_points import score_change, slopes_at
from fenchel.dask.resident import Turn, dual_sums, dual_variables, held_theta, moved_by, scaled
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import Warm
from fenchel.solvers.dual_coordinate.loop import CENTRE, OFFSET, SUM
from fenchel.solvers.simultaneous import measured_step
from fenchel.solvers.warm_start import first_dual

#: B^2, the square of the constant feature, as a share of the mean squared norm of the centred rows, and its least
#: multiple of lam; as in ``dual_coordinate``
_CONSTANT, _PROXIMAL = 0.1, 0.1
#: rounds after which v is computed again from theta, to remove accumulated rounding errors
_RECOMPUTE_ROUNDS = 50
#: how often dual variables may be missing on a worker, and rounds be lost, before they travel in every round
_MOST_LOSSES = 3
#: seconds between two backups of the dual variables on the driver, in units of what the last one took
_BACKUP_RATIO = 100.0
#: how far R may be from the least one of any intercept, in units of the gap of the examples
_INTERCEPT_SHARE = 0.02


@dataclass(kw_only=True)
class Rounds(abc.ABC):
    """The dual variables as they were gathered last, and the present sums that follow from them."""

    problem: Problem
    design: ShardedDesign
    #: what the steps of each group need beside its rows, held on its worker with its dual variables
    held: Sequence[Any]
    #: the dual variables when they were gathered last, (n,) or (n, k)
    alpha: Floats
    random: np.random.Generator
    #: the weighted mean m of the rows; empty without an intercept
    mean: Floats
    constant: float
    sigma: float
    gap: float = np.inf
    rounds: int = 0
    idle_rounds: int = 0
    #: of the last turn, and the step that multiplied its changes
    number: int = 0
    gamma: float = 1.0
    #: whether ``alpha`` is the present one, and whether the groups do not have it yet
    gathered: bool = True
    sends: bool = True
    #: how often workers did not have the dual variables
    losses: int = 0
    #: when the driver gathered them last, and the seconds until it does so again
    backed_up: float = -math.inf
    backup_interval: float = 0.0

    @property
    def seeds(self) -> list[int]:
        """A seed for each group."""
        return self.random.integers(2**31, size=len(self.design.facts)).tolist()

    @property
    def travels(self) -> bool:
        """Whether the dual variables go both ways in every round."""
        return self.losses > _MOST_LOSSES

    @property
    def turns(self) -> list[Turn]:
        """Where the next round begins on each group."""
        parts: Sequence[Floats | None] = [None] * len(self.design.facts)
        if self.sends or self.travels:
            parts = self.design.split(self.alpha)
        return [Turn(self.number + 1, self.gamma, part) for part in parts]

    @property
    def theta(self) -> Floats:
        """The dual variables, as a witness has them, from the workers if the driver does not have them."""
        if not self.gathered:
            parts = self.design.groups.map(dual_variables, self.held, self.turns)
            known = [one for one in parts if one is not None]
            if len(known) == len(parts):
                self.alpha, self.gathered = np.concatenate(known), True
            else:
                self.restore()
        return scaled(self.problem.risk.shares, self.alpha)

    @property
    def witness(self) -> Witness:
        """The dual variables where certificates are computed, with those that the driver has in case of loss."""
        rows = rows_in_groups(self.problem)
        if rows is None or self.travels:
            return Witness(self.theta)
        begin = time.monotonic()
        if begin - self.backed_up >= self.backup_interval:
            theta = self.theta
            self.backed_up = time.monotonic()
            self.backup_interval = _BACKUP_RATIO * (self.backed_up - begin)
            if self.sends:
                # some were lost: the workers do not have these yet
                return Witness(theta)
        known = partial(scaled, self.problem.risk.shares, self.alpha)
        return HeldWitness(rows, self.design.groups.place(held_theta, self.held, self.turns), known)

    def restore(self) -> None:
        """Go back to the dual variables that were gathered last, after some of the later ones were lost."""
        self.gathered = self.sends = True
        self.losses += 1
        theta = self.theta
        self.add_up(self.design.adjoint(theta), np.sum(theta, axis=0))

    def refresh(self) -> None:
        """Compute v and the sums of theta again from theta, on the workers."""
        parts = self.design.groups.map(dual_sums, self.held, self.turns)
        known = [one for one in parts if one is not None]
        if len(known) < len(parts):
            self.restore()
        else:
            ordered_sum = self.design.ordered_sum
            self.add_up(ordered_sum([one.x_theta for one in known]), ordered_sum([one.total for one in known]))

    @abc.abstractmethod
    def epochs(self, share: float, sigma: float) -> Sequence[Any]:
        """Descend on each group; return what changed, None for a group whose worker does not have its variables."""

    @abc.abstractmethod
    def add_up(self, x_theta: Floats, total: Floats) -> None:
        """Set v and S to those of X^T theta and sum theta."""

    @abc.abstractmethod
    def square(self, moved: Sequence[Any]) -> float:
        """Return the squared norm of the sum of changes in the quadratic term of the dual."""

    @abc.abstractmethod
    def add(self, moved: Sequence[Any], gamma: float) -> bool:
        """Add gamma times the changes, and move the multiplier of the intercept; return whether it moved."""

    @abc.abstractmethod
    def propose(self) -> tuple[Model, Witness]:
        """Return copies of the present model and dual point."""

    def round(self, share: float, *, measures: bool) -> None:
        """Descend on each group, and add up the changes; with ``measures``, sigma' follows their overlap."""
        moved, gamma = self._moved(share), 1.0
        if measures and len(moved) > 1:
            squares = sum(self.square([one]) for one in moved)
            overlap = self.square(moved) / squares if squares > 0.0 else 0.0
            gamma, self.sigma = measured_step(self.sigma, overlap, len(moved))
        self.gamma, self.gathered, self.sends = gamma, False, False
        if self.travels:
            self.alpha, self.gathered = moved_by(self.alpha, np.concatenate([one.alpha for one in moved]), gamma), True
        intercept_moved = self.add(moved, gamma)
        self.gap = float(sum(one.gap for one in moved))
        self.rounds += 1
        idle = not any(one.changes for one in moved) and not intercept_moved
        self.idle_rounds = self.idle_rounds + 1 if idle else 0
        if self.rounds % _RECOMPUTE_ROUNDS == 0 or idle:
            self.refresh()

    def _moved(self, share: float) -> Sequence[Any]:
        """Descend on each group, from the last dual variables that the driver has if a worker has none."""
        moved = self.epochs(share, self.sigma)
        self.number += 1
        if any(one is None for one in moved):
            self.restore()
            moved = self.epochs(share, self.sigma)
            self.number += 1
        return moved


class Beginning(NamedTuple):
    """What rounds of any kind begin with: fields of ``Rounds``."""

    problem: Problem
    design: ShardedDesign
    random: np.random.Generator
    mean: Floats
    constant: float
    #: sigma' of the first round, the number of groups
    sigma: float


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
    return Beginning(problem, design, np.random.default_rng(seed), mean, constant, float(len(design.facts)))


@dataclass(kw_only=True)
class SingleRounds(Rounds):
    """One dual variable for each example."""

    v: Floats
    #: S, m.v and s, as in ``dual_coordinate.loop``
    intercept: Floats = field(default_factory=lambda: np.zeros(3))
    search: InterceptSearch | None = None

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
    def weights(self) -> Floats:
        """v - S m."""
        return self.v - self.intercept[SUM] * self.mean if len(self.mean) else self.v.copy()

    def add_up(self, x_theta: Floats, total: Floats) -> None:
        self.v = x_theta / self.problem.lam
        if len(self.mean):
            self.intercept[[SUM, OFFSET]] = total / self.problem.lam, self.mean @ self.v

    def epochs(self, share: float, sigma: float) -> list[Moved | None]:
        return self.design.groups.map(
            local_epochs,
            self.held,
            self.turns,
            self.seeds,
            v=self.v,
            state=self.intercept,
            spread=float(self.mean @ self.mean) + self.constant,
            constant=self.constant,
            sigma=sigma,
            lam=self.problem.lam,
            epochs=share,
            returns=self.travels,
        )

    def square(self, moved: Sequence[Moved]) -> float:
        v, total = self.design.ordered_sum([one.v for one in moved]), float(sum(one.total for one in moved))
        v = v - total * self.mean if len(self.mean) else v
        return float(v @ v) + self.constant * total**2

    def add(self, moved: Sequence[Moved], gamma: float) -> bool:
        self.v = self.v + gamma * self.design.ordered_sum([one.v for one in moved])
        if not len(self.mean):
            return False
        self.intercept[SUM] += gamma * float(sum(one.total for one in moved))
        self.intercept[OFFSET] = self.mean @ self.v
        before = self.intercept[CENTRE]
        self.intercept[CENTRE] += self.constant * self.intercept[SUM]
        return bool(self.intercept[CENTRE] != before)

    def propose(self) -> tuple[Model, Witness]:
        # first: where dual variables are lost, v follows those that are left
        witness = self.witness
        weights = self.weights
        intercept = self._best_intercept(weights) if self.problem.intercept else self.problem.no_intercept()
        return Model(weights, intercept), witness

    def _best_intercept(self, weights: Floats) -> float | None:
        """The intercept that minimizes R for these weights, almost; None where certificates gather the scores."""
        if rows_in_groups(self.problem) is None:
            return None
        groups, parts = self.design.groups, self.design.parts(self.problem.risk)
        scores = groups.place(score_change, weights=weights, intercept=np.zeros(()))
        if self.search is None:
            centre = self.intercept[CENTRE] + self.constant * self.intercept[SUM]
            self.search = InterceptSearch(float(centre - weights @ self.mean))
        return self.search.find(
            lambda at: self.design.ordered_sum(groups.map(slopes_at, parts, scores, intercepts=at)),
            _INTERCEPT_SHARE * self.gap,
        )

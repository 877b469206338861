"""Rounds of CoCoA+ (``cocoa``) for joint hinges of several classes: a block of dual variables for each example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fenchel.arrays import Floats
from fenchel.dask.local_blocks import MovedBlocks, block_coordinates, local_block_epochs
from fenchel.dask.rounds import Rounds, beginning
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.base import Warm
from fenchel.solvers.warm_start import first_dual


@dataclass(kw_only=True)
class JointRounds(Rounds):
    """A block of dual variables for each example, (n, k)."""

    #: X^T theta / lam, (d, k)
    v: Floats
    #: S and the proximal centre of the intercepts of centred rows, (k,)
    total: Floats
    centre: Floats

    @classmethod
    def start(cls, problem: Problem, warm: Warm | None, seed: int) -> JointRounds:
        """Return the state at a warm start, or at zero."""
        begin, risk = beginning(problem, seed), problem.multiclass_risk
        design, mean = begin.design, begin.mean
        parts = [risk.part(span) for span in design.spans]
        held = design.groups.place(block_coordinates, parts, mean=mean, lam=problem.lam, constant=begin.constant)
        theta, v, centre = first_dual(problem, warm)
        alpha = np.divide(theta, risk.shares[:, None], out=np.zeros_like(theta), where=risk.shares[:, None] > 0)
        v = np.ascontiguousarray(np.reshape(v, problem.weights_shape).T)
        total = np.sum(theta, axis=0) / problem.lam
        if warm is None or not problem.intercept:
            centre = np.zeros(risk.outputs)
        elif len(mean):
            # the intercepts of centred rows
            centre = centre + mean @ v
        return cls(**begin._asdict(), held=held, alpha=alpha, v=v, total=total, centre=np.array(centre))

    @property
    def _weights(self) -> Floats:
        """v - m S^T, (d, k)."""
        return self.v - np.multiply.outer(self.mean, self.total) if len(self.mean) else self.v

    def add_up(self, x_theta: Floats, total: Floats) -> None:
        self.v = np.ascontiguousarray(x_theta.T) / self.problem.lam
        self.total = total / self.problem.lam

    def epochs(self, share: float, sigma: float) -> list[MovedBlocks | None]:
        free = len(self.mean) > 0
        return self.design.groups.map(
            local_block_epochs,
            self.held,
            self.turns,
            self.seeds,
            v=self.v,
            total=self.total,
            intercept=self.centre + self.constant * self.total if free else np.zeros_like(self.total),
            offset=self.mean @ self.v if free else np.zeros_like(self.total),
            constant=self.constant,
            square=float(self.mean @ self.mean),
            sigma=sigma,
            lam=self.problem.lam,
            epochs=share,
            returns=self.travels,
        )

    def square(self, moved: Sequence[MovedBlocks]) -> float:
        v = self.design.ordered_sum([one.v for one in moved])
        total = self.design.ordered_sum([one.total for one in moved])
        if len(self.mean):
            v = v - np.multiply.outer(self.mean, total)
        return float(np.vdot(v, v)) + self.constant * float(total @ total)

    def add(self, moved: Sequence[MovedBlocks], gamma: float) -> bool:
        self.v = self.v + gamma * self.design.ordered_sum([one.v for one in moved])
        self.total = self.total + gamma * self.design.ordered_sum([one.total for one in moved])
        if not len(self.mean):
            return False
        before = self.centre
        self.centre = before + self.constant * self.total
        return not np.array_equal(self.centre, before)

    def propose(self) -> tuple[Model, Witness]:
        # first: where dual variables are lost, v follows those that are left
        problem, theta = self.problem, self.theta
        weights = np.ascontiguousarray(self._weights.T)
        if not problem.intercept:
            return Model(weights, problem.no_intercept()), Witness(theta)
        intercept = self.centre + self.constant * self.total - weights @ self.mean
        return Model(weights, intercept - np.mean(intercept)), Witness(theta)

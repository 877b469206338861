r"""Dual variables that stay on the worker of their group between the rounds of CoCoA+ (``cocoa``).

A round begins at :math:`\alpha + \gamma(\alpha' - \alpha)`: the driver finds :math:`\gamma` after the local epochs of
the last round have moved :math:`\alpha` to :math:`\alpha'`, and sends this number instead of n of them.  A group keeps
both, with the number of their round, and the task of a round that runs twice begins at the same :math:`\alpha`.

That is the only state on workers that changes.  A copy of it that missed a round, since its worker died or its group
was moved, says so, and the driver sends the dual variables that it gathered last.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.dask.shard import Shard


class Shares(Protocol):
    """What a group keeps for its steps."""

    @property
    def shares(self) -> Floats:
        """The c_i of its examples."""
        ...


Kept = TypeVar("Kept", bound=Shares)


class Turn(NamedTuple):
    """Where a round begins on a group."""

    number: int
    #: of the round before
    gamma: float
    #: the dual variables, where the group does not have them
    alpha: Floats | None = None


class Resident(Generic[Kept]):
    """What a group keeps between rounds: data of its steps, and its dual variables."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        #: the number of the last round, and the dual variables before and after it
        self._last: tuple[int, Floats, Floats] | None = None

    def begin(self, turn: Turn) -> Floats | None:
        """Return the dual variables at the beginning of a round; None if this copy missed the one before."""
        if turn.alpha is not None:
            return turn.alpha
        if self._last is None:
            return None
        number, before, after = self._last
        if number == turn.number:
            return before
        return moved_by(before, after, turn.gamma) if number + 1 == turn.number else None

    def end(self, turn: Turn, before: Floats, after: Floats) -> None:
        """Keep the dual variables of a round."""
        self._last = turn.number, before, after


class Sums(NamedTuple):
    """What the dual variables of a group add to sums over all of them."""

    x_theta: Floats
    total: Floats


def moved_by(before: Floats, after: Floats, gamma: float) -> Floats:
    """Return ``before + gamma (after - before)``; gamma = 1 keeps the bounds of the domain bit by bit."""
    return after if gamma == 1.0 else before + gamma * (after - before)


def dual_variables(shard: Shard, own: Resident[Kept], turn: Turn) -> Floats | None:
    """Return the dual variables of a group; None if its worker does not have them."""
    return own.begin(turn)


def held_theta(shard: Shard, own: Resident[Kept], turn: Turn) -> Floats | None:
    """Return theta of a group, which is then kept there as it is now; None if its worker does not have it."""
    alpha = own.begin(turn)
    return None if alpha is None else scaled(own.kept.shares, alpha)


def dual_sums(shard: Shard, own: Resident[Kept], turn: Turn) -> Sums | None:
    """Return X^T theta and sum theta of a group; None if its worker does not have them."""
    alpha = own.begin(turn)
    if alpha is None:
        return None
    theta = scaled(own.kept.shares, alpha)
    return Sums(shard.design.adjoint(theta), np.sum(theta, axis=0))


def scaled(shares: Array, alpha: Array) -> Floats:
    """Return theta: the shares times the dual variables, (n,) or (n, k)."""
    return shares.reshape(-1, *(1,) * (alpha.ndim - 1)) * alpha

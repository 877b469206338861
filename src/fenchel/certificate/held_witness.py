"""Witnesses whose dual variables lie beside groups of rows, until somebody reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats
from fenchel.designs.row_groups import GroupOfRows, RowGroups
from fenchel.problem import Witness


class HeldWitness(Witness):
    """A witness whose dual variables are kept beside their rows, and gathered when ``theta`` is read.

    Parameters
    ----------
    rows : RowGroups
        The groups of rows.
    parts : sequence or None
        The dual variables of each group, which may be None for a group that lost them; None stands for minus the
        subgradient at the scores of the model that the witness is judged with.
    known : callable, default=None
        Returns dual variables that the driver has, for a witness of which some were lost.
    """

    def __init__(self, rows: RowGroups, parts: Sequence[Any] | None, known: Callable[[], Floats] | None = None) -> None:
        vars(self).update(rows=rows, parts=parts, known=known, conjugate_bound=None, decomposition=None, lost=False)

    rows: RowGroups
    parts: Sequence[Any] | None
    known: Callable[[], Floats] | None
    #: whether some of them were lost, once they have been read
    lost: bool

    @cached_property
    def theta(self) -> Floats:
        """All dual variables; those of ``known`` if some were lost."""
        assert self.parts is not None
        found = self.rows.groups.map(itself, self.parts)
        self.lost = any(part is None for part in found)
        if not self.lost:
            return np.concatenate(found)
        assert self.known is not None
        return self.known()


def itself(group: GroupOfRows, value: Array) -> Array:
    """Run beside a group: what is kept there."""
    return value

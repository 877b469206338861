"""Rows in groups that lie elsewhere: functions go to the rows, and small results come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from fenchel.arrays import Array, Floats

if TYPE_CHECKING:
    from fenchel.designs.base import Design

T = TypeVar("T")


class GroupOfRows(Protocol):
    """What functions get that run on a group."""

    design: Design


class Groups(Protocol):
    """Groups of rows, and whatever runs functions on them."""

    def map(self, function: Callable[..., T], *each: Sequence[Any], **common: Any) -> list[T]:
        """Return ``function(group, *arguments, **common)`` of every group, in their order.

        ``each`` are sequences with an entry for each group, or what ``place`` returned.
        """
        ...

    def place(self, function: Callable[..., Any], *each: Sequence[Any], **common: Any) -> Sequence[Any]:
        """Like ``map``, with the results kept beside their groups, for ``each`` of several calls of ``map``."""
        ...


class RowGroups(Protocol):
    """A design whose rows lie in groups."""

    groups: Groups

    def split(self, values: Array) -> list[Array]:
        """The entries of each group."""
        ...

    def ordered_sum(self, terms: Sequence[Floats]) -> Floats:
        """The sum over the groups in their order, which repeats bit for bit."""
        ...

    def parts(self, risk: Any) -> Sequence[Any]:
        """The term of a risk of each group, kept beside it."""
        ...

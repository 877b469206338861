"""Groups of rows in this process, one after the other, in the place of a cluster: for tests and for counting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from fenchel.dask.design import ShardedDesign
from fenchel.dask.shard import Shard, facts
from fenchel.designs import as_design


class InProcess:
    """Runs functions on groups one after the other; see ``Groups``."""

    def __init__(self, blocks: Sequence[Any]) -> None:
        self.shards = [Shard(as_design(block)) for block in blocks]
        #: how often the results of all groups were waited for
        self.calls = 0

    def map(self, function: Callable[..., Any], *each: Sequence[Any], **common: Any) -> list[Any]:
        """Return ``function`` of every group, in their order."""
        self.calls += 1
        return self.place(function, *each, **common)

    def place(self, function: Callable[..., Any], *each: Sequence[Any], **common: Any) -> list[Any]:
        """Like ``map``; on workers nothing waits for it."""
        return [function(*values, **common) for values in zip(self.shards, *each, strict=True)]


def in_groups(X: Any, ends: Sequence[int]) -> ShardedDesign:
    """Return the design of a matrix in groups of rows that end at ``ends`` and at its last row."""
    groups = InProcess([X[begin:end] for begin, end in pairwise([0, *ends, X.shape[0]])])
    return ShardedDesign(groups, groups.map(facts))

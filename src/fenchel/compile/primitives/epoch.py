"""One epoch of a dual coordinate method with shrinking: what its loops are given, and what they return.

An epoch goes through the active examples in random order, in one or more parts.  An example whose KKT margin (by how
much its dual variable satisfies the optimality conditions at a bound; negative: by how much it violates them) exceeds
``Part.threshold`` is shrunk.  A loop has the form

    order, threshold = part.order, part.threshold
    remaining, violation, changes, gap = begin(part)
    for t in range(np.uint64(part.begin), np.uint64(part.end)):
        ...                                    # the score and the KKT margin of example order[t]
        if margin > threshold:
            continue                           # shrunk
        remaining = keep(order, t, remaining)
        ...                                    # add to violation, changes and gap; the step
    return remaining, violation, changes, gap

Arrays leave their tuples before the loop, since inside they would cost time.  A loop returns a plain tuple, of which
the caller makes a ``Tally``: numba makes a NamedTuple by running Python code, and crashes if Ctrl-C arrives there.

``fenchel.solvers.shrinking`` decides on thresholds and on when all examples become active again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.loop import helper

_ONE = np.uint64(1)
#: a list without room, of the kind that the order of fewer than 2^32 examples has
_NO_LIST = np.zeros(1, dtype=np.uint32)


class Part(NamedTuple):
    """The examples ``order[begin:end]`` of an epoch, of which those before ``begin`` have had their turn."""

    #: a permutation of the examples; the active ones come first
    order: Any
    begin: int
    end: int
    #: examples of this epoch that stay active, so far: they are at the front of ``order``
    remaining: int
    #: examples with a larger KKT margin are shrunk; infinite without shrinking
    threshold: float
    #: factor of the curvatures and of the changes of v, sigma' of ``solvers.simultaneous``; 1 without threads
    sigma: float = 1.0
    #: ``dual_coordinate`` lists the examples of this epoch that violate their KKT conditions by more than
    #: ``listed_from`` here, until the list is full; its last entry is their number
    worst: Any = _NO_LIST
    listed_from: float = np.inf


class Tally(NamedTuple):
    """What the loop over one part found."""

    #: as in ``Part``, at the end of the part
    remaining: Any
    #: the largest violation of a KKT condition
    violation: float
    #: how many dual variables (or blocks of them) changed
    changes: int
    #: the sum of c_i/lam times the Fenchel-Young gap of example i, each at the time of its turn
    gap: float


@helper
def begin(part: Any) -> Any:
    """The numbers of the tally before the first example."""
    return np.uint64(part.remaining), 0.0, 0, 0.0


@helper
def keep(order: Any, t: Any, remaining: Any) -> Any:
    """Keep example ``order[t]`` active: move it to the front of ``order``; how many are there now."""
    order[t], order[remaining] = order[remaining], order[t]
    return remaining + _ONE

"""Where the block of an example stands: margins, KKT margin and Fenchel-Young gap, and a first guess of its root."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fenchel.compile.lanes import (
    LANES,
    add,
    larger,
    largest_of,
    least_of,
    load,
    multiply,
    smaller,
    spread,
    store,
    subtract,
    sum_of,
    where_positive,
    widen,
)  # fmt: skip
from fenchel.compile.loop import helper

_STEP = np.uint64(LANES)


class Standing(NamedTuple):
    """Where a block stands, given its margins."""

    #: the KKT margin (negative: the largest violation)
    margin: float
    #: the Fenchel-Young gap
    gap: float
    #: the sum of beta
    mass: float
    #: how many entries of beta lie between their bounds, and the sum of their margins
    between: float
    between_margins: float


@helper
def box_standing(alpha: Any, scores: Any, bounds: Any, label: int, beta: Any) -> Any:
    """A block of a box, as a ``Standing``; the scores become margins 1 - s_y + s_j, and beta is set.

    Entries with bound zero, the label among them, do not count.  No branch depends on a class, for classes are in no
    order that a processor could foresee.
    """
    own, gap, worst = 1.0 - scores[label], spread(0.0), spread(np.inf)
    masses, between, sums = spread(0.0), spread(0.0), spread(0.0)
    for place in range(np.uint64(len(scores)) // _STEP):
        p = place * _STEP
        bound, margin = load(bounds, p), add(load(scores, p), own)
        here = larger(subtract(0.0, widen(load(alpha, p))), 0.0)
        room, minus = smaller(here, subtract(bound, here)), subtract(0.0, margin)
        store(scores, p, margin)
        store(beta, p, here)
        gap = add(gap, subtract(multiply(bound, larger(margin, 0.0)), multiply(here, margin)))
        resting = where_positive(room, smaller(margin, minus), where_positive(here, margin, minus))
        worst = smaller(worst, where_positive(bound, resting, np.inf))
        masses, between = add(masses, here), add(between, where_positive(room, 1.0, 0.0))
        sums = add(sums, where_positive(room, margin, 0.0))
    return least_of(worst), sum_of(gap), sum_of(masses), sum_of(between), sum_of(sums)


@helper
def simplex_standing(alpha: Any, scores: Any, bounds: Any, label: int, beta: Any, sum_bound: float) -> Any:
    """The same for a block with a bound on its sum: margins count relative to the multiplier of that bound."""
    own, masses, cross, highest = 1.0 - scores[label], spread(0.0), spread(0.0), spread(0.0)
    between, sums = spread(0.0), spread(0.0)
    for place in range(np.uint64(len(scores)) // _STEP):
        p = place * _STEP
        margin, here = add(load(scores, p), own), larger(subtract(0.0, widen(load(alpha, p))), 0.0)
        store(scores, p, margin)
        store(beta, p, here)
        masses, cross = add(masses, here), add(cross, multiply(here, margin))
        highest = larger(highest, where_positive(load(bounds, p), margin, 0.0))
        between, sums = add(between, where_positive(here, 1.0, 0.0)), add(sums, where_positive(here, margin, 0.0))
    most, mass, worst = largest_of(highest), sum_of(masses), spread(np.inf)
    price = most if mass >= sum_bound * (1.0 - 1e-12) else 0.0
    for place in range(np.uint64(len(scores)) // _STEP):
        p = place * _STEP
        here, margin = load(beta, p), subtract(load(scores, p), price)
        minus = subtract(0.0, margin)
        inside = smaller(margin, minus)
        # all of the sum on the worst class rests as far as its price is above zero
        whole = where_positive(minus, inside, price)
        some = where_positive(subtract(sum_bound * (1.0 - 1e-15), here), inside, whole)
        worst = smaller(worst, where_positive(load(bounds, p), where_positive(here, some, minus), np.inf))
    return least_of(worst), most - sum_of(cross), mass, sum_of(between), sum_of(sums)


@helper
def first_guess(standing: Any, curvature: float, sum_bound: float) -> float:
    """The root t if the entries of beta that lie between their bounds do so again, and the others stay where they are.

    With them sum_j beta_j = t, where beta_j = z_j / q + beta_j^0 + sum beta^0 - t for those between, z_j their margins.
    """
    _, _, mass, between, margins = standing
    if mass < sum_bound * (1.0 - 1e-12):
        return mass + margins / (curvature * (between + 1.0))
    return mass + (margins / curvature + mass - sum_bound) / between if between > 0.0 else mass


@helper
def without_features(margins: Any, bounds: Any, beta: Any, sum_bound: float) -> None:
    """The best block of a row without features, whose scores do not depend on it."""
    worst = -1
    for j in range(len(beta)):
        beta[j] = bounds[j] if margins[j] > 0.0 and np.isinf(sum_bound) else 0.0
        if bounds[j] > 0.0 and margins[j] > 0.0 and (worst < 0 or margins[j] > margins[worst]):
            worst = j
    if not np.isinf(sum_bound) and worst >= 0:
        beta[worst] = sum_bound

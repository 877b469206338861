"""The largest weights of linear chains, as lists and as a table of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fenchel.arrays import Array
from fenchel.validation import check_integer


class WeightedFeature(NamedTuple):
    """A feature with its weight for a label."""

    label: Any
    feature: Any
    weight: float


class WeightedTransition(NamedTuple):
    """A pair of neighbouring labels with its weight."""

    label: Any
    following: Any
    weight: float


def largest(values: Array, count: int) -> list[list[int]]:
    """The places of the entries of largest absolute value, largest first."""
    check_integer("count", count, least=1)
    sizes = np.abs(values).ravel()
    kept = np.arange(sizes.size)
    if count < sizes.size:
        # entries as large as the last one are ordered by their places
        least = np.partition(sizes, sizes.size - count)[sizes.size - count]
        kept = np.flatnonzero(sizes >= least)
    order = kept[np.argsort(-sizes[kept], kind="stable")[:count]]
    places: list[list[int]] = np.stack(np.unravel_index(order, values.shape), axis=1).tolist()
    return places


def weights_table(
    labels: Sequence[Any],
    features: Sequence[Sequence[WeightedFeature]],
    transitions: Sequence[Sequence[WeightedTransition]],
) -> str:
    """A row for each label: its features and the labels that follow it, with their weights."""
    rows = [("label", "features", "following labels")]
    for label, own, following in zip(labels, features, transitions, strict=True):
        texts = (
            ", ".join(f"{name} {weight:+.2f}" for _, name, weight in weighted if weight)
            for weighted in (own, following)
        )
        rows.append((str(label), *texts))  # type: ignore[arg-type]
    widths = [max(len(row[k]) for row in rows) for k in range(2)]
    return "\n".join(f"{a:{widths[0]}}  {b:{widths[1]}}  {c}".rstrip() for a, b, c in rows)

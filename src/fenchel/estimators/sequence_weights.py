"""The largest weights of linear chains, as lists and as a table of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
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


class SequenceWeights:
    """What a fitted linear chain has learned."""

    classes_: Array
    coef_: Floats
    transitions_: Floats
    vectorizer_: Any

    def top_features(self, count: int = 10, label: Any = None) -> list[WeightedFeature]:
        """The features of largest absolute weight, largest first, of one label or of all."""
        check_is_fitted(self)
        if "coef_" not in vars(self):
            raise FenchelError("top_features requires kernel=None: a kernel has no weights of features")
        names = None if self.vectorizer_ is None else self.vectorizer_.get_feature_names_out()
        labels, rows = self._labels_and_rows(label)
        return [
            WeightedFeature(labels[rows[j]], f if names is None else str(names[f]), float(self.coef_[rows[j], f]))
            for j, f in largest(self.coef_[rows], count)
        ]

    def top_transitions(self, count: int = 10, label: Any = None) -> list[WeightedTransition]:
        """The pairs of neighbouring labels of largest absolute weight, largest first; with ``label`` those after it."""
        check_is_fitted(self)
        labels, rows = self._labels_and_rows(label)
        return [
            WeightedTransition(labels[rows[i]], labels[j], float(self.transitions_[rows[i], j]))
            for i, j in largest(self.transitions_[rows], count)
        ]

    def summary(self, count: int = 3) -> str:
        """A table of text: for each label the features, and the labels that follow it, of largest absolute weight."""
        check_is_fitted(self)
        labels = self.classes_.tolist()
        features = [self.top_features(count, label) for label in labels]
        return weights_table(labels, features, [self.top_transitions(count, label) for label in labels])

    def _labels_and_rows(self, label: Any) -> tuple[list[Any], list[int]]:
        """All labels, and the places of those that are asked for."""
        labels: list[Any] = self.classes_.tolist()
        if label is None:
            return labels, list(range(len(labels)))
        if label not in labels:
            raise FenchelError(f"label must be one of {', '.join(map(str, labels[:10]))}; got {label!r}")
        return labels, [labels.index(label)]

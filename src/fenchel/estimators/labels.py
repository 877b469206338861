"""Class labels as numbers, and the weights of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.validation import did_you_mean


class Labels(NamedTuple):
    """The sorted classes, the index of each example's class, and the weights of the examples."""

    classes: Array
    codes: Array
    weights: Floats | None


def encode_labels(y: Array, sample_weight: Array | None, class_weight: Any, *, constant: bool = True) -> Labels:
    """The labels of a classification.

    A class without weight is as if removed.  Where the weights leave one class of several, as a bootstrap sample in
    ``BaggingClassifier`` may, another one is kept if a ``constant`` model is allowed: a two-class problem remains.
    """
    integers = y.ndim == 1 and (y.dtype.kind == "b" or _holds_integers(y))
    if not integers:
        check_classification_targets(y)
    found = _classes_with_weight(y, sample_weight)
    if integers and 2 * len(found.classes) > len(y):
        # of integers the check only warns of many classes, and takes as long as a solve of few examples
        check_classification_targets(y)
    if class_weight is not None and len(found.classes) > 1:
        found = _classes_with_weight(y, _class_weights(class_weight, y, found))
        if len(found.classes) < 2:
            raise FenchelError(
                f"class_weight={class_weight!r} is positive for one class only; give two classes positive weights"
            )
    if len(found.classes) < 2:
        others = np.setdiff1d(y, found.classes)
        if not len(others) or not constant:
            raise FenchelError(
                f"y must hold at least two classes with positive weight, got one class only: {found.classes!r}"
            )
        classes = np.sort(np.concatenate([found.classes, others[:1]]))
        return Labels(classes, np.where(y == classes[1], 1, 0), found.weights)
    return found


def one_vs_rest(codes: Array, k: int | Array) -> Floats:
    """1 for the class k, -1 for the others; codes (n, 1) have a column for each of several classes."""
    return np.where(codes == k, 1.0, -1.0)


def unknown_labels(y: Array, classes: Array) -> list[Any]:
    """The labels in y that are none of the classes; sets compare numbers with words, which NumPy does not."""
    known = set(classes.tolist())
    return [label for label in np.unique(y).tolist() if label not in known]


def _classes_with_weight(y: Array, weights: Array | None) -> Labels:
    classes, codes = _classes_and_codes(y)
    if weights is None:
        return Labels(classes, codes, None)
    kept = np.unique(codes[weights > 0])
    # an example of a class without weight gets the index 0, which its own weight makes irrelevant
    index = np.zeros(len(classes), dtype=np.intp)
    index[kept] = np.arange(len(kept))
    return Labels(classes[kept], index[codes], weights)


def _holds_integers(y: Array) -> bool:
    """Whether all labels are integers, be it as floats, as files of examples have them."""
    return y.dtype.kind in "iu" or (y.dtype == np.float64 and bool((y == np.rint(y)).all()))


def _classes_and_codes(y: Array) -> tuple[Array, Array]:
    """The sorted classes, and the index of each example's class."""
    if _holds_integers(y):
        least = y.min()
        # as Python's integers, whose difference does not overflow
        if int(y.max()) - int(least) < len(y):
            # a table takes less time than sorting, which that of a small solve shows
            places = (y.astype(np.int64) - int(least) if y.dtype.kind == "i" else y - least).astype(np.intp)
            is_class, labels = np.zeros(len(y), dtype=bool), np.empty(len(y), dtype=y.dtype)
            is_class[places], labels[places] = True, y
            return labels[is_class], (np.cumsum(is_class) - 1)[places]
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes


def _class_weights(class_weight: Any, y: Array, labels: Labels) -> Floats:
    """The weights of the examples times those of their classes."""
    if not isinstance(class_weight, Mapping) and not (isinstance(class_weight, str) and class_weight == "balanced"):
        near = did_you_mean(class_weight, ["balanced"])
        raise FenchelError(f"class_weight must be 'balanced', a dict or None, got {class_weight!r}{near}")
    weights = np.ones(len(y)) if labels.weights is None else labels.weights
    kept = np.ones(len(y), dtype=bool) if labels.weights is None else np.isin(y, labels.classes)
    per_class = compute_class_weight(class_weight, classes=labels.classes, y=y[kept], sample_weight=weights[kept])
    if not (np.all(np.isfinite(per_class)) and np.all(per_class >= 0) and np.any(per_class > 0)):
        raise FenchelError(f"class_weight must give finite weights >= 0, not all zero, got {class_weight!r}")
    return per_class[labels.codes] * weights

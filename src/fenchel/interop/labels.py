"""Labels and weights of classes as other libraries count them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.interop.objective import Data


def encoded(model: Any, data: Data) -> tuple[Array, Array]:
    """The classes of the model, and the place among them of each label."""
    classes = np.asarray(model.classes_)
    return classes, places_of(data.y, classes.tolist(), f"in classes_ of the {type(model).__name__}")


def places_of(y: Array, known: list[Any], where: str) -> Array:
    """The place of each label among those that are known; an error if there are others."""
    if y.ndim != 1:
        raise FenchelError(f"y must hold one label for each example, got an array of shape {y.shape}")
    place = {label: k for k, label in enumerate(known)}
    found = np.array([place.get(label, -1) for label in y.tolist()])
    if np.any(found < 0):
        raise FenchelError(f"y has labels that are not {where}: pass the y of its fit")
    return found


def class_weights(model: Any, classes: Array, data: Data, *, weighted: bool = False) -> Floats:
    """The factor of each class, as ``class_weight`` says; some estimators balance weights, others examples."""
    # older versions of scikit-learn balance examples everywhere
    known = weighted and "sample_weight" in inspect.signature(compute_class_weight).parameters
    given: dict[str, Any] = {"sample_weight": data.weights} if known else {}
    return np.asarray(compute_class_weight(model.class_weight, classes=classes, y=data.y, **given), dtype=np.float64)


def against_the_rest(places: Array, factors: Floats, data: Data) -> list[tuple[Array, Floats]]:
    """Labels of +-1 and weights of each problem of one class against the rest; one problem of two classes.

    LIBLINEAR and stochastic gradient descent weigh the class of a problem by its factor and all others by 1, unless
    there are two classes.
    """
    if len(factors) == 2:
        return [(np.where(places == 1, 1.0, -1.0), data.weights * factors[places])]
    return [
        (np.where(places == k, 1.0, -1.0), data.weights * np.where(places == k, factor, 1.0))
        for k, factor in enumerate(factors)
    ]


def by_class(places: Array, factors: Floats, data: Data) -> list[tuple[Array, Floats]]:
    """The same where every example has the factor of its class in all problems."""
    weights = data.weights * factors[places]
    if len(factors) == 2:
        return [(np.where(places == 1, 1.0, -1.0), weights)]
    return [(np.where(places == k, 1.0, -1.0), weights) for k in range(len(factors))]

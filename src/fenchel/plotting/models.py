"""What pictures read of fitted models: the last step of a pipeline, names of features, and names of problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fenchel.errors import FenchelError


def fitted_part(model: Any) -> Any:
    """The estimator itself: the last step of a pipeline, the best one of a search."""
    fitted = attributes(model)
    if "best_estimator_" in fitted:
        return fitted_part(fitted["best_estimator_"])
    steps = fitted.get("steps")
    return fitted_part(steps[-1][1]) if isinstance(steps, list) and steps else model


def not_drawn(name: str, wanted: str, model: Any, judged: str) -> FenchelError:
    """The error for what a picture cannot draw; ``judged`` says how it draws a model of another library."""
    fitted = any(key.endswith("_") and not key.startswith("_") for key in attributes(model))
    foreign = fitted and not type(model).__module__.startswith("fenchel.")
    advice = judged if foreign else "call fit or solve first"
    return FenchelError(f"{name} must be {wanted}, got {type(model).__name__}: {advice}")


def attributes(model: Any) -> Mapping[str, Any]:
    """The attributes that were set on an object; none for arrays and numbers."""
    return vars(model) if hasattr(model, "__dict__") and not isinstance(model, type) else {}


def problem_names(model: Any, count: int) -> list[str]:
    """The names of the problems, or of the rows of ``coef_``: of classes, of pairs of classes, or numbers."""
    fitted = attributes(model)
    classes: Sequence[Any] = fitted.get("classes_", ())
    if count == 1:
        return [type(model).__name__]
    if len(classes) == count:
        return [str(one) for one in classes]
    if "varying_" in fitted and int(np.sum(fitted["varying_"])) == count:
        # constant labels have no problem
        return [str(one) for one in np.asarray(classes)[fitted["varying_"]]]
    if len(classes) * (len(classes) - 1) // 2 == count:
        return [f"{one}, {other}" for one, other in combinations(classes, 2)]
    return [str(k) for k in range(count)]


def names_from_steps(model: Any) -> list[str] | None:
    """The names of the features that the steps of a pipeline make for its last one; None if they do not say."""
    pipeline, estimator = attributes(model).get("best_estimator_", model), fitted_part(model)
    steps = attributes(pipeline).get("steps")
    if not isinstance(steps, list) or len(steps) < 2 or "feature_names_in_" in attributes(estimator):
        return None
    if not all(hasattr(step, "get_feature_names_out") for _, step in steps[:-1]):
        return None
    names = pipeline[:-1].get_feature_names_out()
    return [str(name) for name in names] if len(names) == attributes(estimator).get("n_features_in_") else None


def feature_names(model: Any, features: int, given: Sequence[Any] | None) -> list[str]:
    """The names of the features: those given, those of the training data, or x0, x1, … as in scikit-learn."""
    if given is not None:
        if isinstance(given, (str, bytes)) or len(given) != features:
            got = repr(given) if isinstance(given, (str, bytes)) else f"{len(given):,} names"
            raise FenchelError(f"feature_names must have a name for each of the {features:,} features, got {got}")
        return [str(name) for name in given]
    fitted = attributes(model)
    names: Any = fitted.get("feature_names_in_")
    if names is None and fitted.get("vectorizer_") is not None:
        names = fitted["vectorizer_"].get_feature_names_out()
    if names is None or len(names) != features:
        return [f"x{k}" for k in range(features)]
    return [str(name) for name in names]

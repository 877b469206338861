"""Scores of the training examples by fits that they were left out of, for the thresholds of measures."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from fenchel.designs import as_design
from fenchel.errors import FenchelError, GapWarning
from fenchel.estimators.base import Given, user_stacklevel


def held_out_scores(model: Any, X: Any, given: Given) -> NDArray[np.float64]:
    """Scores X w of every example, (n, rows of coef_), from a fit of the measure to the folds that it is not in."""
    scores, times = np.zeros((len(given.y), len(model.coef_))), np.zeros(len(given.y))
    missed = folds = 0
    for train, test in check_cv(model.cv, given.y, classifier=True).split(X, given.y):
        probe = clone(model).set_params(threshold="train", warm_start=False, verbose=0)
        if model._counts_to_k():
            probe.set_params(k=_scaled_k(model, given.y[train], len(train) / len(given.y)))
        weighted = None if given.sample_weight is None else given.sample_weight[train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GapWarning)
            probe.fit(X[train], given.y[train], weighted)
        if not np.array_equal(probe.classes_, model.classes_):
            raise FenchelError("cv: a fold lacks one of the classes; use fewer folds, or threshold='train'")
        scores[test] = as_design(X[test]).scores(probe._weights())
        times[test] += 1
        missed, folds = missed + (not probe.converged_), folds + 1
    if np.any(times != 1):
        raise FenchelError("cv must leave every example out exactly once, for threshold='cv'; use folds")
    if missed:
        warnings.warn(
            f"{missed} of {folds} fits to the folds of threshold='cv' did not prove tol={model.tol:g}; raise "
            "max_iter or time_limit, lower C, or use a larger tol",
            GapWarning,
            stacklevel=user_stacklevel(),
        )
    return scores


def _scaled_k(model: Any, y: NDArray, share: float) -> int:
    """K for a part of the examples, within its range there."""
    sizes = np.array([np.count_nonzero(y == name) for name in model.classes_])
    if len(sizes) == 2:
        sizes = sizes[[0 if model._turned() else 1]]
    elif model.average == "micro":
        sizes = np.array([len(y)])
    k = max(1, round(share * model.k))
    return int(min(k, np.min(sizes)) if model.measure == "precision_at_k" else max(k, np.max(sizes)))

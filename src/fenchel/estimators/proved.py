"""Proved predictions of fitted linear estimators: which labels every exact optimum of the fit would predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.arrays import Array
from fenchel.certificate.confinement import optimum_ball
from fenchel.certificate.optimum import OptimumBall, largest_for_all
from fenchel.certificate.predictions import CertifiedPredictions, Kind, from_ball, kind_of
from fenchel.designs import Design, as_design
from fenchel.errors import FenchelError
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.task import Task
from fenchel.problem import Model, Witness


@dataclass(frozen=True, eq=False)
class OptimumOfFit:
    """What a fit proves about its exact optimum: a ball for each problem, without the training data.

    Parameters
    ----------
    balls : tuple of OptimumBall
        One ball, or one for each class of a one-vs-rest fit.
    kind : {"sign", "class", "score"}
        How scores become predictions.
    classes : ndarray or None
        The labels of the classes; None for a regression.

    See Also
    --------
    certified_predictions : Compute it from the training data, and use it.
    """

    balls: tuple[OptimumBall, ...]
    kind: Kind
    classes: Array | None

    def predict(self, design: Design, scores: Array) -> CertifiedPredictions:
        """The predictions of a fit with these scores, and which of them every exact optimum makes."""
        if len(self.balls) == 1:
            found = from_ball(self.balls[0], design, scores, self.kind)
        else:
            found = self._one_vs_rest(design, scores)
        if self.classes is None:
            return found
        codes = found.predictions if found.kind == "class" else (found.predictions > 0).astype(int)
        return CertifiedPredictions(
            self.classes[codes], found.proved, found.lower, found.upper, found.radius, found.certificate, found.kind
        )

    def _one_vs_rest(self, design: Design, scores: Array) -> CertifiedPredictions:
        ends = [ball.score_intervals(design) for ball in self.balls]
        lower, upper = (np.stack([end[side] for end in ends], axis=1) for side in (0, 1))
        predictions = np.argmax(scores, axis=1)
        proved = largest_for_all(lower, upper, predictions)
        certificate = reduce(add, (ball.certificate for ball in self.balls))
        radius = max(ball.radius for ball in self.balls)
        return CertifiedPredictions(predictions, proved, lower, upper, radius, certificate, "class")


def optimum_of(estimator: LinearEstimator, X: Any, y: Any, sample_weight: Any = None) -> OptimumOfFit:
    """What the fit of this estimator to these training data proves about its exact optimum.

    Parameters
    ----------
    estimator : LinearClassifier or LinearRegressor
        The fitted estimator.
    X, y, sample_weight : array-like
        The data of the fit.

    Returns
    -------
    OptimumOfFit
        Arrays and floats that need no training data any more.
    """
    check_is_fitted(estimator)
    task = estimator.encode(X, y, sample_weight)
    theta, rows = estimator.theta_, task.design.shape[0]
    if theta.shape[0] != rows:
        raise FenchelError(f"the model was fitted to {theta.shape[0]} rows and X has {rows}: pass the training data")
    if task.form == "ovo" and task.n_classes > 2:
        raise FenchelError(
            "multi_class='ovo' predicts by votes of pairs of classes, which are not proved: use multi_class='ovr' or a "
            "joint form"
        )
    starts = estimator.warm_starts(task, estimator.problems(task))
    known = [start for start in starts if start is not None]
    if len(known) < len(starts):
        raise FenchelError("X, y have other features or classes than the fit: pass the training data")
    return from_solutions(estimator, task, [start.model for start in known], [start.witness for start in known])


def from_solutions(
    estimator: LinearEstimator, task: Task, models: Sequence[Model], witnesses: Sequence[Witness]
) -> OptimumOfFit:
    """The same from the models and the witnesses of a fit that has just ended, for ``store``."""
    problems = [make() for make in estimator.problems(task)]
    balls = tuple(optimum_ball(*parts) for parts in zip(problems, models, witnesses, strict=True))
    return OptimumOfFit(balls, "class" if len(balls) > 1 else kind_of(problems[0]), task.classes)


def certified_predictions(
    estimator: LinearEstimator, X: Any, X_train: Any, y_train: Any, sample_weight: Any = None
) -> CertifiedPredictions:
    """Predict the rows of X, and prove which predictions every exact optimum of the fit makes.

    Parameters
    ----------
    estimator : LinearClassifier or LinearRegressor
        The fitted estimator.
    X : array-like or sparse matrix
        The rows to predict.
    X_train, y_train, sample_weight : array-like
        The data of the fit, from which the certificate is recomputed.

    Returns
    -------
    CertifiedPredictions
        The labels (or scores) that the estimator predicts, and which of them are proved.

    See Also
    --------
    optimum_of : What to keep if the training data are not at hand later.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import LinearClassifier
    >>> from fenchel.estimators.proved import certified_predictions
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearClassifier("logistic", tol=1e-9, random_state=0).fit(X[::2], y[::2])
    >>> found = certified_predictions(model, X[1::2], X[::2], y[::2])
    >>> bool(found.share_proved > 0.9)
    True
    """
    return predict_with(optimum_of(estimator, X_train, y_train, sample_weight), estimator, X)


def predict_with(optimum: OptimumOfFit, estimator: LinearEstimator, X: Any) -> CertifiedPredictions:
    """The proved predictions of an estimator from what is known about its optimum."""
    design = as_design(estimator._rows(X))
    scores = design.scores(estimator._weights()) + estimator.intercept_
    if scores.ndim == 2 and scores.shape[1] == 1 and optimum.balls[0].centre.ndim == 1:
        scores = scores[:, 0]
    return optimum.predict(design, scores)

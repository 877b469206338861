"""Proved predictions of fitted estimators: which predictions every exact optimum of the fit would make."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.arrays import ArrayLike, Floats, MatrixLike
from fenchel.certificate import ResidualWitness, judge
from fenchel.certificate.confinement import (
    TrainingRows,
    brackets_at_scores,
    check_confined,
    optimum_ball,
    sketch,
    sketch_around,
    sketch_at_scores,
    training_rows,
)
from fenchel.certificate.optimum_of_fit import OptimumOfFit
from fenchel.certificate.optimum_sketch import OptimumSketch
from fenchel.certificate.other_lambdas import PathCertificate
from fenchel.certificate.predictions import CertifiedPredictions, Kind
from fenchel.certificate.screening import squares_of_columns, zero_weights
from fenchel.designs import Design, as_design
from fenchel.errors import FenchelError
from fenchel.losses import Loss
from fenchel.problem import Problem, Witness
from fenchel.records import changed
from fenchel.solvers.base import Warm
from fenchel.solving.solution import STOPS, Solution

if TYPE_CHECKING:
    from fenchel.estimators.base import LinearEstimator
    from fenchel.estimators.task import Task

#: multiplications for the Hessian of a squared loss at the end of every fit, about a millisecond
_MOST_HESSIAN_WORK = 4e6
#: entries of X up to which a copy of them (2 MB) is kept until the first proved prediction, which saves the sketch
_FEW_ENTRIES = 1 << 18
#: training scores of several problems that are kept at most until their intercepts are bracketed (32 MB with labels)
_MOST_PENDING = 1_000_000

#: what makes the sketch of a solved problem
Make = Callable[[Problem, Solution, PathCertificate], OptimumSketch]


class Sketches:
    """Sketches of the problems of one fit, which share the training rows and their weights."""

    def __init__(self, problems: int, examples: int) -> None:
        self._rows: TrainingRows | None = None
        self._copy: tuple[Design, Design | None] | None = None
        # the vectors of many classes need not exist at once
        self._at_once = problems > 1 and problems * examples > _MOST_PENDING
        self._lock = threading.Lock()

    def prepare(self, problem: Problem) -> None:
        """Read the training rows before a problem is solved, within its time limit."""
        if self._snapshot(problem) is not None:
            return
        with suppress(FenchelError):
            # ``__call__`` stores the refusal
            self._training_rows(problem)

    def _training_rows(self, problem: Problem) -> TrainingRows:
        with self._lock:
            if self._rows is None:
                # ``sketch`` checks each problem
                check_confined(problem)
                # ``solve`` raises if the numbers are too large
                with np.errstate(over="ignore", invalid="ignore"):
                    self._rows = training_rows(problem)
            return self._rows

    def __call__(self, problem: Problem, solution: Solution) -> OptimumSketch:
        """What a solution proves about the optimum of its problem, or the reason why it proves nothing."""
        known = solution.path_certificate
        # the starts of estimators bring no path certificate
        assert known is not None
        assert not known.compressed
        design, make = self._snapshot(problem), self._sketch
        if isinstance(solution.witness, ResidualWitness):
            # it keeps the user's rows
            solution, make = changed(solution, witness=Witness(solution.witness.theta)), self._judged_sketch
        make = partial(self._with_zeros, make, squares_of_columns(problem))
        if design is None:
            return make(problem, solution, known)
        # the user's rows may change, or be a small part of a large array
        copied = problem.at_copy(design)
        alone, moved = changed(solution, path_certificate=None), changed(known, problem=copied)
        return OptimumSketch.on_demand(partial(make, copied, alone, moved))

    def _with_zeros(
        self, make: Make, squares: Floats | None, problem: Problem, solution: Solution, known: PathCertificate
    ) -> OptimumSketch:
        """A sketch, with the zero weights where a solver has computed the squares of the columns."""
        found = make(problem, solution, known)
        if squares is not None:
            found.zero_weights = zero_weights(problem, solution.certificate, known, squares)
        return found

    def _snapshot(self, problem: Problem) -> Design | None:
        """A copy of few training rows, the same for all problems of the fit; None where the sketch is made at once."""
        if self._at_once:
            return None
        with self._lock:
            if self._copy is None or self._copy[0] is not problem.design:
                design = problem.design
                self._copy = design, None if design.kernel() is not None else design.snapshot(_FEW_ENTRIES)
            return self._copy[1]

    def _judged_sketch(self, problem: Problem, solution: Solution, known: PathCertificate) -> OptimumSketch:
        """The sketch from the scores: the errors of moments widen a ball, and a sketch reads the data anyway."""
        certificate, _, witness, known = judge(problem, solution.model, solution.witness)
        return self._sketch(problem, changed(solution, certificate=certificate, witness=witness), known)

    def _sketch(self, problem: Problem, solution: Solution, known: PathCertificate) -> OptimumSketch:
        try:
            rows = self._training_rows(problem)
            weights, certificate = solution.model.weights, solution.certificate
            # a kernel model keeps only the examples that have coefficients in w
            if problem.design.kernel() is not None and np.any((weights == 0.0) & (known.v != 0.0)):
                return sketch_around(problem, rows, certificate, weights, problem.design.scores(weights))
            parts = certificate, solution.model, solution.witness, known.v
            stopped = solution.status in STOPS
            if stopped and known.scores is not None and brackets_at_scores(problem):
                # no product with the data follows the last certificate
                found = sketch_at_scores(problem, rows, *parts, known.scores)
            else:
                found = sketch(problem, rows, *parts, most_hessian_work=_MOST_HESSIAN_WORK, errors=known.errors)
            if self._at_once and not solution.passes and stopped:
                # the ball around the zero model is too large for a bracket to prove anything
                found.omit_bracket()
            elif self._at_once:
                found.ball()
            return found
        except FenchelError as refusal:
            return OptimumSketch.refused(str(refusal))


class ProvedPredictions:
    """The method ``certified_predictions`` of estimators with a certificate."""

    def certified_predictions(self, X: MatrixLike) -> CertifiedPredictions:
        """Predict, and prove which predictions every exact optimum of the training problem makes.

        A fit keeps what this needs: for each problem the centre and the radius of a ball that contains the optimal
        weights, and not the training data.  Regularizers that are not strongly convex, such as the lasso, have no such
        ball, and are refused with the reason.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows to predict.

        Returns
        -------
        CertifiedPredictions
            ``predictions`` as ``predict`` returns them, ``proved`` for each row, and ``lower`` and ``upper`` bounds on
            the scores of every exact optimum.

        See Also
        --------
        fenchel.ProvedShare : Fit until a share of the predictions is proved.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from fenchel import LinearClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LinearClassifier("logistic", tol=1e-9, random_state=0).fit(X[::2], y[::2])
        >>> bool(model.certified_predictions(X[1::2]).share_proved > 0.9)
        True
        """
        check_is_fitted(self)
        optimum: OptimumOfFit | None = vars(self).get("_optimum")
        if optimum is None:
            raise FenchelError(
                "nothing is known about the optimum: the model is not the result of a fit with its present parameters. "
                "Fit it again"
            )
        # before X is read: what is refused may have no rows
        optimum.check()
        return self._proved(optimum, X)

    def _why_unproved(self, task: Task) -> str:
        """The reason why predictions of this fit can't be proved; empty if they may be."""
        if task.form == "ovo" and task.n_classes > 2:
            return (
                "multi_class='ovo' predicts by votes of pairs of classes, which are not proved: use multi_class='ovr' "
                "or a joint form"
            )
        return ""

    def _proved(self: Any, optimum: OptimumOfFit, X: MatrixLike) -> CertifiedPredictions:
        design = as_design(self._rows(X))
        scores = design.scores(self._weights()) + self.intercept_
        if scores.ndim == 2 and scores.shape[1] == 1 and optimum.kind == "sign":
            scores = scores[:, 0]
        return on_scale(optimum.predict(design, scores), self._loss())


def on_scale(found: CertifiedPredictions, loss: Loss) -> CertifiedPredictions:
    """With predictions of a regression on the scale of its targets; bounds stay those of scores."""
    return replace(found, predictions=loss.prediction(found.predictions)) if found.kind == "score" else found


def stored_optimum(task: Task, solutions: Sequence[Solution], why: str) -> OptimumOfFit | None:
    """What a fit keeps: the sketches of its solutions, or the reason ``why`` there are none; None if unknown."""
    known = tuple(solution.optimum for solution in solutions if solution.optimum is not None)
    if why:
        known = (OptimumSketch.refused(why),)
    elif len(known) < len(solutions):
        return None
    return OptimumOfFit(known, kind_of_task(task), task.classes)


def kind_of_task(task: Task) -> Kind:
    """How the scores of a fit become predictions."""
    if task.classes is None:
        return "score"
    return "class" if task.n_classes > 2 else "sign"


def optimum_of(
    estimator: LinearEstimator, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> OptimumOfFit:
    """What a linear model proves about its exact optimum, recomputed from its training data.

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
    task, pairs = problems_of_fit(estimator, X, y, sample_weight)
    balls = [optimum_ball(problem, start.model, start.witness) for problem, start in pairs]
    return OptimumOfFit(tuple(map(OptimumSketch, balls)), kind_of_task(task), task.classes)


def problems_of_fit(
    estimator: LinearEstimator, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> tuple[Task, Iterator[tuple[Problem, Warm]]]:
    """The task of a fit, and its problems, made one after the other, with the model and the dual point of each."""
    check_is_fitted(estimator)
    task = estimator.encode(X, y, sample_weight)
    # cross-validation chose another C than that of the class
    task = replace(task, C=vars(estimator).get("C_", task.C))
    theta, rows = vars(estimator).get("theta_"), task.design.shape[0]
    if theta is None:
        raise FenchelError("drop_witness has deleted the dual variables, on which the proof rests: fit again")
    if theta.shape[0] != rows:
        raise FenchelError(f"the model was fitted to {theta.shape[0]} rows and X has {rows}: pass the training data")
    why = estimator._why_unproved(task)
    if why:
        raise FenchelError(why)
    problems = estimator.problems(task)
    starts = estimator.warm_starts(task, problems)
    known = [start for start in starts if start is not None]
    if len(known) < len(starts):
        raise FenchelError("X, y have other features or classes than the fit: pass the training data")
    return task, ((make(), start) for make, start in zip(problems, known, strict=True))


def certified_predictions(
    estimator: LinearEstimator,
    X: MatrixLike,
    X_train: MatrixLike,
    y_train: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> CertifiedPredictions:
    """The method of this name, with a proof that is recomputed from the training data.

    For the squared loss with up to 500 features the intervals are narrower than those of the method, since the Hessian
    is computed, which takes longer than many a fit.

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
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import LinearRegressor
    >>> from fenchel.estimators.proved import certified_predictions
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressor(tol=1e-9, random_state=0).fit(X[::2], y[::2])
    >>> found = certified_predictions(model, X[1::2], X[::2], y[::2])
    >>> bool((found.upper - found.lower).max() < 0.1)
    True
    """
    return estimator._proved(optimum_of(estimator, X_train, y_train, sample_weight), X)

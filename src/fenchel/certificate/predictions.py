"""Predictions that are proved: every exact optimum of the problem predicts the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fenchel.arrays import Array, Floats, MatrixLike
from fenchel.certificate.certificate import Certificate
from fenchel.certificate.confinement import optimum_ball
from fenchel.certificate.optimum import OptimumBall
from fenchel.certificate.primal import evaluate
from fenchel.designs import Design, as_design
from fenchel.errors import FenchelError
from fenchel.markup import PROVED, card
from fenchel.problem import Model, Problem, Witness

#: how scores become predictions: their sign, the class of the largest one, or themselves
Kind = Literal["sign", "class", "score"]


@dataclass(frozen=True, eq=False)
class CertifiedPredictions:
    """Predictions of a model, and which of them are the predictions of every exact optimum.

    Parameters
    ----------
    predictions : ndarray of shape (n,) or (n, k)
        The predictions of the model: -1 or +1, the index (or the label) of a class, or a score.
    proved : ndarray of bool of shape (n,)
        Whether every exact optimum makes the same prediction; for scores, whether their interval is finite.
    lower, upper : ndarray of shape (n,) or (n, k)
        Bounds on the scores of every exact optimum.  For a joint risk of several classes with intercepts, of the
        optimum whose scores at the mean row add up to zero.
    radius : float
        The radius of the ball that contains the optimal weights; the largest one if there are several.
    certificate : Certificate
        The certificate that the proof rests on; the sum if there are several problems.
    kind : {"sign", "class", "score"}
        How scores become predictions.

    See Also
    --------
    LinearClassifier.certified_predictions : Returns one.
    certify : Prove how far a model is from the optimum.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import CertifiedPredictions, LinearClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearClassifier("logistic", tol=1e-9, random_state=0).fit(X[::2], y[::2])
    >>> found = model.certified_predictions(X[1::2])
    >>> isinstance(found, CertifiedPredictions), found.lower.shape
    (True, (75, 3))
    """

    predictions: Array
    proved: Array
    lower: Floats
    upper: Floats
    radius: float
    certificate: Certificate
    kind: Kind

    @property
    def share_proved(self) -> float:
        """The share of the rows whose prediction is proved; 1 if there are no rows."""
        return float(np.mean(self.proved)) if len(self.proved) else 1.0

    def _repr_html_(self) -> str:
        return card(PROVED, [str(self)])

    def __str__(self) -> str:
        count, total = int(np.sum(self.proved)), len(self.proved)
        gap = f"the relative gap of the model is {self.certificate.relative_gap:.2g}"
        if self.kind == "score":
            half = float(np.median(0.5 * (self.upper - self.lower))) if self.lower.size else 0.0
            return (
                f"The scores of every exact optimum are within {half:.3g} (half-width, median) of the middle of their "
                f"intervals for {total:,} rows: {gap}."
            )
        rest = "" if count == total else " A smaller tol proves more."
        return f"{count:,} of {total:,} predictions are proved: every exact optimum makes the same ones; {gap}.{rest}"


def certified_predictions(problem: Problem, model: Model, witness: Witness, X: MatrixLike) -> CertifiedPredictions:
    """Predict the rows of X, and prove which predictions every exact optimum of the problem makes.

    Parameters
    ----------
    problem : Problem
        The training problem.
    model : Model
        The model that predicts.
    witness : Witness
        A dual point, such as ``Solution.witness``.
    X : array-like, sparse matrix or Design
        The rows to predict.

    Returns
    -------
    CertifiedPredictions
        Predictions, whether each is proved, and the intervals of the scores.

    See Also
    --------
    OptimumBall : What is known about the optimum, without the training data.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.certificate import certified_predictions
    >>> from fenchel.risks import MeanRisk
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> problem = Problem(X, MeanRisk("hinge", np.sign(X[:, 0])), lam=0.1)
    >>> solution = solve(problem, tol=1e-9)
    >>> found = certified_predictions(problem, solution.model, solution.witness, np.array([[1.0, 0.0], [-1.0, 0.0]]))
    >>> found.predictions, found.proved
    (array([ 1., -1.]), array([ True,  True]))
    """
    if problem.design.kernel() is not None:
        raise FenchelError(
            "the design is a Gram matrix, and proved predictions need the kernel of new rows: use KernelClassifier or "
            "KernelRegressor"
        )
    ball = optimum_ball(problem, model, witness)
    design = as_design(X)
    if design.shape[1] != problem.design.shape[1]:
        raise FenchelError(f"X has {design.shape[1]} features; the problem has {problem.design.shape[1]}")
    model = evaluate(problem, model).model
    scores = design.scores(model.weights) + np.asarray(model.intercept)
    return from_ball(ball, design, scores, kind_of(problem))


def kind_of(problem: Problem) -> Kind:
    """How the scores of this problem become predictions."""
    mean = problem.risk.separable()
    if problem.risk.multiclass() is not None:
        return "class"
    return "sign" if mean is not None and mean.loss.task == "classification" else "score"


def from_ball(
    ball: OptimumBall, design: Design, scores: Array, kind: Kind, distances: Array | None = None
) -> CertifiedPredictions:
    """The predictions of these scores of a model, proved from a ball that is known already."""
    lower, upper = ball.score_intervals(design, distances)
    if kind == "class":
        predictions: Array = np.argmax(scores, axis=1)
        proved = ball.proved_classes(design, predictions, distances)
    elif kind == "sign":
        # as in estimators, a score of zero predicts the negative class
        predictions = np.where(scores > 0.0, 1.0, -1.0)
        proved = np.where(scores > 0.0, lower > 0.0, upper <= 0.0)
    else:
        predictions, proved = scores, np.isfinite(upper - lower)
    proved = proved if proved.ndim == 1 else np.all(proved, axis=1)
    return CertifiedPredictions(predictions, proved, lower, upper, ball.radius, ball.certificate, kind)

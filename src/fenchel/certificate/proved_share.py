"""A rule that ends a solve: a share of the predictions on given rows is proved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenchel.arrays import MatrixLike
from fenchel.certificate.confinement import check_confined, sketch, training_rows
from fenchel.certificate.gap import Verdict
from fenchel.certificate.predictions import CertifiedPredictions, Kind, from_ball, kind_of
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.validation import check_number

#: the gap must fall by this factor before predictions are proved again, which costs about as much as a certificate
_WORTH_PROVING = 0.5


@dataclass(frozen=True, eq=False)
class ProvedShare:
    """Train until a share of the predictions on X is proved: a ``stop_when`` of ``solve`` and of linear estimators.

    A prediction is proved if every exact optimum makes the same one.  The solve then runs until the rule is met or
    until the duality gap is within rounding; ``tol`` does not end it, and ``converged_`` still says whether ``tol`` is
    proved.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Rows to predict, such as those of a validation set; they need no labels.
    share : float, default=0.95
        The share of the rows whose prediction is to be proved, above 0 and at most 1.
    half_width : float, default=None
        For regression, where it is required: a prediction counts as proved if the exact optimum is within this distance
        of the middle of its interval.

    See Also
    --------
    LinearClassifier.certified_predictions : Which predictions are proved.
    solve : Takes a ``stop_when``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from fenchel import LinearClassifier, ProvedShare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> rule = ProvedShare(X[1::2], share=0.9)
    >>> model = LinearClassifier("logistic", stop_when=rule, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.certified_predictions(X[1::2]).share_proved >= 0.9)
    True
    """

    X: MatrixLike
    share: float = 0.95
    half_width: float | None = None

    def check(self, kind: Kind) -> None:
        """Raise for wrong arguments, given how scores become predictions."""
        check_number("share", self.share, above=0.0)
        if self.share > 1.0:
            raise FenchelError(f"share must be at most 1, got {self.share!r}: it is a share of the rows of X")
        check_number("half_width", self.half_width, above=0.0, optional=True)
        if (self.half_width is None) == (kind == "score"):
            raise FenchelError(
                "half_width must be set in ProvedShare for a regression, whose predictions are numbers"
                if kind == "score"
                else "half_width in ProvedShare is for regressions: omit it, labels are proved or not"
            )

    def met_by(self, found: CertifiedPredictions) -> bool:
        """Whether enough of these predictions are proved."""
        proved = found.proved
        if self.half_width is not None:
            narrow = 0.5 * (found.upper - found.lower) <= self.half_width
            proved = narrow if narrow.ndim == 1 else np.all(narrow, axis=1)
        return not len(proved) or float(np.mean(proved)) >= self.share


class ProvedShareWatch:
    """The rule during one solve: asks for a proof when the gap has fallen enough."""

    def __init__(self, rule: ProvedShare, problem: Problem) -> None:
        check_confined(problem)
        if problem.design.kernel() is not None:
            raise FenchelError("stop_when does not support kernel models: use a linear model, or tol")
        self._kind = kind_of(problem)
        rule.check(self._kind)
        self._rule, self._problem, self._design = rule, problem, as_design(rule.X)
        if self._design.shape[1] != problem.design.shape[1]:
            raise FenchelError(
                f"X of stop_when has {self._design.shape[1]} features; the problem has {problem.design.shape[1]}"
            )
        self._rows, self._tried = training_rows(problem), np.inf

    def met(self, best: Verdict) -> bool:
        """Whether the rule is met by the best model and dual point so far."""
        certificate, model, witness, _ = best
        if not certificate.gap < _WORTH_PROVING * self._tried or certificate.contradictory:
            return False
        self._tried = certificate.gap
        if not np.isfinite(certificate.upper - certificate.lower):
            return False
        # a warm start may have brought a compressed v
        v = self._problem.design.adjoint(witness.theta) / self._problem.lam
        ball = sketch(self._problem, self._rows, certificate, model, witness, v).ball()
        scores = self._design.scores(model.weights) + np.asarray(model.intercept)
        return self._rule.met_by(from_ball(ball, self._design, scores, self._kind))

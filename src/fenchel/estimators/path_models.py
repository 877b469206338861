"""The models of a regularization path, and what is proved of them for every value of C between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fenchel.arrays import Array, Floats, MatrixLike
from fenchel.certificate import Certificate, CertifiedPredictions, PathCertificate
from fenchel.certificate.confinement import TrainingRows, sketch_around
from fenchel.certificate.optimum_of_fit import OptimumOfFit
from fenchel.certificate.predictions import kind_of
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.proved import on_scale
from fenchel.estimators.regularization import lam_of
from fenchel.loading import of_package
from fenchel.markup import PROVED, card
from fenchel.progress import warn

#: by which a C may miss the ends of a path through rounding
_MISSED = 1e-9
#: points of a path that notebooks show
_SHOWN = 4


@of_package
@dataclass(frozen=True, eq=False, repr=False)
class RegularizationPath:
    """Models for increasing values of C, with certificates; returned by :func:`regularization_path`.

    Parameters
    ----------
    Cs : ndarray of shape (m,)
        The values of C, increasing.
    coefs : ndarray of shape (m, d) or (m, k, d)
        The weights for each C; for k > 2 classes a row for each class.
    intercepts : ndarray of shape (m,) or (m, k)
        The intercepts for each C.
    certificates : list of Certificate
        A certificate for each C.
    n_iters : ndarray of shape (m,)
        Passes over the data for each C.
    classes : ndarray or None
        The class labels; None for regression.
    accuracy : float or None
        The relative duality gap that is proved for every C from ``Cs[0]`` to ``Cs[-1]``; None for a list of values.
    interrupted : bool
        Whether Ctrl-C ended the path.

    See Also
    --------
    regularization_path : Computes a path.
    plot_path : Draw a path.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from fenchel import regularization_path
    >>> X, y = make_classification(60, 5, random_state=0)
    >>> path = regularization_path(X, y, [0.01, 0.1], random_state=0)
    >>> path.coefs.shape
    (2, 5)
    """

    Cs: Floats
    coefs: Floats
    intercepts: Floats
    certificates: list[Certificate]
    n_iters: Floats
    classes: Array | None
    accuracy: float | None
    interrupted: bool
    _spans: list[PathCertificate]
    _total: float
    #: of the training rows, and X w of each point; or the reason why predictions are not proved
    _training: tuple[TrainingRows, list[Floats]] | str = ""

    def __len__(self) -> int:
        return len(self.Cs)

    def __repr__(self) -> str:
        worst = max(certificate.relative_gap for certificate in self.certificates)
        between = "" if self.accuracy is None else f", {self.accuracy:g} between them"
        return (
            f"RegularizationPath({len(self)} points, C from {self.Cs[0]:g} to {self.Cs[-1]:g}, {self.coefs.shape[-1]} "
            f"features, largest relative gap {worst:.2g}{between})"
        )

    def _repr_html_(self) -> str:
        shown = np.unique(np.linspace(0, len(self) - 1, _SHOWN).astype(int))
        used = [np.count_nonzero(self.coefs[k]) for k in shown]
        points = [(self.Cs[k], self.certificates[k]) for k in shown]
        rows = [
            (f"{C:.3g}", f"{one.primal:.5g}", f"{one.relative_gap:.2g}", count)
            for (C, one), count in zip(points, used, strict=True)
        ]
        return card(PROVED, [repr(self)], ("C", "objective", "relative gap", "weights that are not zero"), rows)

    def at(self, C: float) -> tuple[Floats, Any, Certificate]:
        """The best of the models for any C: its weights, its intercept, and what is proved of them for this C.

        Weights are (d,), or (k, d) for k > 2 classes with k intercepts.  Outside of the path that is the model of its
        nearer end, with a warning: what is proved there may be little.
        """
        best, certificate = self._best(C)
        if not self.Cs[0] * (1.0 - _MISSED) <= C <= self.Cs[-1] * (1.0 + _MISSED):
            warn(
                f"C={C:g} is outside of the path, whose values are {self.Cs[0]:g} to {self.Cs[-1]:g}: the model of its "
                f"nearer end has a proved relative gap of {certificate.relative_gap:.2g} there"
            )
        intercept = self.intercepts[best]
        return self.coefs[best], float(intercept) if intercept.ndim == 0 else intercept, certificate

    def certified_predictions(self, X: MatrixLike, C: float) -> CertifiedPredictions:
        """Predict with the model of ``at(C)``, and prove which predictions every exact optimum for this C makes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows to predict.
        C : float
            The inverse strength of the regularization, as in ``at``.

        Returns
        -------
        CertifiedPredictions
            Predictions, whether each is proved, and bounds on the scores of every exact optimum.

        See Also
        --------
        LinearClassifier.certified_predictions : The same for one C.
        """
        if isinstance(self._training, str):
            raise FenchelError(self._training)
        (rows, scores), design = self._training, as_design(X)
        if design.shape[1] != self.coefs.shape[-1]:
            raise FenchelError(f"X has {design.shape[1]} features; the path was fitted to {self.coefs.shape[-1]}")
        best, certificate = self._best(C)
        problem, weights = replace(self._spans[best].problem, lam=lam_of(C, self._total)), self.coefs[best]
        known = sketch_around(problem, rows, certificate, weights, scores[best])
        found = OptimumOfFit((known,), kind_of(problem), self.classes)
        predicted, mean = (
            found.predict(design, design.scores(weights) + self.intercepts[best]),
            problem.risk.separable(),
        )
        return predicted if mean is None else on_scale(predicted, mean.loss)

    def _best(self, C: float) -> tuple[int, Certificate]:
        """The point whose model is best for this C, and its certificate there."""
        lam = lam_of(C, self._total)
        after = int(np.clip(np.searchsorted(self.Cs, C), 1, max(1, len(self.Cs) - 1)))
        near = sorted({max(0, after - 1), min(after, len(self.Cs) - 1)})
        found = {k: self._spans[k].at(lam) for k in near}
        best = min(near, key=lambda k: found[k].primal)
        # the lower bound of a neighbour holds for every model
        lower = max(near, key=lambda k: found[k].dual)
        certificate = replace(
            found[best],
            dual=found[lower].dual,
            dual_error=found[lower].dual_error,
        )
        return best, certificate

"""Features and examples of a fit that are proved not to matter at any optimum: gap-safe screening."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.arrays import Array, ArrayLike, MatrixLike
from fenchel.certificate.optimum_of_fit import OptimumOfFit
from fenchel.certificate.screening import Screened, joined, screened
from fenchel.estimators.proved import problems_of_fit


class Screening:
    """``screened_`` and ``screened`` of estimators with a weight for each feature."""

    @property
    def screened_(self: Any) -> Array | None:
        """Whether each weight is proved to be zero at every optimum, of the shape of ``coef_``.

        A by-product of a fit of the lasso with a smooth loss.  None for other fits and for a model from a file: the
        method ``screened`` then computes it from the training data.
        """
        check_is_fitted(self)
        optimum: OptimumOfFit | None = vars(self).get("_optimum")
        zero = None if optimum is None else optimum.zero_weights
        return None if zero is None else np.reshape(zero, np.shape(self.coef_))

    def screened(self: Any, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Screened:
        """Prove which features and examples do not matter at any optimum of the fit.

        The certificate is recomputed from the training data.  A weight is proved to be zero if the penalty has a lasso
        part and the loss is a smooth one; an example is proved not to be a support vector, or to have its dual variable
        on the other bound, if the loss is piecewise quadratic, such as hinges and the epsilon-insensitive loss, and the
        penalty strongly convex.  A smaller ``tol`` proves more.

        Parameters
        ----------
        X, y, sample_weight : array-like
            The data of the fit.

        Returns
        -------
        Screened
            Masks of features and examples; with one problem for each class a row or a column for each.

        See Also
        --------
        certified_predictions : Which predictions every optimum makes.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.preprocessing import scale
        >>> from fenchel import LinearRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = LinearRegressor(C=0.01, l1_ratio=1.0, tol=1e-8).fit(scale(X), scale(y))
        >>> bool(model.screened_.sum() >= 6), bool(model.screened(scale(X), scale(y)).features.sum() >= 6)
        (True, True)
        """
        _, pairs = problems_of_fit(self, X, y, sample_weight)
        return joined([screened(problem, start.model, start.witness) for problem, start in pairs])

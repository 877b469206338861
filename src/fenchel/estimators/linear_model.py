"""The scores of linear models, of rows that scikit-learn validates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.arrays import Floats
from fenchel.designs import as_design
from fenchel.designs.storage import check_storage
from fenchel.estimators.sklearn_bases import BaseEstimator


class LinearModel(BaseEstimator):
    """The scores X w + b of rows that scikit-learn validates."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _input(self, X: Any) -> dict[str, Any]:
        """check_array's options for this X: any real type, sparse formats that have rows or columns.

        Arrays are used in place in whatever order they are.  A data frame is made an array in C order, since its
        columns usually lie apart: loops go by rows, and a fit on scattered rows takes several times as long.
        """
        # before scikit-learn converts it
        check_storage(X)
        options = {"accept_sparse": ("csr", "csc"), "accept_large_sparse": True, "dtype": "numeric"}
        return options if isinstance(X, np.ndarray) or not hasattr(X, "columns") else {**options, "order": "C"}

    def _rows(self, X: Any) -> Any:
        """X as scikit-learn validates it for a fitted estimator."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._input(X))

    def _scores(self, X: Any) -> Floats:
        return as_design(self._rows(X)).scores(self._weights()) + self.intercept_

    def _weights(self) -> Floats:
        """``coef_`` as an array, whether or not it was made sparse."""
        coef: Any = self.coef_
        return coef.toarray() if sp.issparse(coef) else coef

"""The scores of linear models, of rows that scikit-learn validates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.arrays import Floats, MatrixLike
from fenchel.designs import as_design
from fenchel.designs.computed import ComputedDesign
from fenchel.designs.storage import check_storage
from fenchel.errors import FenchelError
from fenchel.estimators.sklearn_bases import BaseEstimator
from fenchel.estimators.texts import check_no_texts
from fenchel.features import Features


class LinearModel(BaseEstimator):
    """The scores X w + b of rows that scikit-learn validates."""

    #: estimators that have this parameter set it; ``features_`` is the same with what the fit has learned
    features: Features | None = None
    features_: Features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # raw data: strings, or what the user's own features take
        tags.input_tags.string = self.features is not None
        return tags

    def _input(self, X: MatrixLike) -> dict[str, Any]:
        """check_array's options for this X: any real type, sparse formats that have rows or columns.

        Arrays are used in place in whatever order they are.  A data frame is made an array in C order, since its
        columns usually lie apart: loops go by rows, and a fit on scattered rows takes several times as long.
        """
        # before scikit-learn converts it
        check_storage(X)
        if self.features is None:
            check_no_texts(X, type(self).__name__)
        options = {"accept_sparse": ("csr", "csc"), "accept_large_sparse": True, "dtype": "numeric"}
        return options if isinstance(X, np.ndarray) or not hasattr(X, "columns") else {**options, "order": "C"}

    def _rows(self, X: MatrixLike) -> Any:
        """X as scikit-learn validates it for a fitted estimator."""
        check_is_fitted(self)
        if self.features is not None:
            return self._computed(X)
        return validate_data(self, X, reset=False, **self._input(X))

    def _computed(self, X: MatrixLike) -> ComputedDesign:
        """The features of raw data, by what the fit has learned; held-out rows of a fit are such a design already."""
        design = X if isinstance(X, ComputedDesign) else self.features_.design(X)
        if design.shape[1] != self.n_features_in_:
            raise FenchelError(
                f"features gave {design.shape[1]} features, but this model was fitted with {self.n_features_in_}"
            )
        return design

    def _scores(self, X: MatrixLike) -> Floats:
        return as_design(self._rows(X)).scores(self._weights()) + self.intercept_

    def to_sklearn(self) -> Any:
        """The fitted model as an estimator of scikit-learn, which predicts the same without this package.

        It has copies of the weights, the classes and the names of features; its ``decision_function`` and
        ``predict_proba``, where both have them, are equal too.  The certificate stays here.

        Returns
        -------
        estimator
            An estimator of scikit-learn, chosen for its predictions: a fit of it minimizes its own objective.

        Raises
        ------
        FenchelError
            If no estimator of scikit-learn has these predictions.  The message says why.
        """
        check_is_fitted(self)
        if self.features is not None:
            raise FenchelError(
                f"{type(self).__name__} computes features={self.features!r} from raw data, which no estimator of "
                "scikit-learn does: convert a model of the matrix of features"
            )
        return self._stock()

    def _stock(self) -> Any:
        """The estimator of scikit-learn with these predictions."""
        raise FenchelError(f"no estimator of scikit-learn predicts what {type(self).__name__} does")

    def _weights(self) -> Floats:
        """``coef_`` as an array, whether or not it was made sparse."""
        coef: Any = self.coef_
        return coef.toarray() if sp.issparse(coef) else coef

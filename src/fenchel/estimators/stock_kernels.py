"""Fitted kernel models as estimators of scikit-learn: ``SVC``, ``SVR`` and ``KernelRidge`` with our coefficients.

libsvm keeps a copy of its coefficients in private attributes.  A fit to two examples initializes them all, so that what
this scikit-learn has is there, and then our support vectors take the place of those two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, MatrixLike
from fenchel.errors import FenchelError
from fenchel.estimators.stock_linear import named
from fenchel.losses import Loss


def stock_kernel_classifier(model: Any) -> Any:
    """An ``SVC`` of two classes; of more a ``OneVsRestClassifier`` of such, which compares their scores as we do."""
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import LabelBinarizer
    from sklearn.svm import SVC

    intercept = np.broadcast_to(vars(model).get("intercept_", 0.0), len(model.dual_coef_))
    parts = [
        _two_classes(model, coefficients, float(b)) for coefficients, b in zip(model.dual_coef_, intercept, strict=True)
    ]
    if len(parts) == 1:
        parts[0].classes_ = model.classes_.copy()
        return named(model, parts[0])
    stock = OneVsRestClassifier(SVC(**_kernel(model)))
    stock.estimators_ = [named(model, part) for part in parts]
    stock.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(model.classes_)
    stock.classes_ = model.classes_.copy()
    return named(model, stock)


def stock_kernel_regressor(model: Any) -> Any:
    """A ``KernelRidge`` without an intercept, else an ``SVR``."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.svm import SVR

    loss = model._loss()
    if type(loss).prediction is not Loss.prediction:
        raise FenchelError(
            f"no kernel regression of scikit-learn has the predictions of loss={loss.name!r}, which are not the scores"
        )
    kernel, several = _kernel(model), np.ndim(model.intercept_) > 0
    if not model.fit_intercept and model.kernel != "precomputed":
        stock = KernelRidge(alpha=1.0 / model.C, **kernel)
        stock.dual_coef_ = model.dual_coef_.T.copy() if several else model.dual_coef_[0].copy()
        stock.X_fit_ = model.support_vectors_.copy()
        return named(model, stock)
    if several:
        raise FenchelError(
            "scikit-learn has no kernel regression of several targets with intercepts or a precomputed matrix: fit a "
            "model to each target, or use fit_intercept=False with a kernel by name"
        )
    stock = _initialized(model, SVR(C=model.C, **kernel))
    support = _set_support(model, stock, np.arange(len(model.support_)), np.array([len(model.support_), 0]))
    return named(model, _set_scores(stock, support, model.dual_coef_, float(model.intercept_), sign=1.0))


def _two_classes(model: Any, coefficients: Array, intercept: float) -> Any:
    """An ``SVC`` of the classes 0 and 1, whose support vectors are in the order of their classes."""
    from sklearn.svm import SVC

    order = np.argsort(coefficients > 0.0, kind="stable")
    negative = int(np.count_nonzero(coefficients <= 0.0))
    stock = _initialized(model, SVC(C=model.C, class_weight=model.class_weight, **_kernel(model)))
    support = _set_support(model, stock, order, np.array([negative, len(order) - negative]))
    # libsvm's scores are positive for the first class
    return _set_scores(stock, support, coefficients[None, order], intercept, sign=-1.0)


def _kernel(model: Any) -> dict[str, Any]:
    if callable(model.kernel):
        raise FenchelError(
            "kernel is a function, for which scikit-learn's estimators keep all training examples: use "
            "kernel='precomputed' to convert the model"
        )
    gamma = 1.0 if model.gamma_ is None else model.gamma_
    return {"kernel": model.kernel, "gamma": gamma, "degree": model.degree, "coef0": model.coef0}


def _initialized(model: Any, stock: Any) -> Any:
    """The estimator after a fit to two examples, dense or sparse as our support vectors are."""
    X: MatrixLike = np.eye(2)
    if sp.issparse(model.support_vectors_):
        X = sp.csr_matrix(X)
    weights = stock.get_params(deep=False).get("class_weight")
    if weights is not None:
        # names of classes that these examples do not have
        return stock.set_params(class_weight=None).fit(X, [0, 1]).set_params(class_weight=weights)
    return stock.fit(X, [0, 1])


def _set_support(model: Any, stock: Any, order: Array, counts: Array) -> bool:
    """Give it the support vectors in this order; whether they are sparse."""
    stock.support_ = model.support_[order].astype(np.int32)
    stock._n_support = counts.astype(np.int32)
    stock.shape_fit_ = (len(model.theta_), model.n_features_in_)
    vectors = model.support_vectors_
    if vectors is None:
        stock.support_vectors_ = np.empty((0, 0))
        return False
    sparse = sp.issparse(vectors)
    stock.support_vectors_ = sp.csr_matrix(vectors[order]) if sparse else np.ascontiguousarray(vectors[order])
    return sparse


def _set_scores(stock: Any, sparse: bool, coefficients: Array, intercept: float, *, sign: float) -> Any:
    """Give it coefficients and an intercept, and libsvm the same with this sign."""
    for prefix, factor in (("", 1.0), ("_", sign)):
        own = np.ascontiguousarray(factor * coefficients)
        setattr(stock, f"{prefix}dual_coef_", sp.csr_matrix(own) if sparse else own)
        setattr(stock, f"{prefix}intercept_", np.array([factor * intercept]))
    return stock

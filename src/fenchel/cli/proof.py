"""Recomputes the certificate of a model file from data.

Nothing but the weights and the dual point is taken from the file.  Where a dual point alone proves nothing, because the
conjugate of the risk has no closed form (F1 and its like), a new one is searched for here.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.certificate import Certificate
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators import LinearClassifier
from fenchel.estimators.classifier import class_weights
from fenchel.problem import Witness
from fenchel.verifying import certify


def prove_again(estimator: Any, X: Any, y: NDArray) -> Certificate:
    """The certificate of the fitted estimator's model on the data that it was trained on."""
    design, weights = as_design(X), None
    if isinstance(estimator, LinearClassifier):
        encoded = _numbers(estimator.classes_, y)
        if estimator.class_weight is not None:
            weights = class_weights(estimator.class_weight, y, estimator.classes_, encoded, None)
        columns = estimator._columns(encoded)
    else:
        targets = np.asarray(y, dtype=np.float64)
        columns = [lambda: targets]
    if len(estimator.theta_) != len(y):
        raise FenchelError(
            f"the model was trained on {len(estimator.theta_)} rows and these are {len(y)}: a certificate is about the "
            "training data; use `fenchel predict` for others"
        )
    starts = estimator.set_params(warm_start=True)._warm_starts(len(columns), design.shape[1])
    found = []
    for column, start in zip(columns, starts, strict=True):
        if start is None:
            raise FenchelError(f"the data have {design.shape[1]} features, which is not what the model was trained on")
        problem = estimator._problem(design, column, weights, estimator.C)
        witness = Witness(start.witness.theta) if hasattr(problem.risk, "conjugate") else None
        found.append(certify(problem, start.model, witness))
    return reduce(add, found)


def _numbers(classes: NDArray, y: NDArray) -> NDArray:
    """The number of each label's class."""
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise FenchelError(f"the label {unknown[0]!s} is none of the classes of the model: {_listed(classes)}")
    return np.searchsorted(classes, y)


def _listed(classes: NDArray) -> str:
    return ", ".join(map(str, classes[:10])) + (", …" if len(classes) > 10 else "")

"""Recomputes the certificate of a model file from data.

Only the weights and the dual point are taken from the file.  Where a dual point alone proves nothing, because the
conjugate of the risk has no closed form (F1 and its like), a new one is searched for here.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from fenchel.arrays import Array
from fenchel.certificate import Certificate
from fenchel.errors import FenchelError
from fenchel.estimators.labels import unknown_labels
from fenchel.problem import Witness
from fenchel.verifying import certify


def prove_again(estimator: Any, X: Any, y: Array) -> Certificate:
    """The certificate of the fitted estimator's model on the data that it was trained on."""
    if hasattr(estimator, "classes_"):
        unknown = unknown_labels(y, estimator.classes_)
        if unknown:
            names = ", ".join(map(str, estimator.classes_[:10])) + (", …" if len(estimator.classes_) > 10 else "")
            raise FenchelError(f"the label {unknown[0]!s} is none of the classes of the model: {names}")
    if len(estimator.theta_) != len(y):
        raise FenchelError(
            f"the model was trained on {len(estimator.theta_)} rows and these are {len(y)}: a certificate is about the "
            "training data; use `fenchel predict` for others"
        )
    task = estimator.encode(X, y)
    problems = estimator.problems(task)
    starts = estimator.warm_starts(task, problems)
    if None in starts:
        raise FenchelError(
            f"the data have {X.shape[1]} features and the model {estimator.n_features_in_}, or other classes: a "
            "certificate is about the training data"
        )
    found = []
    for lazy, start in zip(problems, starts, strict=True):
        problem = lazy()
        witness = None if problem.risk.closed_form() is None else Witness(start.witness.theta)
        found.append(certify(problem, start.model, witness))
    return reduce(add, found)

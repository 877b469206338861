"""What a report is about: a fitted model with its data, checked and of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _num_samples, check_is_fitted

from fenchel.arrays import Floats
from fenchel.certificate import Certificate
from fenchel.errors import FenchelError
from fenchel.estimators import LinearRanker, MultilabelClassifier, OrdinalClassifier, SequenceClassifier
from fenchel.estimators.labels import unknown_labels
from fenchel.estimators.last_step import last_step
from fenchel.interop import certify
from fenchel.interop.judging import without_certificate
from fenchel.plotting.models import feature_names, fitted_part, names_from_steps


class Kind(Enum):
    """What a model predicts; the value is the word for it."""

    TWO_CLASSES = "two classes"
    CLASSES = "several classes"
    ORDERED = "ordered classes"
    LABELS = "several labels"
    RANKING = "a ranking"
    SEQUENCES = "labels of sequences"
    REGRESSION = "numbers"


@dataclass(frozen=True)
class Rows:
    """Rows with their targets."""

    X: Any
    y: Any
    #: the queries of a ranking
    qid: Any = None
    #: classes from the lowest to the highest, if they are ordered
    order: Any = None
    #: the weight of each row, or of each sequence; None: all rows count alike
    weight: Any = None

    def __len__(self) -> int:
        return int(_num_samples(self.X))

    @property
    def total_weight(self) -> float:
        """The sum of the weights: the number of rows if there are none."""
        return float(len(self) if self.weight is None else np.sum(self.weight))


@dataclass(frozen=True)
class Subject:
    """A fitted model, its last step, and the data that the last step sees."""

    model: Any
    estimator: Any
    kind: Kind
    train: Rows
    test: Rows | None
    #: given by the caller; None looks for those of the training data
    names: Sequence[str] | None = None
    certificates: list[Certificate] = field(default_factory=list)
    #: why there is no certificate
    refusal: str = ""
    #: the objective that another library minimizes, in words
    judged: str = ""

    @property
    def name(self) -> str:
        """The class of the estimator."""
        return type(self.estimator).__name__

    @property
    def fitted(self) -> dict[str, Any]:
        """The attributes of the estimator."""
        return vars(self.estimator)


def subject_of(model: Any, train: Rows, test: Rows | None, names: Any = None) -> Subject:
    """Check the model and the data, and find out what is proved."""
    if not isinstance(model, BaseEstimator):
        raise FenchelError(f"model must be a fitted estimator, got {type(model).__name__}")
    estimator = fitted_part(model)
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise FenchelError(f"model is a {type(estimator).__name__} that is not fitted: call fit first") from error
    train = _inner("X, y", model, estimator, train)
    test = None if test is None else _inner("X_test, y_test", model, estimator, test)
    kind = kind_of(estimator)
    if kind in (Kind.TWO_CLASSES, Kind.CLASSES):
        _check_labels("y", estimator, train, allowed=0)
        if test is not None:
            # held-out rows may have labels that the training data lack
            _check_labels("y_test", estimator, test, allowed=len(np.unique(np.asarray(test.y))) - 1)
    names = _names(model, estimator, names)
    found = Subject(model, estimator, kind, train, test, names)
    return _with_certificates(found)


def kind_of(estimator: Any) -> Kind:
    """What an estimator predicts."""
    for kind, cls in (
        (Kind.ORDERED, OrdinalClassifier),
        (Kind.LABELS, MultilabelClassifier),
        (Kind.RANKING, LinearRanker),
        (Kind.SEQUENCES, SequenceClassifier),
    ):
        if isinstance(estimator, cls):
            return kind
    if is_regressor(estimator):
        return Kind.REGRESSION
    classes = vars(estimator).get("classes_")
    if is_classifier(estimator) and classes is not None and np.ndim(classes[0]) == 0:
        return Kind.TWO_CLASSES if len(classes) == 2 else Kind.CLASSES
    raise FenchelError(f"model must be a classifier, a regressor or a ranker, got {type(estimator).__name__}")


def _inner(called: str, model: Any, estimator: Any, rows: Rows) -> Rows:
    """The rows as the last step of a pipeline sees them; an error for shapes that do not fit."""
    first, second = called.split(", ")
    if rows.y is None:
        raise FenchelError(f"{second} must hold the targets of {first}, got None")
    count = _count(rows.X, first)
    targets = rows.y.shape[0] if sp.issparse(rows.y) else len(rows.y)
    if count != targets:
        raise FenchelError(f"{first} has {count:,} rows and {second} has {targets:,}: they must have the same number")
    if rows.qid is not None and len(rows.qid) != count:
        raise FenchelError(f"qid has {len(rows.qid):,} entries and {first} has {count:,} rows: give a query for each")
    X = last_step(model, rows.X)[1]
    features, expected = np.shape(X)[1:2] if hasattr(X, "shape") else (), vars(estimator).get("n_features_in_")
    if features and expected is not None and features[0] != expected and not isinstance(estimator, SequenceClassifier):
        raise FenchelError(f"{first} has {features[0]:,} features, and the model was fitted to {expected:,}")
    return Rows(X, rows.y, rows.qid, vars(estimator).get("order_"), rows.weight)


def _check_labels(name: str, estimator: Any, rows: Rows, *, allowed: int) -> None:
    """Raise for more labels than these that are none of the classes."""
    unknown = unknown_labels(np.asarray(rows.y), np.asarray(estimator.classes_))
    if len(unknown) > allowed:
        known = ", ".join(map(repr, estimator.classes_[:5].tolist()))
        raise FenchelError(
            f"{name} holds labels that the model does not know: {', '.join(map(repr, unknown[:5]))}. Its classes are "
            f"{known}: pass the labels of its fit"
        )


def checked_weights(called: str, given: Any, X: Any) -> Floats | None:
    """The weights of rows; an error unless there is one for each, none is negative, and not all are zero."""
    if given is None:
        return None
    count = _count(X, called.replace("sample_weight", "X"))
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (count,):
        raise FenchelError(f"{called} must have a weight for each of the {count:,} rows, got shape {weights.shape}")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0.0) or not np.any(weights > 0.0):
        raise FenchelError(f"{called} must hold finite numbers >= 0, not all of them zero")
    return weights


def _count(X: Any, name: str) -> int:
    try:
        return int(_num_samples(X))
    except TypeError as error:
        raise FenchelError(f"{name} must be an array, a sparse matrix, a data frame or a list: {error}") from error


def _names(model: Any, estimator: Any, given: Any) -> Any:
    """The names of features that the caller gives, or those that come out of the steps of a pipeline."""
    if given is not None:
        # raises for a wrong number
        return feature_names(estimator, int(estimator.n_features_in_), given)
    return names_from_steps(model)


def _with_certificates(found: Subject) -> Subject:
    """With the certificates of the fit, or those that ``certify`` computes for another library's model."""
    own = found.fitted.get("certificates_") or [
        one for one in [found.fitted.get("certificate_")] if isinstance(one, Certificate)
    ]
    changes: dict[str, Any] = {"certificates": list(own)}
    if not own and type(found.estimator).__module__.startswith("fenchel."):
        changes["refusal"] = f"{found.name} {without_certificate(found.estimator)}."
    elif not own:
        try:
            judged = certify(found.estimator, found.train.X, found.train.y, sample_weight=found.train.weight)
            changes |= {"certificates": list(judged.certificates), "judged": judged.objective}
        except FenchelError as refusal:
            changes["refusal"] = str(refusal)
    return Subject(**{**vars(found), **changes})

"""The data of one fit: validated, encoded, and never changed afterwards."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, _check_y, check_consistent_length, check_X_y, validate_data

from fenchel.arrays import Array, Floats
from fenchel.designs import Design, as_design
from fenchel.designs.storage import check_storage
from fenchel.errors import FenchelError
from fenchel.features import Features
from fenchel.numerics.error_free import exact_sum
from fenchel.regularizers import Regularizer
from fenchel.validation import real_numbers

if TYPE_CHECKING:
    from fenchel.estimators.plug_in import PlugIn

#: attributes that a fit has with some parameters and data only, and by which it predicts
_OF_SOME_FITS = (
    "feature_names_in_",
    "features_",
    "coef_",
    "dual_coef_",
    "support_",
    "support_vectors_",
    "gamma_",
    "intercept_",
)


@dataclass(frozen=True, eq=False)
class Task:
    """What ``encode`` returns and ``problems`` and ``store`` read."""

    #: the validated rows, and the design of the problems
    X: Any
    design: Design
    #: the labels or targets as given, and as numbers: indices into ``classes``, or float64 targets
    y: Array
    targets: Array
    #: of the problems, see ``regularization.lam_of``
    C: float
    regularizer: Regularizer
    #: as given, and times the class weights
    sample_weight: Floats | None = None
    weights: Floats | None = None
    #: None for a regression
    classes: Array | None = None
    #: how more than two classes become problems, ``multi_class_`` of the fitted estimator
    form: str | None = None
    #: the rows of X that the design holds; None for all
    active: NDArray[np.int64] | None = None
    #: the query of each row of a ranking; None for one query, and for everything else
    queries: Array | None = None
    #: for each problem the (train, test) rows of the folds in which examples are held out
    folds: Sequence[Sequence[tuple[Array, Array]]] = ()
    #: of fits for a measure that replace its bound
    plug_in: PlugIn | None = None
    #: fitted attributes that are known before anything is solved
    fitted: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_classes(self) -> int:
        """The number of classes, 0 for a regression."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def total_weight(self) -> float:
        """The sum of the weights of the examples; without weights their number."""
        return float(self.design.shape[0]) if self.weights is None else exact_sum(self.weights)

    def subset(self, rows: Array) -> Self:
        """The same task for some of the rows."""
        X = self.X[rows]
        weights = None if self.weights is None else self.weights[rows]
        queries = None if self.queries is None else self.queries[rows]
        y, targets = self.y[rows], self.targets[rows]
        return replace(self, X=X, design=as_design(X), y=y, targets=targets, weights=weights, queries=queries)


def validated(estimator: Any, X: Any, y: Any, **options: Any) -> tuple[Any, Array, dict[str, Any]]:
    """X and y as scikit-learn validates them, and the attributes that it would set on the estimator."""
    check_storage(y, "y")
    if estimator.features is not None:
        return _with_features(estimator, X, y, options)
    if isinstance(X, Design):
        # its rows were checked when it was made, and may lie elsewhere
        y = _check_y(y, **{name: options[name] for name in ("multi_output", "y_numeric") if name in options})
        check_consistent_length(X, y)
        return X, y, {"n_features_in_": X.shape[1]}
    if (type(X) is np.ndarray or sp.issparse(X)) and y is not None and "reset" not in options:
        # a matrix has no names of features, which ``validate_data`` would look for
        if not _is_checked(X, y):
            X, y = check_X_y(X, y, estimator=estimator, **options)
        return X, y, {"n_features_in_": X.shape[1]}
    unchanged = copy.copy(estimator)
    X, y = validate_data(unchanged, X, y, **options)
    names = ("n_features_in_", "feature_names_in_")
    return X, y, {name: value for name, value in vars(unchanged).items() if name in names}


def _is_checked(X: Any, y: Any) -> bool:
    """Whether scikit-learn's checks, which take as long as steps of a small solve, would return these as they are."""
    if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not X.size:
        return False
    if type(y) is not np.ndarray or y.shape != X.shape[:1]:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        # finite numbers with an infinite sum are left to scikit-learn
        return bool(np.isfinite(X.sum())) and (y.dtype.kind in "iu" or (y.dtype == np.float64 and np.isfinite(y.sum())))


def _with_features(estimator: Any, X: Any, y: Any, options: Mapping[str, Any]) -> tuple[Any, Array, dict[str, Any]]:
    """The design of raw data by the estimator's features, y as scikit-learn validates it, and what the fit stores."""
    features = estimator.features
    if not isinstance(features, Features):
        raise FenchelError(f"features must be None or Features such as KmerFeatures(), got {type(features).__name__}")
    of_targets = {name: value for name, value in options.items() if name in ("multi_output", "y_numeric")}
    y = validate_data(copy.copy(estimator), "no_validation", y, **of_targets)
    learned, design = features.learned(X)
    check_consistent_length(design, y)
    if not design.shape[0]:
        raise FenchelError("X holds no examples; a fit needs at least one")
    return design, y, {"n_features_in_": design.shape[1], "features_": learned}


def summed(X: Any) -> Any:
    """X, or a copy in which repeated entries of a sparse matrix are added up: not every kernel or loop does that."""
    if not sp.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def set_fitted(estimator: Any, found: Mapping[str, Any]) -> None:
    """Set the attributes of a fit, and remove those that the last fit had and this one has not."""
    for name in _OF_SOME_FITS:
        vars(estimator).pop(name, None)
    vars(estimator).update(found)


def checked_weights(sample_weight: Any, X: Any) -> Floats | None:
    """The weights of the examples as float64: none negative, not all zero."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, str):
        raise FenchelError(
            f"sample_weight must be an array with a weight for each example, got {sample_weight!r}; "
            "class_weight='balanced' balances the classes"
        )
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if np.any(weights < 0):
        raise FenchelError("Negative values in data passed to `sample_weight`: use 0 to omit an example")
    if not np.any(weights > 0):
        raise FenchelError("sample_weight: Sample weights are all zero; give at least one example a positive weight")
    return weights


def checked_targets(y: Any, use: str = "a regression", otherwise: str = "use a classifier for labels") -> None:
    """Raise for targets that are words or dates."""
    if y is None or sp.issparse(y) or np.asarray(y).dtype.kind not in "USOmM":
        # scikit-learn checks numbers
        return
    try:
        # as objects, since an error would write a word of an array as np.str_('word')
        real_numbers("y", np.asarray(y, dtype=object) if np.asarray(y).dtype.kind in "US" else y)
    except FenchelError as error:
        raise FenchelError(f"y must hold numbers for {use}: {error.__cause__}; {otherwise}") from error

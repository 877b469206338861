"""Integer weights of examples for measures that count them: the examples are repeated, or omitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from fenchel.errors import FenchelError
from fenchel.estimators.task import checked_weights

#: rows after repetition at most; weights that add up to more are rather not numbers of examples
_MOST_ROWS = 100_000_000


def repeated(X: Any, y: Any, sample_weight: Any, counted_by: str) -> tuple[Any, Any, Any]:
    """X and y with each row as often as its weight says, and the weights that remain.

    Equal weights that are not integers are kept: they only scale C.
    """
    weights = checked_weights(sample_weight, X)
    if weights is None or y is None or np.all(weights == 1.0):
        return X, y, sample_weight
    if not np.all(weights == np.rint(weights)):
        if np.all(weights == weights[0]):
            return X, y, sample_weight
        raise FenchelError(
            f"sample_weight does not apply to {counted_by}, which counts examples, unless all weights are integers "
            "(repeated examples) or equal; use integers, or measure='accuracy' or 'roc_auc'"
        )
    total = float(np.sum(weights))
    if total > _MOST_ROWS:
        raise FenchelError(
            f"sample_weight: integers are numbers of repeated examples for {counted_by}, at most {_MOST_ROWS} in all, "
            f"got {total:.3g}; divide them by a common factor"
        )
    rows = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
    return *(_safe_indexing(part.tocsr() if sp.issparse(part) else part, rows) for part in (X, y)), None

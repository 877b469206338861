r"""One against one: a problem of two classes for every pair of classes, and the votes of all pairs.

The pairs (a, b), a < b, are in the order of ``itertools.combinations``; a positive score speaks for b.  The problem of
a pair is :math:`\tfrac12\|w\|^2 + C \sum \text{weight}_i f(x_i\cdot w + b, y_i)` over the examples of its two classes.
The others have weight zero: X is not copied, and solvers do not visit them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import _ovr_decision_function

from fenchel.errors import FenchelError

#: scores of pairs that exist at once (64 MB)
_SCORES = 1 << 23


def pair_columns(encoded: NDArray, classes: int) -> list[Callable[[], NDArray[np.float64]]]:
    """The labels of each pair: -1 and 1, and 0 for examples of other classes."""
    return [partial(_labels, encoded, a, b) for a, b in combinations(range(classes), 2)]


def _labels(encoded: NDArray, a: int, b: int) -> NDArray[np.float64]:
    return np.where(encoded == b, 1.0, np.where(encoded == a, -1.0, 0.0))


def taking_part(labels: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray]:
    """Labels and weights of a pair's problem: those of other classes weigh nothing."""
    inside = labels != 0.0
    weights = np.where(inside, 1.0 if weights is None else weights, 0.0)
    if not np.any(weights > 0.0):
        raise FenchelError(
            "no example of two of the classes takes part, as in a fold that lacks both: choose other folds with cv"
        )
    return np.where(inside, labels, 1.0), weights


def votes(design: Any, weights: NDArray, intercepts: NDArray, classes: int) -> NDArray[np.float64]:
    """(n, classes): how many pairs a class wins, and its confidences, which count for less than one vote.

    The rule of scikit-learn's ``OneVsOneClassifier`` and ``SVC``.
    """
    step = max(1, _SCORES // len(weights))
    found = np.empty((design.shape[0], classes))
    for begin in range(0, design.shape[0], step):
        scores = design.part(begin, begin + step).scores(weights) + intercepts
        found[begin : begin + step] = _ovr_decision_function(scores > 0.0, scores, classes)
    return found


def stacked(thetas: Sequence[Any]) -> sp.csc_array:
    """(n, pairs): mostly zeros, since each example takes part in classes - 1 of the pairs."""
    return sp.csc_array(sp.hstack([sp.csc_array(theta.reshape(-1, 1)) for theta in thetas], format="csc"))

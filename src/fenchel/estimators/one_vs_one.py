r"""One-vs-one: a problem of two classes for every pair of classes, and the votes of all pairs.

The pairs (a, b), a < b, are in the order of ``itertools.combinations``; a positive score votes for b.  The problem of
a pair is :math:`\tfrac12\|w\|^2 + C \sum \text{weight}_i f(x_i\cdot w + b, y_i)` over the examples of its two classes.
The others have weight zero: X is not copied, and solvers do not visit them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import _ovr_decision_function

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError

#: scores of pairs that exist at once (64 MB)
_SCORES = 1 << 23


def active_examples(codes: Array, weights: Array | None, a: int, b: int) -> tuple[Floats, Floats]:
    """Labels (-1 for a, else 1) and weights of a pair's problem; examples of other classes have weight zero."""
    first, second = codes == a, codes == b
    active = np.where(first | second, 1.0 if weights is None else weights, 0.0)
    if not np.any(active > 0.0):
        raise FenchelError(
            "cv: a fold has no training examples of two of the classes, which multi_class='ovo' needs; use fewer folds"
        )
    return np.where(first, -1.0, 1.0), active


def votes(design: Any, weights: Array, intercepts: Array, classes: int) -> Floats:
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
    """(n, pairs): mostly zeros, since each example is active in classes - 1 of the pairs."""
    return sp.csc_array(sp.hstack([sp.csc_array(theta.reshape(-1, 1)) for theta in thetas], format="csc"))

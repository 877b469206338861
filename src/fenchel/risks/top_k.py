r"""Precision and recall among the first k, with the constraint sets of SVM-perf (Joachims 2005).

==============  ======================================  =====================================================
measure         labellings z                            Delta(fn, fp)
==============  ======================================  =====================================================
precision@k     at least k predicted positive, k <= n+  1 - precision = fp / (n+ + fp - fn)
recall@k        at most k predicted positive, k >= n+   1 - recall = fn / n+
==============  ======================================  =====================================================

The true labelling has n+ predicted positives, so with these k it is always among them and the risk is never negative.
A labelling has n+ + fp - fn predicted positives: the constraint is one on the surplus alone, and for each surplus
Delta is linear in fn.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fenchel.errors import FenchelError
from fenchel.risks.contingency import DiagonalRisk
from fenchel.risks.separation import Diagonals


class PrecisionAtK(DiagonalRisk):
    """1 - precision of the worst labelling with at least k predicted positives."""

    name: ClassVar[str] = "precision_at_k"

    def __init__(self, labels: ArrayLike, k: int, weights: ArrayLike | None = None) -> None:
        super().__init__(labels, weights)
        self.k = whole_k(k)
        if not 1 <= self.k <= self.n_pos:
            raise FenchelError(
                f"k must be between 1 and the number of positives, {self.n_pos}, for 'precision_at_k', got {k}; "
                "otherwise the true labels would not be allowed"
            )
        surplus = np.arange(self.k - self.n_pos, self.n_neg + 1, dtype=np.float64)
        predicted = self.n_pos + surplus
        self.diagonals = Diagonals(self.k - self.n_pos, surplus / predicted, 1.0 / predicted)


class RecallAtK(DiagonalRisk):
    """1 - recall of the worst labelling with at most k predicted positives."""

    name: ClassVar[str] = "recall_at_k"

    def __init__(self, labels: ArrayLike, k: int, weights: ArrayLike | None = None) -> None:
        super().__init__(labels, weights)
        self.k = whole_k(k)
        if not self.n_pos <= self.k <= self.examples:
            raise FenchelError(
                f"k must be between the number of positives, {self.n_pos}, and that of examples, {self.examples}, "
                f"for 'recall_at_k', got {k}; otherwise the true labels would not be allowed"
            )
        count = self.k + 1
        self.diagonals = Diagonals(-self.n_pos, np.zeros(count), np.full(count, 1.0 / self.n_pos))


def whole_k(k: int) -> int:
    """K as an integer, or an error."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise FenchelError(f"k must be a whole number of examples, got {k!r}")
    return int(k)

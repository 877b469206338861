r"""The design of a kernel model whose Gram matrix is too large to be kept: rows are computed when they are needed.

``source(indices)`` computes rows of K.  A bounded number of them is kept.  A descent on the dual needs row i only when
the variable of example i moves: its score and :math:`K_{ii}` tell whether it does.

What is kept.  The rows that moved something longest ago make room.  Passes in a fixed order would defeat that, since
each row would be thrown out just before its turn; so a pass begins with the examples whose rows are here (any order is
a permutation), and finds all of them.

Accuracy.  Rows are kept in float64, though twice as many would fit in float32: they are then the values of the kernel
itself, and the scores :math:`Ka` of a certificate are made of them and, where a coefficient's row is not here, of rows
that are computed for that moment.  Rows whose coefficients are zero are not looked at, and of a product that is known
for other coefficients only the rows where these differ.

Norms.  Those of the rows of K serve to bound roundings, and would take all of K: by Cauchy and Schwarz
:math:`\sum_j K_{ij}^2 \le K_{ii}\,\mathrm{tr} K`, which is used in their place.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fenchel.designs.rows import GramRows, Rows
from fenchel.errors import FenchelError
from fenchel.kernels.gram import KernelDesign

_MEGABYTE = 2**20
#: rows that are computed at once: enough for a matrix product to run at full speed
_TOGETHER = 32
#: products with K that are remembered: a certificate asks for the same ones several times, the next for nearly these
_REMEMBERED = 4
#: how often one may be added to another
_SUMS = 2
#: relative errors of kernel values that are taken for a rounding to float32
_ROUNDED = 1e-5
#: examples on which a kernel is looked at
_SAMPLE = 1000

Source = Callable[[NDArray], NDArray]


class CachedGram(KernelDesign):
    """A positive semi-definite matrix (n, n) of which at most ``megabytes`` are kept.

    Its diagonal is given; ``checked`` says that nothing else is known of it, so that computed rows are looked at.
    """

    def __init__(self, source: Source, diagonal: NDArray, megabytes: float, *, checked: bool = False) -> None:
        n = len(diagonal)
        room = int(min(megabytes * _MEGABYTE / (8 * n), n + _TOGETHER))
        if room < 2:
            raise FenchelError(
                f"memory_limit={megabytes:g} has no room for two rows of the Gram matrix of {n} examples, which take "
                f"{16 * n / _MEGABYTE:.3g} MB: raise memory_limit, or fit to fewer examples"
            )
        self.shape = (n, n)
        self.diagonal = np.array(diagonal, dtype=np.float64)
        if not np.all(np.isfinite(self.diagonal)) or np.any(self.diagonal < 0.0):
            raise FenchelError("the diagonal of the Gram matrix is negative or not finite, so it is no Gram matrix")
        self._source, self._checked = source, checked
        #: rows that are computed at once
        self.together = min(_TOGETHER, max(1, room // 4))
        self._kept = np.empty((room - self.together, n))
        #: where the row of each example is kept, -1 if it is not, and the other way round
        self.slots: NDArray[np.int64] = np.full(n, -1)
        self._owners: NDArray[np.int64] = np.full(len(self._kept), -1)
        #: when each kept row last moved something
        self.stamps: NDArray[np.int64] = np.full(len(self._kept), -1)
        self.clock = 0
        #: rows computed so far
        self.computed = 0
        #: coefficients, their product, and how many products it was added to
        self._products: list[tuple[NDArray, NDArray, int]] = []

    def cached(self) -> CachedGram:
        return self

    @property
    def capacity(self) -> int:
        """How many rows are kept."""
        return len(self._kept)

    def descending(self) -> GramRows:
        """The rows that are here, by their slots."""
        view = self._kept.view()
        view.flags.writeable = False
        return GramRows(view)

    def bring(self, examples: NDArray) -> None:
        """Compute the rows of so many examples, none of which is here, in place of those of longest ago."""
        values = self.compute(examples)
        count, self.clock = len(examples), self.clock + 1
        places = np.argpartition(self.stamps, count - 1)[:count] if count < self.capacity else np.arange(count)
        # an interruption may come anywhere: what is overwritten is given up first
        owners = self._owners[places]
        self.slots[owners[owners >= 0]] = -1
        self._owners[places], self.stamps[places] = -1, -1
        self._kept[places] = values
        self._owners[places], self.stamps[places] = examples, self.clock
        self.slots[examples] = places

    def compute(self, examples: NDArray) -> NDArray[np.float64]:
        """Rows of K, as many as are computed at once at most, with the diagonal as it was given."""
        # a copy: what a user's function returned is its own
        values = np.array(self._source(examples), dtype=np.float64)
        if values.shape != (len(examples), self.shape[1]):
            raise FenchelError(
                f"kernel must return a matrix of shape {(len(examples), self.shape[1])} for {len(examples)} and "
                f"{self.shape[1]} rows, got {values.shape}"
            )
        self.computed += len(examples)
        if self._checked:
            self._check(examples, values)
        values[np.arange(len(examples)), examples] = self.diagonal[examples]
        return values

    def _check(self, examples: NDArray, values: NDArray) -> None:
        """What a few rows show: entries that are finite, symmetric, and no larger than lengths of features allow."""
        size = max(float(np.max(values)), -float(np.min(values)))
        if not math.isfinite(size):
            raise FenchelError("the Gram matrix holds NaN or infinity: repair or scale the data")
        square = values[:, examples]
        if np.max(np.abs(square - square.T)) > _ROUNDED * size:
            raise FenchelError("the Gram matrix is not symmetric: use a symmetric kernel")
        most = np.sqrt(np.max(self.diagonal)) * np.sqrt(self.diagonal[examples])
        worst = np.maximum(values.max(axis=1), -values.min(axis=1))
        if np.any(worst > (1.0 + _ROUNDED) * most):
            raise FenchelError("the kernel is not positive semi-definite: an entry exceeds what the diagonal allows")

    def scores(self, weights: NDArray) -> NDArray[np.float64]:
        """K a, from the rows whose coefficients are not zero, or are not those of a product that is remembered."""
        weights = np.asarray(weights, dtype=np.float64)
        coefficients, base, depth = np.atleast_2d(weights), None, 0
        changes, fewest = coefficients, _nonzero(coefficients)
        for known, product, sums in self._products:
            if known.shape == coefficients.shape:
                changed = _nonzero(coefficients - known)
                # roundings must not add up: but for a few rows, to a product that was computed as a whole
                most = _SUMS if len(changed) <= self.together else 1
                if len(changed) < len(fewest) and (sums < most or not len(changed)):
                    changes, fewest, base, depth = coefficients - known, changed, product, sums + 1
        result = self._product(changes, fewest)
        if base is not None:
            result += base
        if len(fewest):
            remembered = (coefficients.copy(), result.copy(), depth)
            self._products = [remembered, *self._products[: _REMEMBERED - 1]]
        return np.ascontiguousarray(result.T) if weights.ndim == 2 else result[0]

    def _product(self, coefficients: NDArray, used: NDArray) -> NDArray[np.float64]:
        """K a for these coefficients (outputs, n) of the examples ``used``."""
        result = np.zeros((len(coefficients), self.shape[0]))
        here = self.slots[used] >= 0
        for some in self._batches(used[here]):
            result += coefficients[:, some] @ self._kept[self.slots[some]]
        for some in self._batches(used[~here]):
            result += coefficients[:, some] @ self.compute(some)
        return result

    def _batches(self, examples: NDArray) -> list[NDArray]:
        return [examples[begin : begin + self.together] for begin in range(0, len(examples), self.together)]

    @property
    def squared_row_norms(self) -> NDArray[np.float64]:
        return self.diagonal * float(np.sum(self.diagonal))

    @property
    def largest_row_norm(self) -> float:
        return math.sqrt(float(np.max(self.diagonal)) * float(np.sum(self.diagonal)))

    @property
    def mean_square(self) -> float:
        return float(np.mean(self.squared_row_norms))

    def part(self, begin: int, end: int) -> CachedGram:
        raise NotImplementedError("rows of a Gram matrix that is not in memory come one by one")

    def rows(self) -> Rows:
        raise NotImplementedError("rows of a Gram matrix that is not in memory come one by one")

    @property
    def stored_entries(self) -> int:
        return self.shape[0] * self.shape[1]


def _nonzero(coefficients: NDArray) -> NDArray[np.int64]:
    return np.flatnonzero(np.any(coefficients != 0.0, axis=0))


def sample_of(n: int, megabytes: float) -> NDArray[np.int64]:
    """Examples on whose Gram matrix a kernel is looked at: as many as there is room for with its Cholesky factor."""
    count = min(n, _SAMPLE, int(math.sqrt(megabytes * _MEGABYTE / 32)))
    return np.sort(np.random.default_rng(0).choice(n, max(1, count), replace=False))

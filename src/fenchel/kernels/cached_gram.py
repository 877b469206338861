r"""Gram matrix too large for memory: rows are computed on demand, and a bounded number of them is cached.

``source(indices)`` computes rows of K.  Dual coordinate descent needs row i only when the variable of example i
changes, which its score and :math:`K_{ii}` decide.

Replacement.  The least recently used rows are replaced.  With a fixed order of examples each row would be evicted just
before its turn; so an epoch begins with the examples whose rows are cached, which is one of the permutations allowed.

Accuracy.  Scores :math:`Ka` of a certificate are sums of rows in float64.  A solver may cache its rows in float32,
twice as many, if it corrects its own scores by such sums: then every row of a product is computed.  Otherwise rows are
cached in float64, and products use them.  Rows with zero coefficients are skipped, and if a product
with similar coefficients is known, only the rows whose coefficients differ are used.  Such a product has the rounding
errors of all sums that led to it, :math:`\gamma_m\sqrt{K_{ii}}\,\mu` for sums by batches (m of them in the longest
chain) with :math:`\mu = \sum_k m(a_k)` and
:math:`m(a) = \sum_j |a_j|\sqrt{K_{jj}}`, where the :math:`a_k` are the first coefficients and the changes.  So a known
product is used only if :math:`\mu \le 3\,m(a)` for the coefficients a that are wanted: after large coefficients have
become small its errors would be too large.  Rows that are computed twice may differ, since matrix products of other
shapes round differently: K stands for one matrix from which every computed row differs by at most ``entry_roundings``
roundings of :math:`\sqrt{K_{ii}K_{jj}}`.

Norms.  The row norms of K, which rounding bounds use, would need all of K.  They are replaced by the Cauchy-Schwarz
bound :math:`\sum_j K_{ij}^2 \le K_{ii}\,\mathrm{tr} K`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.designs.rows import GramRows, Rows
from fenchel.errors import FenchelError
from fenchel.kernels.gram import GramDesign, KernelDesign, rounding_shift
from fenchel.kernels.kernel_rows import KernelRows
from fenchel.stopping import stop_point

_MEGABYTE = 2**20
#: share of the memory that a dense copy of sparse rows may take
_DENSE_SHARE = 0.125
#: rows per call of the source: enough for matrix products at full speed
_ROWS_PER_CALL = 64
#: products with K that are cached: certificates need the same or similar ones several times
_CACHED_PRODUCTS = 4
#: updates of a cached product before it is recomputed; each is one more addition
_UPDATES = 2
#: size of all sums that led to a product, relative to the size of one sum with its coefficients
_LARGEST_GROWTH = 3
#: relative error of kernel values that counts as a rounding to float32
_FLOAT32_TOLERANCE = 1e-5
#: examples in the sample on which a custom kernel is checked
_SAMPLE = 1000

Source = Callable[[Array], Array]


class _Product(NamedTuple):
    """A product with K that is known."""

    coefficients: Floats
    result: Floats
    #: m of the first coefficients and of all changes, for each output
    sizes: Floats
    #: changes since it was computed
    updates: int


class CachedGram(KernelDesign):
    """A positive semi-definite matrix (n, n) with a row cache of at most ``megabytes``.

    Its diagonal is given; with ``checked`` each computed row is checked, as a custom kernel requires.  Other entries
    that ``source`` computes may be off by ``entry_roundings`` roundings of sqrt(K_ii K_jj).
    """

    def __init__(
        self,
        source: Source,
        diagonal: Array,
        megabytes: float,
        *,
        checked: bool = False,
        entry_roundings: float = 0.0,
        normalized: bool = False,
    ) -> None:
        n = len(diagonal)
        if not n:
            raise FenchelError("the diagonal of the Gram matrix is empty; give at least one example")
        room = int(min(megabytes * _MEGABYTE / (8 * n), n + _ROWS_PER_CALL))
        if room < 2:
            raise FenchelError(
                f"memory_limit={megabytes:g} is too small: two rows of the Gram matrix of {n} examples take "
                f"{16 * n / _MEGABYTE:.3g} MB. Increase memory_limit, or use fewer examples"
            )
        self.shape = (n, n)
        #: whether K is that of points on a sphere, so that rounding to float32 is small beside their distances
        self.normalized = normalized
        self.diagonal = np.array(diagonal, dtype=np.float64)
        if not np.all(np.isfinite(self.diagonal)) or np.any(self.diagonal < 0.0):
            raise FenchelError(
                "the diagonal of the Gram matrix has negative or infinite entries; use a positive semi-definite kernel"
            )
        self._source, self._checked, self._entry_roundings = source, checked, entry_roundings
        self._lengths = np.sqrt(self.diagonal)
        #: rows per call of the source
        self.together = min(_ROWS_PER_CALL, max(1, room // 4))
        self._allocate(room - self.together, np.float64)
        #: rows computed so far
        self.computed = 0
        self._products: list[_Product] = []

    def _allocate(self, count: int, kind: type[np.floating]) -> None:
        """Make an empty cache of at most ``count`` rows."""
        n = self.shape[0]
        self._cache: Array = np.empty((min(count, n), n), dtype=kind)
        #: slot of the row of each example, -1 if it is not cached; and the example of each slot
        self.slots: NDArray[np.int64] = np.full(n, -1)
        self._owners: NDArray[np.int64] = np.full(len(self._cache), -1)
        #: the clock when each cached row was last used
        self.stamps: NDArray[np.int64] = np.full(len(self._cache), -1)
        self.clock = 0

    def round_rows(self) -> None:
        """Cache rows in float32 from now on, twice as many: scores are then computed without them."""
        if not self.rounded:
            self._allocate(2 * len(self._cache), np.float32)

    @property
    def rounded(self) -> bool:
        """Whether rows are cached in float32."""
        return self._cache.dtype == np.float32

    def cached(self) -> CachedGram:
        return self

    def on_demand(self) -> CachedGram:
        return self

    @property
    def capacity(self) -> int:
        """The number of cached rows."""
        return len(self._cache)

    def descending(self) -> GramRows:
        """The cached rows, by slot."""
        view = self._cache.view()
        view.flags.writeable = False
        return GramRows(view)

    def bring(self, examples: Array) -> None:
        """Compute the rows of these examples, none of which is cached, and replace the least recently used ones."""
        values = self.compute(examples)
        count, self.clock = len(examples), self.clock + 1
        places = np.argpartition(self.stamps, count - 1)[:count] if count < self.capacity else np.arange(count)
        # a KeyboardInterrupt may come anywhere: invalidate slots before they are overwritten
        owners = self._owners[places]
        self.slots[owners[owners >= 0]] = -1
        self._owners[places], self.stamps[places] = -1, -1
        self._cache[places] = values
        self._owners[places], self.stamps[places] = examples, self.clock
        self.slots[examples] = places

    def cached_rows(self, examples: Array) -> Floats:
        """A copy of the rows of these examples, at most ``together``; those that are not cached are computed."""
        known, self.clock = self.slots[examples] >= 0, self.clock + 1
        # newer than all others: ``bring`` does not replace them
        self.stamps[self.slots[examples[known]]] = self.clock
        if not np.all(known):
            self.bring(examples[~known])
        return self._cache[self.slots[examples]].astype(np.float64)

    def compute(self, examples: Array) -> Floats:
        """Rows of K, at most ``together``, with the given diagonal."""
        stop_point()
        # what a user's function returns may belong to it
        values = np.array(self._source(examples), dtype=np.float64, copy=True if self._checked else None)
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

    def _check(self, examples: Array, values: Array) -> None:
        """Raise unless these rows are finite, symmetric and within the Cauchy-Schwarz bound."""
        size = max(float(np.max(values)), -float(np.min(values)))
        if not math.isfinite(size):
            raise FenchelError("the Gram matrix holds NaN or infinity: repair or scale the data")
        square = values[:, examples]
        if np.max(np.abs(square - square.T)) > _FLOAT32_TOLERANCE * size:
            raise FenchelError("the Gram matrix is not symmetric: use a symmetric kernel")
        most = np.sqrt(np.max(self.diagonal)) * np.sqrt(self.diagonal[examples])
        worst = np.maximum(values.max(axis=1), -values.min(axis=1))
        if np.any(worst > (1.0 + _FLOAT32_TOLERANCE) * most):
            raise FenchelError(
                "the kernel is not positive semi-definite: an entry K_ij exceeds sqrt(K_ii K_jj); use another kernel"
            )

    def scores(self, weights: Array) -> Floats:
        """K a, from the rows with non-zero coefficients, or as an update of a cached product."""
        weights = np.asarray(weights, dtype=np.float64)
        coefficients = np.atleast_2d(weights)
        sizes = np.abs(coefficients) @ self._lengths
        base, changes, fewest, total = None, coefficients, _nonzero(coefficients), sizes
        for known in self._products:
            if known.coefficients.shape != coefficients.shape:
                continue
            change = coefficients - known.coefficients
            changed = _nonzero(change)
            if not len(changed):
                base, changes, fewest = known, change, changed
                break
            grown = known.sizes + np.abs(change) @ self._lengths
            allowed = known.updates < _UPDATES and bool(np.all(grown <= _LARGEST_GROWTH * sizes))
            if allowed and len(changed) < len(fewest):
                base, changes, fewest, total = known, change, changed, grown
        result = self._product(changes, fewest)
        if base is not None:
            result += base.result
        if len(fewest):
            found = _Product(coefficients.copy(), result.copy(), total, 0 if base is None else base.updates + 1)
            self._products = [found, *self._products[: _CACHED_PRODUCTS - 1]]
        return np.ascontiguousarray(result.T) if weights.ndim == 2 else result[0]

    def _product(self, coefficients: Array, used: Array) -> Floats:
        """K a for these coefficients (outputs, n) of the examples ``used``."""
        result = np.zeros((len(coefficients), self.shape[0]))
        cached_rows = (self.slots[used] >= 0) & (not self.rounded)
        for some in self._batches(used[cached_rows]):
            result += coefficients[:, some] @ self._cache[self.slots[some]]
        for some in self._batches(used[~cached_rows]):
            result += coefficients[:, some] @ self.compute(some)
        return result

    def _batches(self, examples: Array) -> list[Array]:
        return [examples[begin : begin + self.together] for begin in range(0, len(examples), self.together)]

    @property
    def squared_row_norms(self) -> Floats:
        return self.diagonal * float(np.sum(self.diagonal))

    @property
    def score_roundings(self) -> int:
        """Those of sums by batches, of two updates, and of the entries, for sums of ``_LARGEST_GROWTH`` sizes."""
        # the last batch of the cached rows and that of the others may be short
        batches = min(self.shape[1], self.together) + self.shape[1] // self.together + 2
        return _LARGEST_GROWTH * (batches + 1 + _UPDATES + math.ceil(self._entry_roundings))

    @property
    def largest_row_norm(self) -> float:
        return math.sqrt(float(np.max(self.diagonal)) * float(np.sum(self.diagonal)))

    @property
    def mean_square(self) -> float:
        return float(np.mean(self.squared_row_norms))

    def part(self, begin: int, end: int) -> CachedGram:
        raise NotImplementedError("the rows of this Gram matrix are not in memory")

    def rows(self) -> Rows:
        raise NotImplementedError("the rows of this Gram matrix are not in memory")

    @property
    def stored_entries(self) -> int:
        return self.shape[0] * self.shape[1]


def _nonzero(coefficients: Array) -> NDArray[np.int64]:
    return np.flatnonzero(np.any(coefficients != 0.0, axis=0))


def _sample_of(n: int, megabytes: float) -> NDArray[np.int64]:
    """Examples for the check of a custom kernel, as many as fit in memory with a Cholesky factor."""
    count = min(n, _SAMPLE, int(math.sqrt(megabytes * _MEGABYTE / 32)))
    return np.sort(np.random.default_rng(0).choice(n, max(1, count), replace=False))


def cached_gram(rows: KernelRows, megabytes: float, *, named: bool) -> CachedGram:
    """The cached Gram matrix of these rows.  A custom kernel is checked on a sample of the examples."""
    diagonal = rows.diagonal()
    if rows.radial is not None:
        megabytes -= rows.radial.densify(_DENSE_SHARE * megabytes)
    if not named and np.all(np.isfinite(diagonal)):
        some = rows.X[_sample_of(len(diagonal), megabytes)]
        sample = GramDesign(rows.values(some, some))
        if sample.definite() is not sample:
            # the values are rounded to float32: shift the diagonal as ``definite`` does for a matrix in memory
            diagonal = diagonal + rounding_shift(diagonal, np.float32)
    accuracy, normalized = rows.entry_roundings, rows.radial is not None
    return CachedGram(rows, diagonal, megabytes, checked=not named, entry_roundings=accuracy, normalized=normalized)

r"""Custom measure: any Delta(fn, fp), as a function or as a table.

Delta(0, 0) must be 0, so that the risk is never negative; minus infinity forbids a labelling.  Where Delta is linear
in fn for each surplus fp - fn, as F-beta is, the most violated labelling takes O(n log n); otherwise each search
reads the whole table of (n+ + 1)(n- + 1) numbers.  A function with more cells than ``LARGEST_TABLE`` is not tabulated:
its largest values in blocks of cells are kept, and searches evaluate some of the blocks (``blocks``).

A table is tested for linearity.  A function is evaluated on the whole table for this test, unless ``linear=True``: then
only the ends of each diagonal are evaluated, and one cell between them as a check.  Without a table it is not tested.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fenchel.arrays import Array, Floats
from fenchel.errors import FenchelError
from fenchel.numerics.limits import EPS
from fenchel.risks.measures.blocks import Blocks
from fenchel.risks.measures.contingency import ContingencyRisk, End, diagonals_error, on_diagonals
from fenchel.risks.measures.separation import Cells, Diagonals, Ranked, best_cells, best_cells_of_table

#: cells of the largest table that is made from a function (400 MB)
LARGEST_TABLE = 50_000_000
#: deviation from linearity that counts as rounding, relative to the entry, or to one or the largest Delta if smaller
_LINEARITY_TOLERANCE = 64.0 * EPS
#: relative difference between Delta of arrays and of numbers that counts as rounding
_AGREEMENT = 1e-12


class CustomMeasure(ContingencyRisk):
    r"""Custom performance measure: any function of false negatives and false positives.

    .. math:: R(s) = \max_{z\in\{-1,1\}^n}\; \Delta(fn, fp) + \frac{1}{2n}\sum_i s_i (z_i - y_i)

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, -1 and +1.
    delta : callable or array-like of shape (positives + 1, negatives + 1)
        A function ``delta(fn, fp)`` or ``delta(fn, fp, n_pos, n_neg)`` of arrays and the numbers of positives and
        negatives, or the table of its values, with ``delta(0, 0) = 0``; minus infinity forbids a labelling.
    linear : bool, default=None
        Whether :math:`\Delta` is linear in fn for each fp - fn, as F-beta is, so that the worst labelling takes
        O(n log n) instead of the whole table; None tests it, which evaluates the whole table of up to 50 million
        values (a function with more is taken as not linear).  A table that is linear up to rounding stands for these
        lines.

    See Also
    --------
    FBeta : The F-measure.
    fenchel.MeasureClassifier : The estimator.

    References
    ----------
    .. [1] X. Zhang, A. Saha and S. V. N. Vishwanathan. "Smoothing multivariate performance measures." JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.risks import CustomMeasure
    >>> risk = CustomMeasure([1, 1, -1, -1], lambda fn, fp: (2 * fn + fp) / 6)  # a miss costs twice as much
    >>> float(risk.value(np.zeros(4)))
    1.0
    """

    name = "custom"
    is_measure = False

    def __init__(self, labels: ArrayLike, delta: Callable[..., Any] | ArrayLike, linear: bool | None = None) -> None:
        super().__init__(labels)
        if callable(delta) and takes_counts(delta):
            delta = partial(_with_counts, delta, self.n_pos, self.n_neg)
        self.diagonals: Diagonals | None = None
        self._table: Floats | None = None
        self._blocks: Blocks | None = None
        if linear and callable(delta):
            self.diagonals = self._from_ends(delta)
            return
        if callable(delta) and (self.n_pos + 1) * (self.n_neg + 1) > LARGEST_TABLE:
            self._function = delta
            self._blocks = Blocks(self._values, self.n_pos, self.n_neg)
            self.has_every_surplus = False
            return
        table = self._tabulated(delta) if callable(delta) else self._checked(np.array(delta, dtype=np.float64))
        self.diagonals = None if linear is False else _diagonals_of(table)
        if self.diagonals is None:
            if linear:
                raise FenchelError("delta is not linear in fn for every fp - fn; omit linear=True")
            self._table = table

    @property
    def linear(self) -> bool:
        """Whether the fast search is used."""
        return self.diagonals is not None

    def delta(self, fn: Array, fp: Array) -> Floats:
        if self.diagonals is not None:
            return on_diagonals(self.diagonals, fn, fp)
        if self._blocks is not None:
            return self._values(*np.broadcast_arrays(fn, fp))
        assert self._table is not None
        return self._table[fn, fp]

    def delta_error(self, fn: Array, fp: Array) -> Floats:
        # a table, and so a function of counts, is exact by definition
        return np.zeros(np.shape(fn)) if self.diagonals is None else diagonals_error(self.diagonals, fn, fp)

    def _cells(self, order: Ranked) -> Cells:
        if self.diagonals is not None:
            return best_cells(order, self.diagonals)
        if self._blocks is not None:
            return self._blocks.best_cells(order)
        assert self._table is not None
        return best_cells_of_table(order, self._table)

    def _ends(self, cells: Cells) -> list[End]:
        if self._blocks is None:
            return super()._ends(cells)
        return [End(*end) for end in dict.fromkeys(self._blocks.extremes) if end.fn != end.fp]

    def _values(self, fn: Array, fp: Array) -> Floats:
        """Delta of many cells by one call of a function, which is checked."""
        with np.errstate(all="ignore"):
            found = _in_one_call(self._function, fn, fp)
        if found is None:
            cells = (self.n_pos + 1) * (self.n_neg + 1)
            raise FenchelError(
                f"delta has {cells} cells; at most {LARGEST_TABLE} are evaluated one by one. Make it a function of "
                "arrays, or, if it is linear in fn for every fp - fn (as F-beta is), set linear=True"
            )
        _check_values(found, float(np.sum(found[(fn == 0) & (fp == 0)])))
        return found

    def _tabulated(self, delta: Callable[[Any, Any], Any]) -> Floats:
        fn, fp = np.arange(self.n_pos + 1)[:, None], np.arange(self.n_neg + 1)[None, :]
        return self._checked(_evaluated(delta, *np.broadcast_arrays(fn, fp)))

    def _checked(self, table: Floats) -> Floats:
        shape = (self.n_pos + 1, self.n_neg + 1)
        if table.shape != shape:
            raise FenchelError(f"delta must have the shape (positives + 1, negatives + 1) = {shape}, got {table.shape}")
        _check_values(table, table[0, 0])
        return table

    def _from_ends(self, delta: Callable[[Any, Any], Any]) -> Diagonals:
        """Base and slope of each diagonal from its two ends, checked in between."""
        surplus = np.arange(-self.n_pos, self.n_neg + 1)
        low, high = np.maximum(0, -surplus), np.minimum(self.n_pos, self.n_neg - surplus)
        middle = np.random.default_rng(0).integers(low, high + 1)
        at_low, at_middle, at_high = (_evaluated(delta, fn, fn + surplus) for fn in (low, middle, high))
        _check_values(np.concatenate([at_low, at_middle, at_high]), at_low[self.n_pos])
        base, slope = _lines(at_low, at_high, low, high)
        if _off_line(base + slope * middle, at_middle, _largest(np.concatenate([at_low, at_high]))):
            raise FenchelError("delta is not linear in fn for every fp - fn; omit linear=True")
        return Diagonals(-self.n_pos, base, slope)


def takes_counts(delta: Callable[..., Any]) -> bool:
    """Whether a function has four parameters without default: fn, fp and the numbers of positives and negatives."""
    try:
        parameters = inspect.signature(delta).parameters.values()
    except (TypeError, ValueError):
        # a function in C without a signature
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds and one.default is one.empty for one in parameters) == 4


def _with_counts(delta: Callable[..., Any], n_pos: int, n_neg: int, fn: Any, fp: Any) -> Any:
    return delta(fn, fp, n_pos, n_neg)


def _check_values(values: Array, at_truth: float) -> None:
    if np.any(np.isnan(values)):
        raise FenchelError("delta is NaN for some fn and fp; define its 0/0 cases, or use -inf to forbid a labelling")
    if np.any(values == np.inf):
        raise FenchelError("delta is +inf for some fn and fp; only finite values and -inf are allowed")
    if at_truth != 0.0:
        raise FenchelError(f"delta(0, 0) must be 0, got {at_truth}")


def _evaluated(delta: Callable[[Any, Any], Any], fn: Array, fp: Array) -> Floats:
    """Delta of many cells: in one call if the function accepts arrays and agrees with calls on numbers."""
    with np.errstate(all="ignore"):
        found = _in_one_call(delta, fn, fp)
        if found is not None:
            return found
        values = [float(delta(b, c)) for b, c in zip(fn.ravel().tolist(), fp.ravel().tolist(), strict=True)]
    return np.array(values).reshape(fn.shape)


def _in_one_call(delta: Callable[[Any, Any], Any], fn: Array, fp: Array) -> Floats | None:
    """Delta of many cells; None if the function does not accept arrays or does not agree with calls on numbers.

    Up to rounding: NumPy's powers and logarithms of arrays are not those of the C library, which numbers have.
    """
    sample = np.unique(np.linspace(0, fn.size - 1, 20).astype(np.int64))
    try:
        found = np.array(delta(fn, fp), dtype=np.float64)
    except (TypeError, ValueError, ArithmeticError):
        return None
    if found.shape != fn.shape:
        return None
    some = [float(delta(int(b), int(c))) for b, c in zip(fn.flat[sample], fp.flat[sample], strict=True)]
    return found if np.allclose(found.flat[sample], some, rtol=_AGREEMENT, atol=0.0, equal_nan=True) else None


def _lines(at_low: Array, at_high: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Base and slope of the lines through two points each; the slope through a single point is 0."""
    with np.errstate(invalid="ignore"):
        slope = np.where(high > low, (at_high - at_low) / np.maximum(high - low, 1), 0.0)
    allowed = np.isfinite(at_low) & np.isfinite(at_high)
    slope = np.where(allowed, slope, 0.0)
    return np.where(allowed, at_low - slope * low, -np.inf), slope


def _off_line(line: Array, entries: Array, largest: float) -> bool:
    """Whether entries leave their line by more than rounding; one huge entry leaves that of the others small."""
    with np.errstate(invalid="ignore"):
        # minus infinity on both sides has no distance
        off = np.abs(line - entries) > _LINEARITY_TOLERANCE * np.maximum(np.abs(entries), min(1.0, largest))
    return bool(np.any(off) or np.any(np.isfinite(line) != np.isfinite(entries)))


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))


def _diagonals_of(table: Array) -> Diagonals | None:
    """The table as one line per diagonal; None if some diagonal is not linear."""
    n_pos, n_neg = table.shape[0] - 1, table.shape[1] - 1
    surplus = np.arange(-n_pos, n_neg + 1)
    low, high = np.maximum(0, -surplus), np.minimum(n_pos, n_neg - surplus)
    base, slope = _lines(table[low, low + surplus], table[high, high + surplus], low, high)
    largest = _largest(table)
    for fn in range(n_pos + 1):
        at = slice(n_pos - fn, n_pos - fn + n_neg + 1)
        if _off_line(base[at] + slope[at] * fn, table[fn], largest):
            return None
    return Diagonals(-n_pos, base, slope)

r"""Base class of designs: products with X, and its rows for compiled loops.

Conventions
-----------
Rows are examples.  ``scores(w)`` is :math:`Xw` and ``adjoint(theta)`` is :math:`X^T\theta`; for k outputs w is
(k, d) and scores and theta are (n, k).  Both work in float64 whatever X holds, in row blocks, so that X is never
copied as a whole: a float32 X times a float64 w in NumPy or SciPy would cast all of X first.
"""

from __future__ import annotations

import abc
import zlib
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.designs.enclosures import EnclosedDesign
from fenchel.designs.rows import Rows
from fenchel.errors import FenchelError
from fenchel.numerics.rounding import output_norms
from fenchel.validation import real_numbers

if TYPE_CHECKING:
    from fenchel.designs.chains import ChainDesign
    from fenchel.designs.row_groups import RowGroups
    from fenchel.kernels import KernelDesign

#: entries in a block of X that is cast to float64 (8 MB)
BLOCK = 1 << 20
#: the key of ``Design.reusable`` of ``column_squares``
COLUMN_SQUARES = "column squares"
#: rows in the sample for estimates such as ``mean_square``
SAMPLE = 300
#: rows of X whose bytes are copied at a time for a checksum
_CHECKSUM_ROWS = 1 << 12
#: covers the rounding of a computed norm of up to 2^40 entries
_UPWARDS = 1.0 + 2.0**-12
#: norm of a row whose squares underflow
_UNDERFLOW = 2.0**-500


class Design(abc.ABC):
    r"""Base class of matrices X of examples, in any storage.

    A subclass sets ``shape`` and implements ``scores`` (X w), ``adjoint`` (:math:`X^T\theta`), the row norms, ``part``,
    ``rows`` (read-only views for compiled loops) and ``stored_entries``.

    Attributes
    ----------
    shape : tuple of int
        The shape (n, d).
    has_columns : bool
        Whether ``narrowed`` and ``transposed`` are implemented, which the lasso needs.

    See Also
    --------
    as_design : The design of an array or a sparse matrix.
    DenseDesign : NumPy arrays.
    CSRDesign : SciPy sparse matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.designs import Design, as_design
    >>> design = as_design(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> isinstance(design, Design)
    True
    >>> design.adjoint(np.array([1.0, 1.0]))
    array([4., 6.])
    """

    shape: tuple[int, int]

    def __getstate__(self) -> dict[str, object]:
        # views or copies of X that are made again: rows, read-only as loops are compiled for them, and SciPy's matrix
        return {name: value for name, value in vars(self).items() if name not in ("_rows", "_whole")}

    def __setstate__(self, state: dict[str, object]) -> None:
        # arrays that Dask sends beside the pickle begin at any byte: NumPy copies such an X in every product, and loops
        # are compiled once more
        for name, value in state.items():
            vars(self)[name] = np.require(value, requirements="A") if isinstance(value, np.ndarray) else value

    def kernel(self) -> KernelDesign | None:
        """This design if it is the Gram matrix of a kernel."""
        return None

    def chains(self) -> ChainDesign | None:
        """This design if it maps the weights of linear chains to their scores."""
        return None

    @abc.abstractmethod
    def scores(self, weights: Array) -> Floats:
        """Return X w, in float64."""

    @abc.abstractmethod
    def adjoint(self, theta: Array) -> Floats:
        """Return X^T theta, in float64; (k, d) for theta of shape (n, k)."""

    def scores_by_feature(self, weights: Array) -> Floats:
        """Return X W for weights with a row for each feature, (d, k)."""
        return self.scores(weights.T)

    def scores_by_output(self, weights: Array) -> Floats:
        """Return X w for each row w of the weights (k, d), with a row for each: (k, n)."""
        return np.ascontiguousarray(self.scores(weights).T)

    def adjoint_by_feature(self, theta: Array) -> Floats:
        """Return X^T theta for theta of shape (n, k), with a row for each feature: (d, k)."""
        return self.adjoint(theta).T

    def enclosure(self) -> EnclosedDesign | None:
        """Products with X in ball arithmetic, which rigorous certificates require; None if there are none."""
        return None

    @property
    @abc.abstractmethod
    def squared_row_norms(self) -> Floats:
        """Squared Euclidean norm of each row."""

    @property
    @abc.abstractmethod
    def largest_row_norm(self) -> float:
        """Bound on the Euclidean norm of every row, cheaper than the norms themselves."""

    @cached_property
    def row_magnitudes(self) -> Floats:
        r"""Numbers :math:`r_i`, rounded upwards, with :math:`\sum_j|x_{ij}||w_j| \le r_i\|w\|` for all w."""
        return _UPWARDS * np.sqrt(self.squared_row_norms) + _UNDERFLOW

    def score_magnitudes(self, weights: Array, rows: slice) -> Floats:
        r"""Bounds on :math:`\sum_j|x_{ij}||w_j|` for some rows, and each output of weights (k, d)."""
        return np.multiply.outer(self.row_magnitudes[rows], output_norms(weights))

    @property
    def score_roundings(self) -> int | Floats:
        """The roundings on the way of each product x_ij w_j into a score, for all rows or for each."""
        return self.shape[1] + 1

    @property
    def most_score_roundings(self) -> float:
        """The largest of ``score_roundings``."""
        return float(np.max(self.score_roundings, initial=0.0))

    def in_groups(self) -> RowGroups | None:
        """This design if its rows lie in groups elsewhere, where sums over the examples are computed."""
        return None

    @property
    def adjoint_roundings(self) -> int:
        """The roundings on the way of each product x_ij theta_i into X^T theta."""
        return self.shape[0] + 1

    @property
    def largest_entry(self) -> float:
        """Bound on every abs(x_ij); entries that are stored as a sum count with the sum of their absolute values."""
        return self.largest_row_norm

    @property
    @abc.abstractmethod
    def mean_square(self) -> float:
        """Mean squared Euclidean norm of the rows, estimated from a sample."""

    def snapshot(self, most: int) -> Design | None:
        """A copy, which changes of the arrays of this one do not affect; None for more than ``most`` entries.

        Also None where the entries do not lie in an array.
        """
        return None

    @abc.abstractmethod
    def part(self, begin: int, end: int) -> Design:
        """The rows from ``begin`` to ``end`` (or the last one), without a copy."""

    @abc.abstractmethod
    def rows(self) -> Rows:
        """Read-only views of X for compiled loops."""

    def checksum(self) -> int:
        """The CRC-32 of the arrays of X, which tells problems apart."""
        crc = 0
        for values in self.rows():
            array = np.atleast_1d(np.asarray(values))
            crc = zlib.crc32(f"{array.dtype.str} {array.shape}".encode(), crc)
            for begin in range(0, len(array), _CHECKSUM_ROWS):
                crc = zlib.crc32(np.ascontiguousarray(array[begin : begin + _CHECKSUM_ROWS]).data, crc)
        return crc

    #: whether ``part`` is implemented, by which threads divide the products with X
    divisible: ClassVar[bool] = True
    #: whether ``rows`` generates entries, so that compiled products are faster than those in blocks of X
    generates_rows: ClassVar[bool] = False
    #: whether ``rows`` is implemented
    has_rows: ClassVar[bool] = True
    #: whether ``narrowed`` and ``transposed`` are implemented
    has_columns: bool = False

    @property
    def block_rows(self) -> int | None:
        """The rows that are to be visited together where X is read from a file; None if any order is as fast."""
        return None

    @property
    def column_counts(self) -> Array | None:
        """The number of stored entries of each column; None where all are stored, or one of them twice."""
        return None

    def narrowed(self, selected: Array) -> Design:
        """A copy of the selected columns (ascending), in float64."""
        raise NotImplementedError

    def transposed(self) -> Design:
        """A copy of the transpose."""
        raise NotImplementedError

    def column_squares(self, shares: Array) -> Floats:
        """sum_i c_i x_ij^2 for every column."""
        raise NotImplementedError

    def known_column_squares(self, shares: Array) -> Floats | None:
        """``column_squares`` where a solver has kept them for these weights of the rows."""
        known = self.reusable.get(COLUMN_SQUARES)
        return known[1] if known is not None and np.array_equal(known[0], shares) else None

    @cached_property
    def reusable(self) -> dict[str, tuple[Floats, ...]]:
        """Sums over the rows that are kept for the next value of lam, each with the weights of its rows."""
        return {}

    def forget(self) -> None:
        """Forget what was computed from X, which may have changed in place since."""
        for name in list(vars(self)):
            if isinstance(getattr(type(self), name, None), cached_property):
                vars(self).pop(name, None)

    def gram(self, selected: Array, weights: Array, *, single: bool = False) -> tuple[Floats, Floats] | None:
        """X^T diag(weights) X and X^T weights over the selected rows, or None where a compiled loop is faster.

        The sums have at most ``adjoint_roundings``.  With ``single`` the products may be those of single precision.
        """
        return None

    def blocks(self, selected: Array, rows: int) -> Iterator[tuple[slice, Floats]] | None:
        """Blocks of ``rows`` selected rows in float64, with their positions; None where a compiled loop is faster.

        ``selected`` is ascending.
        """
        return None

    def sparse(self) -> sp.csr_array:
        """A copy in compressed rows, in float64, for methods that need the whole matrix."""
        return sp.csr_array(self.scores(np.eye(self.shape[1])))

    @property
    @abc.abstractmethod
    def stored_entries(self) -> int:
        """The number of entries that one pass over the data reads."""


def as_real(values: Array) -> Array:
    """The array in a type that loops can read, without a copy for native, aligned integers, float32 and float64.

    Integers and booleans stay as they are (booleans are viewed as bytes), and so do float32 and float64; each entry is
    converted when it is used.  float16 becomes float32, which is exact; anything else becomes float64.
    """
    kind, size = values.dtype.kind, values.dtype.itemsize
    if kind == "b":
        values = values.view(np.uint8)
    elif kind == "f" and size == 2:
        values = values.astype(np.float32)
    elif kind == "c":
        raise FenchelError("X holds complex numbers; pass their real and imaginary parts as separate features")
    elif kind not in "iuf":
        values = real_numbers("X", values)
    elif size > 8:
        values = values.astype(np.float64)
    # arrays that Dask sends begin at any byte; the same numbers keep their type, and with it their checksum
    return np.require(values, values.dtype.newbyteorder("="), "A")


def largest_size(values: Array) -> float:
    """The largest absolute value, without a copy of the array."""
    return max(float(values.max()), -float(values.min())) if values.size else 0.0

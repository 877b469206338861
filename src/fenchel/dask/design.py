r"""X in groups of rows that lie on workers: every product is one task a group and one ordered sum.

.. math:: Xw = \begin{pmatrix}X_1w\\ \vdots\\ X_Kw\end{pmatrix}, \qquad X^T\theta = \sum_{k=1}^K X_k^T\theta_k

The groups are fixed when the data are loaded and the sum is taken in their order, so that it repeats bit for bit,
whichever worker holds a group and whichever is done first.  Solvers and certificates that need products with X alone
work on it as on any design; scores and dual variables, n numbers each, are on the driver.  Solvers that read rows,
with compiled loops, are refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.dask import shard as on_shard
from fenchel.dask.shard import Facts
from fenchel.designs import Design, as_design
from fenchel.designs.row_groups import Groups
from fenchel.designs.rows import Rows
from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.risks import Risk


class ShardedDesign(Design):
    """Groups of rows on workers.

    Parameters
    ----------
    groups : Groups
        Runs functions on the groups.
    facts : sequence of Facts
        The properties of each group.

    See Also
    --------
    fenchel.designs.Design : The base class.
    """

    divisible: ClassVar[bool] = False
    has_rows: ClassVar[bool] = False

    def __init__(self, groups: Groups, facts: Sequence[Facts]) -> None:
        self.groups, self.facts = groups, tuple(facts)
        ends = np.cumsum([0, *(one.rows for one in facts)]).tolist()
        #: the rows of each group
        self.spans = [slice(*pair) for pair in pairwise(ends)]
        self.shape = ends[-1], facts[0].features
        #: the last product X w: a proposal and its certificate need the same one
        self._last: tuple[Floats, Floats] | None = None
        #: by risk, its terms beside the groups
        self._parts: WeakKeyDictionary[Risk, Sequence[Any]] = WeakKeyDictionary()

    def in_groups(self) -> ShardedDesign:
        return self

    def parts(self, risk: Risk) -> Sequence[Any]:
        """The term of a risk of each group, kept beside it."""
        found = self._parts.get(risk)
        if found is None:
            found = self._parts[risk] = self.groups.place(on_shard.beside, [risk.part(span) for span in self.spans])
        return found

    def scores(self, weights: Array) -> Floats:
        # threads solve several problems: another one may replace it
        last = self._last
        if last is not None and np.array_equal(last[0], weights):
            return last[1].copy()
        found = np.concatenate(self.groups.map(on_shard.scores, weights=np.ascontiguousarray(weights)))
        self._last = np.array(weights, dtype=np.float64), found
        return found.copy()

    def adjoint(self, theta: Array) -> Floats:
        return self.ordered_sum(self.groups.map(on_shard.adjoint, self.split(theta)))

    def column_squares(self, shares: Array) -> Floats:
        return self.ordered_sum(self.groups.map(on_shard.column_squares, self.split(shares)))

    def split(self, values: Array) -> list[Array]:
        """The entries of each group."""
        return [np.ascontiguousarray(values[span]) for span in self.spans]

    @staticmethod
    def ordered_sum(terms: Sequence[Floats]) -> Floats:
        """The sum over the groups in their order, which repeats bit for bit."""
        return reduce(np.add, terms)

    def _gathered(self, function: Callable[..., Floats]) -> Floats:
        return np.concatenate(self.groups.map(function))

    @cached_property
    def squared_row_norms(self) -> Floats:
        return self._gathered(on_shard.squared_row_norms)

    @cached_property
    def row_magnitudes(self) -> Floats:
        return self._gathered(on_shard.row_magnitudes)

    @cached_property
    def score_roundings(self) -> Floats:
        return self._gathered(on_shard.score_roundings)

    @property
    def most_score_roundings(self) -> float:
        return max(one.score_roundings for one in self.facts)

    @property
    def adjoint_roundings(self) -> int:
        return max(one.adjoint_roundings for one in self.facts) + len(self.facts)

    @property
    def largest_row_norm(self) -> float:
        # max of Python would lose a NaN
        return float(np.max([one.largest_row_norm for one in self.facts]))

    @property
    def largest_entry(self) -> float:
        return float(np.max([one.largest_entry for one in self.facts]))

    @property
    def mean_square(self) -> float:
        return float(np.sum([one.squares for one in self.facts])) / self.shape[0]

    @property
    def evenness(self) -> float:
        """How equal the sizes of the columns are, from 1/d to 1: the mean of the groups."""
        return float(np.sum([one.rows * one.evenness for one in self.facts])) / self.shape[0]

    @property
    def stored_entries(self) -> int:
        return sum(one.stored_entries for one in self.facts)

    def checksum(self) -> int:
        return zlib.crc32(repr([each for one in self.facts for each in one.checksums]).encode())

    def part(self, begin: int, end: int) -> Design:
        """A copy of some rows on the driver, for methods that need few of them."""
        inside = [
            (min(max(begin, span.start), span.stop) - span.start, min(max(end, span.start), span.stop) - span.start)
            for span in self.spans
        ]
        first, last = zip(*inside, strict=True)
        return as_design(sp.vstack(self.groups.map(on_shard.rows_between, first, last), format="csr"))

    def rows(self) -> Rows:
        raise FenchelError(
            "this solver reads the rows of X, which lie on several workers: use solver='auto', which chooses one that "
            "does not"
        )


def sharded(problem: Problem) -> ShardedDesign | None:
    """Return the design of a problem if it lies on workers."""
    return problem.design if isinstance(problem.design, ShardedDesign) else None

"""What dual coordinate descent keeps besides u where weights are no linear function of it (``loops.transferred``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fenchel.compile.primitives.row_norms import squared_norms as compiled_norms
from fenchel.designs import as_design
from fenchel.designs.rows import CentredRows, CSRRows, DenseRows
from fenchel.problem import Problem
from fenchel.solvers.dual_coordinate.loop import CURVE, SCALE, SUM
from fenchel.solvers.dual_coordinate.loop_mirror import (
    EXACT,
    GRADIENT,
    NEWTON,
    largest_entries,
    rebuild,
    visit_transferred,
)

if TYPE_CHECKING:
    from fenchel.solvers.dual_coordinate.solver import DualCoordinate
    from fenchel.solvers.dual_coordinate.state import OutputState, State

#: the inner rules by name
RULES = {"exact": EXACT, "newton": NEWTON, "gradient": GRADIENT}


@dataclass
class Transfer:
    """Nodes of the features and the running sum over them, for one output."""

    rows: Any
    #: what is taken off every row: the mean where rows are dense and the intercept is free, zero otherwise
    mean: NDArray[np.float64]
    priors: NDArray[np.float64]
    nodes: NDArray[np.float64]
    #: frame, floor, running sum and the highest that it was
    carry: NDArray[np.float64]
    #: room for the nodes of one row
    trial: NDArray[np.float64]
    rule: int
    stretch: float
    #: entries of rows that were moved since the nodes were last computed from u alone, about
    moved: int = 0

    @classmethod
    def of(cls, problem: Problem, solver: DualCoordinate, book: NDArray) -> tuple[Transfer, NDArray]:
        """With the slopes of the first lines, which are set in the book too."""
        rows, features, mean = plain_rows(problem), problem.design.shape[1], np.zeros(problem.design.shape[1])
        if isinstance(rows, DenseRows):
            # where sum theta = 0 that changes nothing but b; sparse rows would become dense
            centred = problem.intercept and solver.centres
            mean = problem.design.adjoint(problem.risk.shares) if centred else mean
            rows = CentredRows(rows.values, mean)
        name = "exact" if solver.rule == "auto" and solver.stretch != 1.0 else solver.rule
        rule = RULES.get(name, NEWTON)
        largest, norms = np.empty(len(book)), np.empty(len(book))
        largest_entries(rows, largest)
        compiled_norms(rows, norms)
        if rule != GRADIENT:
            bends = norms * problem.regularizer.typical_hess_conjugate(features)
        elif solver.learning_rate is not None:
            bends = np.full(len(book), 1.0 / solver.learning_rate)
        else:
            bends = problem.regularizer.row_hess_bound(norms, largest, features)
        book[:, CURVE] = book[:, SCALE] * bends
        longest = features if not isinstance(rows, CSRRows) else int(np.max(np.diff(rows.indptr), initial=0))
        priors = np.ascontiguousarray(problem.regularizer.priors(features))
        room = np.zeros((max(1, longest), 2))
        found = cls(rows, mean, priors, np.zeros((features, 2)), np.zeros(4), room, rule, solver.stretch)
        return found, bends

    def begin(self, state: State, output: OutputState) -> None:
        """Take u, which is that of the rows as they are, to the centred ones; nodes and sum follow."""
        output.u -= output.free[SUM] * self.mean
        self._rebuild(state, output)

    @property
    def adapts(self) -> bool:
        """Whether the book holds the slopes that steps met."""
        return self.rule != GRADIENT

    def visit(
        self, state: State, output: OutputState, begin: int, end: int, threshold: float
    ) -> tuple[int, float, int, float]:
        """Go on with the pass of this output."""
        descent = output.descent
        found: tuple[int, float, int, float] = visit_transferred(
            self.rows,
            state.loss,
            state.regularizer,
            output.book,
            output.u,
            self.priors,
            self.nodes,
            self.carry,
            self.trial,
            output.free,
            output.constant,
            self.rule,
            self.stretch,
            descent.order,
            begin,
            end,
            descent.kept,
            threshold,
        )
        return found

    def renew(self, state: State, output: OutputState) -> None:
        """At the end of a pass: nodes and sum free of drift, if enough has moved to pay for it."""
        design = state.problem.design
        self.moved += output.descent.changed * max(1, design.stored_entries // design.shape[0])
        if self.moved >= design.shape[1]:
            self._rebuild(state, output)

    def _rebuild(self, state: State, output: OutputState) -> None:
        rebuild(state.regularizer, output.u, self.priors, self.nodes, self.carry)
        self.moved = 0


def plain_rows(problem: Problem) -> Any:
    """The rows of the design; of a copy if a row has unsorted or repeated entries, whose nodes would clash."""
    rows = problem.design.rows()
    if not isinstance(rows, CSRRows) or not compiled_norms(rows, np.empty(problem.design.shape[0])):
        return rows
    copy = sp.csr_array((rows.data.copy(), rows.indices.astype(np.int64), rows.indptr.astype(np.int64)))
    copy.resize(problem.design.shape)
    copy.sum_duplicates()
    return as_design(copy).rows()

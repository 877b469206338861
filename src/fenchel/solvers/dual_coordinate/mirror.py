"""Dual coordinate descent where the mirror map v -> w = grad Omega*(v) is not linear (``loop_mirror``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.compile.primitives.epoch import Part, Tally
from fenchel.compile.primitives.row_norms import squared_norms as compiled_norms
from fenchel.designs import as_design
from fenchel.designs.rows import CentredRows, CSRRows, DenseRows
from fenchel.problem import Problem
from fenchel.solvers.dual_coordinate.loop import CURVATURE, SCALE, SUM, Intercept
from fenchel.solvers.dual_coordinate.loop_mirror import (
    EXACT,
    GRADIENT,
    NEWTON,
    Mirror,
    Rule,
    epoch_mirror,
    largest_entries,
    rebuild,
)

if TYPE_CHECKING:
    from fenchel.solvers.dual_coordinate.solver import DualCoordinate
    from fenchel.solvers.dual_coordinate.state import OutputState, State

#: the loop gets centred rows
_NOT_CENTRED: Floats = np.zeros(0)
#: the inner rules by name
RULES = {"exact": EXACT, "newton": NEWTON, "gradient": GRADIENT}


@dataclass
class MirrorState:
    """What one output stores to evaluate the mirror map along a row (``loop_mirror``)."""

    rows: Any
    #: subtracted from every row: the mean where rows are dense and there is an intercept, zero otherwise
    mean: Floats
    mirror: Mirror
    rule: Rule
    #: entries of rows along which v moved since the terms were last computed from v, about
    moved: int = 0

    @classmethod
    def of(cls, problem: Problem, solver: DualCoordinate, table: Array, v: Array) -> tuple[MirrorState, Floats]:
        """The state for the dual vector v, and the curvatures along the rows, which the table gets too."""
        rows, features, mean = plain_rows(problem), problem.design.shape[1], np.zeros(problem.design.shape[1])
        if isinstance(rows, DenseRows):
            # where sum theta = 0 centring changes nothing but b; sparse rows would become dense
            centred = problem.intercept and solver.centres
            mean = problem.design.adjoint(problem.risk.shares) if centred else mean
            rows = CentredRows(rows.values, mean)
        name = "exact" if solver.rule == "auto" and solver.stretch != 1.0 else solver.rule
        rule = Rule(RULES.get(name, NEWTON), float(solver.stretch))
        largest, norms = np.empty(len(table)), np.empty(len(table))
        largest_entries(rows, largest)
        compiled_norms(rows, norms)
        if rule.kind != GRADIENT:
            curvatures = norms * problem.regularizer.typical_hess_conjugate(features)
        elif solver.learning_rate is not None:
            curvatures = np.full(len(table), 1.0 / solver.learning_rate)
        else:
            curvatures = problem.regularizer.row_hess_bound(norms, largest, features)
        table[:, CURVATURE] = table[:, SCALE] * curvatures
        longest = features if not isinstance(rows, CSRRows) else int(np.max(np.diff(rows.indptr), initial=0))
        priors = np.ascontiguousarray(problem.regularizer.priors(features))
        mirror = Mirror(v, priors, np.zeros((features, 2)), np.zeros(4), np.zeros((max(1, longest), 2)))
        return cls(rows, mean, mirror, rule), curvatures

    def begin(self, state: State, output: OutputState) -> None:
        """Take v from the rows as they are to the centred ones, and compute the terms of the mirror map."""
        if np.any(self.mean):
            output.v -= output.intercept[SUM] * self.mean
        self._rebuild(state)

    @property
    def adapts(self) -> bool:
        """Whether the table holds the curvatures that steps met."""
        return self.rule.kind != GRADIENT

    def epoch(self, state: State, output: OutputState, part: Part) -> Tally:
        """One part of an epoch of this output."""
        projection = _NOT_CENTRED if output.intercept.ndim == 1 else state.projection
        intercept = Intercept(output.intercept, projection, output.constant)
        data = (self.rows, state.loss, state.regularizer, output.table)
        return Tally(*epoch_mirror(*data, self.mirror, intercept, self.rule, part))

    def end_epoch(self, state: State, output: OutputState) -> None:
        """Recompute the terms against rounding errors, if steps cost more than that since the last time."""
        design = state.problem.design
        self.moved += output.active_set.changes * max(1, design.stored_entries // design.shape[0])
        if self.moved >= design.shape[1]:
            self._rebuild(state)

    def _rebuild(self, state: State) -> None:
        rebuild(state.regularizer, self.mirror)
        self.moved = 0


def plain_rows(problem: Problem) -> Any:
    """The rows of the design; of a copy if a row has unsorted or repeated entries, which would have two terms each."""
    rows = problem.design.rows()
    if not isinstance(rows, CSRRows) or not compiled_norms(rows, np.empty(problem.design.shape[0])):
        return rows
    copy = sp.csr_array((rows.data.copy(), rows.indices.astype(np.int64), rows.indptr.astype(np.int64)))
    copy.resize(problem.design.shape)
    copy.sum_duplicates()
    return as_design(copy).rows()

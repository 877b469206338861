"""Newton's methods on growing samples of the rows, where there are many more rows than features."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.designs import Design
from fenchel.numerics.limits import OBJECTIVE_ROUNDING
from fenchel.problem import Problem
from fenchel.solvers import needs
from fenchel.solvers.base import STALLED, Hint, Solver, Warm
from fenchel.solvers.newton.rules import CLEARLY_ABOVE_ROUNDING
from fenchel.solvers.newton.sample import RowSample

#: fewest rows of the first sample
_FEWEST_ROWS = 1000
#: entries of X up to which all rows are read from the first step on: another sample takes as long as three such steps
#: (tubes, hinges and smooth losses on 4,100 to 12,000 rows of 8 to 15 made-up features)
_FEW_ENTRIES = 1 << 16
#: factor by which samples grow
_GROWTH = 4
#: a sample is solved when its relative gap is below this multiple of unknowns / rows, the order of its sampling error
_STATISTICAL = 0.3
#: runs of neighbouring rows in a block of rows that is read from a file: of 2 MB, as the system reads them
_RUNS_IN_BLOCK = 128


def run_length(design: Design) -> int:
    """Return how many neighbouring rows a sample takes together: 1, or more where X is larger than a block of a file.

    A sample of single rows would read the whole file, since the system reads what is around each of them.
    """
    block = design.block_rows
    return 1 if block is None or block >= design.shape[0] else max(1, block // _RUNS_IN_BLOCK)


def in_random_order(rows: Array, length: int, random: np.random.Generator) -> Array:
    """Return ascending rows in a random order of runs of ``length`` rows, whose beginnings are samples."""
    if length == 1:
        return random.permutation(rows)
    runs = np.arange(len(rows)) // length
    return rows[np.argsort(random.permutation(int(runs[-1]) + 1)[runs], kind="stable")]


@dataclass
class Iterate(abc.ABC):
    """Weights and dual point on a sample: of one output, or of all classes."""

    problem: Problem
    weights: Floats
    intercept: Any
    sample: RowSample
    #: half of minus the directional derivative along the last direction: the decrease that its quadratic model predicts
    predicted_decrease: float = np.inf
    best_gap: float = np.inf
    #: steps that the last call of ``improve`` made
    steps: int = 1
    steps_without_progress: int = 0
    stalled: bool = False

    @property
    @abc.abstractmethod
    def objective(self) -> float:
        """The unsmoothed objective on the sample."""

    @property
    @abc.abstractmethod
    def gap(self) -> float:
        """The duality gap on the sample."""

    @property
    def gap_in_reach(self) -> float:
        """The decrease that is left on the sample, as bounded by the gap or as predicted, whichever is smaller."""
        return min(self.gap, self.predicted_decrease)

    @property
    def sampling_error(self) -> float:
        """The gap below which more steps on the sample fit the sample and not the problem."""
        return _STATISTICAL * self.weights.size / len(self.sample.selected) * self.objective

    @abc.abstractmethod
    def update_dual_point(self) -> int:
        """Update the dual point at the scores and its gap; return the rows read."""

    def begin(self) -> None:
        """Compute the dual point at the first scores, unless the first step does."""
        self.update_dual_point()

    @abc.abstractmethod
    def resample(self, selected: Array) -> None:
        """Continue with another sample, at the same weights."""

    def is_rounding(self, gap: float, offset: float = 0.0) -> bool:
        """Return whether a gap is of the size of rounding errors of the objective plus an offset."""
        if gap > CLEARLY_ABOVE_ROUNDING * self.problem.risk.value_at_zero:
            return False
        return gap <= OBJECTIVE_ROUNDING * (self.objective + offset)

    @property
    def is_solved(self) -> bool:
        """Whether the sample is solved up to rounding errors."""
        return self.is_rounding(self.gap)


@dataclass
class State:
    """The constant parts of a problem and the iterates."""

    problem: Problem
    #: the rows with positive weight, in random order if there are samples, which are its beginnings
    order: NDArray[np.unsignedinteger]
    seed: int
    outputs: list[Any]
    #: the output of the next step
    turn: int = 0

    @cached_property
    def random(self) -> np.random.Generator:
        """Random numbers; small problems need none, and a generator takes as long as a step of theirs."""
        return np.random.default_rng(self.seed)

    def uses_all_rows(self, output: Iterate) -> bool:
        """Return whether the sample contains all rows."""
        return len(output.sample.selected) == len(self.order)


class SampledNewton(Solver):
    """Base class: start, growing samples, progress and stalls."""

    computes_gap: ClassVar[bool] = True
    #: the options of the subclasses
    seed: int | None
    sampling: bool
    #: fewest rows per feature in the first sample
    rows_per_feature: ClassVar[int]
    #: the method stalls after this many steps without a gap below ``progress`` times the smallest gap so far
    max_steps_without_progress: ClassVar[int]
    progress: ClassVar[float]

    @abc.abstractmethod
    def first_iterates(self, problem: Problem, selected: Array, warm: Warm | None) -> Iterator[Iterate]:
        """Return the first iterates on a sample; ``warm`` fits the problem."""

    @abc.abstractmethod
    def improve(self, state: State, output: Any, target: float, hint: Hint) -> int:
        """Make one step on the sample; return the rows read."""

    def first_rows(self, problem: Problem, rows: int) -> int:
        """How many of these rows of a problem the first sample of a cold start has."""
        if self.sampling and problem.design.stored_entries > _FEW_ENTRIES:
            fewest = max(_FEWEST_ROWS, self.rows_per_feature * problem.design.shape[1])
            while rows >= _GROWTH * fewest:
                rows //= _GROWTH
        return rows

    def start(self, problem: Problem, warm: Warm | None) -> State:
        needs.check_scale(problem)
        index = np.uint32 if problem.design.shape[0] < 2**32 else np.uint64
        state = State(problem, np.flatnonzero(problem.risk.shares > 0).astype(index), self.seed or 0, [])
        usable, rows = warm if warm is not None and problem.fits(warm.model) else None, len(state.order)
        if usable is None:
            rows = self.first_rows(problem, rows)
        if rows < len(state.order):
            state.order = in_random_order(state.order, run_length(problem.design), state.random)
        with np.errstate(over="ignore", invalid="ignore"):
            # sorted, so that rows are read in the order of storage
            for output in self.first_iterates(problem, np.sort(state.order[:rows]), usable):
                output.begin()
                state.outputs.append(output)
        return state

    def step(self, state: State, hint: Hint) -> float:
        if all(output.stalled for output in state.outputs):
            return STALLED
        while state.outputs[state.turn].stalled:
            state.turn = (state.turn + 1) % len(state.outputs)
        output = state.outputs[state.turn]
        state.turn = (state.turn + 1) % len(state.outputs)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            rows_read = self._advance(state, output, hint)
        return rows_read / (state.problem.design.shape[0] * len(state.outputs))

    def expected_gap(self, state: State) -> float:
        return sum(output.gap if state.uses_all_rows(output) else np.inf for output in state.outputs)

    def expected_objective(self, state: State) -> float:
        return sum(output.objective for output in state.outputs)

    def _advance(self, state: State, output: Iterate, hint: Hint) -> int:
        """Enlarge the sample if it is solved, else make one step; return the rows read."""
        target = hint.target_gap / len(state.outputs)
        if not state.uses_all_rows(output):
            target = max(target, output.sampling_error)
            if output.gap_in_reach <= target:
                return self._enlarge(state, output)
        rows_read, gap = self.improve(state, output, target, hint), output.gap
        progress = gap < self.progress * output.best_gap
        output.steps_without_progress = 0 if progress else output.steps_without_progress + output.steps
        output.best_gap = min(output.best_gap, gap)
        if output.steps_without_progress >= self.max_steps_without_progress or output.is_solved:
            output.stalled = True
        if output.stalled and not state.uses_all_rows(output):
            # the sample is solved, not the problem
            rows_read += self._enlarge(state, output)
        return rows_read

    def _enlarge(self, state: State, output: Iterate) -> int:
        """Enlarge the sample; return the rows read."""
        rows = _GROWTH * len(output.sample.selected)
        rows = rows if 2 * rows <= len(state.order) else len(state.order)
        output.resample(np.sort(state.order[:rows]))
        output.predicted_decrease, output.best_gap = np.inf, np.inf
        output.steps_without_progress, output.stalled = 0, False
        return rows + output.update_dual_point()

"""The state of block coordinate descent: the dual blocks, and the sums that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.arrays import Array, Floats
from fenchel.compile.lanes import aligned_zeros
from fenchel.compile.primitives.epoch import Part, Tally
from fenchel.problem import Model, Problem, Witness
from fenchel.solvers.block_coordinate.averaging import RunningAverage
from fenchel.solvers.block_coordinate.loop import CENTRING, Blocks, ClassLists, run_epoch
from fenchel.solvers.block_coordinate.loop_average import Averages
from fenchel.solvers.block_coordinate.loop_blocks import RootBlock
from fenchel.solvers.block_coordinate.loop_epochs import Epochs, Repetition, run_epochs
from fenchel.solvers.block_coordinate.loop_intercepts import INTERCEPT, OFFSET, SUM, Intercepts
from fenchel.solvers.shrinking import ActiveSet
from fenchel.solvers.simultaneous import Simultaneous, Sums, squared_size

#: of examples in one call of a loop, for an integer
_MOST_TURNS = 1 << 40
#: features that are turned at a time: eight classes of them are 256 kB
_FEATURES_OF_BLOCK = 1 << 12


@dataclass
class State:
    """What does not change during a solve, the dual blocks, and the sums that follow from them."""

    problem: Problem
    rows: Any
    images: Any
    inner: Any
    blocks: Blocks
    #: the logarithms of the probabilities, for the multinomial risk; without rows for others
    logs: Floats
    intercepts: Intercepts
    #: of the rows, with intercepts; its coefficients with a Gram matrix
    mean: Floats
    random: NDArray[np.uint64]
    lists: ClassLists
    active_set: ActiveSet
    #: of v and the intercepts, for models; None proposes the present ones
    average: RunningAverage | None = None
    #: the number of an epoch, and the dual objective at its end
    known_objective: tuple[int, float] = (-1, 0.0)
    #: the number of an epoch, and the gap for which single precision was not enough then
    known_floor: tuple[int, float] = (-1, 0.0)
    #: the blocks of threads, if there are several
    simultaneous: Simultaneous | None = None

    @property
    def alpha(self) -> Array:
        """The dual blocks without the columns that pad them, (n, k)."""
        return self.blocks.alpha[:, : self.problem.risk.outputs]

    @property
    def mean_image(self) -> Floats:
        """The vector whose product with the weights of a model is the score of the mean."""
        if self.problem.design.kernel() is None or not self.problem.intercept:
            return self.mean
        return np.asarray(self.intercepts.square - self.blocks.table[:, CENTRING])

    def epochs(self, part: Part, entries: int, target: float, most: float, shrinking: bool) -> Epochs:
        """One part of an epoch; if that is a whole one, also those that follow, without Python between them.

        They end when the examples' gaps add up to ``target``, before they take more than ``most`` turns.
        """
        active_set, blocks, intercepts = self.active_set, self.blocks, self.intercepts
        threads = self.simultaneous is not None and self.simultaneous.is_worth_it(part, entries, blocks.v.size)
        known = active_set.full_violation, active_set.turns_since_full
        if threads or not isinstance(self.inner, RootBlock):
            turns = part.end - part.begin
            return Epochs(self.epoch(part, entries), 0, active_set.size, turns, *known)
        whole = part.begin == 0 and part.end == active_set.size and active_set.block_rows is None
        limit = int(min(most, _MOST_TURNS)) if whole else 0
        none = np.zeros(0, blocks.v.dtype), np.zeros(0), np.zeros(2), np.inf
        averages = Averages(*none) if self.average is None else self.average.within_epochs()
        flat = blocks.v.reshape(-1), intercepts.state.reshape(-1)
        repetition = Repetition(limit, float(target), self.problem.lam, shrinking, *known, self.random, *flat)
        fixed = self.rows, self.images, self.inner, blocks, intercepts, self.lists, averages
        return run_epochs(*fixed, active_set.classes_shrunk, part, repetition)

    def epoch(self, part: Part, entries: int) -> Tally:
        """One part of an epoch with a joint hinge, with ``entries`` entries a turn; in threads if that is worth it."""
        blocks, intercepts, shrunk = self.blocks, self.intercepts, self.active_set.classes_shrunk

        def run(part: Part, sums: Sums) -> Tally:
            changed = blocks._replace(v=sums.v), intercepts._replace(state=sums.intercept)
            return run_epoch(self.rows, self.images, self.inner, *changed, self.lists, shrunk, part)

        def square(change: Sums) -> float:
            # of centred rows and the constant feature: |v - m S|^2 + B^2 S^2
            total, offset = change.intercept[[SUM, OFFSET]]
            spread = intercepts.square + intercepts.constant
            return squared_size(change.v) + float(total @ (spread * total - 2.0 * offset))

        threads, sums = self.simultaneous, Sums(blocks.v, intercepts.state)
        if threads is None or not threads.is_worth_it(part, entries, blocks.v.size):
            return run(part, sums)
        return threads.epoch(part, sums, blocks.alpha, run, square)

    def refresh(self) -> None:
        """Recompute the running sums of the loop from theta, free of accumulated rounding errors."""
        problem, alpha, intercepts, count = self.problem, self.alpha, self.intercepts.state, self.alpha.shape[1]
        total, v = np.zeros(count), np.zeros((self.blocks.v.shape[0], count))
        for rows, part in problem.multiclass_risk.parts():
            theta = part.shares[:, None] * alpha[rows]
            total += np.sum(theta, axis=0)
            if problem.design.kernel() is not None:
                v[rows] = theta
            else:
                v += problem.design.part(rows.start, rows.stop).adjoint(theta).T
        if problem.design.kernel() is not None:
            v[:] = problem.design.scores(v.T)
        v /= problem.lam
        self.blocks.v[:, :count] = v
        intercepts[SUM, :count] = total / problem.lam
        intercepts[OFFSET, :count] = self.mean @ v
        self._restart_average()

    def in_double_precision(self, *, alpha: bool) -> None:
        """Go on in double precision, from sums without the rounding errors of single precision; alpha if asked to."""
        self.blocks = self.blocks._replace(
            alpha=_doubled(self.blocks.alpha) if alpha else self.blocks.alpha, v=_doubled(self.blocks.v)
        )
        if self.active_set.epochs or np.any(self.alpha):
            self.refresh()
        self._restart_average()

    def _restart_average(self) -> None:
        """Average from the present weights on: after changes that are none of an epoch, and at a fixed point."""
        if self.average is not None:
            self.average.restart((self.blocks.v, self.intercepts.state))

    def objective_of_epoch(self) -> float:
        """The dual objective at the end of the last epoch, or now if nobody asked for it there."""
        if self.active_set.position == 0 and self.known_objective[0] != self.active_set.epochs:
            self.known_objective = self.active_set.epochs, self.objective()
        return self.known_objective[1] if self.known_objective[0] >= 0 else self.objective()

    def objective(self) -> float:
        """The dual objective at the running sums."""
        problem, shares, intercepts = self.problem, self.problem.risk.shares, self.intercepts
        alpha, v, places = self.blocks.alpha, self.blocks.v, (np.arange(len(shares)), self.blocks.classes)
        if len(self.logs):
            # the entropy, of p = e_y - alpha
            found = np.einsum("i,ij,ij->", shares, self.alpha, self.logs) - float(shares @ self.logs[places])
        else:
            found = float(shares @ alpha[places])
        kernel = problem.design.kernel() is not None
        square = float(np.einsum("i,ij,ij->", shares, alpha, v)) if kernel else problem.lam * float(np.vdot(v, v))
        # of centred rows: |v - m S|^2
        total = intercepts.state[SUM]
        square -= problem.lam * float(total @ (2.0 * intercepts.state[OFFSET] - intercepts.square * total))
        return float(found) - 0.5 * square

    def propose(self) -> tuple[Model, Witness]:
        """The model and the witness at the dual blocks."""
        problem, alpha, count = self.problem, self.alpha, self.problem.risk.outputs
        # theta needs no more precision than alpha has; the certificate computes in double precision
        theta = alpha * problem.risk.shares[:, None].astype(alpha.dtype)
        if problem.design.kernel() is not None:
            coefficients = problem.design.adjoint(theta) / problem.lam
            sums = self.intercepts.state[SUM, :count]
            weights = coefficients - np.multiply.outer(sums, self.mean)
            return Model(weights, self._gram_intercept(weights)), Witness(theta)
        if self.average is None:
            v, intercepts = self.blocks.v[:, :count], self.intercepts.state[:, :count]
        else:
            v, intercepts = (one[:, :count] for one in self.average.present(self.active_set.expected_gap))
        if not problem.intercept:
            return Model(_rows_of_classes(v), problem.no_intercept()), Witness(theta)
        weights = _rows_of_classes(v, intercepts[SUM], self.mean)
        intercept = intercepts[INTERCEPT] - weights @ self.mean
        intercept -= np.mean(intercept)
        return Model(weights, intercept), Witness(theta)

    def _gram_intercept(self, weights: Floats) -> Any:
        """The present intercepts, improved from there: steps of single classes from zero may end far from the best."""
        problem, count, sums = self.problem, self.problem.risk.outputs, self.intercepts.state[SUM]
        if not problem.intercept:
            return problem.no_intercept()
        scores = self.blocks.v[:, :count] - np.multiply.outer(self.mean_image, sums[:count])
        own = self.intercepts.state[INTERCEPT, :count] - weights @ self.mean_image
        own = own + problem.best_intercept(scores + own)
        return own - np.mean(own)


def _doubled(array: Array) -> Array:
    """The array in double precision; itself if it is."""
    if array.dtype == np.float64:
        return array
    found = aligned_zeros(array.shape)
    found[:] = array
    return found


def _rows_of_classes(v: Array, sums: Array | None = None, mean: Array | None = None) -> Floats:
    """V, less ``sums`` times the mean, in double precision; a row for each class, as products with X read them.

    In blocks of features that stay in the cache.
    """
    found = np.empty(v.shape[::-1])
    for begin in range(0, len(v), _FEATURES_OF_BLOCK):
        block = slice(begin, begin + _FEATURES_OF_BLOCK)
        found[:, block] = v[block].T
        if sums is not None and mean is not None:
            found[:, block] -= np.multiply.outer(sums, mean[block])
    return found

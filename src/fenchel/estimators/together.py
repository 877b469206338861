"""The problems of a small fit that share the rows, solved and certified together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fenchel.problem import Problem
from fenchel.solving.outputs import solve_outputs
from fenchel.solving.solution import Solution
from fenchel.validation import check_limits

if TYPE_CHECKING:
    from fenchel.estimators.base import LinearEstimator


def solved_together(
    estimator: LinearEstimator, outputs: Problem, seeds: Sequence[int], stop: threading.Event
) -> Sequence[Solution | None]:
    """The solution of each output of a problem, None where it has to be found by itself.

    A time limit, a checkpoint and a report are about one problem at a time, and so is a fit to the rounding floor.
    """
    tol, most = estimator._target_gap(), estimator._max_passes()
    check_limits(tol, most)
    one_by_one = estimator.verbose or estimator.checkpoint is not None
    if not tol > 0.0 or one_by_one or estimator.time_limit is not None:
        return [None] * len(seeds)
    return solve_outputs(
        outputs,
        estimator._solver_for(outputs),
        tol=tol,
        max_iter=most,
        seed=seeds[0],
        n_jobs=estimator.n_jobs,
        stop_requested=stop.is_set,
    )

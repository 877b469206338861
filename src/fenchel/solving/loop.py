"""The function ``solve``: checks its arguments, chooses the solvers and runs them until the gap is proved.

The file is not called solve.py because ``fenchel.solve`` is the function.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fenchel.certificate import ProvedShare
from fenchel.designs.threads import products_in_threads
from fenchel.errors import FenchelError
from fenchel.problem import Problem
from fenchel.solvers import choose
from fenchel.solvers.base import Start, Warm
from fenchel.solvers.choose import Choice
from fenchel.solving.checkpoint import Checkpoint
from fenchel.solving.run import Run, Stopping
from fenchel.solving.schedule import Schedule
from fenchel.solving.solution import Progress, Solution, Status
from fenchel.stopping import interrupts_set
from fenchel.validation import check_limits, check_number, processors

#: stored entries of X up to which a certificate is cheap, about a millisecond
_CHEAP_ENTRIES = 1 << 17


def solve(
    problem: Problem,
    solver: Choice = "auto",
    *,
    tol: float = 1e-3,
    max_iter: float = 1000,
    time_limit: float | None = None,
    warm_start: Warm | None = None,
    callback: Callable[[Progress], Any] | None = None,
    stop_requested: Callable[[], bool] | None = None,
    stop_when: ProvedShare | None = None,
    decay: float | None = None,
    certify_every: float | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    checkpoint: Path | str | None = None,
) -> Solution:
    r"""Minimize a problem until its relative duality gap is proved to be at most ``tol``.

    Ctrl-C ends a solve like a time limit: the best model so far is returned with its certificate.

    Parameters
    ----------
    problem : Problem
        The problem to minimize.
    solver : str, Solver or sequence of Candidate, default="auto"
        The name of a solver in ``fenchel.solvers.SOLVERS``, a solver object with options, or "auto", which chooses by
        the problem.  A solver that "auto" chose and that stalls, or uses up its share of data passes, is replaced by
        the next one, as are those of a sequence that ``fenchel.solvers.choose`` returned; ``Solution.handovers``
        records it.
    tol : float, default=1e-3
        The relative duality gap ``(P - D) / max(|P|, |D|)`` to prove; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data.
    time_limit : float, default=None
        Maximum number of seconds, without compilation.  The step under way is cut short, and a certificate under way
        or that of the last point is finished.
    warm_start : Solution, default=None
        The solution to start from, or any object with a ``model`` and a ``witness``.
    callback : callable, default=None
        Called with a :class:`Progress` after each certificate; a true return value stops the solve.
    stop_requested : callable, default=None
        Called without arguments between steps; a true return value stops the solve as Ctrl-C does.
    stop_when : ProvedShare, default=None
        Stop once a share of the predictions on given rows is proved, or at the rounding floor; ``tol`` does not end the
        solve then.
    decay : float, default=None
        Stop as well once the gap is less than this share of the gap after the first epoch, the rule
        :math:`DG^t < \delta\,DG^1` of [1]_, Sec. 5.  Set ``tol=0`` to stop by this rule alone.
    certify_every : float, default=None
        Data passes between certificates; None certifies on a schedule whose intervals grow.  A solver with shrinking
        takes all examples back after each certificate.
    seed : int, default=0
        Seed of the solver's random choices.
    n_jobs : int, default=None
        Threads within the solve, used by "newton", "smoothing", "agm" and "bundle", and by certificates of sparse
        data.  The result does not depend on it.
    checkpoint : path, default=None
        A file for the best model and dual point so far, written at most once a minute, after a certificate, and at the
        end.  A solve of the same problem that finds the file starts from it, in place of ``warm_start``, and ends at
        an answer within ``tol`` of the same optimum; a file of another problem is refused.

    Returns
    -------
    Solution
        The best model, the best dual point, their certificate, and how the solve went.

    See Also
    --------
    certify : Prove how far any model is from the optimum.
    regularization_path : Solve for many values of C, each from the last.
    fenchel.solvers : The solvers and their options.

    References
    ----------
    .. [1] Y. Wang and C. Scott. "An exact solver for the Weston-Watkins SVM subproblem." ICML, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Problem, solve
    >>> from fenchel.risks import MeanRisk
    >>> X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> solution = solve(Problem(X, MeanRisk("hinge", y), lam=0.5), tol=1e-6)
    >>> solution.converged
    True
    >>> bool(solution.certificate.relative_gap <= 1e-6)
    True
    """
    if not isinstance(problem, Problem):
        raise FenchelError(f"problem must be a Problem such as Problem(X, risk, lam), got {type(problem).__name__}")
    check_limits(tol, max_iter)
    check_number("decay", decay, above=0.0, below=1.0, optional=True)
    check_number("certify_every", certify_every, above=0.0, optional=True)
    if warm_start is not None and not isinstance(warm_start, (Solution, Start)):
        raise FenchelError(f"warm_start must be a Solution or a Start, got {type(warm_start).__name__}")
    if callback is not None and not callable(callback):
        raise FenchelError(f"callback must be a function, got {type(callback).__name__}")
    if stop_when is not None and not isinstance(stop_when, ProvedShare):
        raise FenchelError(f"stop_when must be None or a ProvedShare, got {type(stop_when).__name__}")
    candidates = choose(problem, solver, tol=tol if stop_when is None else 0.0, seed=seed, n_jobs=n_jobs)
    # what ends a solve with tol = 0 is the last certificates; callbacks and checkpoints see them
    seen = callback is not None or stop_when is not None or checkpoint is not None
    rare = not seen and (tol > 0.0 or problem.design.stored_entries > _CHEAP_ENTRIES)
    schedule = Schedule(max_iter, rare, certify_every, problem.design.stored_entries)
    interrupt = threading.Event()

    def must_stop() -> bool:
        return interrupt.is_set() or (stop_requested is not None and stop_requested())

    stopping = Stopping(tol, time_limit, decay, callback, must_stop, stop_when)
    kept = None if checkpoint is None else Checkpoint(checkpoint, problem)
    with products_in_threads(processors(n_jobs)), interrupts_set(interrupt):
        start = (kept.start() if kept is not None else None) or warm_start
        solution = Run(problem, candidates, schedule, stopping, kept).solution(start)
    # Ctrl-C may come when the last certificate has just been computed
    return replace(solution, status=Status.INTERRUPTED) if interrupt.is_set() else solution

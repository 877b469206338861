"""The runs behind the figures: each method alone on one problem, timed step by step.

The problem is lambda/2 |w|^2 + the mean hinge without an intercept; pragam-b has a free one, and a minimum of its own.

Seconds are processor seconds of a solver's start and steps, one thread.  Between steps, outside of the clock, the
objective J(w_t) is computed from the data with plain NumPy: after each of the first steps, later whenever the steps
have become a few percent more.  What is kept is the paper's: the lowest J so far, and the test accuracy of the model
that has it.  No certificate is made on the way; one at the end gives the run's lower bound.

LIBLINEAR (``-s 3``) does not show what it has on the way: each point of its curve is a run of its
own to a smaller tolerance, timed as a whole.

The minimum is the best lower bound of all runs on a problem, among them a longer one for this purpose
("reference"), so an error here is never smaller than the true one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.binary import BinarySplit, load_binary
from benchmarks.ledger import Cell, Ledger
from benchmarks.speed.peers import Liblinear, ScikitLearn
from benchmarks.speed.tasks import Task
from fenchel import Model, Problem, solve
from fenchel.certificate import judge
from fenchel.risks import MeanRisk
from fenchel.solvers import STALLED, Bundle, DualCoordinate, Hint, Pegasos, Pragam
from reproductions.saha2009 import paper

RESULTS = Path(__file__).with_name("results")
KEY = ("data", "solver", "seed")
#: processor seconds of a run, by set; web8 and covertype have the rows and the positive class of the paper
CAPS = {"reuters-moneyfx": 6.0, "a9a": 20.0, "web8": 12.0, "20news.binary": 60.0, "covertype": 24.0}
SETS = tuple(CAPS)
#: liblinear-official, which ends after 300 passes, and the older LIBLINEAR in scikit-learn, which can be told not to
PEERS: dict[str, Any] = {"LIBLINEAR": Liblinear, "LIBLINEAR, older": ScikitLearn}
SOLVERS: dict[str, Any] = {
    "pragam": Pragam(),
    "pragam, no restart": Pragam(restart=False),
    "pragam-b": Pragam(),
    "ls-bmrm": Bundle(inner="line_search", stabilisation="none"),
    "qp-bmrm": Bundle(stabilisation="none"),
    "dual_coordinate": DualCoordinate(),
    **PEERS,
    "pegasos-n": Pegasos(batch="all"),
    "pegasos-1": Pegasos(),
}
#: methods that depend on a seed, and the seeds
RANDOM, SEEDS = ("dual_coordinate", *PEERS, "pegasos-1"), (0, 1, 2)
#: the runs that are made for the minimum, by whether there is an intercept
REFERENCES = {False: "reference", True: "reference-b"}
#: relative gap of the references; a run ends at such an error
_TOL, _ENDS = 1e-7, 1e-6
#: tolerances of LIBLINEAR
_TOLERANCES = tuple(10.0 ** (1.0 - step / 3.0) for step in range(19))
#: J is computed after each of this many first steps, then at this ratio of steps
_EACH, _GROWTH = 30, 1.04


class Job(NamedTuple):
    """What identifies a run."""

    data: str
    solver: str
    seed: int


class Watched:
    """The lowest objective so far and the test accuracy that goes with it."""

    def __init__(self, split: BinarySplit, problem: Problem) -> None:
        """Nothing was looked at yet."""
        self.split, self.problem = split, problem
        #: steps, seconds, passes, lowest objective, test accuracy of that model
        self.curve: list[tuple[float, float, float, float, float]] = []

    def look(self, model: Model, steps: int, seconds: float, passes: float) -> float:
        """Note a model; the lowest objective so far."""
        split, problem = self.split, self.problem
        scores, intercept = split.matrix @ model.weights, 0.0
        if problem.intercept:
            intercept = float(problem.risk.best_intercept(scores))
        margins = split.labels * (scores + intercept)
        objective = 0.5 * problem.lam * float(model.weights @ model.weights)
        objective += float(np.mean(np.maximum(1.0 - margins, 0.0)))
        if self.curve and objective >= self.curve[-1][3]:
            objective, accuracy = self.curve[-1][3:]
        else:
            right = split.test_labels * (split.test_matrix @ model.weights + intercept) > 0.0
            accuracy = 100.0 * float(np.mean(right))
        self.curve.append((steps, seconds, passes, objective, accuracy))
        return objective


def problem_of(split: BinarySplit, name: str) -> Problem:
    """The paper's problem, with an intercept for the methods that end in -b."""
    lam = paper.regularization(split.name)
    return Problem(split.matrix, MeanRisk("hinge", split.labels), lam, intercept=name.endswith("-b"))


def run(split: BinarySplit, job: Job, cap: float, bound: float) -> Cell:
    """One method until the cap, or until its error is beyond what the bound can show."""
    if job.solver in PEERS:
        return _run_peer(split, job, cap, bound)
    problem, solver = problem_of(split, job.solver), SOLVERS[job.solver]
    if job.solver in RANDOM:
        solver = replace(solver, seed=job.seed)
    watched = Watched(split, problem)
    # inner accuracies are made for an error as small as is looked at
    hint = Hint(None, _ENDS * (bound if bound > 0.0 else problem.risk.value_at_zero), lambda: False)
    begin = time.process_time()
    state = solver.start(problem, None)
    seconds, passes, steps, due, used = time.process_time() - begin, 0.0, 0, 1, 0.0
    while True:
        begin = time.process_time()
        used = solver.step(state, hint)
        seconds += time.process_time() - begin
        steps, passes = steps + 1, passes + max(used, 0.0)
        over = used == STALLED or seconds >= cap
        if over or steps >= due:
            due = max(steps + 1, int(_GROWTH * steps) if steps >= _EACH else 0)
            lowest = watched.look(solver.propose(state)[0], steps, seconds, passes)
            if over or lowest <= (1.0 + _ENDS) * bound:
                break
    certificate = judge(problem, *solver.propose(state)).certificate
    return {
        **_head(split, job, cap),
        "stalled": used == STALLED,
        "total": seconds,
        "steps": steps,
        "passes": passes,
        "dual": certificate.dual,
        "lowest": watched.curve[-1][3],
        # the objective of the last model as the judge finds it, which must not be below what was computed here
        "primal": certificate.primal,
        "curve": _written(watched),
    }


def _written(watched: Watched) -> dict[str, str]:
    """A line of numbers each, since a number in a line of its own makes long files."""
    columns = ("steps", "seconds", "passes", "objective", "test")
    return {
        key: " ".join(f"{value:.10g}" if key == "objective" else f"{value:.6g}" for value in values)
        for key, values in zip(columns, zip(*watched.curve, strict=True), strict=True)
    }


def _run_peer(split: BinarySplit, job: Job, cap: float, bound: float) -> Cell:
    """Runs to smaller and smaller tolerances, on rows that the seed permutes."""
    problem, order = problem_of(split, job.solver), np.random.default_rng(job.seed).permutation(len(split.labels))
    watched, peer = Watched(split, problem), PEERS[job.solver]()
    peer.prepare(Task(split.matrix[order], split.labels[order], 1.0 / (problem.lam * len(order))))
    seconds, stopped = 0.0, None
    for tolerance in _TOLERANCES:
        begin = time.process_time()
        peer.run(tolerance)
        seconds, stopped = time.process_time() - begin, peer.stopped
        lowest = watched.look(Model(peer.weights, 0.0), peer.passes, seconds, peer.passes)
        if stopped or seconds >= cap or lowest <= (1.0 + _ENDS) * bound:
            break
    return {
        **_head(split, job, cap),
        "stalled": stopped is not None,
        "total": seconds,
        "steps": peer.passes,
        "passes": peer.passes,
        "dual": 0.0,
        "lowest": watched.curve[-1][3],
        "curve": _written(watched),
    }


def run_reference(split: BinarySplit, job: Job, cap: float) -> Cell:
    """A lower bound from three times the cap, and the test accuracy at the minimum."""
    problem = problem_of(split, job.solver)
    solution = solve(problem, "dual_coordinate", tol=_TOL, max_iter=np.inf, time_limit=3.0 * cap)
    certificate, watched = solution.certificate, Watched(split, problem)
    watched.look(solution.model, 0, 0.0, solution.passes)
    test = watched.curve[-1][-1]
    return {**_head(split, job, cap), "dual": certificate.dual, "lowest": certificate.primal, "test": test}


def _head(split: BinarySplit, job: Job, cap: float) -> Cell:
    lam = paper.regularization(split.name)
    return {**job._asdict(), "description": split.description, "lam": lam, "cap": cap}


def minimum_of(cells: Iterable[Cell], data: str, intercept: bool) -> float:
    """The best lower bound that any run on this problem certified; zero if there is none."""
    own = [cell for cell in cells if cell["data"] == data and cell["solver"].endswith("-b") == intercept]
    return max((cell["dual"] for cell in own), default=0.0)


def curve_of(cell: Cell) -> dict[str, np.ndarray]:
    """The columns of a curve as numbers."""
    return {key: np.array([float(value) for value in line.split()]) for key, line in cell["curve"].items()}


load = lru_cache(maxsize=1)(load_binary)


def jobs(sets: Sequence[str], solvers: Sequence[str]) -> Iterator[Job]:
    """The references of a set first, then the methods in turn, seed by seed."""
    for data in sets:
        for seed in SEEDS:
            for name in dict.fromkeys((*REFERENCES.values(), *solvers)):
                if seed == SEEDS[0] or name in RANDOM:
                    yield Job(data, name, seed)


def run_missing(
    ledger: Ledger, sets: Sequence[str], solvers: Sequence[str], cap: float | None = None, again: bool = False
) -> None:
    """Every run that is wanted and not in the ledger."""
    todo = [job for job in jobs(sets, solvers) if not ledger.has(**job._asdict()) or (again and job.solver in solvers)]
    if todo:
        # whatever happens only once is not timed
        for name in SOLVERS:
            run(load_binary("simulated"), Job("simulated", name, 0), 0.1, 0.0)
    for place, job in enumerate(todo, 1):
        most, with_intercept = CAPS.get(job.data, 5.0) if cap is None else cap, job.solver.endswith("-b")
        if job.solver in REFERENCES.values():
            cell = run_reference(load(job.data), job, most)
        else:
            cell = run(load(job.data), job, most, minimum_of(ledger.cells, job.data, with_intercept))
        ledger.add([cell])
        error = cell["lowest"] / minimum_of(ledger.cells, job.data, with_intercept) - 1.0
        seconds = cell.get("total", np.nan)
        print(f"[{place}/{len(todo)}] {' '.join(map(str, job))}: {seconds:.3g} s, error {error:.1e}", flush=True)

"""The runs behind the figures: each method alone on one problem, timed step by step.

The problem is lambda/2 |w|^2 + the mean hinge without an intercept; pragam-b has a free one, and a minimum of its own.

Seconds are processor seconds of a solver's start and steps, one thread.  Between steps, outside of the clock, the
objective J(w_t) is computed from the data with plain NumPy: after each of the first steps, later whenever the steps
have become a few percent more.  What is kept is the paper's: the lowest J so far, and the test accuracy of the model
that has it.  No certificate is made on the way; one at the end gives the run's lower bound.

The minimum is the best lower bound of all runs on a problem, among them a longer one for this purpose
("reference"), so an error here is never smaller than the true one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.binary import BinarySplit, load_binary
from benchmarks.ledger import Cell, Ledger
from fenchel import Model, Problem, solve
from fenchel.certificate import judge
from fenchel.risks import MeanRisk
from fenchel.solvers import STALLED, Bundle, DualCoordinate, Hint, Pegasos, Pragam
from reproductions.saha2009 import paper

RESULTS = Path(__file__).with_name("results")
KEY = ("data", "solver")
SETS = ("reuters-moneyfx", "a9a", "w8a", "20news.binary", "covtype")
SOLVERS: dict[str, Any] = {
    "pragam": Pragam(),
    "pragam, no restart": Pragam(restart=False),
    "pragam-b": Pragam(),
    "ls-bmrm": Bundle(inner="line_search", stabilisation="none"),
    "qp-bmrm": Bundle(stabilisation="none"),
    "dual_coordinate": DualCoordinate(),
    "pegasos-n": Pegasos(batch="all"),
    "pegasos-1": Pegasos(),
}
#: the runs that are made for the minimum, by whether there is an intercept
REFERENCES = {False: "reference", True: "reference-b"}
#: relative gap of the references; a run ends at such an error
_TOL, _ENDS = 1e-7, 1e-6
#: J is computed after each of this many first steps, then at this ratio of steps
_EACH, _GROWTH = 30, 1.04


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


def run(split: BinarySplit, name: str, cap: float, bound: float) -> Cell:
    """One method until the cap, or until its error is beyond what the bound can show."""
    problem, solver = problem_of(split, name), SOLVERS[name]
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
    columns = ("steps", "seconds", "passes", "objective", "test")
    return {
        **_head(split, name, cap),
        "stalled": used == STALLED,
        "total": seconds,
        "steps": steps,
        "passes": passes,
        "dual": certificate.dual,
        "lowest": watched.curve[-1][3],
        # the objective of the last model as the judge finds it, which must not be below what was computed here
        "primal": certificate.primal,
        # a line of numbers each, since a number in a line of its own makes long files
        "curve": {
            key: " ".join(f"{value:.10g}" if key == "objective" else f"{value:.6g}" for value in values)
            for key, values in zip(columns, zip(*watched.curve, strict=True), strict=True)
        },
    }


def run_reference(split: BinarySplit, name: str, cap: float) -> Cell:
    """A lower bound from three times the cap, and the test accuracy at the minimum."""
    problem = problem_of(split, name)
    solution = solve(problem, "dual_coordinate", tol=_TOL, max_iter=np.inf, time_limit=3.0 * cap)
    certificate, watched = solution.certificate, Watched(split, problem)
    watched.look(solution.model, 0, 0.0, solution.passes)
    test = watched.curve[-1][-1]
    return {**_head(split, name, cap), "dual": certificate.dual, "lowest": certificate.primal, "test": test}


def _head(split: BinarySplit, name: str, cap: float) -> Cell:
    lam = paper.regularization(split.name)
    head = {"data": split.name, "solver": name, "description": split.description, "lam": lam}
    return {**head, "cap": cap, "load": os.getloadavg()[0]}


def minimum_of(cells: Iterable[Cell], data: str, intercept: bool) -> float:
    """The best lower bound that any run on this problem certified; zero if there is none."""
    own = [cell for cell in cells if cell["data"] == data and cell["solver"].endswith("-b") == intercept]
    return max((cell["dual"] for cell in own), default=0.0)


def curve_of(cell: Cell) -> dict[str, np.ndarray]:
    """The columns of a curve as numbers."""
    return {key: np.array([float(value) for value in line.split()]) for key, line in cell["curve"].items()}


load = lru_cache(maxsize=1)(load_binary)


def run_missing(ledger: Ledger, sets: Sequence[str], solvers: Sequence[str], cap: float, again: bool = False) -> None:
    """Every run that is wanted and not in the ledger, the references of a set first."""
    places = [(data, name) for data in sets for name in (*REFERENCES.values(), *solvers)]
    todo = [
        (data, name) for data, name in places if not ledger.has(data=data, solver=name) or (again and name in SOLVERS)
    ]
    if todo:
        # whatever happens only once is not timed
        for name in SOLVERS:
            run(load_binary("simulated"), name, 0.1, 0.0)
    for place, (data, name) in enumerate(todo, 1):
        if name in REFERENCES.values():
            cell = run_reference(load(data), name, cap)
        else:
            cell = run(load(data), name, cap, minimum_of(ledger.cells, data, name.endswith("-b")))
        ledger.add([cell])
        error = cell["lowest"] / minimum_of(ledger.cells, data, name.endswith("-b")) - 1.0
        print(f"[{place}/{len(todo)}] {data} {name}: {cell.get('total', np.nan):.3g} s, error {error:.1e}", flush=True)

"""The regret of ``solver="auto"``: its processor seconds over those of the fastest solver of its table.

    python benchmarks/solvers.py --update-readme                 all problems, about half an hour; resumable
    python benchmarks/solvers.py --family text --C 1             these problems
    python benchmarks/solvers.py --report-only

Every solver of the table (solvers/rules.py) that supports a problem runs on it, ``auto`` among them, each for at most
five times the shortest time so far.  Then ``auto`` and the solvers of less than twice the shortest time run two more
times, in turns, if that is less than two seconds; medians count.  Times and limits are processor seconds of one thread.
The rules are set on problems that benchmarks/cells.py leaves open for tuning; the column "held out" marks the others.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/solvers.py`

from benchmarks.cells import is_held_out
from benchmarks.data import DataSet, load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

KEY = ("family", "data", "loss", "C", "tol")
AUTO = "auto"
#: a solver may take this many times the shortest time so far
CAP = 5.0
#: rounds of the fastest solvers and of auto, if the shortest time is less than this many seconds
_ROUNDS, _REPEATED = 3, 2.0
#: solvers of less than this many times the shortest time run again
_CLOSE = 2.0
#: seconds of a first run, without compilation, that is not timed
_WARM_UP = 0.1
#: kinds of runs whose loops are compiled or loaded
_COMPILED: set[tuple[Any, ...]] = set()
#: processor seconds below which a ratio is noise of the clock and of the caches
_MEASURABLE = 0.004


class Family(NamedTuple):
    """Problems as a product; ``question`` of cells.py says which of them are held out, an empty one that none is."""

    question: str
    losses: tuple[str, ...]
    data: tuple[str, ...]
    tols: tuple[float, ...] = (1e-3, 1e-6)
    Cs: tuple[float, ...] = (1.0, 100.0)


FAMILIES = {
    "classification": Family(
        "classification",
        ("hinge", "logistic"),
        ("a9a", "w8a", "mushrooms", "covtype@50000", "kddcup99@50000", "mnist@4000-dense"),
    ),
    "long rows": Family("", ("logistic",), ("even@40000", "uneven@40000"), Cs=(0.1, 100.0)),
    "nearly separable": Family("", ("hinge",), ("connections@40000",)),
    "text": Family("text", ("hinge", "logistic"), ("20news.binary", "imdb", "reuters-moneyfx")),
    "regression": Family(
        "regression", ("epsilon_insensitive", "squared", "quantile"), ("abalone", "cpusmall", "cadata", "housing.scale")
    ),
    "several classes": Family(
        "several classes",
        ("weston_watkins", "crammer_singer", "multinomial"),
        ("dna.scale", "letter.scale@5000", "banking77", "satimage.scale", "sector.scale"),
        tols=(1e-3,),
        Cs=(1.0,),
    ),
    "L1": Family(
        "L1",
        ("logistic", "squared", "hinge"),
        ("a9a@10000", "20news.binary@5000", "cpusmall", "w8a@10000"),
        (1e-3,),
        (0.1, 10.0),
    ),
    "measures": Family(
        "measures", ("roc_auc", "prbep", "f1"), ("a9a@10000", "reuters-moneyfx", "w8a@10000"), (1e-2,), (1.0, 10.0)
    ),
}


def main() -> None:
    """Measure the problems that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--data", nargs="+", help="these data sets of the families only")
    parser.add_argument("--loss", nargs="+", help="these losses of the families only")
    parser.add_argument("--C", nargs="+", type=float, help="these values of C only")
    parser.add_argument("--cap", type=float, default=30.0, help="seconds that the first run may take")
    add_common_options(parser, "solvers.json and solvers.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "solvers.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.family:
        family = FAMILIES[name]
        for data in (load(one) for one in options.data or family.data):
            for loss in (one for one in _losses(family, data) if one in (options.loss or family.losses)):
                for C in options.C or family.Cs:
                    for tol in family.tols:
                        if options.again or not ledger.has(family=name, data=data.name, loss=loss, C=C, tol=tol):
                            ledger.add([_measured(name, data, loss, C, tol, options.cap)])
                            print(name, data.name, loss, C, tol, flush=True)
    publish(options, "solvers", markdown(ledger.cells))


def _losses(family: Family, data: DataSet) -> list[str]:
    """The losses of a family that fit the labels of a data set."""
    if family.question != "L1":
        return list(family.losses)
    return [loss for loss in family.losses if data.regression == (loss == "squared")]


def problem_of(family: str, data: DataSet, loss: str, C: float) -> Any:
    """The problem of a cell, with L1 in the family of that name and else L2."""
    from fenchel import Problem
    from fenchel.regularizers import L1, L2
    from fenchel.risks import MEASURES, MULTICLASS, MeanRisk

    if loss in MULTICLASS:
        risk = MULTICLASS[loss](data.labels.astype(int))
    elif loss in MEASURES:
        risk = MEASURES[loss](data.labels)
    else:
        risk = MeanRisk(loss, data.labels)
    return Problem(data.matrix, risk, 1.0 / (C * len(data.labels)), L1() if family == "L1" else L2())


def _measured(family: str, data: DataSet, loss: str, C: float, tol: float, cap: float) -> Cell:
    from fenchel import solve
    from fenchel.solvers.named import SOLVERS
    from fenchel.solvers.rules import TABLE

    problem = partial(problem_of, family, data, loss, C)
    names = dict.fromkeys(name for row in TABLE for name in row.solvers)
    names = [AUTO, *(name for name in names if SOLVERS[name]().supports(problem()) is None)]
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        if (kind := (name, family, loss, data.sparse, tol)) not in _COMPILED:
            solve(problem(), name, tol=tol, time_limit=_WARM_UP)
            _COMPILED.add(kind)
        reached = [run["seconds"] for run in found.values() if run["reached"]]
        found[name] = _timed(problem, name, tol, min([cap, *(max(CAP * seconds, 0.1) for seconds in reached)]))
    times = {name: [run["seconds"]] for name, run in found.items()}
    shortest = min([run["seconds"] for run in found.values() if run["reached"]], default=cap)
    close = [name for name in names if name == AUTO or found[name]["seconds"] <= _CLOSE * shortest]
    for _ in range(_ROUNDS - 1 if shortest < _REPEATED else 0):
        for name in close:
            times[name].append(_timed(problem, name, tol, cap)["seconds"])
    for name, run in found.items():
        run["seconds"] = statistics.median(times[name])
    question = FAMILIES[family].question
    held_out = bool(question) and is_held_out(question, data.name.partition("@")[0].removesuffix(".scale"), C)
    identity = {"family": family, "data": data.name, "loss": loss, "C": C, "tol": tol, "held_out": held_out}
    return {**identity, "description": data.description, "load": os.getloadavg()[0], "solvers": found}


def _timed(problem: Callable[[], Any], solver: str, tol: float, cap: float) -> dict[str, Any]:
    """One run in processor seconds, in which its limit is counted too.

    The problem is a new one, since designs remember the norms of their rows.
    """
    from fenchel import solve
    from fenchel.compile.stopwatch import stopwatch

    with mock.patch.object(stopwatch, "clock", time.process_time):
        begin = time.process_time()
        solution = solve(problem(), solver, tol=tol, max_iter=1e5, time_limit=cap)
        seconds = time.process_time() - begin
    return {
        "seconds": seconds,
        "passes": solution.passes,
        "gap": float(solution.certificate.relative_gap),
        "reached": solution.converged,
        "by": solution.solver,
    }


def regret(cell: Cell) -> float | None:
    """Seconds of auto over those of the fastest solver; None if no solver reached the tolerance."""
    found = cell["solvers"]
    able = [run["seconds"] for name, run in found.items() if name != AUTO and run["reached"]]
    return max(found[AUTO]["seconds"], _MEASURABLE) / max(min(able), _MEASURABLE) if able else None


def markdown(cells: list[Cell]) -> str:
    """The regret of each family, and a line for each problem."""
    if not cells:
        return "(not measured yet)"
    lines = []
    for cell in cells:
        found, ratio = cell["solvers"], regret(cell)
        others = ", ".join(f"{name} {_shown(run)}" for name, run in found.items() if name != AUTO)
        place = [cell["data"], cell["loss"], f"{cell['C']:g}", f"{cell['tol']:g}", "yes" if cell["held_out"] else ""]
        auto = f"{_shown(found[AUTO])} ({found[AUTO]['by']})"
        lines.append([*place, others, auto, "–" if ratio is None else f"{ratio:.2f}"])
    head = ["data set", "loss", "C", "tol", "held out", "processor seconds of each solver", "auto", "regret"]
    return "\n\n".join([_summary(cells), markdown_table(head, lines)])


def _summary(cells: list[Cell]) -> str:
    groups = {name: [cell for cell in cells if cell["family"] == name] for name in FAMILIES}
    groups["all, open"] = [cell for cell in cells if not cell["held_out"]]
    groups["all, held out"] = [cell for cell in cells if cell["held_out"]]
    groups["all"] = cells
    rows = []
    for name, group in groups.items():
        known = [ratio for ratio in map(regret, group) if ratio is not None]
        if known:
            worse = sum(ratio > 2.0 for ratio in known)
            rows.append(
                [name, str(len(known)), f"{statistics.geometric_mean(known):.2f}", f"{max(known):.2f}", str(worse)]
            )
    return markdown_table(["problems", "number", "geometric mean of the regret", "worst", "above 2"], rows)


def _shown(run: dict[str, Any]) -> str:
    return f"{run['seconds']:.3g}" if run["reached"] else f"> {run['seconds']:.3g}"


if __name__ == "__main__":
    main()

"""Fits on two workers of one core each against one process, two independent processes and dask-ml; 1 GB of data.

python benchmarks/dask_scaling.py --peer /path/to/python/with/dask-ml --update-readme

Two data sets of about 1 GB: sparse rows (1,000,000 rows with 80 of 50,000 features) and dense ones (250,000 rows of 500
features), since dask-ml has no sparse ones.  "throughput" evaluates the risk and its gradient in turn in one process,
in two independent processes with half of the rows each, and on a cluster of two workers, so that other work on the
machine disturbs them alike.  "gaps" fits to proved gaps, after a fit of some passes which loads the loops, and
compares each fit on workers with those of the same method (CoCoA+ with dual coordinate descent) and of "auto" in one
process.
"hinges" are the fits with the hinge alone, on a share of the rows (``--scale``), by some solvers (``--solvers``).
dask-ml runs in its own environment with growing numbers of iterations; its weights are certified here.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/dask_scaling.py`
# workers of one core each
os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})

import numpy as np

from benchmarks import report
from benchmarks.dask_data import SHAPES, cluster, files, in_memory
from benchmarks.dask_throughput import allocator, throughput
from fenchel import Model, Problem, Witness, certify, solve
from fenchel.dask import LBFGS, NewtonCG
from fenchel.dask.in_process import in_groups
from fenchel.risks import MeanRisk

#: what was measured, also by earlier calls with ``--only`` and ``--data``
RESULTS = report.RESULTS / "dask_scaling.json"
#: relative gaps that the table tells
GAPS = (1e-2, 1e-3)
#: passes of a fit before those that are timed, which loads the compiled loops
_FIRST_PASSES = 10
#: iterations of dask-ml
_ITERATIONS = (8, 12, 16, 20)
#: of the fits on workers
_SOLVERS = ("auto", "lbfgs", "newton_cg", "cocoa", "bundle")
#: data passes of a fit at most
_MOST_PASSES = 200


class Row(NamedTuple):
    """A fit to each of the gaps."""

    kind: str
    loss: str
    where: str
    solver: str
    passes: float
    #: elapsed and processor seconds to each gap; NaN if it was not reached
    spent: Sequence[tuple[float, float]]
    #: exchanges, and tasks and megabytes of each
    counts: tuple[float, ...] = ()
    #: the method in one process that does the same work
    serial: str = ""

    def cells(self, others: Sequence[Row]) -> list[str]:
        """The row of the table, with its speed-up against one process: the same kind of method, and ``auto``."""
        alone = [one for one in others if (one.where, one.kind, one.loss) == ("one process", self.kind, self.loss)]
        same = next((one for one in alone if one.solver in (self.serial, self.solver)), None)
        # "auto" is measured first
        peers = [same, alone[0] if alone else None] if self.where != "one process" else [None, None]
        counts = [f"{count:.3g}" for count in self.counts] or ["", "", ""]
        times, faster = [_seconds(*own) for own in self.spent], [self._faster(peer) for peer in peers]
        return [self.kind, self.loss, self.where, self.solver, f"{self.passes:.0f}", *times, *faster, *counts]

    def _faster(self, peer: Row | None) -> str:
        """How many times as fast as another row, in elapsed seconds to each gap."""
        if peer is None:
            return ""
        ratios = [one[0] / own[0] for one, own in zip(peer.spent, self.spent, strict=True)]
        return "" if np.any(np.isnan(ratios)) else " / ".join(f"{ratio:.2f}" for ratio in ratios)


def _seconds(elapsed: float, busy: float) -> str:
    """Elapsed and processor seconds, or that a gap was not proved."""
    return f"not in {_MOST_PASSES} passes" if math.isnan(elapsed) else f"{elapsed:.2f} ({busy:.2f})"


def timed(problem: Problem, solver: Any, clock: Callable[[], float]) -> tuple[Any, list[tuple[float, float]]]:
    """The last solution, and the elapsed and the processor seconds to each gap."""
    spent = []
    solve(problem, solver, tol=GAPS[0], max_iter=_FIRST_PASSES)
    for gap in GAPS:
        begin, busy = time.perf_counter(), clock()
        solution = solve(problem, solver, tol=gap, max_iter=_MOST_PASSES)
        elapsed, busy = time.perf_counter() - begin, clock() - busy
        spent.append((elapsed, busy) if solution.converged else (math.nan, math.nan))
    return solution, spent


def serial(names: Sequence[str], kind: str, losses: Sequence[str] = ("logistic", "hinge")) -> list[Row]:
    """Fits in this process."""
    X, y = in_memory(names)
    rows = []
    alone = in_groups(X, [])
    cases = [
        ("logistic", "auto", X),
        ("logistic", LBFGS(), alone),
        ("logistic", NewtonCG(), alone),
        ("hinge", "auto", X),
        ("hinge", NewtonCG(), alone),
    ]
    for loss, solver, design in (case for case in cases if case[0] in losses):
        problem = Problem(design, MeanRisk(loss, y), 1.0 / X.shape[0])
        solution, spent = timed(problem, solver, time.process_time)
        rows.append(Row(kind, loss, "one process", solution.solver, solution.passes, spent))
        print(rows[-1], flush=True)
    return rows


def on_workers(
    names: Sequence[str],
    kind: str,
    losses: Sequence[str] = ("logistic", "hinge"),
    hinge: str = "dual_coordinate",
    solvers: Sequence[str] = _SOLVERS,
) -> list[Row]:
    """Fits on a cluster of two workers; ``hinge`` is what ``auto`` takes for the hinge in one process."""
    from fenchel.dask import CoCoA
    from fenchel.dask.choosing import choose_solver
    from fenchel.dask.cluster import DaskGroups
    from fenchel.solvers import Bundle

    class Counting(DaskGroups):
        """Counts the bytes that the driver sends and receives."""

        moved = 0

        def map(self, function: Any, *each: Any, **common: Any) -> Any:
            found = super().map(function, *each, **common)
            self.moved += sum(map(_bytes, [*each, *common.values(), found]))
            return found

    rows = []
    with cluster(names) as (client, loaded):
        groups = loaded.design.groups
        cases = [
            ("logistic", "auto", ""),
            ("logistic", LBFGS(), "lbfgs"),
            ("logistic", NewtonCG(), "newton_cg"),
            ("logistic", CoCoA(), "dual_coordinate"),
            ("hinge", "auto", hinge),
            ("hinge", NewtonCG(), "newton_cg"),
            ("hinge", CoCoA(), hinge),
            ("hinge", CoCoA(epochs=0.25), hinge),
            ("hinge", Bundle(), hinge),
        ]
        for loss, solver, alone in (case for case in cases if case[0] in losses and _name(case[1]) in solvers):
            if any(row.loss == loss and row.solver == _name(solver) for row in rows):
                # what "auto" took
                continue
            counting = Counting(client, groups.futures, groups.names)
            loaded.design.groups, loaded.design._last = counting, None
            problem = Problem(loaded.design, MeanRisk(loss, loaded.y), 1.0 / loaded.design.shape[0])
            chosen = choose_solver(problem, solver)
            solution, spent = timed(problem, chosen, lambda: _busiest(client))
            calls = max(1, counting.calls)
            counts = calls, counting.tasks / calls, counting.moved / calls / 1e6
            name = f"{solution.solver}, {solver.epochs:g} epochs" if isinstance(solver, CoCoA) else solution.solver
            rows.append(Row(kind, loss, "two workers", name, solution.passes, spent, counts, alone))
            print(rows[-1], flush=True)
    return rows


def dask_ml(names: Sequence[str], peer: str) -> Row:
    """Seconds of dask-ml to each gap, which is proved here for the weights that it returns."""
    script = Path(__file__).with_name("dask_ml_fit.py")
    command = [peer, str(script), *map(str, _ITERATIONS), "--", *names]
    # its workers keep freed memory as those of a fit do
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": str(1 << 27), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    X, y = in_memory(names)
    problem = Problem(X, MeanRisk("logistic", y), 1.0 / X.shape[0])
    spent, found = [(math.nan, math.nan)] * len(GAPS), json.loads(done.stdout.splitlines()[-1])
    for fit in reversed(found):
        weights = np.array(fit["weights"])
        theta = -problem.risk.subgradient(problem.design.scores(weights))
        gap = certify(problem, Model(weights, 0.0), Witness(theta)).relative_gap
        print(f"dask-ml: {fit['iterations']} iterations, {fit['busy']:.1f} processor s, gap {gap:.2g}", flush=True)
        for k, limit in enumerate(GAPS):
            if gap <= limit:
                spent[k] = fit["elapsed"], fit["busy"]
    return Row("dense", "logistic", "two workers", "dask-ml lbfgs", found[-1]["iterations"], spent, (), "lbfgs")


def _name(solver: Any) -> str:
    return solver if isinstance(solver, str) else solver.name


def _busiest(client: Any) -> float:
    """Processor seconds of the busiest worker and of this process."""
    return max(client.run(time.process_time).values()) + time.process_time()


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_bytes, value)) if isinstance(value, (list, tuple)) else 0


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--peer", help="a Python interpreter that has dask-ml")
    parser.add_argument("--folder", type=Path, help="where data are written, and found again; default: removed")
    parser.add_argument("--data", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument(
        "--only",
        choices=("throughput", "gaps", "hinges", "peer", "allocator", "report"),
        help="a part of the measurements",
    )
    parser.add_argument("--solvers", nargs="+", choices=_SOLVERS, default=list(_SOLVERS), help="of the fits on workers")
    parser.add_argument("--update-readme", action="store_true")
    options = parser.parse_args()
    found = report.read_json(RESULTS) if RESULTS.exists() else {}

    def keep(part: str, kind: str, measured: list[Any]) -> None:
        found.update({f"{part} {kind}": measured, "load": os.getloadavg()[1]})
        report.write_json(RESULTS, found)

    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for kind in options.data if options.only != "report" else ():
            names = files(folder, kind, options.scale)
            if options.only in (None, "throughput"):
                keep("throughput", kind, [[kind, *row] for row in throughput(names)])
            if options.only == "allocator":
                allocator(names)
            if options.only in (None, "gaps"):
                alone = serial(names, kind)
                hinge = next(row.solver for row in alone if row.loss == "hinge")
                keep("gaps", kind, [*alone, *on_workers(names, kind, hinge=hinge, solvers=options.solvers)])
            if options.only == "hinges":
                called = f"{kind}, {100 * options.scale:g}% of the rows"
                alone = serial(names, called, ["hinge"])
                keep("hinges", kind, [*alone, *on_workers(names, called, ["hinge"], alone[0].solver, options.solvers)])
            if kind == "dense" and options.peer and options.only in (None, "peer"):
                keep("peer", kind, [dask_ml(names, options.peer)])
    rates = [row for kind in SHAPES for row in found.get(f"throughput {kind}", [])]
    every = [
        Row(*row) for kind in SHAPES for part in ("gaps", "peer", "hinges") for row in found.get(f"{part} {kind}", [])
    ]
    rows = list({(row.kind, row.loss, row.where, row.solver): row for row in reversed(every)}.values())[::-1]
    head = ["data", "where", "s, median", "s, least", "processor s", "speed-up, least", "of two processes"]
    text = f"{report.markdown_table(head, rates)}\n\n"
    head = ["data", "loss", "where", "solver", "passes", *(f"s to {gap:g} (processor)" for gap in GAPS)]
    head += ["speed-up, same method", "and auto in one process", "exchanges", "tasks of each", "MB of each"]
    text += report.markdown_table(head, [row.cells(rows) for row in rows])
    text += f"\n\nLoad average at the end: {found.get('load', 0.0):.1f} on {os.cpu_count()} cores."
    if options.update_readme:
        report.update_readme("dask_scaling", text)
    print(text)


if __name__ == "__main__":
    main()

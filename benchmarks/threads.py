"""Threads within a fit and beside each other: seconds with one and two of them, and whether the results are the same.

    python benchmarks/threads.py --update-readme                  everything, about ten minutes; leave both cores alone
    python benchmarks/threads.py --part coordinate --size 4e6     a small form of one part

newton        products with X divided among threads by ``solve(..., n_jobs=2)``: the result has the same bits
coordinate    ``DualCoordinate(n_jobs=2)`` and ``BlockCoordinate(n_jobs=2)`` on 1 GB of made-up data, with ``solve(...,
              n_jobs=2)`` for the products of certificates: steps, and so passes, depend on the number of threads
fits          whole fits beside each other: one against the rest, folds of a cross-validation with its path
bandwidth     gigabytes a second that one and two threads read by NumPy, and entries of X a second in an epoch
"""

# ruff: noqa: E402, RUF001 (limits of threads before imports; typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# one thread for BLAS itself, so that n_jobs alone makes the difference
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/threads.py`

import numpy as np

from benchmarks.data import load
from benchmarks.report import RESULTS, markdown_table, read_json, update_readme, write_json

NEWTON = (
    ("covtype", "hinge", 1.0, 1e-6),
    ("covtype", "logistic", 1.0, 1e-6),
    ("covtype-dense", "hinge", 1.0, 1e-6),
    ("mnist", "logistic", 1.0, 1e-6),
    ("mnist", "squared_hinge", 10.0, 1e-6),
)
#: data set without its size, loss or joint risk, C, tol
COORDINATE = (
    ("text", "hinge", 1.0, 1e-3),
    ("text", "hinge", 10.0, 1e-3),
    ("text", "logistic", 1.0, 1e-3),
    ("gaussian", "hinge", 1.0, 1e-2),
    ("text", "weston_watkins", 1.0, 1e-2),
)
#: entries of X: 12 bytes each with their columns
SIZE = 84_000_000
CLASSES = 10
#: columns of the recipe ``gaussian``
_COLUMNS = 30
PARTS = ("newton", "coordinate", "fits", "bandwidth")
_JOBS = (1, 2)
_KINDS = ("wall", "processor", "critical")

Cell = dict[str, Any]


def main() -> None:
    """Measure the parts that were asked for, interleaved, and make the tables of all that were ever measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=float, default=SIZE, help="entries of X in the part coordinate")
    parser.add_argument("--only", type=int, nargs="+", help="these cells of the part coordinate, from 0 on")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for threads.json")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, report what is in the file")
    parser.add_argument("--update-readme", action="store_true", help="write the section in benchmarks/README.md")
    options = parser.parse_args()
    measures = {"newton": newton, "coordinate": coordinate, "fits": fits, "bandwidth": bandwidth}
    file = options.output / "threads.json"
    results = {part: cells for part, cells in read_json(file).items() if part in PARTS}
    for part in () if options.report_only else options.part:
        known = {cell["data"]: cell for cell in results.get(part, [])}
        for cell in measures[part](options):
            print(cell, flush=True)
            results[part] = list((known := {**known, cell["data"]: cell}).values())
            write_json(file, results)
    text = markdown(results)
    print(text)
    if options.update_readme:
        update_readme("threads", text)


def newton(options: argparse.Namespace) -> Iterator[Cell]:
    """Products with X in threads."""
    from fenchel import Problem, solve
    from fenchel.risks import MeanRisk

    for name, loss, C, tol in NEWTON:
        data = load(name)
        problem = Problem(data.matrix, MeanRisk(loss, data.labels), 1.0 / (C * len(data.labels)))
        cell, solutions = in_turn(lambda jobs: solve(problem, "newton", tol=tol, n_jobs=jobs), options.rounds)  # noqa: B023
        yield {"data": f"{name} ({data.description}), {loss}, C = {C:g}, to {tol:g}", **cell, **compared(*solutions)}


def coordinate(options: argparse.Namespace) -> Iterator[Cell]:
    """Blocks of examples in threads, on large data."""
    from fenchel import Problem, solve
    from fenchel.risks import MeanRisk, WestonWatkins
    from fenchel.solvers import BlockCoordinate, DualCoordinate

    made: tuple[str, Any] = "", None
    for number, (name, loss, C, tol) in enumerate(COORDINATE):
        if options.only is not None and number not in options.only:
            continue
        size = int(options.size) if name == "text" else int(options.size) * 12 // (8 * _COLUMNS)
        made = made if made[0] == name else (name, load(f"{name}@{size}"))
        data = made[1]
        joint = loss == "weston_watkins"
        risk = WestonWatkins(classes_of(data.matrix)) if joint else MeanRisk(loss, data.labels)
        solver = BlockCoordinate if joint else DualCoordinate

        def fit(jobs: int, data: Any = data, risk: Any = risk, solver: Any = solver, C: float = C, tol: float = tol):  # type: ignore[no-untyped-def]
            problem = Problem(data.matrix, risk, 1.0 / (C * len(data.labels)))
            return solve(problem, solver(n_jobs=jobs), tol=tol, n_jobs=jobs, max_iter=np.inf)

        with longest_blocks() as path:
            cell, solutions = in_turn(fit, options.rounds, warm=options.rounds > 1, path=path)
        yield {"data": f"{name} ({data.description}), {loss}, C = {C:g}, to {tol:g}", **cell, **compared(*solutions)}


class CriticalPath:
    """Processor seconds of blocks, of the longest of each part of an epoch, and of all; or of threads of a pool."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.longest = 0.0
        self.total = 0.0
        self._by_thread: dict[int, float] = {}

    def add(self, thread: int, spent: float) -> None:
        """What a thread of a pool did; the longest is the thread that did most."""
        self._by_thread[thread] = self._by_thread.get(thread, 0.0) + spent
        self.longest, self.total = max(self._by_thread.values()), sum(self._by_thread.values())


@contextmanager
def longest_blocks() -> Iterator[CriticalPath]:
    """Watch the blocks of coordinate descent in threads."""
    from fenchel.solvers.simultaneous import Simultaneous

    path, original = CriticalPath(), Simultaneous.epoch

    def epoch(self: Simultaneous, part: Any, sums: Any, alpha: Any, run: Any, square: Any) -> Any:
        spent: list[float] = []

        def timed(*arguments: Any) -> Any:
            begin = time.thread_time()
            result = run(*arguments)
            spent.append(time.thread_time() - begin)
            return result

        tally = original(self, part, sums, alpha, timed, square)
        path.longest, path.total = path.longest + max(spent), path.total + sum(spent)
        return tally

    Simultaneous.epoch = epoch  # type: ignore[method-assign]
    try:
        yield path
    finally:
        Simultaneous.epoch = original  # type: ignore[method-assign]


@contextmanager
def busiest_thread() -> Iterator[CriticalPath]:
    """Watch the threads of pools: whole fits beside each other, of which one thread may have more than the other."""
    path, original = CriticalPath(), ThreadPoolExecutor.submit

    def submit(self: ThreadPoolExecutor, work: Any, /, *given: Any, **named: Any) -> Any:
        def timed() -> Any:
            begin = time.thread_time()
            try:
                return work(*given, **named)
            finally:
                path.add(threading.get_ident(), time.thread_time() - begin)

        return original(self, timed)

    ThreadPoolExecutor.submit = submit  # type: ignore[method-assign]
    try:
        yield path
    finally:
        ThreadPoolExecutor.submit = original  # type: ignore[method-assign]


def classes_of(matrix: Any) -> np.ndarray:
    """Classes of a planted model."""
    planted = np.random.default_rng(1).standard_normal((matrix.shape[1], CLASSES))
    return np.argmax(matrix @ planted, axis=1)


def fits(options: argparse.Namespace) -> Iterator[Cell]:
    """Fits beside each other."""
    from benchmarks.classes import load_split
    from fenchel import LinearClassifier, LinearClassifierCV

    news, binary = load_split("20news"), load("20news.binary")
    rest: Callable[[int], Any] = lambda jobs: LinearClassifier(  # noqa: E731
        multi_class="ovr", n_jobs=jobs, random_state=0
    ).fit(news.matrix, news.classes)
    folds: Callable[[int], Any] = lambda jobs: LinearClassifierCV(  # noqa: E731
        Cs=[0.1, 1.0, 10.0], cv=4, n_jobs=jobs, random_state=0
    ).fit(binary.matrix, binary.labels)
    for name, fit in (("20news, 20 classes against the rest", rest), ("20news.binary, 4 folds × 3 values of C", folds)):
        with busiest_thread() as path:
            cell, (one, two) = in_turn(fit, options.rounds, path=path)
        yield {"data": name, **cell, "same": bool(np.array_equal(one.coef_, two.coef_))}


def bandwidth(options: argparse.Namespace) -> Iterator[Cell]:
    """How fast memory is read: sums over arrays beyond the caches, a thread each."""
    arrays = [np.ones(1 << 26) for _ in _JOBS]

    def read(jobs: int) -> None:
        with ThreadPoolExecutor(jobs) as pool:
            # the same work in both: each array once
            list(pool.map(np.sum, arrays))

    cell, _ = in_turn(read, options.rounds)
    yield {"data": "1 GB read by np.sum", **cell}


def in_turn(
    fit: Callable[[int], Any], rounds: int, warm: bool = True, path: CriticalPath | None = None
) -> tuple[Cell, list[Any]]:
    """Seconds of one and two threads, in turn, with the load average; and the last results.

    The critical path, processor seconds that no second core shortens: those of the main thread, those of the longest
    block of each part of an epoch (fits: of the busiest thread), and half of what other threads do.  It is the wall
    clock of two idle cores.
    """
    path = path or CriticalPath()
    cell: Cell = {kind: {str(jobs): [] for jobs in _JOBS} for kind in _KINDS}
    results: dict[int, Any] = {}
    loads = []
    # the first round compiles
    for turn in range(-1 if warm else 0, rounds):
        for jobs in _JOBS[:: 1 if turn % 2 else -1]:
            path.clear()
            begin, spent, own = time.perf_counter(), time.process_time(), time.thread_time()
            results[jobs] = fit(jobs)
            wall, spent = time.perf_counter() - begin, time.process_time() - spent
            own = time.thread_time() - own
            loads.append(os.getloadavg()[0])
            if turn >= 0:
                cell["wall"][str(jobs)].append(wall)
                cell["processor"][str(jobs)].append(spent)
                cell["critical"][str(jobs)].append(own + path.longest + (spent - own - path.total) / jobs)
    return {**cell, "load": [min(loads), max(loads)]}, [results[jobs] for jobs in _JOBS]


def compared(one: Any, two: Any) -> Cell:
    """Passes of two solutions, and whether they are the same."""
    same = np.array_equal(one.model.weights, two.model.weights) and one.certificate == two.certificate
    return {"passes": [one.passes, two.passes], "same": bool(same)}


def markdown(results: dict[str, list[Cell]]) -> str:
    """One table for all parts, a line for each problem."""
    lines = []
    for part in PARTS:
        for cell in results.get(part, []):
            medians = {kind: [statistics.median(cell[kind][str(jobs)]) for jobs in _JOBS] for kind in _KINDS}
            # with one thread the critical path is all
            shown = [f"{value:.3g}" for value in (*medians["wall"], *medians["processor"], medians["critical"][1])]
            passes = " → ".join(f"{count:.3g}" for count in cell.get("passes", []))
            same = {True: "yes", False: "no", None: ""}[cell.get("same")]
            ratios = [f"{medians['wall'][0] / medians['wall'][1]:.2f}"]
            ratios += [f"{medians['processor'][0] / medians['critical'][1]:.2f}"]
            load = "–".join(f"{value:.1f}" for value in cell["load"])
            lines.append([part, cell["data"], *shown, *ratios, passes, same, load])
    head = ["part", "problem", "wall, 1 thread", "2 threads", "processor, 1 thread", "2 threads", "critical path"]
    head += ["wall 1 ÷ 2", "processor 1 ÷ critical path", "passes", "identical", "load"]
    legend = (
        "Seconds, medians of interleaved runs, certificates included; passes over the data with one and two threads. "
        "The critical path is that of two threads in processor seconds: of the main thread, of the longer block of "
        "each part of an epoch (fits: of the busier thread), and half of what else the threads do; two idle cores take "
        "as long by the wall clock. "
        "The load average was that of the machine meanwhile; the cores are two."
    )
    return "\n\n".join([markdown_table(head, lines), legend])


if __name__ == "__main__":
    main()

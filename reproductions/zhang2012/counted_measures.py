r"""Smoothing of F1 and precision at k, which Zhang, Saha and Vishwanathan (2012), Sec. 6, leave to future work.

    python reproductions/zhang2012/counted_measures.py --write      (a few minutes; writes results/counted_measures.md)

The risk is that of the paper's (3) with :math:`\Delta = 1 - F_1` or one minus the precision of at least k predicted
positives, k half of the positives.  ``smoothing`` is L-BFGS on the smoothed risk
(``risks.measures.smoothed_diagonals``) with a decreasing mu, ``bundle`` the level bundle method, Fenchel's default for
these measures.  Both run until they have proved a relative duality gap; seconds are processor seconds of one thread,
certificates included, medians of the runs, which are interleaved.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/zhang2012/counted_measures.py`

from benchmarks.data import load
from benchmarks.report import markdown_table
from fenchel import Problem, solve
from fenchel.risks import F1, PrecisionAtK, Risk
from fenchel.solvers import Bundle, Smoothing, Solver

SETS = ("a9a@4000", "w8a@4000", "reuters-moneyfx@4000")
MEASURES = ("f1", "precision_at_k")
LAMBDAS = (1e-2, 1e-4, 1e-6)
TOLERANCES = (1e-2, 1e-3)
SOLVERS: dict[str, type[Solver]] = {"bundle": Bundle, "smoothing": Smoothing}


class Run(NamedTuple):
    """What one solve took."""

    seconds: float
    passes: float
    converged: bool


def risk_of(measure: str, labels: np.ndarray) -> Risk:
    """The measure; k is half of the positives."""
    return F1(labels) if measure == "f1" else PrecisionAtK(labels, max(1, int(np.sum(labels > 0)) // 2))


def run(data: Any, measure: str, lam: float, tol: float, solver: str, cap: float) -> Run:
    """One solve, of a problem that is made again."""
    problem = Problem(data.matrix, risk_of(measure, data.labels), lam)
    begin = time.process_time()
    # processor seconds: a time limit would count those of others
    over = lambda: time.process_time() - begin > cap  # noqa: E731
    solution = solve(problem, SOLVERS[solver](), tol=tol, max_iter=np.inf, n_jobs=1, stop_requested=over)
    return Run(time.process_time() - begin, solution.passes, solution.converged)


def row(data: Any, measure: str, lam: float, tol: float, cap: float, rounds: int) -> list[str]:
    """Both solvers in turn: a row of the table."""
    runs: dict[str, list[Run]] = {name: [] for name in SOLVERS}
    for _ in range(rounds):
        for name in SOLVERS:
            runs[name].append(run(data, measure, lam, tol, name, cap))
    seconds = {name: statistics.median(one.seconds for one in found) for name, found in runs.items()}
    reached = {name: all(one.converged for one in found) for name, found in runs.items()}
    cells = [
        f"{seconds[name]:.3g} s, {runs[name][0].passes:.0f}" if reached[name] else f"> {cap:g} s" for name in SOLVERS
    ]
    if all(reached.values()):
        ratio = f"{seconds['bundle'] / seconds['smoothing']:.2g}"
    else:
        ratio = "-" if not any(reached.values()) else (">" if reached["smoothing"] else "<")
        ratio += "" if ratio == "-" else f" {seconds['bundle'] / seconds['smoothing']:.2g}"
    return [data.name, measure, f"{lam:g}", f"{tol:g}", *cells, ratio]


def markdown(rows: list[list[str]]) -> str:
    """The table."""
    head = ["data", "measure", "λ", "relative gap", "bundle: seconds, passes", "smoothing: seconds, passes", "ratio"]
    return markdown_table(head, rows)


def written_rows(file: Path) -> dict[tuple[str, ...], list[str]]:
    """The rows of a table that was written before, by their first four cells."""
    lines = file.read_text(encoding="utf-8").splitlines()[2:] if file.exists() else []
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {tuple(line[:4]): line for line in cells}


def main() -> None:
    """Measure, print and write: rows that were written before are kept or replaced."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/data.py")
    parser.add_argument("--lam", nargs="+", type=float, default=list(LAMBDAS))
    parser.add_argument("--cap", type=float, default=20.0, help="processor seconds of one run")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write results/counted_measures.md")
    options = parser.parse_args()
    file = Path(__file__).with_name("results") / "counted_measures.md"
    rows = written_rows(file)
    for name in options.data:
        data = load(name)
        for solver in SOLVERS:
            # compiles the loops
            run(data, "f1", 1.0, 0.5, solver, 5.0)
        for measure in MEASURES:
            for lam in options.lam:
                for tol in TOLERANCES:
                    found = row(data, measure, lam, tol, options.cap, options.rounds)
                    print(*found, sep=" | ", flush=True)
                    rows[tuple(found[:4])] = found
                    if options.write:
                        file.write_text(markdown(list(rows.values())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

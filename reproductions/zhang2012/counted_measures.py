r"""Smoothing of F1, F-beta and precision at k, which Zhang, Saha and Vishwanathan (2012), Sec. 6, leave to future work.

    python reproductions/zhang2012/counted_measures.py                   what is missing; goes on where it ended
    python reproductions/zhang2012/counted_measures.py --report-only     results/counted_measures.md from its JSON

The risk is that of the paper's (3) with :math:`\Delta = 1 - F_1`, :math:`1 - F_2` (recall counts four times as much),
or one minus the precision of at least k predicted positives, k half of the positives.  ``smoothing`` is L-BFGS on the
smoothed risk (``risks.measures.smoothed_diagonals``) with a decreasing mu, ``bundle`` the level bundle method, which is
Fenchel's default for these measures.  Both run until they have proved a relative duality gap; seconds are processor
seconds of one thread, certificates included, of the two in turn, three times where both are short (medians).
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/zhang2012/counted_measures.py`

from benchmarks.data import load
from benchmarks.ledger import Cell
from benchmarks.report import markdown_table
from fenchel import Problem, solve
from fenchel.risks import F1, FBeta, PrecisionAtK, Risk
from fenchel.solvers import Bundle, Smoothing, Solver
from reproductions.provenance import StampedLedger
from reproductions.zhang2012.origin import COUNTED
from reproductions.zhang2012.runs import RESULTS

SETS = ("a9a@4000", "w8a@4000", "reuters-moneyfx@4000")
MEASURES = {"f1": "F1", "f2": "F2", "precision_at_k": "precision at k"}
LAMBDAS = (1e-2, 1e-4, 1e-6)
TOLERANCES = (1e-2, 1e-3)
SOLVERS: dict[str, type[Solver]] = {"bundle": Bundle, "smoothing": Smoothing}
#: a pair of runs of less than this many seconds each is made this many times
_SHORT, _TIMES = 1.0, 3


def risk_of(measure: str, labels: np.ndarray) -> Risk:
    """The measure; k is half of the positives."""
    if measure == "precision_at_k":
        return PrecisionAtK(labels, max(1, int(np.sum(labels > 0)) // 2))
    return F1(labels) if measure == "f1" else FBeta(labels, beta=2.0)


def run(data: Any, measure: str, lam: float, tol: float, solver: str, cap: float) -> Cell:
    """One solve, of a problem that is made again."""
    problem = Problem(data.matrix, risk_of(measure, data.labels), lam)
    begin = time.process_time()
    # processor seconds: a time limit would count those of others
    over = lambda: time.process_time() - begin > cap  # noqa: E731
    solution = solve(problem, SOLVERS[solver](), tol=tol, max_iter=np.inf, n_jobs=1, stop_requested=over)
    gap = solution.certificate.relative_gap
    return {"seconds": time.process_time() - begin, "passes": solution.passes, "gap": gap, "proved": gap <= tol}


def race(data: Any, measure: str, lam: float, tol: float, cap: float) -> list[Cell]:
    """Both solvers in turn: a cell for each."""
    runs: dict[str, list[Cell]] = {name: [] for name in SOLVERS}
    for _ in range(_TIMES):
        for name in SOLVERS:
            runs[name].append(run(data, measure, lam, tol, name, cap))
        if max(found[0]["seconds"] for found in runs.values()) > _SHORT:
            break
    row = {"data": data.name, "measure": measure, "lam": lam, "tol": tol, "cap": cap}
    return [
        {**row, "solver": name, **found[0], "seconds": [one["seconds"] for one in found]}
        for name, found in runs.items()
    ]


def ratio(bundle: Cell, smoothing: Cell) -> tuple[float, str] | None:
    """Seconds of the bundle method over those of smoothing, with the sign of a bound; None if neither proved it."""
    if not (bundle["proved"] or smoothing["proved"]):
        return None
    sign = "" if bundle["proved"] and smoothing["proved"] else ">" if smoothing["proved"] else "<"
    return statistics.median(bundle["seconds"]) / statistics.median(smoothing["seconds"]), sign


def _shown(cell: Cell) -> str:
    if not cell["proved"]:
        return f">{cell['cap']:g} s, {cell['passes']:.0f} (at {cell['gap']:.1g})"
    seconds = cell["seconds"]
    spread = f" [{min(seconds):.2g}–{max(seconds):.2g}]" if len(seconds) > 1 else ""
    return f"{statistics.median(seconds):.3g} s{spread}, {cell['passes']:.0f}"


def pairs_of(cells: list[Cell]) -> dict[tuple[Any, ...], dict[str, Cell]]:
    """The cells of a row by solver, in the order of the sets."""
    rows: dict[tuple[Any, ...], dict[str, Cell]] = {}
    order = list(product(SETS, MEASURES, LAMBDAS, TOLERANCES))
    for cell in cells:
        rows.setdefault((cell["data"], cell["measure"], cell["lam"], cell["tol"]), {})[cell["solver"]] = cell
    return {key: rows[key] for key in [*order, *(key for key in rows if key not in order)] if key in rows}


def _extremes(rows: dict[tuple[Any, ...], dict[str, Cell]]) -> str:
    """The least and the largest ratio of the sets, by measure, gap and lam."""
    lines, places = [], [(lam, tol) for tol in TOLERANCES for lam in LAMBDAS]
    for measure, name in MEASURES.items():
        line = [name]
        for place in places:
            own = [
                ratio(pair["bundle"], pair["smoothing"]) for key, pair in rows.items() if key[1:] == (measure, *place)
            ]
            known = sorted(found for found in own if found is not None)
            ends = " to ".join(f"{sign}{value:.2g}" for value, sign in (known[0], known[-1])) if known else "–"
            line.append(ends + (f", {len(own) - len(known)} neither" if known and len(known) < len(own) else ""))
        lines.append(line)
    return markdown_table(["measure", *(f"gap {tol:g}, λ = {lam:g}" for lam, tol in places)], lines)


def markdown(cells: list[Cell]) -> str:
    """Where smoothing is faster, and all cells."""
    rows, lines = pairs_of(cells), []
    for (data, measure, lam, tol), pair in rows.items():
        found = ratio(pair["bundle"], pair["smoothing"])
        shown = f"{found[1]}{found[0]:.2g}" if found else "–"
        times = [_shown(pair[name]) for name in SOLVERS]
        lines.append([data, MEASURES[measure], f"{lam:g}", f"{tol:g}", *times, shown])
    columns = ["data", "measure", "λ", "relative gap", "bundle: seconds, passes", "smoothing: seconds, passes", "ratio"]
    legend = (
        "Seconds of the bundle method ÷ those of smoothing, least and most of the sets: above 1 smoothing is faster. "
        "`>` and `<` are bounds: one of the two had not proved the gap at the cap."
    )
    tables = [_extremes(rows), markdown_table(columns, lines)]
    return "\n\n".join(["# Smoothing of F1, F2 and precision at k", legend, *tables])


def main() -> None:
    """Measure what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/data.py")
    parser.add_argument("--measures", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--lam", nargs="+", type=float, default=list(LAMBDAS))
    parser.add_argument("--cap", type=float, default=20.0, help="processor seconds of one run")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of counted_measures.json and .md")
    parser.add_argument("--again", action="store_true", help="measure again what was asked for")
    parser.add_argument("--report-only", action="store_true", help="measure nothing")
    options = parser.parse_args()
    ledger = StampedLedger(COUNTED, options.output, options.again)
    for name in [] if options.report_only else options.data:
        wanted = [
            (measure, lam, tol)
            for measure in options.measures
            for lam in options.lam
            for tol in TOLERANCES
            if not ledger.has(data=name, measure=measure, lam=lam, tol=tol, solver="smoothing")
        ]
        if wanted:
            data = load(name)
            for measure, solver in ((measure, solver) for measure in options.measures for solver in SOLVERS):
                # compiles the loops
                run(data, measure, 1.0, 0.5, solver, 5.0)
        for measure, lam, tol in wanted:
            cells = race(data, measure, lam, tol, options.cap)
            ledger.add(cells)
            print(name, measure, f"{lam:g}", f"{tol:g}", *map(_shown, cells), sep=" | ", flush=True)
    text = markdown(ledger.cells)
    (options.output / "counted_measures.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

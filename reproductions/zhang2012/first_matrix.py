"""The first matrix of L-BFGS on smoothed measures: a multiple of the identity, or an approximate Hessian.

    python reproductions/zhang2012/first_matrix.py                  what is missing; goes on where it ended
    python reproductions/zhang2012/first_matrix.py --report-only    results/first_matrix.md from its JSON

Passes over the data until the objective is within 1% of the best certified bound, and until the solver has proved a
relative gap of 1e-3 or has converged for its mu, at the paper's lambda = 1e-6 with c_mu = 10.  ``fixed, D = 1/2`` is
the paper's mu, ``fixed`` has the least D of the measure, and with ``mu decreases`` Fenchel chooses mu.  With the
identity the first one is the paper's SMS.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/zhang2012/first_matrix.py`

import numpy as np

from benchmarks.ledger import Cell
from benchmarks.report import markdown_table
from fenchel.solvers import Smoothing
from reproductions.provenance import StampedLedger
from reproductions.zhang2012 import paper
from reproductions.zhang2012.origin import FIRST_MATRIX
from reproductions.zhang2012.runs import MEASURES, NEAR, PAPER_RANGE, RESULTS, Row, curve_of, described, load, run

SETS = ("a9a", "web8", "covertype")
LAM = 1e-6
_FIXED: dict[str, Any] = {"fixed": True, "epsilon": paper.EPSILON, "c_mu": 10.0}
CHOICES: dict[str, dict[str, Any]] = {
    "fixed, D = 1/2": {**_FIXED, "prox_bound": PAPER_RANGE},
    "fixed": _FIXED,
    "mu decreases": {},
}
#: by ``curvature`` of the solver
MATRICES = {"identity": False, "Hessian": True}


def run_choice(data: str, measure: str, choice: str, matrix: str, cap: float) -> Cell:
    """One run with its curve of every step."""
    solver, row = Smoothing(curvature=MATRICES[matrix], **CHOICES[choice]), Row(data, measure, LAM)
    watched, solution = run(load(data), row, "", cap, solver=solver)
    cell = described(row, "smoothing", watched, solution)
    every = {"passes": [moment.passes for moment in watched.moments]}
    every["objective"] = [moment.objective for moment in watched.moments]
    curve = {name: " ".join(f"{value:.8g}" for value in values) for name, values in every.items()}
    return {**cell, "mu": choice, "matrix": matrix, "curve": curve}


def passes_of(cell: Cell, bound: float) -> str:
    """Passes to 1%, and to the end; with a sign if the cap was the end."""
    curve = curve_of(cell)
    near = np.flatnonzero(curve["objective"] <= (1.0 + NEAR) * bound)
    first = f"{curve['passes'][near[0]]:.0f}" if len(near) else "-"
    return f"{first}, {'>' if cell['total'] >= cell['cap'] else ''}{curve['passes'][-1]:.0f}"


def markdown(cells: list[Cell]) -> str:
    """A line for each set, measure and choice of mu."""
    lines = []
    for data in [name for name in SETS if any(cell["data"] == name for cell in cells)]:
        for measure in MEASURES:
            own = [cell for cell in cells if (cell["data"], cell["measure"]) == (data, measure)]
            bound = max((cell["dual"] for cell in own), default=0.0)
            for choice in CHOICES:
                found = {cell["matrix"]: cell for cell in own if cell["mu"] == choice}
                if len(found) == len(MATRICES):
                    shown = [passes_of(found[matrix], bound) for matrix in MATRICES]
                    lines.append([data, measure, choice, *shown])
    return markdown_table(["data", "measure", "mu", "identity: passes to 1%, to the end", "Hessian: the same"], lines)


def main() -> None:
    """Run what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/binary.py")
    parser.add_argument("--cap", type=float, default=12.0, help="processor seconds of one run")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of first_matrix.json and .md")
    parser.add_argument("--again", action="store_true", help="make these runs again")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    ledger = StampedLedger(FIRST_MATRIX, options.output, options.again)
    for data in [] if options.report_only else options.data:
        for measure, choice, matrix in ((m, c, x) for m in MEASURES for c in CHOICES for x in MATRICES):
            if not ledger.has(data=data, measure=measure, mu=choice, matrix=matrix):
                cell = run_choice(data, measure, choice, matrix, options.cap)
                ledger.add([cell])
                print(data, measure, choice, matrix, f"{cell['passes']:.0f}", f"{cell['total']:.2g} s", flush=True)
    text = markdown(ledger.cells)
    (options.output / "first_matrix.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

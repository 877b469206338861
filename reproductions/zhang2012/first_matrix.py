"""The first matrix of L-BFGS on smoothed measures: a multiple of the identity, or an approximate Hessian.

    python reproductions/zhang2012/first_matrix.py --write      (two minutes; writes results/first_matrix.md)

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

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/zhang2012/first_matrix.py`

from benchmarks.report import markdown_table
from fenchel.solvers import Smoothing
from reproductions.zhang2012 import paper
from reproductions.zhang2012.runs import MEASURES, NEAR, PAPER_RANGE, RESULTS, Row, first_within, load, run

SETS = ("a9a", "web8")
_FIXED = {"fixed": True, "epsilon": paper.EPSILON, "c_mu": 10.0}
CHOICES = {
    "fixed, D = 1/2": {**_FIXED, "prox_bound": PAPER_RANGE},
    "fixed": _FIXED,
    "mu decreases": {},
}


def rows_of(data: str, measure: str, cap: float) -> list[list[str]]:
    """A row for each choice of mu: passes with the identity and with the approximate Hessian."""
    row = Row(data, measure, 1e-6)
    found = {
        (choice, curvature): run(load(data), row, "", cap, solver=Smoothing(curvature=curvature, **options))
        for choice, options in CHOICES.items()
        for curvature in (False, True)
    }
    bound = max(point.dual for _, solution in found.values() for point in solution.trace)
    lines = []
    for choice in CHOICES:
        cells = []
        for curvature in (False, True):
            moments = found[choice, curvature][0].moments
            near = first_within(moments, (1.0 + NEAR) * bound)
            cells.append(f"{'-' if near is None else round(near.passes)}, {round(moments[-1].passes)}")
        lines.append([data, measure, choice, *cells])
    return lines


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/binary.py")
    parser.add_argument("--cap", type=float, default=12.0, help="processor seconds of one run")
    parser.add_argument("--write", action="store_true", help="write results/first_matrix.md")
    options = parser.parse_args()
    rows = []
    for data in options.data:
        for measure in MEASURES:
            rows += rows_of(data, measure, options.cap)
            print(*rows[-len(CHOICES) :], sep="\n", flush=True)
    text = markdown_table(["data", "measure", "mu", "identity: passes to 1%, to the end", "Hessian: the same"], rows)
    if options.write:
        (RESULTS / "first_matrix.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

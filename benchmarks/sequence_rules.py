"""The rule of ``solver="auto"`` for labelled sequences: seconds of its candidates on both sides of its bounds.

    python benchmarks/sequence_rules.py
    python benchmarks/sequence_rules.py --limit 0.5      quick

The sentences of ``benchmarks.sequence_growth`` with 1,000 tokens and 5 labels: few dense features are random
combinations of the indicators, of squared norm 10 on average, as that of the indicators is.  The bounds
(``solvers.facts``): 256 weights; for the log-loss also a curvature (C times the mean squared norm of a token) of 100,
and 4 weights of pairs of labels, counted for each sequence, for each token and label.  Seconds of one thread until a
relative gap of 1e-3 is proved, of one run; "–" if the clock ended it, with the gap then.  ``auto`` takes the solver in
the last column first.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/sequence_rules.py`

import numpy as np

from benchmarks.report import markdown_table
from benchmarks.sequence_growth import sentences
from fenchel import Problem, solve
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge, ChainLogistic
from fenchel.solvers.choose import choose
from fenchel.solvers.facts import facts_of

TOKENS, LABELS, TOL = 1000, 5, 1e-3
CANDIDATES = {ChainHinge: ("frank_wolfe", "bundle"), ChainLogistic: ("exponentiated_gradient", "smoothing")}


class Cell(NamedTuple):
    """A problem: the risk, dense features or None for the indicators, C, and the tokens of a sequence."""

    kind: Any
    features: int | None
    C: float
    length: int = 20


CELLS = (
    *(Cell(ChainHinge, features, 1.0) for features in (10, 40, 100, None)),
    *(Cell(ChainLogistic, features, 1.0) for features in (10, 40, 100, None)),
    *(Cell(ChainLogistic, None, C) for C in (5.0, 20.0, 100.0)),
    *(Cell(ChainLogistic, None, 1.0, length) for length in (2, 1)),
)


def problem_of(cell: Cell) -> Problem:
    """The made-up sentences of a cell."""
    data = sentences(TOKENS, LABELS)
    X = data.X
    if cell.features is not None:
        X = X @ np.random.default_rng(0).standard_normal((X.shape[1], cell.features)) / np.sqrt(cell.features)
    lengths = np.full(TOKENS // cell.length, cell.length)
    return Problem(ChainDesign(X, LABELS), cell.kind(data.y, lengths, LABELS), 1.0 / (cell.C * len(lengths)))


def timed(problem: Problem, solver: str, limit: float) -> str:
    """Processor seconds until the gap is proved, or the gap at the limit."""
    solve(problem, solver, max_iter=1)  # compiles
    begin = time.process_time()
    found = solve(problem, solver, tol=TOL, max_iter=10**6, time_limit=limit)
    seconds = time.process_time() - begin
    return f"{seconds:.2f}" if found.converged else f"– ({found.certificate.relative_gap:.0e} after {seconds:.1f})"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=6.0, help="of each solve, seconds of the clock")
    options = parser.parse_args()
    rows = []
    for cell in CELLS:
        problem = problem_of(cell)
        facts = facts_of(problem, TOL)
        block, other = (timed(problem, solver, options.limit) for solver in CANDIDATES[cell.kind])
        rows.append(
            [
                "max-margin" if cell.kind is ChainHinge else "log-loss",
                f"{facts.features:,}",
                f"{facts.curvature:.0f}",
                f"{facts.chain_pairs:.2g}",
                block,
                other,
                f"`{choose(problem, 'auto', tol=TOL)[0].solver.name}`",
            ]
        )
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    head = ["loss", "weights", "curvature", "pairs", "block steps, s", "`bundle`, `smoothing`, s", "`auto`"]
    print(markdown_table(head, rows))


if __name__ == "__main__":
    main()

"""Features of pairs of tokens: how long chains with them take, beside chains without and beside the slower solvers.

    python benchmarks/sequence_edges.py
    python benchmarks/sequence_edges.py --tokens 400 --limit 2      quick

The sentences of ``benchmarks.sequence_growth`` (20 tokens each, ten indicators out of 2,000), with five features of
every pair of tokens: numbers drawn from N(0, 1), of which the first also moves with the change of labels.  C = 1.
Processor seconds of one thread until a relative gap of 1e-2 and of 1e-3 is proved, certificates included, from one
solve that is certified every 25 passes (max-margin) or every second one (log-loss); and seconds and gap at its end,
when 1e-3 is proved or the clock ends it.  L-BFGS (``smoothing``) and ``bundle`` are beside for comparison.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/sequence_edges.py`

import numpy as np

from benchmarks.report import markdown_table
from benchmarks.sequence_growth import sentences
from fenchel import Problem, Progress, solve
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge, ChainLogistic

TOLS = (1e-2, 1e-3)
LABELS, EDGES = 10, 5
#: passes between two certificates
_CERTIFY_EVERY = {"chain_hinge": 25.0, "chain_logistic": 2.0}
#: the risk, whether there are features of pairs, and the solver
RUNS = (
    (ChainHinge, False, "frank_wolfe"),
    (ChainHinge, True, "frank_wolfe"),
    (ChainHinge, True, "bundle"),
    (ChainLogistic, False, "exponentiated_gradient"),
    (ChainLogistic, True, "exponentiated_gradient"),
    (ChainLogistic, True, "smoothing"),
)


def problem_of(kind: Any, tokens: int, *, edges: bool, C: float = 1.0, seed: int = 0) -> Problem:
    """The made-up sentences, with features of pairs or without."""
    data, rng = sentences(tokens, LABELS, seed), np.random.default_rng([seed, 1])
    features = rng.standard_normal((tokens, EDGES))
    features[1:, 0] += data.y[1:] != data.y[:-1]
    risk = kind(data.y, data.lengths, LABELS, None, features if edges else None)
    return Problem(
        ChainDesign(data.X, LABELS, edge_features=EDGES if edges else 0), risk, 1.0 / (C * len(data.lengths))
    )


def timed(problem: Problem, solver: str, limit: float) -> list[str]:
    """Processor seconds until each tolerance is proved, and the gap at the end."""
    solve(problem, solver, max_iter=1)  # compiles
    proved: dict[float, str] = {}
    begin = time.process_time()

    def look(progress: Progress) -> None:
        note(progress.certificate.relative_gap)

    def note(gap: float) -> None:
        for tol in TOLS:
            if gap <= tol:
                proved.setdefault(tol, f"{time.process_time() - begin:.2f}")

    every = _CERTIFY_EVERY[problem.risk.name]
    found = solve(problem, solver, tol=TOLS[-1], max_iter=10**6, time_limit=limit, callback=look, certify_every=every)
    seconds, gap = time.process_time() - begin, found.certificate.relative_gap
    note(gap)
    return [*(proved.get(tol, "–") for tol in TOLS), f"{seconds:.1f}", f"{gap:.1e}"]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--limit", type=float, default=60.0, help="of each solve, seconds of the clock")
    options = parser.parse_args()
    names = {ChainHinge: "max-margin", ChainLogistic: "log-loss"}
    rows = []
    for kind, edges, solver in RUNS:
        found = timed(problem_of(kind, options.tokens, edges=edges), solver, options.limit)
        rows.append([names[kind], str(EDGES if edges else 0), f"`{solver}`", *found])
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    print(
        markdown_table(
            ["loss", "features of pairs", "solver", "s to 1e-2", "s to 1e-3", "s in all", "gap at the end"], rows
        )
    )


if __name__ == "__main__":
    main()

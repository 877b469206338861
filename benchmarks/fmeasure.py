r"""F1: what was tried to be faster than the stabilised bundle method, and lost or tied.

    python benchmarks/fmeasure.py --update-readme

The paper on smoothing leaves F-measures open.  For a fixed surplus p of predicted positives F1 is linear in fn, so the
smoothing over the labellings of one p is a projection onto a box with one equality, as for break-even; but the optimum
mixes labellings of several p, so one p alone proves little.  Its maximizer is a plane below the risk all the same.

==============  =======================================================================================
variant         what it is
==============  =======================================================================================
level           ``Bundle()``, the default
smoothed plane  in every step also the plane of the smoothed maximizer for the p of the most violated
                labelling, with mu D half of the present gap: one product more
short search    the search between the best point and the new one looks at two points at most
==============  =======================================================================================
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/fmeasure.py`

import numpy as np

from benchmarks.data import DataSet, load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table
from fenchel import Problem, solve
from fenchel.projections import onto_box_and_sum
from fenchel.risks import F1
from fenchel.solvers import Bundle
from fenchel.solvers.bundle import line_search as segment

SETS, LAMBDAS = ("reuters-moneyfx", "a9a", "w8a"), (1e-4, 1e-6)
VARIANTS = ("level", "smoothed plane", "short search")
KEY = ("data", "lam", "variant")
TARGET = 1e-2
#: mu D as a share of the gap
_SHARE = 0.5


@dataclass(frozen=True)
class WithSmoothedPlanes(Bundle):
    """A bundle method that adds a second plane in every step."""

    def start(self, problem: Problem, warm: Any) -> Any:
        state = super().start(problem, warm)
        plane = state.oracle.plane

        def noted(scores: np.ndarray) -> Any:
            found = plane(scores)
            state.last = scores, found.slope
            return found

        state.oracle.plane = noted
        return state

    def _solve_inner(self, state: Any, tolerance: float) -> None:
        risk, (scores, slope) = state.problem.risk, state.last
        n, labels, surplus = risk.examples, risk.labels, round(float(np.sum(slope)) * risk.examples)
        base, steep = (part[surplus - risk.diagonals.first] for part in risk.diagonals[1:])
        mu = _SHARE * state.gap / max(0.5 * np.count_nonzero(slope) / n, 1.0 / n)
        gains = np.where(labels > 0, n * steep, 0.0) - scores
        x = onto_box_and_sum(gains, np.minimum(labels, 0.0), np.maximum(labels, 0.0), -float(surplus), mu)
        fn = float(np.sum(x[labels > 0]))
        # labellings with the whole numbers beside fn, and with as many predicted positives
        counts = np.array([[math.floor(fn) + 1.0 - fn, math.floor(fn)], [fn - math.floor(fn), math.floor(fn) + 1.0]])
        mixture = np.column_stack([counts, counts[:, 1] + surplus])[counts[:, 0] > 0.0]
        vector = state.problem.design.adjoint(-x / n).ravel()
        state.planes.add(-x / n, float(base + steep * fn), vector, decomposition=mixture)
        super()._solve_inner(state, tolerance)


def measured(data: DataSet, lam: float, variant: str, cap: float) -> Cell:
    """One solve."""
    solver = WithSmoothedPlanes() if variant == "smoothed plane" else Bundle()
    looks = 2 if variant == "short search" else segment._MAX_EVALUATIONS
    problem, begin = Problem(data.matrix, F1(data.labels), lam), time.process_time()
    with mock.patch.object(segment, "_MAX_EVALUATIONS", looks):
        solution = solve(problem, solver, tol=TARGET, max_iter=np.inf, time_limit=cap)
    return {
        "data": data.name,
        "lam": lam,
        "variant": variant,
        "seconds": time.process_time() - begin,
        "passes": solution.passes,
        "reached": solution.converged,
        "relative_gap": solution.certificate.relative_gap,
        "load": os.getloadavg()[0],
    }


def markdown(cells: list[Cell]) -> str:
    """A line for each problem."""
    by_key = {tuple(cell[field] for field in KEY): cell for cell in cells}
    places = dict.fromkeys((cell["data"], cell["lam"]) for cell in cells)
    lines = [[*map(str, place), *(_shown(by_key.get((*place, name))) for name in VARIANTS)] for place in places]
    loads = [cell["load"] for cell in cells]
    legend = (
        f"Processor seconds to a relative gap of {TARGET:g}, once each, and steps in parentheses; load average "
        f"{min(loads):.1f} to {max(loads):.1f}."
    )
    return "\n\n".join([markdown_table(["data set", "λ", *VARIANTS], lines), legend])


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    text = f"{cell['seconds']:.3g} ({cell['passes']:.0f})"
    return text if cell["reached"] else f"gap {cell['relative_gap']:.2g} after {text}"


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/data.py")
    parser.add_argument("--lam", nargs="+", type=float, default=list(LAMBDAS))
    parser.add_argument("--cap", type=float, default=120.0, help="seconds for each solve")
    add_common_options(parser, "fmeasure.json and fmeasure.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "fmeasure.json", KEY, options.fresh and not options.report_only)
    measured(load("simulated"), 0.1, "level", 10.0)  # compiles
    for name in [] if options.report_only else options.data:
        for lam in options.lam:
            for variant in VARIANTS:
                if options.again or not ledger.has(data=name, lam=lam, variant=variant):
                    cell = measured(load(name), lam, variant, options.cap)
                    ledger.add([cell])
                    print(name, lam, variant, _shown(cell), flush=True)
    publish(options, "fmeasure", markdown(ledger.cells))


if __name__ == "__main__":
    main()

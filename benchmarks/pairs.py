"""Solver smoothing on measures: pairs of products Xw, X^T theta until a relative gap is certified, and seconds.

    python benchmarks/pairs.py --update-readme      (a few minutes)
    python benchmarks/pairs.py --data simulated     tiny

Goal: ROC area on covtype with lam = 1e-6 to a relative gap of 1e-3 in at most 1000 pairs.  Products are counted where
they are made, in the design, those of certificates included; a matrix of curvature is a pass over the rows of its own
kind and is counted apart.  Seconds are processor seconds of ``solve`` with all certificates, also as a multiple of one
pair of products, which is measured just before and just after.  The paper's lam is four times the one here.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/pairs.py`

import numpy as np

from benchmarks.data import DataSet, load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

SETS = ("a9a", "w8a", "covtype", "covtype-dense")
LAMBDAS = (1e-2, 1e-4, 1e-6)
#: with the curvature where X has few columns, and as the paper has it
VARIANTS = ("smoothing", "without curvature")
KEY = ("data", "risk", "lam", "variant")
TARGET, GOAL = 1e-3, 1000
_REPEATS = 5


class Counter:
    """Counts the rows that some methods of a class see while it is open."""

    def __init__(self, kind: type[Any], *names: str) -> None:
        self.kept, self.kind, self.rows = {name: getattr(kind, name) for name in names}, kind, 0

    def __enter__(self) -> Counter:
        """Count from here on."""
        for name, function in self.kept.items():
            setattr(self.kind, name, self._counting(function))
        return self

    def __exit__(self, *_: Any) -> None:
        """Count no more."""
        for name, function in self.kept.items():
            setattr(self.kind, name, function)

    def _counting(self, function: Any) -> Any:
        def counted(owner: Any, *arguments: Any) -> Any:
            # a part of the rows counts as a part
            self.rows += owner.shape[0] if hasattr(owner, "shape") else owner.rows
            return function(owner, *arguments)

        return counted


def one_pair(problem: Any) -> float:
    """Processor seconds of Xw and X^T theta, the median of some."""
    rng = np.random.default_rng(0)
    weights, theta = rng.normal(size=problem.design.shape[1]), rng.normal(size=problem.design.shape[0])
    seconds = []
    for _ in range(_REPEATS):
        begin = time.process_time()
        problem.design.scores(weights)
        problem.design.adjoint(theta)
        seconds.append(time.process_time() - begin)
    return statistics.median(seconds)


def measured(data: DataSet, risk: str, lam: float, variant: str, cap: float) -> Cell:
    """One solve."""
    from fenchel import Problem, solve
    from fenchel.risks import BreakEven, RocAUC
    from fenchel.solvers import Smoothing
    from fenchel.solvers.smoothing.curvature import Curvature

    kind = {"roc_auc": RocAUC, "prbep": BreakEven}[risk]
    problem = Problem(data.matrix, kind(data.labels), lam)
    solver = Smoothing(curvature=variant == VARIANTS[0])
    pairs = [one_pair(problem)]
    with Counter(type(problem.design), "scores", "adjoint") as products, Counter(Curvature, "inverse") as curvatures:
        begin = time.process_time()
        solution = solve(problem, solver, tol=TARGET, max_iter=np.inf, time_limit=cap)
        seconds = time.process_time() - begin
    pairs.append(one_pair(problem))
    return {
        "data": data.name,
        "description": data.description,
        "risk": risk,
        "lam": lam,
        "variant": variant,
        "pairs": 0.5 * products.rows / problem.design.shape[0],
        "curvatures": curvatures.rows / problem.design.shape[0],
        "seconds": seconds,
        "pair": statistics.mean(pairs),
        "reached": solution.converged,
        "relative_gap": solution.certificate.relative_gap,
        "load": os.getloadavg()[0],
    }


def markdown(cells: list[Cell]) -> str:
    """A line for each problem, and the verdict on the goal."""
    by_key = {tuple(cell[field] for field in KEY): cell for cell in cells}
    lines = []
    for data in sorted({cell["data"] for cell in cells}, key=lambda name: (*SETS, name).index(name)):
        for risk in ("roc_auc", "prbep"):
            for lam in sorted({cell["lam"] for cell in cells}, reverse=True):
                row = [by_key.get((data, risk, lam, variant)) for variant in VARIANTS]
                first = next((cell for cell in row if cell is not None), None)
                if first is not None:
                    place = [f"{data} ({first['description']})", f"`{risk}`", f"{lam:g}"]
                    lines.append([*place, *(_shown(cell) for cell in row)])
    head = ["data set", "measure", "λ", *VARIANTS]
    legend = (
        f"Pairs of products until a relative gap of {TARGET:g} is certified (+ matrices of curvature), processor "
        f"seconds, and these as a multiple of one pair. Once each; load average {min(c['load'] for c in cells):.1f} to "
        f"{max(c['load'] for c in cells):.1f}."
    )
    goal = [
        f"ROC area on {data} at λ = 1e-6: {cell['pairs']:.0f} pairs and {cell['curvatures']:.0f} curvatures (goal: at "
        f"most {GOAL}: {'met' if cell['reached'] and cell['pairs'] <= GOAL else 'missed'}), "
        f"{cell['seconds'] / cell['pair']:.0f} times one pair."
        for (data, risk, lam, variant), cell in by_key.items()
        if data.startswith("covtype") and risk == "roc_auc" and lam == 1e-6 and variant == VARIANTS[0]
    ]
    return "\n\n".join([*goal, markdown_table(head, lines), legend])


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    multiple = cell["seconds"] / cell["pair"]
    text = f"{cell['pairs']:.0f} + {cell['curvatures']:.0f}, {cell['seconds']:.3g} s, {multiple:.0f}×"
    return text if cell["reached"] else f"gap {cell['relative_gap']:.2g}: {text}"


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS), help="see benchmarks/data.py")
    parser.add_argument("--risk", nargs="+", choices=("roc_auc", "prbep"), default=["roc_auc", "prbep"])
    parser.add_argument("--lam", nargs="+", type=float, default=list(LAMBDAS))
    parser.add_argument("--variant", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--cap", type=float, default=120.0, help="seconds for each solve")
    add_common_options(parser, "pairs.json and pairs.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "pairs.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        cells = [(risk, lam, variant) for risk in options.risk for lam in options.lam for variant in options.variant]
        missing = [c for c in cells if options.again or not ledger.has(**dict(zip(KEY, (name, *c), strict=True)))]
        data = load(name) if missing else None
        for risk in dict.fromkeys(risk for risk, _, _ in missing):
            # compiles
            measured(load("simulated-dense" if name.endswith("-dense") else "simulated"), risk, 0.1, VARIANTS[0], 10.0)
        for risk, lam, variant in missing:
            cell = measured(data, risk, lam, variant, options.cap)
            ledger.add([cell])
            print(name, risk, lam, variant, _shown(cell), flush=True)
    publish(options, "pairs", markdown(ledger.cells))


if __name__ == "__main__":
    main()

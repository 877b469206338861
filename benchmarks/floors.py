"""Dual coordinate descent: a fit beside the products with X that its own data passes and certificates need.

    python benchmarks/floors.py --update-readme       about three minutes: smooth losses on text
    python benchmarks/floors.py --loss hinge --data 20news.binary w8a --update-readme
    python benchmarks/floors.py --loss epsilon_insensitive --data abalone abalone-unit-dense --C 0.1 --update-readme

A pass of dual coordinate descent multiplies every row with the weights and adds a multiple of it to them, so it reads
what X w and X^T theta read, in random order; a certificate needs both products once.  The products of a fit are

    (data passes + certificates) * (seconds of X w + seconds of X^T theta by SciPy)

and what is above them are the steps of the dual variables (logarithms), norms, sums of the certificate and checks.
This is a floor of the method with as many passes, not of the problem: who proves nothing needs no certificate, and may
end a pass earlier, since the distance of the objective from the optimum is about half the gap.
"""

# ruff: noqa: E402 (limits of threads before imports)

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/floors.py`

import numpy as np

from benchmarks.cells import is_held_out, question_of
from benchmarks.data import load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

DATA = ("20news.binary", "imdb", "reuters-moneyfx")
LOSSES = ("logistic", "squared_hinge")
KEY = ("data", "loss", "C", "tol")


def main() -> None:
    """Measure the fits that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--loss", nargs="+", default=list(LOSSES), help="of the smooth ones by default")
    parser.add_argument("--C", nargs="+", type=float, default=[0.1, 1.0, 10.0, 100.0])
    parser.add_argument("--rounds", type=int, default=5)
    add_common_options(parser, "floors.json and floors.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "floors.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        data = load(name)
        for loss in options.loss:
            for C in options.C:
                for tol in (1e-3, 1e-6):
                    if options.again or not ledger.has(data=name, loss=loss, C=C, tol=tol):
                        ledger.add([measured(data, loss, C, tol, options.rounds)])
    publish(options, "floors", markdown(ledger.cells))


def measured(data: Any, loss: str, C: float, tol: float, rounds: int) -> Cell:
    """A fit and the two products, in turns: medians of processor seconds."""
    from fenchel import Problem, solve
    from fenchel.risks import MeanRisk

    X, n = data.matrix, len(data.labels)
    weights, theta = np.ones(X.shape[1]), np.ones(n)

    def fit() -> Any:
        return solve(Problem(X, MeanRisk(loss, data.labels), 1.0 / (C * n)), tol=tol)

    solution = fit()
    calls: dict[str, Callable[[], Any]] = {"fit": fit, "scores": lambda: X @ weights, "adjoint": lambda: X.T @ theta}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.process_time()
            call()
            times[name].append(time.process_time() - begin)
    cell: Cell = {"data": data.name, "loss": loss, "C": C, "tol": tol, "description": data.description}
    cell |= {"passes": solution.passes, "certificates": len(solution.trace), "load": os.getloadavg()[0]}
    cell |= {"held_out": is_held_out(question_of(data.name.partition("@")[0]), data.name, C), "solver": solution.solver}
    return cell | {name: statistics.median(found) for name, found in times.items()}


def products_of(cell: Cell) -> float:
    """Seconds of the products that the data passes and the certificates of a fit need."""
    return float((cell["passes"] + cell["certificates"]) * (cell["scores"] + cell["adjoint"]))


def markdown(cells: list[Cell]) -> str:
    """A line for each fit."""
    if not cells:
        return "(not measured yet)"
    head = ["data set", "loss", "C", "tol", "held out", "fit, ms", "passes", "certificates", "X w, ms", "X^T theta, ms"]
    rows = []
    for cell in cells:
        place = [cell["data"], cell["loss"], f"{cell['C']:g}", f"{cell['tol']:g}", "yes" if cell["held_out"] else ""]
        counts = [f"{1e3 * cell['fit']:.1f}", f"{cell['passes']:.3g}", str(cell["certificates"])]
        products = [f"{1e3 * cell[name]:.2f}" for name in ("scores", "adjoint")]
        rows.append([*place, *counts, *products, f"{cell['fit'] / products_of(cell):.2f}"])
    loads = [cell["load"] for cell in cells]
    return markdown_table([*head, "fit ÷ its products"], rows) + (
        "\n\nProcessor milliseconds of one thread, medians; its products are both, (passes + certificates) times. "
        f"Load average {min(loads):.1f} to {max(loads):.1f}."
    )


if __name__ == "__main__":
    main()

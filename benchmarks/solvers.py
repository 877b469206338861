"""Which solver for which problem: the measurement behind the table of ``solver="auto"`` (solvers/choose.py).

    python benchmarks/solvers.py --update-readme        9 data sets, every C and accuracy (about half an hour)
    python benchmarks/solvers.py --data a9a --C 1 10    these cells

Each solver runs twice (once if a run takes longer than a second), at most ``--cap`` seconds; the better time counts.
``auto`` is timed as well: its last column says how many times as long as the better of the two it takes.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/solvers.py`

from benchmarks.data import DataSet, load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

KEY = ("data", "loss", "C", "tol")
SOLVERS = ("dual_coordinate", "newton", "auto")
CLASSIFICATION = ("a9a", "w8a", "20news.binary", "imdb", "covtype", "mnist")
REGRESSION = ("abalone", "cpusmall", "cadata")
_LOSSES = {"classification": ("hinge", "squared_hinge", "logistic"), "regression": ("epsilon_insensitive", "squared")}


def main() -> None:
    """Measure the cells that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[*REGRESSION, *CLASSIFICATION], help="see benchmarks/data.py")
    parser.add_argument("--C", nargs="+", type=float, default=[0.1, 1.0, 10.0, 100.0])
    parser.add_argument("--tol", nargs="+", type=float, default=[1e-3, 1e-6])
    parser.add_argument("--cap", type=float, default=5.0, help="seconds that one run may take")
    add_common_options(parser, "solvers.json and solvers.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "solvers.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        data = load(name)
        for loss in _LOSSES["regression" if name in REGRESSION else "classification"]:
            for C in options.C:
                for tol in options.tol:
                    if options.again or not ledger.has(data=name, loss=loss, C=C, tol=tol):
                        ledger.add([_measured(data, loss, C, tol, options.cap)])
                        print(name, loss, C, tol, flush=True)
    publish(options, "solvers", markdown(ledger.cells))


def _measured(data: DataSet, loss: str, C: float, tol: float, cap: float) -> Cell:
    from fenchel import Problem
    from fenchel.risks import MeanRisk
    from fenchel.solvers.choose import facts_of

    problem = Problem(data.matrix, MeanRisk(loss, data.labels), 1.0 / (C * len(data.labels)))
    facts = {"description": data.description, "curvature": facts_of(problem, tol).curvature}
    times = {name: _timed(problem, name, tol, cap) for name in SOLVERS}
    return {"data": data.name, "loss": loss, "C": C, "tol": tol, **facts, "cap": cap, "solvers": times}


def _timed(problem: Any, solver: str, tol: float, cap: float) -> dict[str, Any]:
    from fenchel import solve

    best: dict[str, Any] = {}
    for _ in range(2):
        begin = time.perf_counter()
        solution = solve(problem, solver, tol=tol, max_iter=1e5, time_limit=cap)
        seconds = time.perf_counter() - begin
        if not best or seconds < best["seconds"]:
            gap = float(solution.certificate.relative_gap)
            best = {"seconds": seconds, "passes": solution.passes, "gap": gap, "reached": solution.converged}
            best["by"] = solution.solver
        if seconds > 1.0:
            break
    return best


def markdown(cells: list[Cell]) -> str:
    """One line for each cell, and what the table costs where it is wrong."""
    if not cells:
        return "(not measured yet)"
    lines = []
    for cell in cells:
        found = cell["solvers"]
        shown = [_shown(found[name], cell["cap"]) for name in SOLVERS]
        place = [f"{cell['data']} ({cell['description']})", cell["loss"], f"{cell['C']:g}", f"{cell['tol']:g}"]
        lines.append([*place, f"{cell['curvature']:.3g}", *shown, found["auto"]["by"], _loss_of_auto(found)])
    head = ["data set", "loss", "C", "tol", "curvature", *SOLVERS, "auto used", "auto ÷ better"]
    ratios = [_ratio(cell["solvers"]) for cell in cells]
    known = [ratio for ratio in ratios if ratio is not None]
    worse = sum(ratio > 1.5 for ratio in known)
    legend = (
        f"Seconds (best of two). In {len(known)} cells where a solver gets there, auto takes "
        f"{statistics.median(known):.2f} times as long as the better one in the median, {max(known):.2f} at worst, and "
        f"more than 1.5 times as long in {worse}."
    )
    return "\n\n".join([markdown_table(head, lines), legend])


def _shown(found: dict[str, Any], cap: float) -> str:
    return f"{found['seconds']:.3g}" if found["reached"] else f"> {cap:g} (gap {found['gap']:.1e})"


def _ratio(found: dict[str, dict[str, Any]]) -> float | None:
    """Seconds of auto over those of the better solver, if one of them gets there."""
    able = [found[name]["seconds"] for name in SOLVERS[:2] if found[name]["reached"]]
    return found["auto"]["seconds"] / min(able) if able else None


def _loss_of_auto(found: dict[str, dict[str, Any]]) -> str:
    ratio = _ratio(found)
    return "–" if ratio is None else f"{ratio:.2f}"


if __name__ == "__main__":
    main()

"""Joint hinges of several classes: block coordinate descent, the interior-point method, and what ``auto`` does.

    python benchmarks/joint.py --update-readme                  all sets
    python benchmarks/joint.py --data wine --C 1                these cells

wine, iris and digits are scikit-learn's, as they come; the others are those of benchmarks/classes.py.  The default,
Weston-Watkins with free intercepts, unless ``--risk`` says otherwise.  Seconds of processor time, one thread, after a
warm-up; the solvers take turns, and runs of less than a fifth of a second are the median of five.  Descent has at most
``--passes`` passes.
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

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/joint.py`

from benchmarks.cells import held_out_mark
from benchmarks.classes import load_split
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

KEY = ("data", "risk", "C", "tol")
SOLVERS = ("block_coordinate", "interior_point", "auto")
_UNSCALED = ("wine", "iris", "digits")
#: runs of each solver, and the seconds above which one is enough
_ROUNDS, _SHORT_SECONDS = 5, 0.2
NAMES = (*_UNSCALED, "satimage", "letter", "dna")


def main() -> None:
    """Measure the cells that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(NAMES))
    parser.add_argument("--risk", nargs="+", default=["weston_watkins"], help="or crammer_singer")
    parser.add_argument("--C", nargs="+", type=float, default=[0.01, 1.0, 100.0])
    parser.add_argument("--tol", nargs="+", type=float, default=[1e-3, 1e-6])
    parser.add_argument("--passes", type=float, default=1000.0, help="passes that one run may take")
    add_common_options(parser, "joint.json and joint.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "joint.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        matrix, classes = _load(name)
        for risk in options.risk:
            for C in options.C:
                for tol in options.tol:
                    if options.again or not ledger.has(data=name, risk=risk, C=C, tol=tol):
                        known = {"data": name, "risk": risk, "C": C, "tol": tol, "passes": options.passes}
                        ledger.add([{**known, **_measured(matrix, classes, risk, C, tol, options.passes)}])
                        print(name, risk, C, tol, flush=True)
    publish(options, "joint", markdown(ledger.cells))


def _load(name: str) -> tuple[Any, Any]:
    if name not in _UNSCALED:
        split = load_split(name)
        return split.matrix, split.classes
    import sklearn.datasets

    return getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)


def _measured(matrix: Any, classes: Any, risk: str, C: float, tol: float, passes: float) -> Cell:
    from fenchel import Problem, solve
    from fenchel.risks import MULTICLASS
    from fenchel.solvers.facts import facts_of

    problem = Problem(matrix, MULTICLASS[risk](classes), 1.0 / (C * len(classes)), intercept=True)
    times: dict[str, Any] = {}
    for name in SOLVERS:
        # compiles the loops for single and for double precision
        solve(problem, name, tol=1.0, max_iter=1)
        solve(problem, name, tol=1e-9, max_iter=1)
    for _ in range(_ROUNDS):
        for name in SOLVERS:
            if name in times and times[name]["rounds"][0] > _SHORT_SECONDS:
                continue
            begin = time.process_time()
            solution = solve(problem, name, tol=tol, max_iter=passes)
            rounds = [*times.get(name, {"rounds": []})["rounds"], time.process_time() - begin]
            gap = float(solution.certificate.relative_gap)
            times[name] = {"seconds": statistics.median(rounds), "rounds": rounds, "passes": solution.passes}
            times[name] |= {"gap": gap, "reached": solution.converged, "by": solution.solver}
    shape = f"{matrix.shape[0]:,} × {matrix.shape[1]:,}, {problem.risk.outputs} classes"
    return {"description": shape, "curvature": facts_of(problem, tol).curvature, "solvers": times}


def markdown(cells: list[Cell]) -> str:
    """One line for each cell."""
    if not cells:
        return "(not measured yet)"
    lines = []
    for cell in cells:
        found = cell["solvers"]
        place = [f"{cell['data']} ({cell['description']})", cell["risk"], f"{cell['C']:g}"]
        place += [held_out_mark("several classes", cell["data"], cell["C"]), f"{cell['tol']:g}"]
        shown = [_shown(found[name]) for name in SOLVERS]
        fastest = min(found[name]["seconds"] for name in SOLVERS[:2] if found[name]["reached"])
        regret = f"{found['auto']['seconds'] / fastest:.2f}"
        lines.append([*place, f"{cell['curvature']:.3g}", *shown, found["auto"]["by"], regret])
    head = ["data set", "risk", "C", "held out", "tol", "curvature", *SOLVERS, "auto used", "regret"]
    legend = f"Seconds of processor time, and passes; a run may take {cells[0]['passes']:g} of them, as by default."
    return "\n\n".join([markdown_table(head, lines), legend])


def _shown(found: dict[str, Any]) -> str:
    if found["reached"]:
        return f"{found['seconds']:.3g} ({found['passes']:.0f})"
    return f"gap {found['gap']:.1e} after {found['seconds']:.3g} ({found['passes']:.0f})"


if __name__ == "__main__":
    main()

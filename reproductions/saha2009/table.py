"""Iterations and seconds until the objective is within 1e-3 and 1e-5 of the certified minimum, and test accuracies.

python reproductions/saha2009/table.py                          every run that is missing; can be interrupted
python reproductions/saha2009/table.py --sets a9a --again       these runs once more
python reproductions/saha2009/table.py --report-only            results/table.md from results/runs.json
python reproductions/saha2009/table.py --quick                  made-up data, nothing is kept
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

# before NumPy is loaded: processor seconds of idle threads would count
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/saha2009/table.py`

import numpy as np

from benchmarks.ledger import Cell
from benchmarks.report import markdown_table
from reproductions.provenance import StampedLedger
from reproductions.saha2009 import paper
from reproductions.saha2009.origin import RUNS
from reproductions.saha2009.runs import REFERENCES, RESULTS, SETS, SOLVERS, curve_of, minimum_of, run_missing

LEVELS = (1e-3, 1e-5)
#: the iterations after which methods are compared, and the methods, whose iterations are passes (Figure 1)
ITERATIONS = (30, 100, 300, 1000)
COMPARED = ("pragam", "pragam, no restart", "ls-bmrm", "qp-bmrm", "pegasos-n")


def main() -> None:
    """Run what is missing and write the table."""
    every = [*REFERENCES.values(), *SOLVERS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="see benchmarks/binary.py")
    parser.add_argument("--solvers", nargs="+", choices=every, default=every)
    parser.add_argument("--cap", type=float, help="processor seconds for a run, instead of those of the set (runs.py)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for runs.json and table.md")
    parser.add_argument("--again", action="store_true", help="run again what was asked for, if it is there already")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--quick", action="store_true", help="made-up data")
    options = parser.parse_args()
    if options.quick:
        options.sets, options.cap = ["simulated"], 0.2
        if options.output == RESULTS:
            options.output = Path(tempfile.mkdtemp())
    ledger = StampedLedger(RUNS, options.output)
    if not options.report_only:
        run_missing(ledger, options.sets, options.solvers, options.cap, options.again)
    text = markdown(ledger.cells)
    (options.output / "table.md").write_text(text + "\n", encoding="utf-8")
    print(text)


def sets_of(cells: list[Cell]) -> list[str]:
    """The sets that were run, in the order of SETS."""
    return sorted({cell["data"] for cell in cells}, key=lambda name: ((*SETS, name).index(name), name))


def reached(cells: list[Cell], data: str, name: str, level: float, seed: int = 0) -> tuple[float, float] | None:
    """Steps and seconds until the lowest objective is within this share of the minimum; None if it never is."""
    cell = next((cell for cell in cells if (cell["data"], cell["solver"], cell["seed"]) == (data, name, seed)), None)
    if cell is None:
        return None
    curve, minimum = curve_of(cell), minimum_of(cells, data, name.endswith("-b"))
    near = np.flatnonzero(curve["objective"] <= (1.0 + level) * minimum)
    return (curve["steps"][near[0]], curve["seconds"][near[0]]) if len(near) else None


def error_after(cells: list[Cell], data: str, name: str, steps: int) -> float | None:
    """The error after so many steps; None if the run has fewer."""
    cell = next((cell for cell in cells if (cell["data"], cell["solver"], cell["seed"]) == (data, name, 0)), None)
    if cell is None or cell["steps"] < steps:
        return None
    curve = curve_of(cell)
    last = np.flatnonzero(curve["steps"] <= steps)[-1]
    return float(curve["objective"][last] / minimum_of(cells, data, name.endswith("-b")) - 1.0)


def markdown(cells: list[Cell]) -> str:
    """The report: for each level a table, errors after some iterations, test accuracies, and what the restarts do."""
    sets = sets_of(cells)
    parts = ["# Figures 1 to 4 in numbers", _LEGEND]
    by_key = {(cell["data"], cell["solver"]): cell for cell in cells if cell["seed"] == 0}
    names = [name for name in SOLVERS if any(cell["solver"] == name for cell in cells)]
    parts.append(_problems(cells, sets))
    for level in LEVELS:
        lines = []
        for name in names:
            shown = [_shown(cells, by_key.get((data, name)), level) for data in sets]
            lines.append([name, *shown, paper.STATEMENTS[name]])
        parts += [f"## To {level:g}", markdown_table(["method", *sets, "the paper, Sec. 5"], lines)]
    parts += ["## Errors after some iterations", _ERRORS, _errors(cells, sets)]
    lines = []
    for name in names:
        pairs = [(by_key.get((data, name)), by_key.get((data, REFERENCES[False]))) for data in sets]
        lines.append([name, *(_accuracy(*pair) for pair in pairs)])
    for intercept, name in REFERENCES.items():
        tests = [by_key[data, name]["test"] if (data, name) in by_key else np.nan for data in sets]
        lines.append([f"the minimum, {'an' if intercept else 'no'} intercept", *(f"{test:.2f}" for test in tests)])
    parts += ["## Test accuracy, %", _ACCURACY, markdown_table(["method", *sets], lines)]
    parts += ["## Restarts of pragam", _RESTARTS, _restarts(cells, by_key, sets)]
    return "\n\n".join(parts)


_LEGEND = (
    "Iterations until the lowest objective so far is within that share of the minimum, then processor seconds of the "
    "solver [least–most of three seeds where the order is random]; "
    "`>` if it was not within the cap, or the method ended by itself (LIBLINEAR after 300 passes), with the error at "
    "the end. An iteration is a step of the method: a pass over the examples that are not set aside for "
    "dual_coordinate and LIBLINEAR, and a whole pass for pegasos-1 (n of its steps). The minimum is a certified lower "
    "bound, so errors are never smaller than true ones."
)
_ACCURACY = (
    "Of the model with the lowest objective: at the end of the run; in parentheses the seconds after which it stayed "
    "at least within 0.5 points of that of the minimum without an intercept. 0.00 is the start w = 0, if nothing was "
    "lower. The last lines are those of the runs that were made for the minimum."
)
_ERRORS = (
    "The lowest objective so far over the minimum, less one, of the methods whose iteration is a pass over all "
    "examples; a dash: the run ended before."
)
_RESTARTS = (
    "Iterations and seconds with the restarts of `Pragam()`, and without them, which is the paper's method. Until the "
    "first restart, when μ is a thousandth of its first value and μ/2 a tenth of J(0), the two are the same, so that "
    "differences in seconds at equal iterations are noise."
)


def _errors(cells: list[Cell], sets: list[str]) -> str:
    lines = []
    for steps in ITERATIONS:
        for name in COMPARED:
            found = [error_after(cells, data, name, steps) for data in sets]
            lines.append([str(steps), name, *("–" if error is None else f"{error:.2g}" for error in found)])
    return markdown_table(["iterations", "method", *sets], lines)


def _restarts(cells: list[Cell], by_key: dict[tuple[str, str], Cell], sets: list[str]) -> str:
    lines = [
        [f"{level:g}", name, *(_shown(cells, by_key.get((data, name)), level) for data in sets)]
        for level in (1e-1, 1e-2, *LEVELS)
        for name in ("pragam", "pragam, no restart")
    ]
    return markdown_table(["to", "method", *sets], lines)


def _problems(cells: list[Cell], sets: list[str]) -> str:
    lines = []
    for data in sets:
        first = next(cell for cell in cells if cell["data"] == data)
        gaps = []
        for intercept in (False, True):
            own = [cell for cell in cells if cell["data"] == data and cell["solver"].endswith("-b") == intercept]
            bound = minimum_of(cells, data, intercept)
            gaps.append(f"{bound:.8f} ({min(cell['lowest'] for cell in own) / bound - 1.0:.0e})" if own else "–")
        lam = f"2^{np.log2(first['lam']):g}" if data in paper.COUNTERPARTS else f"{first['lam']:g}"
        lines.append([data, paper.COUNTERPARTS.get(data, "–"), first["description"], lam, *gaps])
    head = ["data", "in the paper", "size", "λ", "minimum (known to)", "minimum with intercept (known to)"]
    return markdown_table(head, lines)


def _shown(cells: list[Cell], own: Cell | None, level: float) -> str:
    if own is None:
        return "–"
    found = reached(cells, own["data"], own["solver"], level)
    if found is None:
        error = own["lowest"] / minimum_of(cells, own["data"], own["solver"].endswith("-b")) - 1.0
        return f">{own['steps']:d}, >{own['total']:.2g} s (at {error:.0e})"
    seeds = {cell["seed"] for cell in cells if (cell["data"], cell["solver"]) == (own["data"], own["solver"])}
    all_found = [reached(cells, own["data"], own["solver"], level, seed) for seed in sorted(seeds)]
    seconds = [one[1] for one in all_found if one is not None]
    spread = f" [{min(seconds):.2g}–{max(seconds):.2g}]" if len(seconds) > 1 else ""
    missed = sum(one is None for one in all_found)
    return f"{found[0]:.0f}, {found[1]:.2g} s{spread}" + (f", {missed} of {len(seeds)} seeds not" if missed else "")


def settled(cell: Cell, accuracy: float) -> float | None:
    """Seconds after which the test accuracy never again was below this less half a point."""
    curve = curve_of(cell)
    below = np.flatnonzero(curve["test"] < accuracy - 0.5)
    first = below[-1] + 1 if len(below) else 0
    return float(curve["seconds"][first]) if first < len(curve["seconds"]) else None


def _accuracy(cell: Cell | None, best: Cell | None) -> str:
    if cell is None or best is None:
        return "–"
    seconds = settled(cell, best["test"])
    return f"{curve_of(cell)['test'][-1]:.2f} ({'never' if seconds is None else f'{seconds:.2g} s'})"


if __name__ == "__main__":
    main()

"""Figures 2 to 26, 27 to 29 (the choice of mu) and 30 to 32 (L-BFGS against accelerated gradients).

    python reproductions/zhang2012/figures.py                prbep.png, roc_auc.png, c_mu.png, agm.png, studies.md
    python reproductions/zhang2012/figures.py --report-only  the pictures from results/runs.json and studies.json
    python reproductions/zhang2012/figures.py --quick        the same from made-up data, nothing is kept

The first two are drawn from the runs of table2.py: a data set in a line, for each lambda the objective above the
minimum and the test measure.  The others have runs of their own at lambda = 1e-6 with a fixed mu, kept in
results/studies.json.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# before NumPy is loaded: processor seconds of idle threads would count
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/zhang2012/figures.py`

import numpy as np

from benchmarks.ledger import Cell, Ledger
from benchmarks.report import markdown_table
from reproductions.provenance import StampedLedger
from reproductions.zhang2012 import paper
from reproductions.zhang2012.origin import STUDIED, TABLE2
from reproductions.zhang2012.runs import (
    KEY,
    MEASURES,
    NEAR,
    RACERS,
    RESULTS,
    STUDY_CAP,
    Row,
    curve_of,
    described,
    load,
    run,
    run_missing,
    warm_up,
)
from reproductions.zhang2012.table2 import rows_of

_STUDIED = ("a9a", "web8", "covertype")
_LAM = 1e-6
_SMS = tuple(f"sms c_mu={c_mu:g}" for c_mu in paper.C_MU)
#: Fenchel's first matrix and D at the paper's usual c_mu
_NEWTON = "c_mu=10"
_COLOURS = {"smoothing": "#0072b2", "sms": "#56b4e9", "level": "#009e73", "plain": "#d55e00", "agm": "#d55e00"}
_COLOURS |= dict(zip(_SMS, ("#cc79a7", "#e69f00", "#56b4e9"), strict=True)) | {_NEWTON: "#009e73"}
_NAMES = {
    "smoothing": "Fenchel's smoothing, $\\mu$ decreases",
    "sms": "SMS of the paper, $c_\\mu = 10$",
    "level": "stabilised bundle",
    "plain": "plain bundle (BMRM)",
    "agm": "accelerated gradients (AGM), $c_\\mu = 10$",
    **{f"sms c_mu={c_mu:g}": f"SMS (L-BFGS), $c_\\mu = {c_mu:g}$" for c_mu in paper.C_MU},
    _NEWTON: "L-BFGS with a Newton-type first matrix, $c_\\mu = 10$",
}
_MEASURES = {"prbep": "PRBEP", "roc_auc": "ROC area"}
#: errors below this are not drawn: the minimum is not known better than to a relative gap of about 1e-3
_LEAST = 1e-4


def main() -> None:
    """Run what is missing and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--sets", nargs="+", default=list(_STUDIED), help="of the studies; see benchmarks/binary.py")
    parser.add_argument("--cap", type=float, default=STUDY_CAP, help="processor seconds for a solver of the studies")
    parser.add_argument("--again", action="store_true", help="make the runs of the studies again")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--quick", action="store_true", help="made-up data")
    options = parser.parse_args()
    studied: Sequence[str] = _STUDIED
    if options.quick:
        studied, options.sets, options.cap = ["simulated"], ["simulated"], 0.3
        if options.output == RESULTS:
            options.output = Path(tempfile.mkdtemp())
    runs = StampedLedger(TABLE2, options.output)
    studies = StampedLedger(STUDIED, options.output)
    if options.quick and not options.report_only:
        rows = (Row("simulated", measure, lam) for measure in MEASURES for lam in paper.LAMBDAS[:2])
        run_missing(runs, rows, options.cap)
    if not options.report_only:
        _run_studies(studies, options.sets, options.cap, options.again)
    for measure in MEASURES:
        progress(runs.cells, measure, options.output / f"{measure}.png")
    together = [*runs.cells, *studies.cells]
    study(together, studied, ("smoothing", *_SMS), options.output / "c_mu.png")
    study(together, studied, (_SMS[-1], _NEWTON, "agm"), options.output / "agm.png")
    (options.output / "studies.md").write_text(markdown(together, studied) + "\n", encoding="utf-8")


def bound_of(cells: Sequence[Cell], row: Row) -> float:
    """The best bound that any run on a problem has."""
    return max(cell["dual"] for cell in cells if Row(cell["data"], cell["measure"], cell["lam"]) == row)


def markdown(cells: Sequence[Cell], studied: Sequence[str]) -> str:
    """Figures 27 to 32 in numbers."""
    lines = []
    by_key = {tuple(cell[field] for field in KEY): cell for cell in cells}
    for data in studied:
        for measure in MEASURES:
            row = Row(data, measure, _LAM)
            for name in ("smoothing", *_SMS, _NEWTON, "agm"):
                cell = by_key.get((*row, name))
                if cell is None:
                    continue
                curve, bound = curve_of(cell), bound_of(cells, row)
                found = []
                for share in (NEAR, 2e-3):
                    near = np.flatnonzero(curve["objective"] <= (1.0 + share) * bound)
                    shown = f"{curve['seconds'][near[0]]:.2g} s, {curve['passes'][near[0]]:.0f}" if len(near) else "–"
                    found.append(shown)
                error = float(np.min(curve["objective"])) - bound
                relative = f" ({100.0 * error / bound:.2g}%)" if bound > 0.0 else ""
                end = f"{error:.1e}{relative}, {cell['total']:.2g} s"
                ended = "at the cap" if cell["status"] == "INTERRUPTED" else "by itself"
                shown_name = _NAMES[name].replace("$", "").replace("\\mu", "μ")
                lines.append([data, _MEASURES[measure], shown_name, *found, end, ended, f"{curve['test'][-1]:.2f}"])
    head = ["data", "measure", "method", "to 1%: seconds, passes", "to 0.2%", "error at the end", "ended", "test, %"]
    return "\n\n".join(["# Figures 27 to 32 in numbers", _LEGEND, markdown_table(head, lines)])


_LEGEND = (
    "λ = 1e-6, one run each. Errors are those of the objective above the best certified bound, absolute (the paper's ε "
    "is 1e-3) and in percent of it; they and the moments are those of the points of the curves, which are 15% of time "
    "apart."
)


def _run_studies(ledger: Ledger, studied: Sequence[str], cap: float, again: bool) -> None:
    for data in studied:
        warmed = False
        for measure in MEASURES:
            row = Row(data, measure, _LAM)
            for name in (*_SMS, _NEWTON, "agm"):
                if not again and ledger.has(**row._asdict(), solver=name):
                    continue
                if not warmed:
                    warm_up(data)
                    warmed = True
                watched, solution = run(load(data), row, name, cap)
                ledger.add([described(row, name, watched, solution)])
                print(f"{data} {measure} {name}: {solution}", flush=True)


def _grid(lines: int, columns: int, width: float, height: float) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    size = (width * columns, height * lines + 0.7)
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    for ax in axes.ravel():
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter(NullFormatter())
    return figure, axes


def _finish(figure: Any, axes: Any, names: Sequence[str], file: Path) -> None:
    """Labels on the outside, one legend for all, and the file."""
    from matplotlib.lines import Line2D

    for ax in axes[-1]:
        ax.set_xlabel("processor seconds")
    lines = [Line2D([], [], color=_COLOURS[name], label=_NAMES[name]) for name in names]
    figure.legend(handles=lines, loc="outside upper center", ncols=len(names), frameon=False, fontsize=12)
    figure.savefig(file, dpi=80)


def _draw(error: Any, test: Any, cell: Cell, bound: float) -> None:
    """The curves of one run: the objective above the minimum, and the test measure."""
    curve, colour = curve_of(cell), _COLOURS[cell["solver"]]
    seconds = np.maximum(curve["seconds"], 1e-3)
    error.plot(seconds, np.maximum(curve["objective"] / bound - 1.0, _LEAST), color=colour)
    # at w = 0, where solvers start, there is no order to be tested
    moved = curve["objective"] != curve["objective"][0]
    test.plot(seconds[moved], curve["test"][moved], color=colour)


def _as_error(ax: Any) -> None:
    ax.axhline(NEAR, color="black", linewidth=0.7, linestyle=":")
    ax.set_yscale("log")
    ax.set_ylim(bottom=0.7 * _LEAST)


def progress(cells: list[Cell], measure: str, file: Path) -> None:
    """Figures 2 to 26: a line for each data set, lambda from left to right, first objectives and then test measures."""
    rows = {row: solvers for row, solvers in rows_of(cells).items() if row.measure == measure}
    sets = list(dict.fromkeys(row.data for row in rows))
    figure, axes = _grid(len(sets), 2 * len(paper.LAMBDAS), 2.9, 2.0)
    for line, data in enumerate(sets):
        for column, lam in enumerate(paper.LAMBDAS):
            error, test = axes[line, column], axes[line, column + len(paper.LAMBDAS)]
            solvers = rows.get(Row(data, measure, lam), {})
            for name in RACERS:
                if name in solvers:
                    _draw(error, test, solvers[name], solvers[name]["bound"])
            _as_error(error)
            power = f"$\\lambda = 10^{{{round(np.log10(lam))}}}$"
            for ax in (error, test):
                ax.set_title(f"{data}, {power}{'' if solvers else ': not run'}", fontsize=10)
                if not solvers:
                    ax.tick_params(labelleft=False, labelbottom=False)
        axes[line, 0].set_ylabel("objective ÷ minimum - 1")
        axes[line, len(paper.LAMBDAS)].set_ylabel(f"test {_MEASURES[measure]}, %")
    _finish(figure, axes, RACERS, file)


def study(cells: list[Cell], studied: Sequence[str], names: Sequence[str], file: Path) -> None:
    """Figures 27 to 32: a column for each data set; for each measure the objective and the test measure."""
    by_key = {tuple(cell[field] for field in KEY): cell for cell in cells}
    figure, axes = _grid(2 * len(MEASURES), len(studied), 4.2, 2.3)
    for column, data in enumerate(studied):
        for place, measure in enumerate(MEASURES):
            error, test = axes[2 * place, column], axes[2 * place + 1, column]
            found = [cell for name in names if (cell := by_key.get((data, measure, _LAM, name)))]
            for cell in found:
                _draw(error, test, cell, bound_of(cells, Row(data, measure, _LAM)))
            _as_error(error)
            error.set_title(f"{data}, {_MEASURES[measure]}, $\\lambda = 10^{{-6}}$", fontsize=10)
            if column == 0:
                error.set_ylabel("objective ÷ minimum - 1")
                test.set_ylabel(f"test {_MEASURES[measure]}, %")
    _finish(figure, axes, names, file)


if __name__ == "__main__":
    main()

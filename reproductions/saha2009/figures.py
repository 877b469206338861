"""Figures 1 to 4: objective error and test accuracy, against iterations and against time, from the runs of table.py.

python reproductions/saha2009/figures.py            results/figure1.png to figure4.png from results/runs.json
python reproductions/saha2009/figures.py --quick    the same from made-up data, nothing is kept

As in the paper pegasos-1 is not in Figure 1, since a step of it sees one example, and pragam-b, which has another
objective, is only in Figures 3 and 4.  Nothing is run here but with --quick, so --report-only changes nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

# before NumPy is loaded: processor seconds of idle threads would count
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/saha2009/figures.py`

import numpy as np

from benchmarks.ledger import Cell
from reproductions.provenance import StampedLedger
from reproductions.saha2009.origin import RUNS
from reproductions.saha2009.runs import PEERS, RESULTS, SOLVERS, curve_of, minimum_of, run_missing
from reproductions.saha2009.table import LEVELS, sets_of

_STYLES: dict[str, tuple[str, str]] = {
    "pragam": ("#d55e00", "-"),
    "pragam, no restart": ("#d55e00", "--"),
    "pragam-b": ("#e69f00", "-"),
    "ls-bmrm": ("#009e73", "-"),
    "qp-bmrm": ("#56b4e9", "-"),
    "dual_coordinate": ("#000000", "-"),
    "LIBLINEAR": ("#0072b2", "-"),
    "LIBLINEAR, older": ("#0072b2", "--"),
    "pegasos-n": ("#cc79a7", "-"),
    "pegasos-1": ("#cc79a7", "--"),
}
#: number, abscissa, ordinate, methods that are left out
_FIGURES = (
    (1, "steps", "objective", ("pegasos-1", "pragam-b")),
    (2, "seconds", "objective", ("pragam-b",)),
    (3, "steps", "test", ("pegasos-1",)),
    (4, "seconds", "test", ()),
)
_AXES = {"steps": "iterations", "seconds": "processor seconds", "objective": "lowest objective ÷ minimum - 1"}
_AXES["test"] = "test accuracy, %"
#: errors below this are not drawn; runs end at 1e-6
_LEAST = 1e-6
#: accuracies are drawn from this many points below the worst at the end, but for methods that are this much worse
_BELOW, _FAR = 4.0, 12.0


def main() -> None:
    """Draw, with --quick after runs on made-up data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--quick", action="store_true", help="made-up data")
    options = parser.parse_args()
    if options.quick and options.output == RESULTS:
        options.output = Path(tempfile.mkdtemp())
    ledger = StampedLedger(RUNS, options.output)
    if options.quick and not options.report_only:
        run_missing(ledger, ["simulated"], list(SOLVERS), 0.2)
    for number, across, up, absent in _FIGURES:
        picture(ledger.cells, across, up, absent, options.output / f"figure{number}.png")


def picture(cells: list[Cell], across: str, up: str, absent: tuple[str, ...], file: Path) -> None:
    """A panel for each data set, and the legend in the last place."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    sets = sets_of(cells)
    columns = min(3 if len(sets) < 6 else 4, len(sets) + 1)
    lines = -(-(len(sets) + 1) // columns)
    size = (4.6 * columns, 3.5 * lines)
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    run = {cell["solver"] for cell in cells}
    names = [name for name in SOLVERS if name not in absent and name in run]
    for ax, data in zip(axes.ravel(), sets, strict=False):
        own = {cell["solver"]: cell for cell in cells if cell["data"] == data and cell["seed"] == 0}
        _panel(ax, [own[name] for name in names if name in own], across, up, minimum_of(cells, data, False))
        power = np.log2(next(iter(own.values()))["lam"])
        ax.set_title(f"{data}, $\\lambda = 2^{{{power:.3g}}}$", fontsize=11)
        ax.set_xlabel(_AXES[across])
        ax.set_ylabel(_AXES[up])
    for ax in axes.ravel()[len(sets) :]:
        ax.axis("off")
    handles = [Line2D([], [], color=_STYLES[name][0], linestyle=_STYLES[name][1], label=name) for name in names]
    axes.ravel()[len(sets)].legend(handles=handles, loc="center", frameon=False, fontsize=12)
    figure.savefig(file, dpi=80)
    plt.close(figure)


def _panel(ax: Any, cells: list[Cell], across: str, up: str, minimum: float) -> None:
    """The curves of all methods on one set."""
    from matplotlib.ticker import NullFormatter

    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25)
    ax.set_xscale("log")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ends = [curve_of(cell)["test"][-1] for cell in cells] or [0.0]
    top = max((np.max(curve_of(cell)["test"]) for cell in cells), default=0.0)
    for cell in cells:
        curve, (colour, line) = curve_of(cell), _STYLES[cell["solver"]]
        values = np.maximum(curve[up] / minimum - 1.0, _LEAST) if up == "objective" else curve[up]
        # each point of LIBLINEAR's is a run of its own
        marker = "o" if cell["solver"] in PEERS else None
        ax.plot(curve[across], values, color=colour, linestyle=line, linewidth=1.6, marker=marker, markersize=3)
    if up == "objective":
        for level in LEVELS:
            ax.axhline(level, color="black", linewidth=0.7, linestyle=":")
        ax.set_yscale("log")
        ax.set_ylim(0.8 * _LEAST, 10.0)
    else:
        ax.set_ylim(min(end for end in ends if end > max(ends) - _FAR) - _BELOW, top + 0.1 * _BELOW)


if __name__ == "__main__":
    main()

"""Figures 1 and 2, Walrus against greedy steps as in Shark, and a figure of linear convergence (Theorem 3.6).

    python reproductions/wang2021/figures.py          results/figure1.png, figure2.png and convergence.png
    python reproductions/wang2021/figures.py --quick  the same from made-up data, nothing is kept

Figures 1 and 2 are drawn from the runs of race.py; the third has runs of its own, kept in results/traces.json.  Time
is that of the solver alone, as in the paper.  Figure 1 is at C = 1; the paper takes its C from another paper's
supplement.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/wang2021/figures.py`

from benchmarks.classes import load_split
from benchmarks.ledger import Cell
from fenchel import solve
from reproductions.provenance import StampedLedger
from reproductions.wang2021 import paper, race
from reproductions.wang2021.origin import RACE, TRACES
from reproductions.wang2021.race_sets import CLASSES
from reproductions.wang2021.runs import RESULTS, problem_of, solver_of, warm_up

_COLOURS = {"walrus": "#0072b2", "greedy": "#d55e00", 0.09: "#56b4e9", 0.009: "#0072b2", 0.0009: "#1b1b4b"}
_NAMES = {"walrus": "Walrus", "greedy": "greedy, as in Shark"}
#: about this many points of a trace are kept
_POINTS = 200


def main() -> None:
    """Run what is missing and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--again", action="store_true", help="make the runs of the last figure again")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--quick", action="store_true", help="made-up data")
    options = parser.parse_args()
    if options.quick and options.output == RESULTS:
        options.output = Path(tempfile.mkdtemp())
    traces = StampedLedger(TRACES, options.output, options.again)
    runs = StampedLedger(RACE, options.output)
    rates = [("dna", -3), ("dna", 0), ("satimage", -3), ("satimage", 0)]
    if options.quick:
        rates = [("clouds", 0)]
        race.run_missing(runs, race.jobs(["clouds"], 1))
    if not options.report_only:
        warm_up()
        for data, exponent in rates:
            _keep_trace(traces, data, exponent)
    figure1(runs.cells, options.output / "figure1.png")
    figure2(runs.cells, options.output / "figure2.png")
    convergence(traces.cells, options.output / "convergence.png")


def _keep_trace(ledger: StampedLedger, data: str, exponent: int) -> None:
    identity = {"figure": "convergence", "data": data, "exponent": exponent, "inner": "root"}
    if ledger.has(**identity):
        return
    split, C = load_split(data), 2.0**exponent
    options: dict[str, Any] = {"tol": 1e-9, "certify_every": 5.0, "max_iter": 20_000, "time_limit": 600.0}
    solution = solve(problem_of(split, C), solver_of(split, C, "root", 0), **options)
    # the paper's objective is ours times C n
    scale = C * len(split.classes)
    trace = [[point.passes, scale * point.primal, scale * point.dual] for point in solution.trace]
    thinned = np.array(trace[:: max(1, len(trace) // _POINTS)]).T
    lines = {
        name: " ".join(f"{value:.12g}" for value in values)
        for name, values in zip(("passes", "primal", "dual"), thinned, strict=True)
    }
    ledger.add([{**identity, **lines}])
    print(f"{data} C = 2^{exponent}: {solution}", flush=True)


def _axes(columns: int, width: float = 5.0) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=(width * columns, 3.8), squeeze=False, layout="constrained")
    for ax in axes[0]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
    return figure, axes[0]


def figure1(cells: list[Cell], file: Path) -> None:
    """Primal and dual objective against time: the authors' program, then ours, a column for each set."""
    drawn = [cell for cell in cells if "curve" in cell]
    sets = [data for data in race.DRAWN if any(cell["data"] == data for cell in drawn)]
    if not sets:
        return
    figure, axes = _axes(2 * len(sets), 4.4)
    places = [(data, authors) for data in sets for authors in (True, False)]
    for ax, (data, authors) in zip(axes, places, strict=True):
        for inner in race.OURS:
            name = f"authors' {inner}" if authors else inner
            found = [cell for cell in drawn if (cell["data"], cell["contender"]) == (data, name)]
            for cell in found:
                curve = {key: np.array(line.split(), dtype=float) for key, line in cell["curve"].items()}
                style = {"color": _COLOURS[inner], "linewidth": 1.6}
                ax.plot(curve["seconds"], curve["primal"], label=f"{_NAMES[inner]}, primal", **style)
                ax.plot(curve["seconds"], curve["dual"], label=f"{_NAMES[inner]}, dual", linestyle="--", **style)
        whose = "the authors' program" if authors else "ours"
        ax.set_title(f"{data} ({CLASSES[data]} classes), C = 1, {whose}", fontsize=10)
        ax.set(xlabel="processor seconds", ylabel="objective", xscale="log", yscale="log")
        # labels between powers of ten would overlap
        ax.xaxis.set_minor_formatter("")
    axes[0].legend(frameon=False, fontsize=9)
    figure.savefig(file, dpi=100)


def figure2(cells: list[Cell], file: Path) -> None:
    """Time of Walrus over time of greedy steps, a dot for each set, C, decay and seed."""
    sets = race.sets_of(cells)
    figure, axes = _axes(2, 7.0)
    random = np.random.default_rng(0)
    for ax, authors in zip(axes, (True, False), strict=True):
        own = race.ratios(cells, authors)
        for offset, decay in zip((-0.25, 0.0, 0.25), paper.DECAYS, strict=True):
            dots = [
                (sets.index(data) + offset + random.uniform(-0.07, 0.07), value)
                for (data, _, at), values in own.items()
                if at == decay
                for value in values
            ]
            if dots:
                ax.scatter(*zip(*dots, strict=True), s=16, color=_COLOURS[decay], alpha=0.8, label=f"δ = {decay:g}")
        ax.axhline(1.0, color="black", linewidth=0.8)
        ax.set_yscale("log")
        ax.set_yticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
        ax.minorticks_off()
        ax.set_xticks(range(len(sets)), [f"{data}\n$k$ = {CLASSES[data]:,}" for data in sets])
        ax.set(ylabel="seconds of Walrus ÷ seconds of greedy steps", xlim=(-0.5, len(sets) - 0.5))
        ax.set_title("The authors' program" if authors else "Ours")
    axes[1].legend(frameon=False)
    figure.savefig(file, dpi=100)


def convergence(cells: list[Cell], file: Path) -> None:
    """Duality gap against passes: a line on a logarithmic scale."""
    if not cells:
        return
    figure, (ax,) = _axes(1, 7.0)
    for cell in cells:
        passes, primal, dual = (np.array(cell[name].split(), dtype=float) for name in ("passes", "primal", "dual"))
        known = primal - dual > 0.0
        power = f"2^{{{cell['exponent']}}}"
        ax.plot(passes[known], (primal - dual)[known] / (primal - dual)[0], label=f"{cell['data']}, $C = {power}$")
    ax.set_yscale("log")
    ax.set(xlabel="passes over the data", ylabel="gap ÷ gap after the first pass", title="Linear convergence")
    ax.legend(frameon=False)
    figure.savefig(file, dpi=130)


if __name__ == "__main__":
    main()

"""Figures 1 and 2, Walrus against greedy steps as in Shark, and a figure of linear convergence (Theorem 3.6).

    python reproductions/wang2021/figures.py          results/figure1.png, figure2.png and convergence.png
    python reproductions/wang2021/figures.py --quick  the same from made-up data, nothing is kept

Figure 1 has runs of its own, kept in results/traces.json; Figure 2 is drawn from the runs of tables.py.  Time is that
of the solver alone, as in the paper.  Figure 1 is at C = 1; the paper takes its C from another paper's supplement.
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
from benchmarks.ledger import Cell, Ledger
from fenchel import solve
from reproductions.wang2021 import paper
from reproductions.wang2021.runs import KEY, RESULTS, Job, problem_of, run_missing, solver_of, warm_up
from reproductions.wang2021.tables import crossing

_COLOURS = {"walrus": "#0072b2", "greedy": "#d55e00", 0.09: "#56b4e9", 0.009: "#0072b2", 0.0009: "#1b1b4b"}
_NAMES = {"walrus": "Walrus", "greedy": "greedy, as in Shark"}
#: about this many points of a trace are kept
_POINTS = 200
#: classes of the sets, for the order on the axis
_CLASSES = {"dna": 3, "clouds": 4, "satimage": 6, "mnist": 10, "news20": 20, "letter": 26, "sector": 105}


def main() -> None:
    """Run what is missing and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="made-up data")
    options = parser.parse_args()
    if options.quick and options.output == RESULTS:
        options.output = Path(tempfile.mkdtemp())
    traces = Ledger(options.output / "traces.json", ("figure", "data", "exponent", "inner"))
    runs = Ledger(options.output / "runs.json", KEY)
    race, rates = ["satimage", "sector"], [("dna", -3), ("dna", 0), ("satimage", -3), ("satimage", 0)]
    if options.quick:
        race, rates = ["clouds"], [("clouds", 0)]
        run_missing(runs, (Job("clouds", 0, 0, inner) for inner in ("walrus", "greedy")), 60.0)
    warm_up()
    for data in race:
        for inner in ("walrus", "greedy"):
            _keep_trace(traces, "1", data, 0, inner, decay=0.009, certify_every=1.0)
    for data, exponent in rates:
        _keep_trace(traces, "convergence", data, exponent, "root", tol=1e-9, certify_every=5.0)
    figure1(traces.cells, race, options.output / "figure1.png")
    figure2(runs.cells, options.output / "figure2.png")
    convergence(traces.cells, options.output / "convergence.png")


def _keep_trace(ledger: Ledger, figure: str, data: str, exponent: int, inner: str, **stop: Any) -> None:
    identity = {"figure": figure, "data": data, "exponent": exponent, "inner": inner}
    if ledger.has(**identity):
        return
    split, C = load_split(data), 2.0**exponent
    options = {"tol": 0.0, "max_iter": 20_000, "time_limit": 600.0, **stop}
    solution = solve(problem_of(split, C), solver_of(split, C, inner, 0), **options)
    # the paper's objective is ours times C n
    scale = C * len(split.classes)
    trace = [
        [point.seconds_solving, point.passes, scale * point.primal, scale * point.dual] for point in solution.trace
    ]
    thinned = trace[:: max(1, len(trace) // _POINTS)]
    ledger.add([{**identity, "trace": [[float(f"{value:.12g}") for value in point] for point in thinned]}])
    print(f"{data} C = 2^{exponent} {inner}: {solution}", flush=True)


def _axes(columns: int, width: float = 5.0) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=(width * columns, 3.8), squeeze=False, layout="constrained")
    for ax in axes[0]:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
    return figure, axes[0]


def figure1(cells: list[Cell], sets: list[str], file: Path) -> None:
    """Primal and dual objective against time."""
    figure, axes = _axes(len(sets))
    for ax, data in zip(axes, sets, strict=True):
        for inner in ("walrus", "greedy"):
            found = next(cell for cell in cells if (cell["figure"], cell["data"], cell["inner"]) == ("1", data, inner))
            seconds, _, primal, dual = np.array(found["trace"]).T
            ax.plot(seconds, primal, color=_COLOURS[inner], label=f"{_NAMES[inner]}, primal")
            ax.plot(seconds, dual, color=_COLOURS[inner], linestyle="--", label=f"{_NAMES[inner]}, dual")
        ax.set(title=f"{data} ({_CLASSES[data]} classes), C = 1", xlabel="seconds of the solver", ylabel="objective")
        ax.set_yscale("log")
    axes[0].legend(frameon=False)
    figure.savefig(file, dpi=130)


def figure2(cells: list[Cell], file: Path) -> None:
    """Time of Walrus over time of the greedy solver, a dot for each set, C and decay."""
    figure, (ax,) = _axes(1, 8.0)
    by_place = {(cell["data"], cell["exponent"], cell["inner"]): cell for cell in cells if cell["seed"] == 0}
    able = [key[:2] for key in by_place if key[2] == "walrus" and (*key[:2], "greedy") in by_place]
    sets = sorted({data for data, _ in able}, key=_CLASSES.__getitem__)
    rng = np.random.default_rng(0)
    for offset, decay in zip((-0.25, 0.0, 0.25), paper.DECAYS, strict=True):
        dots = []
        for data, exponent in able:
            both = [crossing(by_place[data, exponent, inner], decay) for inner in ("walrus", "greedy")]
            if both[0] is not None and both[1] is not None:
                place = sets.index(data) + offset + rng.uniform(-0.08, 0.08)
                dots.append((place, both[0]["solving"] / both[1]["solving"]))
        if dots:
            ax.scatter(*zip(*dots, strict=True), s=18, color=_COLOURS[decay], alpha=0.8, label=f"δ = {decay:g}")
    ax.axhline(1.0, color="black", linewidth=0.8)
    ax.set_yscale("log")
    ax.set_yticks([0.25, 0.5, 1, 2, 4, 8], ["¼", "½", "1", "2", "4", "8"])
    ax.set_xticks(range(len(sets)), [f"{data}\nk = {_CLASSES[data]}" for data in sets])
    ax.set(ylabel="time of Walrus ÷ time of greedy steps", title="A dot for each set, C = 2⁻⁶…2³ and decay δ")
    ax.legend(frameon=False)
    figure.savefig(file, dpi=130)


def convergence(cells: list[Cell], file: Path) -> None:
    """Duality gap against passes: a line on a logarithmic scale."""
    figure, (ax,) = _axes(1, 7.0)
    for cell in cells:
        if cell["figure"] == "convergence":
            _, passes, primal, dual = np.array(cell["trace"]).T
            known = primal - dual > 0.0
            power = f"2^{{{cell['exponent']}}}"
            ax.plot(passes[known], (primal - dual)[known] / (primal - dual)[0], label=f"{cell['data']}, $C = {power}$")
    ax.set_yscale("log")
    ax.set(xlabel="passes over the data", ylabel="gap ÷ gap after the first pass", title="Linear convergence")
    ax.legend(frameon=False)
    figure.savefig(file, dpi=130)


if __name__ == "__main__":
    main()

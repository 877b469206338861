"""Figures 2 to 7: Algorithm 1 and the augmented Lagrangian on two topics of Reuters-21578 (Sec. 6.2 and 6.3).

    python reproductions/zhang2002/figures.py                 results/figures2-3.png, figures4-6.png and figure7.png
    python reproductions/zhang2002/figures.py --report-only   the pictures from results/figures.json
    python reproductions/zhang2002/figures.py --quick         made-up documents, nothing is kept

Duality gap and test break-even after every pass, without shrinking: LM-Perc with the exact update (25), the others
with the gradient rule (23) and eta = 0.01 (Figures 2, 3); multiples t of the exact update and learning rates eta on
"trade" (Figures 4 to 6).  Figure 7 is Algorithm 3 for a free intercept with mu = 1, a tenth of the exact update (30),
and several eta in (31): |sum alpha|/(lam n), the gap of the problem whose intercept is held at s, as in the paper, and
that of the certificate, which restores the feasibility and chooses the best intercept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/zhang2002/figures.py`

from benchmarks.ledger import Cell, Ledger
from fenchel import Problem, solve
from fenchel.problem import Model, Witness
from fenchel.risks import MeanRisk
from fenchel.solvers import AugmentedLagrangian, DualCoordinate
from fenchel.solvers.dual_coordinate.loop import CENTRE, SUM
from fenchel.solvers.dual_coordinate.state import State
from fenchel.solving.solution import Progress
from reproductions.provenance import StampedLedger
from reproductions.zhang2002.collection import Collection, load, made_up
from reproductions.zhang2002.reuters import LARGE_MARGIN, RESULTS, line, numbers, signs
from reproductions.zhang2012.runs import break_even

KEY = ("topic", "method", "rate")
#: exponents of ten
LAMS = {"LM-Perc": -3.0, "Spars": -3.0, "LM-UWin": -4.0, "LM-NWin": -4.0}
#: of the exact update for LM-Perc, else eta
RATES = {"LM-Perc": (0.01, 0.1, 1.0, 10.0), "Spars": (1e-4, 1e-3, 0.01, 0.1), "LM-UWin": (1e-4, 1e-3, 0.01, 0.1)}
USUAL = {"LM-Perc": 1.0, "Spars": 0.01, "LM-UWin": 0.01, "LM-NWin": 0.01}
COMPARED = ("LM-Perc", "LM-NWin", "Spars")
#: of the multiplier
ETAS = (0.01, 0.1, 1.0, 10.0)
LAGRANGIAN = "augmented Lagrangian"
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def main() -> None:
    """Run what is missing and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=50)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--again", action="store_true", help="make all runs again")
    parser.add_argument("--quick", action="store_true", help="made-up documents, ten passes")
    options = parser.parse_args()
    from reproductions.zhang2002.origin import FIGURES

    topics = ["acq", "trade"]
    if options.quick:
        options.passes, topics = 10, ["topic0", "topic1"]
        if options.output == RESULTS:
            options.output = Path(tempfile.mkdtemp())
    ledger = StampedLedger(FIGURES, options.output, options.again)
    if not options.report_only:
        run(ledger, made_up() if options.quick else load(), topics, options.passes)
    compared(ledger.cells, topics, options.output / "figures2-3.png")
    learning_rates(ledger.cells, topics[-1], options.output / "figures4-6.png")
    feasibility(ledger.cells, topics[-1], options.output / "figure7.png")


def run(ledger: Ledger, data: Collection, topics: Sequence[str], passes: int) -> None:
    """What is missing."""
    jobs = [(topic, method, USUAL[method]) for topic in topics for method in COMPARED]
    jobs += [(topics[-1], method, rate) for method, rates in RATES.items() for rate in rates]
    jobs += [(topics[-1], LAGRANGIAN, eta) for eta in ETAS]
    for topic, method, rate in jobs:
        if ledger.has(topic=topic, method=method, rate=rate):
            continue
        job: Cell = {"topic": topic, "method": method, "rate": rate}
        ledger.add([job | (multiplier if method == LAGRANGIAN else convergence)(data, job, passes)])
        print(f"{topic}, {method}, {rate:g}", flush=True)


def convergence(data: Collection, job: Cell, passes: int) -> Cell:
    """Gap and break-even after each pass of Algorithm 1."""
    topic, method, rate = data.topics.index(job["topic"]), job["method"], job["rate"]
    regularizer, factor = LARGE_MARGIN[method]
    if method == "LM-Perc":
        solver = DualCoordinate(shrinking=False, rule="exact", stretch=rate)
    else:
        # the paper's eta is for its lam: with lam times the factor of the elastic net a step would be as much longer
        solver = DualCoordinate(shrinking=False, rule="gradient", learning_rate=rate / factor)
    problem = Problem(
        data.matrix, MeanRisk("hinge", signs(data.members[:, topic])), factor * 10.0 ** LAMS[method], regularizer
    )
    gaps, tested, labels = [1.0], [], signs(data.test_members[:, topic])

    def watch(progress: Progress) -> None:
        gaps.append(progress.present.primal - progress.present.dual)
        tested.append(break_even(labels, data.test_matrix @ progress.model.weights))

    solve(problem, solver, tol=0.0, max_iter=passes, certify_every=1, callback=watch)
    return {"lam": LAMS[method], "gap": line(gaps), "break_even": line(tested)}


@dataclass(frozen=True)
class Watched(AugmentedLagrangian):
    """The augmented Lagrangian with a note of each point that it proposes: |S| and the gap with the intercept at s."""

    notes: list[tuple[float, float]] = field(default_factory=list)

    def propose(self, state: State) -> tuple[Model, Witness]:
        """The point of the solver, noted."""
        model, witness = super().propose(state)
        problem, intercept = state.problem, state.outputs[0].intercept
        theta = state.theta()
        vectors = state.dual_vector(theta)
        centre, scores = float(intercept[CENTRE]), problem.design.scores(model.weights)
        primal = problem.lam * problem.regularizer.value(model.weights) + problem.risk.value(scores + centre)
        conjugate = problem.lam * problem.regularizer.conjugate(vectors) + problem.risk.conjugate(theta, feasible=True)
        self.notes.append((abs(float(intercept[SUM])), primal + conjugate + centre * float(np.sum(theta))))
        return model, witness


def multiplier(data: Collection, job: Cell, passes: int) -> Cell:
    """Feasibility and gaps after each pass of Algorithm 3; the constant feature gives way to a free intercept."""
    topic, exponent = data.topics.index(job["topic"]), LAMS["LM-Perc"]
    solver = Watched(shrinking=False, rule="exact", stretch=0.1, mu=1.0, eta=job["rate"])
    risk, gaps = MeanRisk("hinge", signs(data.members[:, topic])), []

    def watch(progress: Progress) -> None:
        gaps.append(progress.present.primal - progress.present.dual)

    problem = Problem(data.matrix[:, :-1], risk, 10.0**exponent, intercept=True)
    solve(problem, solver, tol=0.0, max_iter=passes, certify_every=1, callback=watch)
    sums, held = zip(*solver.notes, strict=True)
    return {"lam": exponent, "sum": line(sums), "held_gap": line(held), "gap": line(gaps)}


def _canvas(lines: int, columns: int) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    size = (4.6 * columns, 3.1 * lines)
    figure, axes = plt.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    for axis in axes.ravel():
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    return figure, axes


def _pair(axes: Any, title: str, curves: dict[str, Cell]) -> None:
    """Gap on the left and break-even on the right."""
    for colour, (label, cell) in zip(_COLOURS, curves.items(), strict=False):
        gap, tested = numbers(cell["gap"]), numbers(cell["break_even"])
        axes[0].plot(np.arange(len(gap)), gap, color=colour, label=label)
        axes[1].plot(np.arange(1, len(tested) + 1), tested, color=colour, label=label)
    axes[0].set(yscale="log", ylabel="duality gap", title=title)
    axes[1].set(ylabel="test break-even, %", title=title)
    for axis in axes:
        axis.set_xlabel("passes")
    axes[1].legend(frameon=False, fontsize=9)


def _by_key(cells: list[Cell]) -> dict[tuple[Any, ...], Cell]:
    return {tuple(cell[name] for name in KEY): cell for cell in cells}


def compared(cells: list[Cell], topics: Sequence[str], file: Path) -> None:
    """Figures 2 and 3: three methods, a line for each topic."""
    known = _by_key(cells)
    figure, axes = _canvas(len(topics), 2)
    for number, (line_of_axes, topic) in enumerate(zip(axes, topics, strict=True)):
        curves = {method: known[topic, method, USUAL[method]] for method in COMPARED}
        _pair(line_of_axes, f"Figure {number + 2}: {topic}", curves)
    figure.savefig(file, dpi=90)


def learning_rates(cells: list[Cell], topic: str, file: Path) -> None:
    """Figures 4 to 6: a line for each method."""
    known = _by_key(cells)
    figure, axes = _canvas(len(RATES), 2)
    for number, (line_of_axes, (method, rates)) in enumerate(zip(axes, RATES.items(), strict=True)):
        name = "t" if method == "LM-Perc" else "η"
        curves = {f"{name} = {rate:g}": known[topic, method, rate] for rate in rates}
        _pair(line_of_axes, f"Figure {number + 4}: {method}, {topic}", curves)
    figure.savefig(file, dpi=90)


def feasibility(cells: list[Cell], topic: str, file: Path) -> None:
    """Figure 7."""
    known = _by_key(cells)
    figure, axes = _canvas(1, 3)
    shown = {"sum": "|Σα|/(λn)", "held_gap": "gap with the intercept held at s", "gap": "gap of the certificate"}
    for axis, (name, label) in zip(axes[0], shown.items(), strict=True):
        for colour, eta in zip(_COLOURS, ETAS, strict=True):
            curve = numbers(known[topic, LAGRANGIAN, eta][name])
            axis.plot(np.arange(1, len(curve) + 1), curve, color=colour, label=f"η = {eta:g}")
        axis.set(yscale="log", xlabel="passes", ylabel=label, title=f"Figure 7: {topic}")
    axes[0, 2].legend(frameon=False, fontsize=9, loc="center right")
    figure.savefig(file, dpi=90)


if __name__ == "__main__":
    main()

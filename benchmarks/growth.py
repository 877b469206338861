"""How cost grows: seconds of a fit against rows, non-zeros, C and accuracy; hinge loss, no intercept, solver "auto".

    python benchmarks/growth.py --update-readme     everything, and the figure benchmarks/growth.png (about an hour)
    python benchmarks/growth.py --quick             small sizes

Fenchel runs at the tolerance that was asked for and proves it.  LIBLINEAR and scikit-learn's LinearSVC get the loosest
tolerance that reaches the same true suboptimality, as in the speed table.  Synthetic data: see synthetic.py.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/growth.py`

from benchmarks.data import load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish, teller
from benchmarks.report import README, markdown_table
from benchmarks.speed.contenders import FenchelProved
from benchmarks.speed.measuring import measure
from benchmarks.speed.peers import Liblinear, ScikitLearn
from benchmarks.speed.references import reference
from benchmarks.speed.rendering import cell_text
from benchmarks.speed.tasks import Task
from benchmarks.speed.worker import Order, Worker

CONTENDERS = (FenchelProved.name, Liblinear.name, ScikitLearn.name)
KEY = ("panel", "data", "C", "target", "contender")
_TARGET = 1e-3
#: the largest slope of time against non-zeros that we want
GOAL = 1.1
#: non-zeros from which on a fit is not mostly overhead
_LARGE = 900_000
FIGURE = README.with_name("growth.png")
_COLOURS = dict(zip(CONTENDERS, ("tab:blue", "tab:orange", "tab:green"), strict=True))


@dataclass(frozen=True)
class Point:
    """Fits that are measured side by side."""

    panel: str
    data: str
    C: float = 1.0
    targets: tuple[float, ...] = (_TARGET,)


#: what stands on the horizontal axis of a panel, and how a cell says it
PANELS: dict[str, str] = {"rows": "rows", "non-zeros": "stored", "C": "C", "accuracy": "target"}


def points(quick: bool) -> list[Point]:
    """What is measured, from small to large within each line."""
    rows = (10_000, 31_623) if quick else (10_000, 31_623, 100_000, 316_228, 1_000_000)
    subsamples = rows if quick else (10_000, 31_623, 100_000, 316_228, 581_012)
    nonzeros = (100_000, 316_228, 1_000_000) if quick else tuple(round(10 ** (5 + step / 2)) for step in range(6))
    exponents = (-1, 0, 1) if quick else range(-3, 4)
    digits = range(1, 5 if quick else 9)
    return [
        *(Point("non-zeros", f"text@{count}") for count in nonzeros),
        *(Point("C", "a9a", 10.0**exponent) for exponent in exponents),
        Point("accuracy", "a9a", targets=tuple(10.0**-digit for digit in digits)),
        *(Point("rows", f"gaussian@{count}") for count in rows),
        *(Point("rows", f"covtype@{count}") for count in subsamples),
    ]


def main() -> None:
    """Measure what is missing, draw, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--panel", nargs="+", choices=list(PANELS), default=list(PANELS))
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of each fit")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds that one run may take")
    parser.add_argument("--reference-seconds", type=float, default=120.0, help="for each optimum")
    add_common_options(parser, "growth.json, growth.md and (unless it goes into the README) growth.png")
    options = parser.parse_args()
    ledger = Ledger(options.output / "growth.json", KEY, options.fresh and not options.report_only)
    for point in [] if options.report_only else points(options.quick):
        same = {"panel": point.panel, "data": point.data, "C": point.C}
        done = all(ledger.has(**same, target=target, contender=CONTENDERS[0]) for target in point.targets)
        if point.panel in options.panel and (options.again or not done):
            print(f"{point.panel}: {point.data}, C = {point.C:g}", flush=True)
            ledger.add(_measured(point, options))
    figure = FIGURE if options.update_readme else options.output / FIGURE.name
    draw(ledger.cells, figure)
    publish(options, "growth", markdown(ledger.cells))


def _measured(point: Point, options: argparse.Namespace) -> list[Cell]:
    """All contenders at one point, in turn."""
    data = load(point.data)
    task = Task(data.matrix, data.labels, point.C)
    known = reference(point.data, task, options.reference_seconds, min(point.targets) / 100)
    workers = [Worker(Order(name, point.data, point.C, False, known), options.cap) for name in CONTENDERS]
    try:
        cells = measure([(worker, point.targets) for worker in workers], options.rounds, teller(options.verbose))
    finally:
        for worker in workers:
            worker.close(at_once=True)
    about = {"panel": point.panel, "rows": data.matrix.shape[0], "stored": data.stored, "description": data.description}
    return [{**cell, **about} for cell in cells]


def lines_of(cells: list[Cell], panel: str) -> dict[tuple[str, str], list[tuple[float, Cell]]]:
    """The points (place on the axis, cell) of each line of a panel, by kind of data and contender."""
    lines: dict[tuple[str, str], list[tuple[float, Cell]]] = {}
    for cell in cells:
        if cell["panel"] == panel and cell["status"] == "reached":
            kind = (cell["data"].partition("@")[0], cell["contender"])
            lines.setdefault(kind, []).append((cell[PANELS[panel]], cell))
    return {kind: sorted(line, key=lambda pair: pair[0]) for kind, line in lines.items()}


def slope_of(line: Sequence[tuple[float, Cell]]) -> float:
    """The slope of log time against the log of what grows, by least squares."""
    places, seconds = zip(*((math.log(place), math.log(cell["median"])) for place, cell in line), strict=True)
    return float(np.polyfit(places, seconds, 1)[0]) if len(places) > 1 else math.nan


def draw(cells: list[Cell], file: Path) -> None:
    """Four log-log panels; bands are from the fastest to the slowest run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8), layout="constrained")
    for panel, axis in zip(PANELS, axes.flat, strict=True):
        _draw_panel(axis, lines_of(cells, panel), panel)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def _draw_panel(axis: Any, lines: dict[tuple[str, str], list[tuple[float, Cell]]], panel: str) -> None:
    kinds = list(dict.fromkeys(kind for kind, _ in lines))
    for (kind, contender), line in lines.items():
        places, cells = zip(*line, strict=True)
        style = {"color": _COLOURS[contender], "linestyle": "-" if kind == kinds[0] else "--"}
        label = f"{contender}, {kind} (slope {slope_of(line):.2f})"
        axis.plot(places, [cell["median"] for cell in cells], marker="o", label=label, **style)
        edges = [[cell[edge] for cell in cells] for edge in ("least", "most")]
        axis.fill_between(places, *edges, color=_COLOURS[contender], alpha=0.15)
    axis.set(xscale="log", yscale="log", xlabel=panel, ylabel="seconds", title=f"time against {panel}")
    if panel == "accuracy":
        axis.invert_xaxis()
    axis.grid(True, which="major", alpha=0.3)
    if lines:
        axis.legend(fontsize="x-small")


def markdown(cells: list[Cell]) -> str:
    """The slopes, the picture and the numbers behind it."""
    if not cells:
        return "(not measured yet)"
    slopes = {(panel, *kind): line for panel in PANELS for kind, line in lines_of(cells, panel).items()}
    own = slopes.get(("non-zeros", "text", FenchelProved.name))
    goal = "" if own is None else f"{_goal(own)}\n\n"
    shown = [
        [panel, kind, contender, f"{slope_of(line):.2f}", str(len(line))]
        for (panel, kind, contender), line in slopes.items()
    ]
    table = markdown_table(["against", "data", "contender", "slope", "points"], shown)
    return f"{goal}![Time against rows, non-zeros, C and accuracy]({FIGURE.name})\n\n{table}\n\n{_numbers(cells)}"


def _goal(line: Sequence[tuple[float, Cell]]) -> str:
    """The slope against non-zeros; small fits are mostly overhead, so the large ones are also looked at alone."""
    slopes = {line[0][0]: slope_of(line)}
    large = [pair for pair in line if pair[0] >= _LARGE]
    if 1 < len(large) < len(line):
        slopes[large[0][0]] = slope_of(large)
    verdict = "met" if max(slopes.values()) <= GOAL else "missed"
    found = ", ".join(f"{slope:.2f} from {place:,} to {line[-1][0]:,}" for place, slope in slopes.items())
    return (
        f"Fenchel's time to a proved relative gap of {_TARGET:g} on synthetic texts (C = 1) grows as this power of the "
        f"number of non-zeros: {found} (goal: at most {GOAL}: {verdict})."
    )


def _numbers(cells: list[Cell]) -> str:
    rows: dict[tuple[Any, ...], dict[str, Cell]] = {}
    for cell in sorted(cells, key=lambda cell: list(PANELS).index(cell["panel"])):
        rows.setdefault(tuple(cell[field] for field in KEY[:-1]), {})[cell["contender"]] = cell
    lines = []
    for (panel, data, C, target), row in rows.items():
        own = row.get(FenchelProved.name)
        found = [cell_text(row.get(name), own) for name in CONTENDERS]
        description = next(iter(row.values()))["description"]
        lines.append([panel, f"{data} ({description})", f"{C:g}", f"{target:g}", *found])
    return markdown_table(["against", "data", "C", "accuracy", *CONTENDERS], lines)


if __name__ == "__main__":
    main()

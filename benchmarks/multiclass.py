"""Several classes at C = 1: the default against Walrus as printed, and Crammer-Singer against LIBLINEAR.

    python benchmarks/multiclass.py --update-readme                 all sets
    python benchmarks/multiclass.py --data dna --part decay         these cells

Part ``decay``: seconds of the solver alone, as in Wang and Scott (2021), until the duality gap of the Weston-Watkins
SVM is less than 0.009 times the one after the first pass.  The default is ``solve(problem, tol=0, decay=0.009)``;
Walrus is ``BlockCoordinate(inner="walrus", shrinking=False)``, whose gap is looked at after every pass.

Part ``liblinear``: seconds end to end until the Crammer-Singer objective is within 1e-3 of the optimum, relatively,
each at the loosest of its tolerances that gets there, found by a search that is not timed.  LIBLINEAR is the C function
``train`` with ``-s 4``; Fenchel is ``Problem`` and ``solve`` with all certificates.  The optimum is a lower bound that
Fenchel certifies.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/multiclass.py`

from benchmarks.classes import NAMES, Split, load_split
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

KEY = ("part", "data")
PARTS = ("decay", "liblinear")
_DECAY, _TARGET = 0.009, 1e-3
#: tolerances that are tried, from the loosest
_TOLERANCES = [10.0 ** (-step / 4) for step in range(-4, 25)]


def main() -> None:
    """Measure the cells that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(NAMES), help="see benchmarks/classes.py")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    add_common_options(parser, "multiclass.json and multiclass.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "multiclass.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        for part in options.part:
            if options.again or not ledger.has(part=part, data=name):
                split = load_split(name)
                seconds, about = {"decay": decay_seconds, "liblinear": liblinear_seconds}[part](split, options.rounds)
                known = {"part": part, "data": name, "description": split.description, "classes": split.count}
                ledger.add([{**known, "seconds": seconds, **about}])
                print(part, name, {key: statistics.median(values) for key, values in seconds.items()}, flush=True)
    publish(options, "multiclass", markdown(ledger.cells))


Seconds = dict[str, list[float]]


def decay_seconds(split: Split, rounds: int) -> tuple[Seconds, dict[str, Any]]:
    """Solver time of the default and of Walrus, in turns."""
    from fenchel import Problem, solve
    from fenchel.risks import WestonWatkins
    from fenchel.solvers import BlockCoordinate

    walrus = BlockCoordinate(inner="walrus", shrinking=False)
    settings: dict[str, dict[str, Any]] = {
        "default": {},
        "walrus": {"solver": walrus, "certify_every": 1.0},
    }
    seconds: Seconds = {name: [] for name in settings}
    passes = {}
    for options in settings.values():  # compiles
        solve(Problem(split.matrix, WestonWatkins(split.classes, split.count), 1.0), max_iter=1, **options)
    for _ in range(rounds):
        for name, options in settings.items():
            problem = Problem(split.matrix, WestonWatkins(split.classes, split.count), 1.0 / len(split.classes))
            solution = solve(problem, tol=0.0, decay=_DECAY, max_iter=1e5, **options)
            seconds[name].append(solution.trace[-1].seconds_solving)
            passes[name] = solution.passes
    return seconds, {"passes": passes}


def liblinear_seconds(split: Split, rounds: int) -> tuple[Seconds, dict[str, Any]]:
    """Time from data in memory to weights within the target, in turns."""
    from fenchel import Problem, solve
    from fenchel.risks import CrammerSinger

    lam = 1.0 / len(split.classes)
    known = solve(Problem(split.matrix, CrammerSinger(split.classes, split.count), lam), tol=_TARGET / 50, max_iter=1e5)
    problem = Problem(split.matrix, CrammerSinger(split.classes, split.count), lam)

    def suboptimality(weights: np.ndarray) -> float:
        value = lam * problem.regularizer.value(weights) + problem.risk.value(split.matrix @ weights.T)
        return (value - known.certificate.dual) / known.certificate.dual

    def fenchel(tolerance: float) -> np.ndarray:
        fresh = Problem(split.matrix, CrammerSinger(split.classes, split.count), lam)
        return np.asarray(solve(fresh, tol=tolerance, max_iter=1e5).model.weights)

    contenders = {"Fenchel": fenchel, "LIBLINEAR -s 4": _liblinear(split)}
    loosest = {name: _loosest(run, suboptimality) for name, run in contenders.items()}
    seconds: Seconds = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            begin = time.perf_counter()
            run(loosest[name])
            seconds[name].append(time.perf_counter() - begin)
    return seconds, {"tolerances": loosest, "reference_gap": float(known.certificate.relative_gap)}


def _liblinear(split: Split) -> Callable[[float], np.ndarray]:
    """A function from the tolerance to the weights, a row for each class."""
    from liblinear import liblinear as library

    data = library.problem(split.classes.astype(float), split.matrix)

    def run(tolerance: float) -> np.ndarray:
        parameter = library.parameter(f"-s 4 -c 1 -e {tolerance} -q")
        model = library.toPyModel(library.liblinear.train(data, parameter))
        shape = (model.nr_feature, model.nr_class)
        order = np.array(model.get_labels(), dtype=int)
        weights = np.zeros((split.count, split.matrix.shape[1]))
        weights[order, : shape[0]] = np.ctypeslib.as_array(model.w, (shape[0] * shape[1],)).reshape(shape).T
        return weights

    return run


def _loosest(run: Callable[[float], np.ndarray], suboptimality: Callable[[np.ndarray], float]) -> float:
    """The first of the tolerances that gets to the target."""
    for tolerance in _TOLERANCES:
        if suboptimality(run(tolerance)) <= _TARGET:
            return tolerance
    raise RuntimeError(f"no tolerance down to {_TOLERANCES[-1]:g} gets to {_TARGET:g}")


def markdown(cells: list[Cell]) -> str:
    """A table for each part with the ratios of medians."""
    parts = []
    for part, own, other in (("decay", "default", "walrus"), ("liblinear", "Fenchel", "LIBLINEAR -s 4")):
        here = [cell for cell in cells if cell["part"] == part]
        if not here:
            continue
        ratios = [_ratio(cell, own, other) for cell in here]
        rows = [
            [f"{cell['data']} ({cell['description']})", _shown(cell, own), _shown(cell, other), f"{ratio:.2f}"]
            for cell, ratio in zip(here, ratios, strict=True)
        ]
        median = f"Median of the ratios: {statistics.median(ratios):.2f}."
        title = {
            "decay": "Weston-Watkins to decay 0.009, solver time",
            "liblinear": "Crammer-Singer to 1e-3, end to end",
        }
        parts += [f"### {title[part]}", markdown_table(["data set", own, other, f"{other} ÷ {own}"], rows), median]
    legend = "Seconds: median [least–most] of the rounds, in turns, one thread; in parentheses passes over the data."
    return "\n\n".join([*parts, legend]) if parts else "(not measured yet)"


def _ratio(cell: Cell, own: str, other: str) -> float:
    return statistics.median(cell["seconds"][other]) / statistics.median(cell["seconds"][own])


def _shown(cell: Cell, name: str) -> str:
    seconds = cell["seconds"][name]
    passes = f" ({cell['passes'][name]:.3g})" if "passes" in cell else ""
    return f"{statistics.median(seconds):.3g} [{min(seconds):.3g}–{max(seconds):.3g}]{passes}"


if __name__ == "__main__":
    main()

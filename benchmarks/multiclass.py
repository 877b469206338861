"""Several classes at C = 1 against the C++ programs, at the same objective.

    python benchmarks/multiclass.py --update-readme                       all sets
    python benchmarks/multiclass.py --data dna --part weston_watkins      these cells

Part ``weston_watkins`` races the program of Wang and Scott (2021), if ``FENCHEL_WW_TRAIN`` names it: clone the
repository YutongWangUMich/liblinear, run ``make`` there, and set the variable to the path of its program ``train``.
It prints the processor time, the dual sum and the primal objective after each pass, without the time of that
objective; its time is that of the first pass at the end of which the objective is within the target.  The faster of
its solvers counts, Walrus (``-s 30``) or Shark's (``-s 31``).

Part ``crammer_singer`` races LIBLINEAR, ``-s 4``: the C function ``train`` at the loosest of many tolerances that gets
within the target, found by a search that is not timed, and at its default tolerance.

Fenchel is ``Problem`` and ``solve(problem, tol=target)`` with all certificates: it proves the target, where the others
are there without knowing it.  The optimum is a lower bound that Fenchel certifies.  Processor seconds of one thread.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/multiclass.py`

from benchmarks.cells import is_held_out
from benchmarks.classes import NAMES, Split, load_split
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

KEY = ("part", "data", "target")
PARTS = ("weston_watkins", "crammer_singer")
TARGETS = (1e-2, 1e-3)
PROGRAM = "FENCHEL_WW_TRAIN"
#: tolerances that are tried, from the loosest; the default of LIBLINEAR
_TOLERANCES = [10.0 ** (-step / 4) for step in range(-4, 25)]
_DEFAULT = 0.1
#: passes of the program of Wang and Scott at most; it stops when its gap has fallen to 0.0009 of the first one
_PASSES = 3000
_SOLVERS = {"Walrus": 30, "Shark": 31}

Seconds = dict[str, list[float]]


def main() -> None:
    """Measure the cells that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(NAMES), help="see benchmarks/classes.py")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--target", nargs="+", type=float, default=list(TARGETS))
    parser.add_argument("--rounds", type=int, default=5)
    add_common_options(parser, "multiclass.json and multiclass.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "multiclass.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        for part in options.part:
            missing = [
                one for one in options.target if options.again or not ledger.has(part=part, data=name, target=one)
            ]
            if missing:
                ledger.add(_cells(load_split(name), part, missing, options.rounds))
                print(part, name, os.getloadavg(), flush=True)
    publish(options, "multiclass", markdown(ledger.cells))


def _cells(split: Split, part: str, targets: list[float], rounds: int) -> list[Cell]:
    """One set and one risk: all contenders in turns."""
    from fenchel import solve

    known = solve(_problem(split, part), tol=min(targets) / 50, max_iter=1e5)
    optimum = known.certificate.dual * len(split.classes)
    peers = _authors(split) if part == "weston_watkins" else _liblinear_runs(split, optimum, targets)
    solve(_problem(split, part), tol=1.0, max_iter=1)  # compiles
    seconds: dict[float, Seconds] = {target: {"Fenchel": []} for target in targets}
    about: dict[float, dict[str, Any]] = {target: {} for target in targets}
    for _ in range(rounds):
        for target in targets:
            begin = time.process_time()
            solution = solve(_problem(split, part), tol=target, max_iter=1e5)
            seconds[target]["Fenchel"].append(time.process_time() - begin)
            about[target] = {"passes": solution.passes, "gap": float(solution.certificate.relative_gap)}
        for name, run in peers.items():
            for target, found in run(optimum, targets).items():
                seconds[target].setdefault(name, []).append(found)
    known_facts = {"part": part, "data": split.name, "description": split.description, "load": os.getloadavg()[0]}
    return [{**known_facts, "target": one, "seconds": seconds[one], **about[one]} for one in targets]


def _problem(split: Split, part: str) -> Any:
    from fenchel import Problem
    from fenchel.risks import MULTICLASS

    return Problem(split.matrix, MULTICLASS[part](split.classes, split.count), 1.0 / len(split.classes))


Run = Callable[[float, list[float]], dict[float, float]]


def _authors(split: Split) -> dict[str, Run]:
    """The solvers of the program of Wang and Scott; none if it is not there."""
    from sklearn.datasets import dump_svmlight_file

    program = os.environ.get(PROGRAM)
    if not program:
        print(f"{PROGRAM} is not set: the authors' program is left out")
        return {}
    folder = tempfile.TemporaryDirectory()
    file = Path(folder.name) / "data.svm"
    dump_svmlight_file(split.matrix, split.classes, str(file), zero_based=False)

    def runs(number: int) -> Run:
        def run(optimum: float, targets: list[float]) -> dict[float, float]:
            # keeps the folder
            command = [program, "-s", str(number), "-c", "1", "-t", str(_PASSES), str(file), folder.name + "/model"]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            lines = [[float(field) for field in line.split(",")] for line in text.splitlines() if line.count(",") == 4]
            found = {}
            for target in targets:
                there = (line[0] / 1e3 for line in lines if line[4] <= optimum * (1.0 + target))
                found[target] = next(there, float("nan"))
            return found

        return run

    return {name: runs(number) for name, number in _SOLVERS.items()}


def _liblinear_runs(split: Split, optimum: float, targets: list[float]) -> dict[str, Run]:
    """LIBLINEAR at the loosest tolerance for each target, and at its default."""
    train = _liblinear(split)
    problem = _problem(split, "crammer_singer")

    def suboptimality(weights: np.ndarray) -> float:
        value = problem.lam * problem.regularizer.value(weights) + problem.risk.value(split.matrix @ weights.T)
        return value * len(split.classes) / optimum - 1.0

    loosest: dict[float, float] = {}
    for tolerance in _TOLERANCES:
        reached = suboptimality(train(tolerance))
        loosest |= {target: tolerance for target in targets if reached <= target and target not in loosest}
        if len(loosest) == len(targets):
            break

    def timed(tolerance: float) -> float:
        begin = time.process_time()
        train(tolerance)
        return time.process_time() - begin

    def to_target(optimum: float, targets: list[float]) -> dict[float, float]:
        return {target: timed(loosest[target]) if target in loosest else float("nan") for target in targets}

    def by_default(optimum: float, targets: list[float]) -> dict[float, float]:
        return dict.fromkeys(targets, timed(_DEFAULT))

    return {"LIBLINEAR": to_target, "at its default": by_default}


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


def markdown(cells: list[Cell]) -> str:
    """A table for each part with the ratios of medians."""
    peers = {"weston_watkins": tuple(_SOLVERS), "crammer_singer": ("LIBLINEAR", "at its default")}
    raced = {"weston_watkins": tuple(_SOLVERS), "crammer_singer": ("LIBLINEAR",)}
    title = {
        "weston_watkins": "Weston-Watkins against the program of Wang and Scott",
        "crammer_singer": "Crammer-Singer against LIBLINEAR",
    }
    parts = []
    for part in PARTS:
        here = [cell for cell in cells if cell["part"] == part]
        if not here:
            continue
        ratios, rows = [], []
        for cell in here:
            times = {
                name: statistics.median(cell["seconds"].get(name, [float("nan")])) for name in ("Fenchel", *peers[part])
            }
            there = [times[name] for name in raced[part] if times.get(name, float("nan")) > 0.0]
            fastest = min(there, default=float("nan"))
            ratios.append(fastest / times["Fenchel"])
            held_out = "yes" if is_held_out("several classes", cell["data"], 1.0) else ""
            shown = [_shown(cell, name) for name in ("Fenchel", *peers[part])]
            place = [f"{cell['data']} ({cell['description']})", held_out, f"{cell['target']:g}"]
            rows.append([*place, *shown, f"{ratios[-1]:.2f}" if there else "–"])
        head = ["data set", "held out", "within", "Fenchel (passes)", *peers[part], "fastest ÷ Fenchel"]
        median = f"Median of the ratios: {np.nanmedian(ratios):.2f}; least {np.nanmin(ratios):.2f}."
        parts += [f"### {title[part]}", markdown_table(head, rows), median]
    legend = (
        "Processor seconds of one thread: median [least–most] of the rounds, in turns.  Fenchel proves its gap, the "
        "others are timed until their objective is within the target of the optimum; a dash: stopped before that."
    )
    return "\n\n".join([*parts, legend]) if parts else "(not measured yet)"


def _shown(cell: Cell, name: str) -> str:
    seconds = [one for one in cell["seconds"].get(name, []) if one == one]
    if not seconds:
        return "–"
    passes = f" ({cell['passes']:.3g})" if name == "Fenchel" else ""
    return f"{statistics.median(seconds):.3g} [{min(seconds):.3g}–{max(seconds):.3g}]{passes}"


if __name__ == "__main__":
    main()

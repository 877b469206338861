"""The chart of README.md: processor seconds until a model is proved to be within 0.1% of the optimum.

    python benchmarks/front_page.py             measure, update out/benchmarks/front_page.json, the table and the chart
    python benchmarks/front_page.py --draw      the chart alone, from the last measurement

Each library minimizes its own objective (LIBLINEAR and ``LinearSVC`` regularize the intercept), with C and the loss of
the cell.  Its tolerance is lowered until the relative gap of its model to a proved bound on its own objective (found by
a solve to 1e-5) is at most 1e-3, and that fit is timed; the judgement is not.  Fenchel is fitted with ``tol=1e-3``, its
certificate included.  One thread, processor seconds of the fit, the median of three interleaved rounds; loops are
compiled before.  A fit of more than 30 s is ended; a library that does not get there in that time, or ends before by
its own limit of iterations, has a pale bar.  LIBLINEAR is timed with the faster of its solvers for the loss.  A run
that was interrupted goes on with the next cell.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/front_page.py`

from benchmarks import data
from benchmarks.charts import CONTENDERS
from benchmarks.report import RESULTS, markdown_table, read_json, update_readme, write_json

FILE = RESULTS / "front_page.json"
CHART = data.ROOT / "docs" / "seconds-to-a-proof.png"
GAP, CAP, ROUNDS = 1e-3, 30.0, 3
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8)
#: relative gap of the solve that finds the lower bound which models of other libraries are judged by
BOUND = 1e-5
#: of the fits, passes or iterations at most: the tolerance is meant to end them
PASSES = 100_000


class Cell(NamedTuple):
    """A data set of one kind, a loss and C."""

    kind: str
    data: str
    loss: str
    C: float


CELLS = [
    Cell("text: 20 newsgroups, 957,000 features", "20news.binary", "logistic", 10.0),
    Cell("many rows: covtype, 581,000 rows", "covtype", "hinge", 1.0),
    Cell("regression: California housing", "cadata", "epsilon_insensitive", 10.0),
    Cell("rare positives: w8a, 50,000 rows", "w8a", "squared_hinge", 1.0),
]
#: ``-s`` of LIBLINEAR, dual and primal solvers: the faster one is timed
LIBLINEAR = {"logistic": (7, 0), "hinge": (3,), "squared_hinge": (1, 2), "epsilon_insensitive": (13,)}


def seconds_of(fit: Callable[[], Any]) -> float:
    """Processor seconds of a fit; the process is ended if it takes more than the cap."""
    began = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(began + CAP), resource.RLIM_INFINITY))
    fit()
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return time.process_time() - began


def judged(model: Any, X: Any, y: Any) -> float:
    """The relative gap of another library's model to a bound that a long solve of its own objective proves."""
    from fenchel import certify, solve
    from fenchel.interop.judging import read

    [part] = read(model, X, y).parts
    witness = solve(part.problem, tol=BOUND, max_iter=PASSES).witness
    return certify(part.problem, part.model, witness).relative_gap


def fenchel_fit(cell: Cell, X: Any, y: Any, solver: int, tol: float) -> tuple[float, float]:
    """Seconds and the proved relative gap, without other runs."""
    from fenchel import LinearClassifier, LinearRegressor
    from fenchel.losses import EpsilonInsensitive

    if cell.loss == "epsilon_insensitive":
        model: Any = LinearRegressor(EpsilonInsensitive(0.1), C=cell.C, tol=GAP, random_state=0, max_iter=PASSES)
    else:
        model = LinearClassifier(cell.loss, C=cell.C, tol=GAP, random_state=0, max_iter=PASSES)
    seconds = seconds_of(lambda: model.fit(X, y))
    return seconds, model.certificate_.relative_gap


def sklearn_fit(cell: Cell, X: Any, y: Any, solver: int, tol: float) -> tuple[float, float]:
    """The class that scikit-learn's users take for this loss, with its default solver."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC, LinearSVR

    options: dict[str, Any] = {"C": cell.C, "tol": tol, "max_iter": PASSES}
    if cell.loss == "epsilon_insensitive":
        model: Any = LinearSVR(epsilon=0.1, random_state=0, **options)
    elif cell.loss == "logistic":
        model = LogisticRegression(**options)
    else:
        model = LinearSVC(loss=cell.loss, random_state=0, **options)
    seconds = seconds_of(lambda: model.fit(X, y))
    return seconds, judged(model, X, y)


def liblinear_fit(cell: Cell, X: Any, y: Any, solver: int, tol: float) -> tuple[float, float]:
    """LIBLINEAR's own package, with a bias; the conversion of the data is not timed."""
    from liblinear.liblinear import parameter, problem
    from liblinear.liblinearutil import train

    given = problem(y, X)
    options = parameter(f"-s {solver} -c {cell.C} -e {tol} -p 0.1 -B 1 -q")
    found: list[Any] = []
    seconds = seconds_of(lambda: found.append(train(given, options)))
    return seconds, judged(found[0], X, y)


FITS: dict[str, Callable[[Cell, Any, Any, int, float], tuple[float, float]]] = {
    "Fenchel": fenchel_fit,
    "scikit-learn": sklearn_fit,
    "LIBLINEAR": liblinear_fit,
}


def in_child(fit: Callable[..., tuple[float, float]], *arguments: Any) -> tuple[float, float] | None:
    """The result of a fit in a forked process; None if it was ended at the cap."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(fit(*arguments)))
    child.start()
    sender.close()
    try:
        found = receiver.recv()
    except EOFError:
        found = None
    child.join()
    if found is None and child.exitcode != -signal.SIGXCPU:
        raise RuntimeError(f"a fit ended with the status {child.exitcode} instead of at the cap: see above")
    return found


class Setting(NamedTuple):
    """What a contender is timed with, and the seconds of the fit that found it."""

    seconds: float
    solver: int
    tol: float


def sufficient(name: str, cell: Cell, X: Any, y: Any, solver: int) -> Setting | None:
    """The loosest tolerance whose fit is proved to be within GAP; None where no fit under the cap is."""
    for tol in TOLERANCES if name != "Fenchel" else (GAP,):
        result = in_child(FITS[name], cell, X, y, solver, tol)
        print(f"  {name} {solver} tol={tol:g}: {result}", flush=True)
        if result is None:
            break
        if result[1] <= GAP:
            return Setting(result[0], solver, tol)
    return None


def measured(cell: Cell) -> dict[str, Any]:
    """Median seconds, solver and tolerance of each contender; None where no fit under the cap was proved."""
    found = data.load(cell.data)
    X, y = found.matrix, found.labels
    settings: dict[str, Setting] = {}
    for name in FITS:
        solvers = LIBLINEAR[cell.loss] if name == "LIBLINEAR" else (0,)
        reached = [one for solver in solvers if (one := sufficient(name, cell, X, y, solver)) is not None]
        if reached:
            settings[name] = min(reached)
    seconds: dict[str, list[float]] = {name: [] for name in FITS}
    for _ in range(ROUNDS):
        for name, (_, *setting) in settings.items():
            if (result := in_child(FITS[name], cell, X, y, *setting)) is not None:
                seconds[name].append(result[0])
    return {
        "cell": cell._asdict(),
        "load": os.getloadavg()[0],
        "seconds": {name: median(times) if times else None for name, times in seconds.items()},
        "range": {name: [min(times), max(times)] if times else None for name, times in seconds.items()},
        "tolerances": {name: one.tol for name, one in settings.items()},
        "solvers": {name: one.solver for name, one in settings.items()},
    }


def table(results: list[dict[str, Any]]) -> str:
    """A line for each cell, with ranges and the tolerances that were needed."""
    rows = []
    for one in results:
        cells = []
        for name in FITS:
            spread = one["range"][name]
            if spread is None:
                cells.append(f"not reached in {CAP:g} s or within its own limits")
                continue
            own = "" if name == "Fenchel" else f"; tol {one['tolerances'][name]:g}"
            own += f", -s {one['solvers'][name]}" if name == "LIBLINEAR" else ""
            cells.append(f"{one['seconds'][name]:.3g} ({spread[0]:.3g}–{spread[1]:.3g}{own})")  # noqa: RUF001
        rows.append([one["cell"]["kind"], one["cell"]["loss"], f"{one['cell']['C']:g}", *cells])
    return markdown_table(["data", "loss", "C", *FITS], rows)


def draw(results: list[dict[str, Any]], file: Path) -> None:
    """Bars side by side, one group for each cell, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(9.0, 4.2), layout="constrained")
    height = 0.26
    for place, name in enumerate(FITS):
        label, colour = CONTENDERS[name]
        times = [one["seconds"][name] for one in results]
        at = [k + (place - 1) * height for k in range(len(results))]
        bars = axis.barh(at, [CAP if t is None else t for t in times], height * 0.92, color=colour, label=label)
        for bar, t in zip(bars, times, strict=True):
            bar.set_alpha(0.35 if t is None else 1.0)
        for y, t in zip(at, times, strict=True):
            axis.annotate(
                "not reached" if t is None else f"{t:.2g} s",
                (CAP if t is None else t, y),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
            )
    axis.set_yticks(range(len(results)), [f"{one['cell']['kind']}\n{_words(one['cell'])}" for one in results])
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlim(right=6.0 * max(t for one in results for t in [*one["seconds"].values(), 1.0] if t is not None))
    axis.set_xlabel("processor seconds of one thread (logarithmic; shorter is faster)")
    axis.set_title("Seconds until the model is proved to be within 0.1% of the optimum")
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(FITS), frameon=False)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def _words(cell: dict[str, Any]) -> str:
    return f"{cell['loss'].replace('_', '-')} loss, C = {cell['C']:g}"


def main() -> None:
    """Measure, unless only the chart is asked for, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="draw the last measurement and measure nothing")
    parser.add_argument("--again", action="store_true", help="measure every cell, not only those that are missing")
    options = parser.parse_args()
    if not options.draw:
        results = [] if options.again else read_json(FILE).get("cells", [])
        for cell in CELLS[len(results) :]:
            print(cell.kind, flush=True)
            # loops are compiled, and kept in memory, before the fits are forked
            found = data.load(cell.data)
            fenchel_fit(cell, found.matrix, found.labels, 0, GAP)
            results.append(measured(cell))
            write_json(FILE, {"cells": results})
        update_readme("front-page", table(results))
    draw(read_json(FILE)["cells"], CHART)
    print(CHART)


if __name__ == "__main__":
    # forked processes inherit it
    with threadpool_limits(1):
        main()

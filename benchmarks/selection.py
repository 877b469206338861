"""Choosing C as users do it: cross-validation and a lasso path, processor seconds beside scikit-learn.

    python benchmarks/selection.py --update-readme
    python benchmarks/selection.py --quick            small made-up data, one round

``cross-validation`` is a grid of ten C from 1e-4 to 1e4 in five folds and a fit to all examples with the best C, with
everybody's own defaults: ``LinearClassifierCV(loss)`` beside ``LogisticRegressionCV`` for the logistic loss, beside
``GridSearchCV(LinearSVC)`` for the squared hinge.  ``lasso path`` is 100 values of C, from the largest one without
weights to 1000 times that: ``regularization_path(tol=1e-4)`` with its certificates beside ``lasso_path(tol=1e-4)`` of
scikit-learn, whose duality gaps are not proved.  Everyone runs once a round, in turn.
"""

# ruff: noqa: E402, RUF001 (limits of threads before imports; typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/selection.py`

import numpy as np

from benchmarks.data import load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

KEY = ("question", "data", "contender")
#: rows and columns of the problems of the lasso, all of which were looked at while the path and its certificates were
#: written
LASSO = ((2000, 500), (500, 100), (20000, 50))
TUNED = ("2,000 × 500", "500 × 100", "20,000 × 50", "a9a@5000")
Run = Callable[[], str]


def cross_validations(name: str, loss: str) -> dict[str, Run]:
    """Runs that return what was chosen, for one data set."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    from fenchel import LinearClassifierCV

    data = load(name)

    def own() -> str:
        model = LinearClassifierCV(loss, Cs=10, cv=5, random_state=0).fit(data.matrix, data.labels)
        return f"C = {float(np.ravel(model.C_)[0]):.3g}, {float(np.max(np.mean(model.scores_, axis=0))):.4f}"

    def logistic() -> str:
        model = LogisticRegressionCV(Cs=10, cv=5).fit(data.matrix, data.labels)
        (scores,) = model.scores_.values()
        return f"C = {model.C_[0]:.3g}, {np.max(np.mean(scores, axis=0)):.4f}"

    def search() -> str:
        grid = {"C": np.logspace(-4, 4, 10)}
        model = GridSearchCV(LinearSVC(random_state=0), grid, cv=5).fit(data.matrix, data.labels)
        return f"C = {model.best_params_['C']:.3g}, {model.best_score_:.4f}"

    peer: dict[str, Run] = {"LogisticRegressionCV": logistic} if loss == "logistic" else {"GridSearchCV": search}
    return {"fenchel": own, **peer}


def lasso_paths(rows: int, columns: int) -> dict[str, Run]:
    """Runs that return the number of weights at the end of the path."""
    from sklearn.datasets import make_regression
    from sklearn.linear_model import lasso_path

    from fenchel import regularization_path

    X, y = make_regression(rows, columns, n_informative=columns // 10, noise=10.0, random_state=0)
    y = y / np.std(y)
    alphas = np.max(np.abs(X.T @ y)) / rows / np.geomspace(1.0, 1e3, 100)

    def own() -> str:
        Cs = 1.0 / (alphas * rows)
        path = regularization_path(X, y, Cs, loss="squared", l1_ratio=1.0, fit_intercept=False, tol=1e-4)
        worst = max(certificate.relative_gap for certificate in path.certificates)
        return f"{np.count_nonzero(path.coefs[-1])} weights, gaps up to {worst:.1g}"

    def peer() -> str:
        return f"{np.count_nonzero(lasso_path(X, y, alphas=alphas, tol=1e-4)[1][:, -1])} weights"

    return {"fenchel": own, "lasso_path": peer}


def measured(question: str, data: str, runs: dict[str, Run], rounds: int) -> list[Cell]:
    """Everyone once, which compiles and is not timed if there are several rounds, then in turn."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    found: dict[str, str] = {}
    for k in range(rounds + 1):
        for name, run in runs.items():
            begin = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[name] = run()
            if k or name != "fenchel":
                times[name].append(time.process_time() - begin)
    shared: Cell = {"question": question, "data": data, "load": os.getloadavg()[0]}
    return [{**shared, "contender": name, "seconds": times[name][-rounds:], "found": found[name]} for name in runs]


def markdown(cells: list[Cell]) -> str:
    """A line for each question and data set."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell["question"], cell["data"]), []).append(cell)
    lines = []
    for (question, data), (own, *peers) in groups.items():
        for peer in peers:
            ratio = statistics.median(peer["seconds"]) / statistics.median(own["seconds"])
            held_out = "no" if data in TUNED else "yes"
            lines.append([question, data, held_out, shown(own), peer["contender"], shown(peer), f"{ratio:.2g}×"])
    head = ["question", "data", "held out", "fenchel", "peer", "its seconds", "÷ fenchel"]
    loads = [cell["load"] for cell in cells]
    legend = "Processor seconds, median [least, most], and what was chosen (C and its score, or the weights of the last"
    return markdown_table(head, lines) + f"\n\n{legend} point). Load average {min(loads):.1f} to {max(loads):.1f}."


def shown(cell: Cell) -> str:
    """Median and range, and what was chosen."""
    seconds: list[float] = cell["seconds"]
    return f"{statistics.median(seconds):.3g} [{min(seconds):.3g}, {max(seconds):.3g}] ({cell['found']})"


def questions(quick: bool) -> list[tuple[str, str, Callable[[], dict[str, Run]]]]:
    """What is measured: a question, a name of the data, and what makes the runs."""
    sizes = LASSO[1:2] if quick else LASSO
    sets = ("simulated",) if quick else ("a9a@5000", "mushrooms")
    found: list[tuple[str, str, Any]] = [
        ("lasso path", f"{rows:,} × {columns}", lambda size=(rows, columns): lasso_paths(*size))
        for rows, columns in sizes
    ]
    for loss in ("logistic", "squared_hinge"):
        question = f"cross-validation, `{loss}`"
        found += [(question, name, lambda name=name, loss=loss: cross_validations(name, loss)) for name in sets]
    return found


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small made-up data, one round")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of everyone")
    add_common_options(parser, "selection.json and selection.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "selection.json", KEY, options.fresh and not options.report_only)
    for question, data, make in [] if options.report_only else questions(options.quick):
        if options.again or not ledger.has(question=question, data=data, contender="fenchel"):
            ledger.add(measured(question, data, make(), 1 if options.quick else options.rounds))
            print(question, data, *(shown(cell) for cell in ledger.cells if cell["data"] == data), flush=True)
    publish(options, "selection", markdown(ledger.cells))


if __name__ == "__main__":
    main()

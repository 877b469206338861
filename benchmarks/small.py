"""Small data: processor milliseconds of a fit as users run it, beside the class of scikit-learn for the same model.

    python benchmarks/small.py --update-readme                everything
    python benchmarks/small.py --data iris --rounds 3         these cells

Every estimator has its default parameters (LogisticRegression of scikit-learn max_iter=1000; C of the own ones is that
of the same objective), fits an intercept, and gets a float64 array in memory.  "drop-in" is Fenchel's class of the same
name, "own" is LinearClassifier or LinearRegressor with the same loss.  Each round fits once with everyone in turn, in
one thread.  The goal of a cell is the time of the class of scikit-learn, or that of its validation
of X and y plus 2 ms if that is more.  "checks and proof" is what a fit of Fenchel (of the drop-in, where there is one)
takes without a step: it checks and encodes X and y, and computes the last certificates of the fit once more, of
problems without the sums over examples that it had kept.
"""

# ruff: noqa: E402, RUF001 (limits of threads before imports; typographic signs in tables for people)

from __future__ import annotations

import argparse
import copy
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from unittest import mock

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/small.py`

import numpy as np

from benchmarks.cells import QUESTIONS, is_held_out
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

KEY = ("data", "model")
QUESTION = "small data"
SETS = QUESTIONS[QUESTION].open + QUESTIONS[QUESTION].held_out
#: the column of what a fit takes without a step
PROOF = "checks and proof"
#: milliseconds beyond the validation that a fit may take
_ALLOWED = 2.0


def load(name: str) -> tuple[Any, Any]:
    """X and y; the columns of wine and breast_cancer are standardized."""
    if name == "housing.scale":
        from benchmarks.data import load as load_file

        found = load_file(name)
        return found.matrix.toarray(), found.labels
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0) if name in ("wine", "breast_cancer") else X), y


def models(name: str) -> dict[str, dict[str, Any]]:
    """The contenders of a data set, by model."""
    from sklearn import linear_model, svm

    import fenchel

    if name in ("diabetes", "housing.scale"):
        lasso = fenchel.LinearRegressor("squared", C=1.0 / len(load(name)[1]), l1_ratio=1.0)
        return {
            "LinearSVR": {"scikit-learn": svm.LinearSVR(), "drop-in": fenchel.LinearSVR()},
            "Ridge": {"scikit-learn": linear_model.Ridge(), "own": fenchel.LinearRegressor("squared")},
            "Lasso": {"scikit-learn": linear_model.Lasso(), "own": lasso},
        }
    return {
        "LinearSVC": {
            "scikit-learn": svm.LinearSVC(),
            "drop-in": fenchel.LinearSVC(),
            "own": fenchel.LinearClassifier("squared_hinge"),
        },
        "LogisticRegression": {
            "scikit-learn": linear_model.LogisticRegression(max_iter=1000),
            "drop-in": fenchel.LogisticRegression(),
            "own": fenchel.LinearClassifier("logistic"),
        },
    }


def proof_alone(model: Any, X: Any, y: Any) -> Callable[[], None]:
    """The checks of a fit and its last certificates, which no fit can do without."""
    from fenchel.solving import outputs, run

    last: dict[int, tuple[Any, ...]] = {}

    def keeping(judged: Callable[..., Any]) -> Callable[..., Any]:
        def kept(problem: Any, *of_fit: Any, **options: Any) -> Any:
            last[id(problem)] = partial(judged, **options), problem, *of_fit
            return judged(problem, *of_fit, **options)

        return kept

    with (
        mock.patch.object(outputs, "judge_outputs", keeping(outputs.judge_outputs)),
        mock.patch.object(run, "judge", keeping(run.judge)),
    ):
        model.fit(X, y)

    def proof() -> None:
        model.encode(X, y)
        # problems of one fit share the rows
        designs = {id(one[1].design): one[1].design for one in last.values()}
        designs = {key: _without_sums(design) for key, design in designs.items()}
        for judged, problem, *of_fit in last.values():
            new = _without_sums(problem)
            vars(new).update(design=designs[id(problem.design)], risk=_without_sums(problem.risk))
            judged(new, *of_fit)

    return proof


def _without_sums(thing: Any) -> Any:
    """A copy that shares the arrays of its constructor, and has to compute what it kept."""
    found = copy.copy(thing)
    for name in [name for name in vars(found) if isinstance(getattr(type(found), name, None), cached_property)]:
        del vars(found)[name]
    return found


def milliseconds(fits: dict[str, Any], rounds: int) -> dict[str, list[float]]:
    """Processor times of the fits in turn, after one that is not timed."""
    found: dict[str, list[float]] = {name: [] for name in fits}
    for turn in range(rounds + 1):
        for name, fit in fits.items():
            begin = time.process_time()
            fit()
            if turn:
                found[name].append(1e3 * (time.process_time() - begin))
    return found


def measured(name: str, model: str, rounds: int) -> Cell:
    """One cell: the fits, scikit-learn's validation alone, and what no fit of Fenchel can do without."""
    from sklearn.utils.validation import check_X_y

    X, y = load(name)
    contenders = models(name)[model]
    fits: dict[str, Any] = {who: (lambda one=one: one.fit(X, y)) for who, one in contenders.items()}
    fits["validation"] = lambda: check_X_y(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits[PROOF] = proof_alone(next(contenders[who] for who in ("drop-in", "own") if who in contenders), X, y)
        found = milliseconds(fits, rounds)
    return {"data": name, "model": model, "shape": np.shape(X), "ms": found}


def markdown(cells: list[Cell]) -> str:
    """The table."""
    rows = []
    for cell in cells:
        ms = {name: statistics.median(values) for name, values in cell["ms"].items()}
        goal = max(ms["scikit-learn"], ms["validation"] + _ALLOWED)
        rows.append(
            [
                f"{cell['data']} ({cell['shape'][0]:,} × {cell['shape'][1]})",
                cell["model"],
                *(_range(cell["ms"].get(who)) for who in ("scikit-learn", "drop-in", "own", PROOF)),
                f"{goal:.2f}",
                "yes" if all(ms[who] <= goal for who in ("drop-in", "own") if who in ms) else "no",
                "yes" if is_held_out(QUESTION, cell["data"], 1.0) else "",
            ]
        )
    head = ["data set", "model", "scikit-learn", "drop-in", "own", PROOF, "goal", "reached", "held out"]
    return f"Processor milliseconds of a fit, median [least–most].\n\n{markdown_table(head, rows)}"


def _range(values: list[float] | None) -> str:
    return "–" if values is None else f"{statistics.median(values):.2f} [{min(values):.2f}–{max(values):.2f}]"


def main() -> None:
    """Measure the cells that are missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rounds", type=int, default=15)
    add_common_options(parser, "small.json and small.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "small.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        for model in models(name):
            if options.again or not ledger.has(data=name, model=model):
                ledger.add([measured(name, model, options.rounds)])
    publish(options, "small", markdown(ledger.cells))


if __name__ == "__main__":
    main()

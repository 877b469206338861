"""Time limits and Ctrl-C: by how many seconds each estimator exceeds them.

    python benchmarks/limits.py --update-readme                       everything, about half an hour
    python benchmarks/limits.py --data simulated --limit 0.05         tiny
    python benchmarks/limits.py --only f1 --limit 0.3 1 3             some estimators, several limits
    python benchmarks/limits.py --processor                           for a machine with other work

A fit with a ``time_limit`` that is too short for it, and a fit without one that a SIGINT interrupts at a random moment.
``over`` is the time from the limit (the signal) to the return of ``fit``, in wall-clock seconds and in processor
seconds of the process: on a machine with other work the second is the one to read.  There ``--processor`` also counts
limits and moments of signals in processor seconds, by replacing the clock of the limits; otherwise a fit would have
done next to nothing when its limit comes.  ``certificate`` is the time of one certificate of the model that the fit
returned, measured alone: of all its problems, since the certificate of an estimator is the sum of theirs (of paths,
that of the fit with the limit stands for both fits).  First fits that are not timed compile the loops, since a signal
would wait for the compiler.
"""

# ruff: noqa: E402 (limits of threads before imports)

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/limits.py`

import numpy as np

from benchmarks.data import load
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table

SETS = ("dense", "20news.binary")
LIMITS = (1.0,)
KEY = ("data", "estimator", "limit")
#: no fit proves this gap
TOL = 1e-15
CLASSES = 5
#: what the issue allows beyond one certificate: of a time limit, and of Ctrl-C
ALLOWED = {"limit": 0.25, "signal": 0.3}
#: seconds after which a signal is sent, at the latest
LATEST_SIGNAL = 1.5
#: seconds after which it is sent again to a fit that has not ended
SIGNAL_AGAIN = 60.0
#: rows of the first fit, and its limits in data passes of a solve and in seconds: a path has many solves
FIRST_ROWS, FIRST_PASSES, FIRST_SECONDS = 2000, 50, 20.0


class Case(NamedTuple):
    """An estimator, and the kind of its targets."""

    estimator: Callable[..., Any]
    targets: str
    parameters: dict[str, Any]

    def made(self, **parameters: Any) -> Any:
        return self.estimator(**{"tol": TOL, "random_state": 0, "max_iter": np.inf, **self.parameters, **parameters})


def cases() -> dict[str, Case]:
    """Every estimator with a time limit, and every form, risk and kind of regularizer that has a solver of its own."""
    from fenchel import (
        LinearClassifier,
        LinearClassifierCV,
        LinearRegressor,
        LinearRegressorCV,
        MeasureClassifier,
        OrdinalClassifier,
    )

    found = {}
    for loss in ("hinge", "squared_hinge", "huber_hinge", "logistic", "exponential"):
        found[loss] = Case(LinearClassifier, "binary", {"loss": loss})
    for loss in ("squared", "absolute", "huber", "quantile", "squared_epsilon_insensitive"):
        found[loss] = Case(LinearRegressor, "targets", {"loss": loss})
    for loss in ("logistic", "squared_hinge", "hinge"):
        found[f"l1 {loss}"] = Case(LinearClassifier, "binary", {"loss": loss, "l1_ratio": 1.0})
        found[f"elastic net {loss}"] = Case(LinearClassifier, "binary", {"loss": loss, "l1_ratio": 0.5})
    found["l1 squared"] = Case(LinearRegressor, "targets", {"loss": "squared", "l1_ratio": 1.0})
    found["l1 absolute"] = Case(LinearRegressor, "targets", {"loss": "absolute", "l1_ratio": 1.0})
    for name in ("q_norm", "unnormalized_entropy"):
        found[name] = Case(LinearClassifier, "binary", {"loss": "logistic", "regularizer": name})
    for form in ("ovr", "ovo", "weston_watkins", "crammer_singer", "multinomial"):
        loss = "logistic" if form == "multinomial" else "hinge"
        found[form] = Case(LinearClassifier, "classes", {"loss": loss, "multi_class": form})
    found["l1 multinomial"] = Case(
        LinearClassifier, "classes", {"loss": "logistic", "multi_class": "multinomial", "l1_ratio": 1.0}
    )
    for measure in ("f1", "roc_auc", "prbep", "precision_at_k", "accuracy"):
        k = {"k": 1000} if measure == "precision_at_k" else {}
        found[measure] = Case(MeasureClassifier, "binary", {"measure": measure, "surrogate": "bound", **k})
    found["f1 macro"] = Case(MeasureClassifier, "classes", {"measure": "f1", "surrogate": "bound"})
    found["f1 micro"] = Case(MeasureClassifier, "classes", {"measure": "f1", "surrogate": "bound", "average": "micro"})
    found["f1 threshold by cv"] = Case(
        MeasureClassifier, "binary", {"measure": "f1", "surrogate": "bound", "threshold": "cv"}
    )
    found["ordinal"] = Case(OrdinalClassifier, "ordered", {})
    found["cv hinge"] = Case(LinearClassifierCV, "binary", {"loss": "hinge"})
    found["cv logistic"] = Case(LinearClassifierCV, "binary", {"loss": "logistic"})
    found["cv ovr"] = Case(LinearClassifierCV, "classes", {"loss": "hinge", "multi_class": "ovr"})
    found["cv squared"] = Case(LinearRegressorCV, "targets", {"loss": "squared"})
    found["path hinge"] = Case(PathOfModels, "binary", {"loss": "hinge", "Cs": np.logspace(-4, 4, 10)})
    found["path logistic, interval"] = Case(PathOfModels, "binary", {"loss": "logistic", "Cs": (1e-4, 1e4)})
    return found


class PathOfModels:
    """``regularization_path`` in the form of an estimator."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters = {**parameters, "accuracy": 1e-10}

    def fit(self, X: Any, y: Any) -> None:
        from fenchel import regularization_path

        self.found = regularization_path(X, y, **self.parameters)


def data_of(name: str) -> tuple[Any, dict[str, np.ndarray]]:
    """The rows, and targets of every kind from planted models."""
    rng = np.random.default_rng(0)
    if name == "dense":
        X = rng.standard_normal((500_000, 50))
        binary = None
    else:
        data = load(name)
        X, binary = data.matrix, data.labels
    scores = X @ rng.standard_normal((X.shape[1], CLASSES))
    scores /= np.std(scores, axis=0)
    scores += 0.5 * rng.standard_normal(scores.shape)
    first = scores[:, 0]
    return X, {
        "binary": np.where(first > 0.0, 1.0, -1.0) if binary is None else binary,
        "targets": first,
        "classes": np.argmax(scores, axis=1),
        "ordered": np.digitize(first, np.quantile(first, np.linspace(0, 1, CLASSES + 1)[1:-1])),
    }


def certificate_seconds(case: Case, model: Any, X: Any, y: np.ndarray) -> float:
    """Processor seconds of one certificate of a fitted model: of each of its problems in turn."""
    from fenchel import LinearClassifier
    from fenchel.certificate import judge
    from fenchel.problem import Model, Witness

    path = model.found if case.estimator is PathOfModels else None
    if path is not None:
        model = LinearClassifier(case.parameters["loss"], C=float(path.Cs[-1]))
    task = model.encode(X, y)
    problems = model.problems(task)
    starts = [None] if path is not None else model.warm_starts(task, problems)
    total = 0.0
    for lazy, start in zip(problems, starts, strict=True):
        problem = lazy()
        own = problem.zero_model() if start is None else start.model
        if path is not None:
            own = Model(path.coefs[-1], float(path.intercepts[-1]))
        scores = problem.design.scores(own.weights) + (0.0 if own.intercept is None else own.intercept)
        witness = Witness(-problem.risk.subgradient(scores)) if start is None else start.witness
        begin = time.process_time()
        judge(problem, own, witness)
        total += time.process_time() - begin
    return total


class Clock:
    """Notes the processor time at a moment that lies ahead, and may send a signal then."""

    def __init__(self, seconds: float, *, sends: bool, processor: bool) -> None:
        self.sends, self.wall, self.processor = sends, float("nan"), float("nan")
        self._now, self._over = time.process_time if processor else time.perf_counter, threading.Event()
        self._moment = self._now() + seconds
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        while self._now() < self._moment:
            if self._over.wait(0.002):
                return
        self.wall, self.processor = time.perf_counter(), time.process_time()
        # the compiler loses a signal that comes while it loads a loop
        while self.sends and not self._over.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            self._over.wait(SIGNAL_AGAIN)

    def over(self) -> tuple[float, float]:
        """Wall-clock and processor seconds since the moment; NaN if it has not come."""
        wall, processor = time.perf_counter(), time.process_time()
        self._over.set()
        return wall - self.wall, processor - self.processor


def measured(case: Case, X: Any, y: np.ndarray, limit: float, processor: bool, signals: bool) -> Cell:
    """How long a fit goes on after its limit, and after a signal."""
    case.made(max_iter=FIRST_PASSES, time_limit=FIRST_SECONDS).fit(X[:FIRST_ROWS], y[:FIRST_ROWS])
    model = case.made(time_limit=limit)
    model.fit(X, y)
    clock = Clock(limit, sends=False, processor=processor)
    model.fit(X, y)
    over = clock.over()
    certificate = certificate_seconds(case, model, X, y)
    times = {"limit_over": over, "signal_over": (float("nan"), float("nan")), "certificate": certificate}
    if signals:
        times["signal_over"], model = interrupted(case, X, y, processor)
        if case.estimator is not PathOfModels and hasattr(model, "certificate_"):
            # the fit may have come further, or less far, than the one with a limit
            times["signal_certificate"] = certificate_seconds(case, model, X, y)
    return {**times, "processor": processor, "load": os.getloadavg()[0]}


def interrupted(case: Case, X: Any, y: np.ndarray, processor: bool) -> tuple[tuple[float, float], Any]:
    """Wall-clock and processor seconds from a signal at a random moment to the end of the fit, and the model."""
    model = case.made()
    clock = Clock(random.uniform(0.2, LATEST_SIGNAL), sends=True, processor=processor)
    try:
        model.fit(X, y)
        return clock.over(), model
    except KeyboardInterrupt:
        return clock.over(), model


def excess(cell: Cell, kind: str, clock: int = 1) -> float:
    """Seconds beyond the moment and one certificate of the model that was returned."""
    return cell[f"{kind}_over"][clock] - cell.get(f"{kind}_certificate", cell["certificate"])


def markdown(cells: list[Cell]) -> str:
    """A line for each estimator, a group of columns for each data set."""
    head = ["data set", "estimator", "limit", "certificate", "over", "Ctrl-C", "within"]
    lines = []
    for cell in cells:
        # a fit that ends before its limit has no time beyond it
        within = [kind for kind in ALLOWED if not excess(cell, kind) > ALLOWED[kind]]
        verdict = "both" if len(within) == 2 else "neither" if not within else f"the {within[0]} alone"
        times = [f"{cell[f'{kind}_over'][1]:.2f} ({cell[f'{kind}_over'][0]:.2f})" for kind in ALLOWED]
        lines.append(
            [cell["data"], cell["estimator"], f"{cell['limit']:g}", f"{cell['certificate']:.2f}", *times, verdict]
        )
    loads = [cell["load"] for cell in cells]
    worst = {kind: np.nanmax([excess(cell, kind) for cell in cells]) for kind in ALLOWED}
    counted = "processor" if all(cell["processor"] for cell in cells) else "wall-clock"
    return markdown_table(head, lines) + (
        "\n\nProcessor seconds, in parentheses wall-clock seconds; nan: the fit ended before. `certificate`: one "
        "certificate of the returned model, alone. `within`: whether the time is at most that of one certificate and "
        f"{ALLOWED['limit']:g} s (limit), {ALLOWED['signal']:g} s (Ctrl-C). The largest excess over one certificate is "
        f"{worst['limit']:.2f} s (limit), {worst['signal']:.2f} s (Ctrl-C). The limits were counted in {counted} "
        f"seconds; the load average was {min(loads):.1f} to {max(loads):.1f}."
    )


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", nargs="+", default=list(SETS), help='"dense" (500,000 x 50), or see benchmarks/data.py'
    )
    parser.add_argument("--only", nargs="+", default=list(cases()), help="estimators, by their names in the table")
    parser.add_argument("--limit", nargs="+", type=float, default=list(LIMITS), help="seconds")
    parser.add_argument("--processor", action="store_true", help="count limits in processor seconds")
    parser.add_argument("--no-signals", action="store_true", help="measure limits alone")
    add_common_options(parser, "limits.json and limits.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    random.seed(0)
    # a shell makes processes in the background ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if options.processor:
        from fenchel.compile.stopwatch import stopwatch

        stopwatch.clock = time.process_time  # type: ignore[method-assign]
    ledger = Ledger(options.output / "limits.json", KEY, options.fresh and not options.report_only)
    for name in [] if options.report_only else options.data:
        X, targets = data_of(name)
        for estimator in options.only:
            case = cases()[estimator]
            for limit in options.limit:
                place = {"data": name, "estimator": estimator, "limit": limit}
                if not options.again and ledger.has(**place):
                    continue
                found = {
                    **place,
                    **measured(case, X, targets[case.targets], limit, options.processor, not options.no_signals),
                }
                ledger.add([found])
                times = [f"{kind} {excess(found, kind):+.2f} ({excess(found, kind, 0):+.2f})" for kind in ALLOWED]
                print(name, estimator, limit, f"certificate {found['certificate']:.2f}", *times, flush=True)
    publish(options, "limits", markdown(ledger.cells))


if __name__ == "__main__":
    main()

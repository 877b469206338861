"""What scikit-learn's users have today: default solvers and tolerances, against an equal or better objective.

    python benchmarks/defaults.py --update-readme                               everything; goes on where it ended
    python benchmarks/defaults.py --model Ridge --data cpusmall-dense           these cells
    python benchmarks/defaults.py --data simulated --rounds 1                   tiny

Each class of scikit-learn has its default solver, ``tol`` and ``max_iter``, warnings of convergence included; C is that
of ``MODELS`` (``alpha`` is the same as a C). Fenchel fits the same objective with the loosest of its tolerances, half a
decade apart, whose model has an objective that is not above scikit-learn's by more than 1e-9 (relative), which is
rounding. The search begins at thirty times the relative suboptimality of scikit-learn's model and is not timed.
Objectives are computed from the weights by formulas of this file; suboptimalities are those over the lower bound of a
certificate of Fenchel, so that they are never below the true ones. Then both run in turn, round by round, in one
process of one thread: processor seconds of ``fit``, which for Fenchel holds its certificates.  "checks and proof" is
what its checks and its last certificate take alone, as in small.py: with no step at all the ratio would be the last
column.

LinearSVC and LinearSVR have no intercept, since they regularize theirs, which is another problem; all others have one.
HuberRegressor estimates a scale besides: Fenchel minimizes its objective in weights and intercept at that scale.  SVC
and SVR have 200 MB for kernel values (their default), and so has Fenchel.
"""

# ruff: noqa: E402, RUF001 (limits of threads before imports; typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/defaults.py`

import numpy as np
from numpy.typing import NDArray

from benchmarks import kernels
from benchmarks.cells import is_held_out
from benchmarks.data import DataSet, load
from benchmarks.l1 import in_turn, timed
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table
from benchmarks.small import PROOF, proof_alone

KEY = ("model", "data")
OWN, PEER = "Fenchel", "scikit-learn"
#: of Fenchel, from the loosest on, half a decade apart
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(1, 21))
#: above the peer's objective by less than this, relatively, is equal: rounding of sums of 500,000 terms
EQUAL = 1e-9
#: relative gaps of the lower bounds: of linear models, and of those with kernels, where a bound costs more
REFERENCE, KERNEL_REFERENCE = 1e-7, 1e-5
#: a tolerance is tried from this many suboptimalities of the peer on
_LOOSER = 30.0
#: fits longer than this, in processor seconds, are timed once
_LONG = 5.0
#: megabytes of kernel values, the default ``cache_size`` of SVC
_CACHE = 200.0


class Linear(NamedTuple):
    """Omega(w) + C sum f(s_i, y_i), in the form of both."""

    question: str
    sets: tuple[str, ...]
    #: the class with its defaults but C, for n examples
    peer: Callable[[float, int], Any]
    loss: str
    C: float = 1.0
    lasso: bool = False
    intercept: bool = True


def _svm(name: str, **given: Any) -> Any:
    from sklearn import svm

    return getattr(svm, name)(**given)


def _linear_model(name: str, **given: Any) -> Any:
    from sklearn import linear_model

    return getattr(linear_model, name)(**given)


_BINARY = ("a9a", "w8a", "covtype", "mushrooms", "mnist", "20news.binary", "imdb", "reuters-moneyfx", "simulated")
_DENSE = ("abalone-dense", "cpusmall-dense", "cadata-dense")
MODELS = {
    "LinearSVC": Linear(
        "classification", _BINARY, lambda C, n: _svm("LinearSVC", C=C, fit_intercept=False),
        "squared_hinge", intercept=False,
    ),
    "LinearSVC, hinge": Linear(
        "classification", ("a9a", "imdb", "mushrooms", "reuters-moneyfx"),
        lambda C, n: _svm("LinearSVC", C=C, loss="hinge", fit_intercept=False), "hinge", intercept=False,
    ),
    "LogisticRegression": Linear(
        "classification", _BINARY, lambda C, n: _linear_model("LogisticRegression", C=C), "logistic"
    ),
    "LogisticRegression, classes": Linear(
        "several classes", ("banking77", "20news"), lambda C, n: _linear_model("LogisticRegression", C=C), "multinomial"
    ),
    "LinearSVR": Linear(
        "regression", _DENSE, lambda C, n: _svm("LinearSVR", C=C, fit_intercept=False), "absolute", intercept=False
    ),
    "Ridge": Linear(
        "regression", (*_DENSE, "20news.binary"), lambda C, n: _linear_model("Ridge", alpha=1.0 / C), "squared"
    ),
    "Lasso": Linear(
        "L1", ("a9a", "cpusmall-dense", "cadata-dense"),
        lambda C, n: _linear_model("Lasso", alpha=1.0 / (C * n)), "squared", C=0.1, lasso=True,
    ),
    "QuantileRegressor": Linear(
        "regression", ("abalone-dense", "housing.scale-dense"),
        lambda C, n: _linear_model("QuantileRegressor", alpha=1.0 / (C * n)), "quantile", lasso=True,
    ),
    "HuberRegressor": Linear(
        "regression", ("cpusmall-dense", "cadata-dense"), lambda C, n: _linear_model("HuberRegressor"), "huber"
    ),
}  # fmt: skip
KERNELS = {"SVC": ("a9a@5000", "w8a@5000"), "SVR": ("abalone", "cpusmall")}
SETS = {**{name: model.sets for name, model in MODELS.items()}, **KERNELS}


def held_out(model: str, name: str) -> bool:
    """Whether nobody tunes on this cell."""
    question, C = ("kernels", 1.0) if model in KERNELS else (MODELS[model].question, MODELS[model].C)
    plain = name if question == "classification" else name.removesuffix("-dense")
    # texts are a question of their own among the sets of two classes
    of_text = question == "classification" and plain in ("20news.binary", "imdb", "reuters-moneyfx")
    if model == "Ridge" and plain == "20news.binary":
        of_text = True
    return is_held_out("text" if of_text else question, plain, C)


def losses_of(loss: str, scores: NDArray, labels: NDArray, scale: float) -> NDArray:
    """The loss of each example, as Fenchel means it, by formulas of this file."""
    if loss == "multinomial":
        top = scores.max(axis=1)
        summed = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top
        return np.asarray(summed - scores[np.arange(len(labels)), labels.astype(int)])
    if loss in ("hinge", "squared_hinge"):
        short = np.maximum(0.0, 1.0 - labels * scores)
        return short if loss == "hinge" else short**2
    if loss == "logistic":
        return np.logaddexp(0.0, -labels * scores)
    residual = np.abs(scores - labels)
    if loss == "huber":
        width = 1.35 * scale
        return np.where(residual <= width, 0.5 * residual**2, width * (residual - 0.5 * width))
    return {"squared": 0.5 * residual**2, "absolute": residual, "quantile": 0.5 * residual}[loss]


class LinearRace:
    """One data set and one linear model: fits of both, and the objective."""

    def __init__(self, name: str, data: DataSet) -> None:
        self.model, self.data, self.scale = MODELS[name], data, 1.0
        self.C = self.model.C

    def peer(self) -> NDArray[np.float64]:
        """The class of scikit-learn with its defaults."""
        fitted = self.model.peer(self.model.C, len(self.data.labels)).fit(self.data.matrix, self.data.labels)
        if self.model.loss == "huber":
            # sigma and alpha of its objective: alpha |w|^2 + 2 / sigma sum huber
            self.scale, self.C = fitted.scale_, 1.0 / (fitted.scale_ * fitted.alpha)
        return _coefficients(fitted)

    def own(self, tol: float) -> NDArray[np.float64]:
        """Fenchel's model of the same objective."""
        self.fitted = self.estimator(tol).fit(self.data.matrix, self.data.labels)
        return _coefficients(self.fitted)

    def estimator(self, tol: float) -> Any:
        """Fenchel's estimator of the same objective."""
        import fenchel
        from fenchel.losses import Huber

        C, loss = self.C, self.model.loss
        if self.data.regression or loss == "squared":
            given = Huber(1.35 * self.scale) if loss == "huber" else loss
            ratio = 1.0 if self.model.lasso else 0.0
            return fenchel.LinearRegressor(
                given, C=C, tol=tol, l1_ratio=ratio, fit_intercept=self.model.intercept, max_iter=np.inf
            )
        if loss == "multinomial":
            return fenchel.LinearClassifier("logistic", C=C, tol=tol, multi_class=loss, max_iter=np.inf)
        return fenchel.LinearClassifier(loss, C=C, tol=tol, fit_intercept=self.model.intercept, max_iter=np.inf)

    def lower(self) -> float:
        """A proved lower bound of the objective."""
        coefficients = self.own(REFERENCE)
        return self.objective(coefficients) * (1.0 - self.fitted.certificate_.relative_gap)

    def objective(self, coefficients: NDArray[np.float64]) -> float:
        """Omega(w) + C sum f, from weights and intercepts, a line for each class."""
        weights, intercepts = coefficients[:, :-1], coefficients[:, -1]
        scores = np.asarray(self.data.matrix @ weights.T) + intercepts
        scores = scores if self.model.loss == "multinomial" else scores[:, 0]
        omega = np.abs(weights).sum() if self.model.lasso else 0.5 * np.vdot(weights, weights)
        losses = losses_of(self.model.loss, scores, self.data.labels, self.scale)
        return float(omega + self.C * losses.sum())


def _coefficients(fitted: Any) -> NDArray[np.float64]:
    """Weights with the intercept behind, a line for each class."""
    weights = np.atleast_2d(fitted.coef_)
    intercepts = np.broadcast_to(np.ravel(fitted.intercept_), len(weights))
    return np.column_stack([weights, intercepts]).astype(np.float64)


class KernelRace:
    """One data set and SVC or SVR: as in kernels.py, with the peer's defaults."""

    def __init__(self, data: DataSet) -> None:
        self.data, self.gamma = data, kernels.gamma_of(data, kernels.SCALE)

    def peer(self) -> NDArray[np.float64]:
        """SVC or SVR; 1e-3 is their default tolerance."""
        return kernels.fit_of(kernels.PEER, self.data, 1.0, self.gamma, _CACHE, 1e-3)()

    def own(self, tol: float) -> NDArray[np.float64]:
        """The same problem in the form of the library."""
        return kernels.fit_of(kernels.OWN, self.data, 1.0, self.gamma, _CACHE, tol)()

    def lower(self) -> float:
        """A proved lower bound of the objective."""
        from fenchel import solve

        problem = kernels.problem_of(self.data, 1.0, self.gamma, _CACHE)
        return float(solve(problem, tol=KERNEL_REFERENCE, max_iter=np.inf).certificate.dual)

    def objective(self, coefficients: NDArray[np.float64]) -> float:
        """The mean loss and the square of the norm."""
        return kernels.objective(self.data, 1.0, self.gamma, coefficients)


def measured(model: str, name: str, rounds: int) -> Cell:
    """Find Fenchel's tolerance, then time both in turn."""
    data = load(name)
    race = KernelRace(data) if model in KERNELS else LinearRace(model, data)
    theirs, spent = timed(race.peer)
    target, lower = race.objective(theirs), race.lower()
    excess = target / lower - 1.0
    about = {"model": model, "data": name, "description": data.description, "held_out": held_out(model, name)}
    found: Cell = {**about, "excess": excess, "reached": False}
    longest = spent
    for tol in TOLERANCES:
        if tol > _LOOSER * max(excess, EQUAL):
            continue
        ours, spent = timed(lambda tol=tol: race.own(tol))
        found |= {"tol": tol, "own_excess": race.objective(ours) / lower - 1.0}
        if race.objective(ours) <= target * (1.0 + EQUAL):
            found["reached"] = True
            break
    longest = max(longest, spent)
    fits: dict[str, Any] = {OWN: lambda: race.own(found["tol"]), PEER: race.peer}
    if isinstance(race, LinearRace):
        fits[PROOF] = proof_alone(race.estimator(found["tol"]), data.matrix, data.labels)
    runs = in_turn({one: {} for one in fits}, fits, 1 if longest > _LONG else rounds)
    return {**found, "load": runs[0]["load"], **{who: run["seconds"] for who, run in zip(fits, runs, strict=True)}}


def markdown(cells: list[Cell]) -> str:
    """A line for each problem, and medians."""
    lines = []
    for cell in cells:
        ratio = f"{ratio_of(cell):.2f}" if cell["reached"] else f"< {ratio_of(cell):.2f}"
        row = [f"{cell['data']} ({cell['description']})", cell["model"], "yes" if cell["held_out"] else ""]
        row += [_spread(cell[OWN]), _spread(cell[PEER]), ratio]
        row += [f"{max(cell['excess'], 0.0):.1e}", f"{max(cell['own_excess'], 0.0):.1e}", f"{cell['tol']:.1g}"]
        lines.append([*row, *_without_steps(cell)])
    order = list(SETS)
    lines.sort(key=lambda line: order.index(line[1]))
    head = ["data set", "model", "held out", OWN, PEER, "scikit-learn ÷ Fenchel"]
    head += ["its suboptimality", "Fenchel's", "tol of Fenchel", PROOF, "scikit-learn ÷ them"]
    loads = [load for cell in cells for load in cell["load"]]
    legend = (
        "Processor seconds of a fit, one thread: median [least–most] of runs in turn (one above 5 s). scikit-learn has "
        "its default solver, tolerance and number of iterations, Fenchel the loosest tolerance with an objective that "
        "is equal or better; suboptimalities are relative, over a proved lower bound (of a gap of at most 1e-7, with "
        "kernels 1e-5). < where "
        "no tolerance of Fenchel was enough. Fenchel's seconds hold its certificates. The load average was "
        f"{min(loads):.1f} to {max(loads):.1f}."
    )
    return "\n\n".join([markdown_table(head, lines), legend])


def ratio_of(cell: Cell) -> float:
    """The peer's median over Fenchel's."""
    return float(statistics.median(cell[PEER]) / statistics.median(cell[OWN]))


def _without_steps(cell: Cell) -> list[str]:
    """The seconds of checks and proof, and the ratio that a fit without a step would have."""
    if PROOF not in cell:
        return ["–", "–"]
    return [_spread(cell[PROOF]), f"{statistics.median(cell[PEER]) / statistics.median(cell[PROOF]):.2f}"]


def _spread(seconds: list[float]) -> str:
    if len(seconds) == 1:
        return f"{seconds[0]:.3g} (one run)"
    return f"{statistics.median(seconds):.3g} [{min(seconds):.3g}–{max(seconds):.3g}]"


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--data", nargs="+", help="only these sets; see benchmarks/data.py")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of both")
    add_common_options(parser, "defaults.json and defaults.md")
    options = parser.parse_args()
    ledger = Ledger(options.output / "defaults.json", KEY, options.fresh and not options.report_only)
    for model in [] if options.report_only else options.model:
        for name in SETS[model]:
            asked = name in options.data if options.data else name != "simulated"
            if asked and (options.again or not ledger.has(model=model, data=name)):
                found = measured(model, name, options.rounds)
                ledger.add([found])
                print(model, name, f"{ratio_of(found):.3g}", found, flush=True)
    publish(options, "defaults", markdown(ledger.cells))


if __name__ == "__main__":
    main()

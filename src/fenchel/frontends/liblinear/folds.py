"""Cross-validation and the search for C, with LIBLINEAR's folds and its lines.

The folds are those of LIBLINEAR on Linux: it shuffles with ``rand`` of the C library, which begins with the seed 1.
"""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.arrays import Array, Floats
from fenchel.frontends.liblinear.model import Model
from fenchel.frontends.liblinear.options import TrainOptions
from fenchel.frontends.liblinear.predicting import predicted
from fenchel.frontends.liblinear.training import trained
from fenchel.frontends.matrix import Data
from fenchel.solving.solution import Solution

#: the largest C of a search, by whether it is one of regression
_LARGEST_C = {False: 1024.0, True: 1048576.0}
#: values of p in a search
_STEPS_OF_P = 20
#: of the C after which nothing changes, when a search ends
_UNCHANGED = 5
#: distance of two vectors of weights that are the same
_SAME = 1e-15


class _Fold(NamedTuple):
    rows: Array
    others: Array


def cross_validate(data: Data, options: TrainOptions) -> int:
    """Predict each fold by the others, and print how good that is; the exit status."""
    found = np.empty(len(data.y))
    for fold in _folds(data, options):
        model, fits = trained(data.X[fold.others], data.y[fold.others], options)
        if any(one.interrupted for one in fits):
            raise KeyboardInterrupt
        found[fold.rows] = predictions(model, data.X[fold.rows])
    if options.kind.task != "regression":
        print(f"Cross Validation Accuracy = {100.0 * int(np.sum(found == data.y)) / len(data.y):g}%")
        return 0
    covariance, n = np.cov(found, data.y, ddof=0), len(data.y)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = covariance[0, 1] ** 2 / (covariance[0, 0] * covariance[1, 1])
    print(f"Cross Validation Mean squared error = {float(np.sum((found - data.y) ** 2)) / n:g}")
    print(f"Cross Validation Squared correlation coefficient = {correlation:g}")
    return 0


def search(data: Data, options: TrainOptions) -> int:
    """Find the best C, and p of regression, by cross-validation; the exit status."""
    folds = _folds(data, options)
    print(f"Doing parameter search with {options.folds}-fold cross validation.", flush=True)
    start = options.C if "c" in options.given else None
    if options.kind.task != "regression":
        best = _best_cost(data, folds, options, start)
        print(f"Best C = {best.C:g}  CV accuracy = {100.0 * best.score:g}%")
        return 0
    largest = float(np.max(np.abs(data.y)))
    step = _STEPS_OF_P - 1
    if "p" in options.given and options.p > 0 and largest > 0:
        step = min(int(options.p / (largest / _STEPS_OF_P)), step)
    found = []
    for k in range(step, -1, -1):
        p = k * largest / _STEPS_OF_P
        found.append((p, _best_cost(data, folds, options, start, p)))
    p, best = min(found, key=lambda one: one[1].score)
    print(f"Best C = {best.C:g} Best p = {p:g}  CV MSE = {best.score:g}")
    return 0


class _Best(NamedTuple):
    C: float
    #: the share that is right, or the mean squared error
    score: float


def _best_cost(
    data: Data, folds: list[_Fold], options: TrainOptions, start: float | None, p: float | None = None
) -> _Best:
    """The best one of C = start, 2 start, 4 start, ..., until the models no longer change."""
    regression = options.kind.task == "regression"
    largest = _LARGEST_C[regression]
    C = min(first_cost(data, options.quietly(1.0, p)) if start is None else start, largest)
    best, unchanged = _Best(C, math.inf if regression else 0.0), 0
    known: list[tuple[list[Solution], Floats]] | None = None
    while largest >= C:
        target, now = np.empty(len(data.y)), []
        for k, fold in enumerate(folds):
            warm = None if known is None else known[k][0]
            model, fits = trained(data.X[fold.others], data.y[fold.others], options.quietly(C, p), warm)
            if any(one.interrupted for one in fits):
                raise KeyboardInterrupt
            now.append(([one.solution for one in fits], np.array(model.weights)))
            target[fold.rows] = predictions(model, data.X[fold.rows])
        if known is not None and any(_differ(a, b) for (_, a), (_, b) in zip(known, now, strict=True)):
            unchanged = -1
        known = now
        score = float(np.mean((target - data.y) ** 2 if regression else target == data.y))
        if score < best.score if regression else score > best.score:
            best = _Best(C, score)
        if not options.quiet:
            shown = f"p={p:7.2f}\tMean squared error={score:g}" if regression else f"rate={100.0 * score:g}"
            print(f"log2c={math.log2(C):7.2f}\t{shown}", flush=True)
        unchanged += 1
        if unchanged == _UNCHANGED:
            return best
        C *= 2.0
    if not options.quiet:
        print("WARNING: maximum C reached.")
    return best


def first_cost(data: Data, options: TrainOptions) -> float:
    """The power of 2 at which a search begins: there the weights are about zero."""
    squares = np.asarray(data.X.multiply(data.X).sum(axis=1)).ravel()
    if options.bias >= 0:
        squares = squares + options.bias**2
    n, largest = len(data.y), float(np.max(squares))
    if options.kind.task != "regression":
        least = 1.0 / ((1.0 if options.kind.loss == "logistic" else 2.0) * n * largest) if largest else 1.0
    else:
        sizes = np.abs(data.y)
        loss = float(np.sum(np.maximum(sizes - options.p, 0.0) ** 2))
        total = float(np.sum(sizes))
        least = 0.01 * loss / (8.0 * total**2 * largest) if loss > 0 and largest > 0 else math.inf
    return 2.0 ** math.floor(math.log2(least)) if 0.0 < least < math.inf else least


def predictions(model: Model, X: sp.csr_matrix) -> Floats:
    """The labels or values of some rows."""
    weights = np.array(model.weights).reshape(model.rows, model.outputs)
    scores = X @ weights[: model.features] + np.array(model.scores.offsets)
    return np.array([predicted(model, row) for row in scores.tolist()], dtype=np.float64)


def shuffled(count: int) -> list[int]:
    """The order in which LIBLINEAR puts the rows before they are divided into folds."""
    order = list(range(count))
    for place, number in enumerate(c_rand(count)):
        other = place + number % (count - place)
        order[place], order[other] = order[other], order[place]
    return order


def c_rand(count: int) -> list[int]:
    """The first numbers of ``rand`` of GNU's C library: r_i = r_(i-3) + r_(i-31) modulo 2^32, without the last bit."""
    state = [1]
    for _ in range(30):
        state.append(16807 * state[-1] % (2**31 - 1))
    state += state[:3]
    for place in range(34, 344 + count):
        state.append((state[place - 3] + state[place - 31]) % 2**32)
    return [number >> 1 for number in state[344:]]


def _folds(data: Data, options: TrainOptions) -> list[_Fold]:
    n, count = len(data.y), options.folds or 0
    if count > n:
        count = n
        print(
            "WARNING: # folds > # data. Will use # folds = # data instead (i.e., leave-one-out cross validation)",
            file=sys.stderr,
        )
    order = np.array(shuffled(n))
    ends = [k * n // count for k in range(count + 1)]
    return [_Fold(order[begin:end], np.concatenate([order[:begin], order[end:]])) for begin, end in pairwise(ends)]


def _differ(first: Floats, second: Floats) -> bool:
    return first.shape != second.shape or float(np.linalg.norm(first - second)) > _SAME

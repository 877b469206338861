"""Rules for the threshold and the costs of a plug-in for F1, on the development sets of measures_study.py.

    python benchmarks/threshold_rules.py                                  about 4 minutes of one core
    python benchmarks/threshold_rules.py --data overlap:10 --splits 3     synthetic data of another seed

Splits, choice of C and costs are those of measures_study.py.  Fits to folds are made once and every rule sees the same
held-out scores, so that rules are compared split by split with "neighbours", the rule of earlier versions.

================  ===================================================================================================
rule              the loss of a threshold, and what is minimized
================  ===================================================================================================
neighbours        the mean F1 loss of the thresholds at most p^(2/3) examples away, p true positives above it
best              the F1 loss of the pooled held-out scores
mean of folds     neighbours without each fold in turn, and the mean of the five thresholds
bootstrap         the mean of the best thresholds of 20 resamples
linear curve      F1 of the errors that Platt's logistic function of the score expects
quadratic curve   the same with a quadratic function: what MeasureClassifier does
half a curve      the mean of counted errors and of those that the quadratic curve expects
================  ===================================================================================================
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/threshold_rules.py`

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.measures_study import DEVELOPMENT, SYNTHETIC, drawn, f1_of_ones, made
from benchmarks.report import markdown_table
from fenchel import LinearClassifier
from fenchel.estimators.calibration import Calibration
from fenchel.estimators.plug_in import COST_EXPONENTS, cost_weights, positive_weight

STRENGTHS = (0.1, 1.0, 10.0)
RESAMPLES = 20


class Scores(NamedTuple):
    """Labels and folds of the training part, its held-out scores for each cost, and scores and labels of the rest."""

    y: np.ndarray
    fold: np.ndarray
    held_out: np.ndarray
    rest: np.ndarray
    y_rest: np.ndarray


class Found(NamedTuple):
    """A threshold and its loss."""

    threshold: float
    loss: float


Rule = Callable[[np.ndarray, np.ndarray, np.ndarray], Found]


def cut(scores: np.ndarray, hits: np.ndarray, reach: float = 0.0) -> Found:
    """The best threshold where each score has so many true positives, by the mean loss of its neighbours."""
    order = np.argsort(-scores)
    own, falling = np.concatenate([[0.0], np.cumsum(hits[order])]), scores[order]
    count = np.arange(len(scores) + 1)
    losses = 1.0 - 2.0 * own / (own[-1] + count)
    if reach:
        near = np.rint(own**reach).astype(int)
        first, last = np.maximum(count - near, 0), np.minimum(count + near, len(scores)) + 1
        sums = np.concatenate([[0.0], np.cumsum(losses)])
        losses = (sums[last] - sums[first]) / (last - first)
    # between different scores, and not before the first
    allowed = np.concatenate([[False], falling[:-1] > falling[1:], [True]])
    best = int(np.argmin(np.where(allowed, losses, np.inf)))
    low = falling[best] if best < len(scores) else falling[-1] - 2.0
    return Found(float(0.5 * (falling[best - 1] + low)), float(losses[best]))


def _neighbours(y: np.ndarray, fold: np.ndarray, scores: np.ndarray) -> Found:
    return cut(scores, y, 2.0 / 3.0)


def _mean_of_folds(y: np.ndarray, fold: np.ndarray, scores: np.ndarray) -> Found:
    parts = [_neighbours(y[fold != f], fold, scores[fold != f]).threshold for f in np.unique(fold)]
    return Found(float(np.mean(parts)), _neighbours(y, fold, scores).loss)


def _bootstrap(y: np.ndarray, fold: np.ndarray, scores: np.ndarray) -> Found:
    rng = np.random.default_rng(0)
    drawings = (rng.integers(0, len(y), len(y)) for _ in range(RESAMPLES))
    threshold = float(np.mean([cut(scores[rows], y[rows]).threshold for rows in drawings]))
    return Found(threshold, 1.0 - f1_of_ones(y, scores > threshold))


def _linear_curve(y: np.ndarray, fold: np.ndarray, scores: np.ndarray) -> Found:
    n_pos = int(y.sum())
    share = np.where(y > 0, (n_pos + 1) / (n_pos + 2), 1 / (len(y) - n_pos + 2))
    twice, ones = np.tile(scores, 2)[:, None], np.repeat([1, 0], len(y))
    curve = LogisticRegression(C=1e6).fit(twice, ones, np.concatenate([share, 1.0 - share]))
    return cut(scores, curve.predict_proba(scores[:, None])[:, 1])


def _quadratic_curve(y: np.ndarray, fold: np.ndarray, scores: np.ndarray) -> Found:
    return cut(scores, Calibration.of(scores, y > 0).probabilities(scores))


def _half_a_curve(y: np.ndarray, fold: np.ndarray, scores: np.ndarray) -> Found:
    return cut(scores, 0.5 * y + 0.5 * Calibration.of(scores, y > 0).probabilities(scores))


RULES: dict[str, Rule] = {
    "neighbours": _neighbours,
    "best": lambda y, fold, scores: cut(scores, y),
    "mean of folds": _mean_of_folds,
    "bootstrap": _bootstrap,
    "linear curve": _linear_curve,
    "quadratic curve": _quadratic_curve,
    "half a curve": _half_a_curve,
}


def fitted(X: Any, y: np.ndarray, C: float, exponent: float) -> LinearClassifier:
    """A logistic fit with these costs."""
    signs = np.where(y > 0, 1.0, -1.0)
    weights = cost_weights(signs, None, positive_weight(signs, None, exponent))
    return LinearClassifier("logistic", C=C, tol=1e-2, random_state=0).fit(X, y, sample_weight=weights)


def scores_of(X: Any, y: np.ndarray, train: np.ndarray, rest: np.ndarray, C: float) -> Scores:
    """The held-out scores of the training part, and the scores of the rest, for each cost."""
    X_train, y_train = X[train], y[train]
    held_out, others = np.empty((len(COST_EXPONENTS), len(train))), np.empty((len(COST_EXPONENTS), len(rest)))
    fold = np.empty(len(train), dtype=int)
    for f, (part, left) in enumerate(StratifiedKFold(5).split(np.zeros(len(train)), y_train)):
        fold[left] = f
        for k, exponent in enumerate(COST_EXPONENTS):
            held_out[k, left] = fitted(X_train[part], y_train[part], C, exponent).decision_function(X_train[left])
    for k, exponent in enumerate(COST_EXPONENTS):
        others[k] = fitted(X_train, y_train, C, exponent).decision_function(X[rest])
    return Scores(y_train, fold, held_out, others, y[rest])


def mark(own: Scores, rule: Rule) -> float:
    """F1 of the rest with the cost and the threshold of a rule."""
    found = [rule(own.y, own.fold, scores) for scores in own.held_out]
    best = int(np.argmin([one.loss for one in found]))
    return 100.0 * f1_of_ones(own.y_rest, own.rest[best] > found[best].threshold)


def marks_of_split(X: Any, y: np.ndarray, seed: int) -> list[float]:
    """The test F1 of every rule, each with its C."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    part, choice = train_test_split(train, test_size=1 / 3, stratify=y[train], random_state=seed)
    inner = [scores_of(X, y, part, choice, C) for C in STRENGTHS]
    outer = [scores_of(X, y, train, test, C) for C in STRENGTHS]
    return [mark(outer[int(np.argmax([mark(own, rule) for own in inner]))], rule) for rule in RULES.values()]


def main() -> None:
    """Measure every rule and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(DEVELOPMENT), help="a set, or synthetic:seed")
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in options.data:
        kind, _, seed = name.partition(":")
        X, y = made(*SYNTHETIC[kind][:-1], int(seed)) if seed else drawn(name)
        marks = np.array([marks_of_split(X, y, split) for split in range(options.splits)])
        apart = marks - marks[:, :1]
        error = apart.std(axis=0, ddof=1) / np.sqrt(len(marks))
        cells = zip(marks.mean(axis=0), apart.mean(axis=0), error, strict=True)
        rows.append([name, *(f"{mean:.1f} ({far:+.1f} ± {wide:.1f})" for mean, far, wide in cells)])
        print(rows[-1], flush=True)
    print(markdown_table(["data", *RULES], rows))


if __name__ == "__main__":
    main()

"""Rare positives: is a classifier that is trained for a measure better at it on new data?

    python examples/imbalanced.py                            w8a and reuters-moneyfx, five random splits each
    python examples/imbalanced.py --seeds 2 --data w8a

Half of the examples train, a quarter chooses C (for each classifier and each measure its own), a quarter tests.  The
data sets are read from the folder ``FENCHEL_DATA`` (default ../shared/data beside the project).  A difference to
MeasureClassifier is called a tie unless a paired t-test over the splits tells it from zero at 5%.  The splits share
examples, so even that is a generous test.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

import argparse
import lzma
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split

from fenchel import F1, GapWarning, LinearSVC, LogisticRegression, MeasureClassifier
from fenchel.estimators.thresholds import best_threshold

ROOT = Path(__file__).resolve().parent.parent
STRENGTHS = (0.1, 1.0, 10.0, 100.0)
MEASURES = ("f1", "prbep", "roc_auc")
#: seconds for one fit; the worst gap that was proved is printed
_LIMIT = 20.0
_TUNED = "LinearSVC, threshold tuned"

#: what is compared, for a value of C
CLASSIFIERS: dict[str, Callable[[float], Any]] = {
    **{
        f"MeasureClassifier('{name}')": lambda C, name=name: MeasureClassifier(
            name, C=C, tol=1e-2, max_iter=1e4, time_limit=_LIMIT, random_state=0
        )
        for name in MEASURES
    },
    "LinearSVC": lambda C: LinearSVC(C=C, random_state=0),
    _TUNED: lambda C: LinearSVC(C=C, random_state=0),
    "LinearSVC, balanced": lambda C: LinearSVC(C=C, class_weight="balanced", random_state=0),
    "LogisticRegression": lambda C: LogisticRegression(C=C, random_state=0),
}


def load(name: str) -> tuple[Any, np.ndarray]:
    """A matrix and labels 0 and 1."""
    folder = Path(os.environ.get("FENCHEL_DATA", ROOT.parent / "shared" / "data"))
    with lzma.open(folder / f"{name}.svm.xz") as text:
        X, y = load_svmlight_file(text)
    return X, (y > 0).astype(int)


def held_out(model: Any, X: Any, y: np.ndarray, shift: float) -> dict[str, float]:
    """The three measures of one model on these examples."""
    scores = model.decision_function(X) - shift
    highest = np.argsort(-scores, kind="stable")[: int(np.sum(y))]
    return {"f1": f1_score(y, scores > 0), "prbep": float(np.mean(y[highest])), "roc_auc": roc_auc_score(y, scores)}


def one_split(X: Any, y: np.ndarray, seed: int) -> tuple[dict[str, dict[str, float]], float]:
    """The test measures of every classifier, each with the C that was best for it, and the worst gap."""
    train, rest = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    choice, test = train_test_split(rest, test_size=0.5, stratify=y[rest], random_state=seed)
    found, worst = {}, 0.0
    for name, make in CLASSIFIERS.items():
        tried = []
        for C in STRENGTHS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GapWarning)
                model = make(C).fit(X[train], y[train])
            worst = max(worst, model.certificate_.relative_gap)
            shift = 0.0
            if name == _TUNED:
                shift = best_threshold(model.decision_function(X[train]), F1(np.where(y[train] == 1, 1.0, -1.0)))
            tried.append([held_out(model, X[part], y[part], shift) for part in (choice, test)])
        found[name] = {key: max(tried, key=lambda pair, key=key: pair[0][key])[1][key] for key in MEASURES}
    return found, worst


def report(splits: list[dict[str, dict[str, float]]]) -> str:
    """A line for each classifier: mean ± standard deviation, and how it compares with the one for that measure."""
    lines = ["| classifier | F1 | break-even | ROC area |", "|---|---|---|---|"]
    for name in CLASSIFIERS:
        cells = []
        for key in MEASURES:
            values = 100 * np.array([split[name][key] for split in splits])
            own = 100 * np.array([split[f"MeasureClassifier('{key}')"][key] for split in splits])
            cells.append(f"{values.mean():.2f} ± {values.std(ddof=1):.2f}{_verdict(values - own)}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _verdict(differences: np.ndarray) -> str:
    if not np.any(differences):
        return ""
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    mean = differences.mean()
    word = "tie" if abs(mean) <= student.ppf(0.975, len(differences) - 1) * error else "better" if mean > 0 else "worse"
    return f" ({mean:+.2f}: {word})"


def main() -> None:
    """Print a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["reuters-moneyfx", "w8a"])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    for name in options.data:
        X, y = load(name)
        results = [one_split(X, y, seed) for seed in range(options.seeds)]
        print(f"\n{name}: {X.shape[0]:,} × {X.shape[1]:,}, {100 * y.mean():.1f}% positive, {options.seeds} splits;")
        print(f"the worst relative gap of any fit was {max(gap for _, gap in results):.2g}\n")
        print(report([split for split, _ in results]), flush=True)


if __name__ == "__main__":
    main()

"""Rare positives: is a classifier that is trained for a measure better at it on new data?

    python examples/imbalanced.py                            all three data sets, five random splits each
    python examples/imbalanced.py --seeds 2 --data w8a

Half of the examples train, a quarter chooses C (for each classifier and each measure its own), a quarter tests.  In
protein-homology examples belong to queries, and a query is in one part as a whole; its columns are scaled to mean 0
and standard deviation 1 in the training half.  The data sets are read from the folder ``FENCHEL_DATA`` (default
../shared/data beside the project).  A difference to MeasureClassifier is called a tie unless a paired t-test over the
splits tells it from zero at 5%.  The splits share examples, so even that is a generous test.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

import argparse
import lzma
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from fenchel import GapWarning, LinearSVC, LogisticRegression, MeasureClassifier
from fenchel.estimators.thresholds import best_threshold
from fenchel.risks import F1

ROOT = Path(__file__).resolve().parent.parent
STRENGTHS = (0.1, 1.0, 10.0, 100.0)
MEASURES = ("f1", "prbep", "roc_auc")
#: seconds for one fit; the worst gap that was proved is printed
_LIMIT = 300.0
_TUNED = "LinearSVC, threshold tuned"

#: what is compared, for a value of C
CLASSIFIERS: dict[str, Callable[[float], Any]] = {
    **{
        f"MeasureClassifier('{name}')": lambda C, name=name: MeasureClassifier(
            name, surrogate="bound", C=C, tol=1e-2, max_iter=1e4, time_limit=_LIMIT, random_state=0
        )
        for name in MEASURES
    },
    "LinearSVC": lambda C: LinearSVC(C=C, random_state=0),
    _TUNED: lambda C: LinearSVC(C=C, random_state=0),
    "LinearSVC, balanced": lambda C: LinearSVC(C=C, class_weight="balanced", random_state=0),
    "LogisticRegression": lambda C: LogisticRegression(C=C, max_iter=1000, random_state=0),
}


class Data(NamedTuple):
    """A matrix, labels 0 and 1, and the query that an example belongs to, if there are queries."""

    X: Any
    y: np.ndarray
    query: np.ndarray | None


def load(name: str) -> Data:
    """The set of that name; one with queries is dense."""
    folder = Path(os.environ.get("FENCHEL_DATA", ROOT.parent / "shared" / "data"))
    file = folder / f"{name}.svm.xz"
    if file.exists():
        with lzma.open(file) as text:
            X, y = load_svmlight_file(text)
        return Data(X, (y > 0).astype(int), None)
    with lzma.open(folder / f"{name}.qid.svm.xz") as text:
        X, y, query = load_svmlight_file(text, query_id=True)
    return Data(X.toarray(), (y > 0).astype(int), query)


def three_parts(data: Data, seed: int) -> list[tuple[Any, np.ndarray]]:
    """To train, to choose C and to test; whole queries where there are queries."""
    if data.query is None:
        train, rest = train_test_split(np.arange(len(data.y)), test_size=0.5, stratify=data.y, random_state=seed)
        choice, test = train_test_split(rest, test_size=0.5, stratify=data.y[rest], random_state=seed)
        return [(data.X[part], data.y[part]) for part in (train, choice, test)]
    queries = np.random.default_rng(seed).permutation(np.unique(data.query))
    ends = [0, len(queries) // 2, 3 * len(queries) // 4, len(queries)]
    train, choice, test = (np.isin(data.query, queries[ends[i] : ends[i + 1]]) for i in range(3))
    scaler = StandardScaler().fit(data.X[train])
    return [(scaler.transform(data.X[part]), data.y[part]) for part in (train, choice, test)]


def held_out(model: Any, X: Any, y: np.ndarray, shift: float) -> dict[str, float]:
    """The three measures of one model on these examples."""
    scores = model.decision_function(X) - shift
    highest = np.argsort(-scores, kind="stable")[: int(np.sum(y))]
    return {"f1": f1_score(y, scores > 0), "prbep": float(np.mean(y[highest])), "roc_auc": roc_auc_score(y, scores)}


def one_split(data: Data, seed: int) -> tuple[dict[str, dict[str, float]], float]:
    """The test measures of every classifier, each with the C that was best for it, and the worst gap."""
    (X, y), *judges = three_parts(data, seed)
    found, worst = {}, 0.0
    for name, make in CLASSIFIERS.items():
        tried = []
        for C in STRENGTHS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GapWarning)
                model = make(C).fit(X, y)
            worst = max(worst, model.certificate_.relative_gap)
            shift = 0.0
            if name == _TUNED:
                shift = best_threshold(model.decision_function(X), F1(np.where(y == 1, 1.0, -1.0)))
            tried.append([held_out(model, *part, shift) for part in judges])
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
    parser.add_argument("--data", nargs="+", default=["reuters-moneyfx", "w8a", "protein-homology"])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    for name in options.data:
        try:
            data = load(name)
        except FileNotFoundError as error:
            print(f"skipped: {Path(error.filename).name} is not in the folder FENCHEL_DATA (default ../shared/data)")
            continue
        results = [one_split(data, seed) for seed in range(options.seeds)]
        rows, columns = data.X.shape
        print(f"\n{name}: {rows:,} × {columns:,}, {100 * data.y.mean():.2g}% positive, {options.seeds} splits;")
        print(f"the worst relative gap of any fit was {max(gap for _, gap in results):.2g}\n")
        print(report([split for split, _ in results]), flush=True)


if __name__ == "__main__":
    main()

"""F1 on held-out data where classes overlap: MeasureClassifier beside scikit-learn with tuned thresholds.

    python benchmarks/measures_study.py --update-readme        (5 minutes of one core)
    python benchmarks/measures_study.py --C 0.1 1 10           C of each classifier chosen on a quarter of the examples
    python benchmarks/measures_study.py --data overlap a9a --splits 3

Half of the examples train and the others test; with several C a quarter chooses C for each classifier and a quarter
tests.  A cell is the mean F1 in percent over the splits with its standard error.  The default is "within a standard
error" if its mean is below that of the best classifier by at most the standard error of the latter.  scikit-learn's
classifiers are ``TunedThresholdClassifierCV`` of ``LogisticRegression``, with and without balanced classes.
"""

from __future__ import annotations

import argparse
import lzma
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/measures_study.py`

import numpy as np
from sklearn.datasets import load_svmlight_file, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load, shared_folder
from benchmarks.report import RESULTS, markdown_table, read_json, update_readme, write_json
from fenchel import MeasureClassifier

DEFAULT = "MeasureClassifier"


def _ours(**surrogate: str) -> Callable[[float], Any]:
    return lambda C: MeasureClassifier("f1", C=C, tol=1e-2, random_state=0, **surrogate)


def _theirs(**balanced: str) -> Callable[[float], Any]:
    return lambda C: TunedThresholdClassifierCV(LogisticRegression(C=C, max_iter=1000, **balanced), scoring="f1")


CLASSIFIERS: dict[str, Callable[[float], Any]] = {
    DEFAULT: _ours(),
    'surrogate="bound"': _ours(surrogate="bound"),
    'surrogate="plug_in"': _ours(surrogate="plug_in"),
    "LogisticRegression, tuned": _theirs(),
    "the same, balanced": _theirs(class_weight="balanced"),
}


def _made(rows: int, features: int, informative: int, rare: float, noise: float, apart: float, seed: int) -> Any:
    return make_classification(
        rows, features, n_informative=informative, weights=[1 - rare], flip_y=noise, class_sep=apart, random_state=seed
    )


def _raw(name: str) -> tuple[np.ndarray, np.ndarray]:
    with lzma.open(shared_folder() / f"{name}.svm.xz") as text:
        X, y = load_svmlight_file(text)
    return StandardScaler().fit_transform(X.toarray()), y


def _columns(name: str, label: int) -> tuple[np.ndarray, np.ndarray]:
    data = load(name)
    return StandardScaler().fit_transform(data.matrix.toarray()), data.labels == label


def _published(name: str) -> tuple[Any, np.ndarray]:
    data = load(name)
    return data.matrix, data.labels > 0


def _reviews() -> tuple[Any, np.ndarray]:
    with lzma.open(shared_folder() / "imdb.svm.xz") as text:
        _, ratings = load_svmlight_file(text)
    return load("imdb").matrix, ratings == 2


def _above(name: str, level: float) -> tuple[np.ndarray, np.ndarray]:
    X, y = _raw(name)
    return X, y >= level


#: what the positives are, and the rows at most
SETS: dict[str, tuple[str, int, Callable[[], Any]]] = {
    "overlap": ("synthetic, 2.2%", 6000, lambda: _made(6000, 30, 10, 0.02, 0.005, 0.8, 0)),
    "overlap-10": ("synthetic, 12%", 4000, lambda: _made(4000, 20, 8, 0.1, 0.05, 0.6, 1)),
    "apart": ("synthetic, 5.4%", 4000, lambda: _made(4000, 20, 8, 0.05, 0.01, 1.5, 2)),
    "a9a": ("income, 24%", 4000, lambda: _published("a9a")),
    "w8a": ("as published, 3.1%", 6000, lambda: _published("w8a")),
    "reuters-moneyfx": ("category, 6.9%", 4000, lambda: _published("reuters-moneyfx")),
    "satimage": ("class 4, 9.3%", 4000, lambda: _columns("satimage.scale", 3)),
    "letter": ("H, 3.7%", 5000, lambda: _columns("letter.scale", 7)),
    "abalone": ("15 rings or more, 8.7%", 5000, lambda: _above("abalone", 15)),
    "cadata": ("above $400,000, 8.6%", 4000, lambda: _above("cadata", 400_001)),
    "imdb": ("rating 2, 9.6%", 4000, _reviews),
}


def drawn(name: str) -> tuple[Any, np.ndarray]:
    """The rows of a set, at most so many, and labels 0 and 1."""
    _, most, make = SETS[name]
    X, y = make()
    rows = np.random.default_rng(0).permutation(len(y))[:most]
    return X[rows], np.asarray(y)[rows].astype(int)


def one_split(X: Any, y: np.ndarray, seed: int, Cs: list[float]) -> dict[str, tuple[float, float, str]]:
    """Of each classifier the test F1 with the C that was best for it, the seconds of its fits, and its surrogate."""
    train, rest = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    choice, test = rest, rest
    if len(Cs) > 1:
        choice, test = train_test_split(rest, test_size=0.5, stratify=y[rest], random_state=seed)
    found = {}
    for name, make in CLASSIFIERS.items():
        tried, begin = [], time.process_time()
        for C in Cs:
            model = make(C).fit(X[train], y[train])
            marks = [float(f1_score(y[part], model.predict(X[part]))) for part in (choice, test)]
            tried.append((*marks, getattr(model, "surrogate_", "")))
        best = max(tried, key=lambda one: one[0])
        found[name] = (100.0 * best[1], time.process_time() - begin, best[2])
    return found


def markdown(cells: dict[str, list[dict[str, tuple[float, float, str]]]]) -> str:
    """A table of the sets by the classifiers."""
    rows, kept = [], 0
    for name, splits in cells.items():
        marks = {key: np.array([split[key][0] for split in splits]) for key in CLASSIFIERS}
        means = {key: own.mean() for key, own in marks.items()}
        errors = {key: own.std(ddof=1) / np.sqrt(len(own)) for key, own in marks.items()}
        best = max(means, key=lambda key: means[key])
        within = means[DEFAULT] >= means[best] - errors[best]
        kept += within
        plugged = sum(split[DEFAULT][2] == "plug_in" for split in splits)
        shown = [
            f"{'**' if key == best else ''}{means[key]:.1f} ± {errors[key]:.1f}{'**' if key == best else ''}"
            for key in marks
        ]
        took = [np.median([split[key][1] for split in splits]) for key in CLASSIFIERS]
        seconds = " / ".join(f"{own:.2g}" for own in took)
        rows.append(
            [f"{name} ({SETS[name][0]})", *shown, f"{plugged} of {len(splits)}", "yes" if within else "no", seconds]
        )
    head = [
        "data (positives)",
        *CLASSIFIERS,
        "default took the plug-in",
        "default within one standard error of the best",
    ]
    table = markdown_table([*head, "seconds, in this order"], rows)
    return f"{table}\n\nFinding: the default is within one standard error of the best on {kept} of {len(rows)} sets."


def main() -> None:
    """Measure every classifier on every set and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--C", type=float, nargs="+", default=[1.0])
    parser.add_argument("--report", type=Path, nargs="+", help="only report the results of these JSON files")
    parser.add_argument("--update-readme", action="store_true", help="write the section in benchmarks/README.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of trivial bounds and of scikit-learn's solvers
    cells: dict[str, list[dict[str, tuple[float, float, str]]]] = {}
    for file in options.report or ():
        cells |= read_json(file)["cells"]
    for name in options.data if options.report is None else ():
        X, y = drawn(name)
        cells[name] = [one_split(X, y, seed, options.C) for seed in range(options.splits)]
        print(markdown({name: cells[name]}).splitlines()[2], flush=True)
    text = markdown(cells)
    print(text)
    write_json(RESULTS / "measures_study.json", {"splits": options.splits, "C": options.C, "cells": cells})
    if options.update_readme:
        update_readme("measures-study", text)


if __name__ == "__main__":
    main()

"""F1 on held-out data where classes overlap: MeasureClassifier beside scikit-learn with tuned thresholds.

    python benchmarks/measures_study.py --update-readme        (8 minutes of one core; goes on where it was ended)
    python benchmarks/measures_study.py --C 1                  the defaults, without a choice of C
    python benchmarks/measures_study.py --data overlap a9a --splits 3
    python benchmarks/measures_study.py --report-only --chance   on how many sets one of equals would lose

Half of the examples train and the others test.  With several C the one of each classifier is chosen by F1 on a third of
the training half, and the classifier is then fitted to the whole half.  A cell is the mean F1 in percent over the
splits with its standard error.  The default is "within one standard error" if its mean is below that of the best
classifier by at most the standard error of the latter, and "paired" if it is by at most the standard error of the
difference, split by split: F1 depends on the split more than on the classifier.  scikit-learn's are
``TunedThresholdClassifierCV`` of ``LogisticRegression``, with and without balanced classes.

``--chance`` draws splits in which the default and all classifiers that are not clearly behind have equal expected F1,
with the measured covariance of each set, and counts the sets on which the default is not within one standard error of
the best.  The splits of a set share its examples, which standard errors do not see, so the true chances are larger.

The rule of the default may be changed after a look at the sets in ``DEVELOPMENT``; the others are held out.
"""

from __future__ import annotations

import argparse
import lzma
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/measures_study.py`

import numpy as np
from sklearn.datasets import load_svmlight_file, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.data import load, shared_folder
from benchmarks.report import RESULTS, markdown_table, read_json, update_readme, write_json
from fenchel import MeasureClassifier

DEFAULT = "MeasureClassifier"


def _ours(**surrogate: str) -> Callable[[float], Any]:
    return lambda C: MeasureClassifier("f1", C=C, tol=1e-2, random_state=0, **surrogate)


def f1_of_ones(y: np.ndarray, predicted: np.ndarray) -> float:
    """F1 of labels 0 and 1: that of scikit-learn without its checks, which take most of the time of 100 thresholds."""
    both = np.count_nonzero(y & predicted)
    return 2.0 * both / max(1, np.count_nonzero(y) + np.count_nonzero(predicted))


def _theirs(**balanced: str) -> Callable[[float], Any]:
    scoring = make_scorer(f1_of_ones)
    return lambda C: TunedThresholdClassifierCV(LogisticRegression(C=C, max_iter=1000, **balanced), scoring=scoring)


CLASSIFIERS: dict[str, Callable[[float], Any]] = {
    DEFAULT: _ours(),
    'surrogate="bound"': _ours(surrogate="bound"),
    'surrogate="plug_in"': _ours(surrogate="plug_in"),
    "LogisticRegression, tuned": _theirs(),
    "the same, balanced": _theirs(class_weight="balanced"),
}


def made(rows: int, features: int, informative: int, rare: float, noise: float, apart: float, seed: int) -> Any:
    """A synthetic set of two classes."""
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


#: arguments of ``made``, the seed last
SYNTHETIC = {
    "overlap": (6000, 30, 10, 0.02, 0.005, 0.8, 0),
    "overlap-20000": (20000, 30, 10, 0.02, 0.005, 0.8, 0),
    "overlap-10": (4000, 20, 8, 0.1, 0.05, 0.6, 1),
    "apart": (4000, 20, 8, 0.05, 0.01, 1.5, 2),
}

#: what the positives are, and the rows at most
SETS: dict[str, tuple[str, int, Callable[[], Any]]] = {
    "overlap": ("synthetic, 2.2%", 6000, lambda: made(*SYNTHETIC["overlap"])),
    "overlap-20000": ("synthetic, 2.2%", 20000, lambda: made(*SYNTHETIC["overlap-20000"])),
    "overlap-10": ("synthetic, 12%", 4000, lambda: made(*SYNTHETIC["overlap-10"])),
    "apart": ("synthetic, 5.4%", 4000, lambda: made(*SYNTHETIC["apart"])),
    "a9a": ("income, 24%", 2000, lambda: _published("a9a")),
    "w8a": ("as published, 3.1%", 6000, lambda: _published("w8a")),
    "reuters-moneyfx": ("category, 6.9%", 3000, lambda: _published("reuters-moneyfx")),
    "satimage": ("class 4, 9.3%", 3000, lambda: _columns("satimage.scale", 3)),
    "letter": ("H, 3.7%", 3000, lambda: _columns("letter.scale", 7)),
    "abalone": ("15 rings or more, 8.7%", 3000, lambda: _above("abalone", 15)),
    "cadata": ("above $400,000, 8.6%", 3000, lambda: _above("cadata", 400_001)),
    "imdb": ("rating 2, 9.6%", 3000, _reviews),
}


#: the sets on which rules may be tried; all others are held out
DEVELOPMENT = ("overlap", "overlap-20000", "overlap-10", "apart", "w8a", "satimage", "cadata", "reuters-moneyfx")

#: a classifier is clearly behind if its paired difference to the best is that many of its standard errors
CLEARLY = 3.0

#: F1 in percent, processor seconds, surrogate and C of each classifier
Split = dict[str, tuple[float, float, str, float]]


def drawn(name: str) -> tuple[Any, np.ndarray]:
    """The rows of a set, a random sample of them if the set has a maximum, and labels 0 and 1."""
    _, most, make = SETS[name]
    X, y = make()
    rows = np.random.default_rng(0).permutation(len(y))[:most]
    return X[rows], np.asarray(y)[rows].astype(int)


def one_split(X: Any, y: np.ndarray, seed: int, Cs: list[float], known: Split | None = None) -> Split:
    """Of each classifier the test F1 with the C that was best for it, the seconds of its fits, its surrogate and C."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    part, choice = train_test_split(train, test_size=1 / 3, stratify=y[train], random_state=seed)
    found = {} if known is None else dict(known)
    for name, make in CLASSIFIERS.items():
        if name in found:
            continue
        begin, C = time.process_time(), Cs[0]
        if len(Cs) > 1:
            marks = [f1_of_ones(y[choice], make(C).fit(X[part], y[part]).predict(X[choice])) for C in Cs]
            C = Cs[int(np.argmax(marks))]
        model = make(C).fit(X[train], y[train])
        mark = 100.0 * f1_of_ones(y[test], model.predict(X[test]))
        found[name] = (mark, time.process_time() - begin, getattr(model, "surrogate_", ""), C)
    return found


class Verdict(NamedTuple):
    """Means and standard errors of the classifiers of a set, and the default beside the best of them."""

    means: np.ndarray
    errors: np.ndarray
    best: int
    apart: float
    apart_error: float

    @property
    def within(self) -> bool:
        return bool(self.apart >= -self.errors[self.best])

    @property
    def within_paired(self) -> bool:
        return bool(self.apart >= -self.apart_error)


def verdict(marks: np.ndarray) -> Verdict:
    """Of marks of splits by classifiers, the default first."""
    root = np.sqrt(len(marks))
    means, errors = marks.mean(axis=0), marks.std(axis=0, ddof=1) / root
    best = int(np.argmax(means))
    apart = marks[:, 0] - marks[:, best]
    return Verdict(means, errors, best, float(apart.mean()), float(apart.std(ddof=1) / root))


def _marks(splits: list[Split]) -> np.ndarray:
    return np.array([[split[key][0] for key in CLASSIFIERS] for split in splits])


def markdown(cells: dict[str, list[Split]]) -> str:
    """A table of the sets by the classifiers."""
    rows, verdicts = [], []
    for name, splits in cells.items():
        own = verdict(_marks(splits))
        verdicts.append(own)
        plugged = sum(split[DEFAULT][2] == "plug_in" for split in splits)
        marked = ["**" if k == own.best else "" for k in range(len(CLASSIFIERS))]
        took = [np.median([split[key][1] for split in splits]) for key in CLASSIFIERS]
        rows.append(
            [
                f"{name} ({SETS[name][0]}{'' if name in DEVELOPMENT else ', held out'})",
                *(f"{m}{f:.1f} ± {e:.1f}{m}" for m, f, e in zip(marked, own.means, own.errors, strict=True)),
                f"{plugged} of {len(splits)}",
                f"{own.apart:+.1f} ± {own.apart_error:.1f}",
                " / ".join("yes" if one else "no" for one in (own.within, own.within_paired)),
                " / ".join(f"{seconds:.2g}" for seconds in took),
            ]
        )
    head = [
        "data (positives)",
        *CLASSIFIERS,
        "default took the plug-in",
        "default minus best, paired",
        "within one standard error of the best / of the difference",
    ]
    table = markdown_table([*head, "processor seconds of a split, in this order"], rows)
    missing = ", ".join(name for name in SETS if name not in cells)
    alone, paired = (sum(getattr(own, kind) for own in verdicts) for kind in ("within", "within_paired"))
    said = (
        f"Finding: the default is within one standard error of the best on {alone} of {len(rows)} sets, and within one "
        f"standard error of the paired difference on {paired}."
    )
    return f"{table}\n\n{said}" + (f" Not measured: {missing}." if missing else "")


def chance(cells: dict[str, list[Split]], draws: int = 2000) -> str:
    """How many sets a default loses that is as good as all classifiers which are not clearly behind."""
    rng, lost, equals = np.random.default_rng(0), np.zeros((2, draws), dtype=int), []
    for splits in cells.values():
        marks, many = _marks(splits), len(splits)
        own = verdict(marks)
        behind = marks - marks[:, [own.best]]
        clearly = behind.mean(axis=0) < -CLEARLY * behind.std(axis=0, ddof=1) / np.sqrt(many)
        clearly[0] = False
        # normal splits with the measured covariance
        residuals = (marks - marks.mean(axis=0))[:, ~clearly] / np.sqrt(many - 1)
        equals.append(residuals.shape[1])
        for draw in range(draws):
            found = verdict(rng.standard_normal((many, many)) @ residuals)
            lost[:, draw] += (not found.within, not found.within_paired)
    words = ("of the best", "of the difference")
    verdicts = [verdict(_marks(splits)) for splits in cells.values()]
    seen = [sum(not getattr(own, kind) for own in verdicts) for kind in ("within", "within_paired")]
    lines = [
        f"one standard error {what}: {own.mean():.1f} of {len(cells)} sets lost on average, none with probability "
        f"{np.mean(own == 0):.2f}, at least the measured {count} with probability {np.mean(own >= count):.2f}"
        for what, own, count in zip(words, lost, seen, strict=True)
    ]
    return f"If {min(equals)} to {max(equals)} classifiers a set were equally good: " + "; ".join(lines) + "."


def main() -> None:
    """Measure every classifier on every set and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--C", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    parser.add_argument("--again", action="store_true", help="discard earlier results of the chosen sets")
    parser.add_argument("--remeasure", nargs="+", choices=CLASSIFIERS, default=[], help="these alone, once more")
    parser.add_argument("--report-only", action="store_true", help="only report the results of an earlier run")
    parser.add_argument("--chance", action="store_true", help="simulate how many sets one of equals would lose")
    parser.add_argument("--update-readme", action="store_true", help="write the section in benchmarks/README.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of trivial bounds and of scikit-learn's solvers
    earlier = read_json(RESULTS / "measures_study.json")
    cells: dict[str, list[Split]] = earlier["cells"] if earlier.get("C") == options.C else {}
    for name in options.data if not options.report_only else ():
        X, y = drawn(name)
        own = cells[name] = [] if options.again else cells.get(name, [])
        for seed, split in enumerate(own):
            # what was measured before, except for the classifiers that are to be measured again
            kept = {key: mark for key, mark in split.items() if key not in options.remeasure}
            if len(kept) < len(CLASSIFIERS):
                own[seed] = one_split(X, y, seed, options.C, kept)
                write_json(RESULTS / "measures_study.json", {"C": options.C, "cells": cells})
        for seed in range(len(own), options.splits):
            own.append(one_split(X, y, seed, options.C))
            write_json(RESULTS / "measures_study.json", {"C": options.C, "cells": cells})
        print(markdown({name: own}).splitlines()[2], flush=True)
    # a set that was interrupted is not reported
    whole = {name: cells[name] for name in SETS if len(cells.get(name, ())) >= options.splits}
    text = markdown(whole)
    if options.chance:
        text += f"\n\n{chance(whole)}"
    print(text)
    if options.update_readme:
        update_readme("measures-study", text)


if __name__ == "__main__":
    main()

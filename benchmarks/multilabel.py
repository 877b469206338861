"""All topics of Reuters-21578 (ModApte split): macro and micro F1 of MultilabelClassifier beside one-vs-rest.

    python benchmarks/multilabel.py --update-readme          (goes on where it was ended)
    python benchmarks/multilabel.py --topics 10              the ten most frequent topics
    python benchmarks/multilabel.py --cap 300                at most 300 seconds of the clock for a fit of Fenchel's

Term counts are turned into tf-idf with rows of unit length.  F1 is that of the topics that occur in the test part; a
topic that is neither there nor predicted has none.  ``OneVsRestClassifier, tuned`` has scikit-learn's
``TunedThresholdClassifierCV`` of ``LogisticRegression`` for each topic with at least five training documents, and plain
``LogisticRegression`` for the rarer ones, for which it has no folds.  Seconds are processor seconds of one thread.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/multilabel.py`

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

from benchmarks.data import shared_folder
from benchmarks.measures_study import f1_of_ones
from benchmarks.report import RESULTS, markdown_table, read_json, update_readme, write_json
from fenchel import MultilabelClassifier

#: inverse strengths of the regularization: of logistic losses, and of hinges and bounds
_C_LOGISTIC, _C_HINGE = 10.0, 1.0
_FEWEST = 5
_TOL = 1e-2


class TunedOneVsRest:
    """One-vs-rest with a threshold for each topic, tuned for F1 where there are folds."""

    def fit(self, X: Any, Y: sp.csr_matrix) -> TunedOneVsRest:
        self.models = [self._one(X, Y[:, [k]].toarray().ravel()) for k in range(Y.shape[1])]
        return self

    @staticmethod
    def _one(X: Any, y: np.ndarray) -> Any:
        if not y.any():
            return None
        plain = LogisticRegression(C=_C_LOGISTIC, max_iter=1000)
        tuned = TunedThresholdClassifierCV(plain, scoring=make_scorer(f1_of_ones)) if y.sum() >= _FEWEST else plain
        return tuned.fit(X, y)

    def predict(self, X: Any) -> np.ndarray:
        none = np.zeros(X.shape[0], dtype=int)
        return np.stack([none if model is None else model.predict(X) for model in self.models], axis=1)


def _ours(**options: Any) -> Callable[[float | None], Any]:
    return lambda cap: MultilabelClassifier(tol=_TOL, random_state=0, time_limit=cap, **options)


#: by name, from the time limit
CLASSIFIERS: dict[str, Callable[[float | None], Any]] = {
    "independent, hinge": _ours(C=_C_HINGE),
    "independent, logistic": _ours(loss="logistic", C=_C_LOGISTIC),
    'measure="f1", plug-in': _ours(measure="f1", surrogate="plug_in", C=_C_LOGISTIC),
    'measure="f1", average="micro", plug-in': _ours(measure="f1", average="micro", surrogate="plug_in", C=_C_LOGISTIC),
    'measure="f1", bound': _ours(measure="f1", surrogate="bound", C=_C_HINGE),
    'form="joint", thresholds for micro F1': _ours(form="joint", measure="f1", average="micro", C=_C_HINGE),
    "OneVsRestClassifier(LogisticRegression)": lambda _: OneVsRestClassifier(
        LogisticRegression(C=_C_LOGISTIC, max_iter=1000)
    ),
    "OneVsRestClassifier, tuned": lambda _: TunedOneVsRest(),
}


def corpus(topics: int | None = None) -> tuple[Any, sp.csr_matrix, Any, sp.csr_matrix]:
    """Rows and indicator matrices of both parts, of all topics or of the most frequent ones."""
    X, names = _read("reuters21578.svm.xz", None)
    X_test, test_names = _read("reuters21578.t.svm.xz", X.shape[1])
    binarizer = MultiLabelBinarizer(sparse_output=True).fit([*names, *test_names])
    Y, Y_test = binarizer.transform(names).tocsr(), binarizer.transform(test_names).tocsr()
    if topics is not None:
        kept = np.sort(np.argsort(-np.asarray(Y.sum(axis=0)).ravel(), kind="stable")[:topics])
        Y, Y_test = Y[:, kept], Y_test[:, kept]
    transformer = TfidfTransformer(sublinear_tf=True).fit(X)
    return transformer.transform(X), Y, transformer.transform(X_test), Y_test


def _read(name: str, columns: int | None) -> tuple[sp.csr_matrix, list[tuple[float, ...]]]:
    with lzma.open(shared_folder() / name) as text:
        X, labels = load_svmlight_file(text, n_features=columns, multilabel=True)
    return X, labels


def main() -> None:
    """Fit every classifier and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, help="number of topics, the most frequent ones; all if not given")
    parser.add_argument("--only", nargs="+", choices=CLASSIFIERS, default=list(CLASSIFIERS))
    parser.add_argument("--cap", type=float, help="of each of Fenchel's fits, seconds of the clock")
    parser.add_argument("--again", action="store_true", help="discard earlier results")
    parser.add_argument("--report-only", action="store_true", help="only report the results of an earlier run")
    parser.add_argument("--update-readme", action="store_true", help="write the section in benchmarks/README.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, Y, X_test, Y_test = corpus(options.topics)
    truth, present = Y_test.toarray(), np.asarray(Y_test.sum(axis=0)).ravel() > 0
    file = RESULTS / ("multilabel.json" if options.topics is None else f"multilabel-{options.topics}.json")
    known = {} if options.again else {cell["name"]: cell for cell in read_json(file).get("cells", [])}
    for name in [] if options.report_only else options.only:
        if name in known:
            continue
        begin = time.process_time()
        model = CLASSIFIERS[name](options.cap).fit(X, Y)
        seconds = time.process_time() - begin
        predicted = model.predict(X_test)
        predicted = predicted.toarray() if sp.issparse(predicted) else predicted
        macro = f1_score(truth[:, present], predicted[:, present], average="macro", zero_division=0.0)
        micro = f1_score(truth, predicted, average="micro")
        subset = float(np.mean(np.all(truth == predicted, axis=1)))
        gap = getattr(getattr(model, "certificate_", None), "relative_gap", None)
        known[name] = {"name": name, "macro": macro, "micro": micro, "subset": subset, "seconds": seconds, "gap": gap}
        print(known[name], flush=True)
        write_json(file, {"cells": list(known.values())})
    text = markdown([known[name] for name in CLASSIFIERS if name in known])
    print(text)
    if options.update_readme:
        update_readme("multilabel", text)


def markdown(cells: list[dict[str, Any]]) -> str:
    """A row for each classifier."""
    rows = [
        [
            str(cell["name"]),
            *(f"{100.0 * cell[key]:.1f}" for key in ("macro", "micro", "subset")),
            f"{cell['seconds']:.3g}",
            "none" if cell["gap"] is None else f"{cell['gap']:.1e}",
        ]
        for cell in cells
    ]
    return markdown_table(["classifier", "macro F1", "micro F1", "subset accuracy", "seconds", "proved gap"], rows)


if __name__ == "__main__":
    main()

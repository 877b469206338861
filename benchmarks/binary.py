"""Data sets of two classes with a test part, read from the shared folder and kept under out/benchmark-data/.

Whatever is fitted to data (tf-idf, ranges of columns, names of connections) is fitted to the training part alone.

====================  ===========================================================================================
name                  what it is (classes are -1 and +1, values float64, indices int32)
====================  ===========================================================================================
a9a, reuters-moneyfx  as published
w8a, covtype          a random fifth is the test part, because there is no published one; covtype is class 2 against
                      the rest with columns mapped to [0, 1]
web8, covertype       the same without the rows of w8a that are zero, and with class 1 as the positive one, as in Saha
                      et al. and Zhang et al. (2012); of covertype a tenth is the test part, which leaves the 522,911
                      rows of Saha et al., Table 1, to train on
kddcup99              the 10% file and the corrected test file: a column for each value of protocol, service and flag,
                      the other columns mapped to [0, 1] (clipped in the test part); +1 is normal traffic
kdd99                 the same; +1 is any attack, as in these papers
imdb, 20news.binary   term counts turned into tf-idf with rows of unit length; imdb: +1 is a rating above 5
reuters-earn, …       a topic of Reuters-21578 against the rest (any topic but money-fx, which is the set above): term
                      counts turned into tf-idf with rows of unit length
simulated             made up, for smoke tests
====================  ===========================================================================================
"""

from __future__ import annotations

import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.data import connections, load, shared_folder
from benchmarks.kept import kept
from benchmarks.synthetic import tidy

_TOPIC = "reuters-"
#: sets without a published test part: one of this many rows, drawn at random, is in it
HELD_OUT = {"w8a": 5, "web8": 5, "covtype": 5, "covertype": 10, "simulated": 5}

Part = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class BinarySplit:
    """A training and a test part."""

    name: str
    matrix: Any
    labels: np.ndarray
    test_matrix: Any
    test_labels: np.ndarray

    @property
    def description(self) -> str:
        rows, columns = self.matrix.shape
        return f"{rows:,} × {columns:,}, {100.0 * np.mean(self.labels > 0):.2g}% positive"  # noqa: RUF001


def load_binary(name: str) -> BinarySplit:
    """The set of that name in memory."""
    if name in HELD_OUT:
        whole = load(name)
        order = np.random.default_rng(0).permutation(len(whole.labels))
        test, train = (np.sort(part) for part in np.split(order, [len(order) // HELD_OUT[name]]))
        return BinarySplit(name, whole.matrix[train], whole.labels[train], whole.matrix[test], whole.labels[test])
    train, test = kept(f"binary-{name}", ("train", "test"), lambda: _prepared(name))
    return BinarySplit(name, *train, *test)


def _prepared(name: str) -> list[Part]:
    folder = shared_folder()
    if name in ("kddcup99", "kdd99"):
        parts = _connections([folder / f"kddcup99-{part}.csv.xz" for part in ("10percent", "corrected")])
        return [(matrix, labels if name == "kddcup99" else -labels) for matrix, labels in parts]
    if name.startswith(_TOPIC) and name != "reuters-moneyfx":
        topics = (folder / "reuters21578.topics.txt").read_text(encoding="utf-8").splitlines()
        wanted = next(number for number, topic, *_ in map(str.split, topics) if topic == name.removeprefix(_TOPIC))
        return _tf_idf(_read("reuters21578", multilabel=True), lambda labels: float(wanted) in labels)
    if name == "imdb":
        return _tf_idf(_read(name), lambda label: label > 5)
    if name == "20news.binary":
        return _tf_idf(_read(name), lambda label: label > 0)
    return [(tidy(matrix), _classes(labels > 0)) for matrix, labels in _read(name)]


def _read(stem: str, multilabel: bool = False) -> list[tuple[sp.csr_matrix, Any]]:
    from sklearn.datasets import load_svmlight_file

    parts: list[tuple[sp.csr_matrix, Any]] = []
    for suffix in ("", ".t"):
        columns = parts[0][0].shape[1] if parts else None
        with lzma.open(shared_folder() / f"{stem}{suffix}.svm.xz") as text:
            parts.append(load_svmlight_file(text, n_features=columns, dtype=np.float64, multilabel=multilabel))
    return parts


def _tf_idf(parts: list[tuple[sp.csr_matrix, Any]], positive: Callable[[Any], bool]) -> list[Part]:
    from sklearn.feature_extraction.text import TfidfTransformer

    transformer = TfidfTransformer(norm="l2").fit(parts[0][0])
    return [
        (tidy(transformer.transform(counts)), _classes(np.array([positive(label) for label in labels])))
        for counts, labels in parts
    ]


def _connections(files: list[Path]) -> list[Part]:
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    scaler, encoder = MinMaxScaler(clip=True), OneHotEncoder(handle_unknown="ignore")
    found: list[Part] = []
    for file in files:
        numbers, names, labels = connections(file)
        if not found:
            scaler.fit(numbers)
            encoder.fit(names)
        matrix = sp.hstack([sp.csr_matrix(scaler.transform(numbers)), encoder.transform(names)])
        found.append((tidy(matrix), labels))
    return found


def _classes(positive: np.ndarray) -> np.ndarray:
    return np.where(positive, 1.0, -1.0)

"""Data sets of several classes with a test part, read from the shared folder and kept under out/benchmark-data/.

====================  ===========================================================================================
name                  what it is (classes are numbers from 0 to k - 1, values float64, indices int32)
====================  ===========================================================================================
dna, satimage,        as published, scaled
letter, sector
mnist                 divided by 255
a9a                   as published: two classes, binary features
20news                term counts turned into tf-idf with rows of unit length
news20                term counts with rows of unit length; a random fifth of the published training part is the
                      test part, another one for each seed, because the published test part is missing
banking77             term counts turned into tf-idf with rows of unit length
clouds                made-up clouds of points, for smoke tests, needs no file
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

from benchmarks.data import shared_folder, unit_rows
from benchmarks.kept import kept
from benchmarks.synthetic import tidy

_SCALED = ("dna", "satimage", "letter", "sector")
NAMES = ("dna", "satimage", "letter", "mnist", "news20", "sector", "banking77")


@dataclass(frozen=True)
class Split:
    """A training and a test part."""

    name: str
    matrix: Any
    classes: np.ndarray
    test_matrix: Any
    test_classes: np.ndarray
    #: number of classes
    count: int

    @property
    def description(self) -> str:
        return f"{self.matrix.shape[0]:,} × {self.matrix.shape[1]:,}, {self.count} classes"  # noqa: RUF001

    def accuracy(self, weights: np.ndarray) -> float:
        """Percent of the test part."""
        scores = np.asarray(self.test_matrix @ weights.T)
        return float(100.0 * np.mean(np.argmax(scores, axis=1) == self.test_classes))


def load_split(name: str, seed: int = 0) -> Split:
    """The set of that name in memory; ``seed`` matters where the test part is drawn at random."""
    if name == "clouds":
        return _clouds(seed)
    parts = ("train",) if name == "news20" else ("train", "test")
    (matrix, labels), *test_part = kept(f"classes-{name}", parts, lambda: _prepared(name))
    classes, numbers = np.unique(labels, return_inverse=True)
    if name == "news20":
        order = np.random.default_rng(seed).permutation(len(numbers))
        test, train = np.sort(order[: len(order) // 5]), np.sort(order[len(order) // 5 :])
        return Split(name, matrix[train], numbers[train], matrix[test], numbers[test], len(classes))
    [(test_matrix, test_labels)] = test_part
    places = np.searchsorted(classes, test_labels)
    # a label that was not seen in training is never right
    known = classes[np.minimum(places, len(classes) - 1)] == test_labels
    return Split(name, matrix, numbers, test_matrix, np.where(known, places, -1), len(classes))


def _clouds(seed: int) -> Split:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((4, 6))
    classes = rng.integers(0, 4, 300)
    points = centres[classes] + 0.7 * rng.standard_normal((300, 6))
    return Split("clouds", tidy(sp.csr_matrix(points[:200])), classes[:200], points[200:], classes[200:], 4)


def _prepared(name: str) -> list[tuple[sp.csr_matrix, np.ndarray]]:
    """The training part, and the test part if there is one."""
    stem = f"{name}.scale" if name in _SCALED else name
    folder = shared_folder()
    matrix, labels = _read(folder / f"{stem}.svm.xz")
    parts = [(matrix, labels)]
    if (folder / f"{stem}.t.svm.xz").exists():
        parts.append(_read(folder / f"{stem}.t.svm.xz", matrix.shape[1]))
    prepare = _PREPARATIONS.get(name, lambda matrices: matrices)
    prepared = prepare([matrix for matrix, _ in parts])
    return [(tidy(sp.csr_matrix(matrix)), labels) for matrix, (_, labels) in zip(prepared, parts, strict=True)]


def _read(file: Path, columns: int | None = None) -> tuple[sp.csr_matrix, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    with lzma.open(file) as text:
        matrix, labels = load_svmlight_file(text, n_features=columns, dtype=np.float64)
    return matrix, labels


def _tf_idf(matrices: list[Any]) -> list[Any]:
    """Weights from the training part alone."""
    from sklearn.feature_extraction.text import TfidfTransformer

    transformer = TfidfTransformer(norm="l2").fit(matrices[0])
    return [transformer.transform(matrix) for matrix in matrices]


_PREPARATIONS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "mnist": lambda matrices: [matrix / 255.0 for matrix in matrices],
    "news20": lambda matrices: [unit_rows(matrix) for matrix in matrices],
    "banking77": _tf_idf,
    "20news": _tf_idf,
}

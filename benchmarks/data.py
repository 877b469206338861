"""The data sets of the benchmarks, read once from the shared folder and kept as .npz under out/benchmark-data/.

The shared folder is ``$FENCHEL_DATA``, by default ../shared/data beside the project root.

====================  ===========================================================================================
name                  what it is (classes are always -1 and +1 in float64, values float64, indices int32)
====================  ===========================================================================================
a9a, w8a              as published
mushrooms             as published; +1 is class 2
20news.binary         term counts turned into tf-idf with rows of unit length
imdb                  term counts turned into tf-idf with rows of unit length; +1 is a rating above 5
reuters-moneyfx       as published: tf-idf with rows of unit length; +1 is the category
web8                  w8a without its 4,203 rows of zeros, as in Saha et al. and Zhang et al. (2012): 45,546 rows
covtype               each column mapped to [0, 1]; +1 is class 2
covertype             the same; +1 is class 1, as in these papers
kddcup99              the 10% file: a column for each value of protocol, service and flag, the other columns mapped to
                      [0, 1]; +1 is normal traffic, -1 any attack
kdd99                 the same; +1 is any attack, as in these papers (4.08 times as many as -1; 4.04 in the whole file)
mnist                 divided by 255; +1 is the digit 0
abalone, cpusmall,    regression: columns and targets have mean 0 and standard deviation 1
cadata,
housing.scale
abalone-unit, …       regression: columns mapped to [0, 1], targets have mean 0 and standard deviation 1
letter.scale, …       several classes, numbered from 0: letter.scale, dna.scale, satimage.scale and sector.scale as
                      published; 20news and banking77 as tf-idf with rows of unit length; news20 as counts with
                      rows of unit length; mnist-classes is mnist divided by 255
simulated,            small made-up sparse sets for smoke tests, need no files
simulated-regression
covtype@10000         that number of rows of a set, drawn at random (any of the above)
gaussian@10000        made-up data of that number of rows, a dense array: see synthetic.py
text@1000000          made-up texts with about that number of non-zeros: see synthetic.py
…-dense               any of them as a dense array in C order
====================  ===========================================================================================
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import lzma
import os
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import synthetic
from benchmarks.kept import OUT as OUT
from benchmarks.kept import kept

ROOT = Path(__file__).resolve().parents[1]
_DENSE = "-dense"
_UNIT = "-unit"
_ALL_CLASSES = "-classes"
#: sets that are made from the file of another name
_FILES = {"web8": "w8a", "covertype": "covtype"}
#: names of regression sets begin with these
_REGRESSION = ("abalone", "cpusmall", "cadata", "housing.scale", "simulated-regression")


@dataclass(frozen=True)
class DataSet:
    """A design matrix with labels: -1 and +1, or the targets of a regression."""

    name: str
    #: a CSR matrix or a dense array
    matrix: Any
    labels: np.ndarray

    @property
    def sparse(self) -> bool:
        return bool(sp.issparse(self.matrix))

    @property
    def regression(self) -> bool:
        return self.name.startswith(_REGRESSION)

    @property
    def stored(self) -> int:
        """How many values are stored: the non-zeros of a sparse matrix."""
        return int(self.matrix.nnz if self.sparse else self.matrix.size)

    @property
    def description(self) -> str:
        rows, columns = self.matrix.shape
        return f"{rows:,} × {columns:,}, {f'{self.stored:,} non-zeros' if self.sparse else 'dense'}"


def load(name: str) -> DataSet:
    """The data set of that name, in memory."""
    base, _, count = name.removesuffix(_DENSE).partition("@")
    if base in synthetic.RECIPES:
        matrix, labels = synthetic.RECIPES[base](int(count))
    elif base in synthetic.SIMULATED:
        matrix, labels = synthetic.SIMULATED[base]()
    elif base in _PREPARATIONS:
        [(matrix, labels)] = kept(base, [""], lambda: [_prepared(base)])
    else:
        known = ", ".join([*_PREPARATIONS, *synthetic.SIMULATED])
        raise ValueError(f"there is no data set {name!r}; known are {known}, each also with {_DENSE!r} at the end")
    if count and base not in synthetic.RECIPES and int(count) < len(labels):
        rows = np.sort(np.random.default_rng(0).permutation(len(labels))[: int(count)])
        matrix, labels = matrix[rows], labels[rows]
    return DataSet(name, matrix.toarray() if name.endswith(_DENSE) and sp.issparse(matrix) else matrix, labels)


def shared_folder() -> Path:
    """Where the shared data sets lie."""
    folder = Path(os.environ.get("FENCHEL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        raise FileNotFoundError(f"the shared data is not at {folder}: set FENCHEL_DATA to the folder with a9a.svm.xz")
    return folder


def _prepared(name: str) -> tuple[sp.csr_matrix, np.ndarray]:
    """A set read from the shared folder."""
    from sklearn.datasets import load_svmlight_file

    if name in ("kddcup99", "kdd99"):
        matrix, labels = _connections(shared_folder() / "kddcup99-10percent.csv.xz")
        return matrix, labels if name == "kddcup99" else -labels
    stem = name.removesuffix(_UNIT).removesuffix(_ALL_CLASSES)
    file = shared_folder() / f"{_FILES.get(stem, stem)}.svm.xz"
    if not file.exists():
        raise FileNotFoundError(f"{file} is missing: set FENCHEL_DATA to the folder with the shared data sets")
    with lzma.open(file) as text:
        matrix, labels = load_svmlight_file(text, dtype=np.float64)
    matrix, labels = _PREPARATIONS[name](matrix, labels)
    return synthetic.tidy(matrix), labels


def connections(file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The records of KDD Cup 1999: numbers, the three columns of names, and classes (+1 is normal traffic)."""
    numbers, names = array("d"), []
    with lzma.open(file, "rt") as text:
        for line in text:
            first, protocol, service, flag, *others, label = line.rstrip().split(",")
            numbers.extend(map(float, (first, *others)))
            names.append((protocol, service, flag, label))
    columns = np.array(names)
    return np.array(numbers).reshape(len(names), -1), columns[:, :3], _classes(columns[:, 3] == "normal.")


def _connections(file: Path) -> tuple[sp.csr_matrix, np.ndarray]:
    """A column for each name, the others mapped to [0, 1]."""
    from sklearn.preprocessing import OneHotEncoder

    numbers, names, labels = connections(file)
    matrix = sp.hstack([sp.csr_matrix(_unit_columns(numbers)), OneHotEncoder().fit_transform(names)])
    return synthetic.tidy(matrix), labels


def _tf_idf(counts: sp.csr_matrix) -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer(norm="l2").fit_transform(counts)


def unit_rows(matrix: sp.csr_matrix) -> Any:
    """Each row divided by its length."""
    from sklearn.preprocessing import normalize

    return normalize(matrix)


def _unit_columns(matrix: Any) -> Any:
    """Each column mapped linearly to [0, 1]."""
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    low, high = dense.min(axis=0), dense.max(axis=0)
    return (dense - low) / np.where(high > low, high - low, 1.0)


def _standardized(values: np.ndarray) -> np.ndarray:
    """Each column with mean 0 and standard deviation 1."""
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def _classes(positive: np.ndarray) -> np.ndarray:
    return np.where(positive, 1.0, -1.0)


def without_empty_rows(matrix: sp.csr_matrix, labels: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray]:
    """The rows with a feature that is not zero, and their labels."""
    kept = np.flatnonzero(np.diff(matrix.indptr) > 0)
    return matrix[kept], labels[kept]


def _numbered(labels: np.ndarray) -> np.ndarray:
    return np.unique(labels, return_inverse=True)[1].astype(np.float64)


#: how a raw set becomes a matrix and labels
_PREPARATIONS: dict[str, Callable[[sp.csr_matrix, np.ndarray], tuple[Any, np.ndarray]]] = {
    "a9a": lambda matrix, labels: (matrix, _classes(labels > 0)),
    "w8a": lambda matrix, labels: (matrix, _classes(labels > 0)),
    "web8": lambda matrix, labels: without_empty_rows(matrix, _classes(labels > 0)),
    "mushrooms": lambda matrix, labels: (matrix, _classes(labels == 2)),
    "reuters-moneyfx": lambda matrix, labels: (matrix, _classes(labels > 0)),
    "kddcup99": lambda matrix, labels: (matrix, labels),
    "kdd99": lambda matrix, labels: (matrix, labels),
    "20news.binary": lambda matrix, labels: (_tf_idf(matrix), _classes(labels > 0)),
    "imdb": lambda matrix, labels: (_tf_idf(matrix), _classes(labels > 5)),
    "covtype": lambda matrix, labels: (_unit_columns(matrix), _classes(labels == 2)),
    "covertype": lambda matrix, labels: (_unit_columns(matrix), _classes(labels == 1)),
    "mnist": lambda matrix, labels: (matrix / 255.0, _classes(labels == 0)),
}
for _name in ("abalone", "cpusmall", "cadata", "housing.scale"):
    _PREPARATIONS[_name] = lambda matrix, targets: (_standardized(matrix.toarray()), _standardized(targets))
    _PREPARATIONS[_name + _UNIT] = lambda matrix, targets: (_unit_columns(matrix), _standardized(targets))
for _name in ("letter.scale", "dna.scale", "satimage.scale", "sector.scale"):
    _PREPARATIONS[_name] = lambda matrix, labels: (matrix, _numbered(labels))
for _name in ("20news", "banking77"):
    _PREPARATIONS[_name] = lambda matrix, labels: (_tf_idf(matrix), _numbered(labels))
_PREPARATIONS["news20"] = lambda matrix, labels: (unit_rows(matrix), _numbered(labels))
_PREPARATIONS["mnist" + _ALL_CLASSES] = lambda matrix, labels: (matrix / 255.0, _numbered(labels))

"""The data sets of the benchmarks, read once from the shared folder and kept as .npz under out/benchmark-data/.

The shared folder is ``$FENCHEL_DATA``, by default ../shared/data beside the project root.

==============  ===================================================================================
name            what it is (labels are always -1 and +1 in float64, values float64, indices int32)
==============  ===================================================================================
a9a, w8a        as published
20news.binary   term counts turned into tf-idf with rows of unit length
imdb            term counts turned into tf-idf with rows of unit length; +1 is a rating above 5
covtype         each column mapped to [0, 1]; +1 is class 2
mnist           divided by 255; +1 is the digit 0
covtype-dense   covtype as a dense array in C order
mnist-dense     mnist as a dense array in C order
simulated       a small made-up sparse set for smoke tests, needs no files
simulated-dense the same as a dense array
==============  ===================================================================================
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[1]
#: everything that benchmarks write
OUT = ROOT / "out"
_DENSE = "-dense"


@dataclass(frozen=True)
class DataSet:
    """A design matrix with labels of -1 and +1."""

    name: str
    #: a CSR matrix or a dense array
    matrix: Any
    labels: np.ndarray

    @property
    def sparse(self) -> bool:
        return bool(sp.issparse(self.matrix))

    @property
    def description(self) -> str:
        rows, columns = self.matrix.shape
        stored = f"{self.matrix.nnz:,} non-zeros" if self.sparse else "dense"
        return f"{rows:,} × {columns:,}, {stored}"


def load(name: str) -> DataSet:
    """The data set of that name, in memory."""
    base = name.removesuffix(_DENSE)
    if base == "simulated":
        matrix, labels = _simulated()
    elif base in _PREPARATIONS:
        matrix, labels = _kept(base)
    else:
        known = ", ".join([*_PREPARATIONS, "simulated"])
        raise ValueError(f"there is no data set {name!r}; known are {known}, each also with {_DENSE!r} at the end")
    return DataSet(name, matrix.toarray() if name.endswith(_DENSE) else matrix, labels)


def shared_folder() -> Path:
    """Where the shared data sets lie."""
    folder = Path(os.environ.get("FENCHEL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        raise FileNotFoundError(f"the shared data is not at {folder}: set FENCHEL_DATA to the folder with a9a.svm.xz")
    return folder


def _kept(name: str) -> tuple[sp.csr_matrix, np.ndarray]:
    """A prepared set from the cache, prepared first if it is not there."""
    file = OUT / "benchmark-data" / f"{name}.npz"
    if not file.exists():
        matrix, labels = _prepared(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.npz")
        parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
        np.savez(part, shape=np.array(matrix.shape), labels=labels, **parts)
        part.replace(file)
    with np.load(file) as kept:
        shape = tuple(int(size) for size in kept["shape"])
        matrix = sp.csr_matrix((kept["data"], kept["indices"], kept["indptr"]), shape=shape)
        return matrix, kept["labels"]


def _prepared(name: str) -> tuple[sp.csr_matrix, np.ndarray]:
    """A set read from the shared folder."""
    from sklearn.datasets import load_svmlight_file

    file = shared_folder() / f"{name}.svm.xz"
    if not file.exists():
        raise FileNotFoundError(f"{file} is missing: set FENCHEL_DATA to the folder with the shared data sets")
    with lzma.open(file) as text:
        matrix, labels = load_svmlight_file(text, dtype=np.float64)
    matrix, positive = _PREPARATIONS[name](matrix, labels)
    matrix = sp.csr_matrix(matrix)
    matrix.sort_indices()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix, np.where(positive, 1.0, -1.0)


def _tf_idf(counts: sp.csr_matrix) -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer(norm="l2").fit_transform(counts)


def _unit_columns(matrix: sp.csr_matrix) -> Any:
    """Each column mapped linearly to [0, 1]."""
    dense = matrix.toarray()
    low, high = dense.min(axis=0), dense.max(axis=0)
    return (dense - low) / np.where(high > low, high - low, 1.0)


#: how a raw set becomes a matrix and a mask of positive examples
_PREPARATIONS: dict[str, Callable[[sp.csr_matrix, np.ndarray], tuple[Any, np.ndarray]]] = {
    "a9a": lambda matrix, labels: (matrix, labels > 0),
    "w8a": lambda matrix, labels: (matrix, labels > 0),
    "20news.binary": lambda matrix, labels: (_tf_idf(matrix), labels > 0),
    "imdb": lambda matrix, labels: (_tf_idf(matrix), labels > 5),
    "covtype": lambda matrix, labels: (_unit_columns(matrix), labels == 2),
    "mnist": lambda matrix, labels: (matrix / 255.0, labels == 0),
}


def _simulated(rows: int = 400, columns: int = 60, density: float = 0.2) -> tuple[sp.csr_matrix, np.ndarray]:
    random = np.random.default_rng(0)
    draws = {"random_state": random, "data_rvs": random.standard_normal}
    matrix = sp.csr_matrix(sp.random(rows, columns, density=density, **draws))
    matrix.sort_indices()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    scores = matrix @ random.standard_normal(columns) + 0.5 * random.standard_normal(rows)
    return matrix, np.where(scores > 0, 1.0, -1.0)

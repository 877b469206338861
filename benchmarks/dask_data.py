"""Data of about 1 GB in files, and a cluster of two workers that holds them, for ``dask_scaling.py``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel.dask.blocks import NO_COLUMNS, file_block

#: files of the data, and entries of a sparse row
PARTS, LENGTH = 8, 80
#: rows and features of the data sets
SHAPES = {"sparse": (1_000_000, 50_000), "dense": (250_000, 500)}


def write(path: Path, seed: int, rows: int, features: int, dense: bool) -> None:
    """Write rows with the labels of a noisy plane: sparse ones of norm 1, mostly of the first columns, or dense."""
    rng = np.random.default_rng(seed)
    if dense:
        X: Any = rng.standard_normal((rows, features))
        stored = {"X": X}
    else:
        columns = (features * rng.random((rows, LENGTH)) ** 2).astype(np.int32)
        values = rng.random((rows, LENGTH))
        values /= np.linalg.norm(values, axis=1, keepdims=True)
        ends = LENGTH * np.arange(rows + 1, dtype=np.int64)
        X = sp.csr_array((values.ravel(), columns.ravel(), ends), shape=(rows, features))
        X.sum_duplicates()
        stored = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    scores = X @ np.random.default_rng(99).standard_normal(features)
    y = np.where(scores + 0.2 * np.std(scores) * rng.standard_normal(rows) > 0.0, 1.0, -1.0)
    np.savez(path, y=y, **stored)


def files(folder: Path, kind: str, scale: float) -> list[str]:
    """The files of a data set, which are written unless they are there."""
    rows, features = SHAPES[kind]
    folder.mkdir(parents=True, exist_ok=True)
    names = [folder / f"{kind}-{k}.npz" for k in range(PARTS)]
    for k, name in enumerate(names):
        if not name.exists():
            write(name, k, int(scale * rows) // PARTS, features, kind == "dense")
    return [str(name) for name in names]


def in_memory(names: Sequence[str]) -> tuple[Any, np.ndarray]:
    """The rows and labels of some files."""
    blocks = [file_block(name, NO_COLUMNS, None) for name in names]
    rows = [block.X for block in blocks]
    X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    return X, np.concatenate([block.y for block in blocks])


@contextmanager
def cluster(names: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """A client of two workers, and the data that they hold."""
    from fenchel.dask.cluster import connected
    from fenchel.dask.sources import load, source_of

    with connected(2) as client:
        yield client, load(client, source_of(list(names), None, None))

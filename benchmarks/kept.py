"""Prepared data sets as .npz under out/benchmark-data/, since reading and preparing the shared files takes longer."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

#: everything that benchmarks write
OUT = Path(__file__).resolve().parents[1] / "out"

Part = tuple[sp.csr_matrix, np.ndarray]


def kept(name: str, parts: Sequence[str], prepare: Callable[[], Sequence[Part]]) -> list[Part]:
    """The parts of a set from the cache, prepared first if one is not there."""
    files = [OUT / "benchmark-data" / f"{'-'.join(filter(None, (name, part)))}.npz" for part in parts]
    if not all(file.exists() for file in files):
        for file, (matrix, labels) in zip(files, prepare(), strict=True):
            _write(file, matrix, labels)
    return [_read(file) for file in files]


def _write(file: Path, matrix: Any, labels: np.ndarray) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(f".{os.getpid()}.npz")
    arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    np.savez(unfinished, shape=np.array(matrix.shape), labels=labels, **arrays)
    unfinished.replace(file)


def _read(file: Path) -> Part:
    with np.load(file) as arrays:
        shape = tuple(int(size) for size in arrays["shape"])
        matrix = sp.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=shape)
        return matrix, arrays["labels"]

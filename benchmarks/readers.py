"""Reading svmlight files: Fenchel's reader and scikit-learn's loader, in turn, on the same plain files.

python benchmarks/readers.py --update-readme
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import lzma
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/readers.py`

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks import report
from benchmarks.data import shared_folder
from fenchel.io.svmlight import read_svmlight

_SETS = ("a9a", "covtype", "20news.binary", "sector.scale", "normal")
_ROUNDS = 3


def main() -> None:
    """Measure and report."""
    updates = report.asked_to_update_readme(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        rows = [_row(_plain(name, Path(folder)), name) for name in _SETS]
    head = ["data", "MB", "entries", "Fenchel", "scikit-learn", "ratio"]
    text = report.markdown_table(head, rows)
    text += (
        f"\n\nProcessor seconds of one thread, median [least–most] of {_ROUNDS} interleaved rounds, from a plain file"
        " to a sparse matrix. `normal`: normal numbers with all their digits (16 or 17), 10,000 × 100. Both read"
        " the same bits."
    )
    if updates:
        report.update_readme("readers", text)
    print(text)


def _plain(name: str, folder: Path) -> Path:
    """The file, unpacked."""
    path = folder / f"{name}.svm"
    if name == "normal":
        with path.open("w", encoding="ascii") as target:
            for row in np.random.default_rng(0).standard_normal((10_000, 100)).tolist():
                target.write("1 " + " ".join(f"{k}:{value!r}" for k, value in enumerate(row, 1)) + "\n")
    else:
        with lzma.open(shared_folder() / f"{name}.svm.xz") as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
    return path


def _row(path: Path, name: str) -> list[str]:
    readers: tuple[Callable[[], object], ...] = (lambda: read_svmlight(path), lambda: load_svmlight_file(str(path)))
    found, (theirs, labels) = read_svmlight(path), load_svmlight_file(str(path))
    own = found.X
    assert np.array_equal(own.data.view(np.int64), theirs.data.view(np.int64)) and np.array_equal(found.y, labels)
    assert np.array_equal(own.indices, theirs.indices) and np.array_equal(own.indptr, theirs.indptr)
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for reader, spent in zip(readers, seconds, strict=True):
            begin = time.process_time()
            reader()
            spent.append(time.process_time() - begin)
    ratio = statistics.median(seconds[1]) / statistics.median(seconds[0])
    shown = [f"{statistics.median(one):.3f} [{min(one):.3f}–{max(one):.3f}]" for one in seconds]
    return [name, f"{path.stat().st_size / 1e6:.1f}", f"{own.nnz:,}", *shown, f"{ratio:.1f}"]


if __name__ == "__main__":
    main()

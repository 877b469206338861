"""Fits over a store beside fits in memory, and what converting and opening cost, in turn.

python benchmarks/stores.py --update-readme
"""

from __future__ import annotations

import lzma
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/stores.py`

from benchmarks import report
from benchmarks.data import shared_folder
from fenchel import LinearClassifier
from fenchel.io import convert, open_store

_SETS = ("a9a", "20news.binary")
_ROUNDS = 3
_C = 1e-3
_LOSSES = ("hinge", "logistic")


def main() -> None:
    """Measure and report."""
    updates = report.asked_to_update_readme(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        rows = [_row(name, Path(folder)) for name in _SETS]
    head = ["data", "store, MB", "convert", "open, verified", *(f"{loss}, store / memory" for loss in _LOSSES)]
    text = report.markdown_table(head, rows)
    text += (
        f"\n\nProcessor seconds of one thread, medians of {_ROUNDS} interleaved rounds; files in the page cache."
        " Fits: `LinearClassifier(C=1e-3)` to a relative gap of 1e-3, the same data in memory and in the store."
    )
    if updates:
        report.update_readme("stores", text)
    print(text)


def _row(name: str, folder: Path) -> list[str]:
    file, path = folder / f"{name}.svm", folder / f"{name}.store"
    with lzma.open(shared_folder() / f"{name}.svm.xz") as source, file.open("wb") as target:
        shutil.copyfileobj(source, target)
    convert(file, path)
    size = sum(part.stat().st_size for part in path.iterdir())
    converting = statistics.median(_seconds(lambda: convert(file, path, force=True)) for _ in range(_ROUNDS))
    opening = statistics.median(_seconds(lambda: open_store(path)) for _ in range(_ROUNDS))
    store = open_store(path)
    return [name, f"{size / 1e6:.1f}", f"{converting:.2f}", f"{opening:.3f}", *(_fits(store, loss) for loss in _LOSSES)]


def _fits(store: Any, loss: str) -> str:
    """Seconds of fits over the store and in memory."""
    spent: dict[str, list[float]] = {"store": [], "memory": []}
    rows = {"store": store.X, "memory": store.X.copy()}
    LinearClassifier(loss, C=_C, random_state=0).fit(rows["store"][:500], store.y[:500])
    for _ in range(_ROUNDS):
        for where, X in rows.items():
            model = LinearClassifier(loss, C=_C, random_state=0)
            spent[where].append(_seconds(lambda model=model, X=X: model.fit(X, store.y)))  # type: ignore[misc]
    return " / ".join(f"{statistics.median(seconds):.2f}" for seconds in spent.values())


def _seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


if __name__ == "__main__":
    main()

"""Fits on two workers of one core each against the same fit in one process: time, tasks and bytes for each exchange.

python benchmarks/dask_scaling.py --update-readme
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/dask_scaling.py`

import numpy as np
import scipy.sparse as sp

from benchmarks import report
from fenchel import Problem, solve
from fenchel.io.readers import Table
from fenchel.risks import MeanRisk

#: files of the data, and entries of a row
_PARTS, _LENGTH = 8, 80
#: relative gaps that the table tells
_GAPS = (1e-2, 1e-3)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--features", type=int, default=50_000)
    parser.add_argument("--update-readme", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(_PARTS):
            _write(Path(folder) / f"{k}.npz", k, options.rows // _PARTS, options.features)
        size = sum(path.stat().st_size for path in Path(folder).glob("*.npz"))
        rows = [*_serial(folder), *_on_workers(folder)]
    head = ["problem", "where", "solver", "passes", *(f"s to {gap:g}" for gap in _GAPS), "processor s", "exchanges"]
    text = report.markdown_table([*head, "tasks", "MB each"], rows)
    text += (
        f"\n\n{options.rows:,} rows, {options.features:,} features, {_LENGTH} entries a row, {size / 1e6:,.0f} MB. "
        "Elapsed seconds from loaded data to a proved relative gap; processor seconds to the smaller one, of the "
        "busiest worker and the driver together; exchanges with the workers in both solves, and tasks and megabytes "
        "(sent and received by the driver) in each."
    )
    if options.update_readme:
        report.update_readme("dask_scaling", text)
    print(text)


def _write(path: Path, seed: int, rows: int, features: int) -> None:
    """Rows with entries in random columns, more often in the first ones, of norm 1, and the labels of a noisy plane."""
    rng = np.random.default_rng(seed)
    columns = (features * rng.random((rows, _LENGTH)) ** 2).astype(np.int32)
    values = rng.random((rows, _LENGTH))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    ends = _LENGTH * np.arange(rows + 1, dtype=np.int64)
    X = sp.csr_array((values.ravel(), columns.ravel(), ends), shape=(rows, features))
    X.sum_duplicates()
    scores = X @ np.random.default_rng(99).standard_normal(features)
    y = np.where(scores + 0.2 * np.std(scores) * rng.standard_normal(rows) > 0.0, 1.0, -1.0)
    np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)


def _timed(problem: Problem, solver: Any, clock: Callable[[], float]) -> tuple[Any, list[str], float]:
    """The last solution, the elapsed seconds to each gap, and what the clock says of the last solve."""
    elapsed = []
    for gap in _GAPS:
        begin, busy = time.monotonic(), clock()
        solution = solve(problem, solver, tol=gap, max_iter=300)
        busy = clock() - busy
        elapsed.append(f"{time.monotonic() - begin:.1f}" if solution.converged else "-")
    return solution, elapsed, busy


def _serial(folder: str) -> list[Sequence[object]]:
    from fenchel.dask.blocks import file_block

    blocks = [file_block(str(Path(folder) / f"{k}.npz"), None, None) for k in range(_PARTS)]
    table = Table(sp.vstack([one.X for one in blocks], format="csr"), np.concatenate([one.y for one in blocks]))
    del blocks
    rows: list[Sequence[object]] = []
    for name, solver in (("logistic", "auto"), ("logistic", "smoothing"), ("hinge", "auto")):
        problem = Problem(table.X, MeanRisk(name, table.y), 1.0 / table.X.shape[0])
        rows.append([*_row(name, "one process", *_timed(problem, solver, time.process_time)), "", "", ""])
        print(rows[-1], flush=True)
    return rows


def _on_workers(folder: str) -> list[Sequence[object]]:
    from distributed import Client, LocalCluster

    from fenchel.dask import LBFGS, CoCoA
    from fenchel.dask.cluster import DaskGroups
    from fenchel.dask.sources import load, source_of

    class Counting(DaskGroups):
        """Counts the bytes that the driver sends and receives."""

        moved = 0

        def map(self, function: Any, *each: Any, **common: Any) -> Any:
            found = super().map(function, *each, **common)
            self.moved += sum(map(_bytes, [*each, *common.values(), found]))
            return found

    rows: list[Sequence[object]] = []
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        loaded = load(client, source_of(f"{folder}/*.npz", None, None))
        groups = loaded.design.groups
        for name, solver in (("logistic", LBFGS()), ("logistic", CoCoA()), ("hinge", CoCoA())):
            counting = Counting(client, groups.futures, groups.names)
            loaded.design.groups, loaded.design._last = counting, None
            problem = Problem(loaded.design, MeanRisk(name, loaded.y), 1.0 / loaded.design.shape[0])
            row = _row(name, "two workers", *_timed(problem, solver, lambda: _busiest(client)))
            calls = max(1, counting.calls)
            rows.append([*row, f"{calls}", f"{counting.tasks / calls:.2g}", f"{counting.moved / calls / 1e6:.2g}"])
            print(rows[-1], flush=True)
    return rows


def _busiest(client: Any) -> float:
    """Processor seconds of the busiest worker and of this process."""
    return max(client.run(time.process_time).values()) + time.process_time()


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_bytes, value)) if isinstance(value, (list, tuple)) else 0


def _row(name: str, where: str, solution: Any, elapsed: list[str], busy: float) -> list[object]:
    return [name, where, solution.solver, f"{solution.passes:.0f}", *elapsed, f"{busy:.1f}"]


if __name__ == "__main__":
    main()

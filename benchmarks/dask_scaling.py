"""Fits on two workers of one core each against one process, two independent processes and dask-ml; 1 GB of data.

python benchmarks/dask_scaling.py --peer /path/to/python/with/dask-ml --update-readme

Two data sets of about 1 GB: sparse rows (1,000,000 rows with 80 of 50,000 features) and dense ones (250,000 rows of 500
features), since dask-ml has no sparse ones.  "throughput" evaluates the risk and its gradient in turn in one process,
in two independent processes with half of the rows each, and on a cluster of two workers, so that other work on the
machine disturbs them alike.  "gaps" fits to proved gaps.  dask-ml runs in its own environment with growing numbers of
iterations; its weights are certified here.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/dask_scaling.py`
# workers of one core each
os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})

import numpy as np
import scipy.sparse as sp

from benchmarks import report
from fenchel import Model, Problem, Witness, certify, solve
from fenchel.dask.blocks import file_block
from fenchel.risks import MeanRisk

#: files of the data, and entries of a sparse row
PARTS, LENGTH = 8, 80
#: rows and features of the data sets
SHAPES = {"sparse": (1_000_000, 50_000), "dense": (250_000, 500)}
#: relative gaps that the table tells
GAPS = (1e-2, 1e-3)
#: evaluations in a round of the throughput, and rounds
_EVALUATIONS, _ROUNDS = 3, 4
#: iterations of dask-ml
_ITERATIONS = (3, 5, 8, 12, 20)


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
    names = [folder / f"{kind}-{k}.npz" for k in range(PARTS)]
    for k, name in enumerate(names):
        if not name.exists():
            write(name, k, int(scale * rows) // PARTS, features, kind == "dense")
    return [str(name) for name in names]


def in_memory(names: Sequence[str]) -> tuple[Any, np.ndarray]:
    """The rows and labels of some files."""
    blocks = [file_block(name, None, None) for name in names]
    rows = [block.X for block in blocks]
    X = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.concatenate(rows)
    return X, np.concatenate([block.y for block in blocks])


def evaluations(X: Any, y: np.ndarray, count: int) -> float:
    """Evaluate R and its gradient as workers do; return the processor seconds."""
    from fenchel.dask.shard import Shard, evaluate
    from fenchel.designs import as_design

    shard, risk = Shard(as_design(X), checksums=(0,)), MeanRisk("logistic", y)
    weights = np.linspace(-1.0, 1.0, X.shape[1])
    begin = time.process_time()
    for _ in range(count):
        evaluate(shard, risk, weights, 0.0)
    return time.process_time() - begin


def _independent(names: Sequence[str], pipe: Any) -> None:
    """A process that evaluates when it is told to, and says its processor seconds."""
    X, y = in_memory(names)
    evaluations(X, y, 1)
    pipe.send(0.0)
    while (count := pipe.recv()) is not None:
        pipe.send(evaluations(X, y, count))


@contextmanager
def independent(parts: Sequence[Sequence[str]]) -> Iterator[Callable[[], float]]:
    """Processes with their own rows each; the function evaluates on all at once, and returns the most seconds."""
    context = get_context("spawn")
    ends = [context.Pipe() for _ in parts]
    processes = [
        context.Process(target=_independent, args=(part, end[1])) for part, end in zip(parts, ends, strict=True)
    ]
    for process in processes:
        process.start()
    [end[0].recv() for end in ends]

    def run() -> float:
        for end in ends:
            end[0].send(_EVALUATIONS)
        return max(end[0].recv() for end in ends)

    try:
        yield run
    finally:
        for end, process in zip(ends, processes, strict=True):
            end[0].send(None)
            process.join()


@contextmanager
def cluster(names: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """A client of two workers, and the data that they hold."""
    from distributed import Client, LocalCluster

    from fenchel.dask.sources import load, source_of

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options) as local, Client(local) as client:
        yield client, load(client, source_of(list(names), None, None))


def throughput(names: Sequence[str]) -> list[list[str]]:
    """Evaluations a second in turn: one process, two independent ones, and a cluster of two workers."""
    from fenchel.dask.objective import Objective

    half = len(names) // 2
    with (
        independent([names]) as one,
        independent([names[:half], names[half:]]) as two,
        cluster(names) as (client, loaded),
    ):
        problem = Problem(loaded.design, MeanRisk("logistic", loaded.y), 1.0 / loaded.design.shape[0])
        objective, weights = Objective.of(problem), np.linspace(-1.0, 1.0, loaded.design.shape[1])

        def on_cluster() -> float:
            before = client.run(time.process_time)
            for _ in range(_EVALUATIONS):
                objective.point(weights, np.zeros(()))
            after = client.run(time.process_time)
            return max(after[name] - before[name] for name in after)

        on_cluster()
        spent: dict[str, list[tuple[float, float]]] = {"one process": [], "two processes": [], "two workers": []}
        for _ in range(_ROUNDS):
            for where, run in zip(spent, (one, two, on_cluster), strict=True):
                begin = time.perf_counter()
                busy = run()
                spent[where].append((time.perf_counter() - begin, busy))
    rows = []
    for where, pairs in spent.items():
        elapsed, busy = (np.array(column) / _EVALUATIONS for column in zip(*pairs, strict=True))
        others = [np.array([pair[0] for pair in spent[key]]) / _EVALUATIONS for key in ("one process", "two processes")]
        ratios = [f"{statistics.median(other / elapsed):.2f}" for other in others]
        rows.append([where, f"{np.median(elapsed):.2f}", f"{np.min(elapsed):.2f}", f"{np.median(busy):.3f}", *ratios])
        print(rows[-1], flush=True)
    return rows


def timed(problem: Problem, solver: Any, clock: Callable[[], float]) -> tuple[Any, list[str]]:
    """The last solution, and the elapsed and the processor seconds to each gap."""
    spent = []
    for gap in GAPS:
        begin, busy = time.monotonic(), clock()
        solution = solve(problem, solver, tol=gap, max_iter=200)
        elapsed, busy = time.monotonic() - begin, clock() - busy
        spent.append(f"{busy:.1f} ({elapsed:.0f})" if solution.converged else "-")
    return solution, spent


def serial(names: Sequence[str], kind: str) -> list[list[str]]:
    """Fits in this process."""
    X, y = in_memory(names)
    rows = []
    cases = [("logistic", "auto"), ("logistic", "smoothing"), ("hinge", "auto")]
    for loss, solver in cases:
        problem = Problem(X, MeanRisk(loss, y), 1.0 / X.shape[0])
        solution, spent = timed(problem, solver, time.process_time)
        rows.append([kind, loss, "one process", solution.solver, f"{solution.passes:.0f}", *spent, "", "", ""])
        print(rows[-1], flush=True)
    return rows


def on_workers(names: Sequence[str], kind: str) -> list[list[str]]:
    """Fits on a cluster of two workers."""
    from fenchel.dask import LBFGS, CoCoA, NewtonCG
    from fenchel.dask.cluster import DaskGroups

    class Counting(DaskGroups):
        """Counts the bytes that the driver sends and receives."""

        moved = 0

        def map(self, function: Any, *each: Any, **common: Any) -> Any:
            found = super().map(function, *each, **common)
            self.moved += sum(map(_bytes, [*each, *common.values(), found]))
            return found

    rows = []
    with cluster(names) as (client, loaded):
        groups = loaded.design.groups
        cases = [("logistic", LBFGS()), ("logistic", NewtonCG()), ("logistic", CoCoA()), ("hinge", CoCoA())]
        for loss, solver in cases if kind == "sparse" else cases[:2]:
            counting = Counting(client, groups.futures, groups.names)
            loaded.design.groups, loaded.design._last = counting, None
            problem = Problem(loaded.design, MeanRisk(loss, loaded.y), 1.0 / loaded.design.shape[0])
            solution, spent = timed(problem, solver, lambda: _busiest(client))
            calls = max(1, counting.calls)
            counts = [f"{calls}", f"{counting.tasks / calls:.1f}", f"{counting.moved / calls / 1e6:.2g}"]
            rows.append([kind, loss, "two workers", solution.solver, f"{solution.passes:.0f}", *spent, *counts])
            print(rows[-1], flush=True)
    return rows


def dask_ml(names: Sequence[str], peer: str) -> list[str]:
    """Seconds of dask-ml to each gap, which is proved here for the weights that it returns."""
    script = Path(__file__).with_name("dask_ml_fit.py")
    command = [peer, str(script), *map(str, _ITERATIONS), "--", *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    X, y = in_memory(names)
    problem = Problem(X, MeanRisk("logistic", y), 1.0 / X.shape[0])
    spent, found = ["-"] * len(GAPS), json.loads(done.stdout.splitlines()[-1])
    for fit in reversed(found):
        weights = np.array(fit["weights"])
        theta = -problem.risk.subgradient(problem.design.scores(weights))
        gap = certify(problem, Model(weights, 0.0), Witness(theta)).relative_gap
        print(f"dask-ml: {fit['iterations']} iterations, {fit['busy']:.1f} processor s, gap {gap:.2g}", flush=True)
        for k, limit in enumerate(GAPS):
            if gap <= limit:
                spent[k] = f"{fit['busy']:.1f} ({fit['elapsed']:.0f})"
    return ["dense", "logistic", "two workers", "dask-ml lbfgs", f"{found[-1]['iterations']}", *spent, "", "", ""]


def _busiest(client: Any) -> float:
    """Processor seconds of the busiest worker and of this process."""
    return max(client.run(time.process_time).values()) + time.process_time()


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_bytes, value)) if isinstance(value, (list, tuple)) else 0


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--peer", help="a Python interpreter that has dask-ml")
    parser.add_argument("--folder", type=Path, help="where data are written, and found again; default: removed")
    parser.add_argument("--only", choices=("throughput", "gaps", "peer"), help="a part of the measurements")
    parser.add_argument("--update-readme", action="store_true")
    options = parser.parse_args()
    rates: list[list[str]] = []
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for kind in SHAPES:
            names = files(folder, kind, options.scale)
            if options.only in (None, "throughput"):
                rates += [[kind, *row] for row in throughput(names)]
            if options.only in (None, "gaps"):
                rows += [*serial(names, kind), *on_workers(names, kind)]
        if options.peer and options.only in (None, "peer"):
            rows.append(dask_ml(names, options.peer))
    head = ["data", "where", "s, median", "s, least", "processor s", "speed-up", "of two processes"]
    text = f"{report.markdown_table(head, rates)}\n\n"
    head = ["data", "loss", "where", "solver", "passes", *(f"to {gap:g}" for gap in GAPS), "exchanges", "tasks", "MB"]
    text += report.markdown_table(head, rows)
    text += f"\n\nLoad average at the end: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores."
    if options.update_readme:
        report.update_readme("dask_scaling", text)
    print(text)


if __name__ == "__main__":
    main()

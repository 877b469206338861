"""Evaluations of a risk and its gradient: in one process, in two, and on workers; for ``dask_scaling.py``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.dask_data import cluster, in_memory
from fenchel import Problem
from fenchel.risks import MeanRisk

#: evaluations in a round of the throughput, and rounds
_EVALUATIONS, _ROUNDS = 2, 12


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
def independent(parts: Sequence[Sequence[str]]) -> Iterator[Callable[[], tuple[float, float]]]:
    """Processes with their own rows each; the function evaluates on all at once.

    It returns the elapsed seconds and the most processor seconds.
    """
    context = get_context("spawn")
    ends = [context.Pipe() for _ in parts]
    processes = [
        context.Process(target=_independent, args=(part, end[1])) for part, end in zip(parts, ends, strict=True)
    ]
    for process in processes:
        process.start()
    [end[0].recv() for end in ends]

    def run() -> tuple[float, float]:
        begin = time.perf_counter()
        for end in ends:
            end[0].send(_EVALUATIONS)
        busy = max(end[0].recv() for end in ends)
        return time.perf_counter() - begin, busy

    try:
        yield run
    finally:
        for end, process in zip(ends, processes, strict=True):
            end[0].send(None)
            process.join()


def allocator(names: Sequence[str]) -> None:
    """Print processor seconds of an evaluation of two files, with freed memory kept and returned to the system."""
    for where, setting in (("kept", str(1 << 27)), ("returned, as Dask's workers do", "65536")):
        os.environ.update({"MALLOC_TRIM_THRESHOLD_": setting, "MALLOC_MMAP_THRESHOLD_": str(1 << 25)})
        if setting == "65536":
            del os.environ["MALLOC_MMAP_THRESHOLD_"]
        with independent([names[:2]]) as run:
            busy = [run()[1] / _EVALUATIONS for _ in range(_ROUNDS)]
        print(f"freed memory is {where}: {np.median(busy):.3f} s ({min(busy):.3f} to {max(busy):.3f})", flush=True)


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

        def on_cluster() -> tuple[float, float]:
            before, begin = client.run(time.process_time), time.perf_counter()
            for _ in range(_EVALUATIONS):
                objective.point(weights, np.zeros(()))
            elapsed, after = time.perf_counter() - begin, client.run(time.process_time)
            return elapsed, max(after[name] - before[name] for name in after)

        on_cluster()
        spent: dict[str, list[tuple[float, float]]] = {"one process": [], "two processes": [], "two workers": []}
        for _ in range(_ROUNDS):
            for where, run in zip(spent, (one, two, on_cluster), strict=True):
                spent[where].append(run())
    rows = []
    for where, pairs in spent.items():
        elapsed, busy = (np.array(column) / _EVALUATIONS for column in zip(*pairs, strict=True))
        others = [min(pair[0] for pair in spent[key]) / _EVALUATIONS for key in ("one process", "two processes")]
        ratios = [f"{other / np.min(elapsed):.2f}" for other in others]
        rows.append([where, f"{np.median(elapsed):.2f}", f"{np.min(elapsed):.2f}", f"{np.median(busy):.3f}", *ratios])
        print(rows[-1], flush=True)
    return rows

"""A cluster of two processes, and problems on workers that are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from fenchel import Problem
from fenchel.dask.cluster import DaskGroups, restarts
from fenchel.dask.sources import load, source_of
from fenchel.risks import MeanRisk

LAM = 0.01


@contextmanager
def cluster_of(workers: int) -> Iterator[Client]:
    """A client of a cluster of processes of one thread each."""
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    # a worker that is killed twice must not exhaust the tasks' allowance
    with (
        dask.config.set({"fenchel.timeout": "600 s", "distributed.comm.timeouts.connect": "600 s"}),
        restarts,
        LocalCluster(**options) as cluster,
        Client(cluster) as connected,
    ):
        yield connected


def data(rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes that overlap."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 5))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(rows) > 0.0, 1, -1)


class Disturbed(DaskGroups):
    """Calls a function after the tasks of some calls, or of the next that is waited for, were submitted."""

    at: tuple[int, ...] = ()
    #: how often it was called
    killed = 0
    disturb: Callable[[DaskGroups], None]

    def _wait(self, pending):
        if self.killed < len(self.at) and self.calls >= self.at[self.killed]:
            self.disturb(self)
            self.killed += 1
        super()._wait(pending)


def kill_a_holder(groups: DaskGroups) -> None:
    """Kill a worker that holds a group."""
    pids = groups.client.run(os.getpid)
    holders = [who for who in groups.client.who_has(groups.futures).values() if who]
    os.kill(pids[holders[0][0] if holders else next(iter(pids))], signal.SIGKILL)


def kill_all(groups: DaskGroups) -> None:
    """Kill all workers at once."""
    for process in groups.client.run(os.getpid).values():
        os.kill(process, signal.SIGKILL)


def files_of(folder: Path) -> str:
    """Write the rows as four archives; return their pattern."""
    X, y = data()
    for k in range(4):
        np.savez(folder / f"{k}.npz", X=X[75 * k : 75 * k + 75], y=y[75 * k : 75 * k + 75])
    return str(folder / "?.npz")


def disturbed(
    client: Client, at: tuple[int, ...], disturb=kill_a_holder, files: str | None = None, loss: str = "logistic"
) -> tuple[Problem, Problem, Disturbed]:
    """A problem on workers that are disturbed, of an array or of ``files_of``, and the same in memory."""
    X, y = data()
    source = source_of(da.from_array(X, chunks=(70, 5)), y, None) if files is None else source_of(files, None, None)
    loaded = load(client, source)
    groups = loaded.design.groups
    mortal = Disturbed(client, groups.futures, groups.names)
    mortal.at, mortal.disturb = at, disturb
    loaded.design.groups = mortal
    risk = MeanRisk(loss, y)
    return Problem(loaded.design, risk, LAM, intercept=True), Problem(X, risk, LAM, intercept=True), mortal

"""Groups of rows on the workers of a Dask cluster: tasks, retries and timeouts.

A call of ``map`` makes one task a group, and one more that holds a large common argument such as w: a task's result can
be computed again if its worker dies, whereas the only copy of scattered data would be lost.  No task is bound to a
worker, or it would wait forever when that worker dies: the scheduler runs it where its group is.  Every
wait has a timeout (``settings``).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from fenchel.dask.blocks import PartitionError
from fenchel.dask.settings import groups, timeout
from fenchel.dask.shard import Shard
from fenchel.errors import FenchelError
from fenchel.stopping import interrupted, stop_point

try:
    import dask
    from dask.utils import parse_timedelta
    from distributed import Client, Future, KilledWorker, LocalCluster, wait
    from distributed.client import default_client
except ImportError as error:
    raise ImportError("fenchel.dask requires Dask: pip install 'fenchel[dask]'") from error

T = TypeVar("T")

#: seconds between the stop points of a wait
_BETWEEN_STOP_POINTS = 0.2
#: how often tasks are submitted again after their data were lost
_MAX_LOSSES = 5
#: seconds after which results that workers have and do not send are computed again; twice as many the next time
_TRANSFER_SECONDS = 30.0
#: bytes of a common argument above which it becomes a task of its own, and is copied between workers
_LARGE = 1 << 16
#: of the workers of a local cluster: freed memory stays with the process, up to 128 MiB.  Dask's own setting returns it
#: to the system at once, and page faults of temporary arrays are then a quarter of an evaluation
_KEEP_MEMORY = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": size
    for name, size in (("TRIM", 1 << 27), ("MMAP", 1 << 25))
}
#: how long Dask waits for a local worker that died before it closes the process that starts it again; and the seconds
#: that fits need.  Dask's own 15 s are less than a start takes beside other work, and the cluster would stay empty
_LOST_WORKER, _RESTART_SECONDS = "distributed.deploy.lost-worker-timeout", 600.0
#: what local workers load, so that Ctrl-C does not end them, and the setting of Dask that has those of the user
_PRELOAD, _PRELOADS = "fenchel.dask.uninterrupted", "distributed.worker.preload"
#: seconds after Ctrl-C that are waited for workers where none is left: it ends those of a cluster in the same terminal
_SECONDS_AFTER_CTRL_C = 10.0
#: arguments of one call of ``map`` travel in its graph, whatever their size
_NO_WARNING = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}


class LostDataError(FenchelError):
    """Data that no worker holds any more, and that can't be loaded again."""


class _Restarts:
    """Time for workers to start again while a fit runs, with as many ``with`` blocks at once as there are threads.

    Dask reads its setting when a worker is lost.  The configuration is that of the process: of fits in several threads
    the first one sets it and the last one restores it.
    """

    def __init__(self) -> None:
        self._lock, self._fits, self._before = threading.Lock(), 0, None

    def __enter__(self) -> None:
        with self._lock:
            self._fits += 1
            if self._fits == 1:
                self._before = dask.config.get(_LOST_WORKER)
                dask.config.set({_LOST_WORKER: max(float(parse_timedelta(self._before)), _RESTART_SECONDS)})

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._fits -= 1
            if not self._fits:
                dask.config.set({_LOST_WORKER: self._before})


#: for all fits of this process
restarts = _Restarts()


@contextmanager
def connected(workers: int | None) -> Iterator[Client]:
    """Connect to the present Dask client, or start a local cluster of processes and close it at the end.

    ``workers`` is the number of processes of that cluster, of one thread each.
    """
    try:
        present = default_client()
    except ValueError:
        present = None
    if present is not None:
        if present.asynchronous:
            raise FenchelError(
                "the present Dask client is asynchronous, and a fit waits: fit in a thread of its own, as with "
                "asyncio.to_thread, with a distributed.Client that is not"
            )
        with restarts:
            yield present
        return
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    preloads = [*(dask.config.get(_PRELOADS, None) or ()), _PRELOAD]
    try:
        with dask.config.set(_KEEP_MEMORY):
            cluster = LocalCluster(**options, preload=preloads)
    except RuntimeError as error:
        raise FenchelError(
            f"the local Dask cluster did not start ({error}). In a script, call fit under `if __name__ == "
            '"__main__":`, since its processes import the script; or connect to a cluster with distributed.Client'
        ) from error
    with restarts, cluster, Client(cluster, set_as_default=False) as client:
        yield client


def group_count(client: Client) -> int:
    """The number of groups: a setting, or the threads of the cluster."""
    set_by_user = groups()
    if set_by_user is not None:
        return set_by_user
    limit, begin = timeout(), time.monotonic()
    while not (count := sum(threads_of(client).values())):
        if time.monotonic() - begin > limit:
            raise LostDataError(
                f"no worker joined the Dask cluster within {limit:g} s: start workers, or raise the setting "
                "fenchel.timeout of dask.config"
            )
        stop_point()
        time.sleep(_BETWEEN_STOP_POINTS)
    return count


def threads_of(client: Client) -> dict[str, int]:
    """The number of threads of each worker; raise if the scheduler does not say."""
    limit = timeout()
    try:
        found: dict[str, int] = client.nthreads(callback_timeout=limit)
    except TimeoutError as error:
        raise LostDataError(
            f"the Dask scheduler did not answer within {limit:g} s: it is overloaded or unreachable"
        ) from error
    return found


class DaskGroups:
    """Groups of rows that are futures of shards.

    Parameters
    ----------
    client : Client
        The connection to the cluster.
    futures : sequence of Future
        The shard of each group.
    names : sequence of str
        What each group holds, in errors.
    """

    def __init__(self, client: Client, futures: Sequence[Future], names: Sequence[str]) -> None:
        self.client, self.futures, self.names = client, list(futures), list(names)
        #: tasks and calls so far
        self.tasks = self.calls = 0

    def map(self, function: Callable[..., T], *each: Sequence[Any], **common: Any) -> list[T]:
        """Return ``function`` of every group, in their order; see ``Groups``."""
        stop_point()
        found: list[Any] = [None] * len(self.futures)
        missing = list(range(len(self.futures)))
        for attempt in range(_MAX_LOSSES):
            pending = self._submitted(function, [[values[k] for values in each] for k in missing], missing, common)
            try:
                lost = self._gather(pending, found, _TRANSFER_SECONDS * 2.0**attempt)
            finally:
                left = [one for one in pending.values() if one.status == "pending"]
                if left and self.client.status == "running":
                    # a stop or an error leaves them behind
                    self.client.cancel(left, force=True)
            if not lost:
                return found
            gone = [k for k in lost if self.futures[k].cancelled()]
            if gone:
                raise LostDataError(
                    f"{self._named(gone)} can't be loaded again: a worker that died had the only copy, as of data from "
                    "Client.scatter, or the Dask client was restarted. Fit again, with data that Dask can compute again"
                )
            missing = lost
        raise LostDataError(f"the data of {self._named(missing)} were lost {_MAX_LOSSES} times: their workers died")

    def place(self, function: Callable[..., Any], *each: Sequence[Any], **common: Any) -> list[Future]:
        """Return futures of ``function`` of every group, which stay beside it; see ``Groups``."""
        groups = list(range(len(self.futures)))
        return list(
            self._submitted(function, [[values[k] for values in each] for k in groups], groups, common).values()
        )

    def _submitted(
        self, function: Callable[..., Any], each: list[list[Any]], groups: list[int], common: dict[str, Any]
    ) -> dict[int, Future]:
        """Submit the tasks of some groups."""
        self._check_connection()
        with self.client.as_current(), dask.config.set(_NO_WARNING):
            names = list(common)
            shared = [
                self.client.submit(_itself, value, pure=False) if _is_large(value) else value
                for value in common.values()
            ]
            columns = [list(column) for column in zip(*each, strict=True)]
            columns += [[value] * len(groups) for value in shared]
            count = len(each[0]) if each else 0
            futures = self.client.map(
                _call,
                [function] * len(groups),
                [(count, names)] * len(groups),
                [self.futures[k] for k in groups],
                *columns,
                pure=False,
            )
        self.calls += 1
        self.tasks += len(groups) + sum(map(_is_large, common.values()))
        return dict(zip(groups, futures, strict=True))

    def _gather(self, pending: dict[int, Future], found: list[Any], patience: float) -> list[int]:
        """Fill in the results of the groups; return the groups whose data were lost.

        ``patience`` are the seconds for the transfer of the results.
        """
        self._wait(pending)
        failed = [k for k, future in pending.items() if future.status == "error"]
        for k in failed:
            self._raise(k, pending[k])
        lost = [k for k, future in pending.items() if future.status != "finished"]
        kept = [k for k in pending if k not in lost]
        self._check_connection()
        try:
            results = self._results([pending[k] for k in kept], patience)
        except (CancelledError, OSError):
            # a worker died between the end of its task and the transfer of the result
            return list(pending)
        except KilledWorker as error:
            # a result was lost, and so were the workers that computed it again
            raise self._killed(self._named(kept)) from error
        except Exception:
            # of a scheduler that has died, Dask's own errors say nothing
            self._check_connection()
            raise
        for k, result in zip(kept, results, strict=True):
            found[k] = result
        return lost

    def _results(self, futures: list[Future], patience: float) -> list[Any]:
        """Return the results of finished tasks; raise TimeoutError if one was lost, or they do not come.

        ``Client.gather`` has no timeout: it waits for the connection to a dead worker as long as Dask's settings say.
        """
        gathering = asyncio.run_coroutine_threadsafe(
            self.client.gather(futures, errors="raise", asynchronous=True), self.client.loop.asyncio_loop
        )
        begin = time.monotonic()
        try:
            while True:
                try:
                    return gathering.result(timeout=_BETWEEN_STOP_POINTS)
                except TimeoutError:
                    late = time.monotonic() - begin > patience
                    if gathering.done() or late or any(future.status != "finished" for future in futures):
                        raise
                    stop_point()
                    self._check_connection()
        finally:
            gathering.cancel()

    def _wait(self, pending: dict[int, Future]) -> None:
        """Wait for the tasks of some groups, in short pieces; raise when none of them ends for too long."""
        limit, futures = timeout(), list(pending.values())
        unfinished, since = len(futures), time.monotonic()
        while unfinished:
            try:
                with self.client.as_current():
                    wait(futures, timeout=_BETWEEN_STOP_POINTS)
                return
            except TimeoutError:
                stop_point()
            except CancelledError:
                # the caller looks for what was lost
                return
            left = sum(future.status == "pending" for future in futures)
            if left < unfinished:
                unfinished, since = left, time.monotonic()
            self._check_connection()
            waited = time.monotonic() - since
            if waited > _SECONDS_AFTER_CTRL_C and interrupted() and not threads_of(self.client):
                raise LostDataError(
                    "Ctrl-C ended the workers of the cluster too, and the rows for the certificate of the best model "
                    "are lost with them: fit again, with checkpoint if fits are long"
                )
            if waited > limit:
                workers = len(threads_of(self.client))
                waiting = [k for k, future in pending.items() if future.status == "pending"]
                raise LostDataError(
                    f"no task of {self._named(waiting)} ended within {limit:g} s; {workers} workers are connected. If "
                    "tasks take longer, raise the setting fenchel.timeout of dask.config"
                )

    def _check_connection(self) -> None:
        """Raise if there is no scheduler any more."""
        if self.client.status != "running":
            raise LostDataError(f"the connection to the Dask scheduler was lost (its status is {self.client.status!r})")

    def _raise(self, k: int, future: Future) -> None:
        """Raise the error of a group's task, by its name."""
        error = future.exception(timeout=timeout())
        if isinstance(error, KilledWorker):
            raise self._killed(self.names[k]) from error
        if isinstance(error, FenchelError):
            named = isinstance(error, PartitionError)
            raise FenchelError(str(error) if named else f"{self.names[k]}: {error}") from error
        raise FenchelError(f"{self.names[k]} can't be loaded or used: {type(error).__name__}: {error}") from error

    @staticmethod
    def _killed(name: str) -> LostDataError:
        return LostDataError(
            f"{name}: several workers died while they held it; they may need more memory, or smaller partitions"
        )

    def _named(self, groups: Sequence[int]) -> str:
        return "; ".join(self.names[k] for k in groups[:5]) + ("; …" if len(groups) > 5 else "")


def _is_large(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.nbytes > _LARGE


def _itself(value: T) -> T:
    """The task that holds a common argument."""
    return value


def _call(function: Callable[..., T], layout: tuple[int, list[str]], shard: Shard, *values: Any) -> T:
    """Call a function with the values of its group, and the common ones by name."""
    count, names = layout
    return function(shard, *values[:count], **dict(zip(names, values[count:], strict=True)))

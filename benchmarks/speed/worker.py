"""A contender in a process of its own, so that a run past the time cap can be ended from outside.

The process loads the data, prepares and warms up the contender, then solves to one tolerance after the other as it
is told.  It measures the seconds of ``run`` alone; judging comes after.
"""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.data import load
from benchmarks.speed.contenders import CONTENDERS, Rehline, Task
from benchmarks.speed.judging import Judge, Reference

#: seconds that loading, preparing or judging may take; beyond the cap, since nobody is timed for them
_PATIENCE = 600.0


@dataclass(frozen=True)
class Outcome:
    """One run: its seconds (None if it was ended at the cap), the judge's verdict, and why it stopped by itself."""

    seconds: float | None
    suboptimality: float = float("inf")
    stopped: str | None = None


@dataclass(frozen=True)
class Order:
    """What a worker is started for."""

    contender: str
    data: str
    C: float
    intercept: bool
    reference: Reference
    rehline_on_sparse: bool = False


class Worker:
    """The parent's side: ``run`` gives one outcome; a worker that was ended at the cap starts again when needed."""

    def __init__(self, order: Order, cap: float) -> None:
        self.order, self.cap = order, cap
        self._process: Any = None
        self._connection: Connection | None = None
        #: why the contender does not take part, known once it is ready
        self.skipped: str | None = None
        self._ready = False
        self._start()

    def wait(self) -> None:
        """Until the data is loaded, and the contender prepared and compiled."""
        if not self._ready:
            self.skipped = self._receive()
            self._ready = True

    def run(self, tolerance: float) -> Outcome:
        if self._process is None:
            self._start()
        self.wait()
        assert self._connection is not None
        self._connection.send(tolerance)
        if not self._connection.poll(self.cap):
            self.close(at_once=True)
            return Outcome(None)
        seconds = self._connection.recv()
        suboptimality, stopped = self._receive()
        return Outcome(seconds if seconds <= self.cap else None, suboptimality, stopped)

    def close(self, at_once: bool = False) -> None:
        """End the process, in the middle of a run if need be."""
        if self._process is None:
            return
        assert self._connection is not None
        if at_once:
            self._process.kill()
        else:
            self._connection.send(None)
        self._process.join()
        self._connection.close()
        self._process = self._connection = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, self.order), daemon=True)
        self._process.start()
        theirs.close()
        self._ready = False

    def _receive(self) -> Any:
        assert self._connection is not None
        if not self._connection.poll(_PATIENCE):
            self.close(at_once=True)
            raise TimeoutError(f"{self.order.contender} on {self.order.data} did not answer within {_PATIENCE:.0f} s")
        try:
            return self._connection.recv()
        except EOFError as error:
            raise RuntimeError(f"the process of {self.order.contender} on {self.order.data} ended by itself") from error


def serve(connection: Connection, order: Order) -> None:
    """The worker's side: prepare, say if the contender is skipped, then run to each tolerance that comes."""
    Rehline.on_sparse = order.rehline_on_sparse
    data = load(order.data)
    task = Task(data.matrix, data.labels, order.C, order.intercept)
    contender = CONTENDERS[order.contender]()
    reason = contender.reason_to_skip(task)
    if reason is None:
        contender.prepare(task)
        contender.warm_up()
    connection.send(reason)
    judge = Judge(task, order.reference)
    while (tolerance := connection.recv()) is not None:
        begin = time.perf_counter()
        contender.run(tolerance)
        connection.send(time.perf_counter() - begin)
        connection.send((judge.suboptimality(contender.weights, contender.intercept), contender.stopped))

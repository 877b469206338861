"""A contender in a process of its own, so that a run past the time cap can be ended from outside.

The process loads the data, prepares and warms up the contender, then solves to one tolerance after the other as it
is told.  It measures the seconds of ``run`` alone; judging comes after.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.data import load
from benchmarks.speed.contenders import Contender
from benchmarks.speed.judging import Judge, Reference
from benchmarks.speed.peers import Rehline
from benchmarks.speed.registry import CONTENDERS
from benchmarks.speed.tasks import Task

#: seconds that loading, preparing or judging may take; beyond the cap, since nobody is timed for them
_PATIENCE = 600.0


@dataclass(frozen=True)
class Outcome:
    """One run: its seconds (None if it was ended at the cap), the judge's verdict, and why it stopped by itself."""

    seconds: float | None
    suboptimality: float = float("inf")
    stopped: str | None = None
    #: whether it stopped by an error
    failed: bool = False


@dataclass(frozen=True)
class Order:
    """What a worker is started for."""

    contender: str
    data: str
    C: float
    intercept: bool
    reference: Reference
    loss: str = "hinge"
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
            try:
                self.skipped = self._receive()
            except EOFError:
                self.skipped = "failed: its process ended while preparing"
            self._ready = True

    def run(self, tolerance: float) -> Outcome:
        if self._process is None:
            self._start()
        self.wait()
        assert self._connection is not None
        if self.skipped is not None:
            return Outcome(0.0, stopped=self.skipped, failed=True)
        self._connection.send((tolerance, self.order))
        if not self._connection.poll(self.cap):
            self.close(at_once=True)
            return Outcome(None)
        try:
            self._receive()  # the run has ended; judging takes longer
            outcome: Outcome = self._receive()
        except EOFError:
            self.close(at_once=True)
            return Outcome(0.0, stopped="the end of its process", failed=True)
        return outcome if outcome.seconds is None or outcome.seconds <= self.cap else Outcome(None)

    def move_to(self, C: float, reference: Reference) -> None:
        """Go on with another C, whose optimum is given, on the same data."""
        self.order = replace(self.order, C=C, reference=reference)

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
        return self._connection.recv()


def serve(connection: Connection, order: Order) -> None:
    """The worker's side: prepare, say if the contender is skipped, then run to each tolerance that comes."""
    Rehline.on_sparse = order.rehline_on_sparse
    data = load(order.data)
    task = Task(data.matrix, data.labels, order.C, order.intercept, order.loss)
    contender = CONTENDERS[order.contender]()
    reason = contender.reason_to_skip(task)
    if reason is None:
        try:
            contender.prepare(task)
            contender.warm_up()
        except Exception as error:  # a peer may fail in any way, which must not end the others' run
            reason = f"failed: {_in_words(error)}"
    connection.send(reason)
    while (message := connection.recv()) is not None:
        tolerance, now = message
        if now.C != task.C:
            task = replace(task, C=now.C)
            contender.move_to(now.C)
        judge = Judge(task, now.reference)
        connection.send(_outcome(contender, tolerance, judge, ended=lambda: connection.send(None)))


def _outcome(contender: Contender, tolerance: float, judge: Judge, ended: Callable[[], None]) -> Outcome:
    """One timed run; ``ended`` is called before it is judged."""
    error: Exception | None = None
    # processor seconds: other work on the machine does not count
    begin = time.process_time()
    try:
        contender.run(tolerance)
    except Exception as raised:  # as above
        error = raised
    seconds = time.process_time() - begin
    ended()
    if error is not None:
        return Outcome(seconds, stopped=f"an error ({_in_words(error)})", failed=True)
    return Outcome(seconds, judge.suboptimality(contender.weights, contender.intercept), contender.stopped)


def _in_words(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]

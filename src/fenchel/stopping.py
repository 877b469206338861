"""How a time limit or a request to stop reaches long computations: they raise ``Stopped`` at their next stop point.

``solving.run`` runs the start and the steps of a solver within ``stops_when``.  Whatever takes long calls
``stop_point`` between pieces of at most about a tenth of a second: products with X between row blocks, compiled loops
when they are called, iterations that call neither.  So the methods themselves need no clock.  Foreign code that takes
long in one call is called by ``interruptible``.  ``Stopped`` leaves a solver's state as Ctrl-C does, in the middle of a
step: ``propose`` must work on it, and the certificate is computed from the data.  A stop point outside of
``stops_when``, as in a certificate, does nothing.
"""

from __future__ import annotations

import atexit
import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from types import FrameType
from typing import NamedTuple, TypeVar

T = TypeVar("T")

#: seconds between the stop points of ``interruptible``
_BETWEEN_STOP_POINTS = 0.02
#: seconds that the end of the process waits for work that was abandoned
_LONGEST_WAIT = 60.0


class Stopped(BaseException):
    """A stop was requested.  Like KeyboardInterrupt it is no Exception, so that only ``solving.run`` catches it."""


class _Limit(NamedTuple):
    must_stop: Callable[[], bool]
    seconds_left: Callable[[], float]


#: of this thread; None: it never has to stop
_limit: ContextVar[_Limit | None] = ContextVar("limit", default=None)
#: what the handler of Ctrl-C that ``interrupts_set`` has installed sets; None without one
_handling: ContextVar[threading.Event | None] = ContextVar("handling", default=None)


@contextmanager
def stops_when(
    must_stop: Callable[[], bool], seconds_left: Callable[[], float | None] = lambda: None
) -> Iterator[None]:
    """Raise ``Stopped`` at the stop points of this thread once ``must_stop`` returns True.

    ``seconds_left`` returns the rest of the time limit, None for none.
    """

    def left() -> float:
        own = seconds_left()
        return math.inf if own is None else own

    inner, outer = _Limit(must_stop, left), _limit.get()
    if outer is not None:
        # a solve within a solver's step also obeys the limit of the outer one
        inner = _Limit(lambda: outer.must_stop() or must_stop(), lambda: min(outer.seconds_left(), left()))
    token = _limit.set(inner)
    try:
        yield
    finally:
        _limit.reset(token)


def stop_point() -> None:
    """Raise ``Stopped`` if this thread has to stop."""
    limit = _limit.get()
    if limit is not None and limit.must_stop():
        raise Stopped


def interrupted() -> bool:
    """Whether Ctrl-C has asked the fit that this thread is in to end."""
    stop = _handling.get()
    return stop is not None and stop.is_set()


def seconds_left() -> float:
    """The seconds that remain of the time limit of this thread, for foreign code that has a limit of its own."""
    limit = _limit.get()
    return math.inf if limit is None else limit.seconds_left()


@contextmanager
def interrupts_set(stop: threading.Event) -> Iterator[None]:
    """Let Ctrl-C set ``stop`` instead of raising, so that it loses nothing wherever it arrives; a second one raises.

    Where another handler than Python's own is installed, or in another thread, nothing changes.
    """
    # a handler of an outer call is installed: asking for it takes as long as a tenth of a small solve
    if _handling.get() is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def handler(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            signal.default_int_handler(number, frame)
        stop.set()

    signal.signal(signal.SIGINT, handler)
    token = _handling.set(stop)
    try:
        yield
    finally:
        _handling.reset(token)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def interruptible(work: Callable[[], T]) -> T:
    """Return the result of foreign code without stop points, which runs in a thread while this one comes to them.

    A stop, or Ctrl-C, abandons the thread, which goes on until its work is done: nothing else may use what it changes.
    The end of the process waits for it, as C++ libraries abort the process if they are at work then.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    # with the limit and the error state of this thread
    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_BETWEEN_STOP_POINTS)
            stop_point()
    except BaseException:
        atexit.register(thread.join, _LONGEST_WAIT)
        raise
    for error in errors:
        raise error
    return results[0]

"""How a time limit or a request to stop reaches long computations: they raise ``Stopped`` at their next stop point.

``solving.run`` runs the start and the steps of a solver within ``stops_when``.  Whatever takes long calls
``stop_point`` between pieces of at most about a tenth of a second: products with X between row blocks, compiled loops
when they are called, iterations that call neither.  So the methods themselves need no clock.  ``Stopped`` leaves a
solver's state as Ctrl-C does, in the middle of a step: ``propose`` must work on it, and the certificate is computed
from the data.  A stop point outside of ``stops_when``, as in a certificate, does nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopped(BaseException):
    """A stop was requested.  Like KeyboardInterrupt it is no Exception, so that only ``solving.run`` catches it."""


class _Thread(threading.local):
    #: whether this thread has to stop; None: never
    must_stop: Callable[[], bool] | None = None


_thread = _Thread()


@contextmanager
def stops_when(must_stop: Callable[[], bool]) -> Iterator[None]:
    """Raise ``Stopped`` at the stop points of this thread once ``must_stop`` returns True."""
    outer = _thread.must_stop
    # a solve within a solver's step also obeys the limit of the outer one
    _thread.must_stop = must_stop if outer is None else lambda: outer() or must_stop()
    try:
        yield
    finally:
        _thread.must_stop = outer


def stop_point() -> None:
    """Raise ``Stopped`` if this thread has to stop."""
    if _thread.must_stop is not None and _thread.must_stop():
        raise Stopped

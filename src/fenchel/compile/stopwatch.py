"""Time spent compiling: long compilation is announced once, and the clock of time limits does not count it."""

from __future__ import annotations

import functools
import logging
import threading
import time

_log = logging.getLogger("fenchel")
#: announce compilation when it takes longer than this
_PATIENCE_SECONDS = 2.0


class _Stopwatch:
    """Adds up how long this process has compiled and says so once when that becomes long."""

    def __init__(self) -> None:
        self._spent, self._begin = 0.0, 0.0
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._first_calls, self._counted_until = 0.0, 0.0

    def clock(self) -> float:
        """Seconds since some moment, without those of first calls of loops: a time limit begins after compilation."""
        return time.perf_counter() - self._first_calls

    def first_call(self, begin: float) -> None:
        """Note that a loop was compiled, or loaded, in a call that began then; threads do so side by side."""
        with self._lock:
            now = time.perf_counter()
            self._first_calls += max(0.0, now - max(begin, self._counted_until))
            self._counted_until = now

    def start(self) -> None:
        # numba compiles one function at a time, so one watch is enough
        self._begin = time.perf_counter()
        self._timer = threading.Timer(max(0.0, _PATIENCE_SECONDS - self._spent), _announce)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._spent += time.perf_counter() - self._begin


stopwatch = _Stopwatch()


@functools.cache
def _announce() -> None:
    _log.warning(
        "fenchel: compiling loops for this kind of data; this happens once on a machine (once in a process for losses "
        "of your own, or if the cache folder can't be written)"
    )

"""The end of a time limit, of one solve or of several that share it."""

from __future__ import annotations

import math

from fenchel.compile.stopwatch import stopwatch
from fenchel.validation import check_number


class Deadline:
    """A moment on the clock of time limits, which does not count compilation.

    Parameters
    ----------
    seconds : float or None
        Seconds from now; None is never.
    """

    def __init__(self, seconds: float | None) -> None:
        check_number("time_limit", seconds, least=0.0, finite=False, optional=True)
        self.moment = math.inf if seconds is None else stopwatch.clock() + seconds

    @property
    def passed(self) -> bool:
        """Whether the moment has come."""
        return stopwatch.clock() >= self.moment

    def remaining(self) -> float | None:
        """The seconds that remain, None for no limit."""
        return None if math.isinf(self.moment) else max(0.0, self.moment - stopwatch.clock())

    def share(self, k: int, count: int, workers: int = 1) -> float | None:
        """The time of the k-th of ``count`` pieces of work: an equal share of the rest for each round to come."""
        remaining = self.remaining()
        return None if remaining is None else remaining / math.ceil((count - k) / workers)

"""What users see of a fit: a live line in a terminal if rich is installed, log records otherwise; and warnings."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib.util import find_spec
from operator import add
from typing import Any, NamedTuple

from fenchel.errors import GapWarning
from fenchel.solving.solution import Progress, Solution

_log = logging.getLogger("fenchel")

#: a log has a line between two certificates after this many seconds, or this share of the time of the fit so far
_PAUSE_SECONDS, _PAUSE_SHARE = 2.0, 1.0 / 30.0


class Watch(NamedTuple):
    """What shows the progress of one solve: its callback, and what is called while no certificate is due."""

    callback: Callable[[Progress], Any] | None = None
    waiting: Callable[[], None] = lambda: None

    def on_each_request(self, stop_requested: Callable[[], bool]) -> Callable[[], bool]:
        """The function that a solve asks many times a second whether to stop, which also shows that it is alive."""

        def asked() -> bool:
            self.waiting()
            return stop_requested()

        return asked


class _Lines:
    """A line of the log for each certificate, and one whenever there was none for a while."""

    def __init__(self, name: str, tol: float) -> None:
        self._name, self._tol, self._gap = name, tol, ""
        self._begin = self._last = time.monotonic()

    def certified(self, progress: Progress) -> None:
        """Write what is proved."""
        _log.warning("%s: %s", self._name, describe(progress, self._tol))
        self._last, self._gap = time.monotonic(), f", gap {progress.certificate.relative_gap:.1e} so far"

    def waiting(self) -> None:
        """Write how long the fit has taken, if the last line is old enough."""
        now = time.monotonic()
        if now - self._last >= max(_PAUSE_SECONDS, _PAUSE_SHARE * (now - self._begin)):
            _log.warning("%s: %.0f s%s, next certificate pending", self._name, now - self._begin, self._gap)
            self._last = now


@contextmanager
def reporter(title: str, count: int, tol: float, verbose: int) -> Iterator[Callable[[int], Watch]]:
    """Yield a function that returns the watch of problem k of ``count``; it does nothing if ``verbose`` is 0."""
    if not verbose:
        yield lambda k: Watch()
        return
    names = [title if count == 1 else f"{title} {k + 1}/{count}" for k in range(count)]
    if not sys.stderr.isatty() or find_spec("rich") is None:

        def write(k: int) -> Watch:
            lines = _Lines(names[k], tol)
            return Watch(lines.certified, lines.waiting)

        yield write
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TextColumn, TimeElapsedColumn

    # one display for all threads, with a line and a clock for each problem that is under way
    columns = (TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:

        def show(k: int) -> Watch:
            task = bar.add_task(names[k], total=None)
            return Watch(lambda progress: bar.update(task, description=f"{names[k]}: {describe(progress, tol)}"))

        yield show


def report_stage(title: str, stage: str, verbose: int) -> None:
    """Say what a fit does before its first certificate, such as the start of a cluster."""
    if verbose:
        _log.warning("%s: %s", title, stage)


def report_end(title: str, solutions: Sequence[Solution], verbose: int) -> None:
    """Say in a sentence what was proved, after the lines of the fit; a live display is gone by now."""
    if verbose and solutions:
        total = reduce(add, [solution.certificate for solution in solutions])
        passes = max(solution.passes for solution in solutions)
        many = "" if len(solutions) == 1 else f" in {len(solutions)} problems"
        _log.warning("%s: %s (%.4g passes%s)", title, total, passes, many)


def describe(progress: Progress, tol: float) -> str:
    """One line: the gap, tol, data passes and the objective."""
    gap = progress.certificate.relative_gap
    return f"gap {gap:.1e} (tol {tol:.0e}), {progress.passes:.4g} passes, objective {progress.certificate.primal:.6g}"


def warn(message: str, category: type[Warning] = GapWarning) -> None:
    """Warn at the first caller outside this package; subclasses of estimators add frames of their own."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "fenchel":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

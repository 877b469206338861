"""What users see of a fit: a live line in a terminal if rich is installed, log records otherwise; and warnings."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib.util import find_spec
from operator import add
from typing import Any

from fenchel.errors import GapWarning
from fenchel.solving.solution import Progress, Solution

_log = logging.getLogger("fenchel")


Callback = Callable[[Progress], Any]


@contextmanager
def reporter(title: str, count: int, tol: float, verbose: int) -> Iterator[Callable[[int], Callback | None]]:
    """Yield a function that returns the callback of problem k of ``count``; None if ``verbose`` is 0."""
    if not verbose:
        yield lambda k: None
        return
    names = [title if count == 1 else f"{title} {k + 1}/{count}" for k in range(count)]
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield lambda k: lambda progress: _log.warning("%s: %s", names[k], describe(progress, tol))
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TextColumn, TimeElapsedColumn

    # one display for all threads, with a line for each problem that is under way
    columns = (TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:

        def show(k: int) -> Callback:
            task = bar.add_task(names[k], total=None)
            return lambda progress: bar.update(task, description=f"{names[k]}: {describe(progress, tol)}")

        yield show


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

"""Progress of long fits: a live line in a terminal if rich is there, log records otherwise."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from fenchel.solving import Progress

_log = logging.getLogger("fenchel")


@contextmanager
def reporter(title: str, tol: float, verbose: int) -> Iterator[Callable[[Progress], Any] | None]:
    """A callback that shows each certificate, or None when the fit should be quiet."""
    if not verbose:
        yield None
        return
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield lambda progress: _log.warning("%s: %s", title, describe(progress, tol))
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda progress: bar.update(task, description=f"{title}: {describe(progress, tol)}")


def describe(progress: Progress, tol: float) -> str:
    """One short line on how far a fit is."""
    certificate = progress.certificate
    return (
        f"{progress.passes:.4g} passes, objective {certificate.primal:.6g}, "
        f"relative gap {certificate.relative_gap:.1e} of {tol:.0e}"
    )

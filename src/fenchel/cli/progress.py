"""A bar for the reading of files; the progress of a fit is reported by the estimators."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: characters of the bar, seconds between two of them in a terminal, and the steps outside of one, in percent
_WIDTH, _PAUSE, _STEP = 30, 0.1, 25
#: files that are smaller are read before a bar can be seen
_LEAST_BYTES = 1 << 20


def shows_progress(options: Namespace) -> bool:
    """Whether progress is shown: in a terminal, or with --verbose."""
    return bool(options.verbose or (sys.stderr.isatty() and not options.quiet))


class _Bar:
    """The line of one file."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names, self._live = names, sys.stderr.isatty()
        self._last, self._step, self._shown = 0.0, 0, False

    def __call__(self, path: Path, done: int, size: int) -> None:
        if size < _LEAST_BYTES and self._live:
            return
        percent = 100 if done >= size else 100 * done // size
        name = self._names.get(str(path), path.name)
        if self._live:
            now = time.monotonic()
            if now - self._last >= _PAUSE:
                filled = _WIDTH * percent // 100
                bar = "━" * filled + " " * (_WIDTH - filled)
                print(f"\r\x1b[Kreading {name} {bar} {percent}% of {size / 1e6:,.0f} MB", end="", file=sys.stderr)
                self._last, self._shown = now, True
        elif percent // _STEP > self._step:
            self._step = percent // _STEP
            print(f"reading {name}: {_STEP * self._step}% of {size / 1e6:,.1f} MB", file=sys.stderr)

    def close(self) -> None:
        """Remove the line."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@contextmanager
def reading(options: Namespace) -> Iterator[None]:
    """Show how far files are read meanwhile."""
    if not shows_progress(options):
        yield
        return
    from fenchel.io.files import watcher

    bar = _Bar(options.names)
    token = watcher.set(bar)
    try:
        yield
    finally:
        watcher.reset(token)
        bar.close()

"""Work in threads that end soon after Ctrl-C or an error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


def in_threads(work: Sequence[Callable[[], T]], workers: int, stop: threading.Event) -> list[T]:
    """The results in the order of the work; ``stop`` is set after Ctrl-C or an error, so that the others end soon."""
    if workers == 1:
        return [one() for one in work]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(one) for one in work]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            if any(future.exception() is not None for future in done):
                stop.set()
        except KeyboardInterrupt:
            stop.set()
        return [future.result() for future in futures]

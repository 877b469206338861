"""What numba has to know before it compiles or loads a loop, told at the first call of one.

The import of numba takes longer than many a fit, and fits of small data may call no loop at all.  So the modules of
loops import without numba: what they would register with it waits here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from fenchel.loading import no_collection

_pending: list[Callable[[], Any]] = []
_lock = threading.RLock()


def at_first_call(register: Callable[[], Any]) -> None:
    """Call ``register`` before the next loop is compiled or loaded."""
    _pending.append(register)


def register_all() -> None:
    """Register what was defined since the last call."""
    with _lock, no_collection():
        while _pending:
            # removed when it is done, so that another thread waits for it
            _pending[0]()
            del _pending[0]

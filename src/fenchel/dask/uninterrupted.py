"""What the workers of a local cluster load when they start (Dask's ``preload``): Ctrl-C is for the driver alone.

A terminal sends it to all processes.  Workers that ended by it would leave the driver without the rows for the
certificate of the best model so far.  They end with the cluster, and with their driver if it is killed.
"""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Let this process ignore Ctrl-C; called by Dask in the main thread of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

"""What the benchopt classes share with the table; benchopt makes this importable as ``benchmark_utils``."""

import sys
from pathlib import Path
from typing import Any

_ROOT = str(Path(__file__).resolve().parents[3])
if _ROOT not in sys.path:
    sys.path.insert(0, _ROOT)

from benchmarks.data import load  # noqa: E402 (needs the path above)
from benchmarks.speed.benchopt_solver import TolerantSolver  # noqa: E402
from benchmarks.speed.judging import Judge  # noqa: E402
from benchmarks.speed.references import reference  # noqa: E402
from benchmarks.speed.tasks import LOSSES, Task  # noqa: E402

__all__ = ["LOSSES", "Judge", "Task", "TolerantSolver", "as_benchopt", "reference"]


def as_benchopt(name: str) -> dict[str, Any]:
    """A data set as benchopt hands it to the objective."""
    data = load(name)
    return {"name": data.name, "matrix": data.matrix, "labels": data.labels, "regression": data.regression}

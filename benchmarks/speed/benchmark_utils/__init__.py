"""What the benchopt classes share with the table; benchopt makes this importable as ``benchmark_utils``."""

import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parents[3])
if _ROOT not in sys.path:
    sys.path.insert(0, _ROOT)

from benchmarks.data import load  # noqa: E402 (needs the path above)
from benchmarks.speed.benchopt_solver import TolerantSolver  # noqa: E402
from benchmarks.speed.contenders import Fenchel, Liblinear, Rehline, ScikitLearn, Task  # noqa: E402
from benchmarks.speed.judging import Judge, reference  # noqa: E402

__all__ = ["Fenchel", "Judge", "Liblinear", "Rehline", "ScikitLearn", "Task", "TolerantSolver", "load", "reference"]

"""Processor seconds of whole commands on a file of 100 rows: what imports and loading compiled loops cost.

    python benchmarks/fixed_cost.py

Medians of ``--rounds`` runs in turn, after one that is not counted and compiles what is missing.  docs/front-ends.md
has the table; docs/cli/index.md and benchmarks/README.md quote it.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/fixed_cost.py`

from benchmarks import report

_ROWS = "1 1:1 2:0.5\n-1 1:-1 2:0.3\n" * 50
#: what each line of the table runs, and how it must end
_FENCHEL = (sys.executable, "-m", "fenchel")
_COMMANDS: dict[str, tuple[tuple[str, ...], int]] = {
    "`python -c pass`": ((sys.executable, "-c", "pass"), 0),
    "`fenchel --help`": ((*_FENCHEL, "--help"), 0),
    "`fenchel liblinear train` without arguments": ((*_FENCHEL, "liblinear", "train"), 1),
    "`fenchel liblinear predict`": ((*_FENCHEL, "liblinear", "predict", "rows", "a.model", "out"), 0),
    "`fenchel svmperf classify`": ((*_FENCHEL, "svmperf", "classify", "rows", "b.model", "out"), 0),
    "`fenchel predict`": ((*_FENCHEL, "predict", "model.npz", "rows", "--force", "-o", "labels"), 0),
    "`fenchel train`": ((*_FENCHEL, "train", "rows", "--force", "-o", "model.npz"), 0),
    "`fenchel liblinear train`": ((*_FENCHEL, "liblinear", "train", "-q", "rows", "a.model"), 0),
    "`fenchel svmperf learn`": ((*_FENCHEL, "svmperf", "learn", "-c", "1", "rows", "b.model"), 0),
}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    seconds: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rows").write_text(_ROWS, encoding="ascii")
        # the last ones write the models that others read
        for name in reversed(_COMMANDS):
            _seconds(name, folder)
        for _ in range(rounds):
            for name, found in seconds.items():
                found.append(_seconds(name, folder))
    rows = [
        (name, f"{statistics.median(found):.2f} [{min(found):.2f}–{max(found):.2f}]") for name, found in seconds.items()
    ]
    print(report.markdown_table(["command", "processor seconds"], rows))


def _seconds(name: str, folder: str) -> float:
    """Processor seconds of a command and its threads."""
    command, status = _COMMANDS[name]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    # an installed package has its bytecode
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = os.times()
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    after = os.times()
    if done.returncode != status:
        raise SystemExit(f"{name} ended with {done.returncode}: {done.stderr}")
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    main()

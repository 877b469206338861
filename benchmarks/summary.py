"""All benchmarks in their quick forms, in under 20 minutes; ``make bench`` runs this.

python -m benchmarks.summary
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/summary.py`

from benchmarks import machine, report

_PARTS = {
    "Start": ["benchmarks.start"],
    "Memory (200 MB instead of 1 GB)": ["benchmarks.memory", "--size-mb", "200"],
    "Growth (small sizes)": ["benchmarks.growth", "--quick", "--fresh"],
    "Path (a9a, 8 values of C)": ["benchmarks.path", "--quick", "--fresh"],
    "Speed (3 data sets, C = 1 and 10, 3 rounds, 10 s cap)": ["benchmarks.speed.table", "--quick", "--fresh"],
}


def main() -> None:
    """Run each part in a process of its own and say what it found; a part that fails does not stop the others."""
    begin = time.perf_counter()
    print(f"# Benchmarks, quick form\n\n{machine.as_markdown()}\n", flush=True)
    failed = []
    for title, module in _PARTS.items():
        print(f"## {title}\n", flush=True)
        command = [sys.executable, "-m", *module, "--output", str(report.RESULTS / "quick")]
        if subprocess.run(command, cwd=report.README.parents[1], check=False).returncode != 0:
            failed.append(title)
        print(flush=True)
    print(f"{(time.perf_counter() - begin) / 60:.1f} minutes; results are in {report.RESULTS / 'quick'}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

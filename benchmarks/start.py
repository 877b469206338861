"""Must-show 5: what the first fit in a process costs, and the first compile ever.

Whole processes are timed, from start to end, in turn: one that does ``import numba, sklearn.base`` and one that fits
the default LinearClassifier on a small data set with compiled loops on disk.  The first compile runs with an empty
cache folder of its own.

    python -m benchmarks.start
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/start.py`

from benchmarks import report

_IMPORTS = "import numba, sklearn.base"
_FIT = """
import time
begin = time.perf_counter()
import numpy as np
from fenchel import LinearClassifier
random = np.random.default_rng(0)
X = random.standard_normal((200, 10))
y = np.where(X @ random.standard_normal(10) + random.standard_normal(200) > 0, 1, -1)
model = LinearClassifier(random_state=0).fit(X, y)
assert model.converged_
print(time.perf_counter() - begin)
"""


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="processes of each kind")
    parser.add_argument("--output", type=Path, default=report.RESULTS, help="folder for start.json")
    parser.add_argument("--update-readme", action="store_true", help="write the table into benchmarks/README.md")
    options = parser.parse_args()
    results = measured(options.rounds)
    report.write_json(options.output / "start.json", results)
    text = table(results)
    if options.update_readme:
        report.update_readme("start", text)
    print(text)


def measured(rounds: int) -> dict[str, Any]:
    """Seconds of whole processes: the first one with an empty cache, then imports and fits in turn."""
    with tempfile.TemporaryDirectory() as folder:
        # an installed package has its bytecode: a setting that forbids writing it would time Python's compiler
        environment = {**os.environ, "FENCHEL_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""}
        _seconds(_IMPORTS, environment)  # reads the libraries into the page cache
        first, printed, said = _seconds(_FIT, environment)
        imports, fits = [], []
        for _ in range(rounds):
            imports.append(_seconds(_IMPORTS, environment)[0])
            fits.append(_seconds(_FIT, environment)[0])
    return {
        "first_compile": first,
        "first_compile_inside": float(printed),
        "first_compile_said": said,
        "imports": imports,
        "fits": fits,
        "more": statistics.median(fits) - statistics.median(imports),
    }


def table(results: dict[str, Any]) -> str:
    """The results in Markdown."""
    said = results["first_compile_said"].strip() or "nothing"
    rows = [
        [f"`{_IMPORTS}`", _range(results["imports"]), ""],
        ["import and first small fit, second process", _range(results["fits"]), ""],
        ["the difference of the medians", f"{results['more']:.3f}", "at most 0.5"],
        ["import and first small fit, nothing compiled yet", f"{results['first_compile']:.2f}", "at most 20"],
    ]
    note = f"While compiling it said: {said}. A line is due when it takes more than 2 seconds."
    return report.markdown_table(["whole process", "seconds", "goal"], rows) + "\n\n" + note


def _range(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.3f} [{min(seconds):.3f}–{max(seconds):.3f}]"


def _seconds(code: str, environment: dict[str, str]) -> tuple[float, str, str]:
    """Seconds of a process from start to end, and what it wrote to its two outputs."""
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    return time.perf_counter() - begin, done.stdout, done.stderr


if __name__ == "__main__":
    main()

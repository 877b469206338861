"""The wheel on several Pythons: an empty environment each, `pip check`, and the first example of README.

    make matrix PYTHONS="python3.11 python3.12"        builds the wheel, runs this, and prints a table

A Python that is not installed, or for which pip finds no files, has its reason in the table.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rehearsal import ROOT, blocks

_VERSIONS = "import sys, numpy, scipy, sklearn, numba; print(sys.version.split()[0]);" + "".join(
    f"print({name}.__version__);" for name in ("numpy", "scipy", "sklearn", "numba")
)


class RefusedError(Exception):
    """Why a Python is not in the table with a result."""


def _run(*command: str, folder: Path) -> str:
    """What a command prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True)
    if done.returncode:
        raise RefusedError((done.stderr or done.stdout).strip().splitlines()[-1])
    return done.stdout


def row(python: str, wheel: Path, code: str, expected: str) -> list[str]:
    """The version of a Python and of what pip chose for it, and what became of the example."""
    program = shutil.which(python)
    if program is None:
        return [python, "", "not installed here"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inside = folder / "environment" / "bin" / "python"
        try:
            _run(program, "-m", "venv", "environment", folder=folder)
            _run(str(inside), "-m", "pip", "install", "-q", "--disable-pip-version-check", str(wheel), folder=folder)
            _run(str(inside), "-m", "pip", "check", folder=folder)
            version, *others = _run(str(inside), "-I", "-c", _VERSIONS, folder=folder).split()
            printed = _run(str(inside), "-I", "-c", code, folder=folder)
        except RefusedError as error:
            return [python, "", str(error)]
    return [version, ", ".join(others), "as in README" if printed == expected else printed.strip()]


def main() -> int:
    """Print the table; the exit status is 1 if an example printed something else."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("pythons", nargs="+", help="interpreters, by name or path")
    options = parser.parse_args()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code, expected = blocks(readme, "python")[0], blocks(readme, "text")[0]
    print("| Python | NumPy, SciPy, scikit-learn, numba | the first example of README |\n|---|---|---|")
    rows = []
    for python in options.pythons:
        rows.append(row(python, options.wheel.resolve(), code, expected))
        print(f"| {' | '.join(rows[-1])} |", flush=True)
    return int(any(one[1] and one[2] != "as in README" for one in rows))


if __name__ == "__main__":
    sys.exit(main())

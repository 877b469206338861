"""Write the requirements files of CI: exact versions with the hashes of every file that may be installed.

``make lock`` runs this.  pip resolves the newest versions that ``pyproject.toml`` allows for the Python that runs it.
The wheels of these versions for every Python and machine in ``PYTHONS`` and ``MACHINES`` are added.  Users are not
concerned: ``pip install`` reads ``pyproject.toml`` alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
#: what building needs beside ``build-system.requires``: pip itself, editable installs with hatchling, and the source
#: distribution of liblinear-official
BUILD = ["pip", "editables", "setuptools"]
#: what .ci/run needs
EXTRAS = ["plot", "dask", "test", "lint"]
PYTHONS = ["3.11", "3.12", "3.13"]
MACHINES = ["x86_64", "aarch64"]
HEADER = "# Written by make lock: versions and hashes of what .ci/run installs, on Linux with Python {pythons}.\n"


def report(arguments: list[str]) -> list[dict] | None:
    """What pip would install, or None where it finds no solution."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed"]
        done = subprocess.run([*command, "--report", file.name, *arguments], capture_output=True, text=True)
        if done.returncode:
            print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
            return None
        return json.loads(Path(file.name).read_text())["install"]


def pinned(requirements: list[str]) -> dict[str, tuple[str, set[str]]]:
    """The version and the hashes of each package that these requirements need."""
    found = report(requirements)
    if found is None:
        raise SystemExit("pip found no versions that fit together")
    pins = {name_of(item): (item["metadata"]["version"], {_hash(item)}) for item in found}
    wheels = [name_of(item) for item in found if item["download_info"]["url"].endswith(".whl")]
    for python in PYTHONS:
        for machine in MACHINES:
            for item in _other_wheels([f"{name}=={pins[name][0]}" for name in wheels], python, machine):
                pins[name_of(item)][1].add(_hash(item))
    return pins


def _other_wheels(exact: list[str], python: str, machine: str) -> list[dict]:
    """The wheels of exact versions for another Python and machine; halves, since one may lack a wheel."""
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in (34, 28, 27, 24, 17, 12, 5)]
    platforms += [f"--platform=manylinux{year}_{machine}" for year in (2014, 2010)]
    options = ["--no-deps", "--only-binary=:all:", f"--python-version={python}", "--target=unused", *platforms]
    found = report([*options, *exact])
    if found is not None:
        return found
    if len(exact) == 1:
        print(f"no wheel of {exact[0]} for Python {python} on {machine}", file=sys.stderr)
        return []
    half = len(exact) // 2
    return _other_wheels(exact[:half], python, machine) + _other_wheels(exact[half:], python, machine)


def name_of(item: dict) -> str:
    """The normalized name of a package in a report."""
    return item["metadata"]["name"].lower().replace("_", "-").replace(".", "-")


def _hash(item: dict) -> str:
    return item["download_info"]["archive_info"]["hashes"]["sha256"]


def written(pins: dict[str, tuple[str, set[str]]]) -> str:
    """A requirements file for ``pip install --require-hashes``."""
    lines = [HEADER.format(pythons=", ".join(PYTHONS))]
    for name, (version, hashes) in sorted(pins.items()):
        parts = [f"{name}=={version}", *(f"--hash=sha256:{one}" for one in sorted(hashes))]
        lines.append(" \\\n    ".join(parts) + "\n")
    return "".join(lines)


def main() -> None:
    """Write ``build.txt`` and ``ci.txt``."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *(entry for name in EXTRAS for entry in extras[name])]
    for name, requirements in (("build", [*project["build-system"]["requires"], *BUILD]), ("ci", wanted)):
        (HERE / f"{name}.txt").write_text(written(pinned(requirements)))


if __name__ == "__main__":
    main()

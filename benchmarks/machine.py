"""Describes the machine and the versions that a benchmark ran with: ``python -m benchmarks.machine``."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/machine.py`

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "liblinear-official", "rehline", "skglm", "snapml")
_PACKAGES += ("benchopt", "clarabel")


def describe() -> dict[str, str]:
    """Processor, memory, operating system, Python and package versions, in words."""
    described = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
    }
    for package in _PACKAGES:
        try:
            described[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            described[package] = "not installed"
    return described


def as_markdown() -> str:
    """The description as a table."""
    rows = [f"| {key} | {value} |" for key, value in describe().items()]
    return "\n".join(["| part | here |", "|---|---|", *rows])


def _processor() -> str:
    facts = _facts(Path("/proc/cpuinfo"))
    if "model name" not in facts:
        return platform.processor() or platform.machine()
    identity = ", ".join(f"{key} {facts[key]}" for key in ("cpu family", "model", "stepping") if key in facts)
    return f"{facts['model name']} ({identity}; cache {facts.get('cache size', 'unknown')})"


def _memory() -> str:
    total = _facts(Path("/proc/meminfo")).get("MemTotal")
    return "unknown" if total is None else f"{int(total.split()[0]) / 2**20:.1f} GiB"


def _facts(file: Path) -> dict[str, str]:
    """The first value of each ``key : value`` line."""
    facts: dict[str, str] = {}
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            key, colon, value = line.partition(":")
            if colon:
                facts.setdefault(key.strip(), value.strip())
    return facts


if __name__ == "__main__":
    from benchmarks import report

    if report.asked_to_update_readme(__doc__):
        report.update_readme("machine", as_markdown())
    print(as_markdown())

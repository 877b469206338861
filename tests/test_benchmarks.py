"""The benchmarks run: tiny data, one round, nothing asserted about time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fenchel

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = ("machine", "speed", "memory", "start")


def _run(*arguments: str) -> str:
    """Run a module from the project root with the same fenchel as here."""
    paths = [str(Path(fenchel.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_speed_table(tmp_path: Path) -> None:
    pytest.importorskip("liblinear", reason="the benchmark's peer liblinear-official is not installed")
    pytest.importorskip("rehline", reason="the benchmark's peer rehline is not installed")
    options = ["--data", "simulated-dense", "--C", "1", "--rounds", "1", "--cap", "30"]
    contenders = ["--only", "Fenchel", "LIBLINEAR", "rehline"]
    printed = _run("benchmarks.speed.table", *options, *contenders, "--output", str(tmp_path))
    results = json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))
    status = {(cell["contender"], cell["target"]): cell["status"] for cell in results["cells"]}
    # LIBLINEAR can't go beyond 300 passes; everyone else gets to both targets
    assert status.pop(("LIBLINEAR", 1e-6)) in ("reached", "stopped")
    assert set(status.values()) == {"reached"}
    assert len(status) == 5
    assert all(cell["suboptimality"] <= cell["target"] for cell in results["cells"] if cell["status"] == "reached")
    assert "simulated-dense" in printed


def test_benchopt_benchmark(tmp_path: Path) -> None:
    for peer in ("benchopt", "liblinear", "rehline"):
        pytest.importorskip(peer, reason=f"{peer} is not installed")
    from benchopt.results import read_results

    file = tmp_path / "results.parquet"
    which = ["-d", "Simulated[storage=simulated-dense]", "-o", "Hinge[C=1.0,reference_seconds=5.0]"]
    options = ["-n", "2", "-r", "1", "--no-cache", "--no-plot", "--no-display", "--output", str(file)]
    printed = _run("benchopt", "run", "benchmarks/speed", *which, *options)
    assert file.exists(), printed
    table = read_results(file)
    assert set(table["solver_name"]) == {"Fenchel", "LIBLINEAR", "scikit-learn", "rehline"}
    assert (table["objective_suboptimality"] >= 0).all()


def test_readme_sections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import report

    page = tmp_path / "README.md"
    page.write_text(report.README.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(report, "README", page)
    for section in SECTIONS:
        report.update_readme(section, f"table of {section}")
    written = page.read_text(encoding="utf-8")
    for section in SECTIONS:
        assert f"<!-- {section}:begin -->\ntable of {section}\n<!-- {section}:end -->" in written

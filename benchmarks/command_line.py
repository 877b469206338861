"""``fenchel train`` against ``liblinear-train`` of Debian's liblinear-tools, from a file to a model file.

python benchmarks/command_line.py --update-readme
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/command_line.py`

import numpy as np
import scipy.sparse as sp

from benchmarks import report
from benchmarks.data import shared_folder
from fenchel import Problem, certify
from fenchel.io import load_model
from fenchel.io.svmlight import read_svmlight
from fenchel.risks import MeanRisk

#: the loss of each -s of LIBLINEAR, all without an intercept
_LOSSES = {0: "logistic", 1: "squared_hinge", 2: "squared_hinge", 3: "hinge", 7: "logistic"}
#: a file, -s and C
_CASES = (
    ("covtype", 3, 1.0),
    ("covtype", 0, 1.0),
    ("20news.binary", 0, 1.0),
    ("20news.binary", 3, 1.0),
    ("synthetic", 3, 1.0),
    ("synthetic", 1, 1.0),
)
_ROUNDS = 3
#: rows, features and entries of a row of the synthetic file, about 330 MB
_ROWS, _FEATURES, _ENTRIES = 400_000, 50_000, 50


class _Row(NamedTuple):
    """What was measured of one case."""

    file: Path
    kind: int
    C: float
    ours: list[float]
    theirs: list[float]
    #: objectives, and the lower bound that Fenchel proves
    primal: float
    their_primal: float
    dual: float


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update-readme", action="store_true", help="rewrite the section in benchmarks/README.md")
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    options = parser.parse_args()
    if shutil.which("liblinear-train") is None:
        raise SystemExit("liblinear-train is not installed: apt-get install liblinear-tools")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = folder / "small.svm"
        small.write_text("1 1:1 2:0.5\n-1 1:-1 2:0.3\n" * 50)
        fixed = [_seconds(_ours(small, 3, 1.0, folder)) for _ in range(options.rounds + 1)][1:]
        print(f"fixed: {fixed}", flush=True)
        rows = []
        for case, kind, C in _CASES:
            file = folder / f"{case}.svm"
            if not file.exists():
                _write(case, file)
            rows.append(_measured(file, kind, C, folder, options.rounds))
            print(_shown(rows[-1]), flush=True)
    head = ["file", "MB", "`-s`", "`fenchel train`", "`liblinear-train`", "ratio", "objective", "LIBLINEAR's", "excess"]
    text = report.markdown_table(head, [_shown(row) for row in rows])
    text += (
        f"\n\nProcessor seconds from a plain file to a model file, median [least–most] of {options.rounds} interleaved"
        " rounds, with every import and, for Fenchel, the proof; `-s` 0: logistic, 1: squared hinge, 3: hinge; C = 1,"
        " no intercept, each program with its default tolerance. The objectives are ½‖w‖² + C Σ f; the excess is that"
        " of LIBLINEAR's objective over the lower bound that Fenchel proves. `covtype`: class 2 against the rest,"
        f" columns divided by their largest value. `synthetic`: {_ROWS:,} rows with {_ENTRIES} of {_FEATURES:,}"
        f" features. For a file of 100 rows `fenchel train` takes {statistics.median(fixed):.1f} s: imports and"
        " loading compiled code."
    )
    if options.update_readme:
        report.update_readme("command-line", text)
    print(text)


def _write(case: str, file: Path) -> None:
    """The data as a plain svmlight file with two labels."""
    if case == "synthetic":
        rng = np.random.default_rng(0)
        weights = rng.standard_normal(_FEATURES)
        with file.open("w", encoding="ascii") as stream:
            for begin in range(0, _ROWS, 10_000):
                _write_rows(stream, *_made_up(rng, weights, min(10_000, _ROWS - begin)))
        return
    found = read_svmlight(shared_folder() / f"{case}.svm.xz")
    X, y = found.X, found.y
    if case == "covtype":
        X, y = sp.csr_matrix(X @ sp.diags_array(1.0 / np.maximum(abs(X).max(axis=0).toarray()[0], 1.0))), y == 2
    with file.open("w", encoding="ascii") as stream:
        _write_rows(stream, X, np.where(y > 0, 1, -1))


def _made_up(rng: np.random.Generator, weights: np.ndarray, rows: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows with frequent and rare features, and labels of a linear model with noise."""
    columns = (_FEATURES * rng.random((rows, _ENTRIES)) ** 3).astype(np.int64)
    values = np.abs(rng.standard_normal(columns.shape)).round(4) / np.sqrt(_ENTRIES)
    indptr = np.arange(0, rows * _ENTRIES + 1, _ENTRIES)
    X = sp.csr_matrix((values.ravel(), columns.ravel(), indptr), shape=(rows, _FEATURES))
    X.sum_duplicates()
    return X, np.where(X @ weights + 0.5 * rng.standard_normal(rows) > 0.0, 1, -1)


def _write_rows(stream: object, X: sp.csr_matrix, y: np.ndarray) -> None:
    X.sort_indices()
    for row, label in enumerate(y.tolist()):
        own = slice(X.indptr[row], X.indptr[row + 1])
        pairs = zip((X.indices[own] + 1).tolist(), X.data[own].tolist(), strict=True)
        print(label, " ".join(f"{column}:{value:.6g}" for column, value in pairs), file=stream)  # type: ignore[call-overload]


def _ours(file: Path, kind: int, C: float, folder: Path) -> Sequence[str]:
    output = str(folder / "model.npz")
    options = ["--loss", _LOSSES[kind], "-C", f"{C:g}", "--no-intercept", "--force", "-o", output]
    return [sys.executable, "-m", "fenchel", "train", str(file), *options]


def _theirs(file: Path, kind: int, C: float, folder: Path) -> Sequence[str]:
    return ["liblinear-train", "-q", "-s", str(kind), "-c", f"{C:g}", str(file), str(folder / "liblinear.model")]


def _seconds(command: Sequence[str]) -> float:
    """Processor seconds of a command and its threads."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before = os.times()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _measured(file: Path, kind: int, C: float, folder: Path, rounds: int) -> _Row:
    ours, theirs = [], []
    # loops are compiled once on a machine
    _seconds(_ours(file, kind, C, folder))
    for _ in range(rounds):
        ours.append(_seconds(_ours(file, kind, C, folder)))
        theirs.append(_seconds(_theirs(file, kind, C, folder)))
    found = read_svmlight(file)
    problem = Problem(found.X, MeanRisk(_LOSSES[kind], found.y), lam=1.0 / (C * len(found.y)), intercept=False)
    own = load_model(folder / "model.npz")
    theta = np.ravel(own.theta_)
    mine, other = (
        certify(problem, weights, theta)
        for weights in (np.ravel(own.coef_), _weights(folder / "liblinear.model", found.X.shape[1]))
    )
    scale = C * len(found.y)
    return _Row(file, kind, C, ours, theirs, scale * mine.primal, scale * other.primal, scale * mine.dual)


def _weights(model: Path, features: int) -> np.ndarray:
    """The weights of a model file of LIBLINEAR, for the label 1."""
    head, _, body = model.read_text().partition("\nw\n")
    labels = next(line for line in head.split("\n") if line.startswith("label")).split()[1:]
    found = np.array(body.split(), dtype=float)
    assert len(found) == features
    return found if labels[0] == "1" else -found


def _shown(row: _Row) -> list[str]:
    ours, theirs = (f"{statistics.median(one):.1f} [{min(one):.1f}–{max(one):.1f}]" for one in (row.ours, row.theirs))
    ratio = statistics.median(row.theirs) / statistics.median(row.ours)
    excess = row.their_primal / row.dual - 1.0
    objectives = f"{row.primal:.7g}", f"{row.their_primal:.7g}", f"{100 * excess:.2g}%"
    size = f"{row.file.stat().st_size / 1e6:,.0f}"
    return [row.file.stem, size, str(row.kind), ours, theirs, f"{ratio:.1f}", *objectives]


if __name__ == "__main__":
    main()

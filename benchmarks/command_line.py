"""``fenchel train`` and its front end against ``liblinear-train`` of Debian's liblinear-tools, from a file to a model.

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
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

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
#: the default of -e for each -s, and the share by which LIBLINEAR's objective may exceed the proved bound
_TOLERANCES = {0: 0.01, 1: 0.1, 2: 0.01, 3: 0.1, 7: 0.1}
_EXCESS = 1e-3
#: a file and -s
_CASES = (
    *(("covtype", 3), ("covtype", 0), ("covtype", 2), ("20news.binary", 3), ("20news.binary", 0)),
    *(("synthetic", 3), ("synthetic", 1), ("gigabyte", 3), ("gigabyte", 1)),
)
_RESULTS = report.RESULTS / "command_line.json"
_ROUNDS = 3
#: rows of the synthetic files, about 200 MB and 1 GB; their features and entries of a row
_ROWS = {"synthetic": 300_000, "gigabyte": 1_450_000}
_FEATURES, _ENTRIES = 50_000, 50


class _Row(NamedTuple):
    """What was measured of one case."""

    name: str
    megabytes: float
    #: -s and -e of LIBLINEAR
    kind: int
    tolerance: float
    ours: list[float]
    theirs: list[float]
    #: objectives, and the lower bound that Fenchel proves
    primal: float
    their_primal: float
    dual: float
    #: seconds of ``fenchel liblinear train``
    front: Sequence[float] = ()


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update-readme", action="store_true", help="rewrite the section in benchmarks/README.md")
    parser.add_argument("--rounds", type=int, default=_ROUNDS)
    parser.add_argument("--only", nargs="*", metavar="FILE:S", help="cases to measure, such as covtype:3; none reports")
    parser.add_argument("--folder", type=Path, help="where the files are written and kept; otherwise they are deleted")
    options = parser.parse_args()
    if shutil.which("liblinear-train") is None:
        raise SystemExit("liblinear-train is not installed: apt-get install liblinear-tools")
    results = report.read_json(_RESULTS)
    known = results.get("cases", {})
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        for case, kind in _CASES:
            if options.only is None or f"{case}:{kind}" in options.only:
                file = folder / f"{case}.svm"
                if not file.exists():
                    _write(case, file)
                known[f"{case}:{kind}"] = _measured(file, kind, folder, options.rounds)._asdict()
                print(_shown(_Row(**known[f"{case}:{kind}"])), flush=True)
                report.write_json(_RESULTS, {"cases": known})
    text = _section([_Row(**known[f"{case}:{kind}"]) for case, kind in _CASES if f"{case}:{kind}" in known])
    if options.update_readme:
        report.update_readme("command-line", text)
    print(text)


def _section(rows: list[_Row]) -> str:
    head = ["file", "MB", "`-s`", "`-e`", "`fenchel train`", "`fenchel liblinear train`", "`liblinear-train`", "ratios"]
    text = report.markdown_table([*head, "objective", "LIBLINEAR's", "excess"], [_shown(row) for row in rows])
    return text + (
        "\n\nProcessor seconds from a plain file to a model file, median [least–most] of interleaved rounds, with"
        " every import and, for Fenchel, the proof; `-s` 0: logistic, 1 and 2: squared hinge, 3: hinge; C = 1, no"
        " intercept. Fenchel has a proved gap of 0.1%: the default of `fenchel train`, and the front end with ten times"
        " the default of `-e`. The ratios: LIBLINEAR's time over each of these. LIBLINEAR has the largest `-e`, its"
        " default divided by a power of 10, with which its objective exceeds the lower bound that Fenchel proves by"
        " 0.1% at most. The objectives are ½‖w‖² + C Σ f. `covtype`: class 2 against the rest, columns divided by their"
        " largest value."
        f" `synthetic` and `gigabyte`: {_ROWS['synthetic']:,} and {_ROWS['gigabyte']:,} rows with {_ENTRIES} of"
        f" {_FEATURES:,} features. Every time of Fenchel includes the start, imports and loading compiled code, which"
        " LIBLINEAR does not have: for a file of 100 rows `fenchel train` takes 0.5 s"
        " (`python benchmarks/fixed_cost.py`, table in [docs/front-ends.md](../docs/front-ends.md#time))."
    )


def _write(case: str, file: Path) -> None:
    """The data as a plain svmlight file with two labels."""
    if case in _ROWS:
        rng = np.random.default_rng(0)
        weights = rng.standard_normal(_FEATURES)
        with file.open("w", encoding="ascii") as stream:
            for begin in range(0, _ROWS[case], 10_000):
                _write_rows(stream, *_made_up(rng, weights, min(10_000, _ROWS[case] - begin)))
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


def _write_rows(stream: IO[str], X: sp.csr_matrix, y: np.ndarray) -> None:
    X.sort_indices()
    for row, label in enumerate(y.tolist()):
        own = slice(X.indptr[row], X.indptr[row + 1])
        pairs = zip((X.indices[own] + 1).tolist(), X.data[own].tolist(), strict=True)
        entries = X.indptr[row + 1] - X.indptr[row]
        # one format for the whole row takes a third of the time of one for each entry
        stream.write(f"{label}{' %d:%.6g' * entries % tuple(chain.from_iterable(pairs))}\n")


def _ours(file: Path, kind: int, folder: Path) -> Sequence[str]:
    output = str(folder / "model.npz")
    options = ["--loss", _LOSSES[kind], "--no-intercept", "--force", "-o", output]
    return [sys.executable, "-m", "fenchel", "train", str(file), *options]


def _front(file: Path, kind: int, folder: Path) -> Sequence[str]:
    # its default of -e is a proved gap of 1e-4
    options = ["-q", "-s", str(kind), "-c", "1", "-e", f"{10 * _TOLERANCES[kind]:g}"]
    return [sys.executable, "-m", "fenchel", "liblinear", "train", *options, str(file), str(folder / "front.model")]


def _theirs(file: Path, kind: int, tolerance: float, folder: Path) -> Sequence[str]:
    options = ["-q", "-s", str(kind), "-c", "1", "-e", f"{tolerance:g}"]
    return ["liblinear-train", *options, str(file), str(folder / "liblinear.model")]


def _seconds(command: Sequence[str]) -> float:
    """Processor seconds of a command and its threads."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    # an installed package has its bytecode
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = os.times()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _measured(file: Path, kind: int, folder: Path, rounds: int) -> _Row:
    # loops are compiled once on a machine
    _seconds(_ours(file, kind, folder))
    _seconds(_front(file, kind, folder))
    found = read_svmlight(file)
    problem = Problem(found.X, MeanRisk(_LOSSES[kind], found.y), lam=1.0 / len(found.y), intercept=False)
    own = load_model(folder / "model.npz")
    theta = np.ravel(own.theta_)
    mine = certify(problem, np.ravel(own.coef_), theta)
    for power in range(5):
        tolerance = _TOLERANCES[kind] / 10**power
        first = _seconds(_theirs(file, kind, tolerance, folder))
        other = certify(problem, _weights(folder / "liblinear.model", found.X.shape[1]), theta)
        if other.primal <= (1.0 + _EXCESS) * mine.dual:
            break
    ours, front, theirs = [], [], [first]
    for k in range(rounds):
        ours.append(_seconds(_ours(file, kind, folder)))
        front.append(_seconds(_front(file, kind, folder)))
        if k:
            theirs.append(_seconds(_theirs(file, kind, tolerance, folder)))
    objectives = [float(len(found.y) * value) for value in (mine.primal, other.primal, mine.dual)]
    return _Row(file.stem, file.stat().st_size / 1e6, kind, tolerance, ours, theirs, *objectives, front)


def _weights(model: Path, features: int) -> np.ndarray:
    """The weights of a model file of LIBLINEAR, for the label 1."""
    head, _, body = model.read_text().partition("\nw\n")
    labels = next(line for line in head.split("\n") if line.startswith("label")).split()[1:]
    found = np.array(body.split(), dtype=float)
    assert len(found) == features
    return found if labels[0] == "1" else -found


def _shown(row: _Row) -> list[str]:
    timed = row.ours, row.front, row.theirs
    # rows that were measured before the front end was have no time of it
    seconds = [f"{statistics.median(one):.1f} [{min(one):.1f}–{max(one):.1f}]" if one else "–" for one in timed]
    ratios = [f"{statistics.median(row.theirs) / statistics.median(one):.1f}" for one in (row.ours, row.front) if one]
    excess = f"{100 * (row.their_primal / row.dual - 1.0):.2g}%"
    objectives = f"{row.primal:.7g}", f"{row.their_primal:.7g}", excess
    about = row.name, f"{row.megabytes:,.0f}", str(row.kind), f"{row.tolerance:g}"
    return [*about, *seconds, ", ".join(ratios), *objectives]


if __name__ == "__main__":
    main()

"""What an ordinary certificate costs, with and without proved bounds on its rounding errors.

Two processes, one with this tree and one with another (``--before``), hold the same data, model and dual point, and
compute the certificate in turn: processor milliseconds of one thread, the median with the range.  The first certificate
of a data set also computes what is kept with the data, such as the largest entry and the norms of the rows.

    mkdir -p out/before && git archive eac4320^ src | tar -x -C out/before
    python -m benchmarks.certificate --before out/before
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
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/certificate.py`

import numpy as np
import scipy.sparse as sp

from benchmarks import report
from benchmarks.data import load
from fenchel import Problem, solve
from fenchel.risks import MeanRisk

HERE = Path(__file__).resolve().parents[1]
#: before the first commit about proved bounds on rounding errors
COMMIT = "eac4320^"
_CHILD = """
import sys, time
import numpy as np, scipy.sparse as sp
from fenchel import Model, Problem, Witness
from fenchel.certificate import judge
from fenchel.risks import MeanRisk
file, loss = sys.argv[1:]
with np.load(file) as stored:
    X = sp.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=tuple(stored["shape"]))
    y, lam, model = stored["y"], float(stored["lam"]), Model(stored["weights"], float(stored["intercept"]))
    witness = Witness(stored["theta"])
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "new":
        problem = Problem(X, MeanRisk(loss, y), lam, intercept=True)
    begin = time.process_time()
    certificate = judge(problem, model, witness).certificate
    print(time.process_time() - begin, certificate.relative_gap, flush=True)
"""


class Child:
    """A process that computes certificates with the package of one tree."""

    def __init__(self, tree: Path, file: Path, loss: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", _CHILD, str(file), loss]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._read() == "ready"

    def milliseconds(self, *, new: bool) -> float:
        """Processor time of one certificate, of a new problem or of the last one."""
        assert self._process.stdin is not None
        print("new" if new else "again", file=self._process.stdin, flush=True)
        return 1e3 * float(self._read().split()[0])

    def end(self) -> None:
        self._process.communicate()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def measured(name: str, loss: str, trees: dict[str, Path], rounds: int, tol: float) -> dict[str, Any]:
    """Milliseconds of the first certificate of new problems and of later ones, in turn for each tree."""
    data = load(name)
    X = sp.csr_array(data.matrix)
    lam = 1.0 / X.shape[0]
    solution = solve(Problem(X, MeanRisk(loss, data.labels), lam, intercept=True), tol=tol)
    cell: dict[str, Any] = {"data": name, "loss": loss, "gap": solution.certificate.relative_gap}
    with tempfile.TemporaryDirectory() as folder:
        file, stored = Path(folder) / "case.npz", {"data": X.data, "indices": X.indices, "indptr": X.indptr}
        stored |= {"shape": np.array(X.shape), "y": data.labels, "lam": np.array(lam)}
        model, theta = solution.model, solution.witness.theta
        np.savez(file, weights=model.weights, intercept=np.asarray(model.intercept), theta=theta, **stored)
        children = {key: Child(tree, file, loss) for key, tree in trees.items()}
        for child in children.values():
            # imports that the first certificate would make
            child.milliseconds(new=True)
        times: dict[str, list[float]] = {f"{key} {kind}": [] for key in trees for kind in ("first", "later")}
        for _ in range(rounds):
            for key, child in children.items():
                times[f"{key} first"].append(child.milliseconds(new=True))
            for key, child in children.items():
                times[f"{key} later"].append(child.milliseconds(new=False))
        for child in children.values():
            child.end()
    return {**cell, "milliseconds": times}


def table(cells: list[dict[str, Any]], tol: float) -> str:
    """The results in Markdown."""
    head = ["data", "loss", "first: before", "after", "ratio", "later: before", "after", "ratio"]
    rows = []
    for cell in cells:
        row = [cell["data"], cell["loss"]]
        for kind in ("first", "later"):
            pair = [cell["milliseconds"][f"{key} {kind}"] for key in ("before", "after")]
            ratio = statistics.median(b / a for a, b in zip(*pair, strict=True))
            row += [_shown(times) for times in pair] + [f"{ratio:.2f}"]
        rows.append(row)
    text = (
        f"Processor milliseconds of one certificate of a fit to tol = {tol:g} with C = 1 and an intercept: the median "
        f"(range); ratios are medians of pairs. Before: commit `{COMMIT}`, whose rounding floor is an estimate. "
        "After: this one, whose bounds are proved. The first certificate of a data set includes the norms that are "
        "kept.\n\n"
    )
    return text + report.markdown_table(head, rows)


def _shown(times: list[float]) -> str:
    return f"{statistics.median(times):.3g} ({min(times):.3g}–{max(times):.3g})"


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help=f"a folder with src/ of {COMMIT}")
    parser.add_argument("--data", nargs="+", default=["a9a", "20news.binary", "covtype"], help="data sets")
    parser.add_argument("--loss", nargs="+", default=["hinge", "logistic"], help="losses")
    parser.add_argument("--rounds", type=int, default=9, help="certificates of each kind")
    parser.add_argument("--tol", type=float, default=1e-3, help="relative gap of the fits")
    parser.add_argument("--output", type=Path, default=report.RESULTS, help="folder for certificate.json")
    parser.add_argument("--update-readme", action="store_true", help="write the table into benchmarks/README.md")
    options = parser.parse_args()
    if not (options.before / "src" / "fenchel").is_dir():
        parser.error(f"--before {options.before}: there is no src/fenchel: see --help")
    trees = {"before": options.before.resolve(), "after": HERE}
    cells = [measured(name, loss, trees, options.rounds, options.tol) for name in options.data for loss in options.loss]
    report.write_json(options.output / "certificate.json", {"tol": options.tol, "cells": cells})
    text = table(cells, options.tol)
    if options.update_readme:
        report.update_readme("certificate", text)
    print(text)


if __name__ == "__main__":
    main()

"""Threads within one fit: seconds with n_jobs = 1 and 2, and whether the results are the same to the last bit.

python benchmarks/threads.py --update-readme        (about three minutes; leave both cores alone)
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

# one thread for BLAS itself, so that n_jobs alone makes the difference
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/threads.py`

import numpy as np

from benchmarks.data import load
from benchmarks.report import RESULTS, asked_to_update_readme, markdown_table, update_readme, write_json

CELLS = (
    ("covtype", "hinge", 1.0, 1e-6),
    ("covtype", "logistic", 1.0, 1e-6),
    ("covtype-dense", "hinge", 1.0, 1e-6),
    ("mnist", "logistic", 1.0, 1e-6),
    ("mnist", "squared_hinge", 10.0, 1e-6),
)
_JOBS = (1, 2)
_ROUNDS = 5


def main() -> None:
    """Interleave the numbers of threads and report the ratio of medians."""
    update = asked_to_update_readme(__doc__)
    from fenchel import Problem, solve
    from fenchel.risks import MeanRisk

    cells: list[dict[str, Any]] = []
    for name, loss, C, tol in CELLS:
        data = load(name)
        problem = Problem(data.matrix, MeanRisk(loss, data.labels), 1.0 / (C * len(data.labels)))
        seconds: dict[int, list[float]] = {jobs: [] for jobs in _JOBS}
        solutions = {}
        for turn in range(_ROUNDS + 1):
            for jobs in _JOBS[:: 1 if turn % 2 else -1]:
                begin = time.perf_counter()
                solutions[jobs] = solve(problem, "newton", tol=tol, n_jobs=jobs)
                if turn:  # the first round compiles
                    seconds[jobs].append(time.perf_counter() - begin)
        one, two = (solutions[jobs] for jobs in _JOBS)
        same = np.array_equal(one.model.weights, two.model.weights) and one.certificate == two.certificate
        about = {"data": f"{name} ({data.description})", "loss": loss, "C": C, "tol": tol}
        cells.append({**about, "seconds": {str(jobs): seconds[jobs] for jobs in _JOBS}, "same": bool(same)})
        print(cells[-1], flush=True)
    write_json(RESULTS / "threads.json", {"cells": cells})
    text = markdown(cells)
    print(text)
    if update:
        update_readme("threads", text)


def markdown(cells: list[dict[str, Any]]) -> str:
    """One line for each problem."""
    lines = []
    for cell in cells:
        runs = [cell["seconds"][str(jobs)] for jobs in _JOBS]
        shown = [f"{statistics.median(run):.3g} [{min(run):.3g}–{max(run):.3g}]" for run in runs]
        ratio = statistics.median(runs[0]) / statistics.median(runs[1])
        place = [cell["data"], cell["loss"], f"{cell['C']:g}", f"{cell['tol']:g}"]
        lines.append([*place, *shown, f"{ratio:.2f}", "yes" if cell["same"] else "no"])
    head = ["data set", "loss", "C", "tol", "1 thread", "2 threads", "1 ÷ 2", "identical"]
    legend = f"Seconds: median [least–most] of {_ROUNDS} interleaved runs of solver newton; certificates included."
    return "\n\n".join([markdown_table(head, lines), legend])


if __name__ == "__main__":
    main()

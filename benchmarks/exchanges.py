"""How often solvers for data on workers exchange vectors with them, by the number of groups; no cluster is needed.

python benchmarks/exchanges.py --update-readme
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/exchanges.py`

import numpy as np
import scipy.sparse as sp

from benchmarks import report
from fenchel import Problem, solve
from fenchel.dask import LBFGS, CoCoA, NewtonCG
from fenchel.dask.choosing import choose_solver
from fenchel.dask.in_process import InProcess, in_groups
from fenchel.risks import MeanRisk

_ROWS, _FEATURES, _LENGTH = 20_000, 5_000, 40
_TOL, _MOST_PASSES = 1e-3, 150
_SOLVERS = {
    "logistic": {
        "auto": "auto",
        "L-BFGS": LBFGS(),
        "Newton-CG": NewtonCG(),
        "CoCoA+": CoCoA(),
        "CoCoA+, safe": CoCoA(aggregation="safe"),
    },
    "hinge": {
        "auto": "auto",
        "Newton-CG": NewtonCG(),
        "bundle": "bundle",
        "CoCoA+": CoCoA(),
        "CoCoA+, safe": CoCoA(aggregation="safe"),
    },
}


def main() -> None:
    """Count and report."""
    updates = report.asked_to_update_readme(__doc__)
    X, y = _data()
    rows = []
    for loss, solvers in _SOLVERS.items():
        for C in (1.0, 10.0):
            for name, solver in solvers.items():
                rows.append([loss, f"{C:g}", name, *(_counted(X, y, loss, C, solver, k) for k in (2, 16))])
                print(rows[-1], flush=True)
    text = report.markdown_table(["loss", "C", "solver", "2 groups", "16 groups"], rows)
    text += (
        f"\n\nExchanges (data passes) to a relative gap of {_TOL:g}, certificates included; where {_MOST_PASSES} "
        f"passes do not prove it, the gap. {_ROWS:,} sparse rows of norm 1 with {_LENGTH} of {_FEATURES:,} features, "
        "in random order."
    )
    if updates:
        report.update_readme("exchanges", text)
    print(text)


def _data() -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    columns = (_FEATURES * rng.random((_ROWS, _LENGTH)) ** 2).astype(np.int32)
    values = rng.random((_ROWS, _LENGTH))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    ends = _LENGTH * np.arange(_ROWS + 1)
    X = sp.csr_array((values.ravel(), columns.ravel(), ends), shape=(_ROWS, _FEATURES))
    X.sum_duplicates()
    scores = X @ rng.standard_normal(_FEATURES)
    return X, np.where(scores + 0.2 * np.std(scores) * rng.standard_normal(_ROWS) > 0.0, 1.0, -1.0)


def _counted(X: sp.csr_array, y: np.ndarray, loss: str, C: float, solver: object, count: int) -> str:
    design = in_groups(X, [_ROWS * k // count for k in range(1, count)])
    problem = Problem(design, MeanRisk(loss, y), 1.0 / (C * _ROWS))
    chosen = choose_solver(problem, "auto") if solver == "auto" else solver
    solution = solve(problem, chosen, tol=_TOL, max_iter=_MOST_PASSES)
    assert isinstance(design.groups, InProcess)
    if not solution.converged:
        return f"gap {solution.certificate.relative_gap:.2g}"
    return f"{design.groups.calls} ({solution.passes:.0f})"


if __name__ == "__main__":
    main()

"""Stated rounding floor over true rounding error of the certificates of kernel models.

    python benchmarks/kernel_floors.py
    python benchmarks/kernel_floors.py --sizes 8 100 --seeds 5

Kernel models of random points, solved to 1e-9.  The true error is |P - fl(P)| + |D - fl(D)| with P and D in extended
precision (64 bits), which has 11 more bits than the certificate.
"""

# ruff: noqa: E402 (limits of threads before imports)

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/kernel_floors.py`

import numpy as np

from benchmarks.report import markdown_table
from fenchel import Problem, solve
from fenchel.certificate import judge
from fenchel.kernels import GramDesign, GramNorm
from fenchel.kernels.rbf import Radial
from fenchel.risks import MeanRisk

LAM = 0.01


def gram_of(kernel: str, X: np.ndarray) -> np.ndarray:
    """An exactly symmetric Gram matrix."""
    if kernel == "rbf":
        return Radial(X, 0.2).gram()
    lower = np.tril(X @ X.T if kernel == "linear" else (1.0 + X @ X.T) ** 3)
    return lower + np.tril(lower, -1).T


def floor_and_error(n: int, kernel: str, loss: str, seed: int) -> tuple[float, float]:
    """The floor of a certificate relative to P, and its ratio to the true error."""
    rng = np.random.default_rng([n, seed])
    X = rng.standard_normal((n, 5))
    y = X[:, 0] + 0.5 * rng.standard_normal(n)
    y = np.sign(y) if loss == "hinge" else y
    K = gram_of(kernel, X)
    gram = GramDesign(K)
    problem = Problem(gram, MeanRisk(loss, y), LAM, GramNorm(gram))
    solution = solve(problem, tol=1e-9, max_iter=3000, time_limit=5.0)
    certificate, model, witness, _ = judge(problem, solution.model, solution.witness)
    a, theta, long_y = (np.asarray(part, dtype=np.longdouble) for part in (model.weights, witness.theta, y))
    long_K, lam = K.astype(np.longdouble), np.longdouble(LAM)
    scores = np.sum(long_K * a, axis=1)
    if loss == "hinge":
        risk, conjugate = np.sum(np.maximum(1.0 - long_y * scores, 0.0)) / n, -np.sum(long_y * theta)
    else:
        risk, conjugate = np.sum((scores - long_y) ** 2) / (2 * n), np.sum(0.5 * n * theta**2 - theta * long_y)
    primal = lam * np.sum(a * scores) / 2 + risk
    dual = -np.sum(theta * np.sum(long_K * theta, axis=1)) / (2 * lam) - conjugate
    error = float(abs(primal - certificate.primal) + abs(dual - certificate.dual))
    return certificate.rounding_floor / certificate.scale, certificate.rounding_floor / max(error, 2.0**-80)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[8, 100, 400, 1500])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for n in options.sizes:
        for kernel in ("rbf", "linear", "cubic"):
            found = [
                floor_and_error(n, kernel, loss, seed) for loss in ("hinge", "squared") for seed in range(options.seeds)
            ]
            floor, ratio = np.median(found, axis=0)
            lines.append([str(n), kernel, f"{floor:.1e}", f"{ratio:,.0f}"])
    print(markdown_table(["examples", "kernel", "floor / P, median", "floor / true error, median"], lines))


if __name__ == "__main__":
    main()

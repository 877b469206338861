"""Quantile regression and Huber's loss with its scale without benchopt's clock, beside scikit-learn: processor seconds.

python benchmarks/benchopt/alone.py         one core; benchopt must be installed for the base class of the solver file
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from huber_l2 import Solver
from sklearn.linear_model import HuberRegressor, QuantileRegressor

from fenchel import LinearRegressor
from fenchel.losses import Quantile

RUNS, RHO, QUANTILE, EPSILON = 5, 0.6, 0.2, 1.35


def simulated(n: int, d: int) -> tuple[Any, Any]:
    """Correlated columns, a tenth of them with a weight, and noise of a third of the signal."""
    rng = np.random.default_rng(27)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = RHO * X[:, j - 1] + np.sqrt(1 - RHO**2) * X[:, j]
    w = np.where(np.arange(d) % 10 == 0, rng.standard_normal(d), 0.0)
    signal, noise = X @ w, rng.standard_normal(n)
    return X, signal + noise * np.linalg.norm(signal) / (3 * np.linalg.norm(noise))


def timed(name: str, run: Callable[[], Any]) -> Any:
    """Print the median of the seconds of some runs after one that is not counted; return the last result."""
    seconds = []
    for _ in range(1 + RUNS):
        begin = time.process_time()
        found = run()
        seconds.append(time.process_time() - begin)
    print(f"{name:44} {statistics.median(seconds[1:]):.4f} ({min(seconds[1:]):.4f} to {max(seconds[1:]):.4f})")
    return found


def main() -> None:
    """Print the seconds of both problems."""
    warnings.simplefilter("ignore")
    X, y = simulated(500, 100)
    lam = 0.1 * np.max(np.abs(X.T @ (QUANTILE - (y < np.quantile(y, QUANTILE))))) / len(y)
    for solver in ("auto", "bundle"):
        for tol in (1e-3, 1e-6):
            model = LinearRegressor(Quantile(QUANTILE), C=1 / (lam * len(y)), l1_ratio=1.0, solver=solver, tol=tol)
            timed(f"quantile, {solver}, tol {tol:g}", lambda model=model: model.fit(X, y))
            print(f"    {model.solver_}, gap {model.certificate_.relative_gap:.0e}")
    timed("quantile, QuantileRegressor", lambda: QuantileRegressor(quantile=QUANTILE, alpha=lam).fit(X, y))
    X, y = simulated(1000, 50)
    ours = Solver.__new__(Solver)
    ours.set_objective(X, y, 1.0, EPSILON)
    for tol in (1e-2, 1e-6):
        timed(f"Huber, Fenchel, tol {tol:g}", lambda tol=tol: ours.run(tol))
    for steps in (20, 100):
        timed(f"Huber, HuberRegressor, {steps} steps", lambda steps=steps: HuberRegressor(
            epsilon=EPSILON, alpha=1.0, max_iter=steps, tol=1e-12
        ).fit(X, y))  # fmt: skip


if __name__ == "__main__":
    main()

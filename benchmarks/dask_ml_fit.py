"""Fits of dask-ml on two workers of one core each, for ``dask_scaling.py``; runs in an environment that has dask-ml.

python benchmarks/dask_ml_fit.py 5 10 20 -- part-0.npz part-1.npz

Prints, as JSON, the weights after each number of iterations of L-BFGS and the seconds that they took.
"""

from __future__ import annotations

import json
import sys
import time

import dask
import dask.array as da
import numpy as np
from dask_ml.linear_model import LogisticRegression
from distributed import Client, LocalCluster, wait


def load(name: str, key: str) -> np.ndarray:
    """An array of a file."""
    with np.load(name) as archive:
        return archive[key]


def main() -> None:
    """Fit with each number of iterations."""
    split = sys.argv.index("--")
    counts, names = [int(text) for text in sys.argv[1:split]], sys.argv[split + 1 :]
    rows = [load(name, "y").shape[0] for name in names]
    features = load(names[0], "X").shape[1]
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    found = []
    with LocalCluster(**options) as cluster, Client(cluster) as client:

        def busiest() -> float:
            return max(client.run(time.process_time).values()) + time.process_time()

        blocks = [
            da.from_delayed(dask.delayed(load)(name, "X"), (count, features), float)
            for name, count in zip(names, rows, strict=True)
        ]
        labels = [
            da.from_delayed(dask.delayed(load)(name, "y"), (count,), float)
            for name, count in zip(names, rows, strict=True)
        ]
        X, y = client.persist([da.concatenate(blocks), (da.concatenate(labels) > 0).astype(int)])
        wait([X, y])
        for count in counts:
            model = LogisticRegression(
                solver="lbfgs",
                C=1.0,
                fit_intercept=False,
                max_iter=count,
                tol=1e-8,
                solver_kwargs={"normalize": False},
            )
            begin, busy = time.monotonic(), busiest()
            model.fit(X, y)
            spent = {"elapsed": time.monotonic() - begin, "busy": busiest() - busy}
            found.append({"iterations": count, "weights": np.ravel(model.coef_).tolist(), **spent})
    print(json.dumps(found))


if __name__ == "__main__":
    main()

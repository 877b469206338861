"""Ranking the rows of queries: four losses with a proof, and their rankings of queries that were held out.

    python examples/ranking.py            draws docs/ranking.png

The data are LightGBM's example of a ranking, read from the folder ``FENCHEL_DATA`` (default ../shared/data beside the
project): 201 queries train, 50 test.  Columns are scaled to mean 0 and standard deviation 1 in the training part.
"""

import lzma
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Ridge

from fenchel import GapWarning, LinearRanker
from fenchel.metrics import mean_average_precision, ndcg_score
from fenchel.risks import RANKINGS

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "ranking.png"
#: of all methods; for ridge 1 / alpha
STRENGTH = 0.01
RANKS = range(1, 16)
#: limits of the fits whose gaps are drawn
PASSES = (2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500)


class Queried(NamedTuple):
    """Rows with grades in queries."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray


def read(name: str) -> Queried:
    """A file of the shared folder."""
    folder = Path(os.environ.get("FENCHEL_DATA", ROOT.parent / "shared" / "data"))
    with lzma.open(folder / f"{name}.qid.svm.xz") as stream:
        X, y, qid = load_svmlight_file(stream, query_id=True, n_features=300)
    return Queried(X.toarray(), y, qid)


def main() -> None:
    """Fit, print the proofs, and draw."""
    mpl.use("Agg")
    try:
        train, test = read("rank-lgb"), read("rank-lgb.t")
    except FileNotFoundError as error:
        print(f"skipped: {Path(error.filename).name} is not in the folder FENCHEL_DATA (default ../shared/data)")
        return
    mean, scale = train.X.mean(axis=0), train.X.std(axis=0)
    scale[scale == 0.0] = 1.0
    train, test = (part._replace(X=(part.X - mean) / scale) for part in (train, test))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for loss in RANKINGS:
        gaps = []
        for passes in PASSES:
            model = LinearRanker(loss, C=STRENGTH, tol=1e-6, max_iter=passes, random_state=0)
            with warnings.catch_warnings():
                # of fits that end before they prove tol
                warnings.simplefilter("ignore", GapWarning)
                model.fit(train.X, train.y, qid=train.qid)
            gaps.append(model.certificate_.relative_gap)
            if model.converged_:
                break
        print(f"{loss}: {model.certificate_}")
        left.loglog(PASSES[: len(gaps)], gaps, marker="o", markersize=3, label=loss)
        _draw(right, loss, test, model.predict(test.X))
    ridge = Ridge(alpha=1.0 / STRENGTH).fit(train.X, 2.0**train.y - 1.0)
    _draw(right, "ridge on the gains", test, ridge.predict(test.X), color="0.5", linestyle="--")
    left.set(title="Certified relative gap", xlabel="passes over the data", ylabel="(P - D) / P")
    right.set(title="50 queries held out", xlabel="k", ylabel="mean NDCG@k")
    for axes in (left, right):
        axes.legend()
        axes.grid(alpha=0.3)
    figure.savefig(PICTURE, dpi=110)
    print(f"drawn: {PICTURE.name}")


def _draw(axes: Any, name: str, test: Queried, scores: np.ndarray, **style: Any) -> None:
    """NDCG@k of a ranking for each k."""
    values = [ndcg_score(test.y, scores, test.qid, k=k) for k in RANKS]
    axes.plot(RANKS, values, label=name, **style)
    found = mean_average_precision(test.y, scores, test.qid)
    print(f"{name}: NDCG@10 {values[9]:.4f}, MAP {found:.4f} on queries held out")


if __name__ == "__main__":
    main()

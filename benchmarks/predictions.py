"""Share of test predictions that are proved, for relative gaps from 1e-2 to 1e-10.

    python benchmarks/predictions.py --data a9a                    (about two minutes)
    python benchmarks/predictions.py --data a9a 20news mnist       (hours: mnist with 1e-10)

A prediction is proved if every exact optimum of the training problem predicts the same label.  For each loss and tol
the table has the share of the test rows that are proved, the median half-width of the intervals of the scores, and the
half-width divided by the distance between the middle of the interval and the score of a fit with tol = 1e-12 (median;
meaningless where that fit is no more accurate).  Fits often reach a smaller gap than tol: both are in the table.
C = 1, with an intercept; more than two classes are fitted as ``--form`` says.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/predictions.py`

import numpy as np

from benchmarks.classes import Split, load_split
from benchmarks.report import RESULTS, markdown_table, write_json

NAMES = ("a9a", "20news", "mnist")
LOSSES = ("hinge", "squared_hinge", "logistic")
TOLS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
#: the fit that stands for the optimum
_REFERENCE_TOL = 1e-12


def main() -> None:
    """Fit every set with every loss and tol, and report what is proved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=(*NAMES, "clouds"), default=["a9a"])
    parser.add_argument("--loss", nargs="+", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--form", default="ovr", help="multi_class of sets with more than two classes")
    parser.add_argument("--cap", type=float, default=120.0, help="seconds that one fit may take")
    parser.add_argument("--figure", type=Path, default=RESULTS / "predictions.png")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of fits that the cap ends; their gap is in the results
    cells = []
    for name in options.data:
        data = load_split(name)
        for loss in options.loss:
            cells += measure(data, loss, options.form, options.cap)
    print(markdown(cells))
    write_json(RESULTS / "predictions.json", {"cells": cells})
    draw(cells, options.figure)


def measure(data: Split, loss: str, form: str, cap: float) -> list[dict[str, Any]]:
    """One cell for each tol, from the loosest fit to the tightest one."""
    from fenchel import LinearClassifier
    from fenchel.estimators.proved import certified_predictions

    def fitted(tol: float) -> Any:
        model = LinearClassifier(
            loss, tol=tol, multi_class=form, max_iter=1e6, time_limit=cap, random_state=0, n_jobs=1
        )
        return model.fit(data.matrix, data.classes)

    exact = fitted(_REFERENCE_TOL).decision_function(data.test_matrix)
    cells: list[dict[str, Any]] = []
    for tol in TOLS:
        model = fitted(tol)
        begin = time.perf_counter()
        found = certified_predictions(model, data.test_matrix, data.matrix, data.classes)
        half, middle = 0.5 * (found.upper - found.lower), 0.5 * (found.upper + found.lower)
        cells.append(
            {
                "data": data.name,
                "loss": loss,
                "tol": tol,
                "gap": model.certificate_.relative_gap,
                "proved": found.share_proved,
                "half_width": float(np.median(half)),
                "over_deviation": float(np.median(half / np.maximum(np.abs(middle - exact), 1e-300))),
                "seconds": time.perf_counter() - begin,
            }
        )
        print(cells[-1], flush=True)
    return cells


def markdown(cells: list[dict[str, Any]]) -> str:
    """A row for each set, loss and tol."""
    head = [
        "data",
        "loss",
        "tol",
        "gap reached",
        "proved",
        "half-width",
        "half-width / deviation",
        "seconds of the proof",
    ]
    rows = [
        [
            cell["data"],
            cell["loss"],
            f"{cell['tol']:.0e}",
            # up to rounding, a gap may be computed as zero or less
            f"{max(cell['gap'], 0.0):.0e}",
            f"{100.0 * cell['proved']:.1f} %",
            f"{cell['half_width']:.2g}",
            f"{cell['over_deviation']:.2g}",
            f"{cell['seconds']:.2f}",
        ]
        for cell in cells
    ]
    return markdown_table(head, rows)


def draw(cells: list[dict[str, Any]], file: Path) -> None:
    """The share proved over tol, a line for each set and loss."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7.0, 4.2), layout="constrained")
    for data, loss in dict.fromkeys((cell["data"], cell["loss"]) for cell in cells):
        line = [cell for cell in cells if (cell["data"], cell["loss"]) == (data, loss)]
        axis.plot(
            [cell["tol"] for cell in line],
            [100.0 * cell["proved"] for cell in line],
            marker="o",
            label=f"{data}, {loss}",
        )
    axis.set_xscale("log")
    axis.invert_xaxis()
    axis.set_ylim(-3.0, 103.0)
    axis.set_xlabel("tol, the relative duality gap that is asked for")
    axis.set_ylabel("test predictions that are proved (%)")
    axis.set_title("Predictions that every exact optimum makes (C = 1)")
    axis.grid(alpha=0.3)
    axis.legend()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    main()

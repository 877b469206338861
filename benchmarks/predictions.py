"""Share of test predictions that are proved, for relative gaps from 1e-2 to 1e-10.

    python benchmarks/predictions.py --update-readme                    everything (about ten processor minutes)
    python benchmarks/predictions.py --data a9a --loss logistic         one set and one loss

A prediction is proved if every exact optimum of the training problem predicts the same label
(``certified_predictions``).  Each fit starts from the last one with ten times its tol; fits often reach a smaller gap
than tol: both are in the table.  The half-width of the intervals of the scores is a median over the test rows and
classes, and so is its ratio to the distance between the middle of the interval and the score of a fit with tol = 1e-12
(meaningless where that fit is no more accurate).  With an intercept; more than two classes are fitted as ``--form``
says, to the first ``--rows`` training rows after a fixed shuffle.
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
from benchmarks.report import README, RESULTS, markdown_table, update_readme, write_json

NAMES = ("a9a", "20news", "mnist")
LOSSES = ("hinge", "squared_hinge", "logistic")
TOLS = tuple(10.0**-k for k in range(2, 11))
FIGURE = README.parents[1] / "docs" / "proved-predictions.png"
#: the fit that stands for the optimum
_REFERENCE_TOL = 1e-12


def main() -> None:
    """Fit every set with every loss and tol, and report what is proved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=(*NAMES, "clouds"), default=list(NAMES))
    parser.add_argument("--loss", nargs="+", choices=LOSSES, default=["squared_hinge", "logistic"])
    parser.add_argument("--form", default="ovr", help="multi_class of sets with more than two classes")
    parser.add_argument("--C", type=float, default=0.1)
    parser.add_argument("--rows", type=int, default=5_000, help="training rows at most, of sets with several classes")
    parser.add_argument("--cap", type=float, default=120.0, help="seconds that one fit may take")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the figures and the picture")
    parser.add_argument("--update-readme", action="store_true", help="rewrite the section in benchmarks/README.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of fits that the cap ends; their gap is in the results
    cells: list[dict[str, Any]] = []
    for name in options.data:
        data = load_split(name)
        for loss in options.loss:
            cells += measure(data, loss, options)
            write_json(options.output / "predictions.json", {"cells": cells})
    print(markdown(cells))
    draw(cells, FIGURE if options.update_readme else options.output / "predictions.png")
    if options.update_readme:
        update_readme("predictions", markdown(cells))


def measure(data: Split, loss: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One cell for each tol, from the loosest fit to the tightest one."""
    from fenchel import LinearClassifier

    kept = np.random.default_rng(0).permutation(len(data.classes))
    kept = np.sort(kept[: options.rows if data.count > 2 else None])
    matrix, classes = data.matrix[kept], data.classes[kept]
    model = LinearClassifier(
        loss, C=options.C, multi_class=options.form, max_iter=1e6, time_limit=options.cap, random_state=0, n_jobs=1
    ).set_params(warm_start=True)
    found = []
    for tol in TOLS:
        model.set_params(tol=tol).fit(matrix, classes)
        begin = time.process_time()
        proved = model.certified_predictions(data.test_matrix)
        found.append((tol, model.certificate_.relative_gap, proved, time.process_time() - begin))
        print(data.name, loss, f"{tol:.0e}", proved, flush=True)
    exact = model.set_params(tol=_REFERENCE_TOL).fit(matrix, classes).decision_function(data.test_matrix)
    return [
        {
            "data": f"{data.name} ({len(kept):,} rows)",
            "loss": loss,
            "C": options.C,
            "tol": tol,
            "gap": gap,
            "proved": proved.share_proved,
            "half_width": float(np.median(0.5 * (proved.upper - proved.lower))),
            "over_deviation": _over_deviation(proved, exact),
            "seconds": seconds,
        }
        for tol, gap, proved, seconds in found
    ]


def _over_deviation(proved: Any, exact: np.ndarray) -> float:
    """Half-width over the distance of the exact scores from the middle of their intervals, the median."""
    away = np.abs(0.5 * (proved.upper + proved.lower) - exact)
    return float(np.median(0.5 * (proved.upper - proved.lower) / np.maximum(away, 1e-300)))


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
        "processor seconds",
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
            f"{cell['seconds']:.2g}",
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
    axis.set_ylabel("predictions that are proved (%)")
    axis.set_title(f"Test predictions that every exact optimum makes (C = {cells[0]['C']:g})")
    axis.grid(alpha=0.3)
    axis.legend()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=150)
    pyplot.close(figure)


if __name__ == "__main__":
    main()

"""Table 1 and Figure 1: test accuracy of six methods on the artificial data of Sec. 6.1, d = 500 and d = 5000.

    python reproductions/zhang2002/artificial.py                 10 draws; can be interrupted
    python reproductions/zhang2002/artificial.py --report-only   results/table1.md and figure1.png from artificial.json
    python reproductions/zhang2002/artificial.py --quick         small data and two draws, nothing is kept

Features are 0 or 1 with equal probability, the label is the sign of x1 + ... + x5 - x6 - 2 (rows where that is 0 are
left out), five percent of the training and test labels are wrong, and a constant feature 1 is appended.  Winnows are
balanced, with the prior 0.01.  Online methods make 200 passes with learning rate 0.01.  Large-margin methods have the
hinge and no free intercept, and are solved to a relative gap of 1e-2 for a grid of lam (from strong to weak, each from
the last), where the paper makes 200 passes; the best lam is the one with the best mean test accuracy, as in the paper.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/zhang2002/artificial.py`

from benchmarks.ledger import Cell, Ledger
from benchmarks.report import markdown_table
from fenchel import OnlineClassifier, Problem, solve
from fenchel.regularizers import L2, Entropy, UnnormalizedEntropy
from fenchel.risks import MeanRisk
from reproductions.provenance import StampedLedger

RESULTS = Path(__file__).with_name("results")
KEY = ("features", "draw", "method", "lam")
#: Table 1
PAPER = {
    500: {"Perceptron": 82.2, "LM-Perc": 87.1, "UWin": 82.4, "LM-UWin": 94.0, "NWin": 82.4, "LM-NWin": 94.3},
    5000: {"Perceptron": 67.9, "LM-Perc": 69.8, "UWin": 69.7, "LM-UWin": 87.4, "NWin": 69.7, "LM-NWin": 88.6},
}
METHODS = tuple(PAPER[500])
ONLINE = {"Perceptron": "perceptron", "UWin": "winnow", "NWin": "normalized_winnow"}
LARGE_MARGIN = {
    "LM-Perc": L2(),
    "LM-UWin": UnnormalizedEntropy(0.01, balanced=True),
    "LM-NWin": Entropy(prior=0.01, balanced=True),
}
#: exponents of ten, from strong to weak
_WINNOW = tuple(np.arange(-1.0, -2.51, -0.25).tolist())
GRIDS = {"LM-Perc": tuple(np.arange(0.5, -1.51, -0.25).tolist()), "LM-UWin": _WINNOW, "LM-NWin": _WINNOW}


def main() -> None:
    """Run what is missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", nargs="+", type=int, default=[500, 5000])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--again", action="store_true", help="make all runs again")
    parser.add_argument("--quick", action="store_true", help="50 features, two draws")
    options = parser.parse_args()
    from reproductions.zhang2002.origin import ARTIFICIAL

    if options.quick:
        options.features, options.draws = [50], 2
        if options.output == RESULTS:
            options.output = Path(tempfile.mkdtemp())
    ledger = StampedLedger(ARTIFICIAL, options.output, options.again)
    for draw in () if options.report_only else range(options.draws):
        for features in options.features:
            run(ledger, features, draw, 200 if options.quick else 1000)
            print(f"draw {draw}, {features} features", flush=True)
    text = table(ledger.cells)
    (options.output / "table1.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    if not options.quick:
        figure(ledger.cells, options.output / "figure1.png")


def sample(count: int, features: int, rng: np.random.Generator) -> tuple[sp.csr_array, np.ndarray]:
    """Rows with the constant feature, and labels of which five percent are wrong."""
    rows: list[np.ndarray] = []
    scores: list[np.ndarray] = []
    while sum(len(part) for part in scores) < count:
        X = rng.integers(0, 2, (count, features))
        score = X[:, :5].sum(axis=1) - X[:, 5] - 2
        rows.append(X[score != 0])
        scores.append(score[score != 0])
    X, labels = np.vstack(rows)[:count], np.sign(np.concatenate(scores)[:count]).astype(float)
    wrong = rng.permutation(count)[: count // 20]
    labels[wrong] *= -1.0
    return sp.csr_array(np.column_stack([X, np.ones(count)]).astype(np.float64)), labels


def run(ledger: Ledger, features: int, draw: int, count: int) -> None:
    """All methods on one draw."""
    rng = np.random.default_rng([2002, features, draw])
    X, y = sample(count, features, rng)
    test_X, test_y = sample(count, features, rng)

    def accuracy(weights: Any) -> float:
        return 100.0 * float(np.mean(np.where(test_X @ weights > 0, 1.0, -1.0) == test_y))

    for method, update in ONLINE.items():
        if ledger.has(features=features, draw=draw, method=method, lam=None):
            continue
        model = OnlineClassifier(update, learning_rate=0.01, max_iter=200, fit_intercept=False, shuffle=False)
        found = accuracy(model.fit(X, y).coef_[0])
        ledger.add([{"features": features, "draw": draw, "method": method, "lam": None, "accuracy": found}])
    risk = MeanRisk("hinge", y)
    for method, regularizer in LARGE_MARGIN.items():
        warm, cells = None, []
        if all(ledger.has(features=features, draw=draw, method=method, lam=lam) for lam in GRIDS[method]):
            continue
        for exponent in GRIDS[method]:
            problem = Problem(X, risk, 10.0**exponent, regularizer)
            warm = solve(problem, "dual_coordinate", tol=1e-2, max_iter=200, warm_start=warm)
            cell: Cell = {"features": features, "draw": draw, "method": method, "lam": exponent}
            gap = warm.certificate.relative_gap
            cells.append({**cell, "accuracy": accuracy(warm.model.weights), "gap": gap, "passes": warm.passes})
        ledger.add(cells)


def best(cells: list[Cell], features: int, method: str) -> tuple[float | None, list[float]]:
    """The lam (as exponent) with the best mean accuracy, and the accuracies of the draws there."""
    found: dict[float | None, list[float]] = {}
    for cell in cells:
        if cell["features"] == features and cell["method"] == method:
            found.setdefault(cell["lam"], []).append(cell["accuracy"])
    lam = max(found, key=lambda exponent: statistics.mean(found[exponent]))
    return lam, found[lam]


def table(cells: list[Cell]) -> str:
    """Table 1 with the paper's figures."""
    parts = ["# Table 1: test accuracy on the artificial data, percent"]
    for features in sorted({cell["features"] for cell in cells}):
        rows = []
        for method in METHODS:
            lam, accuracies = best(cells, features, method)
            printed = PAPER.get(features, {}).get(method)
            spread = statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0
            rows.append(
                [
                    method,
                    f"{statistics.mean(accuracies):.1f} ± {spread:.1f}",
                    "-" if printed is None else f"{printed:.1f}",
                    "-" if lam is None else f"10^{lam:g}",
                    str(len(accuracies)),
                ]
            )
        head = ["method", "ours (mean ± deviation of draws)", "paper", "best λ", "draws"]
        parts += [f"## d = {features}", markdown_table(head, rows)]
        ahead = [statistics.mean(best(cells, features, method)[1]) for method in ("LM-UWin", "LM-NWin", "LM-Perc")]
        parts.append(f"LM-UWin is {ahead[0] - ahead[2]:.1f} and LM-NWin {ahead[1] - ahead[2]:.1f} ahead of LM-Perc.")
    gaps = [cell["gap"] for cell in cells if "gap" in cell]
    if gaps:
        parts.append(f"The largest relative gap of a large-margin solution is {max(gaps):.2g}.")
    return "\n\n".join(parts)


def figure(cells: list[Cell], file: Path) -> None:
    """Figure 1: mean test accuracy against lam."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sizes = sorted({cell["features"] for cell in cells})
    canvas, axes = plt.subplots(1, len(sizes), figsize=(5 * len(sizes), 3.6), squeeze=False)
    for axis, features in zip(axes[0], sizes, strict=True):
        for method, colour in zip(LARGE_MARGIN, ("#0072b2", "#d55e00", "#009e73"), strict=True):
            means = {}
            for exponent in GRIDS[method]:
                chosen = [c for c in cells if (c["features"], c["method"], c["lam"]) == (features, method, exponent)]
                if chosen:
                    means[10.0**exponent] = statistics.mean(cell["accuracy"] for cell in chosen)
            axis.plot(list(means), list(means.values()), marker="o", color=colour, label=method)
            if features in PAPER:
                axis.axhline(PAPER[features][method], color=colour, linestyle=":", linewidth=1)
        axis.set(
            xscale="log", xlabel="λ", ylabel="test accuracy, %", title=f"d = {features} (dotted: the paper's best)"
        )
        axis.legend()
    canvas.tight_layout()
    canvas.savefig(file, dpi=120)


if __name__ == "__main__":
    main()

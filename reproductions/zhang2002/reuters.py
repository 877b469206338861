"""Table 2: micro-averaged break-even of seven methods over the 118 topics of Reuters-21578, ModApte split (Sec. 6.2).

    python reproductions/zhang2002/reuters.py                 all methods; can be interrupted
    python reproductions/zhang2002/reuters.py --methods Spars one of them
    python reproductions/zhang2002/reuters.py --every         test at all lam, not only at the chosen one
    python reproductions/zhang2002/reuters.py --report-only   results/table2.md from reuters.json
    python reproductions/zhang2002/reuters.py --quick         made-up documents, nothing is kept

The features are those of ``collection``.  Methods are set up as in ``artificial``; Spars is eq. (16) with epsilon =
0.1, that is the elastic net with rho = epsilon/(1 + epsilon) and (1 + epsilon) lam.  One topic is one problem with
its own certificate, solved to a relative gap of 1e-2.  A method has one lam for all topics: the one of the grid with
the best micro-averaged break-even on a random third of the training documents when learning from the others, over the
topics with at least 100 training documents.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/zhang2002/reuters.py`

from benchmarks.ledger import Cell, Ledger
from benchmarks.report import markdown_table
from fenchel import OnlineClassifier, Problem, solve
from fenchel.designs import as_design
from fenchel.regularizers import L2, ElasticNet, Entropy, UnnormalizedEntropy
from fenchel.risks import MeanRisk
from reproductions.provenance import StampedLedger
from reproductions.zhang2002.collection import Collection, load, made_up
from reproductions.zhang2012.runs import break_even

RESULTS = Path(__file__).with_name("results")
KEY = ("method", "part", "lam")
#: Table 2
PAPER = {
    "Perceptron": 78.5,
    "LM-Perc": 85.7,
    "UWin": 79.2,
    "LM-UWin": 87.0,
    "NWin": 79.2,
    "LM-NWin": 87.1,
    "Spars": 86.7,
}
#: Sec. 6.2: weights of Spars that are not zero, mean over all topics and over the ten largest
PAPER_NONZEROS = (400, 1500)
EPSILON = 0.1
ONLINE = {"Perceptron": "perceptron", "UWin": "winnow", "NWin": "normalized_winnow"}
#: the regularizer, and by what the paper's lam is multiplied for it
LARGE_MARGIN: dict[str, tuple[Any, float]] = {
    "LM-Perc": (L2(), 1.0),
    "Spars": (ElasticNet(EPSILON / (1.0 + EPSILON)), 1.0 + EPSILON),
    "LM-UWin": (UnnormalizedEntropy(0.01, balanced=True), 1.0),
    "LM-NWin": (Entropy(prior=0.01, balanced=True), 1.0),
}
#: topics with at least this many training documents take part in the choice of lam
LARGE = 100
#: exponents of ten, from strong to weak
GRIDS = {
    "LM-Perc": (-1.0, -1.5, -2.0, -2.5, -3.0),
    "Spars": (-1.5, -2.0, -2.5, -3.0, -3.5),
    "LM-UWin": (-2.5, -3.0, -3.5, -4.0, -4.5),
    "LM-NWin": (-2.5, -3.0, -3.5, -4.0, -4.5),
}


def main() -> None:
    """Run what is missing and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=list(PAPER), default=[*ONLINE, *LARGE_MARGIN])
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--every", action="store_true", help="test at all lam")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    parser.add_argument("--again", action="store_true", help="make all runs again")
    parser.add_argument("--quick", action="store_true", help="made-up documents")
    options = parser.parse_args()
    from reproductions.zhang2002.origin import REUTERS

    if options.quick and options.output == RESULTS:
        options.output = Path(tempfile.mkdtemp())
    ledger = StampedLedger(REUTERS, options.output, options.again)
    if not options.report_only:
        run(ledger, made_up() if options.quick else load(), options.methods, options.every)
    text = table(ledger.cells)
    (options.output / "table2.md").write_text(text + "\n", encoding="utf-8")
    print(text)


def run(ledger: Ledger, whole: Collection, methods: Sequence[str], every: bool = False) -> None:
    """What is missing of some methods."""
    for method in methods:
        if method in ONLINE:
            if not ledger.has(method=method, part="test", lam=None):
                ledger.add([online(whole, method)])
        else:
            missing = [e for e in GRIDS[method] if not ledger.has(method=method, part="validation", lam=e)]
            if missing:
                ledger.add(large_margin(held_out(whole), method, "validation", missing))
            wanted = GRIDS[method] if every else [chosen_lam(ledger.cells, method)]
            missing = [e for e in wanted if not ledger.has(method=method, part="test", lam=e)]
            if missing:
                ledger.add(large_margin(whole, method, "test", missing))
        print(f"{method} is there", flush=True)


def held_out(whole: Collection, seed: int = 2002) -> Collection:
    """A random third of the training documents in the place of the test documents, and large topics only."""
    large = np.flatnonzero(whole.members.sum(axis=0) >= LARGE)
    order = np.random.default_rng(seed).permutation(whole.matrix.shape[0])
    left, kept = np.sort(order[: len(order) // 3]), np.sort(order[len(order) // 3 :])
    members, names = whole.members[:, large], tuple(whole.topics[topic] for topic in large)
    return Collection(whole.matrix[kept], whole.matrix[left], members[kept], members[left], names)


def signs(members: np.ndarray) -> np.ndarray:
    """Labels of a topic."""
    return np.where(members, 1.0, -1.0)


def right_of(data: Collection, topic: int, weights: np.ndarray) -> float:
    """Documents that the topic has right at its break-even; none if no document of the test part is in it."""
    members = data.test_members[:, topic]
    if not members.any():
        return 0.0
    return break_even(signs(members), data.test_matrix @ weights) / 100.0 * int(members.sum())


def micro(cell: Cell) -> float:
    """Percent right over all topics: with as many documents chosen as belong, precision is recall in every topic."""
    return float(100.0 * numbers(cell["right"]).sum() / numbers(cell["members"]).sum())


def line(values: Any) -> str:
    """One number for each topic, as it is kept."""
    return " ".join(f"{value:.6g}" for value in values)


def numbers(text: str) -> np.ndarray:
    """What ``line`` wrote."""
    return np.array(text.split(), dtype=float)


def online(data: Collection, method: str) -> Cell:
    """An online method on all topics; those without training documents leave the weights at zero."""
    begin, right, passes = process_time(), [], []
    for topic in range(len(data.topics)):
        weights, used = np.zeros(data.matrix.shape[1]), 0
        if data.members[:, topic].any():
            model = OnlineClassifier(
                ONLINE[method], learning_rate=0.01, max_iter=200, fit_intercept=False, shuffle=False
            )
            model.fit(data.matrix, signs(data.members[:, topic]))
            weights, used = model.coef_[0], model.n_iter_
        right.append(right_of(data, topic, weights))
        passes.append(used)
    return {
        "method": method,
        "part": "test",
        "lam": None,
        "members": line(data.test_members.sum(axis=0)),
        "right": line(right),
        "passes": line(passes),
        "seconds": round(process_time() - begin, 1),
    }


def large_margin(data: Collection, method: str, part: str, grid: Sequence[float]) -> list[Cell]:
    """A large-margin method on all topics, for each topic from strong to weak lam."""
    (regularizer, factor), design = LARGE_MARGIN[method], as_design(data.matrix)
    found: dict[float, list[tuple[float, int, float, float, float]]] = {exponent: [] for exponent in grid}
    for topic in range(len(data.topics)):
        risk, warm = MeanRisk("hinge", signs(data.members[:, topic])), None
        for exponent in grid:
            begin = process_time()
            problem = Problem(design, risk, factor * 10.0**exponent, regularizer)
            warm = solve(problem, "dual_coordinate", tol=1e-2, max_iter=200, warm_start=warm)
            seconds, weights = process_time() - begin, np.asarray(warm.model.weights)
            proof = warm.certificate.relative_gap, warm.passes, seconds
            found[exponent].append((right_of(data, topic, weights), int(np.count_nonzero(weights)), *proof))
    cells: list[Cell] = []
    for exponent, lines in found.items():
        right, nonzeros, gaps, passes, times = zip(*lines, strict=True)
        cell: Cell = {"method": method, "part": part, "lam": exponent, "members": line(data.test_members.sum(axis=0))}
        cell |= {"right": line(right), "nonzeros": line(nonzeros), "gaps": line(gaps), "passes": line(passes)}
        cells.append({**cell, "seconds": round(sum(times), 1)})
    return cells


def cells_of(cells: list[Cell], method: str, part: str) -> dict[float | None, Cell]:
    """The cells of a method by lam."""
    return {cell["lam"]: cell for cell in cells if (cell["method"], cell["part"]) == (method, part)}


def chosen_lam(cells: list[Cell], method: str) -> float:
    """The lam (as exponent) with the best break-even on the documents held out."""
    found = cells_of(cells, method, "validation")
    return max((lam for lam in found if lam is not None), key=lambda lam: micro(found[lam]))


def table(cells: list[Cell]) -> str:
    """Table 2 with the paper's figures, what lam does, and the sizes of Spars."""
    rows, others, remarks = [], [], []
    for method, printed in PAPER.items():
        tested, validated = cells_of(cells, method, "test"), cells_of(cells, method, "validation")
        lam = chosen_lam(cells, method) if validated else None
        cell = tested.get(lam)
        if cell is None:
            remarks.append(f"{method} was not run.")
            continue
        gaps = numbers(cell.get("gaps", ""))
        proof = f"{np.count_nonzero(gaps <= 1e-2)} of {len(gaps)}" if len(gaps) else "-"
        ours = micro(cell)
        shown = "-" if lam is None else f"10^{lam:g}"
        mean = f"{numbers(cell['passes']).mean():.1f}"
        rows.append([method, f"{ours:.1f}", f"{printed:.1f}", f"{ours - printed:+.1f}", shown, proof, mean])
        if method == "Spars":
            remarks.append(sizes(cell))
        for exponent in validated:
            test = f"{micro(tested[exponent]):.1f}" if exponent in tested else "-"
            others.append([method, f"10^{exponent:g}", f"{micro(validated[exponent]):.1f}", test])
    head = ["method", "ours", "paper", "difference", "λ", "certificates within 1e-2", "passes (mean)"]
    parts = ["# Table 2: micro-averaged break-even over all topics, percent", markdown_table(head, rows), *remarks]
    if others:
        parts += [
            "## Break-even against λ",
            markdown_table(["method", "λ", "held out (large topics)", "test (all topics)"], others),
        ]
    return "\n\n".join(parts)


def sizes(cell: Cell) -> str:
    """How many weights Spars leaves."""
    largest = np.argsort(numbers(cell["members"]))[-10:]
    counts = numbers(cell["nonzeros"])
    return (
        f"Spars has {counts.mean():.0f} weights that are not zero in the mean over all {len(counts)} topics (paper: "
        f"{PAPER_NONZEROS[0]}) and {counts[largest].mean():.0f} over the ten largest (paper: {PAPER_NONZEROS[1]})."
    )


if __name__ == "__main__":
    main()

"""App. E on handwritten words: the rate of the excessive gap method on a max-margin Markov network, and a kernel.

python reproductions/saha2009/sequences.py                   what is missing; results/sequences.png and sequences.md
python reproductions/saha2009/sequences.py --report-only     the same from results/sequences.json
python reproductions/saha2009/sequences.py --quick           from made-up words, nothing is kept

Figure: duality gaps of certificates against data passes, on the first words of the first fold of the OCR letters, with
the bound (26), 4 L D_2 / ((k + 1)(k + 2)), for the exact L.  ``pragam`` has the Euclidean prox function, through
projections onto marginals of pairs (App. E.3), ``bregman`` the entropy, through sum-product recursions; ``frank_wolfe``
is the block-coordinate method that is the default for such problems, ``bundle`` a cutting plane method.

Table: shares of wrong letters on the other nine folds after a fit to the first one, of max-margin chains, conditional
random fields and Gaussian process sequence labelling (App. E.2) with an RBF kernel.  Nothing was tuned.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/saha2009/sequences.py`

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds

from benchmarks.ledger import Cell
from benchmarks.report import markdown_table
from fenchel import Problem, SequenceClassifier, solve
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge
from fenchel.solvers import Bregman, Bundle, FrankWolfe, Pragam, Solver
from fenchel.solvers.reference.chain_sets import CliqueMarginals
from reproductions.provenance import StampedLedger
from reproductions.saha2009.origin import SEQUENCES

RESULTS = Path(__file__).resolve().parent / "results"
#: words and C of the figure, and the relative gap at which a run ends
WORDS, FIGURE_C, FIGURE_TOL, PASSES = 12, 1.0, 1e-4, 400
#: name, loss, transitions and further parameters of the rows of the table
MODELS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("independent letters, log-loss", "logistic", {"C": 0.1, "transitions": "none"}),
    ("max-margin chain (E.1)", "hinge", {"C": 0.1}),
    ("conditional random field", "logistic", {"C": 0.1}),
    ("conditional random field", "logistic", {"C": 10.0}),
    ("Gaussian process, RBF (E.2)", "logistic", {"C": 10.0, "kernel": "rbf"}),
    ("the same, eq. (32): tokens count once a pair", "logistic", {"C": 10.0, "kernel": "rbf", "counting": "pairs"}),
)

Floats = NDArray[np.float64]
Words = tuple[list[Floats], list[list[str]], NDArray[np.int64]]


def letters() -> Words:
    """The pixels of the letters of each word, the letters, and the fold of each word."""
    folder = Path(os.environ.get("FENCHEL_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
    with lzma.open(folder / "ocr-letters.data.xz", "rt") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    pixels = np.array([row[6:134] for row in rows], dtype=np.float64)
    # the letter after the last one of a word has the number -1
    ends = np.flatnonzero([row[2] == "-1" for row in rows]) + 1
    signs = np.split(np.array([row[1] for row in rows]), ends[:-1])
    folds = np.array([int(rows[end - 1][5]) for end in ends])
    return np.split(pixels, ends[:-1]), [one.tolist() for one in signs], folds


def made_up() -> Words:
    """Words of three letters in two folds, each letter a noisy corner of a cube."""
    rng = np.random.default_rng(0)
    words = [rng.choice(list("abc"), size=int(rng.integers(1, 5))).tolist() for _ in range(24)]
    pixels = [np.eye(3)[["abc".index(x) for x in word]] + 0.4 * rng.standard_normal((len(word), 3)) for word in words]
    return pixels, words, np.arange(24) % 2


def max_margin_problem(X: list[Floats], y: list[list[str]]) -> Problem:
    """The max-margin Markov network of these words."""
    labels, codes = np.unique([letter for word in y for letter in word], return_inverse=True)
    risk = ChainHinge(codes, [len(word) for word in y], len(labels))
    return Problem(ChainDesign(np.concatenate(X), len(labels)), risk, 1.0 / (FIGURE_C * len(y)))


def exact_lipschitz(problem: Problem) -> float:
    """The largest squared singular value, over lam, of the map from marginals times roots of shares to X^T theta."""
    risk = problem.risk.chains().max_margin()  # type: ignore[union-attr]
    assert risk is not None
    duals, design = CliqueMarginals(risk), problem.design
    shape = duals.zero().shape
    counts = np.maximum(risk.sequences.lengths - 1, 1)
    roots = np.sqrt(np.repeat(risk.shares, counts))[:, None, None]

    def forward(point: Floats) -> Floats:
        return design.adjoint(duals.image(roots * point.reshape(shape)))

    def backward(v: Floats) -> Floats:
        return (roots * duals.clique_scores(risk.sequences.split(design.scores(v.ravel())))).ravel()

    matrix = LinearOperator((design.shape[1], int(np.prod(shape))), forward, backward, dtype=np.float64)
    top = svds(matrix, k=1, return_singular_vectors=False, random_state=0)
    return float(top[0]) ** 2 / problem.lam


def methods(L: float) -> dict[str, Solver]:
    """The methods of the figure; L is the exact one."""
    return {
        "pragam, exact L": Pragam(L),
        "pragam": Pragam(),
        "bregman (entropy)": Bregman(),
        "frank_wolfe (BCFW)": FrankWolfe(seed=0),
        "bundle": Bundle(),
    }


def run_method(problem: Problem, name: str, L: float, passes: int) -> Cell:
    """Passes and gaps of a method, and L D_2 of the Euclidean prox function."""
    begin = time.process_time()
    solution = solve(problem, methods(L)[name], tol=FIGURE_TOL, max_iter=passes, certify_every=2.0)
    seconds = time.process_time() - begin
    # of the best model and the best dual point so far
    primal = np.minimum.accumulate([point.primal for point in solution.trace])
    dual = np.maximum.accumulate([point.dual for point in solution.trace])
    columns = {"passes": [point.passes for point in solution.trace], "gap": primal - dual}
    curve = {key: " ".join(f"{value:.6g}" for value in values) for key, values in columns.items()}
    risk = problem.risk.chains().max_margin()  # type: ignore[union-attr]
    assert risk is not None
    constant = L * CliqueMarginals(risk).d_range
    facts = {"seconds": seconds, "words": len(risk.sequences.lengths), "constant": constant}
    return {"part": "figure", "name": name, "C": FIGURE_C, "solver": solution.solver, **facts, "curve": curve}


def draw(cells: list[Cell], file: Path) -> None:
    """Gaps against passes, with the bound (26)."""
    own = [cell for cell in cells if cell["part"] == "figure"]
    found = {cell["name"]: [np.array(line.split(), float) for line in cell["curve"].values()] for cell in own}
    constant, words = own[0]["constant"], own[0]["words"]
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.5, 5.0), layout="constrained")
    styles = dict(zip(found, ["#d55e00", "#d55e00", "#e69f00", "#000000", "#56b4e9"], strict=True))
    for name, (passes, gaps) in found.items():
        kept = (passes > 0) & (gaps > 0)
        ax.loglog(passes[kept], gaps[kept], color=styles[name], ls="--" if "exact" in name else "-", label=name)
    k = np.geomspace(1.0, max(float(passes[-1]) for passes, _ in found.values()), 200)
    ax.loglog(k, 4.0 * constant / ((k + 1.0) * (k + 2.0)), color="0.5", ls=":", label="(26): $4LD_2/((k+1)(k+2))$")
    ax.set(xlabel="data passes", ylabel="duality gap (certificates, best so far)")
    ax.set_title(f"Max-margin Markov network on {words} handwritten words, C = {FIGURE_C:g}")
    ax.grid(alpha=0.3)
    ax.legend()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def fitted(data: Words, name: str, loss: str, options: dict[str, Any]) -> Cell:
    """The share of wrong letters after a fit to the first fold."""
    X, y, folds = data
    train, test = np.flatnonzero(folds == 0), np.flatnonzero(folds != 0)
    begin = time.process_time()
    model = SequenceClassifier(loss, tol=1e-2, max_iter=5000, random_state=0, **options)
    model.fit([X[q] for q in train], [y[q] for q in train])
    seconds = time.process_time() - begin
    wrong = 100.0 - 100.0 * model.score([X[q] for q in test], [y[q] for q in test])
    gap = model.certificate_.gap / model.certificate_.primal
    facts = {"solver": model.solver_, "seconds": seconds, "wrong": wrong, "gap": gap}
    return {"part": "table", "name": name, "C": options["C"], **facts}


def table(cells: list[Cell]) -> str:
    """Shares of wrong letters."""
    order = {(name, options["C"]): place for place, (name, _, options) in enumerate(MODELS)}
    rows = [
        [cell["name"], f"{cell['C']:g}", f"{cell['wrong']:.2f}", f"{cell['gap']:.1e}", f"{cell['seconds']:.1f}"]
        for cell in sorted(cells, key=lambda cell: order.get((cell["name"], cell["C"]), len(order)))
        if cell["part"] == "table"
    ]
    return markdown_table(["model", "C", "wrong letters, %", "proved relative gap", "processor s"], rows)


def main() -> None:
    """Run what is missing, draw the figure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="made-up words")
    parser.add_argument("--only", choices=["figure", "table"], default=None, help="one of the two")
    parser.add_argument("--again", action="store_true", help="make these runs again")
    parser.add_argument("--report-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    if options.quick and options.output == RESULTS:
        options.output = Path(tempfile.mkdtemp())
    ledger = StampedLedger(SEQUENCES, options.output, options.again)
    if not options.report_only:
        run_missing(ledger, made_up() if options.quick else letters(), options.only, 12 if options.quick else PASSES)
    if options.only != "table":
        draw(ledger.cells, options.output / "sequences.png")
    if options.only != "figure":
        (options.output / "sequences.md").write_text(table(ledger.cells) + "\n", encoding="utf-8")


def run_missing(ledger: StampedLedger, data: Words, only: str | None, passes: int) -> None:
    """What is not in the ledger, of the figure or the table if one is named."""
    X, y, folds = data
    first = np.flatnonzero(folds == 0)[:WORDS]
    names = [name for name in methods(1.0) if not ledger.has(part="figure", name=name, C=FIGURE_C)]
    if names and only != "table":
        problem = max_margin_problem([X[q] for q in first], [y[q] for q in first])
        L = exact_lipschitz(problem)
        for name in names:
            cell = run_method(problem, name, L, passes)
            ledger.add([cell])
            print(f"{name}: {cell['seconds']:.1f} s, gap {cell['curve']['gap'].split()[-1]}", flush=True)
    for name, loss, chosen in MODELS if only != "figure" else ():
        if not ledger.has(part="table", name=name, C=chosen["C"]):
            # compiles the loops
            fitted(made_up(), name, loss, chosen)
            cell = fitted(data, name, loss, chosen)
            ledger.add([cell])
            print(f"{name}: {cell['seconds']:.1f} s, {cell['wrong']:.2f}% wrong", flush=True)


if __name__ == "__main__":
    main()

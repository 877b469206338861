"""App. E on handwritten words: the rate of the excessive gap method on a max-margin Markov network, and a kernel.

python reproductions/saha2009/sequences.py             results/sequences.png and sequences.md
python reproductions/saha2009/sequences.py --quick     the same from made-up words, with --output

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
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for `python reproductions/saha2009/sequences.py`

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, svds

from benchmarks.report import markdown_table
from fenchel import Problem, SequenceClassifier, solve
from fenchel.designs import ChainDesign
from fenchel.risks import ChainHinge
from fenchel.solvers import Bregman, Bundle, FrankWolfe, Pragam, Solver
from fenchel.solvers.reference.chain_sets import CliqueMarginals

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


def curves(problem: Problem, passes: int) -> tuple[dict[str, tuple[Floats, Floats]], float]:
    """Passes and gaps of each method, and L D_2 of the Euclidean prox function."""
    L = exact_lipschitz(problem)
    methods: dict[str, Solver] = {
        "pragam, exact L": Pragam(L),
        "pragam": Pragam(),
        "bregman (entropy)": Bregman(),
        "frank_wolfe (BCFW)": FrankWolfe(seed=0),
        "bundle": Bundle(),
    }
    found = {}
    for name, solver in methods.items():
        begin = time.process_time()
        solution = solve(problem, solver, tol=FIGURE_TOL, max_iter=passes, certify_every=2.0)
        # of the best model and the best dual point so far
        primal = np.minimum.accumulate([point.primal for point in solution.trace])
        dual = np.maximum.accumulate([point.dual for point in solution.trace])
        found[name] = np.array([point.passes for point in solution.trace]), primal - dual
        print(
            f"{name}: {solution.passes:g} passes, {time.process_time() - begin:.0f} s, {solution.certificate}",
            flush=True,
        )
    risk = problem.risk.chains().max_margin()  # type: ignore[union-attr]
    assert risk is not None
    return found, L * CliqueMarginals(risk).d_range


def draw(found: dict[str, tuple[Floats, Floats]], constant: float, words: int, file: Path) -> None:
    """Gaps against passes, with the bound (26)."""
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


def table(data: Words) -> str:
    """Shares of wrong letters after a fit to the first fold."""
    X, y, folds = data
    train, test = np.flatnonzero(folds == 0), np.flatnonzero(folds != 0)
    rows = []
    for name, loss, options in MODELS:
        begin = time.process_time()
        model = SequenceClassifier(loss, tol=1e-2, max_iter=5000, random_state=0, **options)
        model.fit([X[q] for q in train], [y[q] for q in train])
        seconds = time.process_time() - begin
        wrong = 100.0 - 100.0 * model.score([X[q] for q in test], [y[q] for q in test])
        gap = model.certificate_.gap / model.certificate_.primal
        rows.append([name, f"{options['C']:g}", f"{wrong:.2f}", f"{gap:.1e}", f"{seconds:.0f}"])
        print(*rows[-1], flush=True)
    return markdown_table(["model", "C", "wrong letters, %", "proved relative gap", "processor s"], rows)


def main() -> None:
    """Draw the figure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="made-up words")
    parser.add_argument("--only", choices=["figure", "table"], default=None, help="one of the two")
    options = parser.parse_args()
    data = made_up() if options.quick else letters()
    X, y, folds = data
    options.output.mkdir(parents=True, exist_ok=True)
    if options.only != "table":
        first = np.flatnonzero(folds == 0)[:WORDS]
        problem = max_margin_problem([X[q] for q in first], [y[q] for q in first])
        found, constant = curves(problem, 12 if options.quick else PASSES)
        draw(found, constant, len(first), options.output / "sequences.png")
    if options.only != "figure":
        (options.output / "sequences.md").write_text(table(data) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

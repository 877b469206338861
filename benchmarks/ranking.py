r"""Rankings: time to a certified gap, and quality on held-out queries.

    python benchmarks/ranking.py --update-readme --lightgbm PYTHON

======================  ==============================================================================================
data set                what trains and what tests
======================  ==============================================================================================
mq2007-agg              partitions 1 to 4, partition 5
rank-lgb                its two files
protein-homology        queries at random, 70 % and 30 %; grade 1 is a homologous protein
======================  ==============================================================================================

Columns have mean 0 and standard deviation 1 in the training part.  Times are processor seconds of one thread on the
training part, of ``solver="auto"`` and of ``bundle`` (the cutting planes of SVM-rank, on the same objective; stabilised
here) in turn, medians over the rounds.  Quality: each method chooses C, or ridge's 1 / alpha, by NDCG@10 in three folds
of the training queries.  ``ridge`` regresses on the gains 2^y - 1, row by row.  ``lambdarank`` is LightGBM with 200
trees and its other defaults, run by the interpreter PYTHON (which needs lightgbm), and is there for quality only.
"""

# ruff: noqa: RUF001 (typographic signs in tables for people)

from __future__ import annotations

import argparse
import lzma
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `python benchmarks/ranking.py`

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

from benchmarks.data import ROOT
from benchmarks.ledger import Cell, Ledger, add_common_options, publish
from benchmarks.report import markdown_table
from fenchel import GapWarning, LinearRanker, Problem, solve
from fenchel.metrics import mean_average_precision, mean_reciprocal_rank, ndcg_score
from fenchel.risks import RANKINGS

SETS = ("rank-lgb", "mq2007-agg", "protein-homology")
STRENGTHS, TARGETS, SOLVERS = (1.0, 100.0), (1e-2, 1e-3), ("auto", "bundle")
GRID = (0.01, 1.0, 100.0)
#: rows of the first four partitions of mq2007-agg
_FIRST_FOUR = 14_013 + 14_290 + 13_855 + 13_813
#: seconds of a fit for quality, and its tolerance
_FIT_LIMIT, _FIT_TOL = 60.0, 1e-3
_LAMBDARANK = """
import sys
import lightgbm
import numpy as np
data = np.load(sys.argv[1])
order = np.argsort(data["qid"], kind="stable")
sizes = np.unique(data["qid"], return_counts=True)[1]
model = lightgbm.LGBMRanker(n_estimators=200, num_threads=1, verbose=-1, random_state=0)
model.fit(data["X"][order], data["y"][order].astype(int), group=sizes)
np.save(sys.argv[2], model.predict(data["X_test"]))
"""


class Queried(NamedTuple):
    """Rows with grades in queries."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    def part(self, rows: np.ndarray) -> Queried:
        return Queried(self.X[rows], self.y[rows], self.qid[rows])


def load(name: str) -> tuple[Queried, Queried]:
    """The training and the test part, with standardized columns."""
    if name == "simulated":
        train, test = simulated(0), simulated(1)
    elif name == "rank-lgb":
        train, test = _read(name, 300), _read("rank-lgb.t", 300)
    else:
        found = _read(name, None)
        queries = np.unique(found.qid)
        drawn = np.random.default_rng(0).permutation(queries)[: int(0.3 * len(queries))]
        first = np.arange(len(found.y)) < _FIRST_FOUR if name == "mq2007-agg" else ~np.isin(found.qid, drawn)
        train, test = found.part(first), found.part(~first)
    mean, scale = train.X.mean(axis=0), train.X.std(axis=0)
    scale[scale == 0.0] = 1.0
    return (part._replace(X=(part.X - mean) / scale) for part in (train, test))  # type: ignore[return-value]


def simulated(seed: int) -> Queried:
    """A small made-up set for smoke tests."""
    rng = np.random.default_rng(seed)
    X, qid = rng.standard_normal((240, 6)), np.repeat(np.arange(24), 10)
    return Queried(X, np.digitize(X @ np.arange(6.0) + 4.0 * rng.standard_normal(240), [0.0, 8.0]), qid)


def _read(name: str, features: int | None) -> Queried:
    folder = Path(os.environ.get("FENCHEL_DATA", ROOT.parent / "shared" / "data"))
    with lzma.open(folder / f"{name}.qid.svm.xz") as stream:
        X, y, qid = load_svmlight_file(stream, query_id=True, n_features=features)
    return Queried(X.toarray(), np.maximum(y, 0.0), qid)


# --- times


def timed(name: str, data: Queried, C: float, loss: str, rounds: int, cap: float) -> list[Cell]:
    """Auto and bundle in turn, to each target."""
    risk = RANKINGS[loss](data.y, data.qid)
    problem = Problem(data.X, risk, 1.0 / (C * float(risk.total_weight)))
    found: dict[tuple[float, str], list[Any]] = {}
    for _ in range(rounds):
        for target in TARGETS:
            for solver in SOLVERS:
                begin = time.process_time()
                enough = partial(_spent, begin, cap)
                solution = solve(problem, solver, tol=target, max_iter=np.inf, callback=enough, n_jobs=1)
                found.setdefault((target, solver), []).append((time.process_time() - begin, solution))
    return [
        {
            "data": name,
            "C": C,
            "loss": loss,
            "target": target,
            "solver": solver,
            "used": runs[-1][1].solver,
            "seconds": float(np.median([seconds for seconds, _ in runs])),
            "passes": runs[-1][1].passes,
            "reached": all(solution.converged for _, solution in runs),
            "relative_gap": runs[-1][1].certificate.relative_gap,
            "trivial": not np.any(runs[-1][1].model.weights),
            "rounds": rounds,
            "load": os.getloadavg()[0],
        }
        for (target, solver), runs in found.items()
    ]


def _spent(begin: float, cap: float, _: Any) -> bool:
    """Whether a solve has used up its processor seconds; the clock would depend on what else runs."""
    return time.process_time() - begin > cap


def times_table(cells: list[Cell]) -> str:
    """A line for each problem."""
    by_key = {(cell["data"], cell["C"], cell["loss"], cell["target"], cell["solver"]): cell for cell in cells}
    lines = []
    for data, C, loss in dict.fromkeys((cell["data"], cell["C"], cell["loss"]) for cell in cells):
        own = [by_key.get((data, C, loss, target, solver)) for target in TARGETS for solver in SOLVERS]
        zero = any(cell is not None and cell["trivial"] for cell in own)
        lines.append([data, f"{C:g}", f"`{loss}`" + (" (w = 0)" if zero else ""), *map(_shown, own)])
    loads, rounds = [cell["load"] for cell in cells], {cell["rounds"] for cell in cells}
    head = ["data set", "C", "loss", *(f"{solver}, {target:g}" for target in TARGETS for solver in SOLVERS)]
    legend = (
        f"Processor seconds to a relative gap, in parentheses data passes; medians of {min(rounds)} to {max(rounds)} "
        f"rounds, load average {min(loads):.1f} to {max(loads):.1f}."
    )
    return "\n\n".join([markdown_table(head, lines), legend])


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    text = f"{cell['seconds']:.2g} ({cell['passes']:.0f})"
    return text if cell["reached"] else f"gap {cell['relative_gap']:.2g} after {text}"


# --- quality


def methods(python: str | None) -> dict[str, Callable[[Queried, Queried, float], np.ndarray]]:
    """For each method a function of the training part, the rows to score, and C."""

    def ranker(loss: str) -> Callable[[Queried, Queried, float], np.ndarray]:
        def scores(train: Queried, test: Queried, C: float) -> np.ndarray:
            model = LinearRanker(loss, C=C, tol=_FIT_TOL, time_limit=_FIT_LIMIT, max_iter=np.inf, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GapWarning)
                return model.fit(train.X, train.y, qid=train.qid).predict(test.X)

        return scores

    def ridge(train: Queried, test: Queried, C: float) -> np.ndarray:
        return Ridge(alpha=1.0 / C).fit(train.X, 2.0**train.y - 1.0).predict(test.X)

    found = {loss: ranker(loss) for loss in RANKINGS}
    found["ridge"] = ridge
    if python is not None:
        found["lambdarank"] = lambda train, test, C: lambdarank(python, train, test)
    return found


def lambdarank(python: str, train: Queried, test: Queried) -> np.ndarray:
    """The scores of LightGBM's ranker, by another interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder, "given.npz"), Path(folder, "scores.npy")
        np.savez(given, X=train.X, y=train.y, qid=train.qid, X_test=test.X)
        subprocess.run([python, "-c", _LAMBDARANK, str(given), str(answer)], check=True)
        return np.load(answer)


def judged(name: str, method: str, scores_of: Any, train: Queried, test: Queried) -> Cell:
    """Choose C in three folds of queries, fit, and measure on the test queries."""
    begin, best = time.process_time(), 1.0
    if method != "lambdarank":
        folds = list(GroupKFold(3).split(train.X, train.y, train.qid))
        held_out = [
            np.mean(
                [
                    ndcg_score(train.y[rows], scores_of(train.part(own), train.part(rows), C), train.qid[rows])
                    for own, rows in folds
                ]
            )
            for C in GRID
        ]
        best = GRID[int(np.argmax(held_out))]
    scores = scores_of(train, test, best)
    each = {"ndcg": ndcg_score, "map": mean_average_precision, "mrr": mean_reciprocal_rank}
    found: Cell = {"data": name, "method": method, "C": best, "seconds": time.process_time() - begin}
    queries = [test.qid == q for q in np.unique(test.qid)]
    for measure, function in each.items():
        values = np.array([function(test.y[own], scores[own]) for own in queries])
        values = values[~np.isnan(values)]
        found[measure], found[f"{measure}_error"] = float(values.mean()), float(values.std() / len(values) ** 0.5)
    return found


def quality_table(cells: list[Cell]) -> str:
    """A line for each method on each set."""
    lines = [
        [
            cell["data"],
            f"`{cell['method']}`",
            "–" if cell["method"] == "lambdarank" else f"{cell['C']:g}",
            *(f"{100 * cell[m]:.2f} ± {100 * cell[f'{m}_error']:.2f}" for m in ("ndcg", "map", "mrr")),
        ]
        for cell in cells
    ]
    legend = "Percent, mean ± standard error over the test queries; methods share the queries."
    return "\n\n".join([markdown_table(["data set", "method", "C", "NDCG@10", "MAP", "MRR"], lines), legend])


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(SETS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cap", type=float, default=60.0, help="processor seconds of each timed solve")
    parser.add_argument("--lightgbm", metavar="PYTHON", help="an interpreter with lightgbm, for lambdarank")
    parser.add_argument("--only", choices=("times", "quality"), help="one of the two tables")
    parser.add_argument("--losses", nargs="+", choices=RANKINGS, default=list(RANKINGS), help="of the times")
    parser.add_argument("--C", nargs="+", type=float, default=list(STRENGTHS), help="of the times")
    add_common_options(parser, "ranking-times.json, ranking-quality.json and their tables")
    options = parser.parse_args()
    fresh = options.fresh and not options.report_only
    times = Ledger(options.output / "ranking-times.json", ("data", "C", "loss", "target", "solver"), fresh)
    quality = Ledger(options.output / "ranking-quality.json", ("data", "method"), fresh)
    for loss in [] if options.report_only else options.losses:
        timed("simulated", simulated(0), 1.0, loss, 1, 10.0)  # compiles
    for name in [] if options.report_only else options.data:
        train, test = load(name)
        for C in options.C if options.only != "quality" else ():
            for loss in options.losses:
                if options.again or not times.has(data=name, C=C, loss=loss, target=TARGETS[-1], solver="bundle"):
                    times.add(timed(name, train, C, loss, options.rounds, options.cap))
                    print(name, C, loss, flush=True)
        for method, scores_of in methods(options.lightgbm).items() if options.only != "times" else ():
            if options.again or not quality.has(data=name, method=method):
                quality.add([judged(name, method, scores_of, train, test)])
                print(name, method, flush=True)
    if times.cells:
        publish(options, "ranking-times", times_table(times.cells))
    if quality.cells:
        publish(options, "ranking-quality", quality_table(quality.cells))


if __name__ == "__main__":
    main()
